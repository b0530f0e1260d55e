#include "traces/importers/trace_stat.h"

#include <stdlib.h>
#include <string.h>

static bool set_int(gs_json *object, const char *key, int64_t value)
{
    return gs_json_set(object, key, gs_json_new_int(value));
}

static bool set_text(gs_json *object, const char *key, const char *value)
{
    return gs_json_set(object, key, gs_json_new_text(value));
}

/* a + b of numbers that are not negative, at most INT64_MAX: a file may hold anything. */
static int64_t plus(int64_t a, int64_t b)
{
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Sorts values [count >= 1]; the middle one, or the mean of both, as everywhere. */
static int64_t median(int64_t *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    int64_t low = values[(count - 1) / 2];
    return low + (values[count / 2] - low) / 2;
}

typedef gs_time_ns part_of(const gs_profile_step *step);

static gs_time_ns whole_of(const gs_profile_step *step)
{
    return step->measured_ns;
}

static gs_time_ns compute_of(const gs_profile_step *step)
{
    return step->measured_compute_ns;
}

static gs_time_ns input_of(const gs_profile_step *step)
{
    return step->measured_input_ns;
}

static gs_time_ns wait_of(const gs_profile_step *step)
{
    return step->measured_wait_ns;
}

static gs_time_ns wire_of(const gs_profile_step *step)
{
    return step->measured_wire_ns;
}

static gs_time_ns hidden_of(const gs_profile_step *step)
{
    return step->measured_hidden_ns;
}

static int64_t median_part(const gs_profile_rank *rank, part_of *part, int64_t *scratch)
{
    for (uint32_t s = 0; s < rank->step_count; s++) {
        scratch[s] = part(&rank->steps[s]);
    }
    return median(scratch, rank->step_count);
}

/* One rank; scratch [step_count]. */
static bool add_rank(gs_json *list, const gs_profile_rank *rank, int64_t *scratch)
{
    static const struct {
        const char *key;
        part_of *part;
    } PARTS[] = {{"compute_ns", compute_of},
                 {"input_ns", input_of},
                 {"wait_ns", wait_of},
                 {"wire_ns", wire_of},
                 {"hidden_ns", hidden_of}};
    gs_json *object = gs_json_new_object();
    gs_json *whole = gs_json_new_object();
    bool fine = set_int(object, "rank", rank->rank);
    fine = set_int(object, "steps", rank->step_count) && fine;
    fine = set_int(whole, "p50", median_part(rank, whole_of, scratch)) && fine;
    fine = set_int(whole, "min", scratch[0]) && fine;
    fine = set_int(whole, "max", scratch[rank->step_count - 1]) && fine;
    fine = gs_json_set(object, "step_ns", whole) && fine;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        fine = set_int(object, PARTS[i].key, median_part(rank, PARTS[i].part, scratch)) && fine;
    }
    return gs_json_add(list, object) && fine;
}

static bool set_ranks(gs_json *into, const gs_profile *profile)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    for (uint32_t r = 0; r < profile->rank_count; r++) {
        int64_t *scratch = malloc(profile->ranks[r].step_count * sizeof *scratch);
        fine = scratch != NULL && add_rank(list, &profile->ranks[r], scratch) && fine;
        free(scratch);
    }
    return gs_json_set(into, "ranks", list) && fine;
}

/* Ops called `name` in one step: how many, and the sums of what is known of them. */
typedef struct blocking_sum {
    int64_t count;
    int64_t bytes;
    int64_t wire_ns;
} blocking_sum;

static blocking_sum sum_blocking(const gs_profile *profile, const gs_profile_step *step,
                                 const char *name)
{
    blocking_sum sum = {0, 0, 0};
    for (uint32_t i = 0; i < step->segment_count; i++) {
        if (step->segments[i].kind != GS_SEGMENT_BLOCKING) {
            continue;
        }
        const gs_profile_blocking *op = &profile->blocking[step->segments[i].index];
        if (strcmp(op->name, name) == 0) {
            sum.count++;
            sum.bytes = plus(sum.bytes, op->bytes > 0 ? op->bytes : 0);
            sum.wire_ns = plus(sum.wire_ns, op->wire_ns);
        }
    }
    return sum;
}

