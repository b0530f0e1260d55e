/* What a gradient costs beside its matrix products: time of a model's gradient against the bare
 * products of the same shapes. One JSON line a case.
 *
 * Processor time of one thread, and the best of several rounds: on a shared machine only the
 * fastest one says what code can do. */
#include "models/blas.h"
#include "models/model.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 9 };

typedef struct bench_case {
    const char *model, *data, *settings[9];
    gs_data_shape shape;
    int64_t batch;
} bench_case;

/* clang-format off */
#define VECTOR(n) {.input = {1, 1, (n)}, .answer_count = 1, .answer_width = 10}
#define IMAGE(n) {.input = {1, (n), (n)}, .answer_count = 1, .answer_width = 10}
#define TEXT(n) {.input = {1, 1, (n)}, .is_tokens = true, .answer_count = (n), .answer_width = 73}

static const bench_case cases[] = {
    {"mlp", "32", {"hidden", "64"}, VECTOR(32), 16},
    {"mlp", "64", {"hidden", "128"}, VECTOR(64), 16},
    {"mlp", "784", {"hidden", "128"}, VECTOR(784), 32},
    {"mlp", "784", {"hidden", "256/128", "activation", "gelu"}, VECTOR(784), 64},
    {"softmax", "784", {NULL}, VECTOR(784), 32},
    {"cnn", "8x8", {NULL}, IMAGE(8), 32},
    {"cnn", "28x28", {NULL}, IMAGE(28), 32},
    {"cnn", "28x28", {"channels", "32/64", "residual", "true"}, IMAGE(28), 16},
    {"gpt", "32 tokens", {NULL}, TEXT(32), 16},
    {"gpt", "128 tokens", {"width", "128", "layers", "4"}, TEXT(128), 4},
};
/* clang-format on */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "bench_layers: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* The three products of rows x inner times inner x columns: forward, weights, inputs. */
typedef struct shape {
    int64_t rows, inner, columns, times;
    bool inputs; /* does anybody ask for their gradient? */
} shape;

static void multiply_all(const shape *s, float *const at[3])
{
    float *a = at[0];
    float *b = at[1];
    float *out = at[2];
    gs_matrix forward_left = {a, s->rows, s->inner, false};
    gs_matrix forward_right = {b, s->columns, s->inner, true};
    gs_matrix delta = {b, s->rows, s->columns, false};
    gs_matrix turned = {b, s->rows, s->columns, true};
    gs_matrix weights = {a, s->columns, s->inner, false};
    for (int64_t i = 0; i < s->times; i++) {
        gs_blas_multiply(&forward_left, &forward_right, false, out);
        gs_blas_multiply(&turned, &forward_left, false, out);
        if (s->inputs) {
            gs_blas_multiply(&delta, &weights, false, out);
        }
    }
}

/* The products of a layer; 0 to 2 shapes. */
static int shapes_of(const gs_layer *layer, int64_t batch, shape out[2])
{
    bool inputs = layer->input >= 0;
    const char *kind = layer->kind->name;
    int64_t positions = layer->out.height;
    if (strcmp(kind, "dense") == 0 || strcmp(kind, "tied_output") == 0) {
        out[0] =
            (shape){batch * positions, layer->input_count / positions, layer->out.width, 1, inputs};
        return 1;
    }
    if (strcmp(kind, "conv") == 0) {
        int64_t patch = layer->in.channels * layer->kernel * layer->kernel;
        out[0] = (shape){layer->out.height * layer->out.width, patch, layer->out.channels, batch,
                         inputs};
        return 1;
    }
    if (strcmp(kind, "attention") == 0) {
        int64_t size = layer->out.width / layer->parts;
        out[0] = (shape){positions, size, positions, batch * layer->parts, true};
        out[1] = (shape){positions, positions, size, batch * layer->parts, true};
        return 2;
    }
    return 0;
}

/* All products of a gradient, at = three matrices; NULL: none. Returns the values of the largest
 * matrix. */
