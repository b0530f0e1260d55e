/* What theory says of delays and batches, held against the task that everything else trains with.
 * docs/measured/convergence.md has the numbers and how they were measured. */
#include "models/task.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"
#include "tests/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DELAY_MAX = 8 };

static gs_arena arena;
static gs_error err;
static gs_task_config learning;
static gs_task *task;
static gs_task_workspace *workspace;
static size_t count;

static void setup(void)
{
    gs_arena_init(&arena);
    learning = gs_task_config_default();
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(convergence, .init = setup, .fini = teardown, .timeout = 300);

static void say(const gs_field_table *table, void *config, const char *key, const char *value)
{
    cr_assert_eq(gs_config_set_text(table, config, key, value, &err), GS_OK, "%s", err.text);
}

static void choose(const char *model, const char *source)
{
    learning.model = gs_model_find(model);
    gs_config_defaults(learning.model->config_table, learning.model_config);
    learning.data.source = gs_data_source_find(source);
    gs_config_defaults(learning.data.source->config_table, learning.data.source_config);
}

static void say_data(const char *key, const char *value)
{
    say(learning.data.source->config_table, learning.data.source_config, key, value);
}

static void make_task(const gs_dataset *dataset, uint64_t seed, int64_t batch)
{
    gs_task_setup with = {.data_dir = "", .dataset = dataset, .ranks = 1, .seed = seed};
    cr_assert_eq(gs_task_create(&learning, &with, &arena, &task, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_task_workspace_create(task, batch, &arena, &workspace, &err), GS_OK);
    count = gs_task_parameter_count(task);
}

static float *vector(size_t floats)
{
    float *made = GS_TAKE(&arena, float, floats);
    cr_assert_not_null(made);
    return made;
}

static void step(float *weights, const float *gradient, float *state, int64_t updates)
{
    gs_optimizer_update update = {.parameters = weights,
                                  .gradient = gradient,
                                  .state = state,
                                  .count = count,
                                  .rate_scale = 1.0,
                                  .updates = updates};
    cr_assert(gs_task_apply(task, &update));
}

/* ---------------------------------------------------------------- delays on a bowl */

/* The curvature is over that of the bias, which stands at its lowest point from the start. */
static const double curvature = 2.3;

static void choose_bowl(double rate, double momentum)
{
    choose("linear", "quadratic");
    say_data("dimension", "1");
    say_data("curvature_max", "2.3");
    say_data("repeats", "4");
    learning.optimizer.rate = rate;
    learning.optimizer.momentum = momentum;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Gradient descent with gradients of the weights `delay` updates ago. How far the weight swings in
 * the last tenth of 6,000 updates, over how far in the first: below 1 it comes to rest. */
static double swing(double rate, double momentum, int64_t delay)
{
    enum { STEPS = 6000, BATCH = 8 /* all rows */ };
    choose_bowl(rate, momentum);
    make_task(NULL, 1, BATCH);
    float *weights = vector(count);
    float *gradient = vector(count);
    float *state = vector(gs_task_state_floats(task) + 1);
    float *ring = vector(count * (DELAY_MAX + 1));
    const gs_dataset *data = gs_task_dataset(task);
    double lowest = (double)data->targets[0] / (double)data->inputs[0];
    double first = 0.0;
    double last = 0.0;
    gs_task_init(task, weights);
    for (int64_t k = 0; k < STEPS; k++) {
        memcpy(ring + (size_t)(k % (delay + 1)) * count, weights, count * sizeof(float));
        int64_t old = k >= delay ? k - delay : 0;
        gs_task_request all = {.first_sample = k * BATCH, .sample_count = BATCH};
        double loss = 0.0;
        if (gs_task_gradient(workspace, &all, ring + (size_t)(old % (delay + 1)) * count, gradient,
                             &loss, &err) != GS_OK) {
            return HUGE_VAL;
        }
        step(weights, gradient, state, k);
        double away = fabs((double)weights[0] - lowest);
        first = k < STEPS / 10 ? larger(first, away) : first;
        last = k >= STEPS - STEPS / 10 ? larger(last, away) : last;
    }
    return last / first;
}

/* Without momentum the limit of rate times curvature is 2 sin(pi / (2 (2 delay + 1))). Within 1 %
 * of it a swing grows or shrinks 90-fold and more over 5,400 updates with 8 of delay, where it is
 * slowest (0.0107 and 91.2 by the recurrence itself). */
Test(convergence, delayed_descent_comes_to_rest_below_the_limit_and_not_above)
{
    const int64_t delays[5] = {0, 1, 2, 4, 8};
    for (int i = 0; i < 5; i++) {
        double limit = 2.0 * sin(acos(-1.0) / (2.0 * (2.0 * (double)delays[i] + 1.0))) / curvature;
        double below = swing(0.99 * limit, 0.0, delays[i]);
        double above = swing(1.01 * limit, 0.0, delays[i]);
        cr_expect_lt(below, 0.1, "delay %d: %g", (int)delays[i], below);
        cr_expect_gt(above, 10.0, "delay %d: %g", (int)delays[i], above);
    }
}

/* With heavy ball m the recurrence z^2 - (1 + m) z + m + rate h z^(1 - delay) = 0 has a root on the
 * unit circle at rate h = 2 (1 + m) without delay, and else where (z - 1) (z - m) z^(delay - 1) is
 * a negative number: for m = 0.9 at 0.100000 (1 - m), 0.051249, 0.026498, 0.013942, by bisection
 * over the angle. Over the same updates the swing grows or shrinks 6-fold and more. */
Test(convergence, momentum_lowers_the_limit_of_delays)
{
    const int64_t delays[5] = {0, 1, 2, 4, 8};
    const double limits[5] = {3.8, 0.1, 0.051249, 0.026498, 0.013942};
    for (int i = 0; i < 5; i++) {
        double below = swing(0.99 * limits[i] / curvature, 0.9, delays[i]);
        double above = swing(1.01 * limits[i] / curvature, 0.9, delays[i]);
        cr_expect_lt(below, 0.4, "delay %d: %g", (int)delays[i], below);
        cr_expect_gt(above, 2.5, "delay %d: %g", (int)delays[i], above);
    }
}

static small_job job;

/* Does the simulation of an asynchronous server end, with weights a tenth as far from the lowest
 * point as they began (1), or ten times (-1)? Equal workers come one after the other: between a
 * pull and its push each of the others pushes once, so the delay is workers - 1. */
static int asynchronous_end(uint32_t workers, double rate)
{
    small_job_config config = small_job_default();
    config.ranks = workers;
    config.servers = 1;
    config.units = 1;
    config.unit_elements = 2; /* a weight and the bias */
    config.learns = true;
    config.forward_ns = GS_NS_PER_MS;
    config.backward_ns = GS_NS_PER_MS;
    config.steps = 1000;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, &probe_asp, NULL);
    choose_bowl(rate, 0.0);
    job.scenario.workload.task = learning;
    make_task(NULL, 1, 8);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_expect_float_eq(result.facts.staleness_mean, workers - 1.0, 0.01);
    cr_expect_float_eq(result.facts.staleness_max, workers - 1.0, 0.0);
    const gs_dataset *data = gs_task_dataset(task);
    double lowest = (double)data->targets[0] / (double)data->inputs[0];
    float *weights = vector(count);
    size_t floats = 0;
    gs_task_init(task, weights);
    double before = fabs((double)weights[0] - lowest);
    double after = fabs((double)gs_sim_weights(sim, 0, &floats)[0] - lowest);
    gs_sim_destroy(sim);
    small_job_fini(&job);
    return after < 0.1 * before ? 1 : after > 10.0 * before ? -1 : 0;
}

/* The same limit for what the simulator does of its own accord. Over 3,000 updates of 3 workers and
 * 5,000 of 5 a swing changes 2,000-fold and more either way by the recurrence. */
Test(convergence, an_asynchronous_server_has_the_limit_of_its_delay)
{
    const uint32_t workers[2] = {3, 5};
    for (int i = 0; i < 2; i++) {
        double delay = workers[i] - 1.0;
        double limit = 2.0 * sin(acos(-1.0) / (2.0 * (2.0 * delay + 1.0))) / curvature;
        cr_expect_eq(asynchronous_end(workers[i], 0.99 * limit), 1, "%u workers", workers[i]);
        cr_expect_eq(asynchronous_end(workers[i], 1.01 * limit), -1, "%u workers", workers[i]);
    }
}

/* ---------------------------------------------------------------- synchronous updates */

/* Compute times of 0 to some step times more: the same weights to the bit, at other times. */
Test(convergence, jitter_changes_no_bit_of_synchronous_weights)
{
    const double spreads[3] = {0.0, 0.5, 2.0};
    uint64_t hash = 0;
    gs_time_ns end_ns = 0;
    choose("mlp", "teacher");
    say_data("train", "2048");
    say_data("test", "256");
    for (int i = 0; i < 3; i++) {
        small_job_config config = small_job_default();
        config.ranks = 8;
        config.learns = true;
        config.forward_ns = GS_NS_PER_MS;
        config.backward_ns = GS_NS_PER_MS;
        config.steps = 60;
        small_job_init(&job, &config, NULL);
        job.scenario.workload.task = learning;
        if (i > 0) {
            job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = spreads[i]};
        }
        gs_sim_result result = small_job_run(
            &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 5});
        small_job_fini(&job);
        cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
        cr_assert_neq(result.weights_hash, 0);
        cr_expect(i == 0 || result.weights_hash == hash, "spread %g", spreads[i]);
        cr_expect_gt(result.facts.end_ns, end_ns);
        hash = result.weights_hash;
        end_ns = result.facts.end_ns;
    }
}

