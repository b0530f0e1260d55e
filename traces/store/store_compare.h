/* Comparisons that were made: what was compared how, and a verdict for each metric. */
#ifndef GS_TRACES_STORE_COMPARE_H
#define GS_TRACES_STORE_COMPARE_H

#include "traces/store/store.h"

typedef struct gs_stored_comparison {
    const char *baseline_sel, *candidate_sel; /* as the user named them, or as they were chosen */
    bool paired;
    const char *method;
    double alpha;
    const char *correction;
    const char *gate_json;
    const char *verdict; /* pass, fail, inconclusive, invalid */
    int exit_code;
    const char *made_utc; /* of one that was read */
} gs_stored_comparison;

/* Values that are not finite are NULL in the table. */
typedef struct gs_stored_verdict {
    const gs_stored_scenario *scenario; /* of the candidate; of the base where that has none */
    const gs_stored_strategy *strategy;
    const char *metric;
    int64_t n_base, n_cand, failed_base, failed_cand;
    double base, cand, ratio, ratio_lo, ratio_hi, p_raw, p_adjusted;
    double threshold_ratio, min_detectable_ratio;
    const char *verdict, *reason;
} gs_stored_verdict;

/* In one transaction. *out_id: of the comparison. */
GS_MUST_USE gs_status gs_store_write_comparison(gs_store *store,
                                                const gs_stored_comparison *comparison,
                                                const gs_stored_verdict *rows, uint32_t count,
                                                int64_t *out_id, gs_error *err);

/* Rows in the order of scenario, strategy and metric. Errors: GS_ENOTFOUND. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_comparison(gs_store *store, int64_t id, gs_arena *arena,
                                               gs_stored_comparison *out,
                                               const gs_stored_verdict **out_rows,
                                               uint32_t *out_count, gs_error *err);

/* Values of a metric in the runs of one strategy on one scenario, by the command that stored them.
 */
typedef struct gs_history_of {
    gs_run_source source;
    uint64_t config_hash;
    const char *strategy, *params_json, *metric;
    const char *since_utc; /* runs begun before do not count; NULL: all do */
    int64_t before_run;    /* runs of the commands up to that of this one; 0: all */
    uint32_t most;         /* commands */
} gs_history_of;

/* For each of the last of->most such commands, newest first, the mean over its runs that ended
 * well. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_history(gs_store *store, const gs_history_of *of,
                                            gs_arena *arena, const double **out_values,
                                            uint32_t *out_count, gs_error *err);

#endif