static int64_t each_shape(const gs_network *network, int64_t batch, float *const at[3])
{
    int64_t largest = 0;
    for (uint32_t l = 0; l < network->layer_count; l++) {
        shape shapes[2];
        int count = shapes_of(&network->layers[l], batch, shapes);
        for (int i = 0; i < count; i++) {
            const shape *s = &shapes[i];
            int64_t sizes[3] = {s->rows * s->inner, s->inner * s->columns, s->rows * s->columns};
            for (int k = 0; k < 3; k++) {
                largest = sizes[k] > largest ? sizes[k] : largest;
            }
            if (at != NULL) {
                multiply_all(s, at);
            }
        }
    }
    return largest;
}

static void build(const bench_case *c, gs_network *network)
{
    alignas(max_align_t) unsigned char config[GS_MODEL_CONFIG_BYTES];
    const gs_model *model = gs_model_find(c->model);
    gs_error err;
    gs_config_defaults(model->config_table, config);
    gs_status status = GS_OK;
    for (const char *const *s = c->settings; *s != NULL && status == GS_OK; s += 2) {
        status = gs_config_set_text(model->config_table, config, s[0], s[1], &err);
    }
    if (status != GS_OK || model->build(config, &c->shape, network, &err) != GS_OK) {
        fprintf(stderr, "bench_layers: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}

/* Seconds of a gradient, or of its products where products is not NULL; best of all rounds. */
static double best_of(const gs_network *network, const gs_network_pass *pass, float *gradient,
                      float *const products[3])
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        int repeats = best < 1e-5 ? 3000 : (int)(0.03 / best) + 1;
        double start = seconds();
        for (int i = 0; i < repeats; i++) {
            if (products != NULL) {
                (void)each_shape(network, pass->batch.count, products);
            } else {
                (void)gs_network_gradient(network, pass, gradient);
            }
        }
        double spent = (seconds() - start) / repeats;
        best = spent < best ? spent : best;
    }
    return best;
}

static void measure(const bench_case *c)
{
    static gs_network network;
    build(c, &network);
    size_t inputs = (size_t)(c->batch * gs_extent_count(c->shape.input));
    size_t parameters = (size_t)network.parameter_count;
    size_t largest = (size_t)each_shape(&network, c->batch, NULL);
    float *numbers = must(calloc(inputs, sizeof(float)));
    uint8_t *labels = must(calloc(inputs, 1)); /* tokens too; at least as many as answers */
    float *at = must(calloc(parameters, sizeof(float)));
    float *gradient = must(calloc(parameters, sizeof(float)));
    void *workspace = must(malloc(gs_network_workspace_bytes(&network, c->batch)));
    float *matrices = must(calloc(3 * largest, sizeof(float)));
    for (size_t i = 0; i < inputs; i++) {
        numbers[i] = (float)(i % 17) / 17.0F;
    }
    gs_network_init(&network, 1, at);
    gs_network_pass pass = {.parameters = at,
                            .batch = {.inputs = c->shape.is_tokens ? NULL : numbers,
                                      .tokens = c->shape.is_tokens ? labels : NULL,
                                      .labels = labels,
                                      .count = c->batch},
                            .workspace = workspace};
    double whole = best_of(&network, &pass, gradient, NULL);
    float *const products[3] = {matrices, matrices + largest, matrices + 2 * largest};
    double bare = best_of(&network, &pass, NULL, products);
    const char *key = c->settings[0] == NULL ? "defaults" : c->settings[0];
    printf("{\"bench\": \"layers\", \"model\": \"%s\", \"settings\": \"%s %s\", \"data\": \"%s\", "
           "\"parameters\": %zu, \"batch\": %lld, \"gradient_us\": %.2f, \"products_us\": %.2f, "
           "\"ratio\": %.3f, \"blas\": \"%s\"}\n",
           c->model, key, c->settings[0] == NULL ? "" : c->settings[1], c->data, parameters,
           (long long)c->batch, whole * 1e6, bare * 1e6, whole / bare, gs_blas_kernel());
    free(numbers);
    free(labels);
    free(at);
    free(gradient);
    free(workspace);
    free(matrices);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        measure(&cases[i]);
    }
    return EXIT_SUCCESS;
}
