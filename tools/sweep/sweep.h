/* A sweep: its points are run, stored as they end, and held against each other.
 *
 * A run is the seed of a point. One that is in the database is not made again: its key says that it
 * would come out the same. So a sweep that was killed goes on where it was, shards of a sweep that
 * were merged are a whole one, and values that are added cost themselves only. */
#ifndef GS_TOOLS_SWEEP_SWEEP_H
#define GS_TOOLS_SWEEP_SWEEP_H

#include "tools/deal.h"
#include "tools/sim_save.h"
#include "tools/sweep/grid.h"
#include "tools/sweep/halving.h"

/* What points are compared by, from the scenario. */
typedef enum gs_sweep_objective {
    GS_SWEEP_SAMPLE_TIME, /* gradients have no numbers */
    GS_SWEEP_TARGET_TIME,
    GS_SWEEP_LOSS /* they have, and there is no target */
} gs_sweep_objective;

/* What came out of a point. */
typedef struct gs_swept {
    const char *label;   /* of its strategy, as reports write it */
    const char *refused; /* why it is not run; NULL: it is */
    bool elsewhere;      /* of another shard, and not in the database */
    bool is_pruned;
    uint32_t rung;     /* the last one it was in */
    uint32_t known;    /* runs that have ended, those found in the database among them */
    uint32_t diverged; /* of them */
    uint32_t failed;   /* of them, in any other way */
    const char *error; /* of the first failed one, or NULL */
} gs_swept;

typedef struct gs_sweep {
    const gs_cli *cli;
    gs_grid grid;
    gs_arena arena;
    uint64_t key; /* of the sweep */
    gs_sweep_objective objective;
    uint32_t seeds;
    uint32_t shard, shards; /* this one of so many, from 0; of 1: all */
    uint32_t rung_count;
    uint32_t rung_seeds[GS_RUNGS_MAX];
    gs_swept *points; /* [grid.count] */
    uint32_t reused;  /* runs that were in the database */
    /* By run, which is point * seeds + seed: */
    double **values; /* [gs_metric_count()]; NULL: not known, or it did not end well */
    uint64_t *keys;
    bool *known;
    bool *censored;                /* its target was not reached */
    struct gs_sweep_state *states; /* [grid.count] */
    gs_environment environment;
    gs_store *store;
    gs_status stored; /* of the first thing that went wrong with the database */
    gs_error error;
} gs_sweep;

/* Reads and checks everything. An exit code; errors are printed. End with gs_sweep_free, also after
 * errors. */
int gs_sweep_begin(const gs_cli *cli, gs_sweep *out);
void gs_sweep_free(gs_sweep *sweep);

/* How runs are made: of the guests of other processes too. */
gs_deal gs_sweep_deal(gs_sweep *sweep);

/* Finds what is in the database, makes the rest, and stores it. guests: or NULL. */
void gs_sweep_run(gs_sweep *sweep, gs_guests *guests);

/* Value of a metric in a run; NAN: there is none. */
double gs_sweep_value(const gs_sweep *sweep, uint32_t point, uint32_t seed, uint32_t metric);
/* What a run is compared by, lower is better; NAN: it has none. */
double gs_sweep_score(const gs_sweep *sweep, uint32_t point, uint32_t seed);

#endif
