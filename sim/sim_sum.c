/* The sums of dense all-reduces, whose parts travel without numbers: begun when the last member has
 * started, for all slices are lent from then on, and joined when the first one ends. */
#include "sim/sim_parts.h"

#include "strategies/collective.h"
#include "strategies/group.h"

/* Floats of all members below which a second thread costs more than it saves. */
enum { SHARE_FLOATS_MIN = 1 << 17 };

/* A curve times the all-reduces of all ranks; in which order they were added it does not tell. */
static bool has_curve(const gs_sim *sim, uint32_t communicator)
{
    gs_group group = sim->layout.communicators[communicator].group;
    return sim->curve != NULL && gs_group_size(group, sim->job.ranks) == sim->job.ranks;
}

static bool may_sum(const gs_sim *sim, uint32_t communicator)
{
    const gs_communicator *of = &sim->layout.communicators[communicator];
    if (of->coded) {
        return false;
    }
    bool has_sums = (gs_communicator_kinds(of) >> GS_ALL_REDUCE & 1U) != 0;
    return has_sums && (has_curve(sim, communicator) || !sim->config.parts_always);
}

/* Of a sum that is formed at once; its order and rings. */
static gs_sum_order order_of(const gs_sim *sim, const gs_op_signature *op, gs_shape *out)
{
    gs_group group = sim->layout.communicators[op->communicator].group;
    *out = gs_shape_plain(gs_group_size(group, sim->job.ranks), 0, op->elements);
    if (op->kind != GS_ALL_REDUCE) {
        return GS_SUM_BY_PROGRAM;
    }
    if (has_curve(sim, op->communicator)) {
        return GS_SUM_ROUND;
    }
    gs_choice choice = gs_relay_choose(&sim->relay, op->communicator, op->kind,
                                       op->elements * sim->job.element_bytes);
    *out = gs_choice_shape(&choice, &sim->job, group, 0, 0, op->elements);
    return out->order == NULL ? choice.program->order : GS_SUM_BY_PROGRAM;
}

static void add_share(gs_team_job *job, uint32_t member)
{
    const gs_sim_sum_share *share = (const gs_sim_sum_share *)job;
    (void)member;
    gs_sum_floats(&share->of->sum, share->index, share->of->share_count);
}

/* Memories of the group that a rank, its first member, is in. */
static bool make_sum(gs_sim *sim, uint32_t communicator, uint32_t rank, gs_sim_sum *made)
{
    gs_group group = sim->layout.communicators[communicator].group;
    uint32_t members = gs_group_size(group, sim->job.ranks);
    uint32_t shares = gs_team_members(sim->team);
    gs_entity_memory **memories = GS_TAKE(&sim->arena, gs_entity_memory *, members);
    made->slices = GS_TAKE(&sim->arena, gs_slice, members);
    made->shares = GS_TAKE(&sim->arena, gs_sim_sum_share, shares);
    if (memories == NULL || made->slices == NULL || made->shares == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < members; i++) {
        memories[i] = &sim->entities[gs_group_rank(group, sim->job.ranks, rank, i)].memory;
    }
    for (uint32_t i = 0; i < shares; i++) {
        made->shares[i] = (gs_sim_sum_share){.job = {.run = add_share}, .of = made, .index = i};
    }
    made->sum = (gs_sum){.members = members, .memories = memories, .slices = made->slices};
    return true;
}

gs_status gs_sim_sums_init(gs_sim *sim, gs_error *err)
{
    if (!sim->learns) {
        return GS_OK;
    }
    sim->sums = GS_TAKE(&sim->arena, gs_sim_sum, sim->ops.line_count);
    bool ok = sim->sums != NULL;
    for (uint32_t i = 0; ok && i < sim->layout.communicator_count; i++) {
        sim->may_sum[i] = may_sum(sim, i);
        for (uint32_t rank = 0; ok && rank < sim->job.ranks; rank++) {
            gs_group group = sim->layout.communicators[i].group;
            if (sim->may_sum[i] && gs_group_member(group, sim->job.ranks, rank) == 0) {
                ok = make_sum(sim, i, rank, &sim->sums[gs_group_ops_line(&sim->ops, rank, i)]);
            }
        }
    }
    return ok ? GS_OK : gs_fail(err, GS_ENOMEM, "no memory for sums of %u ranks", sim->job.ranks);
}

bool gs_sim_is_summed(const gs_sim *sim, const gs_op_signature *op)
{
    gs_shape shape;
    return sim->may_sum[op->communicator] && order_of(sim, op, &shape) != GS_SUM_BY_PROGRAM;
}

static gs_sim_sum *sum_of(gs_sim *sim, uint32_t rank, const gs_op_signature *op)
{
    return &sim->sums[gs_group_ops_line(&sim->ops, rank, op->communicator)];
}

bool gs_sim_sum_start(gs_sim *sim, uint32_t rank, const gs_op_signature *op, gs_slice data,
                      bool is_last)
{
    if (!sim->may_sum[op->communicator]) {
        return true;
    }
    gs_shape shape;
    gs_sum_order order = order_of(sim, op, &shape);
    if (order == GS_SUM_BY_PROGRAM) {
        return true;
    }
    gs_sim_sum *sum = sum_of(sim, rank, op);
    gs_group group = sim->layout.communicators[op->communicator].group;
    sum->slices[gs_group_member(group, sim->job.ranks, rank)] = data;
    if (!is_last) {
        return true;
    }
    sum->sum.order = order;
    sum->sum.rings = shape.rings;
    sum->sum.inner = shape.inner;
    for (uint32_t i = 0; i < sum->sum.members; i++) {
        gs_sim_work_settle(sim, gs_group_rank(group, sim->job.ranks, rank, i));
    }
    if (!gs_sum_begin(&sum->sum)) {
        return false;
    }
    size_t count = sum->sum.memories[0]->vectors.count;
    double floats = (double)count * (double)data.length / (double)sim->job.elements;
    bool is_large = floats * sum->sum.members >= SHARE_FLOATS_MIN;
    sum->share_count = sum->shares_left = is_large ? gs_team_members(sim->team) : 1;
    for (uint32_t i = 0; i < sum->share_count; i++) {
        gs_team_submit(sim->team, &sum->shares[i].job);
    }
    return true;
}

static void join(gs_sim *sim, gs_sim_sum *sum)
{
    for (; sum->shares_left > 0; sum->shares_left--) {
        gs_team_join(sim->team, &sum->shares[sum->shares_left - 1].job);
    }
}

void gs_sim_sum_join(gs_sim *sim, uint32_t rank, const gs_op_signature *op)
{
    if (gs_sim_is_summed(sim, op)) {
        join(sim, sum_of(sim, rank, op));
    }
}

void gs_sim_sums_join(gs_sim *sim)
{
    for (uint32_t i = 0; sim->sums != NULL && i < sim->ops.line_count; i++) {
        join(sim, &sim->sums[i]);
    }
}
