/* What `sim` says: a row for each strategy, and the answer in words. */
#ifndef GS_TOOLS_SIM_REPORT_H
#define GS_TOOLS_SIM_REPORT_H

#include "tools/run_one.h"
#include "tools/sim_chance.h"
#include "tools/sim_stats.h"
#include "tools/table.h"
#include "base/json.h"
#include "base/units.h"

#include <stdio.h>

/* One strategy over its seeds. Runs that did not end count in `failed` or `left_out` only. */
typedef struct gs_sim_row {
    const char *label;
    uint32_t runs;     /* seeds asked for */
    uint32_t good;     /* ended well */
    uint32_t diverged; /* the loss was not finite any more */
    uint32_t failed;   /* any other bad end */
    uint32_t left_out; /* interrupted or not started */
    const char *error; /* of the first bad run, or NULL */
    /* [runs], by seed: time per sample, all ranks together; NAN where the run is not good. What
     * strategies are compared by: a step of one may take more samples than a step of another. */
    double *sample_ns;
    /* [runs], by seed: time to the target; NAN: not reached, or the run is not good. */
    double *seed_target_ns;
    /* [runs], by seed: at the last evaluation, the first of them by workload.quality; NAN where it
     * is not known or the run is not good. */
    double *seed_learned, *seed_accuracy, *seed_loss;
    double *seed_first_loss; /* [runs], likewise, at the first evaluation */
    gs_spread step, p50, p95, p99, compute, input, exposed, wait, overhead, wire, rate;
    gs_spread learned; /* final value of workload.quality */
    gs_spread final_loss, gradient_cosine, underflow;
    gs_spread staleness, dropped, noise_scale, consensus;
    gs_spread overlap, exposed_share, utilisation, recovery, cosine, error_ratio;
    gs_ratio vs_first;
    gs_chance faster; /* than the first strategy, by samples per second */
    gs_chance over;   /* that a step takes longer than the limit */
    double target_ns; /* median over the good runs; NAN: most have not reached it */
    uint32_t reached;
    uint32_t fell_back;          /* of them, those that end on the wrong side of the target */
    int64_t below_bytes;         /* least size sent below the measured ones of its curve; 0: none */
    int64_t above_bytes;         /* largest size sent above them; 0: none */
    int64_t below_message_bytes; /* likewise of messages, and what links were calibrated with */
    int64_t above_message_bytes;
} gs_sim_row;

typedef struct gs_sim_report {
    const gs_scenario *scenario;
    bool is_measured;         /* on real ranks: a seed may run several times; set by the caller */
    gs_time_ns step_limit_ns; /* 0: none */
    char limit_title[64];     /* "P(step > 200 ms)" */
    char learned_title[64];   /* "final accuracy +- sd" */
    char target_text[64];     /* "accuracy 0.95" */
    gs_sim_row *rows;         /* [row_count], in the order of the scenario */
    uint32_t row_count;
} gs_sim_report;

/* outcomes [strategies * seeds] as gs_pool_run leaves them; borrowed. step_limit_ns 0: none. Out of
 * memory ends the program. */
void gs_sim_report_make(const gs_scenario *scenario, uint32_t seeds, const gs_outcome *outcomes,
                        gs_time_ns step_limit_ns, gs_sim_report *out);
void gs_sim_report_free(gs_sim_report *report);

/* As exact as it was asked for: "172.4 ms". Returns out. */
char *gs_sim_limit_text(gs_time_ns limit_ns, char out[GS_UNIT_TEXT_BYTES]);
/* A ratio with two decimals, or as many as tell it from 1. Returns out. */
char *gs_sim_ratio_text(double value, char out[GS_UNIT_TEXT_BYTES]);
/* Both ends of a ratio's interval with as many digits as tell them apart, two at least. */
void gs_sim_interval_text(double low, double high, char low_text[GS_UNIT_TEXT_BYTES],
                          char high_text[GS_UNIT_TEXT_BYTES]);

void gs_sim_report_table(const gs_sim_report *report, gs_table *table);
/* Lines about runs that are not in the means, about means that are extrapolated, and about medians
 * that hide what matters. */
void gs_sim_report_remarks(const gs_sim_report *report, FILE *out);
/* What strategies say over all their seeds, for programs: a list, in the order of the rows. Owner:
 * caller, gs_json_free. */
gs_json *gs_sim_report_json(const gs_sim_report *report);
/* The answer: who reaches the target first, who is fastest, by how much, how sure. Owner: caller,
 * free(). */
char *gs_sim_report_answer(const gs_sim_report *report);

#endif
