/* Programs in rounds of pairs want a power of two: of 2 r members in front, r give what they have
 * to their right neighbour, sit the rounds out, and get the result at the end. */
#ifndef GS_STRATEGIES_COLLECTIVES_POWER_FOLD_H
#define GS_STRATEGIES_COLLECTIVES_POWER_FOLD_H

#include "strategies/collective.h"

typedef struct gs_fold {
    uint32_t rounds; /* log2 of those that play */
    uint32_t players;
    uint32_t surplus; /* r = members - players */
    uint32_t player;  /* number among them, where plays */
    bool plays;       /* this member does */
    bool is_doubled;  /* it plays for its left neighbour too */
} gs_fold;

static inline gs_fold gs_fold_of(const gs_shape *shape)
{
    gs_fold fold = {.players = 1};
    while (fold.players <= shape->members / 2) {
        fold.players *= 2;
        fold.rounds++;
    }
    fold.surplus = shape->members - fold.players;
    bool in_front = shape->self < 2 * fold.surplus;
    fold.plays = !in_front || shape->self % 2 == 1;
    fold.is_doubled = in_front && fold.plays;
    fold.player = in_front ? shape->self / 2 : shape->self - fold.surplus;
    return fold;
}

static inline uint32_t gs_fold_member(const gs_fold *fold, uint32_t player)
{
    return player < fold->surplus ? 2 * player + 1 : player + fold->surplus;
}

static inline void gs_fold_whole(const gs_shape *shape, gs_vertex_kind kind, uint32_t peer,
                                 gs_vertex *out)
{
    *out = (gs_vertex){.kind = kind, .peer = peer, .length = shape->elements};
}

/* Of a member that sits out. */
static inline bool gs_fold_sit_out(const gs_shape *shape, uint64_t index, gs_vertex *out)
{
    gs_fold_whole(shape, index == 0 ? GS_VERTEX_SEND : GS_VERTEX_PUT, shape->self + 1, out);
    return index < 2;
}

/* Whom a member talks to, both ways. */
static inline uint32_t gs_fold_peers(const gs_shape *shape, gs_edge *out)
{
    gs_fold fold = gs_fold_of(shape);
    uint32_t count = 0;
    if (!fold.plays) {
        out[count++] = (gs_edge){shape->self + 1, 0};
        return count;
    }
    if (fold.is_doubled) {
        out[count++] = (gs_edge){shape->self - 1, 0};
    }
    for (uint32_t distance = 1; distance < fold.players; distance *= 2) {
        out[count++] = (gs_edge){gs_fold_member(&fold, fold.player ^ distance), 0};
    }
    return count;
}

#endif
