/* What it costs to time collectives as a whole: special forms of a ring, the dataflow of every
 * program, one op in a run by every network mode, and a training run of so many steps (first
 * argument; 100) on 4,096 ranks. The second one names what is to be run; without it all is. */
#include "sim/dataflow.h"
#include "sim/ring_times.h"
#include "tests/small_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { RANKS = 4096, MANY = 32768 };

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

/* Starts within 10 ms, spread evenly. */
static gs_tick start_of(uint32_t member)
{
    double share = (double)member * 0.6180339887498949;
    return (gs_tick)((share - (double)(int64_t)share) * 1e7 * GS_TICKS_PER_NS);
}

static void ring(uint32_t members, bool closed, int repeats)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_tick *times = need(GS_TAKE(&arena, gs_tick, 6 * (size_t)members));
    gs_tick *large = times + members, *small = large + members, *latency = small + members;
    gs_tick *received = latency + members, *left = received + members;
    gs_ring shape = {.members = members, .turns = 2 * (uint64_t)(members - 1), .large = 1000};
    for (uint32_t i = 0; i < members; i++) {
        times[i] = start_of(i);
        small[i] = 2000000;
        large[i] = 2000123;
        latency[i] = 5120000;
    }
    gs_ring_room room = {.arena = &arena};
    gs_ring_links links = {.large = large, .small = small, .latency = latency};
    gs_ring_link link = {large[0], small[0], latency[0]};
    double before = cpu_s();
    for (int i = 0; i < repeats; i++) {
        bool ok = closed ? gs_ring_closed(&shape, link, times, &room, received, left)
                         : gs_ring_recurrence(&shape, &links, times, &room, received, left);
        (void)need(ok ? times : NULL);
    }
    double each_s = (cpu_s() - before) / repeats;
    printf("{\"bench\": \"ring_times\", \"form\": \"%s\", \"ranks\": %u, \"cpu_ms\": %.4f, "
           "\"messages_per_s\": %.3e}\n",
           closed ? "closed" : "recurrence", members, each_s * 1e3,
           2.0 * (members - 1.0) * members / each_s);
    gs_arena_fini(&arena);
}

static void dataflow(const gs_collective *program, uint32_t members)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_shape shape = gs_shape_plain(members, 0, 25000000);
    shape.inner = 8;
    shape.middle = 2;
    gs_dataflow_plan *plan = need(gs_dataflow_plan_create(program, &shape, &arena));
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        plan->paths[i] = (gs_dataflow_path){.bytes_per_tick = 0.0122, .latency = 5120000};
    }
    gs_dataflow flow;
    gs_dataflow_wires wires = {0};
    (void)need(gs_dataflow_init(&flow, plan, &wires, &arena) ? plan : NULL);
    uint64_t messages = 0;
    double before = cpu_s();
    double passed = 0.0;
    while (passed < 0.3) {
        gs_dataflow_begin(&flow, &shape, 4, GS_TICK_NEVER);
        for (uint32_t i = 0; i < plan->channel_count; i++) {
            flow.channels[i].free_at = flow.channels[i].last_arrival = 0;
            flow.channels[i].messages = 0;
        }
        for (uint32_t i = 0; i < members; i++) {
            gs_dataflow_start(&flow, i, start_of(i), start_of(i));
        }
        for (uint32_t i = 0; i < plan->channel_count; i++) {
            messages += flow.channels[i].messages;
        }
        passed = cpu_s() - before;
    }
    printf("{\"bench\": \"dataflow\", \"program\": \"%s\", \"ranks\": %u, \"messages_per_s\": "
           "%.3e}\n",
           program->name, members, (double)messages / passed);
    gs_arena_fini(&arena);
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

typedef struct run_of {
    const char *name;
    uint32_t ranks, units;
    int64_t unit_elements, steps;
    gs_time_ns compute_ns, skew_ns;
    double compute_cv, latency_cv;
    gs_network_mode mode;
} run_of;

