#include <criterion/criterion.h>

#include "models/model.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

static gs_status build(const gs_int_list *hidden, int64_t inputs, int64_t classes, gs_network *out,
                       gs_error *err)
{
    gs_data_shape data = {.input = {1, 1, inputs},
                          .kind = GS_ANSWER_CLASS,
                          .answer_count = 1,
                          .answer_width = classes};
    const gs_model *mlp = gs_model_find("mlp");
    alignas(max_align_t) unsigned char config[GS_MODEL_CONFIG_BYTES];
    gs_config_defaults(mlp->config_table, config);
    size_t field = gs_config_find(mlp->config_table, "hidden");
    memcpy(config + mlp->config_table->fields[field].offset, hidden, sizeof *hidden);
    return mlp->build(config, &data, out, err);
}

Test(network, the_layer_table_counts_parameters_and_flops)
{
    gs_int_list hidden = {.count = 2, .values = {128, 32}};
    gs_network network;
    gs_error err;
    cr_assert_eq(build(&hidden, 64, 10, &network, &err), GS_OK);
    cr_expect_eq(network.layer_count, 5); /* a relu behind each hidden layer */
    cr_expect_str_eq(network.layers[0].name, "dense0");
    cr_expect_str_eq(network.layers[4].name, "dense2");
    /* 64 128 + 128 = 8320; 128 32 + 32 = 4128; 32 10 + 10 = 330 */
    cr_expect_eq(network.layers[0].parameter_count, 8320);
    cr_expect_eq(network.layers[2].parameter_count, 4128);
    cr_expect_eq(network.layers[4].parameter_count, 330);
    cr_expect_eq(network.parameter_count, 12778);
    /* a multiply-add per weight and an addition per bias: 2 64 128 + 128 */
    cr_expect_eq(network.layers[0].forward_flops, 16512);
    cr_expect_eq(network.layers[4].forward_flops, 650);
}

Test(network, more_parameters_than_a_vector_may_have_are_refused)
{
    gs_int_list hidden = {.count = 3, .values = {1024, 65536, 65536}};
    gs_network network;
    gs_error err;
    /* dense1: 1025 65536 = 67 million is fine; dense2: 65537 65536 = 4.3e9 is not */
    cr_assert_eq(build(&hidden, 64, 10, &network, &err), GS_ELIMIT);
    cr_expect_str_eq(err.text, "model is too large after layer 4 (relu1): more than 1073741824 "
                               "parameters or values of a sample, or more than 192 layers; use a "
                               "smaller one");
}

Test(network, weights_start_within_their_bound_and_biases_at_zero)
{
    gs_int_list hidden = {.count = 1, .values = {50}};
    gs_network network;
    gs_error err;
    cr_assert_eq(build(&hidden, 46, 10, &network, &err), GS_OK);
    static float parameters[46 * 50 + 50 + 50 * 10 + 10];
    cr_assert_eq(network.parameter_count, (int64_t)(sizeof parameters / sizeof parameters[0]));
    gs_network_init(&network, 5, parameters);
    /* sqrt(6 / (46 + 50)) = 1/4. The mean of 2300 uniform values in +-1/4 has a standard deviation
     * of 1/4 / sqrt(3) / sqrt(2300) = 0.0030, their variance is 1/48 within 2 % or so. */
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < 46 * 50; i++) {
        cr_assert(fabsf(parameters[i]) <= 0.25F);
        sum += (double)parameters[i];
        squares += (double)parameters[i] * (double)parameters[i];
    }
    cr_expect_lt(fabs(sum / 2300), 0.015);
    cr_expect_float_eq(squares / 2300, 1.0 / 48, 0.002);
    for (int i = 46 * 50; i < 46 * 50 + 50; i++) {
        cr_assert(parameters[i] == 0.0F);
    }
    for (size_t i = sizeof parameters / sizeof parameters[0] - 10;
         i < sizeof parameters / sizeof parameters[0]; i++) {
        cr_assert(parameters[i] == 0.0F);
    }
}

/* Two inputs, two hidden, two classes. W1 = [1 2; -1 1], b1 = [0 1]; W2 = [1 0; 0 1], b2 = [0 0].
 * For x = (1, 1): z = (3, 1), both open; outputs (3, 1), label 1: loss = ln(1 + e^2). The softmax
 * is (s, 1 - s) with s = 1 / (1 + e^-2), so delta2 = (s, -s); dW2 = delta2 (3, 1); delta1 = W2^T
 * delta2 = (s, -s); dW1 = delta1 (1, 1). Then x = (-4, 1): z = (-2, 6), the first gate is shut. */
Test(network, two_layers_worked_by_hand)
{
    gs_int_list hidden = {.count = 1, .values = {2}};
    gs_network network;
    gs_error err;
    cr_assert_eq(build(&hidden, 2, 2, &network, &err), GS_OK);
    const float parameters[12] = {1, 2, -1, 1, 0, 1, 1, 0, 0, 1, 0, 0};
    float workspace[64];
    cr_assert_leq(gs_network_workspace_bytes(&network, 1), sizeof workspace);
    float gradient[12];
    const float inputs[2] = {1, 1};
    const uint8_t label = 1;
    gs_network_pass pass = {.parameters = parameters,
                            .batch = {.inputs = inputs, .labels = &label, .count = 1},
                            .workspace = workspace};
    double loss = gs_network_gradient(&network, &pass, gradient);
    cr_expect_float_eq(loss, log(1 + exp(2)), 1e-12);
    double s = 1 / (1 + exp(-2));
    const double wanted[12] = {s, s, -s, -s, s, -s, 3 * s, s, -3 * s, -s, s, -s};
    for (int i = 0; i < 12; i++) {
        cr_expect_float_eq((double)gradient[i], wanted[i], 3e-7, "%d: %g", i, (double)gradient[i]);
    }
    const float shut[2] = {-4, 1};
    pass.batch.inputs = shut;
    gs_network_gradient(&network, &pass, gradient);
    cr_expect(gradient[0] == 0.0F && gradient[1] == 0.0F && gradient[4] == 0.0F);
    cr_expect(gradient[2] != 0.0F && gradient[3] != 0.0F && gradient[5] != 0.0F);
}

Test(network, a_chain_without_hidden_layers_is_softmax_regression)
{
    const gs_model *mlp = gs_model_find("mlp");
    const gs_model *softmax = gs_model_find("softmax");
    const gs_int_list none = {.count = 0}; /* the whole config of an mlp */
    const gs_data_shape data = {
        .input = {1, 1, 6}, .kind = GS_ANSWER_CLASS, .answer_count = 1, .answer_width = 3};
    gs_network a;
    gs_network b;
    gs_error err;
    cr_assert_eq(mlp->build(&none, &data, &a, &err), GS_OK);
    cr_assert_eq(softmax->build(NULL, &data, &b, &err), GS_OK);
    cr_expect_eq(a.layer_count, 1);
    cr_expect_eq(a.parameter_count, b.parameter_count);
    float of_mlp[21];
    float of_softmax[21];
    gs_network_init(&a, 9, of_mlp);
    gs_network_init(&b, 9, of_softmax);
    cr_expect(memcmp(of_mlp, of_softmax, sizeof of_mlp) == 0);
}
