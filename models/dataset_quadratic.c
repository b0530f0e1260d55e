/* Numbers whose squared error is a quadratic bowl of chosen curvatures: for what theory says of
 * rates, delays and momentum. */
#include <math.h>

#include "models/dataset_file.h"
#include "models/dataset_random.h"
#include "models/dataset_source.h"

typedef struct quadratic_config {
    int64_t dimension, repeats;
    double curvature_min, curvature_max, noise;
    int64_t data_seed;
} quadratic_config;

/* clang-format off */
static const gs_field fields[] = {
    {"dimension", GS_FIELD_INT, GS_FIELD_AT(quadratic_config, dimension), "10", 1, 1024, NULL,
     "weights of the bowl"},
    {"curvature_min", GS_FIELD_REAL, GS_FIELD_AT(quadratic_config, curvature_min), "0.01", 1e-6, 1e6, NULL,
     "smallest eigenvalue of the Hessian; the others lie at equal ratios up to the largest"},
    {"curvature_max", GS_FIELD_REAL, GS_FIELD_AT(quadratic_config, curvature_max), "1", 1e-6, 1e6, NULL,
     "largest eigenvalue; with one dimension the only one"},
    {"noise", GS_FIELD_REAL, GS_FIELD_AT(quadratic_config, noise), "0", 0, 1e6, NULL,
     "standard deviation of what is added to each answer to train with"},
    {"repeats", GS_FIELD_INT, GS_FIELD_AT(quadratic_config, repeats), "32", 1, 4096, NULL,
     "pairs of rows of each dimension to train with; noise is drawn for each row"},
    {"data_seed", GS_FIELD_INT, GS_FIELD_AT(quadratic_config, data_seed), "0", 0, 9007199254740992.0, NULL,
     "seed of the lowest point and of the noise; the run's seed does not change them"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "quadratic",
    .struct_bytes = sizeof(quadratic_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

static double curvature(const quadratic_config *config, int64_t i)
{
    if (config->dimension == 1) {
        return config->curvature_max;
    }
    double place = (double)i / (double)(config->dimension - 1);
    return config->curvature_min * pow(config->curvature_max / config->curvature_min, place);
}

/* A row of place i has sqrt(D h_i) there and 0 elsewhere, so that the mean over D of them of half
 * the squared error is 1/2 sum_i h_i (w_i - w*_i)^2. Repeats change nothing in that: every place
 * has the same share of the rows. Each row comes with its negative, so that the bias of a model
 * does not meet the weights: it has curvature 1 and its lowest point at 0. */
static gs_status generate(const quadratic_config *config, gs_arena *scratch, gs_arena *arena,
                          gs_dataset *out, gs_error *err)
{
    int64_t dimension = config->dimension;
    int64_t train_count = 2 * dimension * config->repeats;
    int64_t test_count = 2 * dimension;
    int64_t rows = train_count + test_count;
    uint64_t seed = (uint64_t)config->data_seed;
    float *inputs = GS_TAKE(arena, float, (size_t)(rows * dimension));
    float *targets = GS_TAKE(arena, float, (size_t)rows);
    const uint32_t *split = gs_data_in_order(rows, arena);
    double *lowest = GS_TAKE(scratch, double, (size_t)dimension);
    double *noise = GS_TAKE(scratch, double, (size_t)train_count);
    if (inputs == NULL || targets == NULL || split == NULL || lowest == NULL || noise == NULL) {
        return gs_data_no_memory("quadratic", err);
    }
    gs_data_normals((gs_rng_key){seed, GS_RNG_DATA, GS_DATA_MODEL}, 0, lowest, (uint32_t)dimension);
    gs_data_normals((gs_rng_key){seed, GS_RNG_DATA, GS_DATA_ANSWERS}, 0, noise,
                    (uint32_t)train_count);
    for (int64_t r = 0; r < rows; r++) {
        bool trains = r < train_count;
        int64_t place = trains ? r / (2 * config->repeats) : (r - train_count) / 2;
        double added = trains ? config->noise * noise[r] : 0.0;
        float value = (float)sqrt((double)dimension * curvature(config, place));
        value = r % 2 == 0 ? value : -value;
        inputs[r * dimension + place] = value;
        targets[r] = (float)((double)value * lowest[place] + added);
    }
    *out = (gs_dataset){
        .shape = {.input = {1, 1, dimension},
                  .kind = GS_ANSWER_REAL,
                  .answer_count = 1,
                  .answer_width = 1},
        .row_count = rows,
        .train_count = train_count,
        .test_count = test_count,
        .inputs = inputs,
        .input_stride = dimension,
        .targets = targets,
        .answer_stride = 1,
        .split = split,
    };
    return GS_OK;
}

static gs_status read(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err)
{
    const quadratic_config *quadratic = config;
    (void)data_dir;
    if (quadratic->curvature_min > quadratic->curvature_max) {
        return gs_fail(err, GS_EINVAL, "curvature_min %g is over curvature_max %g",
                       quadratic->curvature_min, quadratic->curvature_max);
    }
    gs_arena scratch;
    gs_arena_init(&scratch);
    gs_status status = generate(quadratic, &scratch, arena, out, err);
    gs_arena_fini(&scratch);
    return status;
}

const gs_data_source gs_data_source_quadratic = {
    .name = "quadratic",
    .summary = "a quadratic bowl of chosen curvatures, for model linear",
    .source = "Polyak, USSR Computational Mathematics and Mathematical Physics 4, 1964",
    .config_table = &table,
    .read = read,
};
