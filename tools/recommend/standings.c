#include "tools/recommend/standings.h"

#include "base/assert.h"
#include "base/rng.h"
#include "tools/message.h"
#include "tools/scenario_load.h"
#include "tools/simpler.h"
#include "traces/stats/bootstrap.h"

#include <math.h>

#define SAME_RATIO 1.01 /* a difference that does not matter */

/* --- what is known ---------------------------------------------------------------------------- */

static bool has_run(const gs_arm *arm)
{
    return arm->outcomes != NULL || arm->race_seeds > 0 || arm->rates[0].seeds > 0;
}

const gs_arm *gs_standings_exact(const gs_recommend *all)
{
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (all->arms[i].family == GS_FAMILY_EXACT && has_run(&all->arms[i])) {
            return &all->arms[i];
        }
    }
    return NULL;
}

static void take(const gs_recommend *all, const gs_arm *arm, uint32_t at, gs_standings *out)
{
    const gs_arm *source = has_run(arm) ? arm : gs_standings_exact(all);
    GS_ASSERT(source != NULL);
    const gs_arm_rate *rate = &source->rates[source->rate];
    const double *values[GS_SEED_SETS] = {source->confirm, source->race, rate->values};
    double moved =
        source == arm
            ? 0.0
            : log(gs_trial_of_samples(all, arm, 1.0) / gs_trial_of_samples(all, source, 1.0));
    double budget = (double)gs_scenario_budget_samples(arm->scenario);
    out->arms[at] = arm;
    out->missed[at] = log(2.0 * gs_trial_of_samples(all, arm, budget));
    out->seeds[at][GS_SEEDS_CONFIRMED] = source->outcomes == NULL ? 0 : all->confirm_seeds;
    out->seeds[at][GS_SEEDS_RACED] = source->race_seeds;
    out->seeds[at][GS_SEEDS_TUNED] = rate->seeds;
    for (int set = 0; set < GS_SEED_SETS; set++) {
        for (uint32_t i = 0; i < out->seeds[at][set]; i++) {
            out->logs[at][set][i] =
                isfinite(values[set][i]) ? log(values[set][i]) + moved : (double)INFINITY;
        }
    }
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* Means over the seeds of the pairing, in the order of `places` where that is not NULL: places of a
 * draw, each in [0, 1). */
static void average(const gs_standings *standings, uint32_t arm, uint32_t other,
                    const double *places, gs_pairing *out)
{
    const double *own = standings->logs[arm][out->set];
    const double *its = standings->logs[other][out->set];
    out->pairs = 0;
    out->reached[0] = 0;
    out->reached[1] = 0;
    out->score = 0.0;
    out->mean = 0.0;
    for (uint32_t i = 0; i < out->seeds; i++) {
        uint32_t seed = places == NULL ? i : (uint32_t)(places[i] * out->seeds);
        bool has_own = isfinite(own[seed]);
        bool has_its = isfinite(its[seed]);
        out->score += (has_own ? own[seed] : standings->missed[arm]) -
                      (has_its ? its[seed] : standings->missed[other]);
        out->reached[0] += has_own ? 1 : 0;
        out->reached[1] += has_its ? 1 : 0;
        if (has_own && has_its) {
            out->mean += own[seed] - its[seed];
            out->pairs++;
        }
    }
    out->score /= out->seeds > 0 ? out->seeds : 1;
    out->mean /= out->pairs > 0 ? out->pairs : 1;
}

static gs_pairing pair(const gs_recommend *all, const gs_standings *standings, uint32_t arm,
                       uint32_t other)
{
    gs_pairing out = {.low = (double)NAN, .high = (double)NAN};
    double logs[GS_CONFIRM_SEEDS_MAX];
    for (int set = GS_SEED_SETS; set-- > 0;) {
        uint32_t own = standings->seeds[arm][set];
        uint32_t its = standings->seeds[other][set];
        uint32_t both = own < its ? own : its;
        if (both > 0) {
            out.set = (gs_seed_set)set;
            out.seeds = both;
        }
    }
    average(standings, arm, other, NULL, &out);
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < out.seeds; i++) {
        double log_ratio = standings->logs[arm][out.set][i] - standings->logs[other][out.set][i];
        if (isfinite(log_ratio)) {
            logs[pairs++] = log_ratio;
        }
    }
    if (pairs > 1) {
        gs_samples samples = {.values = {logs}, .counts = {pairs}};
        gs_interval interval;
        if (gs_bca(&samples, gs_statistic_mean, all->scenario->alpha, &interval) != GS_OK) {
            gs_need(NULL);
        }
        out.low = interval.low;
        out.high = interval.high;
    }
    return out;
}

void gs_standings_make(const gs_recommend *all, const gs_arm *const *arms, uint32_t count,
                       gs_standings *out)
{
    GS_ASSERT(count <= GS_STANDINGS_MAX);
    *out = (gs_standings){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        take(all, arms[i], i, out);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            if (k != i) {
                out->pairings[i][k] = pair(all, out, i, k);
                bool is_simpler = gs_simpler_compare(arms[k]->label, arms[i]->label) < 0;
                out->simpler[i] += is_simpler ? 1 : 0;
            }
        }
    }
}

void gs_standings_resample(const gs_standings *from, uint32_t round, gs_standings *out)
{
    double places[GS_SEED_SETS][GS_CONFIRM_SEEDS_MAX];
    for (uint32_t set = 0; set < GS_SEED_SETS; set++) {
        gs_rng_key key = {.seed = 0, .purpose = GS_RNG_BOOTSTRAP, .entity = set};
        for (uint32_t i = 0; i < GS_CONFIRM_SEEDS_MAX; i++) {
            places[set][i] = gs_rng_uniform(key, round, i);
        }
    }
    *out = *from;
    for (uint32_t i = 0; i < from->count; i++) {
        for (uint32_t k = 0; k < from->count; k++) {
            gs_pairing *pairing = &out->pairings[i][k];
            average(from, i, k, places[pairing->set], pairing);
            pairing->low += pairing->mean - from->pairings[i][k].mean;
            pairing->high += pairing->mean - from->pairings[i][k].mean;
        }
    }
}

/* --- the verdict ------------------------------------------------------------------------------ */

static bool is_tie(const gs_pairing *pairing, double shift)
{
    bool holds_one =
        pairing->pairs > 1 && pairing->low + shift <= 0.0 && pairing->high + shift >= 0.0;
    return pairing->reached[0] >= pairing->reached[1] && pairing->pairs > 0 &&
           (holds_one || pairing->mean + shift < log(SAME_RATIO));
}

gs_standing gs_standings_judge(const gs_standings *standings, const double *shifts)
{
    gs_standing out = {0};
    double least = 0.0; /* of scores over that of the first arm */
    for (uint32_t i = 1; i < standings->count; i++) {
        double own = standings->pairings[i][0].score + shifts[i] - shifts[0];
        if (own < least) {
            out.leader = i;
            least = own;
        }
    }
    out.winner = out.leader;
    for (uint32_t i = 0; i < standings->count; i++) {
        double shift = shifts[i] - shifts[out.leader];
        out.ties[i] = i != out.leader && is_tie(&standings->pairings[i][out.leader], shift);
        if (out.ties[i] && standings->simpler[i] < standings->simpler[out.winner]) {
            out.winner = i;
        }
    }
    return out;
}
