/* Hook calls of gossip through its driver, with a host that does nothing: what a step of neighbours
 * costs beside its messages. */
#include "base/assert.h"
#include "strategies/driver.h"
#include "strategies/mixing.h"
#include "strategies/registry.h"

#include <stdio.h>
#include <time.h>

enum { RANKS = 64, SELF = 3, SENDS_MAX = 64, STEPS = 1000000 };

typedef struct null_host {
    uint32_t slots[SENDS_MAX];
    gs_peer to[SENDS_MAX];
    uint32_t sent;
} null_host;

static void send(void *host, const gs_message *message, gs_slice data, uint32_t slot)
{
    null_host *null = host;
    (void)data;
    GS_ASSERT(null->sent < SENDS_MAX);
    null->to[null->sent] = message->to;
    null->slots[null->sent++] = slot;
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

static void of_self(void *host, gs_peer self)
{
    (void)host, (void)self;
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    (void)host, (void)self;
    fprintf(stderr, "%s\n", err->text);
    GS_ASSERT(false && "gossip keeps its contract");
}

static const gs_host_calls calls = {.send = send,
                                    .send_copy = send,
                                    .vec = vec,
                                    .apply = apply,
                                    .end_step = of_self,
                                    .wake = of_self,
                                    .failed = failed};

static gs_driver *make(const char *name, gs_arena *arena, null_host *host)
{
    static const int64_t elements[] = {10000000};
    static gs_job job;
    static gs_layout layout;
    const gs_strategy *strategy = gs_strategy_find(name);
    void *config = gs_arena_take(arena, 1, strategy->config->struct_bytes);
    gs_error err;
    job = (gs_job){.ranks = RANKS,
                   .elements = elements[0],
                   .element_bytes = 4,
                   .unit_count = 1,
                   .unit_elements = elements,
                   .accumulation = 1};
    gs_config_defaults(strategy->config, config);
    GS_ASSERT(strategy->layout(config, &job, &layout, &err) == GS_OK);
    gs_driver_config wanted = {.strategy = strategy,
                               .strategy_config = config,
                               .job = &job,
                               .layout = &layout,
                               .buckets = gs_bucket_plan_make(&job, &layout.buckets, NULL, arena),
                               .self = {GS_WORKER, SELF},
                               .calls = &calls,
                               .host = host};
    return gs_driver_create(&wanted, arena);
}

/* What a rank sends comes back from its neighbours. Returns the hooks called. */
static int64_t step(gs_driver *driver, null_host *host, const gs_mixing *mixing, int64_t number)
{
    gs_plan plan;
    host->sent = 0;
    gs_driver_step_begin(driver, 0, &plan);
    GS_ASSERT(plan.go);
    gs_driver_unit_ready(driver, 0, 0);
    gs_driver_backward_done(driver, 0, 1.0);
    uint32_t sent = host->sent;
    for (uint32_t i = 0; i < sent; i++) {
        uint32_t from =
            mixing == NULL ? host->to[i].index : gs_mixing_from(mixing, SELF, number, i);
        gs_message message = {.from = {GS_WORKER, (uint16_t)from},
                              .to = {GS_WORKER, SELF},
                              .tag = mixing == NULL ? 1 : 0,
                              .length = 10000000};
        gs_driver_sent(driver, 0, host->slots[i]);
        gs_driver_message(driver, 0, &message);
    }
    return 3 + 2 * (int64_t)sent;
}

static void measure(const char *name, const gs_mixing *mixing)
{
    gs_arena arena;
    gs_arena_init(&arena);
    null_host host = {.sent = 0};
    gs_driver *driver = make(name, &arena, &host);
    gs_driver_start(driver, 0);
    size_t before_bytes = arena.used_bytes;
    int64_t hooks = 0;
    clock_t before = clock();
    for (int64_t i = 0; i < STEPS; i++) {
        hooks += step(driver, &host, mixing, i);
    }
    double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    printf("{\"bench\": \"gossip\", \"strategy\": \"%s\", \"hooks\": %lld, \"cpu_s\": %.3f, "
           "\"ns_per_hook\": %.1f, \"bytes_allocated\": %zu}\n",
           name, (long long)hooks, cpu_s, cpu_s / (double)hooks * 1e9,
           arena.used_bytes - before_bytes);
    gs_arena_fini(&arena);
}

int main(void)
{
    gs_mixing ring = gs_mixing_of(GS_GRAPH_RING, RANKS);
    gs_mixing one_peer = gs_mixing_of(GS_GRAPH_ONE_PEER, RANKS);
    measure("d_psgd", &ring);
    measure("choco", &ring);
    measure("sgp", &one_peer);
    measure("osgp", &one_peer);
    measure("ad_psgd", NULL);
    return 0;
}
