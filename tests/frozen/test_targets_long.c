#include "tests/support.h"

#include "tests/frozen/bench.h"

/* Too soon, and evaluations every two steps are too coarse to tell strategies apart; too late, and
 * one that needs twice the samples ends with the budget. */
Test(frozen_targets, plain_all_reduce_reaches_each_in_30_to_150_steps)
{
    for (uint32_t i = 0; i < FROZEN_COUNT; i++) {
        frozen_bench bench;
        bench_open(i, &bench);
        gs_recommend *all = &bench.all;
        gs_arm arm = {.scenario = &bench.scenario}; /* which is of plain all-reduce */
        const gs_scenario *plain = gs_trial_learning(all, &arm, 1.0);
        double batch = (double)(plain->ranks * plain->workload.batch_per_rank);
        gs_outcome outcomes[BENCH_TRIAL_SEEDS];
        cr_assert(gs_trial_run(all, &plain, 1, 0, BENCH_TRIAL_SEEDS, outcomes));
        for (uint32_t seed = 0; seed < BENCH_TRIAL_SEEDS; seed++) {
            double steps = gs_trial_samples(&outcomes[seed]) / batch;
            TEST_REQUIRE(steps >= FROZEN_STEPS_MIN && steps <= FROZEN_STEPS_MAX,
                         "%s, seed %u: %g steps", bench.name, seed + 1, steps);
            gs_outcome_fini(&outcomes[seed]);
        }
        bench_close(&bench);
    }
}
