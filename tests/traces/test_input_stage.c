/* The input stage: by hand, and against a small event simulation of workers and queues. */
#include "traces/input_stage.h"

#include <criterion/criterion.h>

#include <stdbool.h>
#include <string.h>

#include "traces/noise.h"

static gs_arena arena;
static const gs_noise_law no_noise = {.law = GS_LAW_NONE};

static gs_input_loader *make(gs_time_ns time_ns, int64_t workers, int64_t prefetch,
                             const gs_noise_law *noise, uint32_t rank_count)
{
    gs_input_stage stage = {.time_ns = time_ns, .workers = workers, .prefetch = prefetch};
    gs_input_loader *loader = NULL;
    gs_error err;
    gs_arena_init(&arena);
    cr_assert_eq(gs_input_loader_create(&stage, noise, 4711, rank_count, &arena, &loader, &err),
                 GS_OK, "%s", err.text);
    return loader;
}

Test(input_stage, a_worker_with_one_batch_ahead_works_while_the_rank_computes)
{
    /* One worker, prefetch 1, 10 ns. Batch 0 ready at 10; batch 1 starts when 0 is taken (10),
     * ready at 20; wanted at 17: taken at 20; batch 2 ready at 30, wanted at 45: no wait; batch 3
     * starts at 45. */
    gs_input_loader *loader = make(10, 1, 1, &no_noise, 1);
    cr_assert_eq(gs_input_loader_take(loader, 0, 0), 10);
    cr_assert_eq(gs_input_loader_take(loader, 0, 17), 20);
    cr_assert_eq(gs_input_loader_take(loader, 0, 45), 45);
    cr_assert_eq(gs_input_loader_take(loader, 0, 46), 55);
    gs_arena_fini(&arena);
}

Test(input_stage, a_starved_rank_gets_workers_over_cost)
{
    /* 3 workers of 100 ns: three batches each 100 ns from the start on, in threes. */
    gs_input_loader *loader = make(100, 3, 2, &no_noise, 1);
    gs_time_ns now = 0;
    for (int64_t batch = 0; batch < 3000; batch++) {
        now = gs_input_loader_take(loader, 0, now);
        cr_assert_eq(now, 100 * (batch / 3 + 1));
    }
    gs_arena_fini(&arena);
}

Test(input_stage, a_fast_loader_makes_nobody_wait_after_the_first_batch)
{
    /* 4 workers of 37 ns feed one batch each 10 ns: 4 x 10 > 37. */
    gs_input_loader *loader = make(37, 4, 1, &no_noise, 2);
    gs_time_ns now = gs_input_loader_take(loader, 1, 0);
    cr_assert_eq(now, 37);
    for (int64_t batch = 1; batch < 1000; batch++) {
        cr_assert_eq(gs_input_loader_take(loader, 1, now + 10), now + 10);
        now += 10;
    }
    gs_arena_fini(&arena);
}

Test(input_stage, what_was_fetched_ahead_bridges_a_pause)
{
    /* 2 workers, prefetch 3, 50 ns: by 1000 ns six batches are ready and no seventh is begun. Taken
     * at once, the next six begin two by two at 1000: ready at 1050, 1050, 1100, ... */
    gs_input_loader *loader = make(50, 2, 3, &no_noise, 1);
    gs_time_ns now = 1000;
    for (int64_t batch = 0; batch < 6; batch++) {
        cr_assert_eq(gs_input_loader_take(loader, 0, 1000), 1000);
    }
    for (int64_t batch = 0; batch < 6; batch++) {
        now = gs_input_loader_take(loader, 0, now);
        cr_assert_eq(now, 1050 + 50 * (batch / 2));
    }
    gs_arena_fini(&arena);
}

Test(input_stage, ranks_have_loaders_and_draws_of_their_own)
{
    const gs_noise_law noise = {.law = GS_LAW_LOGNORMAL, .cv = 0.4};
    gs_input_loader *both = make(1000, 2, 2, &noise, 2);
    gs_time_ns first[2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        first[rank] = gs_input_loader_take(both, rank, 0);
    }
    cr_assert_neq(first[0], first[1]);
    cr_assert_neq(first[0], 1000);
    gs_arena_fini(&arena);
    gs_input_loader *again = make(1000, 2, 2, &noise, 2);
    cr_assert_eq(gs_input_loader_take(again, 1, 0), first[1]); /* whoever comes first */
    gs_arena_fini(&arena);
}

