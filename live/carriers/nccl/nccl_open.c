/* How the processes of the NCCL carrier meet and make their lanes, and how they leave. */
#include "live/carriers/nccl/nccl_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- opening */

static gs_status check_others(const gs_nccl_net *net, gs_error *err)
{
    return net->failed == GS_OK
               ? GS_OK
               : gs_fail(err, net->failed, "process %u: %s", net->failed_process, net->failed_text);
}

static gs_status meet(gs_nccl_net *net, gs_time_ns deadline_ns, gs_error *err)
{
    gs_nccl_note hello = {
        .kind = GS_NCCL_NOTE_HELLO, .blocks = net->blocks, .number = net->config.chunk_bytes};
    if (!gs_nccl_say_to_all(net, &hello)) {
        return gs_fail(err, GS_ENOMEM, "no memory to greet other processes");
    }
    for (uint32_t peer = 0; peer < net->config.processes; peer++) {
        while (peer != net->config.process && !net->edges[peer].has_hello) {
            GS_TRY(check_others(net, err));
            if (!gs_nccl_turn(net, deadline_ns)) {
                return gs_fail(err, GS_EDEADLOCK, "NCCL: process %u did not come", peer);
            }
        }
    }
    return check_others(net, err);
}

/* Until the line is free again. peer: who else is on it. */
static gs_status settle(gs_nccl_net *net, gs_nccl_line *line, uint32_t peer, gs_time_ns deadline_ns,
                        gs_error *err)
{
    gs_nccl_state state;
    while ((state = gs_nccl_line_poll(line)) == GS_NCCL_BUSY) {
        GS_TRY(check_others(net, err));
        if (!gs_nccl_turn(net, deadline_ns)) {
            return gs_fail(err, GS_EDEADLOCK, "NCCL: process %u did not join its communicator",
                           peer);
        }
    }
    return state == GS_NCCL_FREE
               ? GS_OK
               : gs_fail(err, GS_EIO, "with process %u: %s", peer, gs_nccl_line_text(line));
}

gs_status gs_nccl_join_lane(gs_nccl_net *net, gs_nccl_lane *lane, const gs_nccl_members *members,
                            uint32_t peer, gs_time_ns deadline_ns, gs_error *err)
{
    gs_nccl_line_join(lane->line, members);
    GS_TRY(settle(net, lane->line, peer, deadline_ns, err));
    gs_nccl_line_begin(lane->line, lane->act, lane->peer, lane->piece_bytes);
    return settle(net, lane->line, peer, deadline_ns, err);
}

/* The lane from one process to another, where this one is either. */
static gs_status open_direction(gs_nccl_net *net, uint32_t from, uint32_t to,
                                gs_time_ns deadline_ns, gs_error *err)
{
    bool sends = from == net->config.process;
    uint32_t peer = sends ? to : from;
    gs_nccl_edge *edge = &net->edges[peer];
    gs_nccl_members members = {.count = 2, .self = sends ? 0 : 1, .blocks = GS_NCCL_LANE_BLOCKS};
    gs_nccl_note note = {.kind = GS_NCCL_NOTE_LANE};
    if (sends) {
        GS_TRY(gs_nccl_new_id(members.id, err));
        memcpy(note.bytes, members.id, sizeof members.id);
        if (!gs_nccl_say(net, peer, &note)) {
            return gs_fail(err, GS_ENOMEM, "no memory for a note to process %u", peer);
        }
    }
    while (!sends && !edge->has_lane_id) {
        GS_TRY(check_others(net, err));
        if (!gs_nccl_turn(net, deadline_ns)) {
            return gs_fail(err, GS_EDEADLOCK, "NCCL: process %u did not begin its lane", peer);
        }
    }
    if (!sends) {
        memcpy(members.id, edge->lane_id, sizeof members.id);
    }
    return gs_nccl_join_lane(net, sends ? &edge->out : &edge->in, &members, peer, deadline_ns, err);
}

static gs_status open_lane(gs_nccl_lane *lane, gs_nccl_act act, size_t piece_bytes, gs_error *err)
{
    lane->act = act;
    lane->peer = act == GS_NCCL_SEND ? 1 : 0; /* of a lane's two members the first one sends */
    lane->piece_bytes = piece_bytes;
    return gs_nccl_line_open(piece_bytes, &lane->line, err);
}

/* Groups are made in the middle of a run, when their memory could not be taken any more. */
static gs_status open_lines(gs_nccl_net *net, gs_error *err)
{
    for (uint32_t peer = 0; peer < net->config.processes; peer++) {
        gs_nccl_edge *edge = &net->edges[peer];
        if (peer != net->config.process) {
            GS_TRY(open_lane(&edge->out, GS_NCCL_SEND, net->config.chunk_bytes, err));
            GS_TRY(open_lane(&edge->in, GS_NCCL_RECEIVE, net->config.chunk_bytes, err));
        }
    }
    int left = net->blocks - gs_nccl_lane_blocks(&net->config);
    int each = left / GS_NCCL_GROUPS_MAX;
    net->group_blocks = each < 1 ? 1 : each < GS_NCCL_GROUP_BLOCKS ? each : GS_NCCL_GROUP_BLOCKS;
    size_t bytes = GS_NCCL_SUM_PIECES * net->config.chunk_bytes;
    bytes = bytes < GS_NCCL_SUM_BYTES_MAX ? bytes : GS_NCCL_SUM_BYTES_MAX;
    while (net->group_max < GS_NCCL_GROUPS_MAX && (int)net->group_max < left / net->group_blocks) {
        gs_nccl_group *group = &net->groups[net->group_max++];
        GS_TRY(open_lane(&group->lane, GS_NCCL_SUM, bytes, err));
    }
    return GS_OK;
}

