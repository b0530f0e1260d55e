/* The interface of a trainable model: what a scenario may say of it, and the network it becomes.
 *
 * Everything a model does is done by its network (models/network.h). A new model is one file and
 * one line in models.def. */
#ifndef GS_MODELS_MODEL_H
#define GS_MODELS_MODEL_H

#include <stddef.h>

#include "base/config.h"
#include "base/status.h"
#include "models/network.h"

enum { GS_MODEL_CONFIG_BYTES = 192 /* no model's config struct is larger */ };

typedef struct gs_model {
    const char *name;    /* in scenario files */
    const char *summary; /* one line */
    const char *source;  /* where it comes from */
    const gs_field_table *config_table;

    /* Builds the network for such data from a config of config_table's struct. Errors: GS_EINVAL
     * (data of a kind it cannot take, sizes that do not fit each other), GS_ELIMIT. */
    gs_status (*build)(const void *config, const gs_data_shape *data, gs_network *out,
                       gs_error *err);
} gs_model;

/* The names of all models, sorted, NULL at the end. */
extern const char *const gs_model_names[];

/* The i-th model of gs_model_names, or NULL from the end on. */
const gs_model *gs_model_at(size_t index);

/* The model of that name, or NULL. */
const gs_model *gs_model_find(const char *name);

/* For build: GS_OK, or GS_EINVAL saying what the model takes and what the data is. Inputs: numbers
 * or tokens; answers: classes or numbers. */
GS_MUST_USE gs_status gs_model_takes_floats(const gs_data_shape *data, const char *model,
                                            gs_error *err);
GS_MUST_USE gs_status gs_model_takes_tokens(const gs_data_shape *data, const char *model,
                                            gs_error *err);
GS_MUST_USE gs_status gs_model_gives_classes(const gs_data_shape *data, const char *model,
                                             gs_error *err);
GS_MUST_USE gs_status gs_model_gives_numbers(const gs_data_shape *data, const char *model,
                                             gs_error *err);

#endif
