#include "tools/explain_variant.h"

#include "base/assert.h"
#include "tools/message.h"

#include <math.h>
#include <string.h>

/* Stands for no limit; what takes it takes less than 1/1024 ns. */
static const int64_t ENDLESS_BPS = INT64_C(1000000000000000000);

/* --- copies ----------------------------------------------------------------------------------- */

#define TAKE(arena, type, count) ((type *)gs_need(GS_TAKE((arena), type, (count))))

gs_scenario *gs_variant_copy(const gs_scenario *from, gs_arena *arena)
{
    gs_scenario *copy = TAKE(arena, gs_scenario, 1);
    *copy = *from;
    return copy;
}

void gs_variant_set_steps(gs_scenario *copy, int64_t steps)
{
    const gs_strategy_choice *choice = &copy->strategies[0];
    const gs_field_table *table = choice->strategy->config;
    size_t field = gs_config_find(table, "accumulation");
    int64_t usual = copy->workload.accumulation;
    int64_t passes = 0;
    if (field < table->field_count && table->fields[field].kind == GS_FIELD_INT) {
        memcpy(&passes, (const char *)choice->config + table->fields[field].offset, sizeof passes);
    }
    passes = passes > 0 ? passes : usual;
    copy->workload.budget_steps = (steps * passes + usual - 1) / usual;
}

gs_scenario *gs_variant_base(const gs_scenario *scenario, uint32_t strategy, int64_t steps,
                             gs_arena *arena)
{
    GS_ASSERT(strategy < scenario->strategy_count);
    gs_scenario *base = gs_variant_copy(scenario, arena);
    base->strategies = &scenario->strategies[strategy];
    base->strategy_count = 1;
    base->workload.real_gradients = false;
    base->workload.target_value = 0.0;
    gs_variant_set_steps(base, steps);
    return base;
}

gs_node_group *gs_variant_groups(gs_scenario *copy, gs_arena *arena)
{
    gs_node_group *groups = TAKE(arena, gs_node_group, copy->cluster.group_count);
    memcpy(groups, copy->cluster.groups, copy->cluster.group_count * sizeof *groups);
    copy->cluster.groups = groups;
    return groups;
}

static gs_segment *own_segments(gs_profile_step *step, gs_arena *arena)
{
    gs_segment *segments = TAKE(arena, gs_segment, step->segment_count);
    memcpy(segments, step->segments, step->segment_count * sizeof *segments);
    step->segments = segments;
    return segments;
}

/* Puts a copy of the profile in place and calls `edit` for every step of it; true: one of them has
 * changed something. */
static bool edit_steps(gs_scenario *copy, gs_arena *arena,
                       bool (*edit)(gs_segment *segments, uint32_t count, gs_arena *arena))
{
    gs_profile *profile = TAKE(arena, gs_profile, 1);
    *profile = *copy->workload.profile;
    gs_profile_rank *ranks = TAKE(arena, gs_profile_rank, profile->rank_count);
    bool changed = false;
    for (uint32_t r = 0; r < profile->rank_count; r++) {
        ranks[r] = profile->ranks[r];
        gs_profile_step *steps = TAKE(arena, gs_profile_step, ranks[r].step_count);
        for (uint32_t s = 0; s < ranks[r].step_count; s++) {
            steps[s] = ranks[r].steps[s];
            gs_segment *segments = own_segments(&steps[s], arena);
            changed = edit(segments, steps[s].segment_count, arena) || changed;
        }
        ranks[r].steps = steps;
    }
    profile->ranks = ranks;
    copy->workload.profile = profile;
    return changed;
}

/* --- ranks ------------------------------------------------------------------------------------ */

static bool is_compute(const gs_segment *segment)
{
    return segment->kind == GS_SEGMENT_FORWARD || segment->kind == GS_SEGMENT_BACKWARD ||
           segment->kind == GS_SEGMENT_OPTIMIZER;
}

double gs_variant_compute_ns(const gs_scenario *scenario, uint32_t rank)
{
    const gs_profile *profile = scenario->workload.profile;
    const gs_profile_rank *recorded = &profile->ranks[rank % profile->rank_count];
    double sum = 0.0;
    for (uint32_t s = 0; s < recorded->step_count; s++) {
        for (uint32_t i = 0; i < recorded->steps[s].segment_count; i++) {
            const gs_segment *segment = &recorded->steps[s].segments[i];
            sum += is_compute(segment) ? (double)segment->duration_ns : 0.0;
        }
    }
    return sum / recorded->step_count * gs_scenario_group_of(scenario, rank)->compute_scale;
}

