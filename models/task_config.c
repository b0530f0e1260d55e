#include "models/task_config.h"

#include <stdio.h>

#include "base/assert.h"
#include "models/dataset.h"

static const char *const shard_names[] = {"iid", NULL};

/* clang-format off */
static const gs_field data_fields[] = {
    {"name", GS_FIELD_CHOICE, GS_FIELD_AT(gs_data_config, name), "digits", 0, 0, gs_dataset_names,
     "data set"},
    {"shards", GS_FIELD_CHOICE, GS_FIELD_AT(gs_data_config, shards), "iid", 0, 0, shard_names,
     "how ranks share the samples: iid, one shuffled order dealt out in turn"},
};
/* clang-format on */

const gs_field_table gs_data_config_table = {
    .name = "data",
    .struct_bytes = sizeof(gs_data_config),
    .fields = data_fields,
    .field_count = sizeof data_fields / sizeof data_fields[0],
};

static void set_model(gs_task_config *config, const gs_model *model)
{
    GS_ASSERT(model->config_table->struct_bytes <= sizeof config->model_config);
    config->model = model;
    gs_config_defaults(model->config_table, config->model_config);
}

gs_task_config gs_task_config_default(void)
{
    gs_task_config config = {.model = NULL};
    const gs_model *model = gs_model_find("mlp");
    GS_ASSERT(model != NULL);
    set_model(&config, model);
    gs_config_defaults(&gs_data_config_table, &config.data);
    gs_config_defaults(&gs_optimizer_config_table, &config.optimizer);
    return config;
}

static size_t model_count(void)
{
    size_t count = 0;
    while (gs_model_names[count] != NULL) {
        count++;
    }
    return count;
}

static gs_status refuse_model(const gs_json_at *at, const char *name, gs_error *err)
{
    char known[160];
    size_t used = 0;
    for (size_t i = 0; gs_model_names[i] != NULL && used < sizeof known; i++) {
        int added = snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                             gs_model_names[i]);
        used += added > 0 ? (size_t)added : 0;
    }
    const char *near = gs_nearest_name(name, gs_model_names, model_count());
    return gs_json_fail(at, GS_ENOTFOUND, err, "no model \"%.40s\"%s%s%s; there are %s", name,
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
            return refuse_model(&at, name, err);
        }
        if (model != config->model) {
            set_model(&read, model);
        }
    }
    GS_TRY(gs_config_read(read.model->config_table, read.model_config, object, others, err));
    *config = read;
    return GS_OK;
}

gs_status gs_task_config_read_data(gs_task_config *config, const gs_json_at *object, gs_error *err)
{
    gs_data_config read = config->data;
    GS_TRY(gs_config_read(&gs_data_config_table, &read, object, NULL, err));
    config->data = read;
    return GS_OK;
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
    bool is_written = gs_json_set(model, "name", gs_json_new_text(config->model->name)) &&
                      gs_config_write(config->model->config_table, config->model_config, model) &&
                      gs_config_write(&gs_data_config_table, &config->data, data) &&
                      gs_config_write(&gs_optimizer_config_table, &config->optimizer, optimizer);
    /* set takes its value in any case, so all three are given away even when one failed. */
    is_written = gs_json_set(workload, "model", model) && is_written;
    is_written = gs_json_set(workload, "data", data) && is_written;
    return gs_json_set(workload, "optimizer", optimizer) && is_written;
}
