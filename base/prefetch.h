/* Asks the processor for memory that is going to be looked at, so that it is there by then. Changes
 * nothing, and may name memory that is not there. */
#ifndef GS_BASE_PREFETCH_H
#define GS_BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum { GS_CACHE_LINE_BYTES = 64 };

static inline void gs_prefetch(const void *from, size_t bytes)
{
    uintptr_t at = (uintptr_t)from / GS_CACHE_LINE_BYTES * GS_CACHE_LINE_BYTES;
    for (; at < (uintptr_t)from + bytes; at += GS_CACHE_LINE_BYTES) {
        __builtin_prefetch((const void *)at);
    }
}

#endif
