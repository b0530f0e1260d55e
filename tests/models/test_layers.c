/* Each kind of layer alone, in the smallest network around it. */
#include <criterion/criterion.h>

#include "models/layers/activation.h"
#include "models/layers/attention.h"
#include "models/layers/convolution.h"
#include "models/layers/curves.h"
#include "models/layers/dense.h"
#include "models/layers/embedding.h"
#include "models/layers/normalisation.h"
#include "models/layers/pooling.h"
#include "models/layers/residual.h"
#include "models/layers/sums.h"
#include "tests/models/network_fixture.h"

#include <stdio.h>

enum { SAMPLES = 5 };

static const gs_data_shape images = {
    .input = {3, 5, 6}, .kind = GS_ANSWER_CLASS, .answer_count = 1, .answer_width = 4};
static const gs_data_shape text = {.input = {1, 1, 7},
                                   .is_tokens = true,
                                   .kind = GS_ANSWER_CLASS,
                                   .answer_count = 7,
                                   .answer_width = 6};

/* Every kind stands between two layers with parameters, so that both of its derivatives count. */
static void begin(specimen *s, const gs_data_shape *data)
{
    memset(s, 0, sizeof *s);
    gs_network_begin(&s->network, data);
}

static void check(specimen *s, const char *name)
{
    gs_error err;
    cr_assert_eq(gs_network_end(&s->network, &err), GS_OK, "%s", err.text);
    specimen_fill(s, SAMPLES);
    specimen_check(s, name);
    specimen_free(s);
}

Test(layers, activations_have_the_slopes_they_say)
{
    const gs_layer_kind *const kinds[] = {&gs_layer_relu, &gs_layer_tanh, &gs_layer_gelu};
    for (int i = 0; i < 3; i++) {
        specimen s;
        begin(&s, &images);
        (void)gs_add_dense(&s.network, 1, 8);
        (void)gs_add_activation(&s.network, kinds[i]);
        (void)gs_add_dense(&s.network, 1, 4);
        check(&s, kinds[i]->name);
    }
}

Test(layers, convolutions_of_any_stride_and_padding_have_their_gradient)
{
    static const gs_convolution cases[] = {{4, 3, 1, 1}, {4, 1, 1, 0}, {2, 3, 2, 0}, {3, 2, 2, 1},
                                           {2, 5, 3, 2}, {2, 5, 1, 0}, {2, 2, 3, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        specimen s;
        begin(&s, &images);
        (void)gs_add_convolution(&s.network, &(gs_convolution){2, 1, 1, 0});
        (void)gs_add_activation(&s.network, &gs_layer_tanh);
        (void)gs_add_convolution(&s.network, &cases[i]);
        (void)gs_add_dense(&s.network, 1, 4);
        char name[32];
        snprintf(name, sizeof name, "convolution %d", (int)i);
        check(&s, name);
    }
}

Test(layers, pools_have_their_gradient_also_where_windows_overlap)
{
    const gs_layer_kind *const kinds[] = {&gs_layer_max_pool, &gs_layer_average_pool};
    const int32_t windows[][2] = {{2, 2}, {3, 2}, {2, 1}, {5, 1}, {1, 3}};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 5; k++) {
            specimen s;
            begin(&s, &images);
            (void)gs_add_convolution(&s.network, &(gs_convolution){3, 3, 1, 1});
            (void)gs_add_pool(&s.network, kinds[i], windows[k][0], windows[k][1]);
            (void)gs_add_dense(&s.network, 1, 4);
            check(&s, kinds[i]->name);
        }
    }
    specimen s;
    begin(&s, &images);
    (void)gs_add_convolution(&s.network, &(gs_convolution){4, 3, 1, 1});
    (void)gs_add_global_average(&s.network);
    (void)gs_add_activation(&s.network, &gs_layer_tanh);
    (void)gs_add_dense(&s.network, 1, 4);
    check(&s, "global average");
}

Test(layers, norms_have_their_gradient)
{
    const int32_t groups[] = {1, 2, 3, 6};
    for (int i = 0; i < 4; i++) {
        specimen s;
        begin(&s, &images);
        (void)gs_add_convolution(&s.network, &(gs_convolution){6, 3, 1, 1});
        (void)gs_add_group_norm(&s.network, groups[i]);
        (void)gs_add_activation(&s.network, &gs_layer_tanh);
        (void)gs_add_dense(&s.network, 1, 4);
        check(&s, "group norm");
    }
    specimen s;
    begin(&s, &text);
    (void)gs_add_embedding(&s.network, 5, 0.5);
    (void)gs_add_layer_norm(&s.network);
    (void)gs_add_dense(&s.network, 7, 6);
    check(&s, "layer norm");
}

