/* Draws that data is made of and dealt out by, each a pure function of a key of purpose
 * GS_RNG_DATA. */
#ifndef GS_MODELS_DATASET_RANDOM_H
#define GS_MODELS_DATASET_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/status.h"

/* Entities of the keys, so that no two uses share draws. Part of what a seed means: append only. */
enum {
    GS_DATA_EPOCH = 0, /* order of an epoch, seed of the run */
    GS_DATA_SPLIT = 1, /* train and test */
    GS_DATA_TURNS = 2, /* who gets a row next */
    GS_DATA_MODEL = 3, /* what generates data: weights, centres */
    GS_DATA_INPUTS = 4,
    GS_DATA_ANSWERS = 5,
    GS_DATA_SHARES = 1 << 20, /* + rank: its shares of the classes */
    GS_DATA_STREAM = 1 << 21  /* + rank: order of an epoch of its own shard */
};

/* Fisher and Yates. The draw maps 32 random bits to 0..i by multiplication; no row is favoured by
 * more than count / 2^32, which no experiment sees. */
void gs_data_shuffle(gs_rng_key key, uint64_t step, uint32_t *rows, int64_t count);

/* count (below 2^31) independent standard normals, draws 0 and on of the step.
 * Source: Box and Muller, Annals of Mathematical Statistics 29, 1958. */
void gs_data_normals(gs_rng_key key, uint64_t step, double *out, uint32_t count);

/* Logarithm of a draw from the gamma distribution of that shape (> 0) and scale 1; the logarithm
 * because draws of small shapes are below what a double holds. Rejection, with the draws of a step
 * in turn: what it gives does not depend on who calls when.
 * Source: Marsaglia and Tsang, ACM TOMS 26, 2000; below 1 by their section 6. */
double gs_data_log_gamma(gs_rng_key key, uint64_t step, double shape);

/* Shares [count] (sum 1) by the Dirichlet distribution of shapes [count], each > 0; steps 0 to
 * count - 1 of the key. */
void gs_data_dirichlet(gs_rng_key key, const double *shapes, double *out, int64_t count);

/* All rows, shuffled once and for all by seed 0; the last ones are for testing, one in five,
 * rounded up. rows >= 2. NULL: no memory. Owner: the arena. */
uint32_t *gs_data_split(int64_t rows, gs_arena *arena, int64_t *out_test_count);

/* Rows in their own order, for sets that come split. NULL: no memory. Owner: the arena. */
uint32_t *gs_data_in_order(int64_t rows, gs_arena *arena);

#endif
