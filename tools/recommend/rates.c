#include "tools/recommend/rates.h"

#include "base/assert.h"
#include "tools/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first is the scenario's own. All arms begin with those of the first line; one that is best at
 * an end of them goes on there. */
static const double factors[GS_RATES] = {1.0, 0.5,    2.0,  0.25,    4.0, 0.125,
                                         8.0, 0.0625, 16.0, 0.03125, 32.0};

enum { FIRST_RATES = 5, FIRST_SEEDS = 2, KEPT = 3, WIDENINGS = 3 };

/* An arm that is so many times worse than the best one in the first round is not tuned further. */
#define HOPELESS_RATIO 1.5

uint64_t gs_rates_runs(uint32_t arms)
{
    return (uint64_t)arms *
           ((FIRST_RATES + WIDENINGS) * FIRST_SEEDS + KEPT * (GS_RATE_SEEDS - FIRST_SEEDS));
}

/* --- one round -------------------------------------------------------------------------------- */

typedef struct trial {
    gs_arm *arm;
    gs_arm_rate *rate;
} trial;

typedef struct round_state {
    gs_recommend *all;
    trial *trials; /* [arms * GS_RATES] */
    uint32_t count;
} round_state;

static void take(gs_recommend *all, const trial *one, const gs_outcome *outcomes, uint32_t seeds)
{
    gs_arm_rate *rate = one->rate;
    for (uint32_t i = 0; i < seeds && outcomes[i].started; i++) {
        uint32_t at = rate->seeds++;
        const char *metric = gs_quality_metric(one->arm->scenario->workload.quality);
        rate->values[at] = gs_trial_value(all, one->arm, &outcomes[i]);
        rate->samples[at] = gs_trial_samples(&outcomes[i]);
        rate->finals[at] =
            gs_trial_is_good(&outcomes[i]) ? gs_trial_metric(&outcomes[i], metric) : (double)NAN;
        rate->fidelity[at] = gs_trial_metric(&outcomes[i], "fidelity_cosine_ratio");
        if (one->arm->first_error == NULL && !gs_trial_is_good(&outcomes[i])) {
            one->arm->first_error =
                gs_need(gs_arena_text(&all->arena, outcomes[i].result.error.text));
        }
    }
    if (rate->seeds > 0) {
        rate->score = gs_trial_score(all, one->arm, rate->values, rate->seeds);
    }
}

/* Runs all trials of the round with the next `seeds` seeds. */
static bool play(round_state *round, uint32_t first_seed, uint32_t seeds)
{
    gs_recommend *all = round->all;
    size_t count = (size_t)round->count * seeds;
    const gs_scenario **variants = gs_need(calloc((size_t)round->count + 1, sizeof *variants));
    gs_outcome *outcomes = gs_need(calloc(count + 1, sizeof *outcomes));
    for (uint32_t i = 0; i < round->count; i++) {
        variants[i] = gs_trial_learning(all, round->trials[i].arm, round->trials[i].rate->factor);
    }
    bool done =
        gs_trial_run(all, variants, round->count, GS_TUNING_SEEDS + first_seed, seeds, outcomes);
    for (uint32_t i = 0; i < round->count; i++) {
        if (done) {
            take(all, &round->trials[i], &outcomes[(size_t)i * seeds], seeds);
        }
    }
    for (size_t i = 0; i < count; i++) {
        gs_outcome_fini(&outcomes[i]);
    }
    free(variants);
    free(outcomes);
    return done;
}

/* --- which ones ------------------------------------------------------------------------------- */

/* The arm that an exact one is tuned through: the first exact one that is in. */
static gs_arm *tutor_of(const gs_recommend *all, const gs_arm *arm)
{
    for (uint32_t i = 0; arm->family == GS_FAMILY_EXACT && i < all->arm_count; i++) {
        gs_arm *other = &all->arms[i];
        if (other == arm) {
            return NULL;
        }
        if (other->state == GS_ARM_IN && other->family == GS_FAMILY_EXACT) {
            return other;
        }
    }
    return NULL;
}

static double mean_final(const gs_arm_rate *rate)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < rate->seeds; i++) {
        sum += rate->finals[i];
    }
    return sum / (double)rate->seeds;
}

