/* AdaComm's look at the loss: all ranks agree on the period of the next steps.
 *
 * Losses differ between ranks, and who acted on its own would average when others do not. Each rank
 * notes its mean loss to rank 0, which answers all with the period: two latencies of the control
 * plane, while the average travels. Losses are whole numbers here, so that the order in which they
 * come changes no bit of their sum. */
#ifndef GS_STRATEGIES_LOCAL_ADAPT_H
#define GS_STRATEGIES_LOCAL_ADAPT_H

#include "strategies/local_rule.h"
#include "strategies/world.h"

typedef struct gs_local_agreement {
    int64_t period;     /* of now */
    int64_t first_loss; /* that periods are measured by; 0: not known yet */
    int64_t looked;     /* steps at the last look; -1: none */
    int64_t loss;       /* of this rank's steps since the last average, summed */
    int64_t losses;     /* how many of them were numbers */
    bool asking;        /* no answer yet */
    int64_t sum;        /* rank 0: of the means that have come, */
    uint32_t known;     /* from so many ranks, */
    uint32_t heard;     /* of which so many have reported */
} gs_local_agreement;

/* What of it goes from run to run: what ranks agreed on, and no look that is under way. */
gs_local_agreement gs_local_agreed(const gs_local_agreement *agreement);
/* A step's loss; NAN, as in timing-only runs, leaves the period as it is. */
void gs_local_hear_loss(gs_local_agreement *agreement, double loss);
/* An average begins after `steps` steps: asks for a period where it is time to. */
void gs_local_ask(gs_world *world, gs_local_agreement *agreement, const gs_local_rule *rule,
                  int64_t steps);
/* A note has come. */
void gs_local_note(gs_world *world, gs_local_agreement *agreement, const gs_local_rule *rule,
                   const gs_event *event);

#endif
