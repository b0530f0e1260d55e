/* In which order the rows of a stream come.
 *
 * A stream (models/dataset_shards.h) is endless, one epoch after another, each a permutation of its
 * rows. The order of an epoch is a function of (seed, stream, epoch) alone: how large a batch is
 * only says who takes which position. */
#ifndef GS_MODELS_DATASET_ORDER_H
#define GS_MODELS_DATASET_ORDER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "models/dataset_shards.h"

enum { GS_SAMPLE_ORDER_EPOCHS = 4 };

/* The order of samples, with the permutations used last kept at hand: a cache, never a state, so
 * each thread has its own and all give the same answers. */
typedef struct gs_sample_order {
    const gs_shards *shards;
    uint64_t seed;
    int64_t *epochs; /* [GS_SAMPLE_ORDER_EPOCHS][stream_count]: which one a slot holds; -1: none */
    uint32_t *rows;  /* [GS_SAMPLE_ORDER_EPOCHS][row_count] */
} gs_sample_order;

/* Borrows the shards. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_sample_order_init(gs_sample_order *order, const gs_shards *shards,
                                           uint64_t seed, gs_arena *arena);

/* The row at a position (>= 0) of the stream that rank (< ranks) draws from. Every row of the
 * stream comes once in an epoch, late ones from late_epoch on. Cost O(1), O(rows of the stream) at
 * an epoch's start. */
uint32_t gs_sample_order_row(gs_sample_order *order, uint32_t rank, int64_t position);

#endif
