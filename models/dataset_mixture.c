/* Clouds of points around random centres, one a class: a task whose difficulty is one number. */
#include <math.h>

#include "models/dataset_file.h"
#include "models/dataset_random.h"
#include "models/dataset_source.h"

typedef struct mixture_config {
    int64_t classes, dimensions, train, test;
    double spread;
    int64_t data_seed;
} mixture_config;

/* clang-format off */
static const gs_field fields[] = {
    {"classes", GS_FIELD_INT, GS_FIELD_AT(mixture_config, classes), "10", 2, 256, NULL,
     "clouds; as many samples of each, as far as the numbers go"},
    {"dimensions", GS_FIELD_INT, GS_FIELD_AT(mixture_config, dimensions), "32", 1, 65536, NULL,
     "numbers of a sample"},
    {"spread", GS_FIELD_REAL, GS_FIELD_AT(mixture_config, spread), "0.5", 0, 100, NULL,
     "standard deviation of a cloud in each dimension; centres have length 1"},
    {"train", GS_FIELD_INT, GS_FIELD_AT(mixture_config, train), "4096", 1, 1e6, NULL,
     "samples to train with"},
    {"test", GS_FIELD_INT, GS_FIELD_AT(mixture_config, test), "1024", 1, 1e6, NULL,
     "samples to test with"},
    {"data_seed", GS_FIELD_INT, GS_FIELD_AT(mixture_config, data_seed), "0", 0, 9007199254740992.0, NULL,
     "seed of centres and samples; the run's seed does not change them"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "mixture",
    .struct_bytes = sizeof(mixture_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

/* Values of all samples; a stated limit, so that a slip of the keyboard does not fill the memory.
 */
#define VALUES_MAX 1e9

static double *make_centres(const mixture_config *config, gs_arena *arena)
{
    size_t dimensions = (size_t)config->dimensions;
    gs_rng_key key = {(uint64_t)config->data_seed, GS_RNG_DATA, GS_DATA_MODEL};
    double *centres = GS_TAKE(arena, double, (size_t)config->classes *dimensions);
    for (int64_t c = 0; centres != NULL && c < config->classes; c++) {
        double *centre = centres + (size_t)c * dimensions;
        double square = 0.0;
        gs_data_normals(key, (uint64_t)c, centre, (uint32_t)dimensions);
        for (size_t i = 0; i < dimensions; i++) {
            square += centre[i] * centre[i];
        }
        for (size_t i = 0; i < dimensions; i++) {
            centre[i] /= sqrt(square);
        }
    }
    return centres;
}

static gs_status generate(const mixture_config *config, gs_arena *scratch, gs_arena *arena,
                          gs_dataset *out, gs_error *err)
{
    int64_t rows = config->train + config->test;
    int64_t dimensions = config->dimensions;
    float *inputs = GS_TAKE(arena, float, (size_t)(rows * dimensions));
    uint8_t *labels = GS_TAKE(arena, uint8_t, (size_t)rows);
    const uint32_t *split = gs_data_in_order(rows, arena);
    const double *centres = make_centres(config, scratch);
    double *noise = GS_TAKE(scratch, double, (size_t)dimensions);
    if (inputs == NULL || labels == NULL || split == NULL || centres == NULL || noise == NULL) {
        return gs_data_no_memory("mixture", err);
    }
    gs_rng_key key = {(uint64_t)config->data_seed, GS_RNG_DATA, GS_DATA_INPUTS};
    for (int64_t r = 0; r < rows; r++) {
        const double *centre = centres + r % config->classes * dimensions;
        gs_data_normals(key, (uint64_t)r, noise, (uint32_t)dimensions);
        for (int64_t i = 0; i < dimensions; i++) {
            inputs[r * dimensions + i] = (float)(centre[i] + config->spread * noise[i]);
        }
        labels[r] = (uint8_t)(r % config->classes);
    }
    *out = (gs_dataset){.shape = {.input = {1, 1, dimensions},
                                  .kind = GS_ANSWER_CLASS,
                                  .answer_count = 1,
                                  .answer_width = config->classes},
                        .row_count = rows,
                        .train_count = config->train,
                        .test_count = config->test,
                        .inputs = inputs,
                        .input_stride = dimensions,
                        .labels = labels,
                        .answer_stride = 1,
                        .split = split};
    return GS_OK;
}

static gs_status read(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err)
{
    const mixture_config *mixture = config;
    double values = (double)(mixture->train + mixture->test) * (double)mixture->dimensions;
    (void)data_dir;
    if (values > VALUES_MAX) {
        return gs_fail(err, GS_ELIMIT,
                       "mixture: %.3g values in all samples; at most %.0e: lower train, test or "
                       "dimensions",
                       values, VALUES_MAX);
    }
    gs_arena scratch;
    gs_arena_init(&scratch);
    gs_status status = generate(mixture, &scratch, arena, out, err);
    gs_arena_fini(&scratch);
    return status;
}

const gs_data_source gs_data_source_mixture = {
    .name = "mixture",
    .summary = "normal clouds around random centres of length 1, one a class",
    .source = "Bishop, Pattern Recognition and Machine Learning, 2006, section 2.3.9",
    .config_table = &table,
    .read = read,
};
