/* What happened in a run, from sim or live, in the same rows: the input of the store and of every
 * report.
 *
 * By default the step rows of all ranks are added up into one row a step (rank GS_ALL_RANKS), so
 * that memory does not grow with the ranks; GS_STEPS_ALL keeps each. Parts of a row add up to its
 * duration to the ns. */
#ifndef GS_TRACES_RECORD_H
#define GS_TRACES_RECORD_H

#include "base/status.h"
#include "base/units.h"
#include "traces/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GS_ALL_RANKS = -1 };

/* One step of one rank: compute + exposed_comm + wait + input + overhead = duration. */
typedef struct gs_step_row {
    int64_t step;
    int32_t rank;
    gs_time_ns start_ns; /* of the row added up: the earliest */
    gs_time_ns duration_ns;
    gs_time_ns compute_ns;
    gs_time_ns comm_ns;         /* all time with an op under way, hidden behind compute or not */
    gs_time_ns exposed_comm_ns; /* blocked on an op all of whose members have started */
    gs_time_ns wait_ns;         /* blocked on an op before its last member has started */
    gs_time_ns input_ns;        /* waiting for the loader */
    gs_time_ns overhead_ns;     /* blocked on neither: codecs, vector operations, the framework */
    int64_t bytes_sent;
} gs_step_row;

typedef struct gs_curve_row {
    int64_t step; /* steps done */
    gs_time_ns time_ns;
    int64_t samples;
    double loss;     /* NAN: not evaluated */
    double accuracy; /* NAN: not evaluated */
} gs_curve_row;

/* By what an evaluation is told. Bits per character, of text, are the loss over ln 2. Of accuracy
 * more is better, of the others less. */
typedef enum gs_quality { GS_ACCURACY, GS_LOSS, GS_BITS_PER_CHAR, GS_QUALITY_COUNT } gs_quality;

extern const char *const gs_quality_names[]; /* by gs_quality, NULL-terminated: as scenarios say */
const char *gs_quality_words(gs_quality quality);  /* "bits per character" */
const char *gs_quality_metric(gs_quality quality); /* "final_bits_per_char" */
/* NAN: not evaluated. */
double gs_quality_of(gs_quality quality, const gs_curve_row *row);

typedef struct gs_record gs_record;

/* NULL: no memory. rank_count > 0. Owner: caller. */
gs_record *gs_record_create(uint32_t rank_count, bool keep_all_ranks);
void gs_record_destroy(gs_record *record);

/* Errors: GS_ENOMEM; the record is as before then. Asserts that the parts add up, and that the
 * steps of one rank come in ascending order, as curve rows do. */
GS_MUST_USE gs_status gs_record_step(gs_record *record, const gs_step_row *row);
GS_MUST_USE gs_status gs_record_curve(gs_record *record, const gs_curve_row *row);

/* What was decided in mid-run, and by what numbers: rows of the table decision. */
enum { GS_DECISION_LABEL_BYTES = 256, GS_DECISION_TEXT_BYTES = 256 };

typedef struct gs_decision_row {
    int64_t step; /* of the ranks' mean: before which it was taken */
    gs_time_ns at_ns;
    char from[GS_DECISION_LABEL_BYTES],
        to[GS_DECISION_LABEL_BYTES];       /* as a user would write them */
    char reason[GS_DECISION_TEXT_BYTES];   /* in words */
    char evidence[GS_DECISION_TEXT_BYTES]; /* JSON */
} gs_decision_row;

GS_MUST_USE gs_status gs_record_decision(gs_record *record, const gs_decision_row *row);
int64_t gs_record_decision_count(const gs_record *record);
gs_decision_row gs_record_decision_at(const gs_record *record, int64_t index); /* as they came */

/* Rows as they will be stored: by step, then rank. */
int64_t gs_record_step_count(const gs_record *record); /* rows */
gs_step_row gs_record_step_at(const gs_record *record, int64_t index);
int64_t gs_record_curve_count(const gs_record *record);
gs_curve_row gs_record_curve_at(const gs_record *record, int64_t index);
/* Values over time; the record's own. */
gs_series *gs_record_series(gs_record *record);
const gs_series *gs_record_series_read(const gs_record *record);
/* Sums over all steps of one rank; start_ns is that of its first step, step is how many there were.
 */