/* By what it needed; where no run reached the target, by what it ended with. */
static bool is_better(const gs_arm *arm, const gs_arm_rate *a, const gs_arm_rate *b)
{
    if (a->score < b->score || a->score > b->score) {
        return a->score < b->score;
    }
    double own = mean_final(a);
    double other = mean_final(b);
    bool is_more = arm->scenario->workload.quality == GS_ACCURACY;
    return isnan(other) ? !isnan(own) : is_more ? own > other : own < other;
}

/* Place of the best rate that has as many seeds as the scenario's own; of equal ones the first. */
static uint32_t best_rate(const gs_arm *arm)
{
    uint32_t best = 0; /* which is tried first */
    for (uint32_t i = 1; i < GS_RATES; i++) {
        const gs_arm_rate *rate = &arm->rates[i];
        bool is_tried = rate->seeds >= arm->rates[0].seeds && rate->seeds > 0;
        best = is_tried && is_better(arm, rate, &arm->rates[best]) ? i : best;
    }
    return best;
}

/* Arms that are tuned themselves, those with the least for a sample first: what --budget cuts off
 * is least likely to win. Returns how many. */
static uint32_t sort_arms(const gs_recommend *all, gs_arm **out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        if (arm->state != GS_ARM_IN || arm->is_shared_rate) {
            continue;
        }
        uint32_t at = count++;
        double own = gs_trial_of_samples(all, arm, 1.0);
        for (; at > 0 && gs_trial_of_samples(all, out[at - 1], 1.0) > own; at--) {
            out[at] = out[at - 1];
        }
        out[at] = arm;
    }
    return count;
}

/* All of them at the scenario's own rate, then at the next one, ... */
static void first_round(round_state *round)
{
    const gs_recommend *all = round->all;
    gs_arm **sorted = gs_need(calloc((size_t)all->arm_count + 1, sizeof *sorted));
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        arm->is_shared_rate = arm->state == GS_ARM_IN && tutor_of(all, arm) != NULL;
        for (uint32_t k = 0; k < GS_RATES; k++) {
            arm->rates[k].factor = factors[k];
        }
    }
    uint32_t count = sort_arms(all, sorted);
    for (uint32_t k = 0; k < FIRST_RATES; k++) {
        for (uint32_t i = 0; i < count; i++) {
            round->trials[round->count++] = (trial){sorted[i], &sorted[i]->rates[k]};
        }
    }
    free(sorted);
}

/* --budget had no time for the last ones, and for those that share their rate. */
static void drop_untried(gs_recommend *all)
{
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        bool is_tried = tutor_of(all, arm) != NULL;
        for (uint32_t k = 0; k < GS_RATES; k++) {
            is_tried = is_tried || arm->rates[k].seeds > 0;
        }
        if (arm->state == GS_ARM_IN && !is_tried) {
            gs_arm_drop(arm, GS_ARM_UNTRIED, &all->arena, "--budget had no time for it");
            all->left_out = "trying all strategies";
        }
    }
}

/* Is it worth more runs, by those of the rounds so far? */
static bool has_hope(const gs_recommend *all, const gs_arm *arm)
{
    double leader = (double)INFINITY;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *other = &all->arms[i];
        for (uint32_t k = 0; k < GS_RATES; k++) {
            double score = other->rates[k].seeds > 0 ? other->rates[k].score : (double)INFINITY;
            leader = other->state == GS_ARM_IN && score < leader ? score : leader;
        }
    }
    return arm->state == GS_ARM_IN && !arm->is_shared_rate &&
           arm->rates[best_rate(arm)].score <= leader + log(HOPELESS_RATIO);
}

int gs_rates_edge(const gs_arm *arm)
{
    double own = arm->rates[arm->rate].factor;
    bool is_least = true;
    bool is_most = true;
    for (uint32_t k = 0; k < GS_RATES; k++) {
        bool is_tried = arm->rates[k].seeds > 0;
        is_least = is_least && (!is_tried || arm->rates[k].factor >= own);
        is_most = is_most && (!is_tried || arm->rates[k].factor <= own);
    }
    return is_least == is_most ? 0 : is_most ? 1 : -1;
}

/* Beyond the ends at which arms are best. */
static void wider_round(round_state *round)
{
    gs_recommend *all = round->all;
    round->count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        if (arm->state != GS_ARM_IN || arm->rates[0].seeds == 0 || !has_hope(all, arm)) {
            continue;
        }
        arm->rate = best_rate(arm);
        int edge = gs_rates_edge(arm);
        double wanted = arm->rates[arm->rate].factor * (edge > 0 ? 2.0 : 0.5);
        for (uint32_t k = FIRST_RATES; k < GS_RATES && edge != 0; k++) {
            if (fabs(arm->rates[k].factor - wanted) < 1e-9) {
                round->trials[round->count++] = (trial){arm, &arm->rates[k]};
            }
        }
    }
}

