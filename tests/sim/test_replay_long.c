/* 100 recordings with random delays of every strategy, timing-dependent or not, end with the same
 * bytes when they are played again. */
#include "tests/sim/replay_fixture.h"

enum { RECORDINGS = 100 };

/* Some that depend on timing must have shown it: else the delays were none. */
static bool is_known_to_depend_on_timing(const char *name)
{
    static const char *const names[] = {"asp", "ssp", "k_sync"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

Test(replay_long, a_hundred_recordings_of_every_strategy_end_with_the_recorded_bytes,
     .timeout = 1700)
{
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        const gs_strategy *strategy = gs_strategy_at(i);
        uint32_t differ = replay_strategy(strategy, small_job_short(strategy), RECORDINGS);
        if (is_known_to_depend_on_timing(strategy->name)) {
            cr_expect_gt(differ, 0, "%s", strategy->name);
        }
    }
}
