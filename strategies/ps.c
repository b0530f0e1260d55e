/* Parameter servers: workers push gradients and pull weights (ps_worker.c), servers decide
 * (ps_server.c). Here hooks find the side that they are for.
 *
 * A worker pulls, computes, pushes, and waits for every server's answer. The end loses nothing:
 * when a run stops, each worker says how much it pushed, servers use what has come, and all get the
 * same final weights.
 *
 * Where the rule restarts, a server that has made an update tells whoever it gave older weights and
 * has not heard from since. A worker stops its gradient once no server can use what is left of it,
 * ends the push as it is and asks for weights, as if it had pushed: each push, whole or cut or
 * empty, has one answer, whatever overtakes what.
 *
 * Every shard sees its own order of arrival and decides for itself. So an update of the whole model
 * is not atomic: a worker may get shards of different ages, and one gradient may count at one
 * server and be dropped at another, as in real systems. */
#include "strategies/ps.h"

#include "strategies/ps_parts.h"
#include "strategies/ps_server.h"
#include "strategies/ps_worker.h"

static bool is_server(const void *state)
{
    return ((const gs_ps_role *)state)->role == GS_SERVER;
}

static void begin(gs_ps_kind kind, gs_world *world, void *state)
{
    *(gs_ps_role *)state = (gs_ps_role){.kind = kind, .role = gs_self(world).role};
}

void gs_ps_init(gs_ps_kind kind, gs_world *world, void *state)
{
    begin(kind, world, state);
    if (is_server(state)) {
        gs_ps_server_init(world, state);
    }
}

void gs_ps_op_done(gs_world *world, void *state, const gs_event *event)
{
    (void)event;
    if (is_server(state)) {
        gs_ps_server_op_done(world, state);
        return;
    }
    gs_ps_worker_op_done(world, state);
}

void gs_ps_message(gs_world *world, void *state, const gs_event *event)
{
    if (is_server(state)) {
        gs_ps_server_message(world, state, event);
    } else {
        gs_ps_worker_message(world, state, event);
    }
}

void gs_ps_quiesce(gs_world *world, void *state, const gs_event *event)
{
    (void)event;
    if (is_server(state)) {
        gs_ps_server_quiesce(world, state);
        return;
    }
    gs_ps_worker_quiesce(world, state);
}

size_t gs_ps_export(const void *state, void *out, size_t out_bytes)
{
    if (is_server(state)) {
        return gs_ps_server_export(state, out, out_bytes);
    }
    return gs_ps_worker_export(state, out, out_bytes);
}

void gs_ps_import(gs_ps_kind kind, gs_world *world, void *state, const void *in, size_t in_bytes)
{
    begin(kind, world, state);
    if (is_server(state)) {
        gs_ps_server_import(world, state, in, in_bytes);
    } else {
        gs_ps_worker_import(state, in, in_bytes);
    }
}
