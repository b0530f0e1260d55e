/* The resolved file: every key with its value in a fixed order, and the hash of what a run depends
 * on. Reading it gives the same scenario and the same text. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "traces/whole_file.h"

bool gs_scenario_put_object(gs_json *parent, const char *key, const gs_field_table *table,
                            const void *in)
{
    gs_json *object = gs_json_new_object();
    bool ok = gs_config_write(table, in, object);
    return gs_json_set(parent, key, object) && ok;
}

bool gs_scenario_put_list(gs_json *parent, const char *key, const gs_field_table *table,
                          const void *items, uint32_t count)
{
    gs_json *list = gs_json_new_list();
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        gs_json *object = gs_json_new_object();
        ok = gs_config_write(table, (const char *)items + i * table->struct_bytes, object);
        ok = gs_json_add(list, object) && ok;
    }
    return gs_json_set(parent, key, list) && ok;
}

bool gs_scenario_put_texts(gs_json *parent, const char *key, const char *const *texts,
                           uint32_t count)
{
    gs_json *list = gs_json_new_list();
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        ok = gs_json_add(list, gs_json_new_text(texts[i]));
    }
    return gs_json_set(parent, key, list) && ok;
}

static gs_json *write_all(const gs_scenario_reader *reader)
{
    gs_json *root = gs_json_new_object();
    bool ok = gs_config_write(&gs_scenario_root_table, &reader->root, root);
    ok = gs_scenario_write_cluster(reader, root) && ok;
    ok = gs_scenario_write_workload(reader, root) && ok;
    ok = gs_scenario_write_noise(reader, root) && ok;
    ok = gs_scenario_write_faults(reader, root) && ok;
    ok = gs_scenario_write_strategies(reader, root) && ok;
    ok = gs_scenario_write_later(reader, root) && ok;
    ok = gs_scenario_write_calibration(reader, root) && ok;
    if (!ok) {
        gs_json_free(root);
        root = NULL;
    }
    return root;
}

/* Contents instead of names: a file may lie elsewhere, or change under its name. */
static gs_status hash_files(const gs_scenario_reader *reader, uint64_t *hash, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    const char *single[] = {cluster->nic.curve_file, cluster->intra.curve_file,
                            cluster->topology.node_file, cluster->topology.graph_file,
                            reader->bandwidth.trace};
    for (uint32_t i = 0; i < reader->profile_file_count; i++) {
        GS_TRY(gs_whole_file_hash(reader->profile_paths[i], *hash, hash, err));
    }
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        if (single[i][0] != '\0') {
            GS_TRY(gs_whole_file_hash(single[i], *hash, hash, err));
        }
    }
    for (uint32_t i = 0; i < cluster->tuning.table_count; i++) {
        GS_TRY(gs_whole_file_hash(cluster->tuning.table_files[i], *hash, hash, err));
    }
    /* Where the data was not read, nothing depends on it. */
    const gs_workload *workload = &reader->out->workload;
    const char *file;
    for (size_t i = 0;
         workload->dataset != NULL && (file = gs_data_config_file(&workload->task.data, i)) != NULL;
         i++) {
        GS_TRY(gs_whole_file_hash(file, *hash, hash, err));
    }
    return GS_OK;
}

static bool hide_key(const gs_json_at *root, const char *key)
{
    gs_json *nothing = gs_json_new_null();
    return nothing != NULL && gs_scenario_path_set(root, key, nothing, NULL) == GS_OK;
}

static bool hide_files(const gs_scenario_reader *reader, const gs_json_at *root)
{
    static const char *const keys[] = {
        "workload.profile",           "cluster.links.nic.curve",     "cluster.links.intra.curve",
        "cluster.topology.node_file", "cluster.topology.graph_file", "noise.bandwidth.trace"};
    const char *const *files = reader->out->workload.task.data.source->files;
    bool ok = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && ok; i++) {
        ok = hide_key(root, keys[i]);
    }
    for (uint32_t i = 0; i < reader->out->cluster.tuning.table_count && ok; i++) {
        char key[GS_JSON_PATH_BYTES];
        snprintf(key, sizeof key, "cluster.tuning.measured[%u].curve", i);
        ok = hide_key(root, key);
    }
    for (; files != NULL && *files != NULL && ok; files++) {
        char key[GS_JSON_PATH_BYTES];
        snprintf(key, sizeof key, "workload.data.%s", *files);
        ok = hide_key(root, key);
    }
    return ok;
}

