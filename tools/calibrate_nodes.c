/* Kinds of node as they were measured. */
#include "tools/calibrate.h"

#include "base/assert.h"
#include "tools/message.h"
#include "traces/link_merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Memory of equal nodes under other people's load, or in and out of a cache, differs by less than
 * this factor. */
#define VECTOR_ALIKE 2.0

typedef struct node {
    uint32_t group;
    uint32_t first, ranks;
    double nic_scale;
    gs_estimate vector_bps; /* of the rank in the middle */
    gs_estimate slowdown;   /* likewise; value 0: not measured */
} node;

static int by_value(const void *left, const void *right)
{
    double a = ((const gs_estimate *)left)->value;
    double b = ((const gs_estimate *)right)->value;
    return (a > b) - (a < b);
}

/* The estimate of the rank in the middle, of ranks [first, end). */
static gs_estimate middle_of(const gs_estimate *of_ranks, uint32_t first, uint32_t end)
{
    size_t count = end - first;
    gs_estimate *sorted = gs_need(calloc(count, sizeof *sorted));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = of_ranks[first + i];
    }
    qsort(sorted, count, sizeof *sorted, by_value);
    gs_estimate middle = sorted[count / 2];
    free(sorted);
    return middle;
}

/* A pass beside a busy network over one alone; both intervals widen it, and it is 1 at least. */
static gs_estimate slowdown_of(const gs_measured_rank *rank)
{
    gs_estimate alone = rank->model.pass_ns;
    gs_estimate busy = rank->busy_ns;
    if (!(alone.value > 0.0) || !(busy.value > 0.0)) {
        return (gs_estimate){0.0, 0.0, 0.0};
    }
    return (gs_estimate){fmax(1.0, busy.value / alone.value), fmax(1.0, busy.low / alone.high),
                         fmax(1.0, busy.high / alone.low)};
}

static node *find_nodes(const gs_measured_cluster *measured, const gs_scenario *scenario)
{
    node *nodes = gs_need(calloc(scenario->nodes, sizeof *nodes));
    gs_estimate *vectors = gs_need(calloc(scenario->ranks, sizeof *vectors));
    gs_estimate *slowdowns = gs_need(calloc(scenario->ranks, sizeof *slowdowns));
    for (uint32_t rank = 0; rank < scenario->ranks; rank++) {
        /* One process stands for all where there are no others. */
        const gs_measured_rank *of = &measured->ranks[measured->process_count == 1 ? 0 : rank];
        vectors[rank] = of->vector_bps;
        slowdowns[rank] = slowdown_of(of);
        nodes[gs_scenario_node_of(scenario, rank)].ranks++;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < scenario->nodes; i++) {
        node *at = &nodes[i];
        at->first = first;
        at->group = (uint32_t)(gs_scenario_group_of(scenario, first) - scenario->cluster.groups);
        at->nic_scale = measured->nic.pairs == 0 ? 0.0 : measured->nic.scales[first];
        first += at->ranks;
        at->vector_bps = middle_of(vectors, at->first, first);
        at->slowdown = middle_of(slowdowns, at->first, first);
    }
    free(vectors);
    free(slowdowns);
    return nodes;
}

static bool are_alike(const node *a, const node *b)
{
    double ratio = a->vector_bps.value / b->vector_bps.value;
    return a->group == b->group && fabs(a->nic_scale - b->nic_scale) <= 0.0 &&
           ((ratio < VECTOR_ALIKE && ratio > 1.0 / VECTOR_ALIKE) ||
            gs_rates_are_alike(a->vector_bps, b->vector_bps));
}

static void set_text(gs_json *object, const char *key, const char *text)
{
    if (!gs_json_set(object, key, gs_json_new_text(text))) {
        gs_need(NULL);
    }
}

static void set_number(gs_json *object, const char *key, gs_json *number)
{
    if (!gs_json_set(object, key, number)) {
        gs_need(NULL);
    }
}

