/* workload: what is computed and learned, how long it goes on, and what times it. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "traces/importers/importer.h"

enum { PROFILE_FILES_MAX = 65536, DEFAULT_STEPS = 100, AHEAD_MAX = 1 << 20 };

#define STEPS_MAX    1e12
#define ELEMENTS_MAX 1e13
#define BYTES_MAX    0x1p62 /* of a run; they are counted in 63 bits */

static const char *const dtype_names[] = {
    [GS_FP32] = "fp32", [GS_FP16] = "fp16", [GS_BF16] = "bf16", [GS_FP64] = "fp64", NULL};
static const int dtype_bytes[] = {[GS_FP32] = 4, [GS_FP16] = 2, [GS_BF16] = 2, [GS_FP64] = 8};
static const char PROFILE_FOLDER[] = "traces/profiles";

/* clang-format off */
static const gs_field workload_fields[] = {
    {"batch_per_rank", GS_FIELD_INT, GS_FIELD_AT(gs_workload_config, batch_per_rank), "32", 1, 1e6, NULL,
     "samples a rank learns from in one pass; a recorded profile keeps its own times"},
    {"accumulation", GS_FIELD_INT, GS_FIELD_AT(gs_workload_config, accumulation), "1", 1, 65536, NULL,
     "passes per optimizer step"},
    {"fixed_share", GS_FIELD_RATIO, GS_FIELD_AT(gs_workload_config, fixed_share), "0", 0, 1, NULL,
     "share of a pass's time that stays where a strategy moves samples between ranks"},
    {"dtype", GS_FIELD_CHOICE, GS_FIELD_AT(gs_workload_config, dtype), "fp32", 0, 0, dtype_names,
     "gradients and what is sent; fp16, bf16: rounded to it where gradients are real"},
    {"real_gradients", GS_FIELD_BOOL, GS_FIELD_AT(gs_workload_config, real_gradients), "false", 0, 0, NULL,
     "train model on data as well; false: time only"},
    {"flops_per_s", GS_FIELD_REAL, GS_FIELD_AT(gs_workload_config, flops_per_s), "0", 0, 1e21, NULL,
     "rate of the device where layers have no times; 0: the catalogue's, else 1e12 (assumed)"},
};
static const gs_field input_fields[] = {
    {"time", GS_FIELD_DURATION, GS_FIELD_AT(gs_input_stage, time_ns), "0s", 0, 3.6e12, NULL,
     "what one batch costs one loader worker; 0s: no input stage"},
    {"workers", GS_FIELD_INT, GS_FIELD_AT(gs_input_stage, workers), "1", 1, 4096, NULL,
     "loader workers per rank"},
    {"prefetch", GS_FIELD_INT, GS_FIELD_AT(gs_input_stage, prefetch), "2", 1, 4096, NULL,
     "batches ready or in work per loader worker"},
};
static const gs_field target_fields[] = {
    {"metric", GS_FIELD_CHOICE, GS_FIELD_AT(gs_target_config, metric), "accuracy", 0, 0, gs_quality_names,
     "what the target is about: accuracy to rise to it, loss or bits_per_char to fall to it"},
    {"value", GS_FIELD_RATIO, GS_FIELD_AT(gs_target_config, value), "0", 0, 1e9, NULL,
     "to reach on the test set; 0: none"},
};
static const gs_field budget_fields[] = {
    {"samples", GS_FIELD_INT, GS_FIELD_AT(gs_budget_config, samples), "0", 0, 1e15, NULL,
     "samples of all ranks, rounded up to whole steps; 0: steps counts"},
    {"steps", GS_FIELD_INT, GS_FIELD_AT(gs_budget_config, steps), "0", 0, STEPS_MAX, NULL,
     "optimizer steps; 0 and no samples: 100"},
};
/* clang-format on */

const gs_field_table gs_scenario_workload_table =
    GS_SCENARIO_TABLE("workload", gs_workload_config, workload_fields);
const gs_field_table gs_scenario_input_table =
    GS_SCENARIO_TABLE("workload.input", gs_input_stage, input_fields);
const gs_field_table gs_scenario_target_table =
    GS_SCENARIO_TABLE("workload.target", gs_target_config, target_fields);
const gs_field_table gs_scenario_budget_table =
    GS_SCENARIO_TABLE("workload.budget", gs_budget_config, budget_fields);

