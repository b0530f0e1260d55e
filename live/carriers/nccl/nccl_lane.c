#include "live/carriers/nccl/nccl_lane.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- items */

void gs_nccl_queue_put(gs_nccl_queue *queue, gs_nccl_item *item)
{
    item->next = NULL;
    if (queue->first == NULL) {
        queue->first = item;
    } else {
        queue->last->next = item;
    }
    queue->last = item;
}

gs_nccl_item *gs_nccl_queue_take(gs_nccl_queue *queue)
{
    gs_nccl_item *item = queue->first;
    if (item != NULL) {
        queue->first = item->next;
        item->next = NULL;
    }
    return item;
}

/* The first spare one that is large enough; else the first one, whose buffer then grows. */
static gs_nccl_item *take_spare(gs_nccl_items *items, size_t buffer_bytes)
{
    gs_nccl_item *before = NULL;
    for (gs_nccl_item *item = items->spare.first; item != NULL; item = item->next) {
        if (item->buffer_bytes >= buffer_bytes && before != NULL) {
            before->next = item->next;
            items->spare.last = items->spare.last == item ? before : items->spare.last;
            return item;
        }
        if (item->buffer_bytes >= buffer_bytes) {
            break;
        }
        before = item;
    }
    return gs_nccl_queue_take(&items->spare);
}

gs_nccl_item *gs_nccl_items_take(gs_nccl_items *items, size_t buffer_bytes)
{
    gs_nccl_item *item = take_spare(items, buffer_bytes);
    if (item == NULL) {
        item = calloc(1, sizeof *item);
        if (item == NULL) {
            return NULL;
        }
        item->made_before = items->made;
        items->made = item;
    }
    uint8_t *buffer = item->buffer;
    if (item->buffer_bytes < buffer_bytes) {
        buffer = realloc(item->buffer, buffer_bytes);
        if (buffer == NULL) {
            gs_nccl_queue_put(&items->spare, item);
            return NULL;
        }
        item->buffer_bytes = buffer_bytes;
    }
    *item = (gs_nccl_item){
        .made_before = item->made_before, .buffer = buffer, .buffer_bytes = item->buffer_bytes};
    return item;
}

void gs_nccl_items_give(gs_nccl_items *items, gs_nccl_item *item)
{
    gs_nccl_queue_put(&items->spare, item);
}

void gs_nccl_items_free(gs_nccl_items *items)
{
    while (items->made != NULL) {
        gs_nccl_item *item = items->made;
        items->made = item->made_before;
        free(item->buffer);
        free(item);
    }
    items->spare = (gs_nccl_queue){0};
}

/* ---------------------------------------------------------------- lanes */

/* Of the next `bytes` of an item those that are its body's; the rest is padding. */
static size_t body_part(const gs_nccl_item *item, size_t bytes)
{
    size_t left = item->body_bytes > item->moved_bytes ? item->body_bytes - item->moved_bytes : 0;
    return left < bytes ? left : bytes;
}

static void land(gs_nccl_lane *lane)
{
    gs_nccl_item *item = lane->waiting.first;
    size_t part = body_part(item, lane->under_way);
    if (part > 0 && lane->act != GS_NCCL_SEND) {
        memcpy(item->to + item->moved_bytes, gs_nccl_line_staging(lane->line), part);
    }
    item->moved_bytes += lane->under_way;
    lane->under_way = 0;
}

static void start(gs_nccl_lane *lane, const gs_nccl_item *item)
{
    size_t left = item->total_bytes - item->moved_bytes;
    size_t bytes = left < lane->piece_bytes ? left : lane->piece_bytes;
    size_t part = body_part(item, bytes);
    if (part > 0 && lane->act != GS_NCCL_RECEIVE) {
        memcpy(gs_nccl_line_staging(lane->line), item->from + item->moved_bytes, part);
    }
    lane->under_way = bytes;
    gs_nccl_line_begin(lane->line, lane->act, lane->peer, bytes);
}

bool gs_nccl_lane_step(gs_nccl_lane *lane, gs_nccl_queue *ready)
{
    if (!gs_nccl_lane_is_busy(lane)) {
        return true;
    }
    gs_nccl_state state = gs_nccl_line_poll(lane->line);
    if (state != GS_NCCL_FREE) {
        return state == GS_NCCL_BUSY;
    }
    if (lane->under_way > 0) {
        land(lane);
    }
    gs_nccl_item *item;
    while ((item = lane->waiting.first) != NULL && item->moved_bytes == item->total_bytes) {
        gs_nccl_queue_put(ready, gs_nccl_queue_take(&lane->waiting));
    }
    if (item != NULL) {
        start(lane, item);
    }
    return true;
}

bool gs_nccl_lane_is_busy(const gs_nccl_lane *lane)
{
    return lane->waiting.first != NULL;
}
