#include "strategies/ps_shard.h"

uint32_t gs_ps_server_count(const gs_ps_config *config, const gs_job *job)
{
    return config->servers > 0 ? (uint32_t)config->servers : job->servers;
}

gs_slice gs_ps_shard(const gs_job *job, uint32_t servers, uint32_t server, uint32_t vector)
{
    int64_t share = job->elements / servers;
    int64_t more = job->elements % servers; /* the first ones have one element more */
    int64_t before = server < more ? server : more;
    return (gs_slice){vector, server * share + before, share + (server < more ? 1 : 0)};
}

gs_slice gs_ps_own_shard(const gs_world *world, uint32_t vector)
{
    const gs_job *job = gs_world_job(world);
    return gs_ps_shard(job, gs_ps_server_count(gs_world_config(world), job), gs_self(world).index,
                       vector);
}

int64_t gs_ps_piece_elements(const gs_ps_config *config, const gs_job *job)
{
    int64_t elements = config->bucket_bytes / job->element_bytes;
    return elements > 0 ? elements : 1;
}

uint32_t gs_ps_piece_count(const gs_ps_config *config, const gs_job *job, gs_slice shard)
{
    int64_t elements = gs_ps_piece_elements(config, job);
    return config->overlap ? (uint32_t)((shard.length + elements - 1) / elements) : 1;
}

gs_slice gs_ps_piece(const gs_ps_config *config, const gs_job *job, gs_slice shard, uint32_t piece)
{
    if (!config->overlap) {
        return shard;
    }
    int64_t elements = gs_ps_piece_elements(config, job);
    int64_t begin = piece * elements;
    int64_t left = shard.length - begin;
    return (gs_slice){shard.vector, shard.offset + begin, left < elements ? left : elements};
}
