/* A network with random samples of its kind of data, and its gradient held against central
 * differences. */
#ifndef GS_TESTS_NETWORK_FIXTURE_H
#define GS_TESTS_NETWORK_FIXTURE_H

#include <criterion/criterion.h>

#include "base/rng.h"
#include "models/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 64 /* parameters of a layer that are tried; all where it has fewer */ };

typedef struct specimen {
    gs_network network; /* built by the test */
    gs_batch batch;
    float *inputs, *targets, *parameters, *gradient;
    uint8_t *tokens, *labels;
    void *workspace;
} specimen;

static const gs_rng_key specimen_random = {.seed = 20, .purpose = GS_RNG_TEST, .entity = 1};

static inline float specimen_uniform(uint64_t step, uint32_t index)
{
    return (float)(2.0 * gs_rng_uniform(specimen_random, step, index) - 1.0);
}

/* Inputs and targets in -1..1, tokens and labels; parameters as they start plus up to +-0.1, biases
 * too, so that nothing is symmetric. */
static inline void specimen_fill(specimen *s, int64_t samples)
{
    const gs_data_shape *data = &s->network.data;
    uint32_t inputs = (uint32_t)(samples * gs_extent_count(data->input));
    uint32_t answers = (uint32_t)(samples * data->answer_count);
    uint32_t parameters = (uint32_t)s->network.parameter_count;
    s->inputs = malloc(inputs * sizeof(float));
    s->tokens = malloc(inputs);
    s->targets = malloc(answers * sizeof(float));
    s->labels = malloc(answers);
    s->parameters = calloc(parameters + 1, sizeof(float));
    s->gradient = calloc(parameters + 1, sizeof(float));
    s->workspace = malloc(gs_network_workspace_bytes(&s->network, samples));
    cr_assert(s->inputs != NULL && s->tokens != NULL && s->targets != NULL && s->labels != NULL);
    cr_assert(s->parameters != NULL && s->gradient != NULL && s->workspace != NULL);
    for (uint32_t i = 0; i < inputs; i++) {
        s->inputs[i] = specimen_uniform(0, i);
        s->tokens[i] = (uint8_t)(gs_rng_bits(specimen_random, 3, i) % (uint64_t)data->answer_width);
    }
    for (uint32_t i = 0; i < answers; i++) {
        s->targets[i] = specimen_uniform(4, i);
        s->labels[i] = (uint8_t)(gs_rng_bits(specimen_random, 1, i) % (uint64_t)data->answer_width);
    }
    gs_network_init(&s->network, 31, s->parameters);
    for (uint32_t i = 0; i < parameters; i++) {
        s->parameters[i] += 0.1F * specimen_uniform(2, i);
    }
    s->batch = (gs_batch){.inputs = data->is_tokens ? NULL : s->inputs,
                          .tokens = data->is_tokens ? s->tokens : NULL,
                          .labels = s->labels,
                          .targets = s->targets,
                          .count = samples};
}

static inline void specimen_free(specimen *s)
{
    free(s->inputs);
    free(s->tokens);
    free(s->targets);
    free(s->labels);
    free(s->parameters);
    free(s->gradient);
    free(s->workspace);
}

static inline gs_network_pass specimen_pass(const specimen *s)
{
    return (gs_network_pass){
        .parameters = s->parameters, .batch = s->batch, .workspace = s->workspace};
}

/* Mean loss. */
static inline double specimen_loss(const specimen *s)
{
    gs_network_pass pass = specimen_pass(s);
    int64_t correct = 0;
    return gs_network_evaluate(&s->network, &pass, &correct) /
           (double)(s->batch.count * s->network.data.answer_count);
}

/* A gradient that something is compared with. Owner: the caller. */
static inline float *specimen_gradient(const specimen *s)
{
    float *gradient = malloc((size_t)s->network.parameter_count * sizeof(float));
    cr_assert_not_null(gradient);
    gs_network_pass pass = specimen_pass(s);
    (void)gs_network_gradient(&s->network, &pass, gradient);
    return gradient;
}

/* Does a network have a kind of layer with corners, where a slope jumps? */
static inline bool specimen_has_corners(const specimen *s)
{
    for (uint32_t l = 0; l < s->network.layer_count; l++) {
        const char *kind = s->network.layers[l].kind->name;
        if (strcmp(kind, "relu") == 0 || strcmp(kind, "max_pool") == 0) {
            return true;
        }
    }
    return false;
}

/* Central differences: (L(p + h) - L(p - h)) / 2h. The cut-off error is of order h^2 and float
 * outputs (6e-8 of about 1) leave noise of order 6e-8 / h in a slope, against gradients of about
 * 1e-1. Smooth networks take h = 2^-8: 1e-5 and 1e-5. With corners h = 2^-11: 2e-7 and 1e-4.
 * Relative errors per layer (in the 2-norm) are 1e-5 to 4e-4 and 2e-5 to 2e-3 as measured; the
 * bound of 5e-3 is far below any wrong formula. Where a ReLU switches inside p +- h there is no
 * slope. It shows in the second difference: h^2 times a curvature below 1 where nothing switches, h
 * times a jump of slope where something does. Such parameters are passed over, and must be rare. */
static inline void specimen_check_layer(specimen *s, const gs_layer *layer, double loss,
                                        const char *text)
{
    bool corners = specimen_has_corners(s);
    const float h = corners ? 0x1p-11F : 0x1p-8F;
    int64_t count = layer->parameter_count;
    int64_t tried = count < PLACES_MAX ? count : PLACES_MAX;
    double error = 0;
    double norm = 0;
    int64_t kinks = 0;
    for (int64_t k = 0; k < tried; k++) {
        int64_t i = layer->offset + k * count / tried;
        float kept = s->parameters[i];
        float above = kept + h;
        float below = kept - h;
        s->parameters[i] = above;
        double loss_above = specimen_loss(s);
        s->parameters[i] = below;
        double loss_below = specimen_loss(s);
        s->parameters[i] = kept;
        if (corners && fabs(loss_above - 2 * loss + loss_below) > 2.5e-7) {
            kinks++;
            continue;
        }
        double slope = (loss_above - loss_below) / ((double)above - (double)below);
        error += pow(slope - (double)s->gradient[i], 2);
        norm += pow(slope, 2);
    }
    double relative = sqrt(error / norm);
    cr_expect_lt(relative, 5e-3, "%s, layer %s: relative error %.2g", text, layer->name, relative);
    cr_expect_gt(norm, 1e-5, "%s, layer %s: no gradient to check", text, layer->name);
    cr_expect_leq(kinks * 3, tried, "%s, layer %s: %d kinks", text, layer->name, (int)kinks);
}

static inline void specimen_check(specimen *s, const char *text)
{
    gs_network_pass pass = specimen_pass(s);
    double loss = gs_network_gradient(&s->network, &pass, s->gradient);
    cr_expect_float_eq(loss, specimen_loss(s), 1e-12);
    for (uint32_t l = 0; l < s->network.layer_count; l++) {
        if (s->network.layers[l].parameter_count > 0) {
            specimen_check_layer(s, &s->network.layers[l], loss, text);
        }
    }
}

#endif
