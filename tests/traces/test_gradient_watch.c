/* Fidelity of updates that are planted, and looks at gradients whose numbers are known. */
#include "tests/strategies/probes.h"
#include "traces/gradient_watch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2 };

static const double rate = 0.125;

static probe_job made;
static gs_optimizer_config optimizer;
static gs_series series;
static gs_task_workspace *workspace;
static gs_gradient_watch *watch;
static float *models[RANKS];
static float *gradients[RANKS];
static double *velocity;

static float *floats(void)
{
    float *taken = GS_TAKE(&made.arena, float, made.count);
    cr_assert_not_null(taken);
    return taken;
}

static void watch_it(gs_number number, int64_t fidelity_every, int64_t look_every)
{
    gs_gradient_watch_config config = {.task = made.task,
                                       .workspace = workspace,
                                       .optimizer = &optimizer,
                                       .number = number,
                                       .ranks = RANKS,
                                       .batch_per_rank = PROBE_BATCH,
                                       .fidelity_every = fidelity_every,
                                       .look_every = look_every,
                                       .series = &series};
    cr_assert_eq(gs_gradient_watch_create(&config, &made.arena, &watch), GS_OK);
}

static void watch_with(double momentum, double weight_decay, int64_t fidelity_every,
                       int64_t look_every)
{
    optimizer = (gs_optimizer_config){
        .rate = rate, .momentum = momentum, .weight_decay = weight_decay, .loss_scale = 1.0};
    watch_it(GS_FP32, fidelity_every, look_every);
}

static void setup(void)
{
    gs_error err;
    probe_job_init(&made, RANKS);
    cr_assert_eq(gs_task_workspace_create(made.task, PROBE_BATCH, &made.arena, &workspace, &err),
                 GS_OK);
    for (int rank = 0; rank < RANKS; rank++) {
        models[rank] = floats();
        gradients[rank] = floats();
        gs_task_init(made.task, models[rank]);
    }
    velocity = GS_TAKE(&made.arena, double, made.count);
    cr_assert_not_null(velocity);
}

static void teardown(void)
{
    gs_series_fini(&series);
    probe_job_fini(&made);
}

TestSuite(gradient_watch, .init = setup, .fini = teardown);

/* The real gradient of a rank at its model. */
static void compute(uint32_t rank, int64_t pass)
{
    gs_task_request request = {.first_sample = (pass * RANKS + rank) * PROBE_BATCH,
                               .sample_count = PROBE_BATCH};
    double loss;
    gs_error err;
    cr_assert_eq(gs_task_gradient(workspace, &request, models[rank], gradients[rank], &loss, &err),
                 GS_OK);
}

static void tell(uint32_t rank, int64_t step)
{
    gs_gradient_taken taken = {.rank = rank,
                               .step = step,
                               .first_pass = step,
                               .plan = &(gs_plan){.micro_steps = 1},
                               .weight = 1.0,
                               .at = models[rank],
                               .gradient = gradients[rank],
                               .at_ns = 1000 * (step + 1)};
    cr_assert_eq(gs_gradient_watch_take(watch, &taken), GS_OK);
}

/* The update of both models by a share of the mean gradient; elements from `kept` on are dropped.
 */
static void move(double share, size_t kept)
{
    for (size_t i = 0; i < made.count; i++) {
        double mean = 0.5 * ((double)gradients[0][i] + (double)gradients[1][i]);
        mean = i < kept ? share * mean : 0.0;
        velocity[i] =
            optimizer.momentum * velocity[i] + mean + optimizer.weight_decay * (double)models[0][i];
        for (int rank = 0; rank < RANKS; rank++) {
            models[rank][i] = (float)((double)models[rank][i] - rate * velocity[i]);
        }
    }
}

static gs_run_facts train(int64_t steps, double share, size_t kept)
{
    for (int64_t step = 0; step < steps; step++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            compute(rank, step);
            tell(rank, step);
        }
        move(share, kept);
    }
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    return facts;
}

Test(gradient_watch, the_mean_gradient_is_true_to_itself_with_momentum_and_weight_decay)
{
    watch_with(0.9, 0.01, 1, 0);
    gs_run_facts facts = train(8, 1.0, made.count);
    cr_assert_eq(facts.fidelity_steps, 7); /* the last one shows by the step after it */
    cr_assert_float_eq(facts.fidelity_cosine, 1.0, 1e-9);
    cr_assert_lt(facts.fidelity_error, 1e-4);
}

/* Gradients that come in sixteen times their length are halves of it once they are applied; what
 * counts is the exact gradient, which they are not. */
