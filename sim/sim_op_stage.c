/* Ops that are stages of turns round rings, such as reduce-scatter inside nodes, all-reduce between
 * them and all-gather inside: each stage of a ring by its closed form or its recurrence, from when
 * its members have ended the stage before.
 *
 * A member comes to a stage when it has received all of the one before, and sends there as soon as
 * what it sent on the same channel has left. So the times are those of its dataflow. */
#include "sim/sim_op.h"

/* Of one op; arrays of members in scratch. */
typedef struct staged {
    gs_sim_op *op;
    gs_tick *lane;                        /* [members] has received so far: the op's result */
    gs_tick *free_at[GS_RING_STAGES_MAX]; /* [targets][members] what was sent there has left */
    gs_tick *starts, *received, *left;    /* [size] of the ring in hand */
    gs_tick *large, *small, *latency;     /* likewise */
} staged;

enum { TARGETS_MAX = 3, RING_ARRAYS = 6 };

static gs_shape shape_of(const gs_sim_op *op, uint32_t member)
{
    const gs_op_plan *plan = op->plan;
    return gs_choice_shape(&plan->choice, &op->sim->job, plan->group, member, op->signature.root,
                           op->signature.elements);
}

static gs_ring ring_of(const gs_ring_stage *stage)
{
    return (gs_ring){.members = stage->size,
                     .turns = stage->turns,
                     .first = stage->first,
                     .large = (uint32_t)(stage->elements % stage->size)};
}

static const gs_dataflow_path *path_of(const gs_sim_op *op, const gs_ring_stage *stage,
                                       uint32_t member)
{
    const gs_dataflow_plan *flow = op->plan->flow;
    return &flow->paths[flow->out_first[member] + stage->target];
}

static gs_ring_link link_of(const gs_sim_op *op, const gs_ring_stage *stage, uint32_t member)
{
    const gs_dataflow_path *path = path_of(op, stage, member);
    int64_t small = stage->elements / stage->size;
    int64_t large = small + (stage->elements % stage->size > 0 ? 1 : 0);
    int64_t bytes = op->sim->job.element_bytes;
    return (gs_ring_link){
        .large = path->overhead + gs_dataflow_ticks(large * bytes, path->bytes_per_tick),
        .small = path->overhead + gs_dataflow_ticks(small * bytes, path->bytes_per_tick),
        .latency = path->latency};
}

/* The ring whose first member that is. false: no memory. */
static bool play_ring(staged *of, const gs_ring_stage *stage, uint32_t first)
{
    gs_sim_op *op = of->op;
    gs_ring ring = ring_of(stage);
    gs_tick *free_at = of->free_at[stage->target];
    gs_tick last = 0;
    for (uint32_t place = 0; place < stage->size; place++) {
        uint32_t member = first + place * stage->stride;
        gs_tick at = op->ready[member] > of->lane[member] ? op->ready[member] : of->lane[member];
        at = at > free_at[member] ? at : free_at[member];
        gs_ring_link link = link_of(op, stage, member);
        of->starts[place] = at;
        of->large[place] = link.large;
        of->small[place] = link.small;
        of->latency[place] = link.latency;
        last = at > last ? at : last;
    }
    gs_ring_link link = link_of(op, stage, first);
    gs_ring_links links = {.large = of->large, .small = of->small, .latency = of->latency};
    gs_ring_room *room = &op->sim->op_room;
    bool is_closed = op->mode == GS_OP_CLOSED && gs_ring_fits(&ring, link, last);
    if (!(is_closed
              ? gs_ring_closed(&ring, link, of->starts, room, of->received, of->left)
              : gs_ring_recurrence(&ring, &links, of->starts, room, of->received, of->left))) {
        return false;
    }
    for (uint32_t place = 0; place < stage->size; place++) {
        uint32_t member = first + place * stage->stride;
        gs_tick received = of->received[place];
        of->lane[member] = received > of->lane[member] ? received : of->lane[member];
        free_at[member] = of->left[place];
    }
    return true;
}

static bool play_stage(staged *of, uint32_t number)
{
    uint32_t members = of->op->plan->flow->member_count;
    for (uint32_t member = 0; member < members; member++) {
        gs_ring_stage stages[GS_RING_STAGES_MAX];
        gs_shape shape = shape_of(of->op, member);
        (void)of->op->plan->choice.program->stages(&shape, stages);
        if (stages[number].place == 0 && !play_ring(of, &stages[number], member)) {
            return false;
        }
    }
    return true;
}

static bool take_scratch(staged *of)
{
    gs_sim *sim = of->op->sim;
    size_t ranks = sim->job.ranks;
    if (sim->op_stage_times == NULL) {
        sim->op_stage_times = GS_TAKE(&sim->arena, gs_tick, (TARGETS_MAX + RING_ARRAYS) * ranks);
    }
    gs_tick *times = sim->op_stage_times;
    if (times == NULL) {
        return false;
    }
    gs_tick **arrays[] = {&of->free_at[0], &of->free_at[1], &of->free_at[2],
                          &of->starts,     &of->received,   &of->left,
                          &of->large,      &of->small,      &of->latency};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = times + i * ranks;
    }
    return true;
}

bool gs_sim_op_stages(gs_sim_op *op, gs_tick *received, gs_tick *left)
{
    staged of = {.op = op, .lane = received};
    if (!take_scratch(&of)) {
        return false;
    }
    uint32_t members = op->plan->flow->member_count;
    for (uint32_t member = 0; member < members; member++) {
        of.lane[member] = op->starts[member];
        for (int target = 0; target < TARGETS_MAX; target++) {
            of.free_at[target][member] = 0;
        }
    }
    for (uint32_t stage = 0; stage < op->plan->stages; stage++) {
        if (!play_stage(&of, stage)) {
            return false;
        }
    }
    for (uint32_t member = 0; member < members; member++) {
        left[member] = 0;
        for (int target = 0; target < TARGETS_MAX; target++) {
            gs_tick at = of.free_at[target][member];
            left[member] = at > left[member] ? at : left[member];
        }
    }
    return true;
}

void gs_sim_op_count_stages(const gs_sim_op *op, uint32_t member)
{
    gs_ring_stage stages[GS_RING_STAGES_MAX];
    gs_shape shape = shape_of(op, member);
    (void)op->plan->choice.program->stages(&shape, stages);
    for (uint32_t i = 0; i < op->plan->stages; i++) {
        const gs_ring_stage *stage = &stages[i];
        gs_ring ring = ring_of(stage);
        int64_t small = stage->elements / stage->size * op->sim->job.element_bytes;
        gs_sim_op_count_channel(op, op->plan->flow->out_first[member] + stage->target, stage->turns,
                                gs_sim_op_ring_bytes(op, &ring, stage->place, stage->elements));
        gs_sim_net_see_size(&op->sim->net, small);
        gs_sim_net_see_size(&op->sim->net,
                            small + (ring.large > 0 ? op->sim->job.element_bytes : 0));
    }
}
