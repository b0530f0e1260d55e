/* Every strategy that gradsync brings, recorded on threads a few times and played again. */
#include "tests/sim/replay_fixture.h"

enum { RECORDINGS = 10 };

TestSuite(replay_strategies, .timeout = 280);

Test(replay_strategies, end_with_the_recorded_bytes)
{
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        const gs_strategy *strategy = gs_strategy_at(i);
        (void)replay_strategy(strategy, small_job_short(strategy), RECORDINGS);
    }
}

/* Pushes that stop in the middle, and buckets of another order after the first step. */
Test(replay_strategies, do_so_where_gradients_are_cancelled_and_cut)
{
    (void)replay_strategy(gs_strategy_find("k_sync"), "k=2,bucket=3000B", RECORDINGS);
    (void)replay_strategy(gs_strategy_find("k_batch_sync"), "k=2,bucket=3000B", RECORDINGS);
    (void)replay_strategy(gs_strategy_find("allreduce"), "bucket=24000B,first_bucket=24000B",
                          RECORDINGS);
}

/* Every algorithm of all-reduce: parts come on several channels of a communicator. */
Test(replay_strategies, do_so_by_every_algorithm)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        for (uint32_t index = 0; gs_collective_at(i)->kind == GS_ALL_REDUCE && index < 4; index++) {
            replay_run run;
            replay_open(&run, gs_strategy_find("allreduce"), NULL, index % 2);
            small_job_choose(&run.made, gs_collective_at(i));
            gs_live *live = replay_record(&run, 2 * index);
            replay_expect_same(&run, live, index);
            gs_live_destroy(live);
            replay_close(&run);
        }
    }
}

/* Units of 2063 floats are 8252 bytes, unit 0 is 24756: buckets of 24000 bytes or more are units 4,
 * 3, 2 and then 1, 0 in the first step. In the order of rank 0's gradients, 0, 3, 2, 1, 4, they are
 * three: who does not rebuild them issues two collectives in the second step and finds the parts of
 * a third. */
Test(replay_strategies, need_the_buckets_of_the_run)
{
    replay_run run;
    replay_open(&run, gs_strategy_find("allreduce"), "bucket=24000B,first_bucket=24000B", 0);
    gs_live *live = replay_record(&run, 0);
    gs_replay_config config = {.recording = gs_live_recording(live),
                               .strategy = &run.made.choice,
                               .job = &run.job,
                               .task = run.task};
    gs_replay_result result;
    gs_error err = {.text = ""};
    cr_expect_eq(gs_replay_run(&config, &result, &err), GS_EMISMATCH);
    cr_expect_lt(result.records, config.recording->count, "%s", err.text);
    gs_live_destroy(live);
    replay_close(&run);
}

/* Each of them is one difference from the run that was recorded. */
Test(replay_strategies, are_refused_with_another_job)
{
    replay_run run;
    replay_open(&run, gs_strategy_find("asp"), NULL, 0);
    gs_live *live = replay_record(&run, 0);
    gs_recording changed = *gs_live_recording(live);
    gs_replay_config config = {.recording = &changed,
                               .strategy = &run.made.choice,
                               .job = &run.job,
                               .task = run.task,
                               .scenario = &run.made.scenario};
    gs_replay_result result;
    gs_error err;
    struct {
        int64_t ranks, batch, steps;
        gs_number number;
        const char *text;
    } others[] = {{1, 0, 0, GS_FP32, "ranks 5, and this one has 4"},
                  {0, 1, 0, GS_FP32, "samples a pass 9, and this one has 8"},
                  {0, 0, 1, GS_FP32, "steps 5, and this one has 4"},
                  {0, 0, 0, GS_BF16, "its gradients are bf16, and this one's fp32"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        changed.about = gs_live_recording(live)->about;
        changed.about.ranks += (uint32_t)others[i].ranks;
        changed.about.batch_per_rank += others[i].batch;
        changed.about.budget_steps += others[i].steps;
        changed.about.number = others[i].number;
        cr_expect_eq(gs_replay_run(&config, &result, &err), GS_EINVAL);
        cr_expect(strstr(err.text, others[i].text) != NULL, "%s", err.text);
    }
    gs_live_destroy(live);
    replay_close(&run);
}
