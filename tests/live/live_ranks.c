/* One process of the differential test of ranks (tests/differential/test_ranks.c), started by a
 * launcher as often as there are workers and one server:
 *   live_ranks CARRIER [only]
 * Every strategy with every codec that it carries runs over one crew, and allreduce by every
 * program; `only` takes the strategies whose name holds the word. What the simulator says does not
 * depend on timing must end with its bytes; anything else must end well; and every run is recorded
 * and ends with its bytes when it is played again. Process 0 prints a line for each that does not,
 * then how many of each kind there were. Exit codes: 0, 1 a difference, 2 usage, 3 no crew. */
#include "live/carrier.h"
#include "live/crew.h"
#include "live/live.h"
#include "sim/replay.h"
#include "sim/sim_parts.h" /* for the job and the task of a simulated run */
#include "strategies/codec.h"
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tools/launcher.h"
#include "traces/compose.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 5, SERVERS = 1 };

typedef struct tally {
    uint32_t equal, differ, by_timing, failed, replayed;
} tally;

static small_job_config config_of(uint32_t ranks)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.servers = SERVERS;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 100 * GS_NS_PER_US;
    config.skew_ns = 200 * GS_NS_PER_US;
    config.steps = STEPS;
    return config;
}

static gs_sim *simulate(const small_job *made, uint64_t order, gs_sim_result *out)
{
    gs_sim_config config = {.scenario = &made->scenario,
                            .strategy = &made->choice,
                            .seed = 1,
                            .shuffle_ties = order > 0,
                            .late_ns = (gs_time_ns)order * 40 * GS_NS_PER_US};
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    if (sim == NULL) {
        *out = (gs_sim_result){.status = err.code, .error = err};
        return NULL;
    }
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    return sim;
}

/* Ranks, gradients and links that take other times: what changes the weights by it depends on
 * timing. So does adaptive, which weighs what it has measured, also where none of these moves it.
 */
static bool depends_on_timing(const small_job *made, uint64_t weights_hash)
{
    static const struct {
        gs_time_ns skew_ns, latency_ns;
        int64_t nic_bps;
        uint64_t order;
    } others[] = {{9000000, 0, 10000000000, 0},
                  {0, 3000000, 10000000000, 1},
                  {700000, 10000, 20000000, 2},
                  {200000, 10000, 10000000000, 3}};
    if (strcmp(made->choice.strategy->name, "adaptive") == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        small_job other;
        small_job_config config = config_of(made->scenario.ranks);
        config.skew_ns = others[i].skew_ns;
        config.nic_latency_ns = others[i].latency_ns;
        config.nic_bps = others[i].nic_bps;
        small_job_init(&other, &config, NULL);
        other.choice = made->choice;
        gs_sim_result result;
        gs_sim_destroy(simulate(&other, others[i].order, &result));
        small_job_fini(&other);
        if (result.weights_hash != weights_hash) {
            return true;
        }
    }
    return false;
}

/* Only where all recordings came together. */
static bool replays(const char *name, const gs_live *live, const gs_live_config *config)
{
    gs_replay_config again = {.recording = gs_live_recording(live),
                              .strategy = config->strategy,
                              .job = config->job,
                              .task = config->task,
                              .scenario = config->scenario,
                              .swap_state = true};
    gs_replay_result result;
    gs_error err;
    if (gs_replay_run(&again, &result, &err) != GS_OK) {
        printf("%s, played again: %s\n", name, err.text);
        return false;
    }
    return true;
}

static void run_live(const char *name, const gs_sim *sim, const small_job *made,
                     const char *carrier, gs_crew *crew, gs_live_result *out, tally *counts)
{
    gs_live_config config = gs_live_config_default();
    config.strategy = &made->choice;
    config.job = &sim->job;
    config.task = sim->task;
    config.batch_per_rank = made->scenario.workload.batch_per_rank;
    config.number = made->scenario.workload.number;
    config.budget_steps = STEPS;
    config.transport = carrier;
    config.crew = crew;
    config.scenario = &made->scenario;
    config.deadline_ns = 20 * GS_NS_PER_S;
    config.record = true;
    gs_error err;
    gs_live *live = gs_live_create(&config, &err);
    if (live == NULL) {
        *out = (gs_live_result){.status = err.code, .error = err};
        return;
    }
    gs_live_run(live);
    gs_live_result_get(live, out);
    if (out->status == GS_OK && gs_crew_self(crew) == 0) {
        counts->replayed += replays(name, live, &config) ? 1 : 0;
    }
    gs_live_destroy(live);
}

static void compare(const char *name, const gs_sim_result *simulated, const gs_live_result *live,
                    bool by_timing, tally *counts)
{
    if (live->status != GS_OK) {
        counts->failed++;
        printf("%s: %s\n", name, live->error.text);
    } else if (by_timing) {
        counts->by_timing++;
    } else if (live->weights_hash != simulated->weights_hash) {
        counts->differ++;
        printf("%s: weights %016llx, the simulator's %016llx\n", name,
               (unsigned long long)live->weights_hash, (unsigned long long)simulated->weights_hash);
    } else {
        counts->equal++;
    }
}

