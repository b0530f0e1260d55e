/* Every section of a scenario with its keys: what finds a wrong key, and the key that was meant. */
#include "traces/scenario/scenario_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"

enum { NAMES_MAX = 256, SECTIONS = 35, NEAR_BYTES = GS_JSON_PATH_BYTES + 96 };

typedef gs_scenario_section section;

static const char *const schemas[] = {"gradsync.scenario/1", NULL};

/* clang-format off */
static const gs_field root_fields[] = {
    {"schema", GS_FIELD_CHOICE, GS_FIELD_AT(gs_root_config, schema), "gradsync.scenario/1", 0, 0, schemas,
     "form of this file"},
    {"seed", GS_FIELD_INT, GS_FIELD_AT(gs_root_config, seed), "1", 0, 9007199254740992.0, NULL,
     "seed of the first run"},
};
/* clang-format on */

const gs_field_table gs_scenario_root_table =
    GS_SCENARIO_TABLE("scenario", gs_root_config, root_fields);

static const char *const root_keys[] = {"extends", "cluster",     "workload", "noise",
                                        "faults",  "strategies",  "live",     "evaluate",
                                        "gates",   "calibration", NULL};
static const char *const cluster_keys[] = {"regions",     "wan",     "topology", "nodes",  "links",
                                           "placement",   "servers", "codecs",   "tuning", "nccl",
                                           "collectives", "tenants", NULL};
static const char *const placement_keys[] = {"slots", "ring_order", NULL};
static const char *const tuning_keys[] = {"measured", NULL};
static const char *const link_keys[] = {"nic", "intra", NULL};
static const char *const workload_keys[] = {"profile", "model",  "data",   "optimizer", "input",
                                            "memory",  "target", "budget", "phases",    NULL};
static const char *const noise_keys[] = {"compute", "straggler", "latency",
                                         "input",   "bandwidth", NULL};
static const char *const law_keys[] = {"samples", NULL};
static const char *const evaluate_keys[] = {"metrics", NULL};
static const char *const calibration_keys[] = {"hosts", "values", "notes", NULL};

/* In the order in which errors are looked for. */
static const section sections[SECTIONS] = {
    {"", &gs_scenario_root_table, root_keys},
    {"cluster", NULL, cluster_keys},
    {"cluster.topology", &gs_scenario_topology_table, NULL},
    {"cluster.nodes[]", &gs_scenario_node_table, NULL},
    {"cluster.links", NULL, link_keys},
    {"cluster.links.nic", &gs_scenario_nic_table, NULL},
    {"cluster.links.intra", &gs_scenario_intra_table, NULL},
    {"cluster.placement", &gs_scenario_placement_table, placement_keys},
    {"cluster.servers", &gs_scenario_servers_table, NULL},
    {"cluster.collectives[]", &gs_scenario_collectives_table, NULL},
    {"cluster.tuning", &gs_scenario_tuning_table, tuning_keys},
    {"cluster.tuning.measured[]", &gs_scenario_measured_table, NULL},
    {"cluster.nccl", &gs_scenario_nccl_table, NULL},
    {"cluster.codecs[]", &gs_scenario_codec_cost_table, NULL},
    {"cluster.regions[]", &gs_scenario_region_table, NULL},
    {"cluster.wan[]", &gs_scenario_wan_table, NULL},
    {"cluster.tenants[]", &gs_scenario_tenant_table, NULL},
    {"workload", &gs_scenario_workload_table, workload_keys},
    {"workload.input", &gs_scenario_input_table, NULL},
    {"workload.memory", &gs_scenario_memory_table, NULL},
    {"workload.target", &gs_scenario_target_table, NULL},
    {"workload.budget", &gs_scenario_budget_table, NULL},
    {"workload.phases[]", &gs_scenario_phase_table, NULL},
    {"noise", NULL, noise_keys},
    {"noise.compute", &gs_scenario_law_table, law_keys},
    {"noise.straggler", &gs_scenario_straggler_table, NULL},
    {"noise.latency", &gs_scenario_law_table, law_keys},
    {"noise.input", &gs_scenario_law_table, law_keys},
    {"noise.bandwidth", &gs_scenario_bandwidth_table, NULL},
    {"faults[]", &gs_scenario_fault_table, NULL},
    {"live", &gs_scenario_live_table, NULL},
    {"evaluate", &gs_scenario_evaluate_table, evaluate_keys},
    {"gates[]", &gs_scenario_gate_table, NULL},
    {"calibration", &gs_scenario_calibration_table, calibration_keys},
    {"calibration.values[]", &gs_scenario_calibrated_table, NULL},
};