static gs_status read_budget(gs_scenario_reader *reader, gs_error *err)
{
    gs_workload *out = &reader->out->workload;
    gs_budget_config *budget = &reader->budget;
    GS_TRY(
        gs_scenario_read_object(reader, "workload.budget", &gs_scenario_budget_table, budget, err));
    if (budget->samples > 0 && budget->steps > 0) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.budget", err,
                                "says both samples (%lld) and steps (%lld); set one to 0",
                                (long long)budget->samples, (long long)budget->steps);
    }
    int64_t samples_per_step = out->batch_per_rank * out->accumulation * reader->out->ranks;
    out->budget_steps = budget->steps > 0 ? budget->steps : DEFAULT_STEPS;
    if (budget->samples > 0) {
        out->budget_steps = (budget->samples + samples_per_step - 1) / samples_per_step;
    }
    out->task.optimizer.schedule.budget_samples = out->budget_steps * samples_per_step;
    return GS_OK;
}

static gs_status read_task(gs_scenario_reader *reader, gs_error *err)
{
    gs_task_config *task = &reader->out->workload.task;
    gs_json_at at;
    *task = gs_task_config_default();
    if (gs_scenario_path_find(&reader->source.merged, "workload.model", &at)) {
        GS_TRY(gs_task_config_read_model(task, &at, err));
    }
    if (gs_scenario_path_find(&reader->source.merged, "workload.data", &at)) {
        GS_TRY(gs_task_config_read_data(task, &at, err));
    }
    if (gs_scenario_path_find(&reader->source.merged, "workload.optimizer", &at)) {
        GS_TRY(gs_task_config_read_optimizer(task, &at, err));
    }
    return GS_OK;
}

gs_status gs_scenario_read_workload(gs_scenario_reader *reader, gs_error *err)
{
    gs_workload *out = &reader->out->workload;
    const gs_workload_config *config = &reader->workload;
    GS_TRY(gs_scenario_read_object(reader, "workload", &gs_scenario_workload_table,
                                   &reader->workload, err));
    out->batch_per_rank = config->batch_per_rank;
    out->accumulation = config->accumulation;
    out->fixed_share = config->fixed_share;
    out->element_bytes = dtype_bytes[config->dtype];
    out->dtype = dtype_names[config->dtype];
    out->flops_per_s = config->flops_per_s;
    out->real_gradients = config->real_gradients;
    out->number = (gs_number)config->dtype;
    GS_TRY(read_task(reader, err));
    GS_TRY(gs_scenario_read_object(reader, "workload.input", &gs_scenario_input_table, &out->input,
                                   err));
    if (out->input.workers * out->input.prefetch > AHEAD_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.input", err,
                                "%lld workers with %lld batches each are over %d batches; lower "
                                "workers or prefetch",
                                (long long)out->input.workers, (long long)out->input.prefetch,
                                AHEAD_MAX);
    }
    GS_TRY(gs_scenario_read_memory(reader, err));
    GS_TRY(gs_scenario_read_object(reader, "workload.target", &gs_scenario_target_table,
                                   &reader->target, err));
    out->quality = (gs_quality)reader->target.metric;
    out->target_value = reader->target.value;
    if (out->target_value > 1.0 && out->quality == GS_ACCURACY) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.target.value", err,
                                "%g is out of range; an accuracy is 0..1", out->target_value);
    }
    if (out->target_value > 0.0 && !out->real_gradients) {
        gs_scenario_note(reader,
                         "workload.target: there is no %s to reach while real_gradients is "
                         "false",
                         gs_quality_words(out->quality));
    }
    GS_TRY(gs_scenario_read_phases(reader, err));
    return read_budget(reader, err);
}

/* --- profile -------------------------------------------------------------------------------- */

