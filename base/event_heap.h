/* The order of queued events and the inner moves of the 4-ary heap; for base's own files. */
#ifndef GS_BASE_EVENT_HEAP_H
#define GS_BASE_EVENT_HEAP_H

#include "base/event_queue.h"

/* Grows to hold capacity events. GS_ENOMEM: as before. */
GS_MUST_USE gs_status gs_event_heap_reserve(gs_event_heap *heap, size_t capacity);

/* Restores the order after items[0..count) were written in any order; O(count). */
void gs_event_heap_build(gs_event_heap *heap);

/* (time, key) as one comparison that compiles without a branch. */
static inline bool gs_event_is_before(gs_queued_event a, gs_queued_event b)
{
    __extension__ typedef __int128 wide;
    const wide unit = (wide)1 << 64;
    return (wide)a.time * unit + (wide)a.key < (wide)b.time * unit + (wide)b.key;
}

#endif
