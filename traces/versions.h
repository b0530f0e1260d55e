/* How many updates the numbers of an entity's vectors hold: what tells how stale a gradient is when
 * it is applied.
 *
 * Weights count their updates. A copy has the version of what it was copied from, a gradient that
 * of the weights it was taken at, and a sum the oldest of its parts. Weights that are mixed with
 * others keep their own count: mixing is no update. Parts of one vector may differ, as where
 * several servers hold a share each. Not thread safe. */
#ifndef GS_TRACES_VERSIONS_H
#define GS_TRACES_VERSIONS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Of numbers that hold nothing of any weights: zeros. */
#define GS_NO_VERSION INT64_MAX

/* From here to the next piece. */
typedef struct gs_version_piece {
    int64_t from; /* element */
    int64_t version;
    bool is_spent; /* was applied: what is added next begins anew */
} gs_version_piece;

typedef struct gs_version_vector {
    gs_version_piece first;   /* while there is one */
    gs_version_piece *pieces; /* [count], ascending from 0; NULL: first */
    uint32_t count, capacity;
    bool is_weights; /* has been updated: adding to it changes no version */
} gs_version_vector;

typedef struct gs_versions {
    gs_version_vector *vectors;
    int64_t elements; /* of each vector */
    gs_arena *arena;
} gs_versions;

/* Vector 0 is weights of version 0, the others hold nothing. elements > 0. false: no memory. Owner:
 * the arena, which must outlive it: pieces take memory later. Without it a vector that would need
 * more of them has its oldest version throughout. */
bool gs_versions_init(gs_versions *versions, uint32_t vectors, int64_t elements, gs_arena *arena);

/* Ranges are [offset, offset + length), and may be empty. */

/* Oldest version of a range, GS_NO_VERSION where it holds nothing. */
int64_t gs_versions_oldest(const gs_versions *versions, uint32_t vector, int64_t offset,
                           int64_t length);
/* The elements become those of that version. */
void gs_versions_put(gs_versions *versions, uint32_t vector, int64_t offset, int64_t length,
                     int64_t version);
/* Elements of that version are added to them. */
void gs_versions_add(gs_versions *versions, uint32_t vector, int64_t offset, int64_t length,
                     int64_t version);
/* They become zeros, which know of nothing; weights stay what they are. */
void gs_versions_clear(gs_versions *versions, uint32_t vector, int64_t offset, int64_t length);
/* The whole of `to` is taken from, or at, the whole of `from`. */
void gs_versions_copy(gs_versions *versions, uint32_t to, uint32_t from);
/* A range of `grad` is applied to that of `param`, whose version rises by one. Returns how many
 * updates param had that the gradient did not know of, the most over the elements; -1: the gradient
 * holds nothing. */
int64_t gs_versions_apply(gs_versions *versions, uint32_t param, uint32_t grad, int64_t offset,
                          int64_t length);

#endif