size_t gs_scenario_section_count(void)
{
    return SECTIONS;
}

gs_scenario_section gs_scenario_section_at(size_t index)
{
    GS_ASSERT(index < SECTIONS);
    return sections[index];
}

/* Names of a section's keys into names; returns how many. */
static size_t keys_of(const section *part, const char *names[NAMES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; part->table != NULL && i < part->table->field_count; i++) {
        names[count++] = part->table->fields[i].name;
    }
    for (size_t i = 0; part->others != NULL && part->others[i] != NULL; i++) {
        names[count++] = part->others[i];
    }
    GS_ASSERT(count < NAMES_MAX);
    return count;
}

static bool has_key(const section *part, const char *key)
{
    const char *names[NAMES_MAX];
    size_t count = keys_of(part, names);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* "cluster.nodes.0" and "cluster.nodes[0]" as "cluster.nodes[]". */
static void section_path(const char *path, size_t length, char out[GS_JSON_PATH_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 3 < GS_JSON_PATH_BYTES; i++) {
        bool opens = path[i] == '[' || path[i] == '.';
        size_t digits = opens ? strspn(path + i + 1, "0123456789") : 0;
        if (digits > 0) {
            memcpy(out + used, "[]", 2);
            used += 2;
            i += digits + (path[i] == '[' && path[i + 1 + digits] == ']' ? 1 : 0);
        } else {
            out[used++] = path[i];
        }
    }
    out[used] = '\0';
}

const gs_field *gs_scenario_field(const char *path)
{
    const char *dot = strrchr(path, '.');
    const char *key = dot == NULL ? path : dot + 1;
    char wanted[GS_JSON_PATH_BYTES];
    section_path(path, dot == NULL ? 0 : (size_t)(dot - path), wanted);
    for (size_t i = 0; i < SECTIONS; i++) {
        if (sections[i].table != NULL && strcmp(sections[i].path, wanted) == 0) {
            size_t index = gs_config_find(sections[i].table, key);
            return index < sections[i].table->field_count ? &sections[i].table->fields[index]
                                                          : NULL;
        }
    }
    return NULL;
}

/* How many letters a and b share from the start. */
static size_t shared(const char *a, const char *b)
{
    size_t count = 0;
    while (a[count] != '\0' && a[count] == b[count]) {
        count++;
    }
    return count;
}

/* The path of the key of that name whose section is nearest to `path`, as overrides write it. */
static void path_of_key(const char *name, const char *path, char out[NEAR_BYTES])
{
    const section *best = NULL;
    for (size_t i = 0; i < SECTIONS; i++) {
        if (has_key(&sections[i], name) &&
            (best == NULL || shared(sections[i].path, path) > shared(best->path, path))) {
            best = &sections[i];
        }
    }
    GS_ASSERT(best != NULL);
    size_t length = strlen(best->path);
    bool is_list = length > 2 && best->path[length - 1] == ']';
    snprintf(out, NEAR_BYTES, "%.*s%s%s%s", (int)(is_list ? length - 2 : length), best->path,
             is_list ? ".0" : "", length == 0 ? "" : ".", name);
}

/* Writes the key that may have been meant into out; false: none is near. */
static bool suggest(const section *part, const char *path, const char *key, char out[NEAR_BYTES])
{
    const char *names[NAMES_MAX];
    const char *near = gs_nearest_name(key, names, keys_of(part, names));
    if (near != NULL) {
        snprintf(out, NEAR_BYTES, "%s%s%s", path, path[0] == '\0' ? "" : ".", near);
        return true;
    }
    size_t count = 0;
    for (size_t i = 0; i < SECTIONS; i++) {
        const char *own[NAMES_MAX];
        size_t own_count = keys_of(&sections[i], own);
        for (size_t k = 0; k < own_count && count < NAMES_MAX; k++) {
            names[count++] = own[k];
        }
    }
    near = gs_nearest_name(key, names, count);
    if (near != NULL) {
        path_of_key(near, path, out);
    }
    return near != NULL;
}

static gs_status fail_key(const gs_scenario_reader *reader, const section *part,
                          const gs_json_at *object, const gs_json_at *member, const char *key,
                          gs_error *err)
{
    char near[NEAR_BYTES];
    char list[256] = "";
    const char *names[NAMES_MAX];
    const char *file = reader->source.merged.file;
    const char *where = "";
    if (gs_scenario_source_is_override(&reader->source, member->path)) {
        where = " on the command line";
    } else {
        gs_json_at found;
        for (uint32_t i = reader->source.layer_count; i > 0; i--) {
            if (gs_scenario_path_find(&reader->source.layers[i - 1].document, member->path,
                                      &found)) {
                file = reader->source.layers[i - 1].file;
            }
        }
    }
    if (suggest(part, object->path, key, near)) {
        return gs_fail(err, GS_EINVAL, "%s: unknown key \"%s\"%s; did you mean \"%s\"?", file,
                       member->path, where, near);
    }
    size_t count = keys_of(part, names);
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof list; i++) {
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    return gs_fail(err, GS_EINVAL, "%s: unknown key \"%s\"%s; known there are %s", file,
                   member->path, where, list);
}

static gs_status check_object(const gs_scenario_reader *reader, const section *part,
                              const gs_json_at *object, gs_error *err)
{
    gs_json_at member;
    if (gs_json_kind_of(object->value) != GS_JSON_OBJECT) {
        char found[64];
        return gs_json_fail(object, GS_EINVAL, err, "%s is not an object ({...})",
                            gs_json_describe(object->value, found, sizeof found));
    }
    size_t count = gs_json_count(object->value);
    for (size_t i = 0; i < count; i++) {
        const char *key = NULL;
        member = gs_json_member(object, i, &key);
        if (strcmp(key, "$comment") != 0 && !has_key(part, key)) {
            return fail_key(reader, part, object, &member, key, err);
        }
    }
    return GS_OK;
}

/* The elements of "a.b[]", or nothing where a.b is absent or no list (its reader says so). */
static gs_status check_elements(const gs_scenario_reader *reader, const section *part,
                                gs_error *err)
{
    char path[GS_JSON_PATH_BYTES];
    gs_json_at list;
    gs_json_at at;
    snprintf(path, sizeof path, "%.*s", (int)strlen(part->path) - 2, part->path);
    if (!gs_scenario_path_find(&reader->source.merged, path, &list) ||
        gs_json_kind_of(list.value) != GS_JSON_LIST) {
        return GS_OK;
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        GS_TRY(check_object(reader, part, &at, err));
    }
    return GS_OK;
}

gs_status gs_scenario_check_keys(gs_scenario_reader *reader, gs_error *err)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        gs_json_at at;
        if (strchr(sections[i].path, '[') != NULL) {
            GS_TRY(check_elements(reader, &sections[i], err));
        } else if (gs_scenario_path_find(&reader->source.merged, sections[i].path, &at)) {
            GS_TRY(check_object(reader, &sections[i], &at, err));
        }
    }
    return GS_OK;
}

