/* All-reduces that the carrier runs itself (MPI_Iallreduce, ncclAllReduce) in place of our program
 * of sends and receives: to compare the two, and because users run it. Its order of additions is
 * its own, so weights differ in the last bits from what the program gives. */
#include "live/crew.h"
#include "live/live_entity.h"
#include "strategies/group.h"

/* The group of an op, made by all of its members when the first of them comes to it: they issue the
 * same ops in the same order. */
static bool group_of(gs_live_entity *entity, uint32_t communicator, uint32_t *out)
{
    const gs_live_shared *shared = entity->shared;
    uint32_t ranks = shared->config.job->ranks;
    void *net;
    const gs_carrier *carrier = gs_crew_native(shared->config.crew, &net);
    if (entity->native_groups[communicator] != 0) {
        *out = entity->native_groups[communicator] - 1;
        return true;
    }
    const gs_group group = shared->layout.communicators[communicator].group;
    uint32_t count = gs_group_size(group, ranks);
    uint32_t *members = GS_TAKE(&entity->arena, uint32_t, count);
    if (members == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        members[i] = gs_group_rank(group, ranks, entity->self.index, i);
    }
    if (!carrier->group(net, members, count, out)) {
        return false;
    }
    entity->native_groups[communicator] = *out + 1;
    return true;
}

bool gs_live_native(gs_live_entity *entity, uint32_t slot, const gs_op_signature *op, gs_slice data)
{
    const gs_live_shared *shared = entity->shared;
    const gs_live_config *config = &shared->config;
    void *net;
    const gs_carrier *carrier = config->crew != NULL ? gs_crew_native(config->crew, &net) : NULL;
    bool is_coded = shared->layout.communicators[op->communicator].coded;
    gs_payload view = gs_entity_memory_view(&entity->memory, data);
    uint32_t group;
    if (carrier == NULL || op->kind != GS_ALL_REDUCE || is_coded || config->number != GS_FP32 ||
        view.count == 0 || !group_of(entity, op->communicator, &group)) {
        return false;
    }
    entity->bytes_sent += data.length * config->job->element_bytes;
    return carrier->all_reduce(net, group, view.data, view.count, slot);
}
