#include <criterion/criterion.h>

#include "models/task.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static gs_arena arena;
static gs_task *task;
static gs_task_workspace *workspace;
static size_t count;                   /* parameters */
static float *x, *g, *state, *g_other; /* vectors of that many */

enum { BATCH_MAX = 128 };

/* The task that a scenario without any word on learning gets: mlp 64-128-10, rate 0.1, momentum
 * 0.9. */
static void create(const gs_task_config *config, uint64_t seed)
{
    gs_error err;
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = 1, .seed = seed};
    cr_assert_eq(gs_task_create(config, &setup, &arena, &task, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_task_workspace_create(task, BATCH_MAX, &arena, &workspace, &err), GS_OK);
    count = gs_task_parameter_count(task);
    x = GS_TAKE(&arena, float, count);
    g = GS_TAKE(&arena, float, count);
    g_other = GS_TAKE(&arena, float, count);
    state = GS_TAKE(&arena, float, gs_task_state_floats(task));
    cr_assert(x != NULL && g != NULL && g_other != NULL && state != NULL);
    gs_task_init(task, x);
}

static void setup(void)
{
    gs_arena_init(&arena);
    gs_task_config config = gs_task_config_default();
    create(&config, 1);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(task, .init = setup, .fini = teardown);

static double gradient(gs_task_workspace *in, int64_t first, int64_t samples, float *out)
{
    gs_task_request request = {.first_sample = first, .sample_count = samples};
    double loss = -1;
    gs_error err;
    cr_assert_eq(gs_task_gradient(in, &request, x, out, &loss, &err), GS_OK, "%s", err.text);
    return loss;
}

static void step(const float *with, double rate_scale)
{
    gs_optimizer_update update = {.parameters = x,
                                  .gradient = with,
                                  .state = state,
                                  .count = count,
                                  .rate_scale = rate_scale};
    gs_task_apply(task, &update);
}

/* Trains with batches in turn; mean loss of the last ten steps. */
static double train(int64_t steps, int64_t batch)
{
    double tail = 0;
    for (int64_t s = 0; s < steps; s++) {
        double loss = gradient(workspace, s * batch, batch, g);
        tail += s >= steps - 10 ? loss / 10 : 0;
        step(g, 1.0);
    }
    return tail;
}

static double accuracy(double *out_loss)
{
    double value = 0;
    gs_error err;
    cr_assert_eq(gs_task_evaluate(workspace, x, out_loss, &value, &err), GS_OK, "%s", err.text);
    return value;
}

Test(task, sizes_follow_from_the_model)
{
    cr_expect_eq(count, 64 * 128 + 128 + 128 * 10 + 10);
    cr_expect_eq(gs_task_network(task)->layer_count, 3);
    cr_expect_eq(gs_task_state_floats(task), gs_task_parameter_count(task)); /* momentum */
    cr_expect_eq(gs_task_dataset(task)->train_count, 1437);
}

Test(task, an_untrained_model_guesses)
{
    double loss = 0;
    double share = accuracy(&loss);
    cr_expect_lt(share, 0.3);               /* chance is 0.1 */
    cr_expect_float_eq(loss, log(10), 0.5); /* small weights: nearly equal outputs */
}

/* Measured over seeds 1 to 5: accuracy 0.969 to 0.981, train loss 0.006 to 0.058, in 0.05 s; more
 * steps reach no more. One of 360 images is 0.003. */
Test(task, the_perceptron_learns_digits_in_a_few_hundred_steps)
{
    double first_loss = gradient(workspace, 0, 32, g);
    double last_loss = train(400, 32);
    double loss = 0;
    double share = accuracy(&loss);
    cr_expect_lt(last_loss, first_loss / 20);
    cr_expect_geq(share, 0.96, "%.4f, train loss %.4f", share, last_loss);
}

/* Measured over seeds 1 to 5: accuracy 0.947 to 0.956, train loss 0.086 to 0.178. */
Test(task, softmax_regression_learns_too)
{
    gs_task_config config = gs_task_config_default();
    config.model = gs_model_find("softmax");
    create(&config, 1);
    cr_expect_eq(count, 650);
    double first_loss = gradient(workspace, 0, 32, g);
    double last_loss = train(400, 32);
    double loss = 0;
    double share = accuracy(&loss);
    cr_expect_lt(last_loss, first_loss / 8);
    cr_expect_geq(share, 0.93, "%.4f, train loss %.4f", share, last_loss);
}

static double norm(const float *v)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)v[i] * (double)v[i];
    }
    return sqrt(sum);
}

