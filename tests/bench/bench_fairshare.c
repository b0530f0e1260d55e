/* Thousands of flows that share links, to completion: random pairs on a fat tree of 4,096 hosts and
 * on a switch, and incast into one host; sizes are random, so that every end changes rates. One
 * JSON line each; fails where one takes more CPU seconds than it may. */
#include "base/event_queue.h"
#include "base/rng.h"
#include "sim/fluid.h"
#include "tests/bench/fat_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* 100 Gbit/s in bytes per tick. */
static const double CAPACITY = 12.5e9 / (1e9 * GS_TICKS_PER_NS);

typedef enum pattern { FAT_TREE, STAR, INCAST } pattern;

typedef struct workload {
    const char *name;
    pattern kind;
    uint32_t flows;
    gs_time_ns arrivals_ns; /* they come within that time; 0: all at once */
    double limit_s;         /* of CPU */
} workload;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "bench_fairshare: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static double draw(uint32_t flow, uint32_t what)
{
    return gs_rng_uniform((gs_rng_key){4096, GS_RNG_TEST, what}, flow, 0);
}

static uint32_t route_of(const workload *load, uint32_t flow, uint32_t *route)
{
    if (load->kind == INCAST) {
        route[0] = 1 + flow;
        route[1] = 0;
        return 2;
    }
    uint32_t from = (uint32_t)(draw(flow, 0) * FAT_TREE_HOSTS);
    uint32_t to = (from + 1 + (uint32_t)(draw(flow, 1) * (FAT_TREE_HOSTS - 1))) % FAT_TREE_HOSTS;
    if (load->kind == FAT_TREE) {
        return fat_tree_route(from, to, route);
    }
    route[0] = from;
    route[1] = FAT_TREE_HOSTS + to;
    return 2;
}

typedef struct replay {
    gs_fluid *fluid;
    gs_event_queue *queue;
    uint64_t *handles; /* [flows] of the event that is waited for */
    uint64_t events;
} replay;

static void push(replay *engine, gs_tick at, uint32_t flow, bool is_end)
{
    uint64_t key = ++engine->events << 24 | flow << 1 | is_end;
    if (is_end) {
        engine->handles[flow] = key;
    }
    must(gs_event_queue_push(engine->queue, (gs_queued_event){at, key}) == GS_OK, "no memory");
}

static void take_news(replay *engine)
{
    for (uint32_t i = 0; i < engine->fluid->news_count; i++) {
        gs_fluid_news news = engine->fluid->news[i];
        if (news.end == GS_TICK_NEVER) {
            engine->handles[news.flow] = 0;
        } else {
            push(engine, news.end, news.flow, true);
        }
    }
}

/* Bytes 1..200 MB. Returns the sum of the ends, in seconds. */
static double run_to_completion(replay *engine, const workload *load)
{
    for (uint32_t flow = 0; flow < load->flows; flow++) {
        push(engine, gs_tick_of(draw(flow, 2) * (double)gs_ticks(load->arrivals_ns)), flow, false);
    }
    double sum_s = 0.0;
    uint32_t ended = 0;
    gs_queued_event event;
    while (gs_event_queue_pop(engine->queue, &event)) {
        uint32_t flow = (uint32_t)event.key >> 1 & ((UINT32_C(1) << 23) - 1);
        if (event.key % 2 == 0) {
            uint32_t route[FAT_TREE_ROUTE_MAX];
            uint32_t count = route_of(load, flow, route);
            double bytes = 1e6 + draw(flow, 3) * 199e6;
            gs_fluid_begin(engine->fluid, event.time, flow, route, count, bytes, flow);
        } else if (event.key == engine->handles[flow]) {
            gs_fluid_end(engine->fluid, event.time, flow);
            sum_s += (double)event.time / (1e9 * GS_TICKS_PER_NS);
            ended++;
        } else {
            continue;
        }
        take_news(engine);
    }
    must(ended == load->flows, "flows did not end");
    return sum_s;
}

static bool measure(const workload *load)
{
    uint32_t links = load->kind == INCAST ? load->flows + 1 : FAT_TREE_LINKS;
    gs_arena arena;
    gs_arena_init(&arena);
    replay engine = {.fluid = gs_fluid_create(links, load->flows, FAT_TREE_ROUTE_MAX, &arena),
                     .queue = gs_event_queue_create(),
                     .handles = GS_TAKE(&arena, uint64_t, load->flows)};
    must(engine.fluid != NULL && engine.queue != NULL && engine.handles != NULL, "no memory");
    for (uint32_t link = 0; link < links; link++) {
        gs_fluid_set_capacity(engine.fluid, 0, link, CAPACITY);
    }
    double before = seconds();
    double sum_s = run_to_completion(&engine, load);
    double cpu_s = seconds() - before;
    printf("{\"bench\": \"fairshare\", \"network\": \"%s\", \"flows\": %u, \"arrivals_ms\": %g, "
           "\"cpu_s\": %.4f, \"limit_s\": %g, \"events\": %llu, \"mean_end_ms\": %.6f, "
           "\"arena_mb\": %.1f, \"queue_mb\": %.1f}\n",
           load->name, load->flows, (double)load->arrivals_ns / 1e6, cpu_s, load->limit_s,
           (unsigned long long)engine.events, 1e3 * sum_s / load->flows,
           (double)arena.used_bytes / 1e6, (double)gs_event_queue_bytes(engine.queue) / 1e6);
    fflush(stdout);
    gs_event_queue_destroy(engine.queue);
    gs_arena_fini(&arena);
    return cpu_s <= load->limit_s;
}

int main(void)
{
    static const workload loads[] = {
        {"fat tree", FAT_TREE, 1000, 10 * GS_NS_PER_MS, 0.1},
        {"fat tree", FAT_TREE, 10000, 10 * GS_NS_PER_MS, 0.2},
        {"fat tree", FAT_TREE, 20000, 10 * GS_NS_PER_MS, 3.0},
        {"star", STAR, 10000, 10 * GS_NS_PER_MS, 0.1},
        {"incast", INCAST, 10000, 10 * GS_NS_PER_MS, 5.0},
        {"incast", INCAST, 10000, 0, 5.0},
    };
    bool is_fast = true;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        is_fast = measure(&loads[i]) && is_fast;
    }
    must(is_fast, "slower than it may be");
    return 0;
}
