#include "tools/explain_ranks.h"

#include "base/assert.h"
#include "tools/message.h"

#include <string.h>

static const double AS_SLOW = 0.99;

/* Which of the base's ranks each new one is. */
typedef struct pick {
    const gs_scenario *base;
    uint32_t *ranks; /* [count]: how often the base came before, times its ranks, plus the rank */
    uint32_t count;
} pick;

static uint32_t base_rank(const pick *chosen, uint32_t rank)
{
    return chosen->ranks[rank] % chosen->base->ranks;
}

/* Nodes are numbered on where the base comes again. */
static uint32_t base_node(const pick *chosen, uint32_t rank)
{
    uint32_t again = chosen->ranks[rank] / chosen->base->ranks;
    return again * chosen->base->nodes + gs_scenario_node_of(chosen->base, base_rank(chosen, rank));
}

/* Neighbours that are alike become one group again. */
static uint32_t merge_groups(gs_node_group *groups, const gs_node_graph **insides, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        gs_node_group *last = kept == 0 ? NULL : &groups[kept - 1];
        if (last != NULL && last->ranks == groups[i].ranks &&
            strcmp(last->name, groups[i].name) == 0) {
            last->count++;
        } else {
            insides[kept] = insides[i];
            groups[kept++] = groups[i];
        }
    }
    return kept;
}

/* Ranks of one node follow each other. */
static void pick_nodes(const pick *chosen, gs_scenario *copy, gs_arena *arena)
{
    const gs_cluster *base = &chosen->base->cluster;
    const gs_node_graph **insides = gs_need(GS_TAKE(arena, const gs_node_graph *, chosen->count));
    gs_node_group *groups = gs_need(GS_TAKE(arena, gs_node_group, chosen->count));
    uint32_t nodes = 0;
    for (uint32_t rank = 0; rank < chosen->count; rank++) {
        const gs_node_group *from = gs_scenario_group_of(chosen->base, base_rank(chosen, rank));
        if (rank == 0 || base_node(chosen, rank) != base_node(chosen, rank - 1)) {
            groups[nodes] = *from;
            groups[nodes].count = 1;
            groups[nodes].ranks = 0;
            insides[nodes] =
                base->topology.insides == NULL ? NULL : base->topology.insides[from - base->groups];
            nodes++;
        }
        gs_node_group *group = &groups[nodes - 1];
        group->ranks++;
        group->usd_per_hour = from->usd_per_hour * (double)group->ranks / (double)from->ranks;
    }
    copy->cluster.groups = groups;
    copy->cluster.group_count = merge_groups(groups, insides, nodes);
    copy->cluster.topology.insides = base->topology.insides == NULL ? NULL : insides;
    copy->nodes = nodes;
    copy->ranks = chosen->count;
}

static void pick_profile(const pick *chosen, gs_scenario *copy, gs_arena *arena)
{
    const gs_profile *recorded = copy->workload.profile;
    if (recorded->rank_count == 1) {
        return;
    }
    gs_profile *profile = gs_need(GS_TAKE(arena, gs_profile, 1));
    gs_profile_rank *ranks = gs_need(GS_TAKE(arena, gs_profile_rank, chosen->count));
    for (uint32_t rank = 0; rank < chosen->count; rank++) {
        ranks[rank] = recorded->ranks[base_rank(chosen, rank) % recorded->rank_count];
    }
    *profile = *recorded;
    profile->ranks = ranks;
    profile->rank_count = chosen->count;
    copy->workload.profile = profile;
}

/* There is one straggler, however often its node comes again. */
static void pick_straggler(const pick *chosen, gs_scenario *copy)
{
    gs_straggler *straggler = &copy->noise.straggler;
    if (straggler->kind == GS_STRAGGLER_NONE || straggler->rank < 0) {
        return;
    }
    for (uint32_t rank = 0; rank < chosen->count; rank++) {
        if (chosen->ranks[rank] == (uint32_t)straggler->rank) {
            straggler->rank = rank;
            return;
        }
    }
    straggler->kind = GS_STRAGGLER_NONE;
}

static void drop_curves(const gs_scenario *base, gs_scenario *copy)
{
    bool same_node = copy->nodes == 1 && gs_cluster_has_nodes(&base->cluster) &&
                     copy->ranks == (uint32_t)base->cluster.groups[0].ranks;
    if (copy->ranks != base->ranks) {
        copy->cluster.nic.curve = NULL;
        copy->cluster.intra.curve = same_node ? copy->cluster.intra.curve : NULL;
    }
}

