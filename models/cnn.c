/* A convolutional network for images: stages of convolution, group norm and ReLU, each on images
 * half as large as the one before; then the mean of each channel and one affine layer. */
#include "models/layers/activation.h"
#include "models/layers/convolution.h"
#include "models/layers/dense.h"
#include "models/layers/normalisation.h"
#include "models/layers/pooling.h"
#include "models/layers/residual.h"
#include "models/model.h"

typedef struct cnn_config {
    gs_int_list channels;
    int64_t kernel;
    int64_t groups;
    bool residual;
    int pooling; /* index into poolings */
} cnn_config;

enum { POOL = 2 /* pixels, in both directions */ };

static const char *const poolings[] = {"max", "average", NULL};
static const gs_layer_kind *const kinds[] = {&gs_layer_max_pool, &gs_layer_average_pool};

/* clang-format off */
static const gs_field fields[] = {
    {"channels", GS_FIELD_INT_LIST, GS_FIELD_AT(cnn_config, channels), "16/32", 1, 4096, NULL,
     "channels of each stage, from input to output"},
    {"kernel", GS_FIELD_INT, GS_FIELD_AT(cnn_config, kernel), "3", 1, 31, NULL,
     "pixels along a side of each convolution; odd"},
    {"groups", GS_FIELD_INT, GS_FIELD_AT(cnn_config, groups), "4", 1, 4096, NULL,
     "groups of each group norm; divides the channels"},
    {"residual", GS_FIELD_BOOL, GS_FIELD_AT(cnn_config, residual), "false", 0, 0, NULL,
     "a second convolution in each stage, with a residual connection around it"},
    {"pooling", GS_FIELD_CHOICE, GS_FIELD_AT(cnn_config, pooling), "max", 0, 0, poolings,
     "how images are halved between stages"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "cnn",
    .struct_bytes = sizeof(cnn_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

/* The second convolution is added to what the first one gave before its own ReLU. */
static void add_stage(const cnn_config *cnn, int64_t channels, gs_network *out)
{
    gs_convolution convolution = {.channels = channels,
                                  .kernel = (int32_t)cnn->kernel,
                                  .stride = 1,
                                  .padding = (int32_t)cnn->kernel / 2};
    (void)gs_add_convolution(out, &convolution);
    (void)gs_add_group_norm(out, (int32_t)cnn->groups);
    int32_t around = gs_add_activation(out, &gs_layer_relu);
    if (cnn->residual) {
        (void)gs_add_convolution(out, &convolution);
        (void)gs_add_group_norm(out, (int32_t)cnn->groups);
        (void)gs_add_residual(out, around);
        (void)gs_add_activation(out, &gs_layer_relu);
    }
}

static gs_status check_stage(const cnn_config *cnn, int stage, gs_extent image, gs_error *err)
{
    if (cnn->channels.values[stage] % cnn->groups != 0) {
        return gs_fail(err, GS_EINVAL,
                       "cnn: %lld groups do not divide the %lld channels of stage %d; use channels "
                       "that are multiples of groups",
                       (long long)cnn->groups, (long long)cnn->channels.values[stage], stage);
    }
    if (cnn->kernel > image.height || cnn->kernel > image.width) {
        return gs_fail(err, GS_EINVAL,
                       "cnn: kernel %lld is larger than the %lld x %lld images of stage %d; use a "
                       "smaller one, fewer stages or larger images",
                       (long long)cnn->kernel, (long long)image.height, (long long)image.width,
                       stage);
    }
    if (image.height < POOL || image.width < POOL) {
        return gs_fail(err, GS_EINVAL,
                       "cnn: the %lld x %lld images of stage %d cannot be halved for another one; "
                       "use fewer stages or larger images",
                       (long long)image.height, (long long)image.width, stage);
    }
    return GS_OK;
}

static gs_status build(const void *config, const gs_data_shape *data, gs_network *out,
                       gs_error *err)
{
    const cnn_config *cnn = config;
    GS_TRY(gs_model_takes_floats(data, "cnn", err));
    if (cnn->kernel % 2 == 0) {
        return gs_fail(err, GS_EINVAL,
                       "cnn: kernel %lld is even; an odd one has a middle, so that images keep "
                       "their size",
                       (long long)cnn->kernel);
    }
    gs_network_begin(out, data);
    for (int i = 0; i < cnn->channels.count; i++) {
        if (i > 0) {
            (void)gs_add_pool(out, kinds[cnn->pooling], POOL, POOL);
        }
        GS_TRY(check_stage(cnn, i, gs_network_extent(out, gs_network_last(out)), err));
        add_stage(cnn, cnn->channels.values[i], out);
    }
    (void)gs_add_global_average(out);
    (void)gs_add_dense(out, 1, data->answer_count * data->answer_width);
    return gs_network_end(out, err);
}

const gs_model gs_model_cnn = {
    .name = "cnn",
    .summary = "convolutional network for images, with group norm, optionally residual",
    .source = "He et al., Deep Residual Learning, CVPR 2016; Wu and He, Group Normalization, "
              "ECCV 2018",
    .config_table = &table,
    .build = build,
};
