/* Each rule against numbers derived by hand, and against a plain implementation in doubles that
 * follows the published algorithm line by line and shares nothing with ours. */
#include <criterion/criterion.h>

#include "models/network.h"
#include "models/optimizer.h"
#include "models/optimizer_rules.h"

#include <math.h>
#include <string.h>

enum { COUNT = 3, STEPS = 20, STATE_MAX = 2 * COUNT + 2 };

static gs_optimizer_config usual(void)
{
    gs_optimizer_config config;
    gs_config_defaults(&gs_optimizer_config_table, &config);
    return config;
}

/* A bowl that is not round, with a pull that changes from step to step. */
static double slope(int i, double x, int step)
{
    return (0.3 + 0.7 * i) * (x - 1.1) + 0.2 * sin(1.7 * step + i);
}

static const double start[COUNT] = {2.385, -1.217, 0.731};

/* ---------------------------------------------------------------- references */

typedef void reference(const gs_optimizer_config *config, int step, double *x, const double *g,
                       double *a, double *b);

/* PyTorch's SGD: the buffer starts as the first gradient, which is what 0 gives too. */
static void sgd(const gs_optimizer_config *c, int step, double *x, const double *g, double *a,
                double *b)
{
    (void)step, (void)b;
    for (int i = 0; i < COUNT; i++) {
        double d = g[i] + c->weight_decay * x[i];
        a[i] = c->momentum * a[i] + d;
        double direction = c->nesterov ? d + c->momentum * a[i] : a[i];
        x[i] = x[i] - c->rate * direction;
    }
}

static void adam(const gs_optimizer_config *c, int step, double *x, const double *g, double *a,
                 double *b)
{
    bool apart = c->kind == GS_ADAMW;
    for (int i = 0; i < COUNT; i++) {
        double d = g[i];
        if (apart) {
            x[i] = x[i] - c->rate * c->weight_decay * x[i];
        } else {
            d += c->weight_decay * x[i];
        }
        a[i] = c->beta1 * a[i] + (1.0 - c->beta1) * d;
        b[i] = c->beta2 * b[i] + (1.0 - c->beta2) * d * d;
        double mean = a[i] / (1.0 - pow(c->beta1, step + 1));
        double square = b[i] / (1.0 - pow(c->beta2, step + 1));
        x[i] = x[i] - c->rate * mean / (sqrt(square) + c->epsilon);
    }
}

/* Layers of the test's network: [0, 1) and [1, 3). */
static void lars(const gs_optimizer_config *c, int step, double *x, const double *g, double *a,
                 double *b)
{
    static const int from[2] = {0, 1}, to[2] = {1, 3};
    (void)step, (void)b;
    for (int layer = 0; layer < 2; layer++) {
        double weights = 0.0, gradients = 0.0;
        for (int i = from[layer]; i < to[layer]; i++) {
            weights += x[i] * x[i];
            gradients += g[i] * g[i];
        }
        double local =
            c->trust * sqrt(weights) / (sqrt(gradients) + c->weight_decay * sqrt(weights));
        for (int i = from[layer]; i < to[layer]; i++) {
            a[i] = c->momentum * a[i] + local * (g[i] + c->weight_decay * x[i]);
            x[i] = x[i] - c->rate * a[i];
        }
    }
}

static const gs_network network = {
    .parameter_count = COUNT,
    .layer_count = 3,
    .layers = {{.offset = 0, .parameter_count = 1},
               {.offset = 1, .parameter_count = 0}, /* an activation */
               {.offset = 1, .parameter_count = 2}}};

static void expect_like(const gs_optimizer_config *config, reference *rule)
{
    double wanted[COUNT], g[COUNT], a[COUNT] = {0}, b[COUNT] = {0};
    float x[COUNT], gradient[COUNT], state[STATE_MAX] = {0};
    for (int i = 0; i < COUNT; i++) {
        wanted[i] = start[i];
        x[i] = (float)start[i];
    }
    gs_optimizer_update update = {.parameters = x,
                                  .gradient = gradient,
                                  .state = state,
                                  .parameter_count = COUNT,
                                  .count = COUNT,
                                  .network = &network,
                                  .rate_scale = 1.0};
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            g[i] = slope(i, wanted[i], step);
            gradient[i] = (float)slope(i, (double)x[i], step);
        }
        rule(config, step, wanted, g, a, b);
        update.updates = step;
        cr_assert(gs_optimizer_apply(config, &update));
        for (int i = 0; i < COUNT; i++) {
            /* Every step rounds a few times to 6e-8 of numbers below 3. */
            cr_assert(fabs((double)x[i] - wanted[i]) < 1e-5, "step %d, %d: %.9g, not %.9g", step, i,
                      (double)x[i], wanted[i]);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        cr_expect_gt(fabs(wanted[i] - start[i]), 1e-3); /* it went somewhere */
    }
}

