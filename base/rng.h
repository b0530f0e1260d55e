/* Counter-based random numbers: a draw is a pure function of (seed, purpose, entity, step, index).
 *
 * Changing one purpose's draws never moves another's, and nothing depends on the order of calls.
 * Philox4x32-10 of Random123 (Salmon et al., SC'11), the only file that includes it. */
#ifndef GS_BASE_RNG_H
#define GS_BASE_RNG_H

#include <stdint.h>

/* clang-format off */
typedef enum gs_rng_purpose { /* part of the file format of results: append only */
    GS_RNG_DATA = 1,     GS_RNG_INIT,       GS_RNG_COMPUTE_NOISE, GS_RNG_STRAGGLER,
    GS_RNG_LATENCY,      GS_RNG_BANDWIDTH,  GS_RNG_INPUT,         GS_RNG_TIES,
    GS_RNG_STRATEGY,     GS_RNG_DELAY,      GS_RNG_TEST,        GS_RNG_CODEC,
    GS_RNG_BOOTSTRAP,    GS_RNG_PLACEMENT,  GS_RNG_PERMUTATION, GS_RNG_TENANT
} gs_rng_purpose;
/* clang-format on */

typedef struct gs_rng_key {
    uint64_t seed;
    gs_rng_purpose purpose;
    uint32_t entity;
} gs_rng_key;

enum { GS_RNG_STEP_BITS = 56 };

/* 64 random bits of draw `index` in step `step` (below 2^GS_RNG_STEP_BITS). */
uint64_t gs_rng_bits(gs_rng_key key, uint64_t step, uint32_t index);

/* Uniform in the open interval (0, 1), 53 bits; never 0 or 1, so that every inversion is finite. */
double gs_rng_uniform(gs_rng_key key, uint64_t step, uint32_t index);

/* Draws of many entities, each in its own step. */
typedef struct gs_rng_many {
    uint64_t seed;
    gs_rng_purpose purpose;
    const uint32_t *entities;
    const uint64_t *steps;
    uint64_t later; /* so many steps after `steps` */
} gs_rng_many;

/* Side by side: out [count] is bit for bit gs_rng_uniform of entities[i] in step
 * steps[i] + later, index 0. */
void gs_rng_uniforms(const gs_rng_many *of, uint32_t count, double *out);

#endif
