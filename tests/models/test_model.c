/* What every model of the registry must do, whatever it computes. */
#include <criterion/criterion.h>

#include "models/model.h"
#include "tests/models/network_fixture.h"

#include <stdalign.h>
#include <stdio.h>

enum { BATCH = 7 };

/* One data set of each kind there is; a model is tried on each one that it takes. */
static const gs_data_shape shapes[] = {
    {.input = {2, 7, 6}, .kind = GS_ANSWER_CLASS, .answer_count = 1, .answer_width = 4},
    {.input = {1, 1, 9}, .kind = GS_ANSWER_REAL, .answer_count = 1, .answer_width = 1},
    {.input = {1, 1, 6},
     .is_tokens = true,
     .kind = GS_ANSWER_CLASS,
     .answer_count = 6,
     .answer_width = 5},
};
static const char *const shape_names[] = {"images", "numbers", "text"};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* false: the model does not take such data. Keys and texts of the config in turn, NULL at the end.
 */
static bool setup(specimen *s, const gs_model *model, int shape, const char *const *settings)
{
    memset(s, 0, sizeof *s);
    alignas(max_align_t) unsigned char config[GS_MODEL_CONFIG_BYTES];
    gs_config_defaults(model->config_table, config);
    gs_error err;
    for (; settings != NULL && *settings != NULL; settings += 2) {
        cr_assert_eq(
            gs_config_set_text(model->config_table, config, settings[0], settings[1], &err), GS_OK,
            "%s", err.text);
    }
    gs_status status = model->build(config, &shapes[shape], &s->network, &err);
    cr_assert(status == GS_OK || status == GS_EINVAL, "%s", err.text);
    if (status == GS_OK) {
        specimen_fill(s, BATCH);
    }
    return status == GS_OK;
}

/* Calls check for every model with its defaults on all the data that it takes. */
static void each_model(void (*check)(specimen *s, const char *text))
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        int taken = 0;
        for (int shape = 0; shape < SHAPES; shape++) {
            specimen s;
            if (setup(&s, gs_model_at(i), shape, NULL)) {
                char text[64];
                snprintf(text, sizeof text, "%s on %s", gs_model_at(i)->name, shape_names[shape]);
                check(&s, text);
                specimen_free(&s);
                taken++;
            }
        }
        cr_expect_gt(taken, 0, "%s takes no data", gs_model_at(i)->name);
    }
}

Test(model, gradients_agree_with_central_differences)
{
    each_model(specimen_check);
}

/* The settings that change what a model is made of. */
Test(model, gradients_agree_with_every_setting)
{
    static const struct {
        const char *model;
        int shape;
        const char *settings[9];
    } cases[] = {
        {"mlp", 0, {"hidden", "6"}},
        {"mlp", 0, {"hidden", "11/6"}},
        {"mlp", 0, {"hidden", "8/7/6/5"}},
        {"mlp", 1, {"hidden", "12", "activation", "tanh"}},
        {"mlp", 0, {"hidden", "9/12", "activation", "gelu"}},
        {"cnn", 0, {"channels", "4", "groups", "1", "kernel", "5"}},
        {"cnn", 0, {"channels", "6/6", "groups", "3", "kernel", "1", "pooling", "average"}},
        {"cnn", 0, {"channels", "4/6", "groups", "2", "kernel", "1", "residual", "true"}},
        {"gpt", 2, {"layers", "1", "heads", "1", "width", "8"}},
        {"gpt", 2, {"layers", "3", "heads", "3", "width", "12"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        specimen s;
        char text[64];
        snprintf(text, sizeof text, "%s, case %d", cases[i].model, (int)i);
        cr_assert(setup(&s, gs_model_find(cases[i].model), cases[i].shape, cases[i].settings));
        specimen_check(&s, text);
        specimen_free(&s);
    }
}

static void check_tiles(specimen *s, const char *text)
{
    int64_t next = 0;
    for (uint32_t l = 0; l < s->network.layer_count; l++) {
        const gs_layer *layer = &s->network.layers[l];
        cr_expect(layer->offset == next || layer->shares >= 0, "%s, layer %s", text, layer->name);
        cr_expect(layer->shares < 0 || layer->parameter_count == 0, "%s", text);
        next += layer->parameter_count;
    }
    cr_expect_eq(next, s->network.parameter_count, "%s", text);
    cr_expect_eq(s->network.layers[0].input_count, gs_extent_count(s->network.data.input));
    cr_expect_eq(s->network.layers[s->network.layer_count - 1].output_count,
                 s->network.data.answer_count * s->network.data.answer_width);
}

Test(model, layers_tile_the_parameters)
{
    each_model(check_tiles);
}

typedef struct witness {
    const specimen *specimen;
    const float *final; /* the gradient as it will be in the end */
    uint32_t next;      /* layers still to come */
} witness;

static void see_layer(void *context, uint32_t layer_index)
{
    witness *w = context;
    const gs_layer *layers = w->specimen->network.layers;
    cr_assert_gt(w->next, 0);
    do {
        w->next--;
    } while (w->next > 0 && layers[w->next].parameter_count == 0);
    cr_expect_eq(layer_index, w->next);
    const gs_layer *layer = &layers[layer_index];
    cr_expect(memcmp(w->specimen->gradient + layer->offset, w->final + layer->offset,
                     (size_t)layer->parameter_count * sizeof(float)) == 0,
              "layer %u was called ready before it was", (unsigned)layer_index);
}

static void check_order(specimen *s, const char *text)
{
    float *final = specimen_gradient(s);
    /* NaN: what is not written shows */
    memset(s->gradient, 0xff, (size_t)s->network.parameter_count * sizeof(float));
    witness w = {.specimen = s, .final = final, .next = s->network.layer_count};
    gs_network_pass pass = specimen_pass(s);
    pass.layer_ready = see_layer;
    pass.context = &w;
    (void)gs_network_gradient(&s->network, &pass, s->gradient);
    cr_expect_eq(w.next, 0, "%s", text);
    free(final);
}

Test(model, layers_become_ready_from_last_to_first_with_their_final_gradient)
{
    each_model(check_order);
}

static double norm_of(const float *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)values[i] * (double)values[i];
    }
    return sqrt(sum);
}