/* Pairs in one order everywhere: the first that is not open has nothing before it to wait for. */
static gs_status join_all(gs_nccl_net *net, gs_time_ns deadline_ns, gs_error *err)
{
    for (uint32_t low = 0; low < net->config.processes; low++) {
        for (uint32_t high = low + 1; high < net->config.processes; high++) {
            if (low == net->config.process || high == net->config.process) {
                GS_TRY(open_direction(net, low, high, deadline_ns, err));
                GS_TRY(open_direction(net, high, low, deadline_ns, err));
            }
        }
    }
    return GS_OK;
}

/* To free memory is to wait for the device, so first everything there is broken off. */
static void free_all(gs_nccl_net *net)
{
    gs_nccl_line *lines[GS_NCCL_LINES_MAX];
    uint32_t count = gs_nccl_lines(net, lines);
    for (uint32_t i = 0; i < count; i++) {
        gs_nccl_line_abort(lines[i], "");
    }
    for (uint32_t i = 0; i < count; i++) {
        gs_nccl_line_close(lines[i]);
    }
    gs_nccl_items_free(&net->items);
    free(net);
}

static gs_status check_config(const gs_carrier_config *config, int blocks, gs_error *err)
{
    if (config->processes > GS_NCCL_PROCESSES_MAX) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "transport nccl: %u processes; at most %d, each pair has communicators of "
                       "its own",
                       config->processes, GS_NCCL_PROCESSES_MAX);
    }
    int lanes = gs_nccl_lane_blocks(config);
    if (lanes >= blocks) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "transport nccl: %u processes need %d thread blocks at once, this device "
                       "runs %d; start fewer",
                       config->processes, lanes + 1, blocks);
    }
    return config->control != NULL || config->processes == 1
               ? GS_OK
               : gs_fail(err, GS_EINVAL,
                         "transport nccl: needs a control carrier; start it by mpirun or torchrun");
}

gs_status gs_nccl_open(const gs_carrier_config *config, void **out, gs_error *err)
{
    int blocks;
    gs_error why = {.text = ""};
    gs_time_ns deadline_ns = gs_nccl_now() + config->deadline_ns;
    gs_nccl_net *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for the carrier nccl");
    }
    net->config = *config;
    gs_status status = gs_nccl_choose_device(config->local_process, &blocks, &why);
    status = status == GS_OK ? check_config(config, blocks, &why) : status;
    if (status == GS_OK) {
        net->blocks = blocks;
        status = meet(net, deadline_ns, &why);
        status = status == GS_OK ? open_lines(net, &why) : status;
        status = status == GS_OK ? join_all(net, deadline_ns, &why) : status;
    }
    if (status == GS_OK) {
        *out = net;
        return GS_OK;
    }
    /* The others need not wait for the deadline; where they cannot be told either, they will. */
    gs_nccl_note note = {.kind = GS_NCCL_NOTE_FAILED, .status = (int32_t)status};
    (void)snprintf((char *)note.bytes, sizeof note.bytes, "%.150s", why.text);
    if (config->control != NULL && config->processes <= GS_NCCL_PROCESSES_MAX &&
        net->failed == GS_OK) {
        (void)gs_nccl_say_to_all(net, &note);
    }
    free_all(net);
    return gs_fail(err, status, "%s", why.text);
}

/* ---------------------------------------------------------------- leaving */

static bool all_said_bye(const gs_nccl_net *net)
{
    for (uint32_t peer = 0; peer < net->config.processes; peer++) {
        const gs_nccl_edge *edge = &net->edges[peer];
        if (peer != net->config.process && !edge->is_lost && !edge->has_bye) {
            return false;
        }
    }
    return true;
}

/* Each line is left by its members together, so that NCCL of one does not see the other vanish. */
static void leave_lines(gs_nccl_net *net, gs_time_ns deadline_ns)
{
    gs_nccl_line *lines[GS_NCCL_LINES_MAX];
    uint32_t count = gs_nccl_lines(net, lines);
    for (uint32_t i = 0; i < count; i++) {
        if (gs_nccl_line_poll(lines[i]) == GS_NCCL_FREE) {
            gs_nccl_line_leave(lines[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        while (gs_nccl_line_poll(lines[i]) == GS_NCCL_BUSY && gs_nccl_turn(net, deadline_ns)) {
        }
    }
}

void gs_nccl_close(void *carrier)
{
    gs_nccl_net *net = carrier;
    gs_time_ns deadline_ns = gs_nccl_now() + net->config.deadline_ns;
    while (gs_nccl_is_busy(net, false) && gs_nccl_turn(net, deadline_ns)) {
    }
    if (gs_nccl_say_to_all(net, &(gs_nccl_note){.kind = GS_NCCL_NOTE_BYE})) {
        while ((!all_said_bye(net) || gs_nccl_is_busy(net, true)) &&
               gs_nccl_turn(net, deadline_ns)) {
        }
    }
    leave_lines(net, deadline_ns);
    free_all(net);
}

void gs_nccl_abort(void *carrier)
{
    free_all(carrier);
}