/* N ranks with b samples each against one rank with N b, at step s of the global order; s = 23 and
 * 8 x 16 samples cross from epoch 2 to 3. */
Test(task, the_mean_over_ranks_is_the_gradient_of_one_large_batch)
{
    enum { RANKS = 8, PER_RANK = 16 };
    const int64_t steps[3] = {0, 22, 500};
    for (int k = 0; k < 3; k++) {
        double large_loss = gradient(workspace, steps[k] * RANKS * PER_RANK, RANKS * PER_RANK, g);
        memset(g_other, 0, count * sizeof(float));
        double mean_loss = 0;
        for (int64_t r = 0; r < RANKS; r++) {
            gs_task_request request = {.first_sample = (steps[k] * RANKS + r) * PER_RANK,
                                       .sample_count = PER_RANK,
                                       .accumulate = true};
            double loss = 0;
            gs_error err;
            cr_assert_eq(gs_task_gradient(workspace, &request, x, g_other, &loss, &err), GS_OK);
            mean_loss += loss / RANKS;
        }
        double whole = norm(g);
        for (size_t i = 0; i < count; i++) {
            g[i] -= g_other[i] / RANKS;
        }
        cr_expect_lt(norm(g), 1e-5 * whole, "step %d: %g of %g", (int)steps[k], norm(g), whole);
        cr_expect_float_eq(mean_loss, large_loss, 1e-6);
    }
}

Test(task, the_same_seed_gives_the_same_bytes_and_another_does_not)
{
    gs_task_config config = gs_task_config_default();
    train(20, 16);
    const float *before = x;
    create(&config, 1);
    train(20, 16);
    cr_expect(memcmp(before, x, count * sizeof(float)) == 0);
    create(&config, 2);
    train(20, 16);
    cr_expect(memcmp(before, x, count * sizeof(float)) != 0);
}

Test(task, what_a_workspace_did_before_does_not_matter)
{
    gradient(workspace, 77, 16, g);
    gs_task_workspace *fresh = NULL;
    gs_error err;
    cr_assert_eq(gs_task_workspace_create(task, 16, &arena, &fresh, &err), GS_OK);
    double loss = 0;
    accuracy(&loss);
    gradient(workspace, 123456, BATCH_MAX, g_other);
    gradient(workspace, 77, 16, g_other);
    cr_expect(memcmp(g, g_other, count * sizeof(float)) == 0);
    gradient(fresh, 77, 16, g_other);
    cr_expect(memcmp(g, g_other, count * sizeof(float)) == 0);
}

typedef struct learner {
    gs_arena arena;
    float *x, *g, *state;
    gs_status status;
} learner;

static void *learn(void *argument)
{
    learner *l = argument;
    gs_error err;
    gs_task_workspace *own = NULL;
    l->x = GS_TAKE(&l->arena, float, count);
    l->g = GS_TAKE(&l->arena, float, count);
    l->state = GS_TAKE(&l->arena, float, count);
    l->status = gs_task_workspace_create(task, 16, &l->arena, &own, &err);
    gs_task_init(task, l->x);
    for (int64_t s = 0; s < 100 && l->status == GS_OK; s++) {
        gs_task_request request = {.first_sample = s * 16, .sample_count = 16};
        double loss = 0;
        l->status = gs_task_gradient(own, &request, l->x, l->g, &loss, &err);
        gs_optimizer_update update = {.parameters = l->x,
                                      .gradient = l->g,
                                      .state = l->state,
                                      .count = count,
                                      .rate_scale = 1.0};
        gs_task_apply(task, &update);
    }
    return NULL;
}

