#include "strategies/ps_push.h"

#include "strategies/ps_parts.h"
#include "strategies/ps_shard.h"

static uint32_t servers_of(const gs_world *world)
{
    return gs_ps_server_count(gs_world_config(world), gs_world_job(world));
}

static gs_peer receiver(const gs_ps_push *push)
{
    return (gs_peer){GS_SERVER, (uint16_t)push->server};
}

void gs_ps_push_begin(gs_ps_push *push, bool ends)
{
    push->ends = ends;
    push->server = push->piece = 0;
}

/* So many pieces of its shard were sent, and no more come. */
static void send_end(gs_world *world, gs_ps_push *push)
{
    push->sending++;
    gs_send(world, receiver(push), GS_PS_TAG_END, (gs_slice){.vector = GS_GRAD},
            (int64_t[4]){[GS_PS_META_PIECES] = push->piece}, GS_SEND_LENT);
}

static void next_server(gs_ps_push *push)
{
    push->piece = 0;
    push->server++;
}

void gs_ps_push_up_to(gs_world *world, gs_ps_push *push, int64_t ready)
{
    const gs_ps_config *config = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    while (push->server < servers_of(world)) {
        gs_slice shard = gs_ps_shard(job, servers_of(world), push->server, GS_GRAD);
        gs_slice piece = gs_ps_piece(config, job, shard, push->piece);
        if (piece.offset + piece.length > ready) {
            return;
        }
        push->sending++;
        gs_send(world, receiver(push), (uint16_t)(GS_PS_TAG_PIECE + push->piece), piece, NULL,
                GS_SEND_CODED);
        if (++push->piece == gs_ps_piece_count(config, job, shard)) {
            if (push->ends) {
                send_end(world, push);
            }
            next_server(push);
        }
    }
}

void gs_ps_push_cut(gs_world *world, gs_ps_push *push)
{
    while (push->server < servers_of(world)) {
        send_end(world, push);
        next_server(push);
    }
}
