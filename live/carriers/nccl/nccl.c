/* The carrier over NCCL: heads travel on a control carrier (mpi, tcp), bodies from GPU to GPU.
 *
 * NCCL knows neither tags nor a receive from anybody; operations of a communicator run in the order
 * in which they were given to its stream, and a send blocks its stream until it is matched. So each
 * direction between two processes is a lane of its own, a communicator of two on a stream of its
 * own: the k-th send at one end can only meet the k-th receive at the other, whatever the other
 * lanes do. A frame is announced on the control carrier, with its sizes and its number on the lane;
 * the receiver posts what was announced, in that order. A process posts only what it and the device
 * can go on with at once: one operation a lane, and as many thread blocks in all as the device runs
 * at a time, so that an operation that waits for another process never keeps that one's from
 * running. docs/adr/0031-nccl.md has the argument in full. */
#include "live/carriers/nccl/nccl_net.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- frames */

/* A note and the head, both copied by the control carrier. */
static bool announce(gs_nccl_net *net, uint32_t to, const gs_frame *frame, size_t total_bytes)
{
    gs_nccl_note note = {.kind = GS_NCCL_NOTE_FRAME,
                         .number = net->edges[to].sent,
                         .body_bytes = frame->body_bytes,
                         .total_bytes = total_bytes};
    gs_frame head = {.head = frame->head, .head_bytes = frame->head_bytes};
    if (!gs_nccl_say(net, to, &note)) {
        return false;
    }
    if (!net->config.control->send(net->config.control_net, to, &head, 0)) {
        gs_nccl_lose(net, to, "NCCL: no memory for the head of a frame");
        return false;
    }
    net->edges[to].sent++;
    return true;
}

static bool nccl_send(void *carrier, uint32_t to, const gs_frame *frame, uint64_t cookie)
{
    gs_nccl_net *net = carrier;
    gs_nccl_edge *edge = &net->edges[to];
    gs_nccl_item *item = gs_nccl_items_take(&net->items, 0);
    if (item == NULL) {
        return false;
    }
    item->kind = GS_CARRIED_LEFT;
    item->peer = to;
    item->cookie = cookie;
    item->from = frame->body;
    item->body_bytes = frame->body_bytes;
    item->total_bytes = frame->body_bytes + frame->padding_bytes;
    if (edge->is_lost) {
        gs_nccl_queue_put(&net->ready, item);
        return true;
    }
    if (!announce(net, to, frame, item->total_bytes)) {
        gs_nccl_items_give(&net->items, item);
        return false;
    }
    gs_nccl_queue_put(&edge->out.waiting, item);
    return true;
}

static void nccl_poll(void *carrier, gs_carried *out)
{
    gs_nccl_net *net = carrier;
    gs_nccl_step(net);
    *out = (gs_carried){.kind = GS_CARRIED_NOTHING};
    gs_nccl_item *item = gs_nccl_queue_take(&net->ready);
    if (item == NULL) {
        return;
    }
    out->kind = item->kind;
    out->peer = item->peer;
    out->cookie = item->cookie;
    if (item->kind == GS_CARRIED_FRAME) {
        out->frame = (gs_frame){.head = item->head,
                                .head_bytes = item->head_bytes,
                                .body = item->to,
                                .body_bytes = item->body_bytes};
        out->handle = item;
        return;
    }
    if (item->kind == GS_CARRIED_LOST) {
        (void)snprintf(out->text, sizeof out->text, "%.150s", (const char *)item->head);
    }
    gs_nccl_items_give(&net->items, item);
}

static void nccl_give_back(void *carrier, void *handle)
{
    gs_nccl_net *net = carrier;
    gs_nccl_items_give(&net->items, handle);
}

static void nccl_wait(void *carrier, gs_time_ns until_ns)
{
    gs_nccl_net *net = carrier;
    if (net->ready.first == NULL) {
        gs_nccl_rest(net, until_ns);
    }
}