Test(optimizer_rules, sgd_follows_its_reference)
{
    gs_optimizer_config config = usual();
    expect_like(&config, sgd);
    config.weight_decay = 0.013;
    config.momentum = 0.7;
    expect_like(&config, sgd);
    config.nesterov = true;
    expect_like(&config, sgd);
    config.momentum = 0.0; /* then there is nothing to look ahead along */
    expect_like(&config, sgd);
}

Test(optimizer_rules, adam_and_adamw_follow_their_reference)
{
    gs_optimizer_config config = usual();
    config.rate = 0.037;
    for (config.kind = GS_ADAM; config.kind <= GS_ADAMW; config.kind++) {
        config.weight_decay = 0.0;
        expect_like(&config, adam);
        config.weight_decay = 0.21;
        config.beta1 = 0.8;
        config.beta2 = 0.95;
        config.epsilon = 1e-3;
        expect_like(&config, adam);
    }
}

Test(optimizer_rules, lars_follows_its_reference)
{
    gs_optimizer_config config = usual();
    config.kind = GS_LARS;
    config.trust = 0.02;
    config.weight_decay = 0.05;
    expect_like(&config, lars);
    config.momentum = 0.0;
    config.rate = 0.9;
    expect_like(&config, lars);
}

/* ---------------------------------------------------------------- by hand */

static gs_optimizer_update one(float *x, const float *g, float *state)
{
    static const gs_network network_of_one = {
        .parameter_count = 1, .layer_count = 1, .layers = {{.parameter_count = 1}}};
    return (gs_optimizer_update){.parameters = x,
                                 .gradient = g,
                                 .state = state,
                                 .parameter_count = 1,
                                 .count = 1,
                                 .network = &network_of_one,
                                 .rate_scale = 1.0};
}

Test(optimizer_rules, nesterov_steps_along_the_gradient_and_the_next_velocity)
{
    gs_optimizer_config config = usual();
    config.rate = 0.5;
    config.momentum = 0.5;
    config.nesterov = true;
    float x = 1, v = 0, g = 4;
    gs_optimizer_update update = one(&x, &g, &v);
    gs_optimizer_apply(&config, &update); /* v = 4, x = 1 - (4 + 2) / 2 */
    cr_expect(v == 4.0F && x == -2.0F, "%g %g", (double)v, (double)x);
    g = -1;
    gs_optimizer_apply(&config, &update); /* v = 2 - 1, x = -2 - (-1 + 1/2) / 2 */
    cr_expect(v == 1.0F && x == -1.75F, "%g %g", (double)v, (double)x);
}

/* The first corrected mean is g and the first corrected square g^2: a step of the rate, whatever
 * the gradient. The second with beta1 = 1/2, beta2 = 3/4 and g = 0: m = g/4, corrected by 1 - 1/4
 * to g/3; v = 3/16 g^2, corrected by 1 - 9/16 to 3/7 g^2: a step of sqrt(7/3) / 3 = 0.5091751
 * rates. */
Test(optimizer_rules, the_first_steps_of_adam_do_not_depend_on_the_size_of_gradients)
{
    gs_optimizer_config config = usual();
    config.kind = GS_ADAM;
    config.rate = 0.25;
    config.beta1 = 0.5;
    config.beta2 = 0.75;
    for (float size = 0.001F; size < 2000.0F; size *= 1000.0F) {
        float x = 1, state[2] = {0}, g = size;
        gs_optimizer_update update = one(&x, &g, state);
        gs_optimizer_apply(&config, &update);
        cr_expect(fabsf(x - 0.75F) < 1e-5F, "%g", (double)x);
        g = 0;
        update.updates = 1;
        gs_optimizer_apply(&config, &update);
        cr_expect(fabsf(x - (0.75F - 0.25F * 0.5091751F)) < 1e-5F, "%g", (double)x);
    }
}

/* The L2 of adam goes through the root and is a step of one rate however small the decay; adamw
 * takes rate times decay off. */
Test(optimizer_rules, adamw_decays_weights_apart_from_the_gradient)
{
    gs_optimizer_config config = usual();
    config.rate = 0.5;
    config.weight_decay = 0.25;
    const float g = 0;
    float x = 8, state[2] = {0};
    gs_optimizer_update update = one(&x, &g, state);
    config.kind = GS_ADAMW;
    gs_optimizer_apply(&config, &update); /* 8 (1 - 1/8) */
    cr_expect_eq(x, 7.0F);
    x = 8;
    memset(state, 0, sizeof state);
    config.kind = GS_ADAM;
    gs_optimizer_apply(&config, &update);
    cr_expect(fabsf(x - 7.5F) < 1e-5F, "%g", (double)x);
}