/* The way around and the way through meet, and one layer feeds three others. */
Test(layers, residual_connections_add_up_what_comes_back_on_all_ways)
{
    specimen s;
    begin(&s, &images);
    int32_t first = gs_add_dense(&s.network, 1, 8);
    (void)gs_add_activation(&s.network, &gs_layer_tanh);
    (void)gs_add_dense(&s.network, 1, 8);
    (void)gs_add_residual(&s.network, first);
    (void)gs_add_activation(&s.network, &gs_layer_tanh);
    (void)gs_add_residual(&s.network, first);
    (void)gs_add_dense(&s.network, 1, 4);
    check(&s, "residual");
}

Test(layers, embeddings_and_positions_have_their_gradient)
{
    specimen s;
    begin(&s, &text);
    (void)gs_add_embedding(&s.network, 5, 0.5);
    (void)gs_add_positions(&s.network, 0.5);
    (void)gs_add_activation(&s.network, &gs_layer_tanh);
    (void)gs_add_dense(&s.network, 7, 6);
    check(&s, "embedding");
}

Test(layers, a_tied_output_adds_its_gradient_to_the_embeddings)
{
    specimen s;
    begin(&s, &text);
    int32_t embedding = gs_add_embedding(&s.network, 5, 0.5);
    (void)gs_add_activation(&s.network, &gs_layer_tanh);
    (void)gs_add_tied_output(&s.network, embedding);
    cr_expect_eq(s.network.parameter_count, 30);
    check(&s, "tied output");
}

static void build_attention(specimen *s, int32_t heads)
{
    begin(s, &text);
    (void)gs_add_embedding(&s->network, 8, 0.5);
    (void)gs_add_positions(&s->network, 0.5);
    (void)gs_add_dense(&s->network, 7, 24);
    (void)gs_add_attention(&s->network, heads);
    (void)gs_add_dense(&s->network, 7, 6);
}

Test(layers, attention_has_its_gradient_with_any_number_of_heads)
{
    for (int32_t heads = 1; heads <= 8; heads *= 2) {
        specimen s;
        build_attention(&s, heads);
        check(&s, "attention");
    }
}

/* What every layer of a network gives for one sample. Owner: the caller, forget. */
typedef struct values {
    const gs_network *network;
    float *outputs[GS_NETWORK_LAYERS_MAX], *kept[GS_NETWORK_LAYERS_MAX];
} values;

static void forget(values *v)
{
    for (uint32_t l = 0; l < v->network->layer_count; l++) {
        free(v->outputs[l]);
        free(v->kept[l]);
    }
}

static void run(values *v, const gs_network *network, const float *inputs, const uint8_t *tokens,
                const float *parameters)
{
    v->network = network;
    for (uint32_t l = 0; l < network->layer_count; l++) {
        const gs_layer *layer = &network->layers[l];
        float *scratch = calloc((size_t)layer->scratch_count + 1, sizeof(float));
        v->outputs[l] = calloc((size_t)layer->output_count, sizeof(float));
        v->kept[l] = calloc((size_t)layer->kept_count + 1, sizeof(float));
        cr_assert(scratch != NULL && v->outputs[l] != NULL && v->kept[l] != NULL);
        gs_layer_pass pass = {.layer = layer,
                              .count = 1,
                              .inputs = layer->input < 0 ? inputs : v->outputs[layer->input],
                              .tokens = layer->input < 0 ? tokens : NULL,
                              .others = layer->other < 0 ? NULL : v->outputs[layer->other],
                              .parameters = parameters + layer->offset,
                              .outputs = v->outputs[l],
                              .kept = v->kept[l],
                              .scratch = scratch};
        layer->kind->forward(&pass);
        free(scratch);
    }
}

/* One output of a convolution, from its definition. */
static double convolved(const gs_layer *layer, const float *image, const float *parameters,
                        int64_t channel, int64_t y, int64_t x)
{
    int64_t weights = layer->in.channels * layer->kernel * layer->kernel;
    double sum = (double)parameters[layer->out.channels * weights + channel];
    for (int64_t w = 0; w < weights; w++) {
        int64_t from = w / (layer->kernel * layer->kernel);
        int64_t line = y * layer->stride + w / layer->kernel % layer->kernel - layer->padding;
        int64_t column = x * layer->stride + w % layer->kernel - layer->padding;
        if (line >= 0 && line < layer->in.height && column >= 0 && column < layer->in.width) {
            sum += (double)parameters[channel * weights + w] *
                   (double)image[(from * layer->in.height + line) * layer->in.width + column];
        }
    }
    return sum;
}

