/* Simulated runs held against measured ones: which belong together, how far off each prediction is,
 * and whether strategies come out in the predicted order.
 *
 * Runs belong together by scenario (its config hash), strategy and parameters. Where both sides
 * have runs of one seed, only equal seeds are compared; what was learned is compared between equal
 * seeds only, and the prediction is the median of those that the measured runs' seeds have, run by
 * run, so that a seed measured more often weighs more on both sides. A seed simulated by several
 * builds counts as the newest has it. The value of several runs is their median (traces/judge.h).
 */
#ifndef GS_TOOLS_VALIDATE_H
#define GS_TOOLS_VALIDATE_H

#include "base/arena.h"
#include "tools/cli.h"
#include "traces/judge.h"
#include "traces/rank_values.h"
#include "traces/store/store.h"

typedef struct gs_validate_run {
    int64_t id;
    gs_stored_run run;
    int64_t decisions;
    char predicted_utc[GS_UTC_BYTES]; /* of a simulated run; "": not known */
    const gs_rank_values *ranks;      /* [run.scenario.ranks]; NULL: rows of all ranks not kept */
} gs_validate_run;

typedef struct gs_validate_row {
    const gs_judged *what;
    int32_t rank; /* GS_ALL_RANKS: of the job */
    gs_estimate predicted, measured;
    gs_judgement judgement;
    double tolerance;
    const char *reason; /* "": none */
} gs_validate_row;

/* One strategy on one scenario. */
typedef struct gs_validate_pair {
    const gs_stored_run *of; /* scenario and strategy are those of all its runs */
    const char *label;       /* "allreduce:bucket=10MiB" */
    const char *scenario;    /* its name; with its config hash where several have that name */
    const gs_validate_run **predicted, **measured;
    uint32_t predicted_count, measured_count;
    bool equal_seeds;
    const gs_validate_run **twins; /* [measured_count] the simulated run of each one's seed; NULL:
                                      not equal_seeds */
    const char *predicted_utc;     /* of the last prediction; "": one is not in the ledger */
    const char *measured_utc;      /* the first measurement began */
    bool blind;                    /* the former is not later */
    bool skips_work;  /* measured without vector operations (tools/replay_work.h): no overhead */
    bool skips_codec; /* nor the work of its codec: nothing that is longer by it */
    gs_validate_row *rows;
    uint32_t row_count;
} gs_validate_pair;

typedef struct gs_validate {
    gs_arena arena;
    const char *selectors[2]; /* of simulated, of measured runs */
    gs_validate_run *runs[2]; /* that ended well */
    uint32_t run_count[2];
    gs_validate_run *failed[2]; /* that did not */
    uint32_t failed_count[2];
    double tolerances[16]; /* [gs_judged_count()] */
    gs_validate_pair *pairs;
    uint32_t pair_count;
    bool scenarios_differ;       /* between pairs */
    uint32_t row_count, outside; /* over all pairs */
    uint32_t ordered, in_order;  /* pairs of strategies with different times; as predicted */
    uint32_t tied;               /* pairs that differ by no more than their noise */
    uint32_t missing;            /* strategies whose runs on one side all failed */
    const char **remarks;        /* what was left out, and why; which order is wrong */
    uint32_t remark_count, remark_capacity;
} gs_validate;

enum { GS_SIDE_PREDICTED, GS_SIDE_MEASURED };

/* Words 0 and 1 of the command from `first` on are the two selectors; --tolerance counts. An exit
 * code; errors are printed. GS_EXIT_REFUSED: nothing belongs together. End with gs_validate_free,
 * also after errors. */
int gs_validate_make(const gs_cli *cli, size_t first, gs_store *store, gs_validate *out);
void gs_validate_free(gs_validate *validate);

/* The name of a run's scenario; where the simulated runs have several of that name, as KEY=VALUE
 * words make them, with the first digits of its config hash. Owner: the arena. */
const char *gs_validate_scenario(gs_validate *validate, const gs_stored_run *run);

/* Parts of gs_validate_make. */
int gs_validate_read(gs_validate *validate, gs_store *store);
void gs_validate_judge(gs_validate *validate);
void gs_validate_remark(gs_validate *validate, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The row of a metric over all ranks, or NULL. */
const gs_validate_row *gs_validate_row_of(const gs_validate_pair *pair, const char *name);

#endif
