#include "models/layers/attention.h"

#include <math.h>

#include "base/assert.h"
#include "models/blas.h"
#include "models/layers/curves.h"
#include "models/layers/sums.h"

/* One head of one sample. Matrices are [positions][size], their rows lie in those of all heads. */
typedef struct head {
    int64_t positions, size, width; /* width: of all heads */
    int64_t at;                     /* of its queries, in the batch's inputs */
    int64_t out;                    /* of its outputs, in the batch's outputs */
    float scale;                    /* 1 / sqrt(size) */
    float *probabilities;           /* [positions][positions], kept */
} head;

static head head_of(const gs_layer_pass *pass, int64_t index)
{
    const gs_layer *layer = pass->layer;
    int64_t sample = index / layer->parts;
    int64_t size = layer->out.width / layer->parts;
    int64_t positions = layer->out.height;
    int64_t column = index % layer->parts * size;
    return (head){.positions = positions,
                  .size = size,
                  .width = layer->out.width,
                  .at = sample * layer->input_count + column,
                  .out = sample * layer->output_count + column,
                  .scale = 1.0F / sqrtf((float)size),
                  .probabilities = pass->kept + index * positions * positions};
}

/* left and right^T of [positions][size] each: a square [positions][positions]. */
static void inner_products(const head *h, const float *left, int64_t left_stride,
                           const float *right, float scale, float *square)
{
    gs_part_product product = {.left = {left, h->positions, h->size, false},
                               .right = {right, h->positions, h->size, true},
                               .left_stride = left_stride,
                               .right_stride = 3 * h->width,
                               .out_stride = h->positions,
                               .scale = scale};
    gs_blas_multiply_parts(&product, square);
}

/* A square, perhaps transposed, times rows of [positions][size]. */
static void mix(const head *h, const gs_matrix *square, const float *rows, int64_t stride,
                float scale, float *out, int64_t out_stride)
{
    gs_part_product product = {.left = *square,
                               .right = {rows, h->positions, h->size, false},
                               .left_stride = h->positions,
                               .right_stride = stride,
                               .out_stride = out_stride,
                               .scale = scale};
    gs_blas_multiply_parts(&product, out);
}

/* Row t of the scores becomes the softmax of its first t + 1 values, and 0 behind them. A score of
 * NaN or infinity makes the row NaN. */
static void softmax_rows(float *square, int64_t positions)
{
    for (int64_t t = 0; t < positions; t++) {
        float *row = square + t * positions;
        float top = row[0];
        for (int64_t j = 1; j <= t; j++) {
            top = row[j] > top ? row[j] : top;
        }
        for (int64_t j = 0; j <= t; j++) {
            row[j] -= top;
        }
        gs_curve_exp(row, row, t + 1);
        float share = 1.0F / gs_sum(row, t + 1);
        for (int64_t j = 0; j <= t; j++) {
            row[j] *= share;
        }
        for (int64_t j = t + 1; j < positions; j++) {
            row[j] = 0.0F;
        }
    }
}

static void forward(const gs_layer_pass *pass)
{
    for (int64_t i = 0; i < pass->count * pass->layer->parts; i++) {
        head h = head_of(pass, i);
        const float *queries = pass->inputs + h.at;
        inner_products(&h, queries, 3 * h.width, queries + h.width, h.scale, h.probabilities);
        softmax_rows(h.probabilities, h.positions);
        gs_matrix square = {h.probabilities, h.positions, h.positions, false};
        mix(&h, &square, queries + 2 * h.width, 3 * h.width, 1.0F, pass->outputs + h.out, h.width);
    }
}

/* From the derivatives of the probabilities p to those of the scores: p (d - sum(p d)), row by row;
 * what stands behind the diagonal becomes 0. */
static void softmax_rows_backward(const float *probabilities, float *square, int64_t positions)
{
    for (int64_t t = 0; t < positions; t++) {
        const float *p = probabilities + t * positions;
        float *d = square + t * positions;
        float along = gs_sum_products(p, d, t + 1);
        for (int64_t j = 0; j <= t; j++) {
            d[j] = p[j] * (d[j] - along);
        }
        for (int64_t j = t + 1; j < positions; j++) {
            d[j] = 0.0F;
        }
    }
}

static void backward(const gs_layer_pass *pass)
{
    if (pass->input_gradient == NULL) {
        return;
    }
    for (int64_t i = 0; i < pass->count * pass->layer->parts; i++) {
        head h = head_of(pass, i);
        int64_t stride = 3 * h.width;
        const float *queries = pass->inputs + h.at;
        const float *keys = queries + h.width;
        const float *values = keys + h.width;
        const float *delta = pass->output_gradient + h.out;
        float *out = pass->input_gradient + h.at;
        gs_matrix turned = {h.probabilities, h.positions, h.positions, true};
        mix(&h, &turned, delta, h.width, 1.0F, out + 2 * h.width, stride);
        inner_products(&h, delta, h.width, values, 1.0F, pass->scratch);
        softmax_rows_backward(h.probabilities, pass->scratch, h.positions);
        gs_matrix scores = {pass->scratch, h.positions, h.positions, false};
        mix(&h, &scores, keys, stride, h.scale, out, stride);
        scores.transposed = true;
        mix(&h, &scores, queries, stride, h.scale, out + h.width, stride);
    }
}

const gs_layer_kind gs_layer_attention = {
    .name = "attention",
    .source = "Vaswani et al., Attention Is All You Need, NeurIPS 2017, eq. 1 and section 3.2.2",
    .forward = forward,
    .backward = backward,
};

int32_t gs_add_attention(gs_network *network, int32_t heads)
{
    gs_layer layer = gs_network_layer(network, &gs_layer_attention, NULL);
    gs_extent in = gs_network_extent(network, layer.input);
    GS_ASSERT(heads > 0);
    GS_ASSERT(network->too_large || (in.channels == 1 && in.width % (3 * (int64_t)heads) == 0));
    int64_t square = in.height * in.height;
    layer.parts = heads;
    layer.out = (gs_extent){1, in.height, in.width / 3};
    layer.kept_count = heads * square;
    layer.scratch_count = square;
    /* Scores and outputs: a multiply-add for each pair of positions and value; softmax: about 5 */
    layer.forward_flops = square * (4 * layer.out.width + 5 * heads);
    return gs_network_add(network, &layer);
}