/* --- helpers of the parts ------------------------------------------------------------------- */

const char *const *gs_scenario_other_keys(const char *path)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        if (strcmp(sections[i].path, path) == 0) {
            return sections[i].others;
        }
    }
    return NULL;
}

gs_status gs_scenario_fail(const gs_scenario_reader *reader, gs_status code, const char *path,
                           gs_error *err, const char *format, ...)
{
    char text[GS_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gs_fail(err, code, "%s: %s: %s", reader->source.merged.file, path, text);
}

gs_status gs_scenario_no_memory(const gs_scenario_reader *reader, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory for the scenario", reader->source.merged.file);
}

gs_status gs_scenario_read_object(gs_scenario_reader *reader, const char *path,
                                  const gs_field_table *table, void *out, gs_error *err)
{
    gs_json_at at;
    gs_config_defaults(table, out);
    if (!gs_scenario_path_find(&reader->source.merged, path, &at)) {
        return GS_OK;
    }
    return gs_config_read(table, out, &at, gs_scenario_other_keys(path), err);
}

gs_status gs_scenario_read_list(gs_scenario_reader *reader, const char *path,
                                const gs_field_table *table, uint32_t count_max, void **out,
                                uint32_t *out_count, gs_error *err)
{
    gs_json_at list;
    gs_json_at at;
    *out = NULL;
    *out_count = 0;
    if (!gs_scenario_path_find(&reader->source.merged, path, &list)) {
        return GS_OK;
    }
    size_t count = gs_json_kind_of(list.value) == GS_JSON_LIST ? gs_json_count(list.value) : 0;
    if (gs_json_kind_of(list.value) != GS_JSON_LIST || count > count_max) {
        char found[64];
        return gs_json_fail(
            &list, GS_EINVAL, err, "%s is not a list of up to %u objects%s",
            count > count_max ? "one that is longer"
                              : gs_json_describe(list.value, found, sizeof found),
            count_max, gs_json_kind_of(list.value) == GS_JSON_OBJECT ? "; write [ {...} ]" : "");
    }
    char *items = gs_arena_take(reader->arena, count, table->struct_bytes);
    if (items == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        void *item = items + i * table->struct_bytes;
        gs_config_defaults(table, item);
        GS_TRY(gs_config_read(table, item, &at, NULL, err));
    }
    *out = items;
    *out_count = (uint32_t)count;
    return GS_OK;
}

gs_status gs_scenario_read_texts(gs_scenario_reader *reader, const char *path, uint32_t count_max,
                                 const char ***out, uint32_t *out_count, gs_error *err)
{
    gs_json_at list;
    gs_json_at at;
    *out = NULL;
    *out_count = 0;
    if (!gs_scenario_path_find(&reader->source.merged, path, &list)) {
        return GS_OK;
    }
    bool is_list = gs_json_kind_of(list.value) == GS_JSON_LIST;
    size_t count = is_list ? gs_json_count(list.value) : 0;
    if (!is_list || count > count_max) {
        return gs_json_fail(&list, GS_EINVAL, err, "takes a list of up to %u texts", count_max);
    }
    *out = GS_TAKE(reader->arena, const char *, count);
    if (*out == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        const char *text = NULL;
        GS_TRY(gs_json_text(&at, &text, err));
        (*out)[i] = gs_arena_text(reader->arena, text);
        if ((*out)[i] == NULL) {
            return gs_scenario_no_memory(reader, err);
        }
    }
    *out_count = (uint32_t)count;
    return GS_OK;
}

void gs_scenario_note(gs_scenario_reader *reader, const char *format, ...)
{
    char text[GS_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *copy = gs_arena_text(reader->arena, text);
    if (copy != NULL && reader->note_count < GS_NOTES_MAX) {
        reader->notes[reader->note_count++] = copy;
    }
}

void gs_scenario_unsupported(gs_scenario_reader *reader, const char *format, ...)
{
    char text[GS_ERROR_TEXT_BYTES];
    va_list arguments;
    if (reader->out->unsupported != NULL) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Without memory for the reason a run must still be refused. */
    const char *copy = gs_arena_text(reader->arena, text);
    reader->out->unsupported = copy == NULL ? "a section is not supported yet" : copy;
}