static bool remove_ranks(gs_scenario *copy, gs_arena *arena)
{
    uint32_t fastest = 0;
    bool differ = false;
    double least = gs_variant_compute_ns(copy, 0);
    for (uint32_t rank = 1; rank < copy->ranks; rank++) {
        double own = gs_variant_compute_ns(copy, rank);
        differ = differ || own < least || own > least;
        fastest = own < least ? rank : fastest;
        least = own < least ? own : least;
    }
    if (!differ) {
        return false;
    }
    double scale = gs_scenario_group_of(copy, fastest)->compute_scale;
    gs_profile *profile = TAKE(arena, gs_profile, 1);
    *profile = *copy->workload.profile;
    profile->ranks = &profile->ranks[fastest % profile->rank_count];
    profile->rank_count = 1;
    copy->workload.profile = profile;
    gs_node_group *groups = gs_variant_groups(copy, arena);
    for (uint32_t i = 0; i < copy->cluster.group_count; i++) {
        groups[i].compute_scale = scale;
    }
    return true;
}

static bool remove_straggler(gs_scenario *copy, gs_arena *arena)
{
    (void)arena;
    bool had = copy->noise.straggler.kind != GS_STRAGGLER_NONE;
    copy->noise.straggler.kind = GS_STRAGGLER_NONE;
    return had;
}

static bool remove_compute_noise(gs_scenario *copy, gs_arena *arena)
{
    (void)arena;
    bool had = copy->noise.compute.law != GS_LAW_NONE;
    copy->noise.compute.law = GS_LAW_NONE;
    return had;
}

/* --- input ------------------------------------------------------------------------------------ */

static bool zero_input(gs_segment *segments, uint32_t count, gs_arena *arena)
{
    (void)arena;
    bool had = false;
    for (uint32_t i = 0; i < count; i++) {
        if (segments[i].kind == GS_SEGMENT_INPUT) {
            had = had || segments[i].duration_ns > 0;
            segments[i].duration_ns = 0;
        }
    }
    return had;
}

static bool remove_input(gs_scenario *copy, gs_arena *arena)
{
    bool had = copy->workload.input.time_ns > 0;
    copy->workload.input.time_ns = 0;
    return edit_steps(copy, arena, zero_input) || had;
}

/* --- links ------------------------------------------------------------------------------------ */

static bool has_nodes(const gs_scenario *scenario)
{
    return gs_cluster_has_nodes(&scenario->cluster);
}

static bool uses_nic(const gs_scenario *scenario)
{
    return scenario->ranks > 1 && (!has_nodes(scenario) || scenario->nodes > 1);
}

static bool uses_intra(const gs_scenario *scenario)
{
    return has_nodes(scenario) && scenario->ranks > scenario->nodes;
}

/* Of a curve's times the least is taken for latency, what lies above it for bytes. */
static void edit_curve(gs_link *link, double latency_share, double bytes_share, gs_arena *arena)
{
    if (link->curve == NULL) {
        return;
    }
    gs_curve *curve = TAKE(arena, gs_curve, 1);
    *curve = *link->curve;
    gs_curve_point *points = TAKE(arena, gs_curve_point, curve->point_count);
    gs_time_ns least = curve->points[0].time_ns;
    for (uint32_t i = 1; i < curve->point_count; i++) {
        least = curve->points[i].time_ns < least ? curve->points[i].time_ns : least;
    }
    for (uint32_t i = 0; i < curve->point_count; i++) {
        double above = (double)(curve->points[i].time_ns - least);
        double time = latency_share * (double)least + bytes_share * above;
        points[i] = curve->points[i];
        points[i].time_ns = time < 1.0 ? 1 : (gs_time_ns)llround(time);
    }
    curve->points = points;
    link->curve = curve;
}

static void scale_link(gs_link *link, double factor, gs_arena *arena)
{
    double rate = (double)link->bandwidth_bps * factor;
    link->bandwidth_bps = rate >= (double)ENDLESS_BPS ? ENDLESS_BPS
                          : rate < 1.0                ? 1
                                                      : (int64_t)llround(rate);
    edit_curve(link, 1.0, 1.0 / factor, arena);
}

static void free_link(gs_link *link, gs_arena *arena)
{
    link->bandwidth_bps = ENDLESS_BPS;
    link->window_bytes = 0; /* which holds bytes up too, */
    link->loss = 0.0;       /* as do connections and copies */
    link->initial_window = 0;
    link->staging_bps = ENDLESS_BPS;
    edit_curve(link, 1.0, 0.0, arena);
}

