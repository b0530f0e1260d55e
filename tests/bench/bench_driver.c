/* 41 million hook calls of allreduce through its driver, with a host that does nothing: what the
 * contract costs. */
#include "base/assert.h"
#include "strategies/driver.h"
#include "strategies/registry.h"

#include <stdio.h>
#include <time.h>

enum { BUCKETS = 20, HOOKS_PER_STEP = 2 * BUCKETS + 2, HOOKS = 41000000 };

typedef struct null_host {
    uint32_t slots[BUCKETS];
    uint32_t started;
} null_host;

static uint32_t channel(void *host, uint32_t communicator, uint32_t number, gs_peer from,
                        gs_peer to)
{
    (void)host, (void)communicator, (void)number, (void)from, (void)to;
    return 0;
}

static void issued(void *host, gs_peer self, const gs_op_signature *op)
{
    (void)host, (void)self, (void)op;
}

/* The host says that it runs the op itself: its end is one call later. */
static bool start(void *host, gs_peer self, uint32_t slot, const gs_op_signature *op, gs_slice data)
{
    null_host *null = host;
    (void)self, (void)op, (void)data;
    null->slots[null->started++] = slot;
    return true;
}

static void vec(void *host, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    (void)host, (void)self, (void)vop, (void)dst, (void)a, (void)k;
}

static void apply(void *host, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last)
{
    (void)host, (void)self, (void)param, (void)grad, (void)rate_scale, (void)last;
}

static void wake(void *host, gs_peer self)
{
    (void)host, (void)self;
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    (void)host, (void)self;
    fprintf(stderr, "%s\n", err->text);
    GS_ASSERT(false && "allreduce keeps its contract");
}

static const gs_host_calls calls = {.channel = channel,
                                    .issued = issued,
                                    .start = start,
                                    .ended = issued,
                                    .vec = vec,
                                    .apply = apply,
                                    .wake = wake,
                                    .failed = failed};

static gs_driver *make(gs_arena *arena, null_host *host, bool swap_state)
{
    static int64_t elements[BUCKETS];
    static gs_job job;
    static gs_layout layout;
    const gs_strategy *strategy = gs_strategy_find("allreduce");
    void *config = gs_arena_take(arena, 1, strategy->config->struct_bytes);
    gs_error err;
    for (int i = 0; i < BUCKETS; i++) {
        elements[i] = 10000000;
    }
    job = (gs_job){.ranks = 64,
                   .elements = BUCKETS * INT64_C(10000000),
                   .element_bytes = 4,
                   .unit_count = BUCKETS,
                   .unit_elements = elements,
                   .accumulation = 1};
    gs_config_defaults(strategy->config, config);
    GS_ASSERT(strategy->layout(config, &job, &layout, &err) == GS_OK);
    gs_driver_config wanted = {.strategy = strategy,
                               .strategy_config = config,
                               .job = &job,
                               .layout = &layout,
                               .buckets = gs_bucket_plan_make(&job, &layout.buckets, NULL, arena),
                               .self = {GS_WORKER, 3},
                               .calls = &calls,
                               .host = host,
                               .swap_state = swap_state};
    GS_ASSERT(wanted.buckets->bucket_count == BUCKETS);
    return gs_driver_create(&wanted, arena);
}

static void step(gs_driver *driver, null_host *host)
{
    gs_plan plan;
    gs_driver_step_begin(driver, 0, &plan);
    GS_ASSERT(plan.go);
    host->started = 0;
    for (uint32_t unit = BUCKETS; unit-- > 0;) {
        gs_driver_unit_ready(driver, 0, unit);
    }
    gs_driver_backward_done(driver, 0, 1.0);
    /* The line starts the next op when one ends. */
    for (uint32_t op = 0; op < BUCKETS; op++) {
        gs_driver_native_done(driver, 0, host->slots[op]);
    }
}

int main(void)
{
    for (int swap = 0; swap < 2; swap++) {
        gs_arena arena;
        gs_arena_init(&arena);
        null_host host = {.started = 0};
        gs_driver *driver = make(&arena, &host, swap == 1);
        gs_driver_start(driver, 0);
        size_t before_bytes = arena.used_bytes;
        clock_t before = clock();
        for (int i = 0; i < HOOKS / HOOKS_PER_STEP; i++) {
            step(driver, &host);
        }
        double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
        printf("{\"bench\": \"driver\", \"hooks\": %d, \"swap_state\": %s, \"cpu_s\": %.3f, "
               "\"ns_per_hook\": %.1f, \"bytes_allocated\": %zu}\n",
               HOOKS, swap == 1 ? "true" : "false", cpu_s, cpu_s / HOOKS * 1e9,
               arena.used_bytes - before_bytes);
        gs_arena_fini(&arena);
    }
    return 0;
}
