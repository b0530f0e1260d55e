/* What a timeline is told of a run. The run itself does not change: nothing here is reached where
 * nobody asked for one. */
#include "sim/sim_parts.h"

static gs_time_ns now_ns(const gs_sim *sim)
{
    return gs_sim_loop_now_ns(&sim->loop);
}

/* Of the worker: `step` is the next one to ask for. */
static int64_t step_under_way(const gs_sim *sim, uint32_t index)
{
    return sim->workers[index].step - 1;
}

gs_status gs_sim_look_init(gs_sim *sim, gs_error *err)
{
    uint32_t ranks = sim->job.ranks;
    uint32_t *node_of = GS_TAKE(&sim->arena, uint32_t, ranks);
    uint32_t *nic_of = GS_TAKE(&sim->arena, uint32_t, sim->entity_count);
    sim->op_begins =
        GS_TAKE(&sim->arena, gs_sim_op_begin, (size_t)sim->layout.communicator_count * ranks);
    if (node_of == NULL || nic_of == NULL || sim->op_begins == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for a timeline of %u ranks", ranks);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        node_of[rank] = gs_scenario_node_of(sim->scenario, rank);
    }
    for (uint32_t entity = 0; entity < sim->entity_count; entity++) {
        nic_of[entity] = gs_topology_nic(sim->topology, entity);
    }
    gs_timeline_world world = {
        .ranks = ranks,
        .entities = sim->entity_count,
        .nodes = sim->scenario->nodes,
        .nics = gs_topology_nic_count(sim->topology),
        .node_of = node_of,
        .nic_of = nic_of,
    };
    gs_status status = gs_timeline_describe(sim->timeline, &world);
    return status == GS_OK ? status
                           : gs_fail(err, status, "no memory for a timeline of %u ranks", ranks);
}

void gs_sim_look_step(gs_sim *sim, uint32_t index)
{
    gs_step_account *account = &sim->accounts[index];
    bool looks = gs_timeline_has(sim->timeline, account->row.step);
    account->timeline = looks ? sim->timeline : NULL;
    gs_timeline_begin_step(sim->timeline, account->row.step);
}

void gs_sim_look_compute(gs_sim *sim, uint32_t index, gs_time_ns from_ns, gs_time_ns duration)
{
    const gs_sim_worker *worker = &sim->workers[index];
    int64_t step = step_under_way(sim, index);
    if (!gs_timeline_has(sim->timeline, step)) {
        return;
    }
    const gs_segment *segment = &worker->program->segments[worker->segment - 1];
    bool ends_unit =
        worker->segment < worker->program->segment_count && segment[1].kind == GS_SEGMENT_GRADIENT;
    gs_timeline_kind kind =
        segment->kind == GS_SEGMENT_FORWARD ? GS_TIMELINE_FORWARD : GS_TIMELINE_BACKWARD;
    gs_timeline_add_span(
        sim->timeline,
        (gs_timeline_span){.kind = kind,
                           .rank = index,
                           .unit = ends_unit ? (int32_t)segment[1].index : GS_TIMELINE_NO_UNIT,
                           .step = step,
                           .from_ns = from_ns,
                           .to_ns = from_ns + duration});
}

void gs_sim_look_blocking(gs_sim *sim, uint32_t index, gs_time_ns last_came_ns)
{
    const gs_sim_worker *worker = &sim->workers[index];
    int64_t step = step_under_way(sim, index);
    if (!gs_timeline_has(sim->timeline, step)) {
        return;
    }
    uint32_t which = worker->program->segments[worker->segment - 1].index;
    const gs_profile_blocking *blocking = &sim->scenario->workload.profile->blocking[which];
    gs_timeline_op op = {.name = blocking->name,
                         .rank = index,
                         .communicator = -1,
                         .sequence = worker->blocking - 1,
                         .label = which,
                         .bytes = blocking->bytes,
                         .step = step,
                         .from_ns = worker->since_ns,
                         .last_start_ns = last_came_ns,
                         .to_ns = now_ns(sim)};
    gs_timeline_add_op(sim->timeline, &op);
}

/* An entity runs the ops of a communicator one after the other: one place for each is enough. */
static gs_sim_op_begin *begin_of(gs_sim *sim, uint32_t index, const gs_op_signature *op)
{
    return &sim->op_begins[op->communicator * sim->job.ranks + index];
}

void gs_sim_look_op_start(gs_sim *sim, uint32_t index, const gs_op_signature *op, gs_time_ns at_ns)
{
    *begin_of(sim, index, op) =
        (gs_sim_op_begin){.at_ns = at_ns, .step = step_under_way(sim, index)};
}

void gs_sim_look_op_end(gs_sim *sim, uint32_t index, const gs_op_signature *op,
                        gs_time_ns last_start_ns)
{
    const gs_sim_op_begin *begin = begin_of(sim, index, op);
    if (begin->step > sim->timeline->last_step ||
        step_under_way(sim, index) < sim->timeline->first_step) {
        return;
    }
    gs_timeline_op kept = {.name = gs_collective_kind_name(op->kind),
                           .rank = index,
                           .communicator =
                               (int32_t)gs_group_ops_line(&sim->ops, index, op->communicator),
                           .sequence = op->sequence,
                           .label = op->label,
                           .bytes = op->elements * sim->job.element_bytes,
                           .step = op->step,
                           .from_ns = begin->at_ns,
                           .last_start_ns = last_start_ns,
                           .to_ns = now_ns(sim)};
    gs_timeline_add_op(sim->timeline, &kept);
}

void gs_sim_look_share(gs_sim *sim, uint32_t index, int64_t bytes, gs_time_ns wire_ns)
{
    uint32_t next = (index + 1) % sim->job.ranks;
    gs_time_ns now = now_ns(sim);
    gs_timeline_message share = {
        .from = index,
        .to = next,
        .stream = GS_TIMELINE_WHOLE_OP,
        .over_nic = gs_topology_route(sim->topology, index, next, 0).over_nic,
        .bytes = bytes,
        .began_ns = now,
        .left_ns = now + wire_ns,
        .arrive_ns = now + wire_ns,
    };
    gs_timeline_add_message(sim->timeline, &share);
}
