/* What every model of the registry must do, whatever it computes. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "models/model.h"

#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 9, CLASSES = 4, BATCH = 7 };

static const gs_data_shape data_shape = {
    .input = {1, 3, 3}, .kind = GS_ANSWER_CLASS, .answer_count = 1, .answer_width = CLASSES};

typedef struct specimen {
    const gs_model *model;
    alignas(max_align_t) unsigned char config[GS_MODEL_CONFIG_BYTES];
    gs_network network;
    float inputs[BATCH * INPUTS];
    uint8_t labels[BATCH];
    float *parameters, *gradient;
    void *workspace;
} specimen;

/* Random inputs in -1..1 and labels; parameters away from 0, biases too, so that nothing is
 * symmetric. */
static void setup(specimen *s, const gs_model *model, const char *key, const char *text)
{
    memset(s, 0, sizeof *s);
    s->model = model;
    gs_config_defaults(model->config_table, s->config);
    gs_error err;
    if (key != NULL) {
        cr_assert_eq(gs_config_set_text(model->config_table, s->config, key, text, &err), GS_OK,
                     "%s", err.text);
    }
    cr_assert_eq(model->build(s->config, &data_shape, &s->network, &err), GS_OK);
    gs_rng_key random = {.seed = 20, .purpose = GS_RNG_TEST, .entity = 1};
    for (uint32_t i = 0; i < BATCH * INPUTS; i++) {
        s->inputs[i] = (float)(2.0 * gs_rng_uniform(random, 0, i) - 1.0);
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        s->labels[i] = (uint8_t)(gs_rng_bits(random, 1, i) % CLASSES);
    }
    size_t count = (size_t)s->network.parameter_count;
    s->parameters = calloc(count, sizeof(float));
    s->gradient = calloc(count, sizeof(float));
    s->workspace = malloc(gs_network_workspace_bytes(&s->network, BATCH));
    cr_assert(s->parameters != NULL && s->gradient != NULL && s->workspace != NULL);
    gs_network_init(&s->network, 31, s->parameters);
    for (uint32_t i = 0; i < count; i++) {
        s->parameters[i] += (float)(0.2 * gs_rng_uniform(random, 2, i) - 0.1);
    }
}

static void teardown(specimen *s)
{
    free(s->parameters);
    free(s->gradient);
    free(s->workspace);
}

static gs_network_pass pass_of(const specimen *s)
{
    return (gs_network_pass){.parameters = s->parameters,
                             .batch = {.inputs = s->inputs, .labels = s->labels, .count = BATCH},
                             .workspace = s->workspace};
}

static double loss_at(const specimen *s)
{
    gs_network_pass pass = pass_of(s);
    int64_t correct = 0;
    return gs_network_evaluate(&s->network, &pass, &correct) / BATCH;
}

/* Central differences: (L(p + h) - L(p - h)) / 2h. With h = 2^-11 the cut-off error is of order h^2
 * = 2e-7 and float outputs (6e-8 of about 1) leave noise of order 6e-8 / h = 1e-4 for a parameter,
 * against gradients of about 1e-1: relative errors per layer (in the 2-norm) are 1e-5 to 6e-4 as
 * measured, the bound of 2e-3 is far below any wrong formula. A ReLU that switches inside p +- h
 * has no slope there. It shows in the second difference: h^2 times a curvature of about 1 where
 * nothing switches, h times a jump of slope where something does. Such parameters are passed over,
 * and must be rare. */
static void check_layer(specimen *s, const gs_layer *layer, double loss, const char *text)
{
    const float h = 0x1p-11F;
    double error = 0;
    double norm = 0;
    int64_t kinks = 0;
    for (int64_t i = layer->offset; i < layer->offset + layer->parameter_count; i++) {
        float kept = s->parameters[i];
        float above = kept + h;
        float below = kept - h;
        s->parameters[i] = above;
        double loss_above = loss_at(s);
        s->parameters[i] = below;
        double loss_below = loss_at(s);
        s->parameters[i] = kept;
        if (fabs(loss_above - 2 * loss + loss_below) > 1e-6) {
            kinks++;
            continue;
        }
        double slope = (loss_above - loss_below) / ((double)above - (double)below);
        error += pow(slope - (double)s->gradient[i], 2);
        norm += pow(slope, 2);
    }
    double relative = sqrt(error / norm);
    cr_expect_lt(relative, 2e-3, "%s %s, layer %s: relative error %.2g", s->model->name, text,
                 layer->name, relative);
    cr_expect_gt(norm, 1e-4, "%s, layer %s: no gradient to check", s->model->name, layer->name);
    cr_expect_leq(kinks * 20, layer->parameter_count, "%s %s, layer %s: %d kinks", s->model->name,
                  text, layer->name, (int)kinks);
}

static void check_gradient(const gs_model *model, const char *key, const char *text)
{
    specimen s;
    setup(&s, model, key, text);
    gs_network_pass pass = pass_of(&s);
    double loss = gs_network_gradient(&s.network, &pass, s.gradient);
    cr_expect_float_eq(loss, loss_at(&s), 1e-12);
    for (uint32_t l = 0; l < s.network.layer_count; l++) {
        if (s.network.layers[l].parameter_count > 0) {
            check_layer(&s, &s.network.layers[l], loss, text);
        }
    }
    teardown(&s);
}

