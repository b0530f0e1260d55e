#include "traces/grow.h"

#include <stdlib.h>

enum { ITEMS_MIN = 64 };

void *gs_grow(void *items, int64_t count, int64_t *capacity, size_t item_bytes)
{
    if (count < *capacity) {
        return items;
    }
    int64_t grown = *capacity == 0 ? ITEMS_MIN : *capacity * 2;
    if ((uint64_t)grown > SIZE_MAX / item_bytes) {
        return NULL;
    }
    void *moved = realloc(items, (size_t)grown * item_bytes);
    if (moved != NULL) {
        *capacity = grown;
    }
    return moved;
}
