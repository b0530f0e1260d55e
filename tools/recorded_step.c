#include "tools/recorded_step.h"

#include "base/units.h"
#include "tools/message.h"

#include <math.h>
#include <string.h>

/* Mean over the steps of all ranks whose end is known, which is when the next one began; NAN: none
 * is, or the profile is no recording of a strategy. */
static double recorded_ns(const gs_profile *profile)
{
    double sum = 0.0;
    int64_t count = 0;
    for (uint32_t r = 0; profile->run_of != NULL && r < profile->rank_count; r++) {
        for (uint32_t s = 0; s < profile->ranks[r].step_count; s++) {
            gs_time_ns step_ns = profile->ranks[r].steps[s].measured_ns;
            sum += (double)step_ns;
            count += step_ns > 0 ? 1 : 0;
        }
    }
    return count == 0 ? (double)NAN : sum / (double)count;
}

static bool is_recorded(const gs_scenario *scenario, uint32_t strategy)
{
    const char *run_of = scenario->workload.profile->run_of;
    return run_of != NULL && strcmp(run_of, scenario->strategies[strategy].strategy->name) == 0;
}

char *gs_recorded_step_text(const gs_scenario *scenario, uint32_t strategy, double mean_ns)
{
    char recorded[GS_UNIT_TEXT_BYTES], simulated[GS_UNIT_TEXT_BYTES];
    double known_ns = recorded_ns(scenario->workload.profile);
    if (!is_recorded(scenario, strategy) || !isfinite(known_ns) || !isfinite(mean_ns)) {
        return NULL;
    }
    return gs_text(
        "%s: its recorded step took %s, and the simulated one takes %s: %+.1f %%; expect "
        "no less of what else is simulated from this recording",
        scenario->strategies[strategy].label,
        gs_format_duration((gs_time_ns)llround(known_ns), recorded),
        gs_format_duration((gs_time_ns)llround(mean_ns), simulated),
        100.0 * (mean_ns / known_ns - 1.0));
}

char *gs_recorded_other_text(const gs_scenario *scenario)
{
    double known_ns = recorded_ns(scenario->workload.profile);
    char recorded[GS_UNIT_TEXT_BYTES];
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        if (is_recorded(scenario, i)) {
            return NULL;
        }
    }
    return isfinite(known_ns)
               ? gs_text(
                     "the recording is of %s, whose step took %s: -s %s beside the others shows "
                     "how far its simulation is off",
                     scenario->workload.profile->run_of,
                     gs_format_duration((gs_time_ns)llround(known_ns), recorded),
                     scenario->workload.profile->run_of)
               : NULL;
}