/* Links whose rates the topology says go along with those of their class. */
static void scale_topology(gs_scenario *copy, bool inside, double factor, gs_arena *arena)
{
    gs_fabric *fabric = &copy->cluster.topology;
    bool fine = inside ? gs_fabric_scale_inside(fabric, copy->cluster.group_count, factor,
                                                ENDLESS_BPS, arena)
                       : gs_fabric_scale_between(fabric, factor, ENDLESS_BPS, arena);
    if (!fine) {
        gs_need(NULL);
    }
}

static bool remove_nic(gs_scenario *copy, gs_arena *arena)
{
    free_link(&copy->cluster.nic, arena);
    scale_topology(copy, false, (double)ENDLESS_BPS, arena);
    return uses_nic(copy);
}

static bool remove_intra(gs_scenario *copy, gs_arena *arena)
{
    free_link(&copy->cluster.intra, arena);
    scale_topology(copy, true, (double)ENDLESS_BPS, arena);
    return uses_intra(copy);
}

static bool remove_latency(gs_scenario *copy, gs_arena *arena)
{
    gs_link *links[] = {&copy->cluster.nic, &copy->cluster.intra};
    bool used[] = {uses_nic(copy), uses_intra(copy)};
    bool had = false;
    for (size_t i = 0; i < 2; i++) {
        had = had || (used[i] && (links[i]->latency_ns > 0 || links[i]->per_message_ns > 0 ||
                                  links[i]->curve != NULL));
        links[i]->latency_ns = links[i]->per_message_ns = 0;
        edit_curve(links[i], 0.0, 1.0, arena);
    }
    if (!gs_fabric_drop_latency(&copy->cluster.topology, arena)) {
        gs_need(NULL);
    }
    return had;
}

static bool remove_network_noise(gs_scenario *copy, gs_arena *arena)
{
    (void)arena;
    gs_cluster *cluster = &copy->cluster;
    bool had = copy->noise.latency.law != GS_LAW_NONE || cluster->nic.trace.point_count > 0 ||
               cluster->intra.trace.point_count > 0;
    copy->noise.latency.law = GS_LAW_NONE;
    cluster->nic.trace = (gs_rate_trace){0};
    cluster->intra.trace = (gs_rate_trace){0};
    return had && copy->ranks > 1;
}

gs_scenario *gs_variant_link(const gs_scenario *base, double factor, gs_arena *arena)
{
    gs_scenario *copy = gs_variant_copy(base, arena);
    bool inside = gs_scenario_outer_link(copy) == &copy->cluster.intra;
    scale_link(inside ? &copy->cluster.intra : &copy->cluster.nic, factor, arena);
    scale_topology(copy, inside, factor, arena);
    return copy;
}

/* --- overlap, blocking operations, overhead --------------------------------------------------- */

/* All gradients come as backward begins: nothing that is sent has to wait for its turn in the
 * backward pass, and no bucket is late. */
static bool gradients_first(gs_segment *segments, uint32_t count, gs_arena *arena)
{
    uint32_t place = 0;
    while (place < count && segments[place].kind != GS_SEGMENT_BACKWARD &&
           segments[place].kind != GS_SEGMENT_GRADIENT) {
        place++;
    }
    gs_segment *others = TAKE(arena, gs_segment, count);
    uint32_t other_count = 0;
    bool late = false;
    for (uint32_t i = place; i < count; i++) {
        if (segments[i].kind == GS_SEGMENT_GRADIENT) {
            late = late || other_count > 0;
            segments[place++] = segments[i];
        } else {
            others[other_count++] = segments[i];
        }
    }
    memcpy(&segments[place], others, other_count * sizeof *others);
    return late;
}

/* Does the strategy wait for the end of backward? Then one that does not takes its place. */
static bool let_overlap(gs_scenario *copy, gs_arena *arena)
{
    const gs_strategy_choice *choice = &copy->strategies[0];
    const gs_field_table *table = choice->strategy->config;
    size_t field = gs_config_find(table, "overlap");
    char value[16];
    if (field == table->field_count || table->fields[field].kind != GS_FIELD_BOOL ||
        strcmp(gs_config_value_text(&table->fields[field], choice->config, value, sizeof value),
               "true") == 0) {
        return false;
    }
    gs_strategy_choice *changed = TAKE(arena, gs_strategy_choice, 1);
    void *config = gs_need(gs_arena_take(arena, 1, table->struct_bytes));
    memcpy(config, choice->config, table->struct_bytes);
    gs_status status = gs_config_set_text(table, config, "overlap", "true", NULL);
    GS_ASSERT(status == GS_OK);
    *changed = *choice;
    changed->config = config;
    copy->strategies = changed;
    return true;
}