Test(gradient_watch, scaled_and_rounded_gradients_are_held_against_the_exact_one)
{
    watch_with(0.0, 0.0, 1, 0);
    optimizer.loss_scale = 16.0;
    watch_it(GS_BF16, 1, 0);
    double square = 0.0, apart = 0.0;
    for (int64_t step = 0; step < 2; step++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            compute(rank, step);
            for (size_t i = 0; i < made.count; i++) {
                float exact = gradients[rank][i];
                gradients[rank][i] *= 16.0F;
                gs_half_round(GS_BF16, &gradients[rank][i], 1);
                double off = (double)gradients[rank][i] / 16.0 - (double)exact;
                square += step == 0 ? (double)exact * (double)exact : 0.0;
                apart += step == 0 ? off * off : 0.0;
            }
            tell(rank, step);
        }
        move(1.0 / 16.0, made.count);
    }
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    cr_assert_eq(facts.fidelity_steps, 1);
    cr_expect_gt(facts.fidelity_cosine, 0.99999);
    /* The mean of two ranks is about as far off as each. */
    double each = sqrt(apart / square);
    cr_expect(facts.fidelity_error > 0.3 * each && facts.fidelity_error < 3.0 * each, "%g, %g",
              facts.fidelity_error, each);
}

Test(gradient_watch, an_optimizer_that_is_not_linear_is_not_judged)
{
    watch_with(0.9, 0.0, 1, 0);
    optimizer.kind = GS_ADAM;
    cr_expect_eq(train(4, 1.0, made.count).fidelity_steps, 0);
    watch_with(0.9, 0.0, 1, 0);
    optimizer.nesterov = true;
    cr_expect_eq(train(4, 1.0, made.count).fidelity_steps, 0);
    watch_with(0.9, 0.0, 1, 0);
    optimizer.schedule.warmup_samples = 1;
    cr_expect_eq(train(4, 1.0, made.count).fidelity_steps, 0);
}

Test(gradient_watch, half_a_step_points_the_same_way_and_is_off_by_half)
{
    watch_with(0.0, 0.0, 1, 0);
    gs_run_facts facts = train(6, 0.5, made.count);
    cr_assert_eq(facts.fidelity_steps, 5);
    cr_assert_float_eq(facts.fidelity_cosine, 1.0, 1e-9);
    cr_assert_float_eq(facts.fidelity_error, 0.5, 1e-4);
}

/* Where a part of the elements is dropped, h is orthogonal to g - h: cos^2 + error^2 = 1, and cos
 * is the norm of what is kept over that of all. */
Test(gradient_watch, what_is_dropped_is_missing_in_cosine_and_error)
{
    watch_with(0.0, 0.0, 4, 0);
    size_t kept = made.count - 500;
    compute(0, 0);
    compute(1, 0);
    double all = 0.0;
    double head = 0.0;
    for (size_t i = 0; i < made.count; i++) {
        double mean = 0.5 * ((double)gradients[0][i] + (double)gradients[1][i]);
        all += mean * mean;
        head += i < kept ? mean * mean : 0.0;
    }
    gs_run_facts facts = train(2, 1.0, kept); /* judges step 0 only */
    cr_assert_eq(facts.fidelity_steps, 1);
    cr_assert(head / all > 0.01 && head / all < 0.99);
    cr_assert_float_eq(facts.fidelity_cosine, sqrt(head / all), 1e-6);
    cr_assert_float_eq(facts.fidelity_error, sqrt(1.0 - head / all), 1e-6);
}

Test(gradient_watch, a_model_that_stays_where_it_is_has_no_direction_and_all_of_the_error)
{
    watch_with(0.9, 0.0, 1, 0);
    gs_run_facts facts = train(3, 0.0, made.count);
    cr_assert_eq(facts.fidelity_steps, 2);
    cr_assert_eq(facts.fidelity_cosine, 0.0);
    cr_assert_eq(facts.fidelity_error, 1.0);
}

/* Each rank follows its own gradient. In the first step the weights are equal, so that the mean
 * model moves by the exact mean; then they drift apart, and the exact gradient, computed again at
 * the mean, is a little another one. A rank alone would be far off. */
Test(gradient_watch, models_that_drift_apart_are_judged_by_their_mean)
{
    watch_with(0.0, 0.0, 1, 0);
    for (int64_t step = 0; step < 8; step++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            compute(rank, step);
            tell(rank, step);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            for (size_t i = 0; i < made.count; i++) {
                models[rank][i] -= (float)rate * gradients[rank][i];
            }
        }
    }
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    cr_assert_eq(facts.fidelity_steps, 7);
    cr_assert_eq(series.names[series.points[0].name].text[9], 'c'); /* fidelity_cosine_ratio */
    cr_assert_float_eq(series.points[0].value, 1.0, 1e-9);
    cr_assert_lt(series.points[1].value, 1e-5);
    cr_assert_gt(facts.fidelity_cosine, 0.9);
    cr_assert_lt(facts.fidelity_cosine, 1.0 - 1e-7);
    cr_assert_gt(facts.fidelity_error, 1e-4);
}