static gs_status add_profile_file(gs_scenario_reader *reader, const gs_json_at *at, gs_error *err)
{
    const char *text = NULL;
    GS_TRY(gs_json_text(at, &text, err));
    const char *path = gs_arena_text(reader->arena, text);
    const char *name = path;
    if (path == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    if (path[0] == '\0') {
        return gs_json_fail(at, GS_EINVAL, err,
                            "is empty; give a file or a bundled profile such as resnet50");
    }
    if (gs_scenario_is_bundled_name(path)) {
        gs_error inner = {0};
        gs_status status = gs_scenario_bundled(reader->source.options, "profile", PROFILE_FOLDER,
                                               name, reader->arena, &path, &inner);
        if (status != GS_OK) {
            return gs_json_fail(at, status, err, "%s", inner.text);
        }
    }
    reader->profile_files[reader->profile_file_count] = name;
    reader->profile_paths[reader->profile_file_count] = path;
    reader->profile_file_count++;
    return GS_OK;
}

/* One name or a list of them; "" and an absent key are none. */
static gs_status read_profile_files(gs_scenario_reader *reader, gs_error *err)
{
    gs_json_at at;
    const char *text = NULL;
    if (!gs_scenario_path_find(&reader->source.merged, "workload.profile", &at)) {
        return GS_OK;
    }
    bool is_text = gs_json_text(&at, &text, NULL) == GS_OK;
    if (is_text && text[0] == '\0') {
        return GS_OK;
    }
    size_t count = is_text ? 1 : gs_json_count(at.value);
    if ((!is_text && gs_json_kind_of(at.value) != GS_JSON_LIST) || count == 0 ||
        count > PROFILE_FILES_MAX) {
        char found[64];
        return gs_json_fail(&at, GS_EINVAL, err,
                            "%s is not a file name or a list of 1 to %d file names",
                            gs_json_describe(at.value, found, sizeof found), PROFILE_FILES_MAX);
    }
    reader->profile_files = GS_TAKE(reader->arena, const char *, count);
    reader->profile_paths = GS_TAKE(reader->arena, const char *, count);
    if (reader->profile_files == NULL || reader->profile_paths == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    if (is_text) {
        return add_profile_file(reader, &at, err);
    }
    gs_json_at item;
    for (size_t i = 0; gs_json_walk(&at, i, &item); i++) {
        GS_TRY(add_profile_file(reader, &item, err));
    }
    return GS_OK;
}

/* A profile of the model that learns: its layers, timed by the rate of the device. */
static gs_status profile_of_model(gs_scenario_reader *reader, gs_profile *out, gs_error *err)
{
    const gs_workload *workload = &reader->out->workload;
    gs_error inner = {0};
    gs_network *network = GS_TAKE(reader->arena, gs_network, 1);
    if (network == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    GS_TRY(gs_scenario_load_data(reader, err));
    gs_status status = workload->task.model->build(workload->task.model_config,
                                                   &workload->dataset->shape, network, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, "workload.model", err, "%s", inner.text);
    }
    gs_layer_row *rows = GS_TAKE(reader->arena, gs_layer_row, network->layer_count);
    gs_layer_table *table = GS_TAKE(reader->arena, gs_layer_table, 1);
    if (rows == NULL || table == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < network->layer_count; i++) {
        const gs_layer *layer = &network->layers[i];
        rows[i] = (gs_layer_row){.name = layer->name,
                                 .elements = layer->parameter_count,
                                 .shape = gs_layer_shape(layer),
                                 .forward_flops = (double)layer->forward_flops,
                                 .layer = i,
                                 .activations = layer->output_count + layer->kept_count};
    }
    *table = (gs_layer_table){
        .name = workload->task.model->name,
        .source = "",
        .rows = rows,
        .row_count = network->layer_count,
        .element_bytes = 4,
    };
    return gs_scenario_time_layers(reader, table, out, err);
}

static gs_status import_profile(gs_scenario_reader *reader, gs_profile *out, gs_error *err)
{
    gs_error inner = {0};
    gs_imported imported = {0};
    gs_status status = gs_import(reader->profile_paths, reader->profile_file_count, NULL,
                                 reader->arena, &imported, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, "workload.profile", err, "%s", inner.text);
    }
    if (imported.profile == NULL || imported.profile->unit_count == 0) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.profile", err,
                                "\"%s\" (%s) holds no steps with gradients; give profiler traces "
                                "of a job that all-reduces, or a layer table",
                                reader->profile_files[0], imported.format);
    }
    if (imported.layers != NULL) {
        return gs_scenario_time_layers(reader, imported.layers, out, err);
    }
    *out = *imported.profile;
    return GS_OK;
}

static void note_profile(gs_scenario_reader *reader, const gs_profile *profile)
{
    const gs_scenario *out = reader->out;
    if (profile->world_size > 0 && (uint32_t)profile->world_size != out->ranks) {
        char plays[64] = "every rank plays the one recorded";
        if (profile->rank_count > 1) {
            snprintf(plays, sizeof plays, "rank r plays recorded rank r modulo %u",
                     profile->rank_count);
        }
        gs_scenario_note(reader, "workload.profile: recorded on %d ranks, here are %u; %s",
                         profile->world_size, out->ranks, plays);
    }
    if (!out->workload.timed_by_flops && profile->element_bytes > 0 &&
        profile->element_bytes != out->workload.element_bytes) {
        gs_scenario_note(reader,
                         "workload.profile: recorded with gradients of %d bytes an element, sent "
                         "are %d (dtype %s)",
                         profile->element_bytes, out->workload.element_bytes,
                         dtype_names[reader->workload.dtype]);
    }
    for (uint32_t i = 0; i < profile->note_count; i++) {
        gs_scenario_note(reader, "workload.profile: %s", profile->notes[i]);
    }
}