Test(input_stage, wrong_stages_are_refused_with_the_place)
{
    const gs_input_stage wrong[] = {
        {.time_ns = -1, .workers = 1, .prefetch = 1},
        {.time_ns = 1, .workers = 0, .prefetch = 1},
        {.time_ns = 1, .workers = 1, .prefetch = 0},
        {.time_ns = 1, .workers = 1025, .prefetch = 1024},
        {.time_ns = 1, .workers = INT64_MAX, .prefetch = INT64_MAX},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gs_input_loader *loader = NULL;
        gs_error err = {.code = GS_OK};
        gs_arena_init(&arena);
        cr_assert_eq(gs_input_loader_create(&wrong[i], &no_noise, 1, 1, &arena, &loader, &err),
                     GS_EINVAL);
        cr_assert_not_null(strstr(err.text, "workload.input"));
        cr_assert_null(loader);
        gs_arena_fini(&arena);
    }
    gs_input_stage stage = {.time_ns = 1, .workers = 1, .prefetch = 1};
    for (int64_t n = 0; n < 3; n++) {
        gs_input_loader *loader = NULL;
        gs_arena_init(&arena);
        arena.fail_after = n;
        cr_assert_eq(gs_input_loader_create(&stage, &no_noise, 1, 1, &arena, &loader, NULL),
                     GS_ENOMEM);
        gs_arena_fini(&arena);
    }
}

/* The second model: time moves ns by ns; workers with queues of indices, a consumer with a list of
 * pauses. Index j goes to the queue of worker j mod workers; as many are out as may be ahead. */
enum { WORKERS_MAX = 5, BATCHES = 30 };

typedef struct toy {
    uint32_t workers, ahead;
    gs_time_ns costs[BATCHES], pauses[BATCHES];
    gs_time_ns taken[BATCHES];
} toy;

static void toy_run(toy *t)
{
    bool ready[BATCHES] = {false};
    int32_t at_work[WORKERS_MAX]; /* batch, or -1 */
    gs_time_ns until[WORKERS_MAX] = {0};
    uint32_t next_of[WORKERS_MAX];
    for (uint32_t w = 0; w < t->workers; w++) {
        at_work[w] = -1;
        next_of[w] = w;
    }
    uint32_t taken = 0;
    gs_time_ns wanted = t->pauses[0];
    for (gs_time_ns now = 0; taken < BATCHES; now++) {
        /* What happens at one instant may allow more at the same instant, at zero cost too. */
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t w = 0; w < t->workers; w++) {
                if (at_work[w] >= 0 && until[w] <= now) {
                    ready[at_work[w]] = true;
                    at_work[w] = -1;
                    moved = true;
                }
                if (at_work[w] < 0 && next_of[w] < BATCHES && next_of[w] < taken + t->ahead) {
                    at_work[w] = (int32_t)next_of[w];
                    until[w] = now + t->costs[next_of[w]];
                    next_of[w] += t->workers;
                    moved = true;
                }
            }
            if (taken < BATCHES && ready[taken] && wanted <= now) {
                t->taken[taken] = now;
                taken++;
                wanted = taken < BATCHES ? now + t->pauses[taken] : 0;
                moved = true;
            }
        }
    }
}

Test(input_stage, equals_a_simulation_of_workers_and_queues)
{
    const gs_noise_law noise = {.law = GS_LAW_SHIFTED_EXPONENTIAL, .shift = 0.1};
    gs_noise_sampler sampler;
    cr_assert_eq(gs_noise_sampler_init(&sampler, &noise, "noise.input", NULL), GS_OK);
    for (uint32_t n = 0; n < 1500; n++) {
        gs_rng_key dice = {.seed = 99, .purpose = GS_RNG_TEST, .entity = n};
        int64_t workers = 1 + (int64_t)(gs_rng_uniform(dice, 0, 0) * WORKERS_MAX);
        int64_t prefetch = 1 + (int64_t)(gs_rng_uniform(dice, 0, 1) * 3);
        gs_time_ns time_ns = (gs_time_ns)(gs_rng_uniform(dice, 0, 2) * 60);
        gs_input_loader *loader = make(time_ns, workers, prefetch, &noise, n + 1);
        toy t = {.workers = (uint32_t)workers, .ahead = (uint32_t)(workers * prefetch)};
        gs_rng_key key = {.seed = 4711, .purpose = GS_RNG_INPUT, .entity = n};
        for (uint32_t batch = 0; batch < BATCHES; batch++) {
            double exact = (double)time_ns * gs_noise_draw(&sampler, key, batch, 0);
            t.costs[batch] = (gs_time_ns)exact + ((double)(gs_time_ns)exact < exact);
            t.pauses[batch] = (gs_time_ns)(gs_rng_uniform(dice, 1, batch) * 40);
        }
        toy_run(&t);
        gs_time_ns now = 0;
        for (uint32_t batch = 0; batch < BATCHES; batch++) {
            now = gs_input_loader_take(loader, n, now + t.pauses[batch]);
            cr_assert_eq(now, t.taken[batch], "case %u, batch %u: %lld, not %lld", n, batch,
                         (long long)now, (long long)t.taken[batch]);
        }
        gs_arena_fini(&arena);
    }
}
