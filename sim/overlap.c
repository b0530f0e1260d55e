#include "sim/overlap.h"

#include "base/assert.h"

#include <string.h>

#define NONE UINT32_MAX

bool gs_overlap_init(gs_overlap *overlap, uint32_t link_count, gs_arena *arena)
{
    *overlap = (gs_overlap){
        .latest = GS_TAKE(arena, uint32_t, link_count), .link_count = link_count, .arena = arena};
    if (overlap->latest == NULL) {
        return false;
    }
    gs_overlap_reset(overlap);
    return true;
}

void gs_overlap_reset(gs_overlap *overlap)
{
    for (uint32_t link = 0; link < overlap->link_count; link++) {
        overlap->latest[link] = NONE;
    }
    overlap->count = 0;
    overlap->first = GS_TICK_NEVER;
}

static bool grow(gs_overlap *overlap)
{
    uint32_t capacity = overlap->capacity == 0 ? 64 : 2 * overlap->capacity;
    gs_overlap_stay *stays = GS_TAKE(overlap->arena, gs_overlap_stay, capacity);
    if (stays == NULL) {
        overlap->out_of_memory = true;
        return false;
    }
    if (overlap->count > 0) {
        memcpy(stays, overlap->stays, overlap->count * sizeof *stays);
    }
    overlap->stays = stays;
    overlap->capacity = capacity;
    return true;
}

/* a does not start after b. */
static void meet(gs_overlap *overlap, const gs_overlap_stay *a, const gs_overlap_stay *b)
{
    if (a->channel != b->channel && b->start < a->end && b->start < overlap->first) {
        overlap->first = b->start;
    }
}

/* Looking at its neighbours is enough: what overlaps with one that lies further away overlaps
 * before that with what lies between. */
void gs_overlap_add(gs_overlap *overlap, uint32_t link, uint32_t channel, gs_tick start,
                    gs_tick end)
{
    GS_ASSERT(link < overlap->link_count && start <= end);
    if (start == end || start >= overlap->first) {
        return;
    }
    if (overlap->count == overlap->capacity && !grow(overlap)) {
        return;
    }
    uint32_t index = overlap->count++;
    gs_overlap_stay *added = &overlap->stays[index];
    *added = (gs_overlap_stay){.start = start, .end = end, .channel = channel};
    uint32_t *place = &overlap->latest[link];
    const gs_overlap_stay *after = NULL;
    while (*place != NONE && overlap->stays[*place].start > start) {
        after = &overlap->stays[*place];
        place = &overlap->stays[*place].earlier;
    }
    added->earlier = *place;
    *place = index;
    if (after != NULL) {
        meet(overlap, added, after);
    }
    if (added->earlier != NONE) {
        meet(overlap, &overlap->stays[added->earlier], added);
    }
}
