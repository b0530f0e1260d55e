#include "models/task_config.h"

#include <stdio.h>

#include "base/assert.h"

enum { KEYS_MAX = 32 };

static void set_model(gs_task_config *config, const gs_model *model)
{
    GS_ASSERT(model->config_table->struct_bytes <= sizeof config->model_config);
    config->model = model;
    gs_config_defaults(model->config_table, config->model_config);
}

static void set_source(gs_data_config *config, const gs_data_source *source)
{
    GS_ASSERT(source->config_table->struct_bytes <= sizeof config->source_config);
    config->source = source;
    gs_config_defaults(source->config_table, config->source_config);
}

gs_task_config gs_task_config_default(void)
{
    gs_task_config config = {.model = NULL};
    const gs_model *model = gs_model_find("mlp");
    const gs_data_source *source = gs_data_source_find("digits");
    GS_ASSERT(model != NULL);
    GS_ASSERT(source != NULL);
    set_model(&config, model);
    set_source(&config.data, source);
    gs_config_defaults(&gs_shard_config_table, &config.data.shards);
    gs_config_defaults(&gs_optimizer_config_table, &config.optimizer);
    return config;
}

static gs_status refuse_name(const gs_json_at *at, const char *what, const char *name,
                             const char *const *names, gs_error *err)
{
    char known[160];
    size_t used = 0;
    size_t count = 0;
    for (; names[count] != NULL; count++) {
        if (used < sizeof known) {
            int added = snprintf(known + used, sizeof known - used, "%s%s", count > 0 ? ", " : "",
                                 names[count]);
            used += added > 0 ? (size_t)added : 0;
        }
    }
    const char *near = gs_nearest_name(name, names, count);
    return gs_json_fail(at, GS_ENOTFOUND, err, "no %s \"%.40s\"%s%s%s; there are %s", what, name,
                        near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                        near != NULL ? "?" : "", known);
}

gs_status gs_task_config_read_model(gs_task_config *config, const gs_json_at *object, gs_error *err)
{
    static const char *const others[] = {"name", NULL};
    gs_task_config read = *config;
    gs_json_at at;
    if (gs_json_kind_of(object->value) == GS_JSON_OBJECT && gs_json_find(object, "name", &at)) {
        const char *name = NULL;
        GS_TRY(gs_json_text(&at, &name, err));
        const gs_model *model = gs_model_find(name);
        if (model == NULL) {
            return refuse_name(&at, "model", name, gs_model_names, err);
        }
        if (model != config->model) {
            set_model(&read, model);
        }
    }
    GS_TRY(gs_config_read(read.model->config_table, read.model_config, object, others, err));
    *config = read;
    return GS_OK;
}

/* The keys that reading by one table leaves to the other. */
static void other_keys(const gs_field_table *table, const char *keys[KEYS_MAX])
{
    GS_ASSERT(table->field_count + 2 <= KEYS_MAX);
    size_t count = 0;
    keys[count++] = "name";
    for (size_t i = 0; i < table->field_count; i++) {
        keys[count++] = table->fields[i].name;
    }
    keys[count] = NULL;
}

gs_status gs_task_config_read_data(gs_task_config *config, const gs_json_at *object, gs_error *err)
{
    const char *others[KEYS_MAX];
    gs_data_config read = config->data;
    gs_json_at at;
    if (gs_json_kind_of(object->value) == GS_JSON_OBJECT && gs_json_find(object, "name", &at)) {
        const char *name = NULL;
        GS_TRY(gs_json_text(&at, &name, err));
        const gs_data_source *source = gs_data_source_find(name);
        if (source == NULL) {
            return refuse_name(&at, "data", name, gs_data_source_names, err);
        }
        if (source != config->data.source) {
            set_source(&read, source);
        }
    }
    other_keys(&gs_shard_config_table, others);
    GS_TRY(gs_config_read(read.source->config_table, read.source_config, object, others, err));
    other_keys(read.source->config_table, others);
    GS_TRY(gs_config_read(&gs_shard_config_table, &read.shards, object, others, err));
    config->data = read;
    return GS_OK;
}

gs_status gs_data_load(const gs_data_config *config, const char *data_dir, gs_arena *arena,
                       gs_dataset *out, gs_error *err)
{
    return config->source->read(config->source_config, data_dir, arena, out, err);
}

const char *gs_data_config_file(const gs_data_config *config, size_t index)
{
    const gs_field_table *table = config->source->config_table;
    for (size_t i = 0; config->source->files != NULL && config->source->files[i] != NULL; i++) {
        size_t field = gs_config_find(table, config->source->files[i]);
        GS_ASSERT(field < table->field_count && table->fields[field].kind == GS_FIELD_TEXT);
        const char *file = (const char *)config->source_config + table->fields[field].offset;
        if (file[0] != '\0' && index-- == 0) {
            return file;
        }
    }
    return NULL;
}

gs_status gs_task_config_read_optimizer(gs_task_config *config, const gs_json_at *object,
                                        gs_error *err)
{
    gs_optimizer_config read = config->optimizer;
    GS_TRY(gs_config_read(&gs_optimizer_config_table, &read, object, NULL, err));
    config->optimizer = read;
    return GS_OK;
}

bool gs_task_config_write(const gs_task_config *config, gs_json *workload)
{
    gs_json *model = gs_json_new_object();
    gs_json *data = gs_json_new_object();
    gs_json *optimizer = gs_json_new_object();
    bool is_written =
        gs_json_set(model, "name", gs_json_new_text(config->model->name)) &&
        gs_config_write(config->model->config_table, config->model_config, model) &&
        gs_json_set(data, "name", gs_json_new_text(config->data.source->name)) &&
        gs_config_write(config->data.source->config_table, config->data.source_config, data) &&
        gs_config_write(&gs_shard_config_table, &config->data.shards, data) &&
        gs_config_write(&gs_optimizer_config_table, &config->optimizer, optimizer);
    /* set takes its value in any case, so all three are given away even when one failed. */
    is_written = gs_json_set(workload, "model", model) && is_written;
    is_written = gs_json_set(workload, "data", data) && is_written;
    return gs_json_set(workload, "optimizer", optimizer) && is_written;
}
