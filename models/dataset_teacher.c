/* Classes that a random network gives to random inputs: a task of any size that a student network
 * can learn only in part, made in no time and the same everywhere. */
#include <math.h>

#include "models/dataset_file.h"
#include "models/dataset_random.h"
#include "models/dataset_source.h"

typedef struct teacher_config {
    int64_t inputs, hidden, classes, train, test;
    double decay, gain;
    int64_t data_seed;
} teacher_config;

/* clang-format off */
static const gs_field fields[] = {
    {"inputs", GS_FIELD_INT, GS_FIELD_AT(teacher_config, inputs), "32", 1, 4096, NULL,
     "numbers of a sample"},
    {"hidden", GS_FIELD_INT, GS_FIELD_AT(teacher_config, hidden), "64", 1, 4096, NULL,
     "tanh units of the teacher"},
    {"classes", GS_FIELD_INT, GS_FIELD_AT(teacher_config, classes), "10", 2, 256, NULL,
     "outputs of the teacher; the largest is the label"},
    {"train", GS_FIELD_INT, GS_FIELD_AT(teacher_config, train), "32768", 1, 1e6, NULL,
     "samples to train with"},
    {"test", GS_FIELD_INT, GS_FIELD_AT(teacher_config, test), "4096", 1, 1e6, NULL,
     "samples to test with"},
    {"decay", GS_FIELD_REAL, GS_FIELD_AT(teacher_config, decay), "0.25", 0, 4, NULL,
     "input i (from 1) has standard deviation i^-decay"},
    {"gain", GS_FIELD_REAL, GS_FIELD_AT(teacher_config, gain), "2", 0.001, 1000, NULL,
     "standard deviation of the first layer's weights, times sqrt(inputs); larger: harder to learn"},
    {"data_seed", GS_FIELD_INT, GS_FIELD_AT(teacher_config, data_seed), "0", 0, 9007199254740992.0, NULL,
     "seed of teacher and samples; the run's seed does not change them"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "teacher",
    .struct_bytes = sizeof(teacher_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

/* Weights of the teacher and room for one sample. */
typedef struct teacher {
    double *first;  /* [hidden][inputs] */
    double *second; /* [classes][hidden] */
    double *spread; /* [inputs] */
    double *sample; /* [inputs] */
    double *units;  /* [hidden] */
} teacher;

static bool make_teacher(const teacher_config *config, gs_arena *arena, teacher *out)
{
    size_t inputs = (size_t)config->inputs;
    size_t hidden = (size_t)config->hidden;
    size_t classes = (size_t)config->classes;
    gs_rng_key key = {(uint64_t)config->data_seed, GS_RNG_DATA, GS_DATA_MODEL};
    out->first = GS_TAKE(arena, double, hidden *inputs);
    out->second = GS_TAKE(arena, double, classes *hidden);
    out->spread = GS_TAKE(arena, double, inputs);
    out->sample = GS_TAKE(arena, double, inputs);
    out->units = GS_TAKE(arena, double, hidden);
    if (out->first == NULL || out->second == NULL || out->spread == NULL || out->sample == NULL ||
        out->units == NULL) {
        return false;
    }
    gs_data_normals(key, 0, out->first, (uint32_t)(hidden * inputs));
    gs_data_normals(key, 1, out->second, (uint32_t)(classes * hidden));
    for (size_t i = 0; i < hidden * inputs; i++) {
        out->first[i] *= config->gain / sqrt((double)inputs);
    }
    for (size_t i = 0; i < inputs; i++) {
        out->spread[i] = pow((double)(i + 1), -config->decay);
    }
    return true;
}

/* In double and in one order, not by the BLAS: the labels are the same on every processor. */
static uint8_t label_of(const teacher_config *config, const teacher *by)
{
    for (int64_t h = 0; h < config->hidden; h++) {
        double sum = 0.0;
        for (int64_t i = 0; i < config->inputs; i++) {
            sum += by->first[h * config->inputs + i] * by->sample[i];
        }
        by->units[h] = tanh(sum);
    }
    double best = -HUGE_VAL;
    int64_t label = 0;
    for (int64_t c = 0; c < config->classes; c++) {
        double sum = 0.0;
        for (int64_t h = 0; h < config->hidden; h++) {
            sum += by->second[c * config->hidden + h] * by->units[h];
        }
        if (sum > best) {
            best = sum;
            label = c;
        }
    }
    return (uint8_t)label;
}

static gs_status generate(const teacher_config *config, gs_arena *scratch, gs_arena *arena,
                          gs_dataset *out, gs_error *err)
{
    int64_t rows = config->train + config->test;
    teacher by;
    float *inputs = GS_TAKE(arena, float, (size_t)(rows * config->inputs));
    uint8_t *labels = GS_TAKE(arena, uint8_t, (size_t)rows);
    const uint32_t *split = gs_data_in_order(rows, arena);
    if (inputs == NULL || labels == NULL || split == NULL || !make_teacher(config, scratch, &by)) {
        return gs_data_no_memory("teacher", err);
    }
    gs_rng_key key = {(uint64_t)config->data_seed, GS_RNG_DATA, GS_DATA_INPUTS};
    for (int64_t r = 0; r < rows; r++) {
        gs_data_normals(key, (uint64_t)r, by.sample, (uint32_t)config->inputs);
        for (int64_t i = 0; i < config->inputs; i++) {
            /* The teacher sees what the student sees. */
            float value = (float)(by.spread[i] * by.sample[i]);
            by.sample[i] = (double)value;
            inputs[r * config->inputs + i] = value;
        }
        labels[r] = label_of(config, &by);
    }
    *out = (gs_dataset){.shape = {.input = {1, 1, config->inputs},
                                  .kind = GS_ANSWER_CLASS,
                                  .answer_count = 1,
                                  .answer_width = config->classes},
                        .row_count = rows,
                        .train_count = config->train,
                        .test_count = config->test,
                        .inputs = inputs,
                        .input_stride = config->inputs,
                        .labels = labels,
                        .answer_stride = 1,
                        .split = split};
    return GS_OK;
}

static gs_status read(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err)
{
    (void)data_dir;
    gs_arena scratch;
    gs_arena_init(&scratch);
    gs_status status = generate(config, &scratch, arena, out, err);
    gs_arena_fini(&scratch);
    return status;
}

const gs_data_source gs_data_source_teacher = {
    .name = "teacher",
    .summary = "random inputs, classes by a random tanh network",
    .source = "student and teacher: Seung, Sompolinsky and Tishby, Physical Review A 45, 1992",
    .config_table = &table,
    .read = read,
};
