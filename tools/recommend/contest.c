#include "tools/recommend/contest.h"

#include "base/assert.h"
#include "tools/message.h"
#include "tools/recommend/keep.h"
#include "tools/recommend/standings.h"
#include "tools/scenario_load.h"
#include "traces/stats/power.h"
#include "traces/stats/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A difference that matters, and the chance to find it. */
#define FOUND_RATIO 1.03
#define FOUND_POWER 0.8

/* --- what is known of an arm ------------------------------------------------------------------ */

/* Share of runs that reach the target, of an arm that others may be held against. */
#define SURE_SHARE 0.9

/* The newest values of an arm: of as many seeds as it has there. */
static const double *newest_values(const gs_recommend *all, const gs_arm *arm, uint32_t *out_count)
{
    const gs_arm_rate *rate = &arm->rates[arm->rate];
    if (arm->outcomes != NULL) {
        *out_count = all->confirm_seeds;
        return arm->confirm;
    }
    *out_count = arm->race_seeds > 0 ? arm->race_seeds : rate->seeds;
    return arm->race_seeds > 0 ? arm->race : rate->values;
}

static uint32_t reached_of(const double *values, uint32_t count)
{
    uint32_t reached = 0;
    for (uint32_t i = 0; i < count; i++) {
        reached += isfinite(values[i]) ? 1 : 0;
    }
    return reached;
}

bool gs_arm_is_sure(const gs_recommend *all, const gs_arm *arm)
{
    uint32_t count;
    const double *values = newest_values(all, arm, &count);
    return count > 0 && reached_of(values, count) >= SURE_SHARE * count;
}

static double mean_of(const double *values, uint32_t count)
{
    double sum = 0.0;
    uint32_t finite = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            sum += log(values[i]);
            finite++;
        }
    }
    return finite == 0 ? (double)INFINITY : exp(sum / finite);
}

double gs_arm_estimate(const gs_recommend *all, const gs_arm *arm)
{
    uint32_t count;
    const double *values = newest_values(all, arm, &count);
    return mean_of(values, count);
}

double gs_arm_samples(const gs_recommend *all, const gs_arm *arm)
{
    const gs_arm_rate *rate = &arm->rates[arm->rate];
    double samples[GS_CONFIRM_SEEDS_MAX];
    for (uint32_t i = 0; arm->outcomes != NULL && i < all->confirm_seeds; i++) {
        samples[i] = gs_trial_samples(&arm->outcomes[i]);
    }
    if (arm->outcomes != NULL) {
        return mean_of(samples, all->confirm_seeds);
    }
    return arm->race_seeds > 0 ? mean_of(arm->race_samples, arm->race_seeds)
                               : mean_of(rate->samples, rate->seeds);
}

/* --- the race --------------------------------------------------------------------------------- */

typedef struct race_state {
    gs_recommend *all;
    gs_arm **arms; /* [count], those that started */
    gs_race_arm *entries;
    uint32_t count;
    gs_race race;
} race_state;

/* Times to the target are those of evaluations: how far these are apart, of the least estimate. */
static double cell_of(const race_state *state)
{
    const gs_scenario *scenario = state->all->scenario;
    double best = (double)INFINITY;
    double cell = 0.0;
    double samples = (double)gs_scenario_budget_samples(scenario) *
                     (double)state->all->evaluation_steps / (double)scenario->workload.budget_steps;
    for (uint32_t i = 0; i < state->count; i++) {
        double own = gs_arm_estimate(state->all, state->arms[i]);
        if (own < best) {
            best = own;
            cell = gs_trial_of_samples(state->all, state->arms[i], samples) / own;
        }
    }
    return cell;
}

/* A look takes the same seeds of all arms, or none. *out_cut: --budget had no time for all. */
static bool run_block(race_state *state, uint32_t first_seed, bool *out_cut)
{
    gs_recommend *all = state->all;
    const gs_scenario **variants = gs_need(calloc(state->count, sizeof *variants));
    gs_arm **in = gs_need(calloc(state->count, sizeof *in));
    gs_outcome *outcomes = gs_need(calloc((size_t)state->count * GS_RACE_BLOCK, sizeof *outcomes));
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        gs_arm *arm = state->arms[i];
        if (!state->entries[i].out) {
            in[count] = arm;
            variants[count++] = gs_trial_learning(all, arm, arm->rates[arm->rate].factor);
        }
    }
    bool done =
        gs_trial_run(all, variants, count, GS_RACING_SEEDS + first_seed, GS_RACE_BLOCK, outcomes);
    bool is_whole = done && outcomes[count * GS_RACE_BLOCK - 1].started;
    for (uint32_t i = 0; i < count * GS_RACE_BLOCK; i++) {
        gs_arm *arm = in[i / GS_RACE_BLOCK];
        if (is_whole) {
            arm->race[arm->race_seeds] = gs_trial_value(all, arm, &outcomes[i]);
            arm->race_samples[arm->race_seeds++] = gs_trial_samples(&outcomes[i]);
        }
        gs_outcome_fini(&outcomes[i]);
    }
    *out_cut = done && !is_whole;
    free(variants);
    free(in);
    free(outcomes);
    return done;
}

