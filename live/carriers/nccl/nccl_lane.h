/* A lane of the NCCL carrier: what is to move over a line, first in first out, a piece at a time.
 *
 * Frames and sums are items: the same record in the queue of a lane, and in the queue of what the
 * carrier's owner is to be told. */
#ifndef GS_LIVE_CARRIERS_NCCL_NCCL_LANE_H
#define GS_LIVE_CARRIERS_NCCL_NCCL_LANE_H

#include "live/carrier.h"
#include "live/carriers/nccl/nccl_line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_nccl_item {
    struct gs_nccl_item *next; /* in its queue */
    struct gs_nccl_item *made_before;
    gs_carried_kind kind; /* what is told once it has moved */
    uint32_t peer;
    uint64_t cookie;
    uint8_t head[GS_FRAME_HEAD_BYTES]; /* of a frame; of LOST the text */
    size_t head_bytes;
    const uint8_t *from; /* [body_bytes] of a frame that is sent, and of a sum */
    uint8_t *to;         /* [body_bytes] of a frame that comes, and of a sum */
    size_t body_bytes;
    size_t total_bytes; /* with the padding */
    size_t moved_bytes;
    uint8_t *buffer; /* [buffer_bytes], the item's own */
    size_t buffer_bytes;
} gs_nccl_item;

typedef struct gs_nccl_queue {
    gs_nccl_item *first, *last;
} gs_nccl_queue;

void gs_nccl_queue_put(gs_nccl_queue *queue, gs_nccl_item *item);
gs_nccl_item *gs_nccl_queue_take(gs_nccl_queue *queue); /* NULL: empty */

/* Items by turn of use: steady state takes no memory. */
typedef struct gs_nccl_items {
    gs_nccl_item *made; /* all of them */
    gs_nccl_queue spare;
} gs_nccl_items;

/* An item whose buffer holds at least so many bytes; all else is 0. NULL: no memory. */
gs_nccl_item *gs_nccl_items_take(gs_nccl_items *items, size_t buffer_bytes);
void gs_nccl_items_give(gs_nccl_items *items, gs_nccl_item *item);
void gs_nccl_items_free(gs_nccl_items *items);

typedef struct gs_nccl_lane {
    gs_nccl_line *line; /* owned */
    gs_nccl_act act;
    uint32_t peer; /* the member of the line at the other end */
    size_t piece_bytes;
    gs_nccl_queue waiting;
    size_t under_way; /* bytes of the first item that the line is moving */
} gs_nccl_lane;

/* Takes what the line has moved, gives it the next piece, and puts items that are complete into
 * `ready`. false: the line is broken. */
GS_MUST_USE bool gs_nccl_lane_step(gs_nccl_lane *lane, gs_nccl_queue *ready);
/* Something is waiting or under way. */
bool gs_nccl_lane_is_busy(const gs_nccl_lane *lane);

#endif
