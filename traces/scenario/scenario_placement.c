/* cluster.placement: which rank is where, and in which order rings go through them. */
#include "traces/scenario/scenario_parts.h"

#include <string.h>

#include "base/assert.h"
#include "base/rng.h"

static const char *const orders[] = {"by_node", "round_robin", "random", "list", NULL};
enum { BY_NODE, ROUND_ROBIN, RANDOM, LIST };

/* clang-format off */
static const gs_field fields[] = {
    {"order", GS_FIELD_CHOICE, GS_FIELD_AT(gs_placement_config, order), "by_node", 0, 0, orders,
     "how ranks are numbered over nodes: node after node, one on each node in turn, by chance, or as `slots` says"},
    {"seed", GS_FIELD_INT, GS_FIELD_AT(gs_placement_config, seed), "1", 0, 9007199254740992.0, NULL,
     "of order random; the same in every run"},
};
/* clang-format on */

const gs_field_table gs_scenario_placement_table =
    GS_SCENARIO_TABLE("cluster.placement", gs_placement_config, fields);

/* The next rank goes to the next node that has a slot left. */
static void deal(const gs_cluster *cluster, uint32_t *slot_of)
{
    uint32_t rank = 0;
    bool dealt = true;
    for (int64_t local = 0; dealt; local++) {
        uint32_t first = 0;
        dealt = false;
        for (uint32_t i = 0; i < cluster->group_count; i++) {
            const gs_node_group *group = &cluster->groups[i];
            for (int64_t node = 0; node < group->count && local < group->ranks; node++) {
                slot_of[rank++] = first + (uint32_t)(node * group->ranks + local);
                dealt = true;
            }
            first += (uint32_t)(group->count * group->ranks);
        }
    }
}

/* Fisher and Yates: every order is equally likely. */
static void shuffle(uint64_t seed, uint32_t count, uint32_t *slot_of)
{
    gs_rng_key key = {seed, GS_RNG_PLACEMENT, 0};
    for (uint32_t i = 0; i < count; i++) {
        slot_of[i] = i;
    }
    for (uint32_t left = count; left > 1; left--) {
        uint32_t other = (uint32_t)(gs_rng_bits(key, left, 0) % left);
        uint32_t kept = slot_of[left - 1];
        slot_of[left - 1] = slot_of[other];
        slot_of[other] = kept;
    }
}

/* The numbers 0 to ranks - 1 at path, each once. `what`: "slot". Errors: GS_EINVAL. */
static gs_status read_permutation(gs_scenario_reader *reader, const char *path, const char *what,
                                  uint32_t *out, gs_error *err)
{
    uint32_t ranks = reader->out->ranks;
    gs_json_at list;
    gs_json_at at;
    if (!gs_scenario_path_find(&reader->source.merged, path, &list) ||
        gs_json_kind_of(list.value) != GS_JSON_LIST || gs_json_count(list.value) != ranks) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "takes a list of the %u %ss, each once, [0, 1, ...]", ranks, what);
    }
    bool *taken = GS_TAKE(reader->arena, bool, ranks);
    if (taken == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        int64_t number = 0;
        GS_TRY(gs_json_int(&at, &number, err));
        bool is_one = number >= 0 && number < ranks;
        if (!is_one || taken[number]) {
            return gs_json_fail(
                &at, GS_EINVAL, err, "%lld is %s; each of the %ss 0 to %u stands there once",
                (long long)number, is_one ? "there already" : "none", what, ranks - 1);
        }
        taken[number] = true;
        out[i] = (uint32_t)number;
    }
    return GS_OK;
}

static bool is_empty(const gs_scenario_reader *reader, const char *path)
{
    gs_json_at list;
    return !gs_scenario_path_find(&reader->source.merged, path, &list) ||
           (gs_json_kind_of(list.value) == GS_JSON_LIST && gs_json_count(list.value) == 0);
}

static gs_status read_ring_order(gs_scenario_reader *reader, gs_error *err)
{
    static const char path[] = "cluster.placement.ring_order";
    uint32_t ranks = reader->out->ranks;
    if (is_empty(reader, path)) {
        return GS_OK;
    }
    uint32_t *order = GS_TAKE(reader->arena, uint32_t, 2 * (size_t)ranks);
    if (order == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    GS_TRY(read_permutation(reader, path, "rank", order, err));
    for (uint32_t place = 0; place < ranks; place++) {
        order[ranks + order[place]] = place;
    }
    reader->out->cluster.ring_order = order;
    return GS_OK;
}

gs_status gs_scenario_read_placement(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    gs_placement_config *placement = &reader->placement;
    GS_TRY(gs_scenario_read_object(reader, "cluster.placement", &gs_scenario_placement_table,
                                   placement, err));
    GS_TRY(read_ring_order(reader, err));
    if (placement->order == BY_NODE) {
        return GS_OK;
    }
    uint32_t *slot_of = GS_TAKE(reader->arena, uint32_t, reader->out->ranks);
    if (slot_of == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    if (placement->order == ROUND_ROBIN) {
        deal(cluster, slot_of);
    } else if (placement->order == RANDOM) {
        shuffle((uint64_t)placement->seed, reader->out->ranks, slot_of);
    } else {
        GS_TRY(read_permutation(reader, "cluster.placement.slots", "slot", slot_of, err));
    }
    cluster->slot_of = slot_of;
    return GS_OK;
}

/* [ranks], or empty where numbers is NULL. */
static bool put_numbers(gs_json *object, const char *key, const uint32_t *numbers, uint32_t ranks)
{
    gs_json *list = gs_json_new_list();
    bool ok = true;
    for (uint32_t i = 0; numbers != NULL && i < ranks && ok; i++) {
        ok = gs_json_add(list, gs_json_new_int(numbers[i]));
    }
    return gs_json_set(object, key, list) && ok;
}

bool gs_scenario_write_placement(const gs_scenario_reader *reader, gs_json *cluster)
{
    const gs_cluster *of = &reader->out->cluster;
    uint32_t ranks = reader->out->ranks;
    gs_json *object = gs_json_new_object();
    bool ok = gs_config_write(&gs_scenario_placement_table, &reader->placement, object);
    ok =
        put_numbers(object, "slots", reader->placement.order == LIST ? of->slot_of : NULL, ranks) &&
        ok;
    ok = put_numbers(object, "ring_order", of->ring_order, ranks) && ok;
    return gs_json_set(cluster, "placement", object) && ok;
}