/* A copy of an object but for one key, so that runs that were stored before there was that key are
 * still found where it says nothing. NULL: no memory. Owner: caller. */
static gs_json *without(const gs_json_at *object, const char *left_out)
{
    gs_json *kept = gs_json_new_object();
    bool ok = kept != NULL;
    for (size_t i = 0; i < gs_json_count(object->value) && ok; i++) {
        const char *key;
        gs_json_at member = gs_json_member(object, i, &key);
        ok = strcmp(key, left_out) == 0 || gs_json_set(kept, key, gs_json_copy(member.value));
    }
    if (!ok) {
        gs_json_free(kept);
        return NULL;
    }
    return kept;
}

static gs_status make_hash(const gs_scenario_reader *reader, const gs_json *resolved, uint64_t *out,
                           gs_error *err)
{
    static const char *const parts[] = {"cluster", "workload", "noise", "faults"};
    gs_json_at root = {.value = gs_json_copy(resolved), .file = reader->out->file};
    if (root.value == NULL || !hide_files(reader, &root)) {
        gs_json_free(root.value);
        return gs_scenario_no_memory(reader, err);
    }
    uint64_t hash = 0;
    gs_status status = GS_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == GS_OK; i++) {
        gs_json_at part;
        bool is_there = gs_json_find(&root, parts[i], &part);
        GS_ASSERT(is_there);
        bool is_old = strcmp(parts[i], "workload") == 0 && reader->phase_count == 0;
        gs_json *kept = is_old ? without(&part, "phases") : NULL;
        char *text =
            is_old && kept == NULL ? NULL : gs_json_write(is_old ? kept : part.value, false);
        gs_json_free(kept);
        if (text == NULL) {
            status = gs_scenario_no_memory(reader, err);
        } else {
            hash = gs_hash(hash, text, strlen(text));
        }
        free(text);
    }
    gs_json_free(root.value);
    GS_TRY(status);
    /* At which steps a run is looked at is in its rows. */
    if (reader->evaluate.every > 0) {
        hash = gs_hash(hash, &reader->evaluate.every, sizeof reader->evaluate.every);
    }
    /* A run that ends early has other means than one that goes on. */
    if (reader->evaluate.stop != 0) {
        hash = gs_hash(hash, &reader->evaluate.stop, sizeof reader->evaluate.stop);
    }
    /* All modes give the same times but this one. */
    if (reader->evaluate.network_mode == GS_NETWORK_SURROGATE) {
        hash = gs_hash(hash, &reader->evaluate.network_mode, sizeof reader->evaluate.network_mode);
    }
    GS_TRY(hash_files(reader, &hash, err));
    *out = hash;
    return GS_OK;
}

/* Puts the sweeps back, so that the resolved file says all that the scenario says. */
static gs_status restore_sweeps(const gs_scenario_reader *reader, gs_json *resolved, gs_error *err)
{
    gs_json_at root = {.value = resolved, .file = reader->out->file};
    for (uint32_t i = 0; i < reader->source.sweep_count; i++) {
        const gs_scenario_sweep *sweep = &reader->source.sweeps[i];
        gs_json_at there;
        if (gs_scenario_path_find(&root, sweep->path, &there)) {
            gs_json *copy = gs_json_copy(sweep->object);
            if (copy == NULL) {
                return gs_scenario_no_memory(reader, err);
            }
            GS_TRY(gs_scenario_path_set(&root, sweep->path, copy, err));
        }
    }
    return GS_OK;
}

gs_status gs_scenario_resolve(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    gs_json *resolved = write_all(reader);
    if (resolved == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    gs_status status = restore_sweeps(reader, resolved, err);
    if (status == GS_OK) {
        status = make_hash(reader, resolved, &out->config_hash, err);
    }
    if (status != GS_OK) {
        gs_json_free(resolved);
        return status;
    }
    out->resolved = resolved;
    return GS_OK;
}
