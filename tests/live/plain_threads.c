/* The threaded host under ThreadSanitizer: every probe, every delay, eager and rendezvous, recorded
 * and replayed; then the ends that are not good ones. Prints what failed. */
#include "live/live.h"
#include "sim/replay.h"
#include "strategies/registry.h"
#include "tests/strategies/probes.h"

#include <stdio.h>

enum { RANKS = 4, STEPS = 4, KINDS = 7, MODES = 2 * GS_DELAY_COUNT };

static int failures;

static void expect(bool condition, const char *what, const char *text)
{
    if (!condition) {
        failures++;
        (void)printf("%s: %s\n", what, text);
    }
}

static gs_live_config config_of(probe_job *made, const gs_strategy *strategy, int mode)
{
    gs_live_config config = gs_live_config_default();
    config.strategy = probe_choose(made, strategy);
    config.job = &made->job;
    config.task = made->task;
    config.batch_per_rank = PROBE_BATCH;
    config.budget_steps = STEPS;
    config.delay = (gs_delay)(mode / 2);
    config.delay_ns = 20 * GS_NS_PER_US;
    config.rendezvous = mode % 2 == 1;
    config.swap_state = true;
    config.record = true;
    return config;
}

static void replay(const gs_live *live, const gs_live_config *config)
{
    gs_replay_result result;
    gs_error err = {.text = ""};
    gs_replay_config again = {.recording = gs_live_recording(live),
                              .strategy = config->strategy,
                              .job = config->job,
                              .task = config->task};
    expect(gs_replay_run(&again, &result, &err) == GS_OK, "replay", err.text);
}

static void run(const gs_live_config *config, gs_status wanted)
{
    gs_error err = {.text = ""};
    gs_live *live = gs_live_create(config, &err);
    expect(live != NULL, "create", err.text);
    if (live == NULL) {
        return;
    }
    gs_live_run(live);
    gs_live_result result;
    gs_live_result_get(live, &result);
    expect(result.status == wanted, config->strategy->label, result.error.text);
    if (result.status == GS_OK) {
        replay(live, config);
    }
    gs_live_destroy(live);
}

static void hang(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    if (gs_self(world).index > 0) {
        (void)gs_all_reduce(world, 0, probe_whole(world, GS_GRAD), 0);
    }
}

static void break_a_rule(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    gs_drained(world);
}

int main(void)
{
    const gs_strategy *const strategies[KINDS] = {gs_strategy_find("allreduce"),
                                                  gs_strategy_find("lb_bsp"),
                                                  &probe_asp,
                                                  &probe_pair,
                                                  &probe_push_sum,
                                                  &probe_two_stage,
                                                  &probe_signals};
    probe_job made;
    probe_job_init(&made, RANKS);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int mode = 0; mode < MODES; mode++) {
            gs_live_config config = config_of(&made, strategies[kind], mode);
            run(&config, GS_OK);
        }
    }
    gs_strategy wrong = probe_two_stage;
    wrong.bucket_ready = probe_ignore;
    wrong.backward_done = hang;
    gs_live_config config = config_of(&made, &wrong, 0);
    config.deadline_ns = 100 * GS_NS_PER_MS;
    run(&config, GS_EDEADLOCK);
    wrong.backward_done = break_a_rule;
    run(&config, GS_ECONTRACT);
    probe_job_fini(&made);
    return failures > 0;
}
