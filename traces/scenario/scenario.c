#include "traces/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "traces/scenario/scenario_parts.h"

/* The parts in their order: a later one may look at what an earlier one said. */
static gs_status read_parts(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    out->name = reader->source.name;
    out->file = reader->source.merged.file;
    if (reader->source.sweep_count > 0) {
        gs_scenario_unsupported(reader,
                                "%s: has several values; `gradsync sweep` runs them all, others "
                                "take one",
                                reader->source.sweeps[0].path);
    }
    GS_TRY(gs_scenario_check_keys(reader, err));
    GS_TRY(gs_scenario_read_object(reader, "", &gs_scenario_root_table, &reader->root, err));
    out->seed = (uint64_t)reader->root.seed;
    GS_TRY(gs_scenario_read_cluster(reader, err));
    GS_TRY(gs_scenario_read_calibration(reader, err));
    GS_TRY(gs_scenario_read_workload(reader, err));
    GS_TRY(gs_scenario_read_noise(reader, err));
    GS_TRY(gs_scenario_read_later(reader, err));
    GS_TRY(gs_scenario_check_data(reader, err));
    GS_TRY(gs_scenario_read_profile(reader, err));
    GS_TRY(gs_scenario_read_curves(reader, err));
    GS_TRY(gs_scenario_read_collectives(reader, err));
    GS_TRY(gs_scenario_read_tuning(reader, err));
    GS_TRY(gs_scenario_read_strategies(reader, err));
    GS_TRY(gs_scenario_count_memory(reader, err));
    GS_TRY(gs_scenario_check_effects(reader, err));
    return gs_scenario_resolve(reader, err);
}

static gs_status keep_notes(gs_scenario_reader *reader, gs_error *err)
{
    const char **notes = GS_TAKE(reader->arena, const char *, reader->note_count);
    if (notes == NULL) {
        gs_scenario_free(reader->out);
        return gs_scenario_no_memory(reader, err);
    }
    memcpy(notes, reader->notes, reader->note_count * sizeof notes[0]);
    reader->out->notes = notes;
    reader->out->note_count = reader->note_count;
    return GS_OK;
}

static gs_status keep_dimension(gs_scenario_reader *reader, const gs_scenario_sweep *sweep,
                                gs_scenario_dimension *out, gs_error *err)
{
    gs_json_at object = {.value = sweep->object, .file = reader->out->file};
    gs_json_at list;
    gs_json_at value;
    bool is_there = gs_json_find(&object, "sweep", &list);
    GS_ASSERT(is_there);
    uint32_t count = (uint32_t)gs_json_count(list.value);
    const char **values = GS_TAKE(reader->arena, const char *, count);
    const char *path = gs_arena_text(reader->arena, sweep->path);
    if (values == NULL || path == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &value); i++) {
        char *text = gs_json_write(value.value, false);
        values[i] = text == NULL ? NULL : gs_arena_text(reader->arena, text);
        free(text);
        if (values[i] == NULL) {
            return gs_scenario_no_memory(reader, err);
        }
    }
    *out = (gs_scenario_dimension){.path = path, .values = values, .count = count};
    return GS_OK;
}

static gs_status keep_dimensions(gs_scenario_reader *reader, gs_error *err)
{
    uint32_t count = reader->source.sweep_count;
    gs_scenario_dimension *dimensions = GS_TAKE(reader->arena, gs_scenario_dimension, count);
    gs_status status = dimensions == NULL ? gs_scenario_no_memory(reader, err) : GS_OK;
    for (uint32_t i = 0; i < count && status == GS_OK; i++) {
        status = keep_dimension(reader, &reader->source.sweeps[i], &dimensions[i], err);
    }
    if (status != GS_OK) {
        gs_scenario_free(reader->out);
        return status;
    }
    reader->out->dimensions = dimensions;
    reader->out->dimension_count = count;
    return GS_OK;
}

gs_status gs_scenario_read(const char *file, const gs_scenario_options *options, gs_arena *arena,
                           gs_scenario *out, gs_error *err)
{
    GS_ASSERT(options->data_dir != NULL);
    gs_error own = {0};
    gs_error *said = err == NULL ? &own : err;
    gs_scenario scenario = {.data_dir = options->data_dir};
    gs_scenario_reader *reader = GS_TAKE(arena, gs_scenario_reader, 1);
    if (reader == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read the scenario", file);
    }
    reader->arena = arena;
    reader->out = &scenario;
    gs_status status = gs_scenario_source_read(file, options, arena, &reader->source, said);
    if (status == GS_OK) {
        status = read_parts(reader, said);
    }
    if (status == GS_OK) {
        status = keep_notes(reader, said);
        if (status == GS_OK) {
            status = keep_dimensions(reader, said);
        }
    } else {
        (void)gs_scenario_source_blame(&reader->source, said);
    }
    gs_scenario_source_free(&reader->source);
    if (status == GS_OK) {
        *out = scenario;
    }
    return status;
}

void gs_scenario_free(gs_scenario *scenario)
{
    gs_json_free(scenario->resolved);
    scenario->resolved = NULL;
}

gs_status gs_scenario_runnable(const gs_scenario *scenario, gs_error *err)
{
    if (scenario->misfit != NULL) {
        return gs_fail(err, GS_ELIMIT, "%s: %s", scenario->file, scenario->misfit);
    }
    return scenario->unsupported == NULL
               ? GS_OK
               : gs_fail(err, GS_EUNSUPPORTED, "%s: %s", scenario->file, scenario->unsupported);
}

