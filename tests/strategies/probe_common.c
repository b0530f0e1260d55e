#include "tests/strategies/probes.h"

#include "base/assert.h"

#include <string.h>

void probe_sent(probe_tally *tally, gs_peer to)
{
    tally->to[to.index]++;
    tally->sent++;
}

void probe_note_came(probe_tally *tally, const gs_event *event)
{
    tally->notes++;
    tally->expected += event->meta[0];
}

bool probe_all_came(gs_world *world, probe_tally *tally)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    for (uint16_t i = 0; i < ranks && !tally->told; i++) {
        if (i != gs_self(world).index) {
            gs_note(world, (gs_peer){GS_WORKER, i}, PROBE_TAG_FINAL, (int64_t[4]){tally->to[i]});
        }
    }
    tally->told = true;
    return tally->notes == ranks - 1 && tally->received == tally->expected;
}

gs_peer probe_other(const gs_world *world, int64_t step)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    uint64_t hop = 1 + gs_bits(world, 0, step, 0) % (ranks - 1);
    return (gs_peer){GS_WORKER, (uint16_t)((gs_self(world).index + hop) % ranks)};
}

void probe_vec(gs_world *world, gs_vop vop, uint32_t dst, uint32_t a, double k)
{
    gs_vec(world, vop, probe_whole(world, dst), probe_whole(world, a), k);
}

void probe_train(gs_world *world, double rate_scale)
{
    probe_vec(world, GS_VOP_sub, PROBE_UPDATES, GS_PARAM, 0.0);
    gs_apply(world, GS_PARAM, GS_GRAD, rate_scale, true);
    probe_vec(world, GS_VOP_add, PROBE_UPDATES, GS_PARAM, 0.0);
}

void probe_listen(gs_world *world, uint16_t tag, uint32_t into)
{
    gs_recv(world, (gs_peer){GS_WORKER, GS_ANY}, tag, probe_whole(world, into), 0);
}

void probe_no_init(gs_world *world, void *state)
{
    (void)world, (void)state;
}

void probe_ignore(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state, (void)event;
}

size_t probe_put(void *out, size_t out_bytes, probe_export exported)
{
    GS_ASSERT(out_bytes >= sizeof exported);
    memcpy(out, &exported, sizeof exported);
    return sizeof exported;
}
