/* One round of synchronous gossip: what a rank sends to its neighbours, and what becomes of the
 * model by what comes.
 *
 *     plain         x = sum over neighbours of W x
 *     push_sum      x, w = sums of shares of x and w
 *     differences   x^ += C(x - x^); x += gamma (W x^ - x^)
 *
 * What comes is added in the order of neighbours, not of arrival: time changes no weight. */
#ifndef GS_STRATEGIES_GOSSIP_ROUND_H
#define GS_STRATEGIES_GOSSIP_ROUND_H

#include "strategies/gossip_rule.h"
#include "strategies/world.h"

typedef struct gs_gossip_round {
    gs_mixing mixing;
    bool under_way;
    uint32_t open;   /* its requests */
    int64_t sent_at; /* step of the last round; -1: none yet */
    double weight;   /* push-sum's w, a number of the protocol and of no vector, */
    double coming;   /* and what came of it in the round under way */
} gs_gossip_round;

/* No round was yet; the vectors are what they are before the first. */
void gs_gossip_round_init(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule);

/* After `steps` steps: sends the news, and asks for that of the neighbours. */
void gs_gossip_round_begin(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule,
                           int64_t steps);
/* One of its messages is here. */
void gs_gossip_round_hear(gs_gossip_round *round, const gs_event *event);
/* All of it has come and gone: the model takes it up. */
void gs_gossip_round_end(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule);

/* Makes the model anew from what travels, where that is something else. */
void gs_gossip_round_model(gs_world *world, const gs_gossip_round *round,
                           const gs_gossip_rule *rule);

#endif
