/* The average of two ranks, in the form of differences: who is asked moves half the way to who
 * asks, and answers by how much; who asked moves as much the other way. The sum of the models
 * stays, and nobody waits for what another one has locked.
 *
 * At the end each rank says how often it asked; a rank has answered all once it has answered as
 * often as its neighbours say. */
#ifndef GS_STRATEGIES_AD_PSGD_PAIR_H
#define GS_STRATEGIES_AD_PSGD_PAIR_H

#include "strategies/world.h"

/* Own vectors: where the gradient is taken, which is what a question sends; what came as a
 * question; what came as an answer. */
enum { GS_PAIR_AT = GS_OWN, GS_PAIR_QUESTION, GS_PAIR_ANSWER, GS_PAIR_VECTORS_END };
/* The last one is of notes; meta: how often the sender asked. */
enum { GS_PAIR_TAG_QUESTION, GS_PAIR_TAG_ANSWER, GS_PAIR_TAG_COUNT };

typedef struct gs_pair {
    uint32_t open;   /* of the question that was asked, and its answer */
    gs_op answering; /* the vector for questions is lent to it; 0: it is posted for who asks next */
    int64_t answered, expected;
    uint32_t counts; /* ranks that have said how often they asked */
} gs_pair;

/* Takes a question of whoever asks. */
void gs_pair_listen(gs_world *world);
/* Asks another rank; `open` is 0 again when it was sent and the answer is used. */
void gs_pair_ask(gs_world *world, gs_pair *pair, uint32_t rank);
/* A message of the three tags has come. */
void gs_pair_hear(gs_world *world, gs_pair *pair, const gs_event *event);
/* A send has ended. */
void gs_pair_sent(gs_world *world, gs_pair *pair, gs_op op);

/* So many neighbours have said how often they asked, and every question is answered. */
static inline bool gs_pair_is_even(const gs_pair *pair, uint32_t neighbours)
{
    return pair->counts == neighbours && pair->answered == pair->expected && pair->answering == 0;
}

#endif
