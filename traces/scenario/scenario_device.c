/* Devices of the nodes: what the catalogue says of them, and layers timed by their rates. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>

#include "base/assert.h"

#define ASSUMED_FLOPS_PER_S 1e12

static void note_unknown(gs_scenario_reader *reader, uint32_t index, const char *name)
{
    const gs_device *near = gs_device_near(name);
    gs_scenario_note(reader,
                     "cluster.nodes[%u].device: \"%s\" is not in the catalogue: a label that "
                     "nothing is derived from, memory is not checked; %s%s%s",
                     index, name, near == NULL ? "see gradsync list devices" : "did you mean ",
                     near == NULL ? "" : near->name, near == NULL ? "" : "?");
}

void gs_scenario_read_devices(gs_scenario_reader *reader, gs_node_group *groups, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        gs_node_group *group = &groups[i];
        char path[GS_JSON_PATH_BYTES];
        gs_json_at at;
        group->known = group->device[0] == '\0' ? NULL : gs_device_find(group->device);
        if (group->known == NULL) {
            if (group->device[0] != '\0') {
                note_unknown(reader, i, group->device);
            }
            continue;
        }
        snprintf(path, sizeof path, "cluster.nodes[%u].vector_bandwidth", i);
        if (!gs_scenario_path_find(&reader->source.merged, path, &at)) {
            group->vector_bandwidth_bps = group->known->memory_bps;
        }
    }
}

double gs_scenario_flops_per_s(const gs_scenario *scenario, const gs_node_group *group)
{
    const gs_workload *workload = &scenario->workload;
    if (workload->flops_per_s > 0.0) {
        return workload->flops_per_s;
    }
    if (group->known == NULL) {
        return ASSUMED_FLOPS_PER_S;
    }
    double rate = gs_device_rate(group->known, workload->dtype);
    return rate > 0.0 ? rate : gs_device_rate(group->known, "fp32");
}

gs_time_ns gs_scenario_offload_ns(const gs_scenario *scenario, uint32_t rank, int64_t elements)
{
    int64_t bytes = scenario->workload.offload_element_bytes * elements;
    const gs_device *device = gs_scenario_group_of(scenario, rank)->known;
    GS_ASSERT(bytes == 0 || (device != NULL && device->host_link_bps > 0));
    /* Both directions at once: what comes is written back while the rest still comes. */
    return bytes == 0 ? 0 : gs_transfer_ns(bytes, device->host_link_bps);
}

/* What the rates are taken from, where it is not what a user would think. */
static void note_rates(gs_scenario_reader *reader)
{
    const gs_scenario *out = reader->out;
    for (uint32_t i = 0; i < out->cluster.group_count && out->workload.flops_per_s <= 0.0; i++) {
        const gs_node_group *group = &out->cluster.groups[i];
        if (group->known != NULL && gs_device_rate(group->known, out->workload.dtype) <= 0.0) {
            gs_scenario_note(reader,
                             "cluster.nodes[%u].device: the catalogue has no %s rate of %s: timed "
                             "at its fp32 rate; workload.flops_per_s says another",
                             i, out->workload.dtype, group->known->name);
        } else if (group->known == NULL && reader->profile_file_count > 0) {
            gs_scenario_note(reader,
                             "workload.profile: has no times, and cluster.nodes[%u].device names "
                             "no device of the catalogue: %.0e FLOP/s are assumed",
                             i, ASSUMED_FLOPS_PER_S);
        }
    }
}

/* Times that were measured on one device do not follow another. */
static void note_measured(gs_scenario_reader *reader)
{
    const gs_cluster *cluster = &reader->out->cluster;
    for (uint32_t i = 1; i < cluster->group_count; i++) {
        const gs_node_group *first = &cluster->groups[0];
        const gs_node_group *group = &cluster->groups[i];
        bool same_scale = group->compute_scale <= first->compute_scale &&
                          group->compute_scale >= first->compute_scale;
        if (group->known != first->known && same_scale) {
            gs_scenario_note(reader,
                             "cluster.nodes[%u].device: differs from that of nodes[0], the "
                             "profile's times are measured and the same on both; say "
                             "cluster.nodes[%u].compute_scale",
                             i, i);
            return;
        }
    }
}

static gs_status profile_at(gs_scenario_reader *reader, const gs_layer_table *table, double rate,
                            gs_profile *out, gs_error *err)
{
    gs_layer_table timed = *table;
    gs_error inner = {0};
    timed.recompute = reader->out->workload.checkpointing;
    if (rate > 0.0) {
        timed.flops_per_s = rate;
        timed.batch = reader->out->workload.batch_per_rank;
    }
    gs_status status = gs_layer_table_profile(&timed, reader->arena, out, &inner);
    const char *key = rate > 0.0 ? "workload.flops_per_s" : "workload.profile";
    return status == GS_OK ? GS_OK : gs_scenario_fail(reader, status, key, err, "%s", inner.text);
}

/* Devices differ: rank r plays recorded rank r, that of its device. */
static gs_status profile_by_rank(gs_scenario_reader *reader, const gs_layer_table *table,
                                 gs_profile *out, gs_error *err)
{
    const gs_scenario *scenario = reader->out;
    gs_profile_rank *ranks = GS_TAKE(reader->arena, gs_profile_rank, scenario->ranks);
    if (ranks == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    uint32_t rank = 0;
    for (uint32_t i = 0; i < scenario->cluster.group_count; i++) {
        const gs_node_group *group = &scenario->cluster.groups[i];
        gs_profile own;
        GS_TRY(profile_at(reader, table, gs_scenario_flops_per_s(scenario, group), &own, err));
        for (int64_t k = 0; k < group->count * group->ranks; k++, rank++) {
            ranks[rank] = own.ranks[0];
            ranks[rank].rank = (int32_t)rank;
        }
    }
    out->ranks = ranks;
    out->rank_count = rank;
    return GS_OK;
}

gs_status gs_scenario_time_layers(gs_scenario_reader *reader, const gs_layer_table *table,
                                  gs_profile *out, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    gs_workload *workload = &reader->out->workload;
    workload->layers = table;
    workload->timed_by_flops = !gs_layer_table_is_timed(table);
    if (workload->checkpointing && gs_layer_table_activations(table, false).kept == 0) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.memory.checkpointing", err,
                                "full needs a layer table that says where blocks end (boundary), "
                                "%s does not; set it to none",
                                table->name);
    }
    if (!workload->timed_by_flops) {
        note_measured(reader);
        return profile_at(reader, table, 0.0, out, err);
    }
    note_rates(reader);
    double first = gs_scenario_flops_per_s(reader->out, &cluster->groups[0]);
    bool differ = false;
    for (uint32_t i = 1; i < cluster->group_count; i++) {
        double rate = gs_scenario_flops_per_s(reader->out, &cluster->groups[i]);
        differ = differ || rate < first || rate > first;
    }
    GS_TRY(profile_at(reader, table, first, out, err));
    return differ ? profile_by_rank(reader, table, out, err) : GS_OK;
}
