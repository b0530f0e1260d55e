#include "strategies/ps_intake.h"

#include "strategies/ps_parts.h"
#include "strategies/ps_shard.h"

void gs_ps_intake_listen(gs_world *world, gs_ps_intake *intake, const gs_ps_rule *rule,
                         uint16_t worker)
{
    const gs_ps_config *config = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    gs_peer from = {GS_WORKER, worker};
    gs_slice shard = gs_ps_own_shard(world, GS_GRAD);
    uint32_t last = gs_ps_piece_count(config, job, shard) - 1;
    intake->listening = true;
    if (rule->restarts) {
        shard.length = 0;
        gs_recv(world, from, GS_PS_TAG_END, shard, 0);
        return;
    }
    gs_recv(world, from, (uint16_t)(GS_PS_TAG_PIECE + last), gs_ps_piece(config, job, shard, last),
            last);
}

static void begin(gs_world *world, gs_ps_intake *intake, const gs_event *event)
{
    const gs_ps_config *config = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    gs_slice shard = gs_ps_own_shard(world, GS_GRAD);
    intake->listening = false;
    intake->from = event->from.index;
    intake->pieces_left = gs_ps_piece_count(config, job, shard) - 1;
    if (event->tag == GS_PS_TAG_END) {
        uint32_t pieces = (uint32_t)event->meta[GS_PS_META_PIECES];
        intake->is_cut = pieces <= intake->pieces_left;
        intake->pieces_left = pieces;
    }
    for (uint32_t piece = 0; piece < intake->pieces_left; piece++) {
        gs_recv(world, event->from, (uint16_t)(GS_PS_TAG_PIECE + piece),
                gs_ps_piece(config, job, shard, piece), piece);
    }
}

bool gs_ps_intake_hear(gs_world *world, gs_ps_intake *intake, const gs_event *event)
{
    if (intake->listening) {
        begin(world, intake, event);
    } else {
        intake->pieces_left--;
    }
    return intake->pieces_left == 0;
}
