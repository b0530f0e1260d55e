/* Two sets of runs compared: which belong together, every metric that changed, and a verdict for
 * each.
 *
 * Runs belong together by the scenario's name, the strategy and its parameters; one strategy that
 * each side has once with other parameters belongs together too, and the difference is told. A
 * scenario whose keys have other values is another job: its rows are invalid. Keys that only one
 * program knows are no difference. Statistics and verdicts: traces/stats/change.h, docs/compare.md.
 */
#ifndef GS_TOOLS_COMPARE_COMPARE_H
#define GS_TOOLS_COMPARE_COMPARE_H

#include "base/arena.h"
#include "tools/cli.h"
#include "tools/compare/gate.h"
#include "traces/stats/change.h"
#include "traces/store/store.h"

enum { GS_SIDE_BASE, GS_SIDE_CANDIDATE, GS_SIDES };

/* clang-format off */
#define GS_VERDICT_LIST(X) /* worst first */                                                       \
    X(WORSE,        "worse")                                                                       \
    X(INVALID,      "invalid")                                                                     \
    X(MISSING,      "missing")                                                                     \
    X(INCONCLUSIVE, "inconclusive")                                                                \
    X(ACKNOWLEDGED, "acknowledged")                                                                \
    X(BETTER,       "better")                                                                      \
    X(NEW,          "new")                                                                         \
    X(SAME,         "same")
/* clang-format on */

typedef enum gs_verdict_word {
#define GS_VERDICT_ENUM(name, text) GS_VERDICT_##name,
    GS_VERDICT_LIST(GS_VERDICT_ENUM)
#undef GS_VERDICT_ENUM
        GS_VERDICT_COUNT
} gs_verdict_word;

const char *gs_verdict_text(gs_verdict_word word);

typedef struct gs_compare_run {
    int64_t id;
    gs_stored_run run;
    const char *strategy; /* with parameters and codec: "allreduce:bucket=10MiB+fp16" */
} gs_compare_run;

typedef struct gs_compare_side {
    const char *selector; /* as the user named it, or as it was chosen */
    const char *why;      /* it was chosen; "": the user named it */
    const char *file;     /* of the database */
    gs_store *store;
    bool owns_store;
    gs_compare_run *runs; /* [count], oldest first */
    uint32_t count;
} gs_compare_side;

/* One strategy on one scenario. */
typedef struct gs_compare_job {
    const char *scenario, *strategy;   /* of the candidate, of the base where that has none */
    const gs_stored_run *of[GS_SIDES]; /* the newest run; NULL: that side has none */
    const char *labels[GS_SIDES]; /* strategy of each side; they differ in parameters at most */
    const gs_compare_run **runs[GS_SIDES]; /* [counts] that ended well; paired: i has one seed */
    uint32_t counts[GS_SIDES], failed[GS_SIDES];
    bool paired;         /* by seed */
    bool exact;          /* simulated by unchanged builds on both sides */
    const char *refused; /* why it cannot be compared; NULL: it can */
} gs_compare_job;

typedef struct gs_compare_row {
    const gs_compare_job *job;
    uint32_t metric;
    bool gated;    /* can fail the comparison */
    gs_gate limit; /* what the verdict is about */
    bool measured; /* change has values */
    gs_change change;
    gs_change_verdict judged;
    double p_adjusted; /* NAN: no p */
    gs_verdict_word word;
    const char *reason; /* "": none */
} gs_compare_row;

typedef struct gs_compare {
    gs_arena arena;
    const gs_cli *cli;      /* what was asked */
    const char *store_file; /* the database of --db, which keeps the comparison */
    gs_compare_side sides[GS_SIDES];
    gs_gates gates;
    double alpha, share; /* share: limit of what no gate names */
    bool auto_limit;     /* limits from the noise of the base's history */
    gs_compare_job *jobs;
    uint32_t job_count;
    gs_compare_row *rows; /* worst first */
    uint32_t row_count, row_capacity;
    uint32_t tested;                   /* rows with a p */
    uint32_t counts[GS_VERDICT_COUNT]; /* of gated rows */
    const char **differences;          /* of configurations */
    uint32_t difference_count, difference_capacity;
    const char *environment; /* what differs in it; "": nothing */
    const char **remarks;
    uint32_t remark_count, remark_capacity;
    const char *verdict; /* pass, fail, inconclusive, invalid */
    const char *cause;   /* the first thing that made it invalid; "": it is not */
    int exit_code;
} gs_compare;

/* Words of the command are the selectors. An exit code; errors are printed. store: of --db. End
 * with gs_compare_free, also after errors. */
int gs_compare_make(const gs_cli *cli, gs_store *store, const char *file, gs_compare *out);
void gs_compare_free(gs_compare *compare);

/* "FAIL: 1 worse, 0 better, 23 same, 0 inconclusive." Owner: caller, free(). */
char *gs_compare_answer(const gs_compare *compare);
/* The same of a comparison that was stored: its verdict, and counts [GS_VERDICT_COUNT] of its gated
 * rows. Owner: caller, free(). */
char *gs_compare_words(const char *verdict, const uint32_t *counts);

/* Parts of gs_compare_make, in their order; an exit code each. */
int gs_compare_read(gs_compare *compare, const gs_cli *cli, gs_store *store, const char *file);
void gs_compare_match(gs_compare *compare);
int gs_compare_judge(gs_compare *compare);
/* With --rerun: rows of samples that failed are judged once more, together with seeds that the base
 * has and the candidate has not, which this program simulates now; nothing of them is stored. What
 * did not fail keeps its verdict, so that looking twice cannot make a comparison fail. */
int gs_compare_rerun(gs_compare *compare, const gs_cli *cli);

void gs_compare_remark(gs_compare *compare, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gs_compare_differs(gs_compare *compare, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Strategy, parameters and codec as people write them. Owner: the arena. */
const char *gs_compare_label(gs_compare *compare, const char *strategy, const char *params_json);
/* A printf into the arena. */
const char *gs_compare_text(gs_compare *compare, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