/* ---------------------------------------------------------------- how large a batch pays */

enum { SEEDS = 5, RATES = 3 };

/* Steps until the test loss is 0.75, or most + 1. Known to `every` steps. */
static int64_t steps_to_target(const gs_dataset *dataset, uint64_t seed, int64_t batch,
                               int64_t every, int64_t most)
{
    make_task(dataset, seed, batch);
    float *weights = vector(count);
    float *gradient = vector(count);
    float *state = vector(gs_task_state_floats(task));
    gs_task_init(task, weights);
    for (int64_t k = 0; k < most; k++) {
        gs_task_request next = {.first_sample = k * batch, .sample_count = batch};
        double loss = 0.0;
        double accuracy = 0.0;
        if (gs_task_gradient(workspace, &next, weights, gradient, &loss, &err) != GS_OK) {
            return most + 1;
        }
        step(weights, gradient, state, k);
        if ((k + 1) % every == 0 &&
            gs_task_evaluate(workspace, weights, &loss, &accuracy, &err) == GS_OK && loss <= 0.75) {
            return k + 1;
        }
    }
    return most + 1;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Median over seeds of the steps that the best of the rates takes. The likely best comes first:
 * others need not go on when they have taken as many steps. */
static int64_t tuned_steps(const gs_dataset *dataset, int64_t batch, int64_t every,
                           const double rates[RATES])
{
    int64_t best = 4000;
    for (int r = 0; r < RATES; r++) {
        int64_t steps[SEEDS];
        learning.optimizer.rate = rates[r];
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            steps[seed] = steps_to_target(dataset, seed + 1, batch, every, 2 * best);
        }
        qsort(steps, SEEDS, sizeof *steps, compare);
        best = steps[SEEDS / 2] < best ? steps[SEEDS / 2] : best;
    }
    return best;
}