/* |w| = 8, |g| = 2: with trust 1/4 and decay 1/4 the layer's rate is 2 / (2 + 2) = 1/2, the step
 * 1/2 (2 + 2). */
Test(optimizer_rules, lars_scales_a_layer_by_its_norms)
{
    gs_optimizer_config config = usual();
    config.kind = GS_LARS;
    config.rate = 1.0;
    config.momentum = 0.0;
    config.trust = 0.25;
    config.weight_decay = 0.25;
    const float g = 2;
    float x = 8;
    gs_optimizer_update update = one(&x, &g, NULL);
    gs_optimizer_apply(&config, &update);
    cr_expect_eq(x, 6.0F);
    x = 0; /* a layer of zeros moves by plain steps */
    gs_optimizer_apply(&config, &update);
    cr_expect_eq(x, -2.0F);
}

/* 0.9^2000 is 3e-92, far below the floats; without an end the average would stay at 2^-149, which
 * is 0.9 of itself rounded. */
Test(optimizer_rules, an_average_without_gradients_ends_at_0)
{
    static const int kinds[] = {GS_SGD, GS_ADAM};
    for (size_t i = 0; i < 2; i++) {
        gs_optimizer_config config = usual();
        config.kind = kinds[i];
        config.rate = 1e-3;
        config.momentum = 0.9;
        float state[STATE_MAX] = {1.0F, 1.0F};
        const float g = 0;
        float x = 2;
        gs_optimizer_update update = one(&x, &g, state);
        for (update.updates = 0; update.updates < 2000; update.updates++) {
            gs_optimizer_apply(&config, &update);
        }
        cr_expect_eq(state[0], 0.0F, "%g", (double)state[0]);
    }
}

/* ---------------------------------------------------------------- around the rules */

Test(optimizer_rules, a_long_gradient_is_clipped_to_its_norm)
{
    gs_optimizer_config config = usual();
    config.rate = 1.0;
    config.momentum = 0.0;
    config.clip = 1.0;
    float x[2] = {0, 0};
    float g[2] = {3, -4}; /* norm 5 */
    gs_optimizer_update update = {
        .parameters = x, .gradient = g, .parameter_count = 2, .count = 2, .rate_scale = 1.0};
    gs_optimizer_apply(&config, &update);
    cr_expect(fabsf(x[0] + 0.6F) < 1e-6F && fabsf(x[1] - 0.8F) < 1e-6F, "%g %g", (double)x[0],
              (double)x[1]);
    config.clip = 6.0; /* longer than the gradient: not touched at all */
    x[0] = x[1] = 0;
    gs_optimizer_apply(&config, &update);
    cr_expect(x[0] == -3.0F && x[1] == 4.0F);
    /* Of a scaled gradient the true norm counts. */
    g[0] = 3072;
    g[1] = -4096;
    update.gradient_scale = 1024;
    x[0] = x[1] = 0;
    gs_optimizer_apply(&config, &update);
    cr_expect(x[0] == -3.0F && x[1] == 4.0F);
}

Test(optimizer_rules, the_schedule_is_read_at_the_samples_of_the_update)
{
    gs_optimizer_config config = usual();
    config.rate = 1.0;
    config.momentum = 0.0;
    config.schedule =
        (gs_schedule){.kind = GS_SCHEDULE_LINEAR, .warmup_samples = 100, .budget_samples = 500};
    const float g = 1;
    float x = 0;
    gs_optimizer_update update = one(&x, &g, NULL);
    gs_optimizer_apply(&config, &update); /* after no sample: 0 */
    cr_expect_eq(x, 0.0F);
    update.samples = 50; /* 1/2 */
    gs_optimizer_apply(&config, &update);
    cr_expect_eq(x, -0.5F);
    update.samples = 400; /* 3/4 of the way: 1/4 */
    gs_optimizer_apply(&config, &update);
    cr_expect_eq(x, -0.75F);
}