/* Nobody has a finite value: there is nothing to tell arms apart by. */
static bool nobody_arrives(const race_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (isfinite(mean_of(state->arms[i]->race, state->arms[i]->race_seeds))) {
            return false;
        }
    }
    return true;
}

static void drop_losers(race_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        gs_arm *arm = state->arms[i];
        const gs_race_arm *entry = &state->entries[i];
        if (!entry->out) {
            continue;
        }
        const gs_arm *winner = state->arms[entry->lost_to];
        uint32_t seeds =
            arm->race_seeds < winner->race_seeds ? arm->race_seeds : winner->race_seeds;
        uint32_t reached = reached_of(arm->race, seeds);
        if (reached == 0) {
            gs_arm_drop(arm, GS_ARM_OUT, &state->all->arena,
                        "never reached the target in %u seeds, %s did", seeds, winner->label);
            continue;
        }
        char where[64];
        if (reached < seeds) {
            snprintf(where, sizeof where, "in the %u of %u seeds that reached the target", reached,
                     seeds);
        } else {
            snprintf(where, sizeof where, "in %u seeds", seeds);
        }
        gs_arm_drop(arm, GS_ARM_OUT, &state->all->arena, "%.2fx the %s of %s %s",
                    mean_of(arm->race, seeds) / mean_of(winner->race, seeds),
                    state->all->objective == GS_OBJECTIVE_SAMPLES
                        ? "samples"
                        : gs_objective_words[state->all->objective],
                    winner->label, where);
    }
}

static bool race(race_state *state)
{
    gs_recommend *all = state->all;
    for (uint32_t look = 0; look < GS_RACE_LOOKS; look++) {
        uint64_t runs = (uint64_t)state->race.in * GS_RACE_BLOCK;
        if (!gs_trial_affords(all, runs, false, "a longer race")) {
            return true;
        }
        bool is_cut;
        if (!run_block(state, look * GS_RACE_BLOCK, &is_cut)) {
            return false;
        }
        if (is_cut) {
            all->left_out = all->left_out == NULL ? "a longer race" : all->left_out;
            return true;
        }
        if (nobody_arrives(state)) {
            return true;
        }
        (void)gs_race_look(&state->race, (look + 1) * GS_RACE_BLOCK);
        if (state->race.in == 1) {
            return true;
        }
    }
    return true;
}

bool gs_race_arms(gs_recommend *all)
{
    race_state state = {.all = all};
    state.arms = gs_need(calloc((size_t)all->arm_count + 1, sizeof *state.arms));
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (all->arms[i].state == GS_ARM_IN) {
            state.arms[state.count++] = &all->arms[i];
        }
    }
    bool done = true;
    if (state.count > 1) {
        state.entries = gs_need(calloc(state.count, sizeof *state.entries));
        for (uint32_t i = 0; i < state.count; i++) {
            state.entries[i].values = state.arms[i]->race;
        }
        gs_race_config config = {.arms = state.count,
                                 .looks = GS_RACE_LOOKS,
                                 .alpha = all->scenario->alpha,
                                 /* Two positions in cells of width w differ by w/sqrt(6). */
                                 .min_spread = cell_of(&state) / sqrt(6.0)};
        state.race = gs_race_begin(&config, state.entries);
        all->may_cut = true;
        done = race(&state);
        all->may_cut = false;
        drop_losers(&state);
    }
    free(state.entries);
    free(state.arms);
    return done;
}

/* --- the confirmation ------------------------------------------------------------------------- */

/* How well it has done so far: lower is better. */
static double standing_of(const gs_recommend *all, const gs_arm *arm)
{
    const gs_arm_rate *rate = &arm->rates[arm->rate];
    if (arm->race_seeds > 0) {
        return gs_trial_score(all, arm, arm->race, arm->race_seeds);
    }
    return rate->seeds > 0 ? rate->score : log(gs_trial_of_samples(all, arm, 1.0));
}