/* Sizes whose sums over ranks and steps can be counted. */
static gs_status check_size(gs_scenario_reader *reader, const gs_profile *profile, gs_error *err)
{
    const gs_scenario *out = reader->out;
    double elements = 0.0;
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        elements += (double)profile->units[i].elements;
    }
    if (elements > ELEMENTS_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.profile", err,
                                "holds %.3g elements of gradient; at most %.0e may be", elements,
                                ELEMENTS_MAX);
    }
    /* An all-reduce sends twice the gradient for each rank. */
    double step_bytes = 2.0 * elements * out->workload.element_bytes * out->ranks;
    if (step_bytes * (double)out->workload.budget_steps > BYTES_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.budget", err,
                                "%lld steps of %.3g bytes on the wire are more than can be "
                                "counted, %.3g bytes; lower the steps",
                                (long long)out->workload.budget_steps, step_bytes, BYTES_MAX);
    }
    return GS_OK;
}

/* What a recorded run had in its durations is not applied to them again. */
static gs_status leave_out_recorded(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    gs_node_group *groups = GS_TAKE(reader->arena, gs_node_group, out->cluster.group_count);
    if (groups == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    bool scaled = false;
    for (uint32_t i = 0; i < out->cluster.group_count; i++) {
        groups[i] = out->cluster.groups[i];
        scaled = scaled || groups[i].compute_scale < 1.0 || groups[i].compute_scale > 1.0;
        groups[i].compute_scale = 1.0;
    }
    bool noisy = out->noise.compute.law != GS_LAW_NONE ||
                 out->noise.straggler.kind != GS_STRAGGLER_NONE || out->workload.input.time_ns > 0;
    if (noisy || scaled) {
        gs_scenario_note(reader,
                         "workload.profile: the recorded durations have noise.compute, "
                         "noise.straggler, workload.input and compute_scale of their run in them: "
                         "the scenario's are left out");
    }
    out->cluster.groups = groups;
    out->noise.compute.law = out->noise.input.law = GS_LAW_NONE;
    out->noise.straggler.kind = GS_STRAGGLER_NONE;
    out->workload.input.time_ns = 0;
    return GS_OK;
}

gs_status gs_scenario_read_profile(gs_scenario_reader *reader, gs_error *err)
{
    gs_json_at at;
    GS_TRY(read_profile_files(reader, err));
    gs_profile *profile = GS_TAKE(reader->arena, gs_profile, 1);
    if (profile == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    if (reader->profile_file_count > 0) {
        GS_TRY(import_profile(reader, profile, err));
    } else if (gs_scenario_path_find(&reader->source.merged, "workload.model", &at)) {
        GS_TRY(profile_of_model(reader, profile, err));
    } else {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.profile", err,
                                "is missing; name a bundled profile (resnet50), give profiler "
                                "traces, or say workload.model to time that model by its FLOPs");
    }
    GS_TRY(check_size(reader, profile, err));
    note_profile(reader, profile);
    reader->out->workload.profile = profile;
    return profile->is_of_run ? leave_out_recorded(reader, err) : GS_OK;
}

/* --- writing -------------------------------------------------------------------------------- */

bool gs_scenario_write_workload(const gs_scenario_reader *reader, gs_json *root)
{
    const gs_workload *workload = &reader->out->workload;
    gs_json *part = gs_json_new_object();
    bool ok =
        reader->profile_file_count > 1
            ? gs_scenario_put_texts(part, "profile", reader->profile_files,
                                    reader->profile_file_count)
            : gs_json_set(part, "profile",
                          gs_json_new_text(
                              reader->profile_file_count == 0 ? "" : reader->profile_files[0]));
    ok = gs_task_config_write(&workload->task, part) && ok;
    ok = gs_config_write(&gs_scenario_workload_table, &reader->workload, part) && ok;
    ok = gs_scenario_put_object(part, "input", &gs_scenario_input_table, &workload->input) && ok;
    ok = gs_scenario_put_object(part, "memory", &gs_scenario_memory_table, &reader->memory) && ok;
    ok = gs_scenario_put_object(part, "target", &gs_scenario_target_table, &reader->target) && ok;
    ok = gs_scenario_put_object(part, "budget", &gs_scenario_budget_table, &reader->budget) && ok;
    ok = gs_scenario_write_phases(reader, part) && ok;
    return gs_json_set(root, "workload", part) && ok;
}