static bool add_blocking(gs_json *list, const gs_profile *profile, const char *name,
                         int64_t *scratch)
{
    const gs_profile_rank *rank = &profile->ranks[0];
    int64_t *bytes = scratch + rank->step_count;
    int64_t *wire_ns = bytes + rank->step_count;
    for (uint32_t s = 0; s < rank->step_count; s++) {
        blocking_sum sum = sum_blocking(profile, &rank->steps[s], name);
        scratch[s] = sum.count;
        bytes[s] = sum.bytes;
        wire_ns[s] = sum.wire_ns;
    }
    gs_json *object = gs_json_new_object();
    bool fine = set_text(object, "name", name);
    fine = set_int(object, "count", median(scratch, rank->step_count)) && fine;
    fine = set_int(object, "bytes", median(bytes, rank->step_count)) && fine;
    fine = set_int(object, "wire_ns", median(wire_ns, rank->step_count)) && fine;
    return gs_json_add(list, object) && fine;
}

static bool named_before(const gs_profile *profile, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(profile->blocking[i].name, profile->blocking[index].name) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_blocking(gs_json *into, const gs_profile *profile)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    int64_t *scratch = malloc(3 * (size_t)profile->ranks[0].step_count * sizeof *scratch);
    for (uint32_t i = 0; i < profile->blocking_count && scratch != NULL; i++) {
        if (!named_before(profile, i)) {
            fine = add_blocking(list, profile, profile->blocking[i].name, scratch) && fine;
        }
    }
    fine = scratch != NULL && fine;
    free(scratch);
    return gs_json_set(into, "blocking", list) && fine;
}

static bool set_units(gs_json *into, const gs_profile *profile)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    int64_t elements = 0;
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        const gs_profile_unit *unit = &profile->units[i];
        gs_json *object = gs_json_new_object();
        fine = set_text(object, "name", unit->name) && fine;
        fine = set_int(object, "elements", unit->elements) && fine;
        fine = set_int(object, "wire_ns", unit->wire_ns) && fine;
        fine = gs_json_add(list, object) && fine;
        elements = plus(elements, unit->elements);
    }
    fine = set_int(into, "elements", elements) && fine;
    return gs_json_set(into, "units", list) && fine;
}

static bool set_profile(gs_json *into, const gs_profile *profile)
{
    gs_json *object = gs_json_new_object();
    bool fine = set_text(object, "source", profile->source);
    fine = set_int(object, "world_size", profile->world_size) && fine;
    fine = set_int(object, "element_bytes", profile->element_bytes) && fine;
    fine = set_units(object, profile) && fine;
    fine = set_blocking(object, profile) && fine;
    fine = set_ranks(object, profile) && fine;
    return gs_json_set(into, "profile", object) && fine;
}

static bool set_curves(gs_json *into, const gs_imported *imported)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    for (uint32_t c = 0; c < imported->curve_count; c++) {
        const gs_curve *curve = &imported->curves[c];
        gs_json *object = gs_json_new_object();
        fine = set_text(object, "collective", curve->collective) && fine;
        fine = set_int(object, "ranks", curve->ranks) && fine;
        fine = set_int(object, "hosts", curve->hosts) && fine;
        fine = set_text(object, "device", curve->device) && fine;
        fine = set_text(object, "source", curve->source) && fine;
        fine = set_int(object, "points", curve->point_count) && fine;
        fine = set_int(object, "least_bytes", curve->points[0].bytes) && fine;
        fine = set_int(object, "most_bytes", curve->points[curve->point_count - 1].bytes) && fine;
        fine = set_int(object, "latency_ns", curve->points[0].time_ns) && fine;
        fine = set_int(object, "rate_bps", gs_curve_rate_bps(curve)) && fine;
        fine = gs_json_add(list, object) && fine;
    }
    return gs_json_set(into, "curves", list) && fine;
}