static void nccl_wake(void *carrier)
{
    const gs_nccl_net *net = carrier;
    if (net->config.control != NULL && net->config.control->wake != NULL) {
        net->config.control->wake(net->config.control_net);
    }
}

/* ---------------------------------------------------------------- sums */

/* A bit for each: members that call differently find out. */
static uint64_t members_number(const uint32_t *members, uint32_t count)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < count; i++) {
        number |= UINT64_C(1) << members[i];
    }
    return number;
}

/* The first member makes the id and tells the others. */
static bool agree_on_id(gs_nccl_net *net, const gs_nccl_group *group, uint8_t *out_id,
                        gs_time_ns deadline_ns)
{
    uint32_t first = group->members[0];
    uint64_t number = members_number(group->members, group->member_count);
    if (first == net->config.process) {
        gs_nccl_note note = {.kind = GS_NCCL_NOTE_GROUP, .number = number};
        bool ok = gs_nccl_new_id(out_id, NULL) == GS_OK;
        memcpy(note.bytes, out_id, GS_NCCL_ID_BYTES);
        for (uint32_t i = 1; ok && i < group->member_count; i++) {
            ok = gs_nccl_say(net, group->members[i], &note);
        }
        return ok;
    }
    gs_nccl_edge *edge = &net->edges[first];
    while (edge->ids.first == NULL) {
        if (edge->is_lost || !gs_nccl_turn(net, deadline_ns)) {
            return false;
        }
    }
    gs_nccl_item *item = gs_nccl_queue_take(&edge->ids);
    bool ok = item->cookie == number;
    memcpy(out_id, item->head, GS_NCCL_ID_BYTES);
    gs_nccl_items_give(&net->items, item);
    return ok;
}

static bool nccl_group(void *carrier, const uint32_t *members, uint32_t count, uint32_t *out)
{
    gs_nccl_net *net = carrier;
    gs_time_ns deadline_ns = gs_nccl_now() + net->config.deadline_ns;
    if (count == 0 || count > net->config.processes || net->group_count == net->group_max) {
        return false;
    }
    gs_nccl_group *made = &net->groups[net->group_count];
    gs_nccl_members joining = {.count = count, .blocks = net->group_blocks};
    made->member_count = count;
    for (uint32_t i = 0; i < count; i++) {
        made->members[i] = members[i];
        joining.self = members[i] == net->config.process ? i : joining.self;
    }
    if (!agree_on_id(net, made, joining.id, deadline_ns)) {
        return false;
    }
    *out = net->group_count++;
    return gs_nccl_join_lane(net, &made->lane, &joining, members[0], deadline_ns, NULL) == GS_OK;
}

static bool nccl_all_reduce(void *carrier, uint32_t group, float *data, size_t count,
                            uint64_t cookie)
{
    gs_nccl_net *net = carrier;
    if (group >= net->group_count) {
        return false;
    }
    gs_nccl_item *item = gs_nccl_items_take(&net->items, 0);
    if (item == NULL) {
        return false;
    }
    item->kind = GS_CARRIED_DONE;
    item->cookie = cookie;
    item->to = (uint8_t *)data;
    item->from = item->to;
    item->body_bytes = count * sizeof *data;
    item->total_bytes = item->body_bytes;
    gs_nccl_queue_put(&net->groups[group].lane.waiting, item);
    return true;
}

static const gs_carrier carrier_nccl = {
    .version = GS_CARRIER_VERSION,
    .name = "nccl",
    .summary = "from GPU to GPU; heads over mpi or tcp",
    .open = gs_nccl_open,
    .send = nccl_send,
    .poll = nccl_poll,
    .give_back = nccl_give_back,
    .wait = nccl_wait,
    .wake = nccl_wake,
    .group = nccl_group,
    .all_reduce = nccl_all_reduce,
    .close = gs_nccl_close,
    .abort = gs_nccl_abort,
};

__attribute__((visibility("default"))) const gs_carrier *gs_carrier_module(void);

const gs_carrier *gs_carrier_module(void)
{
    return &carrier_nccl;
}
