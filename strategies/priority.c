#include "strategies/priority.h"

void gs_priority_hear(gs_priority *priority, gs_priority_bucket *buckets, uint32_t count,
                      uint32_t ranks, uint32_t index)
{
    buckets[index].told_by++;
    while (priority->everywhere < count && buckets[priority->everywhere].told_by == ranks) {
        gs_priority_bucket *ready = &buckets[priority->everywhere++];
        ready->told_by = 0; /* what is told of it from now on is of the next gradient */
        ready->gone = 0;
        ready->below = priority->top;
        priority->top = priority->everywhere;
    }
}

bool gs_priority_take(gs_priority *priority, gs_priority_bucket *buckets, uint32_t count,
                      uint32_t *out_index, uint32_t *out_part)
{
    if (priority->top == 0) {
        return false;
    }
    gs_priority_bucket *urgent = &buckets[priority->top - 1];
    *out_index = priority->top - 1;
    *out_part = urgent->gone++;
    if (urgent->gone == urgent->parts) {
        priority->top = urgent->below;
        if (priority->top == 0 && priority->everywhere == count) {
            priority->everywhere = 0;
        }
    }
    return true;
}