static gs_scenario *make(const pick *chosen, gs_arena *arena)
{
    gs_scenario *copy = gs_variant_copy(chosen->base, arena);
    pick_nodes(chosen, copy, arena);
    pick_profile(chosen, copy, arena);
    pick_straggler(chosen, copy);
    drop_curves(chosen->base, copy);
    return copy;
}

bool gs_variant_is_placed(const gs_scenario *base)
{
    return base->cluster.slot_of != NULL || base->cluster.topology.kind >= GS_TOPOLOGY_TORUS;
}

gs_scenario *gs_variant_ranks(const gs_scenario *base, uint32_t count, gs_arena *arena)
{
    GS_ASSERT(count > 0);
    if (gs_variant_is_placed(base)) {
        gs_scenario *unplaced = gs_variant_copy(base, arena);
        unplaced->cluster.slot_of = NULL;
        unplaced->cluster.topology.kind = GS_TOPOLOGY_NODES;
        base = unplaced;
    }
    pick chosen = {base, gs_need(GS_TAKE(arena, uint32_t, count)), count};
    for (uint32_t rank = 0; rank < count; rank++) {
        chosen.ranks[rank] = rank;
    }
    gs_scenario *copy = make(&chosen, arena);
    if (count < base->ranks && copy->noise.straggler.rank >= 0) {
        copy->noise.straggler.kind = GS_STRAGGLER_NONE;
    }
    return copy;
}

static double rank_ns(const gs_scenario *scenario, uint32_t rank)
{
    const gs_straggler *straggler = &scenario->noise.straggler;
    bool concerned = straggler->kind != GS_STRAGGLER_NONE &&
                     straggler->kind != GS_STRAGGLER_MARKOV && straggler->rank == (int64_t)rank;
    return gs_variant_compute_ns(scenario, rank) * (concerned ? straggler->factor : 1.0);
}

static void find_ends(const gs_scenario *base, uint32_t *slowest, double *least, double *most)
{
    *slowest = 0;
    *least = *most = rank_ns(base, 0);
    for (uint32_t rank = 1; rank < base->ranks; rank++) {
        double own = rank_ns(base, rank);
        *slowest = own > *most ? rank : *slowest;
        *most = own > *most ? own : *most;
        *least = own < *least ? own : *least;
    }
}

bool gs_variant_slowest(const gs_scenario *base, uint32_t *out_rank, double *out_factor)
{
    double least = 0.0;
    double most = 0.0;
    find_ends(base, out_rank, &least, &most);
    *out_factor = least > 0.0 ? most / least : 1.0;
    return most > least;
}

gs_scenario *gs_variant_without_slowest(const gs_scenario *base, const uint32_t **out_ranks,
                                        uint32_t *out_count, gs_arena *arena)
{
    uint32_t slowest = 0;
    uint32_t *left_out = gs_need(GS_TAKE(arena, uint32_t, base->ranks));
    double least = 0.0;
    double most = 0.0;
    find_ends(base, &slowest, &least, &most);
    pick chosen = {base, gs_need(GS_TAKE(arena, uint32_t, base->ranks)), 0};
    for (uint32_t rank = 0; rank < base->ranks; rank++) {
        if (rank_ns(base, rank) < AS_SLOW * most) {
            chosen.ranks[chosen.count++] = rank;
        } else {
            left_out[rank - chosen.count] = rank;
        }
    }
    *out_ranks = left_out;
    *out_count = base->ranks - chosen.count;
    return *out_count * 2 > base->ranks ? NULL : make(&chosen, arena);
}

uint32_t gs_variant_unit(const gs_scenario *base)
{
    bool between_nodes = gs_cluster_has_nodes(&base->cluster) && base->nodes > 1;
    return between_nodes ? (uint32_t)base->cluster.groups[0].ranks : 1;
}

double gs_variant_usd_per_hour(const gs_scenario *scenario)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < scenario->cluster.group_count; i++) {
        const gs_node_group *group = &scenario->cluster.groups[i];
        sum += group->usd_per_hour * (double)group->count;
    }
    return sum;
}

bool gs_variant_has_curve(const gs_scenario *scenario)
{
    return gs_scenario_outer_link(scenario)->curve != NULL && scenario->ranks > 1;
}
