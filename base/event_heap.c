/* A 4-ary min-heap of events by (time, key): half the levels of a binary one, a cache line a level.
 */
#include "base/event_heap.h"

#include <stdlib.h>

#include "base/assert.h"

enum { FAN = 4, CAPACITY_MIN = 64 };

void gs_event_heap_init(gs_event_heap *heap)
{
    *heap = (gs_event_heap){0};
}

void gs_event_heap_fini(gs_event_heap *heap)
{
    free(heap->items);
    gs_event_heap_init(heap);
}

gs_status gs_event_heap_reserve(gs_event_heap *heap, size_t capacity)
{
    if (capacity <= heap->capacity) {
        return GS_OK;
    }
    if (capacity > SIZE_MAX / sizeof *heap->items) {
        return GS_ENOMEM;
    }
    gs_queued_event *grown = realloc(heap->items, capacity * sizeof *grown);
    if (grown == NULL) {
        return GS_ENOMEM;
    }
    heap->items = grown;
    heap->capacity = capacity;
    return GS_OK;
}

gs_status gs_event_heap_push(gs_event_heap *heap, gs_queued_event event)
{
    if (heap->count == heap->capacity) {
        GS_TRY(
            gs_event_heap_reserve(heap, heap->capacity == 0 ? CAPACITY_MIN : 2 * heap->capacity));
    }
    size_t hole = heap->count++;
    while (hole > 0) {
        size_t parent = (hole - 1) / FAN;
        if (!gs_event_is_before(event, heap->items[parent])) {
            break;
        }
        heap->items[hole] = heap->items[parent];
        hole = parent;
    }
    heap->items[hole] = event;
    return GS_OK;
}

static size_t least_child(const gs_queued_event *items, size_t first, size_t count)
{
    size_t least = first;
    size_t end = first + FAN < count ? first + FAN : count;
    for (size_t i = first + 1; i < end; i++) {
        least = gs_event_is_before(items[i], items[least]) ? i : least;
    }
    return least;
}

/* Puts event where it belongs at or below the hole. */
static void sift_down(gs_event_heap *heap, size_t hole, gs_queued_event event)
{
    gs_queued_event *items = heap->items;
    for (;;) {
        size_t first = FAN * hole + 1;
        if (first >= heap->count) {
            break;
        }
        size_t child = least_child(items, first, heap->count);
        if (!gs_event_is_before(items[child], event)) {
            break;
        }
        items[hole] = items[child];
        hole = child;
    }
    items[hole] = event;
}

bool gs_event_heap_pop(gs_event_heap *heap, gs_queued_event *out)
{
    if (heap->count == 0) {
        return false;
    }
    *out = heap->items[0];
    heap->count--;
    if (heap->count > 0) {
        sift_down(heap, 0, heap->items[heap->count]);
    }
    return true;
}

void gs_event_heap_build(gs_event_heap *heap)
{
    for (size_t i = (heap->count + FAN - 2) / FAN; i > 0; i--) {
        sift_down(heap, i - 1, heap->items[i - 1]);
    }
}