/* Those that are in, the best first. Returns how many. */
static uint32_t sort_in(const gs_recommend *all, gs_arm **out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        uint32_t at = count;
        if (arm->state != GS_ARM_IN) {
            continue;
        }
        for (; at > 0 && standing_of(all, out[at - 1]) > standing_of(all, arm); at--) {
            out[at] = out[at - 1];
        }
        out[at] = arm;
        count++;
    }
    return count;
}

/* To tell an arm from the best one: a difference of 3 %, or half of what the race has seen between
 * them where that is more, by the spread seen there. */
static uint32_t seeds_for(const gs_recommend *all, const gs_arm *best, const gs_arm *arm,
                          uint32_t least)
{
    uint32_t both = best->race_seeds < arm->race_seeds ? best->race_seeds : arm->race_seeds;
    uint32_t seeds = least;
    gs_paired_ratio ratio;
    if (gs_paired_ratio_of(best->race, arm->race, both, all->scenario->alpha, &ratio) != GS_OK) {
        gs_need(NULL);
    }
    double seen = fabs(log(ratio.value)) / 2.0;
    double shift = seen > log(FOUND_RATIO) ? seen : log(FOUND_RATIO);
    while (ratio.spread > 0.0 && seeds < GS_CONFIRM_SEEDS_MAX &&
           (seeds < 2 ||
            gs_detectable_shift(seeds, ratio.spread, all->scenario->alpha, FOUND_POWER) > shift)) {
        seeds++;
    }
    return seeds;
}

uint32_t gs_confirm_seeds(const gs_recommend *all, gs_arm *const *finalists, uint32_t count)
{
    uint32_t asked = (uint32_t)all->scenario->seeds;
    uint32_t seeds = asked < GS_CONFIRM_SEEDS_MAX ? asked : GS_CONFIRM_SEEDS_MAX;
    bool is_given = all->cli->from[GS_FLAG_seeds] == GS_FROM_FLAG;
    for (uint32_t i = 1; i < count && !is_given; i++) {
        seeds = seeds_for(all, finalists[0], finalists[i], seeds);
    }
    return seeds;
}

/* The scenario that `sim` would read to make the same runs. */
static const gs_scenario *tuned_scenario(gs_recommend *all, const gs_arm *arm)
{
    const gs_arm_rate *rate = &arm->rates[arm->rate];
    char word[64];
    snprintf(word, sizeof word, "workload.optimizer.rate=%.17g",
             arm->scenario->workload.task.optimizer.rate * rate->factor);
    gs_scenario *tuned = gs_need(GS_TAKE(&all->arena, gs_scenario, 1));
    gs_error err = {0};
    bool is_own = rate->factor > 0.999 && rate->factor < 1.001;
    if (gs_arm_read(&all->reader, arm->label, is_own ? NULL : word, tuned, &err) != GS_OK) {
        gs_complain("%s", err.text);
        gs_need(NULL);
    }
    return tuned;
}

static void check_limits(gs_recommend *all, gs_arm *arm)
{
    double accuracy = 0.0;
    double fidelity = 0.0;
    for (uint32_t i = 0; i < all->confirm_seeds; i++) {
        const gs_outcome *outcome = &arm->outcomes[i];
        accuracy += gs_trial_is_good(outcome) ? gs_trial_metric(outcome, "final_accuracy") : 0.0;
        fidelity += gs_trial_metric(outcome, "fidelity_cosine_ratio");
    }
    accuracy /= (double)all->confirm_seeds;
    fidelity /= (double)all->confirm_seeds;
    if (arm->state != GS_ARM_IN) {
        return;
    }
    if (accuracy < all->min_accuracy) {
        gs_arm_drop(arm, GS_ARM_LIMIT, &all->arena, "ends at accuracy %.4f, below %g", accuracy,
                    all->min_accuracy);
    } else {
        gs_trial_check_fidelity(all, arm, fidelity);
    }
}

/* Of those that lost the race the one that stood best and is not chosen yet; NULL: there is none.
 */
static gs_arm *best_loser(const gs_recommend *all, gs_arm *const *chosen, uint32_t count)
{
    gs_arm *best = NULL;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        bool may = arm->state == GS_ARM_OUT && reached_of(arm->race, arm->race_seeds) > 0;
        for (uint32_t k = 0; k < count; k++) {
            may = may && chosen[k] != arm;
        }
        if (may && (best == NULL || standing_of(all, arm) < standing_of(all, best))) {
            best = arm;
        }
    }
    return best;
}