/* Of nodes [at, at + count) the one in the middle by what `of` says. */
static gs_estimate middle_node(const node *at, uint32_t count, gs_estimate (*of)(const node *))
{
    gs_estimate *all = gs_need(calloc(count, sizeof *all));
    for (uint32_t i = 0; i < count; i++) {
        all[i] = of(&at[i]);
    }
    gs_estimate middle = middle_of(all, 0, count);
    free(all);
    return middle;
}

static gs_estimate vector_of(const node *at)
{
    return at->vector_bps;
}

static gs_estimate slowdown_at(const node *at)
{
    return at->slowdown;
}

/* One kind: nodes [at, at + count), the part-th of their group. */
static void put_kind(const gs_measured_cluster *measured, const gs_scenario *scenario,
                     const node *at, uint32_t count, uint32_t index, uint32_t part, gs_json *object,
                     gs_calibrated *into)
{
    char key[GS_CALIBRATION_KEY_BYTES];
    char text[GS_NAME_BYTES];
    if (part > 0) {
        snprintf(text, sizeof text, "%.50s-%u", scenario->cluster.groups[at->group].name, part + 1);
        set_text(object, "name", text);
    }
    set_number(object, "count", gs_json_new_int(count));
    snprintf(key, sizeof key, "cluster.nodes[%u].vector_bandwidth", index);
    gs_calibrated_rate(into, key, middle_node(at, count, vector_of), GS_WORK_REPEATS);
    set_text(object, "vector_bandwidth", gs_calibrated_last(into));
    if (at->nic_scale > 0.0) {
        set_number(object, "nic_scale", gs_json_new_real(at->nic_scale));
        if (fabs(at->nic_scale - 1.0) > 0.0) {
            snprintf(key, sizeof key, "cluster.nodes[%u].nic_scale", index);
            gs_estimate scale = {at->nic_scale, at->nic_scale, at->nic_scale};
            gs_calibrated_real(into, key, scale, measured->nic.pairs);
        }
    }
    gs_estimate slowdown = middle_node(at, count, slowdown_at);
    if (slowdown.value > 0.0) {
        snprintf(key, sizeof key, "cluster.nodes[%u].overlap_slowdown", index);
        gs_calibrated_real(into, key, slowdown, measured->ranks[at->first].model.passes);
        set_number(object, "overlap_slowdown",
                   gs_json_new_real(strtod(gs_calibrated_last(into), NULL)));
    }
    if (measured->ranks[0].model.unit_count > 0) {
        set_number(object, "compute_scale", gs_json_new_real(1.0)); /* it is in the profile */
    }
}

void gs_calibrate_nodes(const gs_measured_cluster *measured, const gs_scenario *scenario,
                        gs_json *cluster, gs_calibrated *into)
{
    node *nodes = find_nodes(measured, scenario);
    gs_json *list = gs_json_new_list();
    gs_json_at at = {.value = cluster, .file = "", .path = ""};
    gs_json_at kinds;
    bool found = gs_json_find(&at, "nodes", &kinds);
    GS_ASSERT(found);
    uint32_t index = 0;
    uint32_t part = 0;
    for (uint32_t i = 0; i < scenario->nodes;) {
        uint32_t end = i + 1;
        while (end < scenario->nodes && are_alike(&nodes[i], &nodes[end])) {
            end++;
        }
        part = i > 0 && nodes[i - 1].group == nodes[i].group ? part + 1 : 0;
        gs_json *object = gs_need(gs_json_copy(gs_json_element(&kinds, nodes[i].group).value));
        put_kind(measured, scenario, &nodes[i], end - i, index++, part, object, into);
        if (!gs_json_add(list, object)) {
            gs_need(NULL);
        }
        i = end;
    }
    if (!gs_json_set(cluster, "nodes", list)) {
        gs_need(NULL);
    }
    free(nodes);
}