/* The teacher's task, sgd with momentum 0.9, rates tuned for each batch. Measured here (and with
 * another teacher by the project's notes, without its momentum stated): examples to the target
 * 5,600 (6,640), 5,440 (9,600), 10,240 (14,592), 16,384 (46,080 or fewer) for batches of 4, 64, 256
 * and 1024; steps 1400, 85, 40, 16. Below the critical batch examples are what it takes, so that
 * steps fall as the batch grows; above it more examples are needed for the same. */
Test(convergence, a_batch_pays_up_to_the_critical_one)
{
    gs_dataset dataset;
    choose("mlp", "teacher");
    say(learning.model->config_table, learning.model_config, "hidden", "64");
    say_data("test", "1024");
    learning.optimizer.momentum = 0.9;
    cr_assert_eq(gs_data_load(&learning.data, "", &arena, &dataset, &err), GS_OK, "%s", err.text);
    double examples_4 = 4.0 * (double)tuned_steps(&dataset, 4, 50, (double[]){0.005, 0.0025, 0.01});
    double examples_64 = 64.0 * (double)tuned_steps(&dataset, 64, 5, (double[]){0.1, 0.05, 0.2});
    int64_t steps_256 = tuned_steps(&dataset, 256, 2, (double[]){0.2, 0.1, 0.4});
    int64_t steps_1024 = tuned_steps(&dataset, 1024, 1, (double[]){0.8, 0.4, 1.6});
    double examples_256 = 256.0 * (double)steps_256;
    double examples_1024 = 1024.0 * (double)steps_1024;
    cr_log_info("examples: %g %g %g %g", examples_4, examples_64, examples_256, examples_1024);
    cr_expect_leq(examples_64, 1.6 * examples_4);    /* measured 0.97 */
    cr_expect_geq(examples_256, 1.3 * examples_64);  /* measured 1.9 */
    cr_expect_geq(examples_1024, 2.0 * examples_64); /* measured 3.0 */
    /* Measured 0.4; it would be 0.25 if batches still paid. */
    cr_expect_geq((double)steps_1024, 0.3 * (double)steps_256);
}