Test(task, threads_with_their_own_workspaces_learn_the_same_bytes)
{
    enum { THREADS = 3 };
    learner learners[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        gs_arena_init(&learners[i].arena);
        cr_assert_eq(pthread_create(&threads[i], NULL, learn, &learners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(learners[i].status, GS_OK);
    }
    train(100, 16);
    for (int i = 0; i < THREADS; i++) {
        cr_expect(memcmp(learners[i].x, x, count * sizeof(float)) == 0, "thread %d", i);
        gs_arena_fini(&learners[i].arena);
    }
}

static void count_layer(void *context, uint32_t layer_index)
{
    uint32_t *next = context;
    cr_expect_lt(layer_index, *next);
    *next = layer_index;
}

Test(task, layers_are_announced_from_last_to_first)
{
    uint32_t next = gs_task_network(task)->layer_count;
    gs_task_request request = {
        .first_sample = 0, .sample_count = 4, .layer_ready = count_layer, .context = &next};
    double loss = 0;
    gs_error err;
    cr_assert_eq(gs_task_gradient(workspace, &request, x, g, &loss, &err), GS_OK);
    cr_expect_eq(next, 0);
}

Test(task, a_loss_that_is_not_finite_is_reported)
{
    x[0] = NAN;
    gs_task_request request = {.first_sample = 320, .sample_count = 32};
    double loss = -1;
    double share = -1;
    gs_error err;
    cr_expect_eq(gs_task_gradient(workspace, &request, x, g, &loss, &err), GS_EDIVERGED);
    cr_expect_str_eq(err.text, "training loss of samples 320 to 351 is not finite");
    cr_expect_eq(gs_task_evaluate(workspace, x, &loss, &share, &err), GS_EDIVERGED);
    cr_expect_str_eq(err.text, "test loss is not finite");
    cr_expect(loss == -1.0 && share == -1.0);
}

Test(task, a_rate_that_is_far_too_large_diverges_and_says_so)
{
    gs_status status = GS_OK;
    gs_error err;
    for (int64_t s = 0; s < 200 && status == GS_OK; s++) {
        gs_task_request request = {.first_sample = s * 16, .sample_count = 16};
        double loss = 0;
        status = gs_task_gradient(workspace, &request, x, g, &loss, &err);
        step(g, 1e30);
    }
    cr_expect_eq(status, GS_EDIVERGED);
}

Test(task, each_request_for_memory_may_fail)
{
    gs_task_config config = gs_task_config_default();
    int failures = 0;
    gs_status status = GS_ENOMEM;
    for (int64_t n = 0; n < 40 && status != GS_OK; n++) {
        gs_arena poor;
        gs_arena_init(&poor);
        poor.fail_after = n;
        gs_task *made = NULL;
        gs_task_workspace *space = NULL;
        gs_error err = {.code = GS_OK};
        gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = 1, .seed = 1};
        status = gs_task_create(&config, &setup, &poor, &made, &err);
        if (status == GS_OK) {
            status = gs_task_workspace_create(made, 8, &poor, &space, &err);
        }
        cr_expect(status == GS_OK || status == GS_ENOMEM);
        cr_expect_eq(err.code, status);
        failures += status != GS_OK;
        gs_arena_fini(&poor);
    }
    cr_expect_eq(status, GS_OK);
    /* Task, 3 arrays of data, 3 of shards; workspace, scratch, 2 buffers of a batch,
     * 2 arrays of the order. */
    cr_expect_eq(failures, 13);
}
