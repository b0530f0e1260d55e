#include "live/carriers/nccl/nccl_net.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NOTES_A_POLL = 64 };

/* The lines that are open; returns how many. */
uint32_t gs_nccl_lines(const gs_nccl_net *net, gs_nccl_line *out[GS_NCCL_LINES_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->config.processes; i++) {
        const gs_nccl_edge *edge = &net->edges[i];
        if (edge->out.line != NULL) {
            out[count++] = edge->out.line;
        }
        if (edge->in.line != NULL) {
            out[count++] = edge->in.line;
        }
    }
    for (uint32_t i = 0; i < net->group_max; i++) {
        if (net->groups[i].lane.line != NULL) {
            out[count++] = net->groups[i].lane.line;
        }
    }
    return count;
}

int gs_nccl_lane_blocks(const gs_carrier_config *config)
{
    return 2 * ((int)config->processes - 1) * GS_NCCL_LANE_BLOCKS;
}

gs_time_ns gs_nccl_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (gs_time_ns)time.tv_sec * GS_NS_PER_S + time.tv_nsec;
}

bool gs_nccl_say(gs_nccl_net *net, uint32_t to, const gs_nccl_note *note)
{
    gs_frame frame = {.head = note, .head_bytes = sizeof *note};
    return net->config.control->send(net->config.control_net, to, &frame, 0);
}

bool gs_nccl_say_to_all(gs_nccl_net *net, const gs_nccl_note *note)
{
    bool ok = true;
    for (uint32_t peer = 0; peer < net->config.processes; peer++) {
        if (peer != net->config.process && !net->edges[peer].is_lost) {
            ok &= gs_nccl_say(net, peer, note);
        }
    }
    return ok;
}

/* ---------------------------------------------------------------- losing others */

static bool is_member(const gs_nccl_group *group, uint32_t process)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        if (group->members[i] == process) {
            return true;
        }
    }
    return false;
}

static void break_lane(gs_nccl_lane *lane, const char *why)
{
    if (lane->line != NULL) {
        gs_nccl_line_abort(lane->line, why);
    }
    lane->waiting = (gs_nccl_queue){0}; /* freed with the carrier */
    lane->under_way = 0;
}

static void set_failed(gs_nccl_net *net, gs_status status, uint32_t process, const char *text)
{
    if (net->failed == GS_OK) {
        net->failed = status;
        net->failed_process = process;
        (void)snprintf(net->failed_text, sizeof net->failed_text, "%s", text);
    }
}

/* Breaks off all that waits for a process, so that its kernels leave the device. */
void gs_nccl_lose(gs_nccl_net *net, uint32_t peer, const char *why)
{
    gs_nccl_edge *edge = &net->edges[peer];
    if (edge->is_lost) {
        return;
    }
    gs_nccl_item *item = gs_nccl_items_take(&net->items, 0);
    if (item != NULL) {
        item->kind = GS_CARRIED_LOST;
        item->peer = peer;
        (void)snprintf((char *)item->head, sizeof item->head, "%.150s", why);
        gs_nccl_queue_put(&net->ready, item);
    }
    edge->is_lost = true;
    set_failed(net, GS_EIO, peer, why);
    gs_nccl_item *sent;
    while ((sent = gs_nccl_queue_take(&edge->out.waiting)) != NULL) {
        gs_nccl_queue_put(&net->ready, sent); /* nobody reads its body any more */
    }
    break_lane(&edge->out, why);
    break_lane(&edge->in, why);
    for (uint32_t i = 0; i < net->group_count; i++) {
        if (is_member(&net->groups[i], peer)) {
            break_lane(&net->groups[i].lane, why);
        }
    }
}

/* ---------------------------------------------------------------- what the control carrier brings
 */

static void frame_announced(gs_nccl_net *net, uint32_t peer, const gs_nccl_note *note)
{
    gs_nccl_edge *edge = &net->edges[peer];
    if (note->number != edge->received || note->body_bytes > note->total_bytes) {
        gs_nccl_lose(net, peer, "NCCL: a frame was announced out of turn");
        return;
    }
    edge->received++;
    gs_nccl_item *item = gs_nccl_items_take(&net->items, note->body_bytes);
    if (item == NULL) {
        gs_nccl_lose(net, peer, "NCCL: no memory for a frame that comes");
        return;
    }
    item->kind = GS_CARRIED_FRAME;
    item->peer = peer;
    item->to = item->buffer;
    item->body_bytes = note->body_bytes;
    item->total_bytes = note->total_bytes;
    edge->headless = item;
}

static void take_head(gs_nccl_edge *edge, const gs_frame *frame)
{
    gs_nccl_item *item = edge->headless;
    item->head_bytes = frame->head_bytes;
    memcpy(item->head, frame->head, frame->head_bytes);
    gs_nccl_queue_put(&edge->in.waiting, item);
    edge->headless = NULL;
}

static void group_announced(gs_nccl_net *net, uint32_t peer, const gs_nccl_note *note)
{
    gs_nccl_item *item = gs_nccl_items_take(&net->items, 0);
    if (item == NULL) {
        gs_nccl_lose(net, peer, "NCCL: no memory for a group");
        return;
    }
    item->cookie = note->number;
    memcpy(item->head, note->bytes, sizeof note->bytes);
    gs_nccl_queue_put(&net->edges[peer].ids, item);
}