Test(model, gradients_agree_with_central_differences)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        check_gradient(gs_model_at(i), NULL, "default");
    }
}

Test(model, gradients_agree_at_any_depth)
{
    const gs_model *mlp = gs_model_find("mlp");
    check_gradient(mlp, "hidden", "6");
    check_gradient(mlp, "hidden", "11/6");
    check_gradient(mlp, "hidden", "8/7/6/5");
}

Test(model, layers_tile_the_parameters)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        specimen s;
        setup(&s, gs_model_at(i), NULL, NULL);
        int64_t next = 0;
        for (uint32_t l = 0; l < s.network.layer_count; l++) {
            cr_expect(s.network.layers[l].offset == next || s.network.layers[l].shares >= 0);
            next += s.network.layers[l].parameter_count;
        }
        cr_expect_eq(next, s.network.parameter_count);
        cr_expect_eq(s.network.layers[0].input_count, INPUTS);
        cr_expect_eq(s.network.layers[s.network.layer_count - 1].output_count, CLASSES);
        teardown(&s);
    }
}

typedef struct witness {
    const specimen *specimen;
    const float *final; /* the gradient as it will be in the end */
    uint32_t next;      /* layers still to come */
} witness;

static void see_layer(void *context, uint32_t layer_index)
{
    witness *w = context;
    cr_assert_gt(w->next, 0);
    do {
        w->next--;
    } while (w->next > 0 && w->specimen->network.layers[w->next].parameter_count == 0);
    cr_expect_eq(layer_index, w->next);
    const gs_layer *layer = &w->specimen->network.layers[layer_index];
    cr_expect(memcmp(w->specimen->gradient + layer->offset, w->final + layer->offset,
                     (size_t)layer->parameter_count * sizeof(float)) == 0,
              "layer %u was called ready before it was", (unsigned)layer_index);
}

Test(model, layers_become_ready_from_last_to_first_with_their_final_gradient)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        specimen s;
        setup(&s, gs_model_at(i), NULL, NULL);
        size_t bytes = (size_t)s.network.parameter_count * sizeof(float);
        gs_network_pass pass = pass_of(&s);
        gs_network_gradient(&s.network, &pass, s.gradient);
        float *final = malloc(bytes);
        cr_assert_not_null(final);
        memcpy(final, s.gradient, bytes);
        memset(s.gradient, 0xff, bytes); /* NaN: what is not written shows */
        witness w = {.specimen = &s, .final = final, .next = s.network.layer_count};
        pass.layer_ready = see_layer;
        pass.context = &w;
        gs_network_gradient(&s.network, &pass, s.gradient);
        cr_expect_eq(w.next, 0);
        free(final);
        teardown(&s);
    }
}

Test(model, accumulation_adds_to_what_is_there)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        specimen s;
        setup(&s, gs_model_at(i), NULL, NULL);
        size_t count = (size_t)s.network.parameter_count;
        float *twice = malloc(count * sizeof(float));
        cr_assert_not_null(twice);
        gs_network_pass pass = pass_of(&s);
        gs_network_gradient(&s.network, &pass, s.gradient);
        memcpy(twice, s.gradient, count * sizeof(float));
        pass.accumulate = true;
        gs_network_gradient(&s.network, &pass, twice);
        /* Products are added to the old value or summed first: a few roundings of numbers below 1.
         */
        for (size_t k = 0; k < count; k++) {
            cr_assert_float_eq((double)twice[k], 2.0 * (double)s.gradient[k], 1e-6);
        }
        free(twice);
        teardown(&s);
    }
}

Test(model, the_same_seed_starts_from_the_same_bytes_and_another_does_not)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        specimen s;
        setup(&s, gs_model_at(i), NULL, NULL);
        size_t bytes = (size_t)s.network.parameter_count * sizeof(float);
        gs_network_init(&s.network, 77, s.parameters);
        gs_network_init(&s.network, 77, s.gradient);
        cr_expect(memcmp(s.parameters, s.gradient, bytes) == 0, "%s", s.model->name);
        gs_network_init(&s.network, 78, s.gradient);
        cr_expect(memcmp(s.parameters, s.gradient, bytes) != 0, "%s", s.model->name);
        teardown(&s);
    }
}

Test(model, parameters_that_are_not_numbers_are_reported_by_the_loss)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        specimen s;
        setup(&s, gs_model_at(i), NULL, NULL);
        for (uint32_t l = 0; l < s.network.layer_count; l++) {
            if (s.network.layers[l].parameter_count == 0) {
                continue;
            }
            int64_t place = s.network.layers[l].offset;
            float kept = s.parameters[place];
            s.parameters[place] = NAN;
            gs_network_pass pass = pass_of(&s);
            cr_expect(!isfinite(gs_network_gradient(&s.network, &pass, s.gradient)), "%s, layer %u",
                      s.model->name, (unsigned)l);
            s.parameters[place] = kept;
        }
        teardown(&s);
    }
}
