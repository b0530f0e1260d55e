/* Looks models up by name or place in models.def. */
#include "models/model.h"

#include <string.h>

#define GS_MODEL(stem) extern const gs_model gs_model_##stem;
#include "models/models.def"
#undef GS_MODEL

static const gs_model *const models[] = {
#define GS_MODEL(stem) &gs_model_##stem,
#include "models/models.def"
#undef GS_MODEL
};

const char *const gs_model_names[] = {
#define GS_MODEL(stem) #stem,
#include "models/models.def"
#undef GS_MODEL
    NULL,
};

const gs_model *gs_model_at(size_t index)
{
    return index < sizeof models / sizeof models[0] ? models[index] : NULL;
}

const gs_model *gs_model_find(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (strcmp(models[i]->name, name) == 0) {
            return models[i];
        }
    }
    return NULL;
}

gs_status gs_model_takes_floats(const gs_data_shape *data, const char *model, gs_error *err)
{
    if (data->is_tokens) {
        return gs_fail(err, GS_EINVAL,
                       "%s takes samples of numbers, and the data is text; choose model gpt or "
                       "other data",
                       model);
    }
    return GS_OK;
}

gs_status gs_model_takes_tokens(const gs_data_shape *data, const char *model, gs_error *err)
{
    if (!data->is_tokens || data->answer_count != gs_extent_count(data->input)) {
        return gs_fail(err, GS_EINVAL,
                       "%s reads text and says what comes next, and the data is no text; choose "
                       "model mlp or cnn, or data text",
                       model);
    }
    return GS_OK;
}

gs_status gs_model_gives_classes(const gs_data_shape *data, const char *model, gs_error *err)
{
    if (data->kind != GS_ANSWER_CLASS) {
        return gs_fail(err, GS_EINVAL,
                       "%s tells classes apart, and the answers of the data are numbers; choose "
                       "model linear or mlp, or other data",
                       model);
    }
    return GS_OK;
}

gs_status gs_model_gives_numbers(const gs_data_shape *data, const char *model, gs_error *err)
{
    if (data->kind != GS_ANSWER_REAL) {
        return gs_fail(err, GS_EINVAL,
                       "%s fits numbers, and the answers of the data are classes; choose model "
                       "softmax or mlp, or other data",
                       model);
    }
    return GS_OK;
}