/* Products are added to the old value or summed first: a few roundings. */
static void check_accumulation(specimen *s, const char *text)
{
    int64_t count = s->network.parameter_count;
    float *once = specimen_gradient(s);
    float *twice = specimen_gradient(s);
    gs_network_pass pass = specimen_pass(s);
    pass.accumulate = true;
    (void)gs_network_gradient(&s->network, &pass, twice);
    double norm = norm_of(twice, count);
    for (int64_t k = 0; k < count; k++) {
        twice[k] -= 2.0F * once[k];
    }
    cr_expect_lt(norm_of(twice, count), 1e-6 * norm, "%s", text);
    free(once);
    free(twice);
}

Test(model, accumulation_adds_to_what_is_there)
{
    each_model(check_accumulation);
}

/* The mean over 7 batches of one sample is the gradient of one batch of 7. */
static void check_micro_batches(specimen *s, const char *text)
{
    int64_t count = s->network.parameter_count;
    const gs_data_shape *data = &s->network.data;
    float *whole = specimen_gradient(s);
    gs_network_pass pass = specimen_pass(s);
    double loss = specimen_loss(s);
    pass.batch.count = 1;
    for (int64_t i = 0; i < BATCH; i++) {
        pass.accumulate = i > 0;
        loss -= gs_network_gradient(&s->network, &pass, s->gradient) / BATCH;
        int64_t inputs = gs_extent_count(data->input);
        pass.batch.inputs = data->is_tokens ? NULL : pass.batch.inputs + inputs;
        pass.batch.tokens = data->is_tokens ? pass.batch.tokens + inputs : NULL;
        pass.batch.labels += data->answer_count;
        pass.batch.targets += data->answer_count;
    }
    double norm = norm_of(whole, count);
    for (int64_t k = 0; k < count; k++) {
        s->gradient[k] = s->gradient[k] / BATCH - whole[k];
    }
    double error = norm_of(s->gradient, count);
    cr_expect_lt(error, 1e-6 * norm, "%s: %.2g", text, error / norm);
    cr_expect_lt(fabs(loss), 1e-6, "%s", text);
    free(whole);
}

Test(model, micro_batches_add_up_to_the_large_batch)
{
    each_model(check_micro_batches);
}

static void check_start(specimen *s, const char *text)
{
    size_t bytes = (size_t)s->network.parameter_count * sizeof(float);
    gs_network_init(&s->network, 77, s->parameters);
    gs_network_init(&s->network, 77, s->gradient);
    cr_expect(memcmp(s->parameters, s->gradient, bytes) == 0, "%s", text);
    gs_network_init(&s->network, 78, s->gradient);
    cr_expect(memcmp(s->parameters, s->gradient, bytes) != 0, "%s", text);
}