/* How many operations there are of each type, and the sum of their times. */
static bool set_ops(gs_json *into, const gs_op_trace *ops)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    for (uint32_t t = 0; t < ops->type_count; t++) {
        int64_t count = 0;
        int64_t total_ns = 0;
        for (uint32_t i = 0; i < ops->op_count; i++) {
            count += ops->type[i] == t ? 1 : 0;
            total_ns = ops->type[i] == t ? plus(total_ns, ops->duration_ns[i]) : total_ns;
        }
        gs_json *object = gs_json_new_object();
        fine = set_text(object, "type", ops->types[t]) && fine;
        fine = set_int(object, "count", count) && fine;
        fine = set_int(object, "total_ns", total_ns) && fine;
        fine = gs_json_add(list, object) && fine;
    }
    return gs_json_set(into, "ops", list) && fine;
}

static bool set_links(gs_json *into, const gs_node_graph *node)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const gs_node_edge *edge = &node->edges[i];
        gs_json *object = gs_json_new_object();
        fine = set_text(object, "from", node->parts[edge->a].name) && fine;
        fine = set_text(object, "to", node->parts[edge->b].name) && fine;
        fine = set_text(object, "kind", gs_node_edge_names[edge->kind]) && fine;
        fine = set_int(object, "count", edge->count) && fine;
        fine = set_int(object, "rate_bps", edge->rate_bps) && fine;
        fine = gs_json_add(list, object) && fine;
    }
    return gs_json_set(into, "links", list) && fine;
}

/* Each GPU with the nic that it would use, and how far that is. */
static bool set_gpus(gs_json *into, const gs_node_graph *node)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    for (uint32_t gpu = 0; gpu < node->gpu_count; gpu++) {
        gs_json *object = gs_json_new_object();
        fine = set_text(object, "gpu", node->parts[node->gpus[gpu]].name) && fine;
        if (node->nic_count > 0) {
            char distance[16];
            uint32_t nic = gs_node_graph_nearest_nic(node, gpu);
            const gs_node_path *path = &node->to_nic[(size_t)gpu * node->nic_count + nic];
            fine = set_text(object, "nic", node->parts[node->nics[nic]].name) && fine;
            fine = set_text(object, "distance",
                            gs_node_graph_distance(node, path, distance, sizeof distance)) &&
                   fine;
            fine = set_int(object, "nic_rate_bps", node->parts[node->nics[nic]].rate_bps) && fine;
        }
        fine = gs_json_add(list, object) && fine;
    }
    return gs_json_set(into, "gpus", list) && fine;
}

static bool set_node(gs_json *into, const gs_node_graph *node)
{
    gs_json *object = gs_json_new_object();
    bool fine = set_text(object, "source", node->source);
    fine = set_gpus(object, node) && fine;
    fine = set_links(object, node) && fine;
    return gs_json_set(into, "node", object) && fine;
}

gs_status gs_trace_stat(const gs_imported *imported, gs_json *into)
{
    bool fine = set_text(into, "format", imported->format);
    gs_json *notes = gs_json_new_list();
    for (uint32_t i = 0; i < imported->note_count; i++) {
        fine = gs_json_add(notes, gs_json_new_text(imported->notes[i])) && fine;
    }
    fine = gs_json_set(into, "notes", notes) && fine;
    if (imported->profile != NULL) {
        fine = set_profile(into, imported->profile) && fine;
    }
    if (imported->curve_count > 0) {
        fine = set_curves(into, imported) && fine;
    }
    if (imported->ops != NULL) {
        fine = set_ops(into, imported->ops) && fine;
    }
    if (imported->node != NULL) {
        fine = set_node(into, imported->node) && fine;
    }
    return fine ? GS_OK : GS_ENOMEM;
}
