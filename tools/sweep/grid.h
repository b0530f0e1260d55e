/* The points of a sweep: every combination of its dimensions' values, and the scenario of each.
 *
 * Points are numbered with the strategies, and then their parameters, changing fastest, so that the
 * points between which one chooses lie side by side. A parameter that a strategy does not have is
 * no dimension of its points. */
#ifndef GS_TOOLS_SWEEP_GRID_H
#define GS_TOOLS_SWEEP_GRID_H

#include "tools/scenario_load.h"
#include "tools/sweep/dimensions.h"

enum { GS_POINTS_MAX = 100000 };
#define GS_NO_VALUE UINT32_MAX

typedef struct gs_sweep_point {
    uint32_t
        values[GS_DIMENSIONS_MAX]; /* index in each dimension; GS_NO_VALUE: not one of its own */
    const char *strategy;          /* "local_sgd:period=4+fp16": what is run */
    const char *overrides_json;    /* {"cluster.links.nic.bandwidth": "1Gbit/s", "strategy": …} */
    uint32_t group; /* points of one group differ in choices only, see gs_dimension_is_choice */
} gs_sweep_point;

typedef struct gs_grid {
    const gs_cli *cli;
    const char *file;         /* of the scenario, as it was named */
    const char *text;         /* it was read from standard input; else NULL */
    const char *const *words; /* [word_count]: values for all points */
    size_t word_count;
    gs_dimensions dimensions;
    gs_sweep_point *points; /* [count] */
    uint32_t count;
    uint32_t group_count;
    uint64_t base_hash;   /* of the scenario with the first values, strategies left out */
    const char *own_json; /* what the scenario itself says of the keys that are varied */
    const char *name;     /* of the scenario */
    bool real_gradients, has_target;
    int64_t seeds;
    uint64_t seed;
    gs_arena *arena;
} gs_grid;

/* Reads the words of the command line and the scenario with the first value of each dimension.
 * Errors: those of gs_scenario_read and of dimensions.h; GS_ELIMIT (too many points). Owner: the
 * arena. */
GS_MUST_USE gs_status gs_grid_make(const gs_cli *cli, gs_arena *arena, gs_grid *out, gs_error *err);

/* The scenario of a point, with its strategy alone. Years from now: kernels take 1/1.30 of their
 * time a year, links of every kind get 1.15 times their bandwidth, latencies stay (DESIGN: compute
 * grows by 30 % a year, networks by 15 %). Errors: those of gs_scenario_read; GS_EUNSUPPORTED
 * (years of a link with a measured curve). End with gs_scenario_unload, also after errors. */
GS_MUST_USE gs_status gs_grid_load(const gs_grid *grid, uint32_t point, gs_loaded *out,
                                   gs_error *err);

/* "local_sgd:period=4+topk" with the parameter set, of the strategy or of its codec. NULL: neither
 * has it, or (*ok false) there is no memory. Owner: the arena. */
const char *gs_strategy_with(const char *strategy, const char *key, const char *value,
                             gs_arena *arena, bool *ok);

#endif