static bool composes(small_job *made)
{
    gs_job job;
    gs_layout layout;
    gs_error err;
    gs_composition parts = {.strategy = made->choice.strategy,
                            .job = &job,
                            .layout = &layout,
                            .coding = &made->choice.coding,
                            .optimizer = &made->scenario.workload.task.optimizer};
    return gs_scenario_job(&made->scenario, &made->arena, &job, &err) == GS_OK &&
           made->choice.strategy->layout(made->choice.config, &job, &layout, &err) == GS_OK &&
           gs_compose(&parts, &err) == GS_FIT_YES;
}

static void run_one(small_job *made, const char *carrier, gs_crew *crew, tally *counts)
{
    char name[160];
    const gs_codec *codec = made->choice.coding.codec;
    const gs_selection *rules = &made->choice.selection;
    snprintf(name, sizeof name, "%s+%s%s", made->choice.strategy->name,
             codec == NULL ? "none" : codec->name,
             rules->rule_count == 0 ? "" : rules->rules[0].choice.program->name);
    if (!composes(made)) {
        return;
    }
    gs_sim_result simulated;
    gs_live_result live;
    gs_sim *sim = simulate(made, 0, &simulated);
    if (sim == NULL || simulated.status != GS_OK) {
        counts->failed++;
        printf("%s, simulated: %s\n", name, simulated.error.text);
    } else {
        run_live(name, sim, made, carrier, crew, &live, counts);
        if (gs_crew_self(crew) == 0) {
            compare(name, &simulated, &live, depends_on_timing(made, simulated.weights_hash),
                    counts);
        }
    }
    gs_sim_destroy(sim);
}

static void run_all(uint32_t ranks, const char *carrier, const char *only, gs_crew *crew,
                    tally *counts)
{
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        const gs_strategy *strategy = gs_strategy_at(i);
        if (only != NULL && strstr(strategy->name, only) == NULL) {
            continue;
        }
        for (uint32_t j = 0; j <= gs_codec_count() && gs_crew_broken(crew) == NULL; j++) {
            small_job made;
            small_job_config config = config_of(ranks);
            small_job_init(&made, &config, NULL);
            small_job_use(&made, strategy, NULL);
            if (j > 0) {
                small_job_code(&made, gs_codec_at(j - 1)->name);
            }
            run_one(&made, carrier, crew, counts);
            small_job_fini(&made);
        }
    }
}

/* Sums by every program: channels side by side, copies, pieces. */
static void run_algorithms(uint32_t ranks, const char *carrier, gs_crew *crew, tally *counts)
{
    for (uint32_t i = 0; i < gs_collective_count() && gs_crew_broken(crew) == NULL; i++) {
        if (gs_collective_at(i)->kind == GS_ALL_REDUCE) {
            small_job made;
            small_job_config config = config_of(ranks);
            small_job_init(&made, &config, NULL);
            small_job_choose(&made, gs_collective_at(i));
            run_one(&made, carrier, crew, counts);
            small_job_fini(&made);
        }
    }
}

/* nccl announces its bodies on another carrier. */
static gs_status open_crew(const char *name, gs_crew_config *config, gs_crew **out, gs_error *err)
{
    GS_TRY(gs_carrier_find(name, &config->carrier, err));
    if (strcmp(name, "nccl") == 0) {
        GS_TRY(gs_carrier_find("tcp", &config->carried.control, err));
        GS_TRY(config->carried.control->open(&config->carried, &config->carried.control_net, err));
    }
    return gs_crew_open(config, out, err);
}

int main(int argc, char **argv)
{
    gs_error err = {.text = ""};
    gs_launch launch;
    gs_crew *crew;
    if (argc < 2 || gs_launch_find(&launch, &err) != GS_OK || launch.ranks < 1 + SERVERS) {
        (void)fprintf(stderr, "live_ranks: %s\n", argc < 2 ? "CARRIER [only]" : err.text);
        return 2;
    }
    gs_crew_config config = {
        .carried = {.chunk_bytes = 65000,
                    .poll_ns = 50 * GS_NS_PER_US,
                    .deadline_ns = 20 * GS_NS_PER_S,
                    .processes = launch.ranks,
                    .process = launch.rank,
                    .local_process = launch.local_rank,
                    .address = launch.address[0] == '\0' ? NULL : launch.address,
                    .job = launch.job}};
    if (open_crew(argv[1], &config, &crew, &err) != GS_OK) {
        (void)fprintf(stderr, "process %u: %s\n", launch.rank, err.text);
        return 3;
    }
    tally counts = {0};
    const char *only = argc > 2 ? argv[2] : NULL;
    run_all(launch.ranks - SERVERS, argv[1], only, crew, &counts);
    if (only == NULL || strstr("allreduce", only) != NULL) {
        run_algorithms(launch.ranks - SERVERS, argv[1], crew, &counts);
    }
    if (launch.rank == 0) {
        printf("%u equal, %u differ, %u by timing, %u failed; %u replayed\n", counts.equal,
               counts.differ, counts.by_timing, counts.failed, counts.replayed);
    }
    gs_crew_close(crew);
    if (config.carried.control != NULL) {
        config.carried.control->close(config.carried.control_net);
    }
    return counts.differ + counts.failed > 0 ? 1 : 0;
}