static bool remove_lateness(gs_scenario *copy, gs_arena *arena)
{
    bool had = let_overlap(copy, arena);
    return (edit_steps(copy, arena, gradients_first) || had) && copy->ranks > 1;
}

static bool remove_blocking(gs_scenario *copy, gs_arena *arena)
{
    gs_profile *profile = TAKE(arena, gs_profile, 1);
    *profile = *copy->workload.profile;
    gs_profile_blocking *blocking = TAKE(arena, gs_profile_blocking, profile->blocking_count);
    bool had = false;
    for (uint32_t i = 0; i < profile->blocking_count; i++) {
        blocking[i] = profile->blocking[i];
        had = had || blocking[i].wire_ns > 0;
        blocking[i].wire_ns = 0;
    }
    profile->blocking = blocking;
    copy->workload.profile = profile;
    return had;
}

static bool remove_overhead(gs_scenario *copy, gs_arena *arena)
{
    gs_node_group *groups = gs_variant_groups(copy, arena);
    for (uint32_t i = 0; i < copy->cluster.group_count; i++) {
        groups[i].vector_bandwidth_bps = ENDLESS_BPS;
    }
    copy->workload.offload_element_bytes = 0;
    return true;
}

/* --- the list --------------------------------------------------------------------------------- */

/* clang-format off */
static const gs_cause causes[] = {
    {"unequal_ranks",   "unequal ranks",      "every rank computed as fast as the fastest",      GS_LIMIT_RANK,     remove_ranks},
    {"slow_rank",       "slow rank",          "there were no straggler",                                    GS_LIMIT_RANK,     remove_straggler},
    {"compute_noise",   "compute noise",      "every step computed for the mean time",           GS_LIMIT_NOISE,    remove_compute_noise},
    {"input",           "input",              "batches were always there",                        GS_LIMIT_INPUT,    remove_input},
    {"nic_bandwidth",   "nic bandwidth",      "bytes on the nic took no time",                GS_LIMIT_NIC,      remove_nic},
    {"intra_bandwidth", "intra bandwidth",    "bytes inside a node took no time",                GS_LIMIT_INTRA,    remove_intra},
    {"latency",         "latency",            "messages took the time of their bytes only",      GS_LIMIT_LATENCY,  remove_latency},
    {"network_noise",   "network noise",      "latency and bandwidth never varied",                GS_LIMIT_NOISE,    remove_network_noise},
    {"late_gradients",  "incomplete overlap", "nothing sent had to wait for backward",    GS_LIMIT_OVERLAP,  remove_lateness},
    {"blocking_ops",    "blocking ops",       "the workload's own collectives took no time",     GS_LIMIT_BLOCKING, remove_blocking},
    {"overhead",        "overhead",           "vector operations took no time",                  GS_LIMIT_OVERHEAD, remove_overhead},
};
/* clang-format on */

uint32_t gs_cause_count(void)
{
    return sizeof causes / sizeof *causes;
}

const gs_cause *gs_cause_at(uint32_t index)
{
    GS_ASSERT(index < gs_cause_count());
    return &causes[index];
}

gs_scenario *gs_variant_without(const gs_scenario *base, unsigned removed, gs_arena *arena)
{
    gs_scenario *copy = gs_variant_copy(base, arena);
    for (uint32_t i = 0; i < gs_cause_count(); i++) {
        if ((removed >> i & 1U) != 0) {
            (void)causes[i].remove(copy, arena);
        }
    }
    return copy;
}

static bool zero_compute(gs_segment *segments, uint32_t count, gs_arena *arena)
{
    (void)arena;
    for (uint32_t i = 0; i < count; i++) {
        segments[i].duration_ns = 0;
    }
    return true;
}

gs_scenario *gs_variant_communication(const gs_scenario *base, gs_arena *arena)
{
    gs_scenario *copy = gs_variant_copy(base, arena);
    (void)remove_straggler(copy, arena);
    (void)remove_compute_noise(copy, arena);
    (void)remove_input(copy, arena);
    (void)remove_blocking(copy, arena);
    (void)remove_overhead(copy, arena);
    (void)edit_steps(copy, arena, zero_compute);
    return copy;
}