/* false: a signal came. */
static bool widen(round_state *round)
{
    for (int i = 0; i < WIDENINGS; i++) {
        wider_round(round);
        uint64_t runs = (uint64_t)round->count * FIRST_SEEDS;
        if (runs == 0 ||
            !gs_trial_affords(round->all, runs, false, "rates beyond those tried first")) {
            return true;
        }
        if (!play(round, 0, FIRST_SEEDS)) {
            return false;
        }
    }
    return true;
}

/* The scenario's own rate, which the table shows, and the better two. */
static void second_round(round_state *round)
{
    gs_recommend *all = round->all;
    round->count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        if (!has_hope(all, arm)) {
            continue;
        }
        for (uint32_t k = 0; k < GS_RATES; k++) {
            uint32_t better = 0;
            for (uint32_t other = 0; other < GS_RATES; other++) {
                bool ahead = is_better(arm, &arm->rates[other], &arm->rates[k]) ||
                             (other < k && !is_better(arm, &arm->rates[k], &arm->rates[other]));
                better += ahead && other != k && arm->rates[other].seeds > 0 ? 1 : 0;
            }
            if (arm->rates[k].seeds > 0 && (k == 0 || better < KEPT - 1)) {
                round->trials[round->count++] = (trial){arm, &arm->rates[k]};
            }
        }
    }
}

/* --- what comes out --------------------------------------------------------------------------- */

/* The same trajectory in another time. */
static void share_rate(const gs_recommend *all, gs_arm *arm, const gs_arm *tutor)
{
    double ratio = gs_trial_of_samples(all, arm, 1.0) / gs_trial_of_samples(all, tutor, 1.0);
    memcpy(arm->rates, tutor->rates, sizeof arm->rates);
    for (uint32_t k = 0; k < GS_RATES; k++) {
        for (uint32_t i = 0; i < arm->rates[k].seeds; i++) {
            arm->rates[k].values[i] *= ratio;
        }
        arm->rates[k].score += log(ratio);
    }
}

static double mean_fidelity(const gs_arm_rate *rate)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < rate->seeds; i++) {
        sum += rate->fidelity[i];
    }
    return sum / (double)rate->seeds;
}

static bool has_run(const gs_arm *arm)
{
    for (uint32_t k = 0; k < GS_RATES; k++) {
        for (uint32_t i = 0; i < arm->rates[k].seeds; i++) {
            if (!isnan(arm->rates[k].finals[i])) {
                return true;
            }
        }
    }
    return false;
}

static void choose(gs_recommend *all, gs_arm *arm)
{
    const gs_arm *tutor = tutor_of(all, arm);
    if (tutor != NULL) {
        share_rate(all, arm, tutor);
    }
    arm->rate = best_rate(arm);
    double fidelity = mean_fidelity(&arm->rates[arm->rate]);
    if (!has_run(arm)) {
        gs_arm_drop(arm, GS_ARM_FAILED, &all->arena, "ended badly at every rate: %s",
                    arm->first_error == NULL ? "it did not run" : arm->first_error);
    } else {
        gs_trial_check_fidelity(all, arm, fidelity);
    }
}

bool gs_rates(gs_recommend *all)
{
    round_state round = {.all = all};
    round.trials = gs_need(calloc((size_t)all->arm_count * GS_RATES + 1, sizeof *round.trials));
    first_round(&round);
    all->may_cut = true;
    bool done = play(&round, 0, FIRST_SEEDS);
    if (done) {
        drop_untried(all);
        done = widen(&round);
    }
    if (done) {
        second_round(&round);
        if (gs_trial_affords(all, (uint64_t)round.count * (GS_RATE_SEEDS - FIRST_SEEDS), false,
                             "tuning rates with more than two seeds")) {
            done = play(&round, FIRST_SEEDS, GS_RATE_SEEDS - FIRST_SEEDS);
        }
    }
    all->may_cut = false;
    for (uint32_t i = all->arm_count; done && i-- > 0;) {
        if (all->arms[i].state == GS_ARM_IN) {
            choose(all, &all->arms[i]);
        }
    }
    free(round.trials);
    return done;
}
