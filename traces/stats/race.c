#include "traces/stats/race.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "base/assert.h"

gs_race gs_race_begin(const gs_race_config *config, gs_race_arm *arms)
{
    GS_ASSERT(config->arms >= 1 && config->looks >= 1);
    GS_ASSERT(config->alpha > 0.0 && config->alpha < 1.0);
    GS_ASSERT(config->min_spread >= 0.0 && config->censored >= 0.0);
    return (gs_race){.config = *config, .arms = arms, .in = config->arms};
}

double gs_race_level(const gs_race_config *config)
{
    uint32_t rivals = config->arms > 1 ? config->arms - 1 : 1;
    return config->alpha / ((double)config->looks * rivals);
}

/* What a censored value counts as in this look. */
static double censored_value(const gs_race *race, uint32_t seeds)
{
    double largest = 0.0;
    for (uint32_t i = 0; i < race->config.arms; i++) {
        for (uint32_t k = 0; k < seeds && !race->arms[i].out; k++) {
            double value = race->arms[i].values[k];
            GS_ASSERT(value > 0.0);
            largest = isfinite(value) ? fmax(largest, value) : largest;
        }
    }
    if (race->config.censored > 0.0) {
        GS_ASSERT(race->config.censored >= largest);
        return race->config.censored;
    }
    return largest > 0.0 ? 2.0 * largest : 1.0; /* nobody arrived: all are alike */
}

static double log_of(double value, double censored)
{
    return log(isfinite(value) ? value : censored);
}

static double mean_log(const gs_race_arm *arm, uint32_t seeds, double censored)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < seeds; k++) {
        sum += log_of(arm->values[k], censored);
    }
    return sum / seeds;
}

static uint32_t find_leader(const gs_race *race, uint32_t seeds, double censored)
{
    uint32_t leader = race->config.arms;
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < race->config.arms; i++) {
        double mean = race->arms[i].out ? HUGE_VAL : mean_log(&race->arms[i], seeds, censored);
        if (mean < least) {
            least = mean;
            leader = i;
        }
    }
    GS_ASSERT(leader < race->config.arms);
    return leader;
}

/* One-sided: how likely a mean log ratio this large is if the arm is not worse than the leader. */
static double p_of(const gs_race *race, const gs_race_arm *arm, uint32_t seeds, double censored)
{
    const gs_race_arm *leader = &race->arms[race->leader];
    if (seeds < GS_RACE_PAIRS_MIN) {
        return 1.0;
    }
    double mean = mean_log(arm, seeds, censored) - mean_log(leader, seeds, censored);
    double squares = 0.0;
    for (uint32_t k = 0; k < seeds; k++) {
        double ratio = log_of(arm->values[k], censored) - log_of(leader->values[k], censored);
        squares += (ratio - mean) * (ratio - mean);
    }
    double spread = fmax(sqrt(squares / (seeds - 1)), race->config.min_spread);
    if (spread == 0.0) {
        return mean > 0.0 ? 0.0 : 1.0;
    }
    return gsl_cdf_tdist_Q(mean * sqrt((double)seeds) / spread, seeds - 1);
}

uint32_t gs_race_look(gs_race *race, uint32_t seeds)
{
    GS_ASSERT(seeds >= 1 && race->looks_done < race->config.looks);
    race->looks_done++;
    double censored = censored_value(race, seeds);
    double level = gs_race_level(&race->config);
    race->leader = find_leader(race, seeds, censored);
    uint32_t left = 0;
    for (uint32_t i = 0; i < race->config.arms; i++) {
        gs_race_arm *arm = &race->arms[i];
        if (arm->out) {
            continue;
        }
        arm->p = i == race->leader ? 1.0 : p_of(race, arm, seeds, censored);
        if (arm->p <= level) {
            arm->out = true;
            arm->out_at_look = race->looks_done;
            arm->lost_to = race->leader;
            left++;
        }
    }
    race->in -= left;
    return left;
}
