/* What a hook costs, for every strategy of the registry: one worker and its servers behind a host
 * that moves nothing and answers at once. Once with the driver and this host's queue, once the
 * hooks alone, called again with null services, the best of ten times. One JSON line a strategy. */
#include "base/assert.h"
#include "strategies/driver.h"
#include "strategies/registry.h"
#include "tests/bench/hook_tape.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { UNITS = 8, SERVERS = 1, STEPS = 100000, ALONE_STEPS = 40, PLAYS = 10, QUEUE = 256 };

typedef enum what { SENT, NATIVE, LATER, MESSAGE } what;

typedef struct answer {
    what kind;
    gs_peer to;
    uint32_t slot;
    gs_message message;
} answer;

static struct {
    gs_driver *drivers[GS_ROLE_COUNT];
    answer queue[QUEUE];
    uint32_t first, count;
    int64_t hooks;
} host;

static void put(answer one)
{
    GS_ASSERT(host.count < QUEUE);
    host.queue[(host.first + host.count++) % QUEUE] = one;
}

static uint32_t channel(void *context, uint32_t communicator, uint32_t number, gs_peer from,
                        gs_peer to)
{
    (void)context, (void)communicator, (void)number, (void)from, (void)to;
    return 0;
}

static void of_op(void *context, gs_peer self, const gs_op_signature *op)
{
    (void)context, (void)self, (void)op;
}

static bool start(void *context, gs_peer self, uint32_t slot, const gs_op_signature *op,
                  gs_slice data)
{
    (void)context, (void)op, (void)data;
    put((answer){.kind = NATIVE, .to = self, .slot = slot});
    return true;
}

static void send(void *context, const gs_message *message, gs_slice data, uint32_t slot)
{
    (void)context, (void)data;
    put((answer){.kind = SENT, .to = message->from, .slot = slot});
    put((answer){.kind = MESSAGE, .to = message->to, .message = *message});
}

static void note(void *context, const gs_message *message)
{
    (void)context;
    put((answer){.kind = MESSAGE, .to = message->to, .message = *message});
}

static void later(void *context, gs_peer self, uint32_t slot)
{
    (void)context;
    put((answer){.kind = LATER, .to = self, .slot = slot});
}

static void timer(void *context, gs_peer self, uint32_t slot, gs_time_ns after_ns)
{
    (void)after_ns;
    later(context, self, slot);
}

static void of_self(void *context, gs_peer self)
{
    (void)context, (void)self;
}

static void of_slice(void *context, gs_peer self, gs_slice slice)
{
    (void)context, (void)self, (void)slice;
}

static void vec(void *context, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    (void)context, (void)self, (void)vop, (void)dst, (void)a, (void)k;
}

static double dot(void *context, gs_peer self, gs_slice a, gs_slice b, uint32_t slot)
{
    (void)a, (void)b;
    later(context, self, slot);
    return 1.0;
}

static void apply(void *context, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last)
{
    (void)context, (void)self, (void)param, (void)grad, (void)rate_scale, (void)last;
}

static void open_forward(void *context, gs_peer self, uint32_t first_bucket)
{
    (void)context, (void)self, (void)first_bucket;
}

static void failed(void *context, gs_peer self, const gs_error *err)
{
    (void)context, (void)self;
    fprintf(stderr, "%s\n", err->text);
    GS_ASSERT(false && "strategies keep their contract");
}

static const gs_host_calls calls = {.channel = channel,
                                    .issued = of_op,
                                    .start = start,
                                    .ended = of_op,
                                    .send = send,
                                    .send_copy = send,
                                    .note = note,
                                    .later = later,
                                    .timer = timer,
                                    .wake = of_self,
                                    .vec = vec,
                                    .dot = dot,
                                    .apply = apply,
                                    .open_forward = open_forward,
                                    .cancel_gradient = of_self,
                                    .end_step = of_self,
                                    .drop = of_slice,
                                    .failed = failed};