static void run(const run_of *of)
{
    small_job_config config = small_job_default();
    config.ranks = of->ranks;
    config.nic_bps = INT64_C(100000000000);
    config.nic_latency_ns = 5 * GS_NS_PER_US;
    config.units = of->units;
    config.unit_elements = of->unit_elements;
    config.forward_ns = of->compute_ns;
    config.backward_ns = of->compute_ns / of->units;
    config.skew_ns = of->skew_ns;
    config.steps = of->steps;
    small_job job;
    small_job_init(&job, &config, "bucket=tensor");
    gs_noise_law none = {.law = GS_LAW_NONE};
    gs_noise *noise = &job.scenario.noise;
    noise->compute =
        of->compute_cv > 0.0 ? (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = of->compute_cv} : none;
    noise->latency =
        of->latency_cv > 0.0 ? (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = of->latency_cv} : none;
    job.scenario.network_mode = (int)of->mode;
    double before = cpu_s();
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
    double passed = cpu_s() - before;
    double rank_ops = (double)of->ranks * of->units * (double)of->steps;
    printf("{\"bench\": \"network_run\", \"name\": \"%s\", \"mode\": \"%s\", \"ranks\": %u, "
           "\"steps\": %lld, \"status\": \"%s\", \"simulated_ms\": %.4f, \"cpu_s\": %.3f, "
           "\"ns_per_rank_op\": %.0f, \"events\": %llu, \"arena_bytes_per_rank\": %.0f, "
           "\"peak_rss_mb\": %.1f}\n",
           of->name, gs_network_mode_names[of->mode], of->ranks, (long long)of->steps,
           gs_status_text(result.status), (double)result.facts.end_ns / 1e6, passed,
           passed * 1e9 / rank_ops, (unsigned long long)result.facts.events,
           (double)result.memory_bytes / of->ranks, peak_mb());
    fflush(stdout);
    small_job_fini(&job);
    (void)need(result.status == GS_OK ? &job : NULL);
}

/* One hierarchical all-reduce over nodes of 8 ranks and 8 nics, whose rails have leaves of 64
 * nodes: what the op takes once all is set up. */
static void rails(uint32_t ranks)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.ranks_per_node = 8;
    config.nic_bps = INT64_C(400000000000);
    config.nic_latency_ns = 5 * GS_NS_PER_US;
    config.units = 1;
    config.unit_elements = 25000000;
    config.skew_ns = 10 * GS_NS_PER_MS;
    small_job job;
    small_job_init(&job, &config, NULL);
    gs_selection_rule rule = {
        .communicator = GS_ANY_COMMUNICATOR,
        .kind = GS_ALL_REDUCE,
        .up_to_bytes = INT64_MAX,
        .choice = {.program = gs_collective_find("hierarchical_ring"), .rings = 1}};
    job.choice.selection = (gs_selection){&rule, 1};
    gs_fabric *fabric = &job.scenario.cluster.topology;
    fabric->kind = GS_TOPOLOGY_FAT_TREE;
    fabric->nics = 8;
    fabric->rails = true;
    fabric->leaf_nodes = 64;
    fabric->oversubscription = fabric->core_oversubscription = 1.0;
    fabric->routing = GS_ROUTING_D_MOD_K;
    gs_error err;
    double before = cpu_s();
    gs_sim *sim = need(gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err));
    double made_s = cpu_s() - before;
    before = cpu_s();
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    double passed = cpu_s() - before;
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    printf("{\"bench\": \"rails\", \"ranks\": %u, \"simulated_ms\": %.4f, "
           "\"made_ms\": %.1f, \"cpu_ms\": %.2f, \"status\": \"%s\", \"by_messages\": %llu}\n",
           ranks, (double)result.facts.end_ns / 1e6, made_s * 1e3, passed * 1e3,
           gs_status_text(result.status), (unsigned long long)result.ops[GS_OP_MESSAGE]);
    fflush(stdout);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

static bool is_asked(const char *only, const char *name)
{
    return only == NULL || strcmp(only, name) == 0;
}

int main(int argc, char **argv)
{
    int64_t steps = argc > 1 ? atoll(argv[1]) : 100;
    const char *only = argc > 2 ? argv[2] : NULL;
    if (is_asked(only, "ring_times")) {
        ring(RANKS, true, 100);
        ring(RANKS, false, 10);
        ring(MANY, true, 10);
    }
    for (uint32_t i = 0; is_asked(only, "dataflow") && i < gs_collective_count(); i++) {
        dataflow(gs_collective_at(i), 256);
    }
    if (is_asked(only, "rails")) {
        rails(MANY);
    }
    const gs_time_ns ms = GS_NS_PER_MS;
    const run_of runs[] = {
        {"op", RANKS, 1, 25000000, 1, 0, 10 * ms, 0, 0, GS_NETWORK_AUTO},
        {"op", RANKS, 1, 25000000, 1, 0, 10 * ms, 0, 0, GS_NETWORK_RECURRENCE},
        {"op_jitter", RANKS, 1, 25000000, 1, 0, 10 * ms, 0, 0.5, GS_NETWORK_AUTO},
        {"training", RANKS, 5, 5111406, steps, 30 * ms, 0, 0.05, 0, GS_NETWORK_AUTO},
        {"training_jitter", RANKS, 5, 5111406, steps, 30 * ms, 0, 0.05, 0.5, GS_NETWORK_SURROGATE},
        {"op_lockstep", RANKS, 1, 25000000, 1, 0, 0, 0, 0, GS_NETWORK_MESSAGE},
        {"op", RANKS, 1, 25000000, 1, 0, 10 * ms, 0, 0, GS_NETWORK_MESSAGE},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (is_asked(only, runs[i].name)) {
            run(&runs[i]);
        }
    }
    return 0;
}
