#include "strategies/gossip_round.h"

#include "strategies/whole_model.h"

#include <string.h>

void gs_gossip_round_init(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule)
{
    *round = (gs_gossip_round){.mixing = gs_mixing_of(rule->graph, gs_world_job(world)->ranks),
                               .sent_at = -1,
                               .weight = 1.0};
    gs_gossip_round_model(world, round, rule);
    if (rule->differences) { /* nobody knows anything: x^ is 0 */
        gs_whole_vec(world, GS_VOP_copy, GS_GOSSIP_KNOWN, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_sub, GS_GOSSIP_KNOWN, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_copy, GS_GOSSIP_SUM, GS_GOSSIP_KNOWN, 0.0);
    }
}

/* Makes what this rank sends, and returns where it is. */
static uint32_t make_news(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule)
{
    if (rule->differences) {
        gs_whole_vec(world, GS_VOP_copy, GS_GOSSIP_NEWS, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_sub, GS_GOSSIP_NEWS, GS_GOSSIP_KNOWN, 0.0);
        gs_code(world, gs_whole(world, GS_GOSSIP_HEARD), gs_whole(world, GS_GOSSIP_NEWS));
        return GS_GOSSIP_NEWS;
    }
    if (!rule->push_sum) {
        return GS_PARAM;
    }
    gs_whole_vec(world, GS_VOP_scale, GS_PARAM, GS_PARAM, gs_mixing_weight(&round->mixing));
    round->weight *= gs_mixing_weight(&round->mixing);
    if (rule->delay == 0) {
        return GS_PARAM;
    }
    gs_whole_vec(world, GS_VOP_copy, GS_GOSSIP_OUTBOX, GS_PARAM, 0.0);
    return GS_GOSSIP_OUTBOX;
}

void gs_gossip_round_begin(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule,
                           int64_t steps)
{
    const gs_mixing *mixing = &round->mixing;
    uint32_t rank = gs_self(world).index;
    int64_t number = steps / gs_gossip_period(rule);
    int flags = rule->differences ? GS_SEND_CODED | GS_SEND_SAME
                : rule->push_sum  ? GS_SEND_LENT
                                  : GS_SEND_CODED;
    int64_t meta[4] = {0};
    round->under_way = true;
    round->sent_at = steps;
    round->open = 2 * mixing->degree;
    round->coming = 0.0;
    if (mixing->degree == 0) {
        return;
    }
    gs_slice news = gs_whole(world, make_news(world, round, rule));
    memcpy(meta, &round->weight, sizeof round->weight);
    for (uint32_t i = 0; i < mixing->degree; i++) {
        gs_peer from = {GS_WORKER, (uint16_t)gs_mixing_from(mixing, rank, number, i)};
        gs_recv(world, from, 0, gs_whole(world, gs_gossip_inbox(rule) + i), i);
    }
    for (uint32_t i = 0; i < mixing->degree; i++) {
        gs_peer to = {GS_WORKER, (uint16_t)gs_mixing_to(mixing, rank, number, i)};
        gs_send(world, to, 0, news, meta, flags);
    }
}

void gs_gossip_round_hear(gs_gossip_round *round, const gs_event *event)
{
    double share;
    memcpy(&share, event->meta, sizeof share);
    round->coming += share; /* all ranks have the same weight: the order does not matter */
    round->open--;
}

/* dst += k (sum of what came). */
static void add_inboxes(gs_world *world, const gs_gossip_round *round, const gs_gossip_rule *rule,
                        uint32_t dst, double k)
{
    for (uint32_t i = 0; i < round->mixing.degree; i++) {
        gs_whole_vec(world, GS_VOP_axpy, dst, gs_gossip_inbox(rule) + i, k);
    }
}

void gs_gossip_round_end(gs_world *world, gs_gossip_round *round, const gs_gossip_rule *rule)
{
    double weight = gs_mixing_weight(&round->mixing);
    round->under_way = false;
    if (round->mixing.degree == 0) {
        return;
    }
    if (rule->push_sum) {
        add_inboxes(world, round, rule, GS_PARAM, 1.0);
        round->weight += round->coming;
    } else if (rule->differences) {
        gs_whole_vec(world, GS_VOP_add, GS_GOSSIP_KNOWN, GS_GOSSIP_HEARD, 0.0);
        gs_whole_vec(world, GS_VOP_axpy, GS_GOSSIP_SUM, GS_GOSSIP_HEARD, weight);
        add_inboxes(world, round, rule, GS_GOSSIP_SUM, weight);
        gs_whole_vec(world, GS_VOP_axpy, GS_PARAM, GS_GOSSIP_SUM, rule->gamma);
        gs_whole_vec(world, GS_VOP_axpy, GS_PARAM, GS_GOSSIP_KNOWN, -rule->gamma);
    } else {
        gs_whole_vec(world, GS_VOP_scale, GS_PARAM, GS_PARAM, weight);
        add_inboxes(world, round, rule, GS_PARAM, weight);
    }
}

void gs_gossip_round_model(gs_world *world, const gs_gossip_round *round,
                           const gs_gossip_rule *rule)
{
    if (rule->push_sum) {
        gs_whole_vec(world, GS_VOP_copy, GS_GOSSIP_MODEL, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_scale, GS_GOSSIP_MODEL, GS_GOSSIP_MODEL, 1.0 / round->weight);
    }
}
