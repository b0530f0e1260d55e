/* What a scenario says about learning: which model, which data, which optimizer; read and written
 * by field tables. */
#ifndef GS_MODELS_TASK_CONFIG_H
#define GS_MODELS_TASK_CONFIG_H

#include <stdalign.h>
#include <stddef.h>

#include "base/config.h"
#include "base/json.h"
#include "base/status.h"
#include "models/dataset_shards.h"
#include "models/dataset_source.h"
#include "models/model.h"
#include "models/optimizer.h"

typedef struct gs_data_config {
    const gs_data_source *source; /* never NULL after default or read */
    alignas(max_align_t) unsigned char source_config[GS_DATA_CONFIG_BYTES]; /* of source's table */
    gs_shard_config shards;
} gs_data_config;

/* The data set of a config; errors are those of its source. Owner: the arena. */
GS_MUST_USE gs_status gs_data_load(const gs_data_config *config, const char *data_dir,
                                   gs_arena *arena, gs_dataset *out, gs_error *err);

/* The i-th file that the config names, in the order of the source's keys, or NULL from the end on;
 * keys that name none are left out. */
const char *gs_data_config_file(const gs_data_config *config, size_t index);

typedef struct gs_task_config {
    const gs_model *model; /* never NULL after default or read */
    alignas(max_align_t) unsigned char model_config[GS_MODEL_CONFIG_BYTES]; /* of model's table */
    gs_data_config data;
    gs_optimizer_config optimizer;
} gs_task_config;

/* An mlp on digits by sgd, each with its defaults. */
gs_task_config gs_task_config_default(void);

/* Each reads one object of a scenario ("model", "data", "optimizer") over what is in config; of a
 * model or source of data with another name than config's, the other fields start from its
 * defaults. config is changed only on GS_OK. Errors: GS_EINVAL, GS_ENOTFOUND (no model or data of
 * that name) with file, key, value and what is allowed. */
GS_MUST_USE gs_status gs_task_config_read_model(gs_task_config *config, const gs_json_at *object,
                                                gs_error *err);
GS_MUST_USE gs_status gs_task_config_read_data(gs_task_config *config, const gs_json_at *object,
                                               gs_error *err);
GS_MUST_USE gs_status gs_task_config_read_optimizer(gs_task_config *config,
                                                    const gs_json_at *object, gs_error *err);

/* Adds all three objects to workload with every field, as the readers take them. false: no memory.
 */
bool gs_task_config_write(const gs_task_config *config, gs_json *workload);

#endif