static uint32_t choose_finalists(gs_recommend *all, gs_arm **out)
{
    gs_arm **in = gs_need(calloc((size_t)all->arm_count + 1, sizeof *in));
    uint32_t count = sort_in(all, in);
    uint32_t chosen = 0;
    bool has_plain = false;
    for (uint32_t i = 0; i < count; i++) {
        if (i < GS_FINALISTS_MAX) {
            out[chosen++] = in[i];
            has_plain = has_plain || gs_arm_is_plain(in[i]);
        } else {
            gs_arm_drop(in[i], GS_ARM_OUT, &all->arena,
                        "not told apart from the first %d after %u seeds, and behind them",
                        GS_FINALISTS_MAX, in[i]->race_seeds);
        }
    }
    for (uint32_t i = 0; !has_plain && i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        if (gs_arm_is_plain(arm) && (arm->state == GS_ARM_OUT || arm->state == GS_ARM_DOMINATED) &&
            arm->rates[0].seeds > 0) {
            out[chosen++] = arm;
        }
    }
    for (gs_arm *next = best_loser(all, out, chosen); chosen < GS_FINALISTS_MIN && next != NULL;
         next = best_loser(all, out, chosen)) {
        out[chosen++] = next;
    }
    free(in);
    return chosen;
}

bool gs_confirm_arms(gs_recommend *all)
{
    gs_arm *finalists[GS_FINALISTS_MAX + 1];
    const gs_scenario *variants[GS_FINALISTS_MAX + 1];
    uint32_t count = choose_finalists(all, finalists);
    all->confirm_seeds = gs_confirm_seeds(all, finalists, count);
    while (all->confirm_seeds > GS_CONFIRM_SEEDS_MIN &&
           !gs_trial_affords(all, (uint64_t)count * all->confirm_seeds, true,
                             "as many seeds as the confirmation needs")) {
        all->confirm_seeds--;
    }
    uint32_t seeds = all->confirm_seeds;
    gs_outcome *outcomes =
        gs_need(gs_arena_take(&all->arena, (size_t)count * seeds + 1, sizeof *outcomes));
    for (uint32_t i = 0; i < count; i++) {
        finalists[i]->tuned = tuned_scenario(all, finalists[i]);
        variants[i] = finalists[i]->tuned;
    }
    gs_keep_await(all, finalists, count, outcomes);
    all->keeps = true;
    bool done = gs_trial_run(all, variants, count, 0, seeds, outcomes);
    all->keeps = false;
    for (uint32_t i = 0; i < count; i++) {
        gs_arm *arm = finalists[i];
        arm->outcomes = &outcomes[(size_t)i * seeds];
        for (uint32_t seed = 0; seed < seeds; seed++) {
            arm->confirm[seed] = gs_trial_value(all, arm, &arm->outcomes[seed]);
        }
        if (done) {
            check_limits(all, arm);
        }
    }
    return done;
}

/* --- the verdict ------------------------------------------------------------------------------ */

uint32_t gs_confirmed_reached(const gs_recommend *all, const gs_arm *arm)
{
    return arm->outcomes == NULL ? 0 : reached_of(arm->confirm, all->confirm_seeds);
}

gs_paired_ratio gs_confirmed_ratio(const gs_recommend *all, const gs_arm *arm, const gs_arm *other)
{
    gs_paired_ratio ratio;
    if (gs_paired_ratio_of(other->confirm, arm->confirm, all->confirm_seeds, all->scenario->alpha,
                           &ratio) != GS_OK) {
        gs_need(NULL);
    }
    return ratio;
}

static bool is_candidate(const gs_recommend *all, const gs_arm *arm)
{
    return arm->state == GS_ARM_IN && gs_confirmed_reached(all, arm) > 0;
}

gs_verdict gs_contest_verdict(const gs_recommend *all)
{
    static const double today[GS_STANDINGS_MAX];
    const gs_arm *arms[GS_FINALISTS_MAX + 1];
    gs_standings standings;
    gs_verdict verdict = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (is_candidate(all, &all->arms[i])) {
            GS_ASSERT(count <= GS_FINALISTS_MAX);
            arms[count++] = &all->arms[i];
        }
    }
    if (count == 0) {
        return verdict;
    }
    gs_standings_make(all, arms, count, &standings);
    gs_standing standing = gs_standings_judge(&standings, today);
    verdict.leader = arms[standing.leader];
    verdict.winner = arms[standing.winner];
    for (uint32_t i = 0; i < count; i++) {
        if (standing.ties[i]) {
            verdict.ties[verdict.tie_count++] = arms[i];
        }
    }
    return verdict;
}
