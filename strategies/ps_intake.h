/* A gradient that a server is putting together from its pieces, one worker's at a time.
 *
 * What is waited for is the last piece, or the end of a push: then the others of that worker are
 * there or close, channels being first in, first out. */
#ifndef GS_STRATEGIES_PS_INTAKE_H
#define GS_STRATEGIES_PS_INTAKE_H

#include "strategies/ps.h"

typedef struct gs_ps_intake {
    bool listening;       /* a receive of a last piece is posted */
    bool is_cut;          /* what is put together is the begin of a gradient: of no use */
    uint32_t pieces_left; /* of the gradient that is being put together, */
    uint32_t from;        /* of that worker */
} gs_ps_intake;

static inline bool gs_ps_intake_is_busy(const gs_ps_intake *intake)
{
    return intake->listening || intake->pieces_left > 0;
}

/* Takes a gradient of that worker, or of GS_ANY; not while it is busy. */
void gs_ps_intake_listen(gs_world *world, gs_ps_intake *intake, const gs_ps_rule *rule,
                         uint16_t worker);
/* A piece or an end has come. true: all of a gradient is here. */
bool gs_ps_intake_hear(gs_world *world, gs_ps_intake *intake, const gs_event *event);

#endif