Test(optimizer_rules, a_dynamic_scale_leaves_bad_updates_out)
{
    gs_optimizer_config config = usual();
    config.rate = 1.0;
    config.momentum = 0.5;
    config.loss_scale = GS_LOSS_SCALE_DYNAMIC;
    cr_expect_eq(gs_optimizer_state_floats(&config, 1), 3); /* velocity; the scale's two */
    float x = 8, state[3] = {0}, g = INFINITY;
    gs_optimizer_update update = one(&x, &g, state);
    update.gradient_scale = gs_optimizer_loss_scale(&config, state, 1);
    cr_expect_eq(update.gradient_scale, 65536.0);
    cr_expect_not(gs_optimizer_apply(&config, &update));
    cr_expect(x == 8.0F && state[0] == 0.0F);
    update.gradient_scale = gs_optimizer_loss_scale(&config, state, 1);
    cr_expect_eq(update.gradient_scale, 32768.0);
    g = NAN;
    cr_expect_not(gs_optimizer_apply(&config, &update));
    update.gradient_scale = gs_optimizer_loss_scale(&config, state, 1);
    g = 3.0F * 16384.0F;
    cr_expect(gs_optimizer_apply(&config, &update)); /* 8 - 3 */
    cr_expect(x == 5.0F && state[0] == 3.0F, "%g", (double)x);
}

Test(optimizer_rules, slices_in_any_order_give_what_the_whole_gives)
{
    enum { MANY = 37 };
    gs_optimizer_config config = usual();
    config.weight_decay = 1e-3;
    config.nesterov = true;
    for (config.kind = GS_SGD; config.kind <= GS_ADAMW; config.kind++) {
        cr_assert_not(gs_optimizer_needs_whole(&config));
        float x[2][MANY], state[2][2 * MANY], g[MANY];
        for (int i = 0; i < MANY; i++) {
            g[i] = (float)(i * i % 17) / 7.0F - 1.1F;
            x[0][i] = x[1][i] = (float)(i % 5) / 3.0F;
            for (int k = 0; k < 2; k++) {
                state[k][i] = (float)(i % 11) / 13.0F;
                state[k][MANY + i] = (float)(i % 13) / 11.0F;
            }
        }
        const size_t cuts[5] = {0, 3, 20, MANY, 0};
        for (int piece = 3; piece >= 0; piece--) {
            bool whole = piece == 3;
            gs_optimizer_update slice = {.parameters = x[whole],
                                         .gradient = g,
                                         .state = state[whole],
                                         .parameter_count = MANY,
                                         .offset = whole ? 0 : cuts[piece],
                                         .count = whole ? MANY : cuts[piece + 1] - cuts[piece],
                                         .rate_scale = 0.7,
                                         .updates = 4};
            gs_optimizer_apply(&config, &slice);
        }
        cr_expect(memcmp(x[0], x[1], sizeof x[0]) == 0);
        cr_expect(memcmp(state[0], state[1], sizeof state[0]) == 0);
    }
}

Test(optimizer_rules, the_sum_of_squares_counts_every_element_once)
{
    float values[11];
    double wanted = 0.0;
    for (size_t count = 0; count <= 11; count++) {
        cr_expect_eq(gs_sum_of_squares(values, count), wanted, "%zu", count); /* whole numbers */
        if (count < 11) {
            values[count] = (float)(count + 2);
            wanted += (double)(values[count] * values[count]);
        }
    }
}

Test(optimizer_rules, what_is_kept_and_moved_is_counted)
{
    gs_optimizer_config config = usual();
    cr_expect_eq(gs_optimizer_state_floats(&config, 10), 10);
    cr_expect_eq(gs_optimizer_moves(&config), 5); /* reads x, g, v; writes x, v */
    cr_expect(gs_optimizer_is_linear(&config));
    config.nesterov = true;
    cr_expect_not(gs_optimizer_is_linear(&config));
    config.momentum = 0.0;
    cr_expect_eq(gs_optimizer_moves(&config), 3);
    cr_expect(gs_optimizer_is_linear(&config));
    config.clip = 1.0;
    cr_expect_not(gs_optimizer_is_linear(&config));
    cr_expect_eq(gs_optimizer_moves(&config), 4); /* g once more */
    config = usual();
    config.schedule.kind = GS_SCHEDULE_COSINE;
    cr_expect_not(gs_optimizer_is_linear(&config));
    config = usual();
    config.kind = GS_ADAMW;
    cr_expect_eq(gs_optimizer_state_floats(&config, 10), 20);
    cr_expect_eq(gs_optimizer_moves(&config), 7);
    cr_expect_not(gs_optimizer_is_linear(&config));
    config.kind = GS_LARS;
    cr_expect_eq(gs_optimizer_state_floats(&config, 10), 10);
    cr_expect_eq(gs_optimizer_moves(&config), 7); /* w and g once more */
    cr_expect(gs_optimizer_needs_whole(&config));
}