/* Sums of up to 75 products below 1.5: float errors are below 1e-5. */
Test(layers, a_convolution_is_the_sum_over_what_its_kernel_covers)
{
    static const gs_convolution cases[] = {
        {4, 3, 1, 1}, {2, 3, 2, 0}, {3, 2, 2, 1}, {2, 5, 3, 2}, {2, 2, 3, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        specimen s;
        begin(&s, &images);
        (void)gs_add_convolution(&s.network, &cases[i]);
        specimen_fill(&s, 1);
        values v;
        run(&v, &s.network, s.inputs, NULL, s.parameters);
        const gs_layer *layer = &s.network.layers[0];
        for (int64_t o = 0; o < layer->output_count; o++) {
            int64_t plane = layer->out.height * layer->out.width;
            double wanted = convolved(layer, s.inputs, s.parameters, o / plane,
                                      o % plane / layer->out.width, o % layer->out.width);
            cr_expect_float_eq((double)v.outputs[0][o], wanted, 1e-5, "case %d, output %d", (int)i,
                               (int)o);
        }
        forget(&v);
        specimen_free(&s);
    }
}

/* 1 5 2 0 | 3 4 2 8 | 9 0 1 1 in windows of 2 by 2 that move by 1. */
Test(layers, pools_give_the_largest_or_the_mean_of_each_window)
{
    float image[12] = {1, 5, 2, 0, 3, 4, 2, 8, 9, 0, 1, 1};
    static const float largest[6] = {5, 5, 8, 9, 4, 8};
    static const float mean[6] = {3.25F, 3.25F, 3, 4, 1.75F, 3};
    gs_data_shape shape = images;
    shape.input = (gs_extent){1, 3, 4};
    specimen s;
    begin(&s, &shape);
    (void)gs_add_pool(&s.network, &gs_layer_max_pool, 2, 1);
    values v;
    run(&v, &s.network, image, NULL, image);
    cr_expect(memcmp(v.outputs[0], largest, sizeof largest) == 0);
    forget(&v);
    image[7] = NAN; /* where the 8 was: a model that diverges must show it */
    run(&v, &s.network, image, NULL, image);
    cr_expect(isnan(v.outputs[0][2]) && isnan(v.outputs[0][5]) && v.outputs[0][4] == 4.0F);
    forget(&v);
    image[7] = 8;
    begin(&s, &shape);
    (void)gs_add_pool(&s.network, &gs_layer_average_pool, 2, 1);
    run(&v, &s.network, image, NULL, image);
    cr_expect(memcmp(v.outputs[0], mean, sizeof mean) == 0);
    forget(&v);
    begin(&s, &shape);
    (void)gs_add_global_average(&s.network);
    run(&v, &s.network, image, NULL, image);
    cr_expect_float_eq((double)v.outputs[0][0], 3.0, 1e-6); /* 36 / 12 */
    forget(&v);
}

/* With gain 1 and shift 0 every run has mean 0 and variance 1, less what the 1e-5 beside a variance
 * of about 1/3 takes off; x and 3 x + 7 give the same within 1e-4 for the same reason. */
Test(layers, norms_take_out_offset_and_scale)
{
    for (int kind = 0; kind < 2; kind++) {
        specimen s;
        gs_data_shape shape = images;
        shape.input = kind == 0 ? (gs_extent){4, 3, 6} : (gs_extent){1, 2, 36};
        begin(&s, &shape);
        (void)(kind == 0 ? gs_add_group_norm(&s.network, 2) : gs_add_layer_norm(&s.network));
        specimen_fill(&s, 1);
        gs_network_init(&s.network, 1, s.parameters);
        values plain;
        values moved;
        run(&plain, &s.network, s.inputs, NULL, s.parameters);
        for (int i = 0; i < 72; i++) {
            s.inputs[i] = 3.0F * s.inputs[i] + 7.0F;
        }
        run(&moved, &s.network, s.inputs, NULL, s.parameters);
        for (int i = 0; i < 72; i++) {
            cr_expect_float_eq((double)plain.outputs[0][i], (double)moved.outputs[0][i], 1e-4);
        }
        for (int r = 0; r < 2; r++) {
            const float *of = plain.outputs[0] + 36L * r;
            cr_expect_float_eq((double)gs_sum(of, 36), 0.0, 1e-5);
            cr_expect_float_eq((double)gs_sum_squares(of, 36, 0.0F) / 36, 1.0, 1e-4);
        }
        forget(&plain);
        forget(&moved);
        specimen_free(&s);
    }
}

enum { POSITIONS = 7, WIDTH = 8 };

/* Position t's context of one head from the definition; qkv is [POSITIONS][3 WIDTH]. */
static double attended(const float *qkv, int64_t heads, int64_t t, int64_t column)
{
    int64_t size = WIDTH / heads;
    int64_t first = column / size * size;
    double sum = 0;
    double weights = 0;
    for (int64_t other = 0; other <= t; other++) {
        double score = 0;
        for (int64_t k = first; k < first + size; k++) {
            score += (double)qkv[t * 3 * WIDTH + k] * (double)qkv[other * 3 * WIDTH + WIDTH + k];
        }
        double weight = exp(score / sqrt((double)size));
        weights += weight;
        sum += weight * (double)qkv[other * 3 * WIDTH + 2 * WIDTH + column];
    }
    return sum / weights;
}

static void attention_alone(specimen *s, int32_t heads)
{
    gs_data_shape shape = images;
    shape.input = (gs_extent){1, POSITIONS, 3 * WIDTH};
    begin(s, &shape);
    (void)gs_add_attention(&s->network, heads);
    specimen_fill(s, 1);
}

Test(layers, attention_is_the_mean_of_the_values_seen_so_far_weighted_by_softmax)
{
    for (int32_t heads = 1; heads <= WIDTH; heads *= 2) {
        specimen s;
        attention_alone(&s, heads);
        values v;
        run(&v, &s.network, s.inputs, NULL, s.parameters);
        for (int64_t i = 0; i < POSITIONS * WIDTH; i++) {
            cr_expect_float_eq((double)v.outputs[0][i],
                               attended(s.inputs, heads, i / WIDTH, i % WIDTH), 1e-6);
        }
        const float *p = v.kept[0];
        for (int64_t row = 0; row < heads * POSITIONS; row++, p += POSITIONS) {
            cr_expect_float_eq((double)gs_sum(p, POSITIONS), 1.0, 1e-6);
            for (int64_t later = row % POSITIONS + 1; later < POSITIONS; later++) {
                cr_expect(p[later] == 0.0F);
            }
        }
        forget(&v);
        specimen_free(&s);
    }
}

/* The same vector added to all keys moves all scores of a row alike. */
Test(layers, attention_does_not_see_what_all_keys_have_in_common)
{
    specimen s;
    attention_alone(&s, 2);
    values before;
    values after;
    run(&before, &s.network, s.inputs, NULL, s.parameters);
    for (int64_t i = 0; i < POSITIONS * WIDTH; i++) {
        s.inputs[i / WIDTH * 3 * WIDTH + WIDTH + i % WIDTH] += 0.3F * (float)(i % WIDTH) - 1.0F;
    }
    run(&after, &s.network, s.inputs, NULL, s.parameters);
    for (int64_t i = 0; i < POSITIONS * WIDTH; i++) {
        cr_expect_float_eq((double)before.outputs[0][i], (double)after.outputs[0][i], 2e-6);
    }
    forget(&before);
    forget(&after);
    specimen_free(&s);
}

/* To the bit, in every layer of two blocks; and what the token itself says does change. */
Test(layers, a_later_token_changes_no_earlier_output)
{
    specimen s;
    begin(&s, &text);
    int32_t embedding = gs_add_embedding(&s.network, WIDTH, 0.5);
    (void)gs_add_positions(&s.network, 0.5);
    for (int block = 0; block < 2; block++) {
        int32_t around = gs_network_last(&s.network);
        (void)gs_add_layer_norm(&s.network);
        (void)gs_add_dense(&s.network, POSITIONS, 3 * WIDTH);
        (void)gs_add_attention(&s.network, 2);
        (void)gs_add_residual(&s.network, around);
    }
    (void)gs_add_tied_output(&s.network, embedding);
    specimen_fill(&s, 1);
    int64_t values_per_token = text.answer_width;
    for (int64_t t = 0; t < POSITIONS; t++) {
        values before;
        values after;
        run(&before, &s.network, NULL, s.tokens, s.parameters);
        uint8_t kept = s.tokens[t];
        s.tokens[t] = (uint8_t)((kept + 1) % text.answer_width);
        run(&after, &s.network, NULL, s.tokens, s.parameters);
        s.tokens[t] = kept;
        int32_t last = gs_network_last(&s.network);
        for (int64_t i = 0; i < POSITIONS; i++) {
            bool equal = memcmp(before.outputs[last] + i * values_per_token,
                                after.outputs[last] + i * values_per_token,
                                (size_t)values_per_token * sizeof(float)) == 0;
            cr_expect_eq(equal, i < t, "token %d, output %d", (int)t, (int)i);
        }
        forget(&before);
        forget(&after);
    }
    specimen_free(&s);
}

Test(layers, weights_may_start_normal)
{
    specimen s;
    gs_data_shape shape = images;
    shape.input = (gs_extent){1, 1, 100};
    begin(&s, &shape);
    (void)gs_add_dense_normal(&s.network, 1, 40, 0.02);
    specimen_fill(&s, 1);
    gs_network_init(&s.network, 9, s.parameters);
    /* 4000 draws: their mean has a deviation of 0.02 / sqrt(4000) = 3e-4, their variance is 4e-4
     * within 2 %, and a share of 0.0455 is beyond two deviations, within 0.0033. */
    int beyond = 0;
    for (int i = 0; i < 4000; i++) {
        beyond += fabsf(s.parameters[i]) > 0.04F;
    }
    cr_expect_lt(fabs((double)gs_sum(s.parameters, 4000) / 4000), 1.3e-3);
    cr_expect_float_eq((double)gs_sum_squares(s.parameters, 4000, 0.0F) / 4000, 4e-4, 3.2e-5);
    cr_expect_float_eq(beyond / 4000.0, 0.0455, 0.013);
    cr_expect(s.parameters[4000] == 0.0F && s.parameters[4039] == 0.0F);
    specimen_free(&s);
}

static double exp_of(double x)
{
    float y = (float)x;
    gs_curve_exp(&y, &y, 1);
    return (double)y;
}

static double tanh_of(double x)
{
    float y = (float)x;
    gs_curve_tanh(&y, &y, 1);
    return (double)y;
}

/* Measured: 1.3e-7 and 2.4e-7 of the value. */
Test(layers, exponential_and_tanh_are_those_of_the_c_library)
{
    enum { POINTS = 400000 };
    double worst_exp = 0;
    double worst_tanh = 0;
    for (int i = 0; i < POINTS; i++) {
        float x = -87.0F * (float)i / POINTS;
        double exact = exp((double)x);
        worst_exp = fmax(worst_exp, fabs(exp_of((double)x) - exact) / exact);
        x = 1e-6F * expf(16.5F * (float)i / POINTS); /* to 14.7 */
        exact = tanh((double)x);
        worst_tanh = fmax(worst_tanh, fabs(tanh_of((double)x) - exact) / exact);
    }
    cr_expect_lt(worst_exp, 2e-7, "%.2g", worst_exp);
    cr_expect_lt(worst_tanh, 3e-7, "%.2g", worst_tanh);
    cr_expect(exp_of(0.0) == 1.0 && tanh_of(0.0) == 0.0);
    cr_expect(tanh_of(HUGE_VAL) == 1.0 && tanh_of(-HUGE_VAL) == -1.0);
    cr_expect(tanh_of(-0.3) == -tanh_of(0.3));
    cr_expect(exp_of(-HUGE_VAL) < 2e-38 && exp_of(-HUGE_VAL) >= 0.0);
    cr_expect(isnan(exp_of((double)NAN)) && isnan(tanh_of((double)NAN)));
}

/* 1 to 40 values, so that the last block has every length. */
Test(layers, curves_are_the_same_alone_and_among_others)
{
    float x[40];
    float found[41];
    for (int i = 0; i < 40; i++) {
        x[i] = -0.1F * (float)i;
    }
    for (int n = 1; n <= 40; n++) {
        found[n] = 5;
        gs_curve_tanh(x, found, n);
        cr_expect(found[n] == 5.0F);
        for (int i = 0; i < n; i++) {
            cr_expect((double)found[i] == tanh_of((double)x[i]));
        }
    }
}

/* 0, 1, 2, ... in lanes of eight, also where the last lane is not full: n (n - 1) / 2, and the
 * squares n (n - 1) (2 n - 1) / 6, exact in float. */
Test(layers, sums_take_every_value_once)
{
    float numbers[40];
    for (int i = 0; i < 40; i++) {
        numbers[i] = (float)i;
    }
    for (int n = 0; n <= 40; n++) {
        cr_expect(gs_sum(numbers, n) == (float)(n * (n - 1) / 2));
        cr_expect(gs_sum_squares(numbers, n, 0.0F) == (float)(n * (n - 1) * (2 * n - 1) / 6));
        cr_expect(gs_sum_products(numbers, numbers, n) == gs_sum_squares(numbers, n, 0.0F));
    }
    cr_expect(gs_sum_squares(numbers, 3, 1.0F) == 2.0F);
}
