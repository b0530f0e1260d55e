/* Made-up jobs for the tests of `trace slow`: ranks whose parts of a step are lognormal, and one of
 * which may be slower in one part, always, in a rhythm or in bursts.
 *
 * The job is synchronous: nobody ends a step before the slowest has come and the slowest link has
 * carried, so that every rank has the same step time and the others' excess is their wait. */
#ifndef GS_TESTS_TRACES_SLOW_FIXTURE_H
#define GS_TESTS_TRACES_SLOW_FIXTURE_H

#include "base/rng.h"
#include "traces/slow_rank.h"

#include <math.h>
#include <string.h>

enum { PLANT_RANKS_MAX = 64, PLANT_STEPS_MAX = 400 };

typedef struct planted {
    uint64_t seed;
    uint32_t ranks;
    uint32_t steps;
    double cv;               /* of each part */
    double base_ns[3];       /* compute, input, wire */
    double memory;           /* of a rank's noise: lag-one correlation */
    double spikes;           /* share of the ranks' parts that are doubled, whoever it is */
    uint32_t slow;           /* index of the slow rank */
    gs_step_part part;       /* GS_STEP_TIME: nobody is slow */
    gs_slow_pattern pattern; /* always, periodic or bursts */
    double factor;
    uint32_t period;
} planted;

static inline planted planted_default(uint64_t seed)
{
    return (planted){.seed = seed,
                     .ranks = 8,
                     .steps = 150,
                     .cv = 0.03,
                     .base_ns = {60e6, 20e6, 20e6},
                     .slow = (uint32_t)(seed % 8),
                     .part = GS_STEP_TIME,
                     .factor = 1.0,
                     .period = 7};
}

static inline double draw(const planted *set, uint32_t entity, uint32_t step, uint32_t index)
{
    gs_rng_key key = {set->seed, GS_RNG_TEST, entity};
    return gs_rng_uniform(key, step, index);
}

/* Standard normal by Box and Muller. */
static inline double draw_normal(const planted *set, uint32_t entity, uint32_t step, uint32_t index)
{
    double radius = sqrt(-2.0 * log(draw(set, entity, step, 2 * index)));
    return radius * cos(2.0 * 3.14159265358979323846 * draw(set, entity, step, 2 * index + 1));
}

/* Which steps the slow rank is slow in. Bursts begin with 1 in 40 and end with 1 in 8, but one is
 * always there. */
static inline void plant_steps(const planted *set, unsigned char *is_slow)
{
    bool in_burst = false;
    for (uint32_t s = 0; s < set->steps; s++) {
        double chance = draw(set, 1000, s, 0);
        in_burst = in_burst ? chance > 1.0 / 8 : chance < 1.0 / 40;
        bool slow = in_burst || (s >= set->steps / 3 && s < set->steps / 3 + 10);
        if (set->pattern == GS_SLOW_ALWAYS) {
            slow = true;
        } else if (set->pattern == GS_SLOW_PERIODIC) {
            slow = s % set->period == 3 % set->period;
        }
        is_slow[s] = slow ? 1 : 0;
    }
}

static inline void plant_step(const planted *set, uint32_t s, bool is_slow, double *memory,
                              const gs_step_table *table)
{
    int64_t parts[PLANT_RANKS_MAX][3];
    int64_t came = 0;
    int64_t wire = 0;
    double sigma = sqrt(log1p(set->cv * set->cv));
    for (uint32_t r = 0; r < set->ranks; r++) {
        for (uint32_t p = 0; p < 3; p++) {
            double *state = &memory[r * 3 + p];
            *state = s == 0 ? draw_normal(set, r, s, p)
                            : set->memory * *state +
                                  sqrt(1.0 - set->memory * set->memory) * draw_normal(set, r, s, p);
            double value = set->base_ns[p] * exp(sigma * *state - sigma * sigma / 2.0);
            value *= draw(set, r, s, 6 + p) < set->spikes ? 2.0 : 1.0;
            bool here = is_slow && r == set->slow &&
                        set->part == (p == 0   ? GS_STEP_COMPUTE
                                      : p == 1 ? GS_STEP_INPUT
                                               : GS_STEP_WIRE);
            parts[r][p] = (int64_t)(value * (here ? set->factor : 1.0));
        }
        came = parts[r][0] + parts[r][1] > came ? parts[r][0] + parts[r][1] : came;
        wire = parts[r][2] > wire ? parts[r][2] : wire;
    }
    for (uint32_t r = 0; r < set->ranks; r++) {
        size_t at = (size_t)s * set->ranks + r;
        table->parts[GS_STEP_TIME][at] = came + wire;
        table->parts[GS_STEP_COMPUTE][at] = parts[r][0];
        table->parts[GS_STEP_INPUT][at] = parts[r][1];
        table->parts[GS_STEP_WIRE][at] = parts[r][2];
        table->parts[GS_STEP_WAIT][at] = came + wire - parts[r][0] - parts[r][1] - parts[r][2];
    }
}

/* The table of a made-up job, in the arena. */
static inline gs_status plant(const planted *set, gs_arena *arena, gs_step_table *out)
{
    static unsigned char is_slow[PLANT_STEPS_MAX];
    double memory[PLANT_RANKS_MAX * 3];
    int32_t *ranks = GS_TAKE(arena, int32_t, set->ranks);
    int64_t *steps = GS_TAKE(arena, int64_t, set->steps);
    for (uint32_t r = 0; r < set->ranks; r++) {
        ranks[r] = (int32_t)r;
    }
    for (uint32_t s = 0; s < set->steps; s++) {
        steps[s] = s;
    }
    gs_status status = gs_step_table_make(ranks, set->ranks, steps, set->steps,
                                          (1u << GS_STEP_PARTS) - 1, arena, out, NULL);
    plant_steps(set, is_slow);
    for (uint32_t s = 0; s < set->steps && status == GS_OK; s++) {
        plant_step(set, s, is_slow[s] != 0, memory, out);
    }
    return status;
}

#endif
