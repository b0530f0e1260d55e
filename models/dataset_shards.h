/* Who gets which train rows, and in which order.
 *
 * Rows lie in streams: one that all ranks draw from (iid), or one a rank (label, dirichlet,
 * unequal). A stream is endless, one epoch after another, each a permutation of all its rows; the
 * order of an epoch is a function of (seed, stream, epoch) alone: how large a batch is only says
 * who takes which position. Which rows a rank has depends on the scenario, not on the run's seed.
 */
#ifndef GS_MODELS_DATASET_SHARDS_H
#define GS_MODELS_DATASET_SHARDS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/status.h"
#include "models/dataset.h"

typedef enum gs_shard_kind {
    GS_SHARDS_IID,       /* one stream, dealt out in turn */
    GS_SHARDS_LABEL,     /* sorted by class, or as they lie where rows have none; then cut in equal
                            parts */
    GS_SHARDS_DIRICHLET, /* equal parts, each with class shares of its own */
    GS_SHARDS_UNEQUAL    /* at random, sizes falling by one ratio from rank to rank */
} gs_shard_kind;

typedef struct gs_shard_config {
    int kind;           /* gs_shard_kind */
    double alpha;       /* dirichlet: > 0; small: one class a rank, large: all alike */
    double size_ratio;  /* unequal: first shard over last, >= 1 */
    int64_t shard_seed; /* dirichlet */
    gs_int_list late;   /* classes, or bytes of a text, that come only from late_epoch on */
    int64_t late_epoch;
} gs_shard_config;

/* Reads the keys shards, alpha, size_ratio, shard_seed, late and late_epoch of "data". */
extern const gs_field_table gs_shard_config_table;

typedef struct gs_shards {
    gs_shard_kind kind;
    uint32_t ranks;
    uint32_t stream_count; /* 1 or ranks */
    int64_t row_count;     /* train rows */
    const uint32_t *rows;  /* [row_count], stream after stream; in each the late rows last */
    const int64_t *first;  /* [stream_count + 1] */
    const int64_t *early;  /* [stream_count]: rows that are not late */
    int64_t late_epoch;    /* the epoch from which all rows come; 0: all do always */
} gs_shards;

/* Deals the train rows of the data set out to ranks >= 1. dirichlet: rank r's class shares are
 * drawn from the Dirichlet distribution with parameters alpha C p_c, for C classes with shares p_c
 * of the rows; then ranks take rows in turn by them, from the classes that are left. unequal: sizes
 * in proportion to size_ratio^(-r / (ranks - 1)), rounded so that they add up. Errors: GS_EINVAL
 * naming the rank, its size and what to change (a shard without rows; without rows before
 * late_epoch; a class or byte that is not there; dirichlet or late where rows have no classes),
 * GS_ENOMEM. Borrows nothing. Owner: the arena.
 * Source of dirichlet: Hsu, Qi and Brown, arXiv:1909.06335, 2019. */
GS_MUST_USE gs_status gs_shards_create(const gs_dataset *dataset, const gs_shard_config *config,
                                       uint32_t ranks, gs_arena *arena, gs_shards *out,
                                       gs_error *err);

/* Is the stream of each rank its own? */
static inline bool gs_shards_are_own(const gs_shards *shards)
{
    return shards->kind != GS_SHARDS_IID;
}

static inline int64_t gs_shards_size(const gs_shards *shards, uint32_t stream)
{
    return shards->first[stream + 1] - shards->first[stream];
}

/* GS_OK, or GS_EINVAL where a batch of one rank is larger than an epoch of its stream, so that a
 * row would count twice in it; with rank, sizes and what to change. */
GS_MUST_USE gs_status gs_shards_check_batch(const gs_shards *shards, int64_t batch, gs_error *err);

#endif
