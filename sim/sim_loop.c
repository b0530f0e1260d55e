#include "sim/sim_loop.h"

#include "base/assert.h"
#include "base/rng.h"

bool gs_sim_loop_init(gs_sim_loop *loop, uint64_t seed, bool shuffle_ties)
{
    *loop = (gs_sim_loop){.seed = seed, .shuffle_ties = shuffle_ties};
    loop->queue = gs_event_queue_create();
    return loop->queue != NULL;
}

void gs_sim_loop_fini(gs_sim_loop *loop)
{
    gs_event_queue_destroy(loop->queue);
    loop->queue = NULL;
}

void gs_sim_loop_end_time(gs_sim_loop *loop)
{
    loop->limit = "100 days of simulated time";
}

uint64_t gs_sim_loop_order(gs_sim_loop *loop)
{
    uint64_t order = ++loop->sequence;
    if (loop->shuffle_ties) {
        gs_rng_key key = {loop->seed, GS_RNG_TIES, 0};
        order = gs_rng_bits(key, loop->sequence, 0) >> GS_SIM_PAYLOAD_BITS;
    }
    return order;
}

uint64_t gs_sim_loop_at(gs_sim_loop *loop, gs_tick at, gs_sim_event_kind kind, uint32_t index)
{
    GS_ASSERT(at >= loop->now && index < UINT32_C(1) << GS_SIM_INDEX_BITS);
    if (at >= GS_TICK_END) {
        gs_sim_loop_end_time(loop);
    } else if (loop->sequence + 1 >= UINT64_C(1) << (64 - GS_SIM_PAYLOAD_BITS)) {
        loop->limit = "10^12 events";
    }
    uint64_t order = gs_sim_loop_order(loop);
    loop->own += kind != GS_SIM_LINK;
    uint64_t handle = order << GS_SIM_PAYLOAD_BITS | (uint64_t)kind << GS_SIM_INDEX_BITS | index;
    if (loop->limit == NULL &&
        gs_event_queue_push(loop->queue, (gs_queued_event){at, handle}) != GS_OK) {
        loop->out_of_memory = true;
    }
    return handle;
}

static gs_sim_event event_of(uint64_t key)
{
    return (gs_sim_event){
        .handle = key,
        .index = (uint32_t)key & ((UINT32_C(1) << GS_SIM_INDEX_BITS) - 1),
        .kind = (gs_sim_event_kind)(key >> GS_SIM_INDEX_BITS &
                                    ((1U << (GS_SIM_PAYLOAD_BITS - GS_SIM_INDEX_BITS)) - 1)),
    };
}

bool gs_sim_loop_ahead(const gs_sim_loop *loop, size_t i, gs_sim_event *out)
{
    size_t count;
    const gs_queued_event *ahead = gs_event_queue_ahead(loop->queue, &count);
    if (i >= count) {
        return false;
    }
    *out = event_of(ahead[i].key);
    return true;
}

bool gs_sim_loop_next(gs_sim_loop *loop, gs_sim_event *out)
{
    gs_queued_event next;
    if (loop->out_of_memory || loop->limit != NULL || !gs_event_queue_pop(loop->queue, &next)) {
        return false;
    }
    loop->now = next.time;
    loop->handled++;
    uint64_t refills = gs_event_queue_refills(loop->queue);
    loop->is_refilled = refills != loop->refills;
    loop->refills = refills;
    *out = event_of(next.key);
    loop->own -= out->kind != GS_SIM_LINK;
    return true;
}