/* Ranks of each node; 0: not the same on all, or not numbered one after the other. */
static uint32_t equal_nodes(const gs_scenario *scenario)
{
    const gs_cluster *cluster = &scenario->cluster;
    uint32_t node_ranks = (uint32_t)cluster->groups[0].ranks;
    for (uint32_t i = 1; i < cluster->group_count; i++) {
        if (cluster->groups[i].ranks != node_ranks) {
            return 0;
        }
    }
    for (uint32_t rank = 0; cluster->slot_of != NULL && rank < scenario->ranks; rank++) {
        uint32_t first = rank - rank % node_ranks;
        if (gs_scenario_node_of(scenario, rank) != gs_scenario_node_of(scenario, first)) {
            return 0;
        }
    }
    return node_ranks;
}

gs_status gs_scenario_job(const gs_scenario *scenario, gs_arena *arena, gs_job *out, gs_error *err)
{
    const gs_profile *profile = scenario->workload.profile;
    int64_t *elements = GS_TAKE(arena, int64_t, profile->unit_count);
    gs_unit_shape *shapes = GS_TAKE(arena, gs_unit_shape, profile->unit_count);
    if (elements == NULL || shapes == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for %u units of gradient", scenario->file,
                       profile->unit_count);
    }
    gs_job job = {
        .ranks = scenario->ranks,
        .servers = (uint32_t)scenario->cluster.servers,
        .element_bytes = scenario->workload.element_bytes,
        .unit_count = profile->unit_count,
        .unit_elements = elements,
        .unit_shapes = shapes,
        .batch = scenario->workload.batch_per_rank,
        .node_ranks = equal_nodes(scenario),
        .accumulation = scenario->workload.accumulation,
        .budget_steps = scenario->workload.budget_steps,
        .moments = (uint32_t)gs_optimizer_state_vectors(&scenario->workload.task.optimizer),
        .seed = scenario->seed,
        .ring_order = scenario->cluster.ring_order,
        .phases = scenario->workload.phases,
        .phase_count = scenario->workload.phase_count,
    };
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        elements[i] = profile->units[i].elements;
        shapes[i] = profile->units[i].shape;
        job.elements += elements[i];
    }
    *out = job;
    return GS_OK;
}

gs_place gs_scenario_place_of(const gs_scenario *scenario, uint32_t rank)
{
    GS_ASSERT(rank < scenario->ranks);
    const gs_cluster *cluster = &scenario->cluster;
    uint32_t slot = cluster->slot_of == NULL ? rank : cluster->slot_of[rank];
    gs_place at = {0};
    while (slot >= (uint32_t)(cluster->groups[at.group].count * cluster->groups[at.group].ranks)) {
        slot -= (uint32_t)(cluster->groups[at.group].count * cluster->groups[at.group].ranks);
        at.node += (uint32_t)cluster->groups[at.group].count;
        at.group++;
    }
    uint32_t node_ranks = (uint32_t)cluster->groups[at.group].ranks;
    at.node += slot / node_ranks;
    at.local = slot % node_ranks;
    return at;
}

uint32_t gs_scenario_node_of(const gs_scenario *scenario, uint32_t rank)
{
    return gs_scenario_place_of(scenario, rank).node;
}

const gs_node_group *gs_scenario_group_of(const gs_scenario *scenario, uint32_t rank)
{
    return &scenario->cluster.groups[gs_scenario_place_of(scenario, rank).group];
}

const gs_link *gs_scenario_outer_link(const gs_scenario *scenario)
{
    const gs_cluster *cluster = &scenario->cluster;
    bool one_node = gs_cluster_has_nodes(cluster) && scenario->nodes == 1;
    return one_node ? &cluster->intra : &cluster->nic;
}

const gs_bucket_plan *gs_scenario_ready_buckets(const gs_scenario *scenario, const gs_job *job,
                                                const gs_bucket_rule *rule, gs_arena *arena)
{
    const gs_profile_step *program = &scenario->workload.profile->ranks[0].steps[0];
    const gs_bucket_plan *plan = NULL;
    gs_arena scratch;
    gs_arena_init(&scratch);
    uint32_t *order = GS_TAKE(&scratch, uint32_t, job->unit_count);
    uint32_t ready = 0;
    for (uint32_t i = 0; order != NULL && i < program->segment_count; i++) {
        if (program->segments[i].kind == GS_SEGMENT_GRADIENT && ready < job->unit_count) {
            order[ready++] = program->segments[i].index;
        }
    }
    GS_ASSERT(order == NULL || ready == job->unit_count);
    if (order != NULL) {
        plan = gs_bucket_plan_make(job, rule, order, arena);
    }
    gs_arena_fini(&scratch);
    return plan;
}

int64_t gs_scenario_evaluation_steps(const gs_scenario *scenario)
{
    enum { EVALUATIONS = 20 };
    int64_t steps = (scenario->workload.budget_steps + EVALUATIONS - 1) / EVALUATIONS;
    steps = steps > 0 ? steps : 1;
    return scenario->evaluate_every > 0 ? scenario->evaluate_every : steps;
}

bool gs_scenario_is_random(const gs_scenario *scenario)
{
    const gs_noise *noise = &scenario->noise;
    bool has_messages = gs_scenario_outer_link(scenario)->curve == NULL;
    return scenario->workload.real_gradients || noise->compute.law != GS_LAW_NONE ||
           noise->straggler.kind == GS_STRAGGLER_MARKOV ||
           (noise->latency.law != GS_LAW_NONE && has_messages) ||
           (scenario->cluster.nic.process.kind != GS_RATE_TRACE && has_messages) ||
           (scenario->cluster.intra.process.kind != GS_RATE_TRACE && has_messages) ||
           (noise->input.law != GS_LAW_NONE && scenario->workload.input.time_ns > 0);
}
