/* Stored runs that a figure or a report is about: those of one or more selectors, each once, with
 * the values that a sweep gave them. */
#ifndef GS_TOOLS_STORED_SET_H
#define GS_TOOLS_STORED_SET_H

#include "base/arena.h"
#include "tools/cli.h"
#include "traces/store/store.h"

#include <stdint.h>

#define GS_NOT_SWEPT UINT32_MAX

/* A key that a sweep has varied. */
typedef struct gs_swept_key {
    const char *key;       /* "cluster.links.nic.bandwidth", "strategy", "strategy.period" */
    const char **values;   /* [count], as words take them; numbers ascending */
    const double *numbers; /* [count]; NAN: a word */
    uint32_t count;
    const char *own; /* what the scenario itself says, likewise; NULL: not known */
    double own_number;
    bool is_numeric; /* all values are numbers */
} gs_swept_key;

typedef struct gs_set_run {
    int64_t id;
    gs_stored_run run;
    uint32_t label;         /* index of labels */
    bool is_good;           /* ended well */
    const uint32_t *values; /* [key_count] index of keys[].values; GS_NOT_SWEPT: has none */
} gs_set_run;

typedef struct gs_stored_set {
    gs_arena arena;
    gs_store *store;
    gs_set_run *runs;    /* [count], oldest first within a selector */
    uint32_t count;      /* >= 1 */
    uint32_t left_out;   /* of them, not good */
    const char **labels; /* [label_count] of strategies, in order of first appearance */
    uint32_t label_count;
    gs_swept_key *keys; /* [key_count] of the sweep that most of the runs are of */
    uint32_t key_count;
} gs_stored_set;

/* Words [first, first + count) are selectors; those with a '=' keep only the runs to which the
 * sweep gave that value. An exit code; errors are printed, with `what` in front. End with
 * gs_stored_set_close, also after errors. */
int gs_stored_set_open(const gs_cli *cli, const char *what, size_t first, size_t count,
                       gs_stored_set *out);
void gs_stored_set_close(gs_stored_set *set);

/* What runs are compared by, lower is better. */
typedef enum gs_set_measure {
    GS_SET_SAMPLE_TIME, /* ns a sample, all ranks together */
    GS_SET_TARGET_TIME, /* ns */
    GS_SET_LOSS
} gs_set_measure;

/* As `sweep` chooses: the time to the target where the scenario has one and gradients have numbers,
 * the loss where they have numbers only, else the time per sample. */
gs_set_measure gs_stored_set_measure(const gs_stored_set *set);
const char *gs_set_measure_title(gs_set_measure measure); /* "time to the target" */
/* NAN: it has none. */
double gs_set_score(gs_set_measure measure, const gs_set_run *run);

/* What the scenario of a run says of its target: "final_accuracy" and 0.95; value 0: none. */
gs_quality gs_set_target(const gs_stored_run *run, double *out_value);

/* What a run has learned by the target's measure: its final accuracy, loss or bits; NAN: nothing.
 */
double gs_set_learned(const gs_stored_run *run, gs_quality quality);

/* Complains and returns false where runs of one label are of more than one configuration: a mean
 * over them would say nothing. */
bool gs_stored_set_is_one_job(const gs_stored_set *set, const char *what);

#endif
