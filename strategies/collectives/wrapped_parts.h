/* Parts of members who follow one another, the first after the last: one piece of the slice, or
 * two.
 */
#ifndef GS_STRATEGIES_COLLECTIVES_WRAPPED_PARTS_H
#define GS_STRATEGIES_COLLECTIVES_WRAPPED_PARTS_H

#include "strategies/collective.h"

/* Sets piece `piece` of the parts of `count` members from `first` on, 1 to all of them. Returns how
 * many pieces there are; more than that are not set. */
static inline uint64_t gs_wrapped_parts(const gs_shape *shape, uint32_t first, uint32_t count,
                                        uint64_t piece, gs_vertex *out)
{
    uint32_t until_end = shape->members - first;
    uint64_t pieces = count > until_end ? 2 : 1;
    uint32_t from = piece == 0 ? first : 0;
    uint32_t parts = pieces == 1 ? count : piece == 0 ? until_end : count - until_end;
    if (piece < pieces) {
        int64_t last_offset, last_length;
        gs_part_of(shape->elements, shape->members, from, &out->offset, &out->length);
        gs_part_of(shape->elements, shape->members, from + parts - 1, &last_offset, &last_length);
        out->length = last_offset + last_length - out->offset;
    }
    return pieces;
}

#endif
