/* What the two sides of a parameter server say to each other, ps_worker.c and ps_server.c.
 *
 * A worker pushes a piece as soon as its gradient is ready, and a server takes up a gradient when
 * its last piece is there. So nobody waits for a gradient that is still being computed. */
#ifndef GS_STRATEGIES_PS_PARTS_H
#define GS_STRATEGIES_PS_PARTS_H

#include "strategies/ps.h"

/* Tags. Piece p of a shard travels on GS_PS_TAG_PIECE + p. Where a rule restarts, OUTDATED is a
 * note that the server has newer weights than it gave, and END an empty message behind the pieces
 * of a push: it says how many there were, for the worker may have stopped before the last one. */
enum { GS_PS_TAG_PARAM, GS_PS_TAG_STOP, GS_PS_TAG_OUTDATED, GS_PS_TAG_END, GS_PS_TAG_PIECE };

/* meta of a message with weights, and of a note OUTDATED the first of it; TOLD: such notes so far.
 */
enum { GS_PS_META_VERSION, GS_PS_META_LAST, GS_PS_META_TOLD };
/* meta of END. */
enum { GS_PS_META_PIECES };

/* First word of both states: hooks get nothing else to tell them apart. */
typedef struct gs_ps_role {
    uint32_t kind; /* gs_ps_kind */
    uint16_t role; /* gs_role */
} gs_ps_role;

#endif