/* Hands out everything that is queued, and what that leads to. */
static void answer_all(void)
{
    while (host.count > 0) {
        const answer *one = &host.queue[host.first];
        gs_driver *driver = host.drivers[one->to.role];
        host.first = (host.first + 1) % QUEUE;
        host.count--;
        host.hooks++;
        switch (one->kind) {
        case SENT:
            gs_driver_sent(driver, 0, one->slot);
            break;
        case NATIVE:
            gs_driver_native_done(driver, 0, one->slot);
            break;
        case LATER:
            gs_driver_later(driver, 0, one->slot);
            break;
        case MESSAGE: {
            gs_message message = one->message;
            gs_driver_message(driver, 0, &message);
            break;
        }
        }
    }
}

static void step(void)
{
    gs_driver *worker = host.drivers[GS_WORKER];
    gs_plan plan;
    gs_driver_step_begin(worker, 0, &plan);
    GS_ASSERT(plan.go);
    answer_all(); /* what a gated forward pass waits for */
    for (uint32_t unit = UNITS; unit-- > 0;) {
        gs_driver_unit_ready(worker, 0, unit);
    }
    gs_driver_backward_done(worker, 0, 1.0);
    host.hooks += 2 + UNITS; /* a bucket a unit, or fewer hooks than counted */
    answer_all();
}

/* false: not this strategy with one worker. */
static bool make(const gs_strategy *strategy, const gs_job *job, gs_layout *layout, gs_arena *arena)
{
    void *config = gs_arena_take(arena, 1, strategy->config->struct_bytes);
    gs_error err;
    gs_config_defaults(strategy->config, config);
    if (strategy->layout(config, job, layout, &err) != GS_OK) {
        printf("{\"bench\": \"hooks\", \"strategy\": \"%s\", \"skipped\": \"%s\"}\n",
               strategy->name, err.text);
        return false;
    }
    gs_driver_config wanted = {.strategy = strategy,
                               .strategy_config = config,
                               .job = job,
                               .layout = layout,
                               .buckets = gs_bucket_plan_make(job, &layout->buckets, NULL, arena),
                               .calls = &calls,
                               .host = &host};
    host.first = host.count = 0;
    for (int role = 0; role < GS_ROLE_COUNT; role++) {
        wanted.self = (gs_peer){(uint16_t)role, 0};
        host.drivers[role] = NULL;
        if (role == GS_WORKER || layout->servers > 0) {
            host.drivers[role] = gs_driver_create(&wanted, arena);
            gs_driver_start(host.drivers[role], 0);
        }
    }
    answer_all();
    return true;
}

static void measure(const gs_strategy *strategy)
{
    int64_t elements[UNITS];
    for (int i = 0; i < UNITS; i++) {
        elements[i] = 10000000; /* 40 MB: a bucket each */
    }
    const gs_job job = {.ranks = 1,
                        .servers = SERVERS,
                        .elements = UNITS * INT64_C(10000000),
                        .element_bytes = 4,
                        .unit_count = UNITS,
                        .unit_elements = elements,
                        .node_ranks = 1,
                        .batch = 32,
                        .accumulation = 1};
    gs_layout layout;
    gs_arena arena;
    gs_arena_init(&arena);
    if (make(gs_tape_listen(strategy), &job, &layout, &arena)) {
        host.hooks = 0;
        clock_t before = clock();
        for (int i = 0; i < STEPS; i++) {
            step();
        }
        double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
        gs_tape_record(&layout);
        for (int i = 0; i < ALONE_STEPS; i++) {
            step();
        }
        double alone_s = HUGE_VAL; /* the best of a few: others share this processor */
        for (int i = 0; i < PLAYS; i++) {
            alone_s = fmin(alone_s, gs_tape_play(STEPS / ALONE_STEPS / PLAYS));
        }
        double alone_hooks = (double)gs_tape_hooks() * (STEPS / ALONE_STEPS / PLAYS);
        printf("{\"bench\": \"hooks\", \"strategy\": \"%s\", \"inputs\": %lld, "
               "\"ns_per_input\": %.1f, \"ns_per_hook_alone\": %.1f}\n",
               strategy->name, (long long)host.hooks, cpu_s / (double)host.hooks * 1e9,
               alone_s / alone_hooks * 1e9);
    }
    gs_arena_fini(&arena);
}

int main(void)
{
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        measure(gs_strategy_at(i));
    }
    return 0;
}