Test(gradient_watch, models_count_with_the_weight_their_strategy_gives_them)
{
    watch_with(0.0, 0.0, 1, 0);
    /* Rank 0 counts three times, rank 1 once, and rank 1 stays where it is: the mean moves by three
     * quarters of what rank 0 does, which is the exact gradient. */
    for (int64_t step = 0; step < 2; step++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            compute(rank, 0);
            gs_gradient_taken taken = {.rank = rank,
                                       .step = step,
                                       .plan = &(gs_plan){.micro_steps = 1},
                                       .weight = rank == 0 ? 3.0 : 1.0,
                                       .at = models[rank],
                                       .gradient = gradients[rank]};
            cr_assert_eq(gs_gradient_watch_take(watch, &taken), GS_OK);
        }
        for (size_t i = 0; i < made.count; i++) {
            double mean = 0.5 * ((double)gradients[0][i] + (double)gradients[1][i]);
            models[0][i] -= (float)(rate * mean);
        }
    }
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    cr_assert_eq(facts.fidelity_steps, 1);
    cr_assert_float_eq(facts.fidelity_cosine, 1.0, 1e-9);
    cr_assert_float_eq(facts.fidelity_error, 0.25, 1e-4);
}

/* One of five, each time the next of them: 0, 6, 12, 18, 24, and 25 begins anew. */
Test(gradient_watch, one_step_of_so_many_is_judged_each_time_another_one)
{
    watch_with(0.0, 0.0, 5, 0);
    gs_run_facts facts = train(27, 1.0, made.count);
    static const int64_t steps[] = {0, 6, 12, 18, 24, 25};
    cr_assert_eq(facts.fidelity_steps, 6);
    cr_assert_eq(series.point_count, 12);
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(series.points[2 * i].at_ns, 1000 * (steps[i] + 2));
    }
}

Test(gradient_watch, a_step_that_a_slow_rank_has_not_come_to_is_given_up)
{
    watch_with(0.0, 0.0, 1, 0);
    compute(0, 0);
    compute(1, 0);
    for (int64_t step = 0; step < 10; step++) {
        tell(0, step);
    }
    for (int64_t step = 0; step < 10; step++) {
        tell(1, step);
    }
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    cr_assert_eq(facts.fidelity_steps, 2); /* of the three steps that are still known */
}

/* ---------------------------------------------------------------- looks */

static double last_value(const char *name)
{
    double value = (double)NAN;
    for (int64_t i = 0; i < series.point_count; i++) {
        if (strcmp(series.names[series.points[i].name].text, name) == 0) {
            value = series.points[i].value;
        }
    }
    return value;
}

static int64_t count_of(const char *name)
{
    int64_t count = 0;
    for (int64_t i = 0; i < series.point_count; i++) {
        count += strcmp(series.names[series.points[i].name].text, name) == 0;
    }
    return count;
}

/* The last layer of the mlp has 32 x 10 weights and 10 biases; its gradient is 3 in one rank and 5
 * in the other on half of them, so 4 there, and nothing else. */
static void plant(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        memset(gradients[rank], 0, made.count * sizeof(float));
        for (size_t i = 0; i < 165; i++) {
            gradients[rank][made.count - 1 - i] = rank == 0 ? 3.0F : 5.0F;
        }
    }
}