Test(model, the_same_seed_starts_from_the_same_bytes_and_another_does_not)
{
    each_model(check_start);
}

static void check_not_numbers(specimen *s, const char *text)
{
    for (uint32_t l = 0; l < s->network.layer_count; l++) {
        if (s->network.layers[l].parameter_count > 0) {
            int64_t place = s->network.layers[l].offset;
            float kept = s->parameters[place];
            s->parameters[place] = NAN;
            gs_network_pass pass = specimen_pass(s);
            cr_expect(!isfinite(gs_network_gradient(&s->network, &pass, s->gradient)),
                      "%s, layer %s", text, s->network.layers[l].name);
            s->parameters[place] = kept;
        }
    }
}

Test(model, parameters_that_are_not_numbers_are_reported_by_the_loss)
{
    each_model(check_not_numbers);
}

static void expect_refusal(const char *model, int shape, const char *key, const char *text,
                           const char *wanted)
{
    alignas(max_align_t) unsigned char config[GS_MODEL_CONFIG_BYTES];
    static gs_network network;
    gs_error err;
    const gs_field_table *table = gs_model_find(model)->config_table;
    gs_config_defaults(table, config);
    if (key != NULL) {
        cr_assert_eq(gs_config_set_text(table, config, key, text, &err), GS_OK, "%s", err.text);
    }
    cr_expect_eq(gs_model_find(model)->build(config, &shapes[shape], &network, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, wanted);
}

Test(model, data_and_sizes_that_do_not_fit_are_refused_with_a_reason)
{
    expect_refusal("mlp", 2, NULL, NULL,
                   "mlp takes samples of numbers, and the data is text; choose model gpt or other "
                   "data");
    expect_refusal("gpt", 0, NULL, NULL,
                   "gpt reads text and says what comes next, and the data is no text; choose model "
                   "mlp or cnn, or data text");
    expect_refusal("softmax", 1, NULL, NULL,
                   "softmax tells classes apart, and the answers of the data are numbers; choose "
                   "model linear or mlp, or other data");
    expect_refusal("linear", 0, NULL, NULL,
                   "linear fits numbers, and the answers of the data are classes; choose model "
                   "softmax or mlp, or other data");
    expect_refusal("gpt", 2, "heads", "5",
                   "gpt: 5 heads do not divide width 64; use a width that is a multiple of heads");
    expect_refusal("cnn", 0, "kernel", "7",
                   "cnn: kernel 7 is larger than the 7 x 6 images of stage 0; use a smaller one, "
                   "fewer stages or larger images");
    expect_refusal("cnn", 0, "kernel", "4",
                   "cnn: kernel 4 is even; an odd one has a middle, so that images keep their "
                   "size");
    expect_refusal("cnn", 0, "groups", "3",
                   "cnn: 3 groups do not divide the 16 channels of stage 0; use channels that are "
                   "multiples of groups");
    expect_refusal("cnn", 1, NULL, NULL,
                   "cnn: kernel 3 is larger than the 1 x 9 images of stage 0; use a smaller one, "
                   "fewer stages or larger images");
}

Test(model, one_that_is_too_large_is_refused_wherever_it_grows_too_large)
{
    static gs_network network;
    gs_error err;
    alignas(max_align_t) unsigned char config[GS_MODEL_CONFIG_BYTES];
    const gs_model *gpt = gs_model_find("gpt");
    gs_config_defaults(gpt->config_table, config);
    cr_assert_eq(gs_config_set_text(gpt->config_table, config, "width", "8192", &err), GS_OK);
    cr_assert_eq(gs_config_set_text(gpt->config_table, config, "layers", "18", &err), GS_OK);
    cr_expect_eq(gpt->build(config, &shapes[2], &network, &err), GS_ELIMIT);
    const gs_model *cnn = gs_model_find("cnn");
    gs_config_defaults(cnn->config_table, config);
    cr_assert_eq(gs_config_set_text(cnn->config_table, config, "channels", "16384", &err),
                 GS_EINVAL); /* the bound of one stage */
    gs_data_shape large = shapes[0];
    large.input = (gs_extent){3, 16384, 16384};
    cr_assert_eq(gs_config_set_text(cnn->config_table, config, "residual", "true", &err), GS_OK);
    cr_expect_eq(cnn->build(config, &large, &network, &err), GS_ELIMIT);
}
