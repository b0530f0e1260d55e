/* Live runs that go from one strategy to another: recorded on threads under several delays, and
 * played again to the same bytes; where timing may not matter the simulator has them too. */
#include "tests/sim/replay_fixture.h"

enum { RECORDINGS = 5 };

typedef struct leg {
    const char *name, *parameters;
    int64_t from_step;
} leg;

enum { LEGS = 3 };

/* Own cuts and common ones, with servers and without, in turn. */
static const leg courses[][LEGS] = {
    {{"allreduce", NULL, 0}, {"sharded", NULL, 1}, {"local_sgd", "period=2", 2}},
    {{"local_sgd", "period=2", 0}, {"bsp_ps", "servers=2", 1}, {"allreduce", NULL, 2}},
    {{"asp", "servers=2", 0}, {"allreduce", NULL, 2}, {"asp", "servers=1", 3}},
    {{"allreduce", NULL, 0}, {"ad_psgd", NULL, 1}, {"bsp_ps", "servers=1", 3}},
    {{"sgp", NULL, 0}, {"ssp", "servers=1", 1}, {"d_psgd", NULL, 3}},
};
enum { COURSES = sizeof courses / sizeof *courses };

static void open_course(replay_run *run, const leg *legs, uint32_t turn)
{
    replay_open(run, gs_strategy_find(legs[0].name), legs[0].parameters, turn);
    small_job_code(&run->made, NULL);
    for (uint32_t i = 1; i < LEGS; i++) {
        small_job_then(&run->made, gs_strategy_find(legs[i].name), legs[i].parameters, NULL,
                       legs[i].from_step);
    }
}

TestSuite(replay_relay, .timeout = 280);

Test(replay_relay, ends_with_the_recorded_bytes)
{
    for (uint32_t course = 0; course < COURSES; course++) {
        for (uint32_t index = 0; index < RECORDINGS; index++) {
            replay_run run;
            open_course(&run, courses[course], index % 2);
            gs_live *live = replay_record(&run, index);
            replay_expect_same(&run, live, index);
            gs_live_destroy(live);
            replay_close(&run);
        }
    }
}

/* The first two courses are sums in one order and nothing else: allreduce, sharded, means of local
 * models, and a server that takes gradients by rank. */
Test(replay_relay, has_the_bytes_of_the_simulator_where_timing_may_not_matter)
{
    for (uint32_t course = 0; course < 2; course++) {
        replay_run run;
        open_course(&run, courses[course], 0);
        gs_sim_config config = {.scenario = &run.made.scenario,
                                .strategy = &run.made.choice,
                                .seed = run.job.seed,
                                .late_ns = 100 * GS_NS_PER_US};
        gs_sim_result simulated = small_job_run(&config);
        cr_assert_eq(simulated.status, GS_OK, "%s", simulated.error.text);
        for (uint32_t index = 0; index < RECORDINGS; index++) {
            gs_live *live = replay_record(&run, index);
            gs_live_result lived;
            gs_live_result_get(live, &lived);
            cr_expect_eq(lived.weights_hash, simulated.weights_hash, "course %u, recording %u",
                         course, index);
            gs_live_destroy(live);
        }
        replay_close(&run);
    }
}