Test(gradient_watch, a_look_tells_norm_sparsity_quantiles_and_histogram_of_each_layer)
{
    watch_with(0.0, 0.0, 1000, 3);
    const gs_network *network = gs_task_network(made.task);
    char name[GS_SERIES_NAME_BYTES];
    plant();
    tell(0, 3);
    tell(1, 3);
    const char *last = network->layers[network->layer_count - 1].name;
    double norm = 4.0 * sqrt(165.0);
    cr_assert_float_eq(last_value("gradient_norm"), norm, 1e-9);
    (void)snprintf(name, sizeof name, "gradient_norm/%s", last);
    cr_assert_float_eq(last_value(name), norm, 1e-9);
    (void)snprintf(name, sizeof name, "gradient_sparsity_ratio/%s", last);
    cr_assert_float_eq(last_value(name), 0.5, 1e-12);
    (void)snprintf(name, sizeof name, "gradient_p90/%s", last);
    cr_assert_eq(last_value(name), 4.0);
    /* 165 zeros and 165 fours: the median lies half way between. */
    (void)snprintf(name, sizeof name, "gradient_p50/%s", last);
    cr_assert_eq(last_value(name), 2.0);
    (void)snprintf(name, sizeof name, "gradient_max/%s", network->layers[0].name);
    cr_assert_eq(last_value(name), 0.0);
    /* A layer of zeros has no scale to be small against. */
    (void)snprintf(name, sizeof name, "gradient_sparsity_ratio/%s", network->layers[0].name);
    cr_assert_eq(last_value(name), 1.0);
    cr_assert_float_eq(last_value("gradient_sparsity_ratio"),
                       (double)(made.count - 165) / (double)made.count, 1e-12);
    cr_assert_eq(count_of("gradient_change_ratio"), 0); /* nothing to compare with yet */
    int64_t in_bins = 0;
    (void)snprintf(name, sizeof name, "gradient_abs/%s", last);
    for (int64_t i = 0; i < series.bin_count; i++) {
        const gs_series_bin *bin = &series.bins[i];
        if (strcmp(series.names[bin->name].text, name) == 0 && bin->count > 0) {
            cr_assert_eq(bin->count, 165);
            cr_assert(bin->low <= 0.0 || (bin->low <= 4.0 && 4.0 < bin->high));
            in_bins += bin->count;
        }
    }
    cr_assert_eq(in_bins, 330);
}

Test(gradient_watch, change_and_cosine_compare_looks_and_ranks)
{
    watch_with(0.0, 0.0, 1000, 1);
    plant();
    tell(0, 0);
    tell(1, 0);
    cr_assert_float_eq(last_value("gradient_cosine_ratio"), 1.0,
                       1e-12); /* 3 and 5: one direction */
    for (size_t i = 0; i < made.count; i++) {
        gradients[0][i] *= 2.0F; /* mean 4 becomes (6 - 5) / 2 = 0.5: change 3.5 / 4 */
        gradients[1][i] *= -1.0F;
    }
    tell(0, 1);
    tell(1, 1);
    cr_assert_float_eq(last_value("gradient_change_ratio"), 0.875, 1e-12);
    cr_assert_float_eq(last_value("gradient_cosine_ratio"), -1.0, 1e-12);
    cr_assert_eq(count_of("gradient_norm"), 2);
}

/* Gradients of 3 and of 5 on 165 elements, so |g|^2 is 165 x 17 a rank in the mean and 165 x 16 of
 * the mean: S is 165 times both batches, G2 165 x 15, and the scale a fifteenth of both batches. */
Test(gradient_watch, ranks_say_how_noisy_their_gradients_are)
{
    watch_with(0.0, 0.0, 1000, 3);
    plant();
    for (int64_t step = 0; step < 4; step++) { /* 0 is sampled, 0 and 3 are looked at */
        tell(0, step);
        tell(1, step);
    }
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    cr_expect_eq(facts.compared_steps, 1);
    cr_expect_float_eq(facts.gradient_cosine, 1.0, 1e-12);
    cr_expect_float_eq(facts.noise_scale_samples, 2.0 * PROBE_BATCH / 15.0, 1e-9);
    cr_expect_float_eq(last_value("noise_scale_samples"), 2.0 * PROBE_BATCH / 15.0, 1e-9);
    cr_expect_eq(count_of("noise_scale_samples"), 2);
}

/* Gradients are what they are, whatever is made of them: only fidelity needs a linear update. */
Test(gradient_watch, noise_is_measured_under_every_optimizer)
{
    watch_with(0.0, 0.0, 1000, 0);
    optimizer.kind = GS_ADAM;
    plant();
    tell(0, 0);
    tell(1, 0);
    gs_run_facts facts = {0};
    gs_gradient_watch_facts(watch, &facts);
    cr_expect_eq(facts.compared_steps, 1);
    cr_expect_float_eq(facts.noise_scale_samples, 2.0 * PROBE_BATCH / 15.0, 1e-9);
    cr_expect_eq(facts.fidelity_steps, 0);
}

/* One model moves by 2 in four elements: both are 2 from their mean. */
Test(gradient_watch, models_that_drift_apart_are_measured)
{
    watch_with(0.0, 0.0, 1000, 3);
    plant();
    for (int64_t step = 0; step < 4; step++) {
        tell(0, step);
        tell(1, step);
        cr_expect_float_eq(last_value("consensus_distance"), step < 3 ? 0.0 : 2.0, 1e-6);
        for (size_t i = 0; i < 4 && step == 0; i++) {
            models[1][i] = models[0][i] + 2.0F;
        }
    }
    cr_expect_eq(count_of("consensus_distance"), 2);
}
