#include "strategies/ps_giver.h"

#include "strategies/ps_parts.h"
#include "strategies/ps_shard.h"

void gs_ps_giver_await(gs_world *world, gs_ps_giver *giver, uint32_t server, gs_ps_answer which)
{
    const gs_job *job = gs_world_job(world);
    uint32_t servers = gs_ps_server_count(gs_world_config(world), job);
    giver->awaited = (uint8_t)which;
    gs_recv(world, (gs_peer){GS_SERVER, (uint16_t)server}, GS_PS_TAG_PARAM,
            gs_ps_shard(job, servers, server, GS_PARAM), server);
}

gs_ps_answer gs_ps_giver_gave(gs_ps_giver *giver, const gs_event *event)
{
    gs_ps_answer awaited = (gs_ps_answer)giver->awaited;
    giver->awaited = GS_PS_ANSWER_NONE;
    giver->version = event->meta[GS_PS_META_VERSION];
    return awaited;
}

void gs_ps_giver_told(gs_ps_giver *giver, const gs_event *event)
{
    int64_t newest = event->meta[GS_PS_META_VERSION];
    giver->newest = newest > giver->newest ? newest : giver->newest;
}