gs_step_row gs_record_rank_total(const gs_record *record, uint32_t rank);
uint32_t gs_record_rank_count(const gs_record *record);
/* Communication that the ranks' own work could have hidden: the sum over all steps of all ranks of
 * the shorter of comm and compute + input. */
gs_time_ns gs_record_hideable_ns(const gs_record *record);
/* Steps that at least one rank has done, in order, and for each the mean duration over the ranks
 * that did it; the same whether all ranks are kept or not. */
int64_t gs_record_mean_count(const gs_record *record);
double gs_record_mean_ns(const gs_record *record, int64_t index);

/* The record as bytes for another process of this program, and back: runs in parallel processes
 * hand over their rows this way. pack writes where out is not NULL and returns how many bytes there
 * are. unpack: NULL for no memory, or for bytes that are no packed record. Owner: caller. */
size_t gs_record_pack(const gs_record *record, void *out);
gs_record *gs_record_unpack(const void *in, size_t bytes);

/* Metrics of a run: name (with unit), value; in the order of metrics.def. */
typedef struct gs_metric {
    const char *name;   /* "step_p50_ns" */
    const char *unit;   /* "ns" */
    const char *better; /* "lower", "higher", "none" */
    bool exact;         /* bit for bit reproducible from the seed */
    const char *help;
} gs_metric;

uint32_t gs_metric_count(void);
const gs_metric *gs_metric_at(uint32_t index);
/* Index of "step_p50_ns" or "step_p50"; gs_metric_count() where there is none. */
uint32_t gs_metric_find(const char *name);

/* What only the host knows of a run. */
typedef struct gs_run_facts {
    uint32_t nic_count;        /* NICs that nic_bytes_sent is the sum of; 0: not measured */
    int64_t samples_per_step;  /* all ranks */
    gs_time_ns end_ns;         /* of the run */
    gs_time_ns recovery_ns;    /* of it, lost to faults */
    bool diverged;             /* what it learned is no result then */
    gs_quality target_quality; /* what the target is about */
    double target_value;       /* 0: none */
    bool is_text;              /* a sample's loss is of one character in the mean */
    int64_t fidelity_steps;    /* whose update was judged; 0: none */
    double fidelity_cosine, fidelity_error; /* means over them */
    double fidelity_length;                 /* of the update over that of the exact one; likewise */
    int64_t compared_steps;                 /* at which the ranks' gradients were; 0: none */
    double gradient_cosine, noise_scale_samples;   /* of them; NAN: too noisy to tell */
    int64_t rounded_elements, underflown_elements; /* of gradients, not 0; those made 0; 0: none */
    double consensus_distance;                     /* of the models at the end */
    bool has_models;                               /* it is known */
    int64_t cancelled_samples; /* of steps whose gradient was stopped before it was computed */
    int64_t dropped_samples;   /* whose gradient was not used, those among them */
    int64_t applied_gradients; /* whose staleness is known; 0: none */
    double staleness_mean, staleness_p95, staleness_max; /* updates */
    int64_t nic_bytes_sent;                              /* by all NICs over the run */
    uint64_t events;                                     /* of the simulator */
} gs_run_facts;

/* Exact, interpolated as type 7 of R does: with n sorted values x[0..n-1] and h = (n - 1) p, it is
 * x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h]). count > 0, p 0..1. */
double gs_quantile_of_sorted(const double *sorted, int64_t count, double p);

/* Has an evaluation got there? A value that is not known has not. */
bool gs_target_is_reached(gs_quality quality, double target, const gs_curve_row *row);

/* values [gs_metric_count()]: out, NAN where not reached or not measured. *out_censored: the target
 * was not reached, and time_to_target_ns, which is the end of the run then, is a lower bound.
 * Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_record_metrics(const gs_record *record, const gs_run_facts *facts,
                                        double *values, bool *out_censored);

#endif
