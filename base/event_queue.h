/* The pending-event set of the simulator: a ladder of buckets over a 4-ary heap.
 *
 * An event is 16 bytes: a time and a key. Events come out by (time, key). The ladder keeps most
 * events unsorted until they are near; its bottom is a heap, so that equal times cannot degrade it
 * (measured against heaps, calendars and radix heaps: docs/adr). gs_event_heap is the plain 4-ary
 * heap: the bottom, and the oracle of the tests. Time must not go back: pushing before the last pop
 * asserts. Memory grows by doubling and is kept; steady state takes none. */
#ifndef GS_BASE_EVENT_QUEUE_H
#define GS_BASE_EVENT_QUEUE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_queued_event {
    int64_t time;
    uint64_t key; /* order in the high bits, the caller's payload in the low ones */
} gs_queued_event;

typedef struct gs_event_heap {
    gs_queued_event *items;
    size_t count;
    size_t capacity;
} gs_event_heap;

void gs_event_heap_init(gs_event_heap *heap);
void gs_event_heap_fini(gs_event_heap *heap);
GS_MUST_USE gs_status gs_event_heap_push(gs_event_heap *heap, gs_queued_event event);
bool gs_event_heap_pop(gs_event_heap *heap, gs_queued_event *out); /* false: empty */

typedef struct gs_event_queue gs_event_queue;

/* NULL: no memory. Owner: caller. */
gs_event_queue *gs_event_queue_create(void);
void gs_event_queue_destroy(gs_event_queue *queue);
/* Errors: GS_ENOMEM; the queue is as before then. */
GS_MUST_USE gs_status gs_event_queue_push(gs_event_queue *queue, gs_queued_event event);
bool gs_event_queue_pop(gs_event_queue *queue, gs_queued_event *out); /* false: empty */
/* Some of the next events, of which the first is the next one; the others come in any order. For
 * who gets ready for what may come: a push may come before them. Good until the next call. */
const gs_queued_event *gs_event_queue_ahead(const gs_event_queue *queue, size_t *out_count);
/* How often those were other ones altogether. */
uint64_t gs_event_queue_refills(const gs_event_queue *queue);
size_t gs_event_queue_count(const gs_event_queue *queue);
size_t gs_event_queue_bytes(const gs_event_queue *queue); /* memory held */

#endif
