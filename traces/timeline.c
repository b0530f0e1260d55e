#include "traces/timeline.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

const char *gs_timeline_kind_text(gs_timeline_kind kind)
{
    static const char *const texts[] = {
#define GS_TIMELINE_TEXT(name, track, text) [GS_TIMELINE_##name] = (text),
        GS_TIMELINE_KIND_LIST(GS_TIMELINE_TEXT)
#undef GS_TIMELINE_TEXT
    };
    GS_ASSERT(kind < GS_TIMELINE_KIND_COUNT);
    return texts[kind];
}

gs_timeline_track gs_timeline_kind_track(gs_timeline_kind kind)
{
    static const gs_timeline_track tracks[] = {
#define GS_TIMELINE_TRACK(name, track, text) [GS_TIMELINE_##name] = GS_TRACK_##track,
        GS_TIMELINE_KIND_LIST(GS_TIMELINE_TRACK)
#undef GS_TIMELINE_TRACK
    };
    GS_ASSERT(kind < GS_TIMELINE_KIND_COUNT);
    return tracks[kind];
}

const char *gs_timeline_track_text(gs_timeline_track track)
{
    static const char *const texts[] = {[GS_TRACK_COMPUTE] = "compute",
                                        [GS_TRACK_COMM] = "comm",
                                        [GS_TRACK_WAIT] = "wait",
                                        [GS_TRACK_INPUT] = "input"};
    return texts[track];
}

gs_timeline *gs_timeline_create(int64_t first_step, int64_t last_step)
{
    GS_ASSERT(first_step >= 0 && last_step >= first_step);
    gs_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline != NULL) {
        timeline->first_step = first_step;
        timeline->last_step = last_step;
    }
    return timeline;
}

void gs_timeline_destroy(gs_timeline *timeline)
{
    if (timeline != NULL) {
        free(timeline->last_span); /* one block with node_of and nic_of */
        free(timeline->spans);
        free(timeline->ops);
        free(timeline->messages);
        free(timeline->steps);
        free(timeline);
    }
}

gs_status gs_timeline_describe(gs_timeline *timeline, const gs_timeline_world *world)
{
    GS_ASSERT(timeline->last_span == NULL && world->entities >= world->ranks);
    size_t places = (size_t)world->ranks + world->entities;
    int64_t *last_span = calloc(1, world->ranks * sizeof *last_span + places * sizeof(uint32_t));
    if (last_span == NULL) {
        return GS_ENOMEM;
    }
    for (uint32_t rank = 0; rank < world->ranks; rank++) {
        last_span[rank] = -1;
    }
    void *after = last_span + world->ranks;
    uint32_t *node_of = after;
    uint32_t *nic_of = node_of + world->ranks;
    memcpy(node_of, world->node_of, world->ranks * sizeof *node_of);
    memcpy(nic_of, world->nic_of, world->entities * sizeof *nic_of);
    timeline->last_span = last_span;
    timeline->world = *world;
    timeline->world.node_of = node_of;
    timeline->world.nic_of = nic_of;
    return GS_OK;
}

/* Room for one more item; NULL: no memory, which end_step tells. */
static void *make_room(gs_timeline *timeline, void *items, int64_t count, int64_t *capacity,
                       size_t item_bytes)
{
    if (count < *capacity) {
        return items;
    }
    int64_t wanted = *capacity == 0 ? FIRST_CAPACITY : 2 * *capacity;
    void *moved = realloc(items, (size_t)wanted * item_bytes);
    if (moved == NULL) {
        timeline->out_of_memory = true;
        return NULL;
    }
    *capacity = wanted;
    return moved;
}

void gs_timeline_begin_step(gs_timeline *timeline, int64_t step)
{
    timeline->begun += step == timeline->first_step ? 1 : 0;
}

gs_status gs_timeline_end_step(gs_timeline *timeline, const gs_step_row *row)
{
    if (!gs_timeline_has(timeline, row->step)) {
        return GS_OK;
    }
    gs_step_row *steps = make_room(timeline, timeline->steps, timeline->step_count,
                                   &timeline->step_capacity, sizeof *steps);
    if (steps != NULL) {
        timeline->steps = steps;
        steps[timeline->step_count++] = *row;
    }
    timeline->passed += row->step == timeline->last_step ? 1 : 0;
    return timeline->out_of_memory ? GS_ENOMEM : GS_OK;
}

void gs_timeline_add_span(gs_timeline *timeline, gs_timeline_span span)
{
    if (span.to_ns <= span.from_ns) {
        return;
    }
    int64_t *newest = &timeline->last_span[span.rank];
    gs_timeline_span *last = *newest < 0 ? NULL : &timeline->spans[*newest];
    if (last != NULL && last->kind == span.kind && last->step == span.step &&
        last->to_ns == span.from_ns && last->unit == GS_TIMELINE_NO_UNIT) {
        last->to_ns = span.to_ns;
        last->unit = span.unit;
        return;
    }
    gs_timeline_span *spans = make_room(timeline, timeline->spans, timeline->span_count,
                                        &timeline->span_capacity, sizeof *spans);
    if (spans != NULL) {
        timeline->spans = spans;
        *newest = timeline->span_count;
        spans[timeline->span_count++] = span;
    }
}

void gs_timeline_cut(gs_timeline *timeline, uint32_t rank, gs_time_ns at_ns)
{
    timeline->last_span[rank] = -1;
    int64_t kept = 0;
    for (int64_t i = 0; i < timeline->span_count; i++) {
        gs_timeline_span span = timeline->spans[i];
        bool is_pass = span.kind == GS_TIMELINE_FORWARD || span.kind == GS_TIMELINE_BACKWARD;
        if (span.rank == rank && is_pass && span.to_ns > at_ns) {
            span.to_ns = at_ns;
            span.unit = GS_TIMELINE_NO_UNIT;
        }
        if (span.to_ns > span.from_ns) {
            timeline->last_span[span.rank] = kept;
            timeline->spans[kept++] = span;
        }
    }
    timeline->span_count = kept;
}

void gs_timeline_add_op(gs_timeline *timeline, const gs_timeline_op *op)
{
    gs_timeline_op *ops =
        make_room(timeline, timeline->ops, timeline->op_count, &timeline->op_capacity, sizeof *ops);
    if (ops != NULL) {
        timeline->ops = ops;
        ops[timeline->op_count++] = *op;
    }
}

void gs_timeline_add_message(gs_timeline *timeline, const gs_timeline_message *message)
{
    if (timeline->begun == 0 || gs_timeline_is_complete(timeline)) {
        return;
    }
    gs_timeline_message *messages = make_room(timeline, timeline->messages, timeline->message_count,
                                              &timeline->message_capacity, sizeof *messages);
    if (messages != NULL) {
        timeline->messages = messages;
        messages[timeline->message_count++] = *message;
    }
}

bool gs_timeline_is_complete(const gs_timeline *timeline)
{
    return timeline->world.ranks > 0 && timeline->passed == timeline->world.ranks;
}