static void take_note(gs_nccl_net *net, uint32_t peer, const gs_frame *frame)
{
    gs_nccl_note note;
    gs_nccl_edge *edge = &net->edges[peer];
    if (edge->is_lost) {
        return;
    }
    if (edge->headless != NULL) {
        take_head(edge, frame);
        return;
    }
    if (frame->head_bytes != sizeof note) {
        gs_nccl_lose(net, peer, "NCCL: the control carrier brings what is no note");
        return;
    }
    memcpy(&note, frame->head, sizeof note);
    switch ((gs_nccl_note_kind)note.kind) {
    case GS_NCCL_NOTE_HELLO:
        edge->has_hello = true;
        net->blocks = note.blocks < net->blocks ? note.blocks : net->blocks;
        if (note.number != net->config.chunk_bytes) {
            gs_nccl_lose(net, peer,
                         "NCCL: it moves other pieces than this process: the scenarios differ");
        }
        break;
    case GS_NCCL_NOTE_LANE:
        edge->has_lane_id = true;
        memcpy(edge->lane_id, note.bytes, sizeof edge->lane_id);
        break;
    case GS_NCCL_NOTE_GROUP:
        group_announced(net, peer, &note);
        break;
    case GS_NCCL_NOTE_FRAME:
        frame_announced(net, peer, &note);
        break;
    case GS_NCCL_NOTE_BYE:
        edge->has_bye = true;
        break;
    case GS_NCCL_NOTE_FAILED:
        set_failed(net, (gs_status)note.status, peer, (const char *)note.bytes);
        break;
    }
}

static void take_notes(gs_nccl_net *net)
{
    const gs_carrier *control = net->config.control;
    if (control == NULL) {
        return;
    }
    for (int i = 0; i < NOTES_A_POLL; i++) {
        gs_carried event = {0};
        control->poll(net->config.control_net, &event);
        switch (event.kind) {
        case GS_CARRIED_NOTHING:
            return;
        case GS_CARRIED_FRAME:
            take_note(net, event.peer, &event.frame);
            control->give_back(net->config.control_net, event.handle);
            break;
        case GS_CARRIED_LOST:
            gs_nccl_lose(net, event.peer, event.text);
            break;
        case GS_CARRIED_LEFT: /* nothing was lent */
        case GS_CARRIED_DONE: /* nothing is summed there */
            break;
        }
    }
}

/* ---------------------------------------------------------------- going on */

void gs_nccl_step(gs_nccl_net *net)
{
    take_notes(net);
    for (uint32_t peer = 0; peer < net->config.processes; peer++) {
        gs_nccl_edge *edge = &net->edges[peer];
        if (!edge->is_lost && !gs_nccl_lane_step(&edge->out, &net->ready)) {
            gs_nccl_lose(net, peer, gs_nccl_line_text(edge->out.line));
        }
        if (!edge->is_lost && !gs_nccl_lane_step(&edge->in, &net->ready)) {
            gs_nccl_lose(net, peer, gs_nccl_line_text(edge->in.line));
        }
    }
    for (uint32_t i = 0; i < net->group_count; i++) {
        gs_nccl_group *group = &net->groups[i];
        if (!gs_nccl_lane_step(&group->lane, &net->ready)) {
            gs_nccl_lose(net, net->config.process, gs_nccl_line_text(group->lane.line));
        }
    }
}

bool gs_nccl_is_busy(const gs_nccl_net *net, bool also_in)
{
    bool busy = false;
    for (uint32_t peer = 0; peer < net->config.processes; peer++) {
        const gs_nccl_edge *edge = &net->edges[peer];
        busy |= gs_nccl_lane_is_busy(&edge->out) || (also_in && gs_nccl_lane_is_busy(&edge->in));
    }
    for (uint32_t i = 0; i < net->group_count; i++) {
        busy |= gs_nccl_lane_is_busy(&net->groups[i].lane);
    }
    return busy;
}

void gs_nccl_rest(gs_nccl_net *net, gs_time_ns until_ns)
{
    const gs_carrier *control = net->config.control;
    gs_time_ns soon = gs_nccl_now() + net->config.poll_ns;
    bool must_look = gs_nccl_is_busy(net, true) || control == NULL || control->wake == NULL;
    gs_time_ns until = must_look && soon < until_ns ? soon : until_ns;
    if (control != NULL) {
        control->wait(net->config.control_net, until);
        return;
    }
    gs_time_ns left = until - gs_nccl_now();
    if (left > 0) {
        (void)nanosleep(&(struct timespec){left / GS_NS_PER_S, (long)(left % GS_NS_PER_S)}, NULL);
    }
}

/* One turn of a wait within open, group or close. false: the deadline has passed. */
bool gs_nccl_turn(gs_nccl_net *net, gs_time_ns deadline_ns)
{
    gs_nccl_step(net);
    gs_time_ns soon = gs_nccl_now() + net->config.poll_ns;
    gs_nccl_rest(net, soon < deadline_ns ? soon : deadline_ns);
    return gs_nccl_now() < deadline_ns;
}
