#include "tools/recommend/flips.h"

#include "tools/explain_ranks.h"
#include "tools/explain_variant.h"
#include "tools/message.h"
#include "tools/recommend/contest.h"
#include "tools/recommend/screen.h"

#include <math.h>
#include <stdlib.h>

const char *const gs_flip_axis_keys[GS_FLIP_AXES] = {"bandwidth_bps", "compute_jitter_ratio",
                                                     "ranks"};

enum {
    RIVALS_MAX = 8,
    STEPS_MAX = 128, /* two periods of the longest arm */
    DOUBLINGS = 5,   /* up to 32 times as much, or as little */
    BISECTIONS = 4,  /* a sixteenth of a doubling: 4 % */
    RANKS_TIMES = 4  /* so many times as many ranks cost as many times as much to simulate */
};

#define BETTER_RATIO 0.99 /* a rival must be as much better */
#define LEAST_JITTER 0.02
#define JITTER_MAX   1.0

/* --- who is looked at ------------------------------------------------------------------------- */

double gs_flip_samples(const gs_recommend *all, const gs_arm *arm, bool *out_assumed)
{
    *out_assumed = arm->family == GS_FAMILY_TIMED;
    if (!all->learns) {
        return arm->family == GS_FAMILY_EXACT ? 1.0 : (double)INFINITY;
    }
    if (arm->rates[0].seeds > 0) {
        return gs_arm_is_sure(all, arm) ? gs_arm_samples(all, arm) : (double)INFINITY;
    }
    if (arm->state != GS_ARM_DOMINATED) {
        return (double)INFINITY;
    }
    *out_assumed = arm->family != GS_FAMILY_EXACT;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *other = &all->arms[i];
        if (other->family == GS_FAMILY_EXACT && other->rates[0].seeds > 0) {
            return gs_arm_samples(all, other);
        }
    }
    return (double)INFINITY;
}

typedef struct rivals {
    const gs_arm *arms[RIVALS_MAX]; /* the choice first */
    double samples[RIVALS_MAX];
    bool assumed[RIVALS_MAX];
    double
        ties[RIVALS_MAX]; /* of today's cost over that of the choice where it is below 1: a tie
                             that went to the simpler one flips only where it gets better; else 1 */
    uint32_t count;
} rivals;

static void add_rival(const gs_recommend *all, const gs_arm *arm, rivals *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->arms[i] == arm) {
            return;
        }
    }
    double samples = gs_flip_samples(all, arm, &out->assumed[out->count]);
    if (out->count < RIVALS_MAX && isfinite(samples)) {
        out->arms[out->count] = arm;
        out->samples[out->count++] = samples;
    }
}

static double estimate_of(const gs_recommend *all, const gs_arm *arm)
{
    bool assumed;
    return gs_trial_of_samples(all, arm, gs_flip_samples(all, arm, &assumed));
}

static bool may_win(const gs_arm *arm)
{
    return arm->state == GS_ARM_IN || arm->state == GS_ARM_OUT || arm->state == GS_ARM_DOMINATED;
}

/* The best of its family by the objective, or what sends least; NULL: none. */
static const gs_arm *best_of(const gs_recommend *all, gs_arm_family family, bool by_bytes)
{
    const gs_arm *best = NULL;
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *arm = &all->arms[i];
        bool assumed;
        if (!may_win(arm) || arm->family != family ||
            !isfinite(gs_flip_samples(all, arm, &assumed))) {
            continue;
        }
        double own = by_bytes ? arm->wire_bytes : estimate_of(all, arm);
        if (own < least) {
            best = arm;
            least = own;
        }
    }
    return best;
}

/* The choice, plain all-reduce, and of each family the best today and what sends least. */
static rivals rivals_of(const gs_recommend *all, const gs_arm *choice)
{
    rivals out = {0};
    add_rival(all, choice, &out);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (gs_arm_is_plain(&all->arms[i]) && may_win(&all->arms[i])) {
            add_rival(all, &all->arms[i], &out);
        }
    }
    for (int family = 0; family < GS_FAMILY_COUNT; family++) {
        const gs_arm *best = best_of(all, (gs_arm_family)family, false);
        if (best != NULL) {
            add_rival(all, best, &out);
        }
    }
    for (int family = GS_FAMILY_LOSSY; family <= GS_FAMILY_LOCAL; family++) {
        const gs_arm *best = best_of(all, (gs_arm_family)family, true);
        if (best != NULL) {
            add_rival(all, best, &out);
        }
    }
    return out;
}

/* --- one place on an axis --------------------------------------------------------------------- */

typedef struct probe {
    gs_recommend *all;
    const rivals *who;
    gs_flip_axis axis;
    uint32_t seeds;
} probe;

static gs_scenario *variant_at(const probe *look, const gs_arm *arm, double value, gs_arena *arena)
{
    gs_scenario *base = gs_trial_timing(arm, STEPS_MAX, arena);
    if (look->axis == GS_FLIP_BANDWIDTH) {
        double today = (double)gs_scenario_outer_link(base)->bandwidth_bps;
        return gs_variant_link(base, value / today, arena);
    }
    if (look->axis == GS_FLIP_RANKS) {
        return gs_variant_ranks(base, (uint32_t)llround(value), arena);
    }
    base->noise.compute =
        (gs_noise_law){.law = value > 0.0 ? GS_LAW_LOGNORMAL : GS_LAW_NONE, .cv = value};
    return base;
}

/* What each rival needs there; INFINITY where a run failed. false: a signal came. */
static bool costs_at(const probe *look, double value, double costs[RIVALS_MAX])
{
    const gs_scenario *variants[RIVALS_MAX];
    gs_outcome outcomes[RIVALS_MAX * 2];
    gs_arena arena;
    gs_arena_init(&arena);
    for (uint32_t i = 0; i < look->who->count; i++) {
        variants[i] = variant_at(look, look->who->arms[i], value, &arena);
    }
    bool done =
        gs_trial_run(look->all, variants, look->who->count, GS_TUNING_SEEDS, look->seeds, outcomes);
    for (uint32_t i = 0; i < look->who->count; i++) {
        costs[i] = 0.0;
        for (uint32_t seed = 0; seed < look->seeds; seed++) {
            gs_outcome *outcome = &outcomes[i * look->seeds + seed];
            double rate = gs_trial_metric(outcome, "samples_per_s");
            costs[i] += gs_trial_is_good(outcome) && rate > 0.0
                            ? look->who->arms[i]->price * look->who->samples[i] * 1e9 / rate
                            : (double)INFINITY;
            gs_outcome_fini(outcome);
        }
    }
    gs_arena_fini(&arena);
    return done;
}

/* The rival that is better than the choice there, by most; 0: the choice holds. -1: a run of the
 * choice failed or a signal came. */
static int best_at(const probe *look, double value)
{
    double costs[RIVALS_MAX];
    if (!costs_at(look, value, costs) || !isfinite(costs[0])) {
        return -1;
    }
    int best = 0;
    double least = BETTER_RATIO * costs[0];
    for (uint32_t i = 1; i < look->who->count; i++) {
        double own = costs[i] / look->who->ties[i];
        if (own < least) {
            best = (int)i;
            least = own;
        }
    }
    return best;
}

/* false: as above. */
static bool find_ties(gs_recommend *all, rivals *who)
{
    double costs[RIVALS_MAX];
    probe look = {all, who, GS_FLIP_BANDWIDTH, 1};
    double today = (double)gs_scenario_outer_link(all->scenario)->bandwidth_bps;
    if (!costs_at(&look, today, costs) || !isfinite(costs[0])) {
        return false;
    }
    for (uint32_t i = 0; i < who->count; i++) {
        who->ties[i] = costs[i] < costs[0] ? costs[i] / costs[0] : 1.0;
    }
    return true;
}

/* --- one direction ---------------------------------------------------------------------------- */

/* The next value outwards; NAN: there is none. */
static double next_of(const probe *look, double value, double today, bool is_up)
{
    double factor = is_up ? 2.0 : 0.5;
    switch (look->axis) {
    case GS_FLIP_BANDWIDTH:
        return value * factor;
    case GS_FLIP_RANKS: {
        double unit = gs_variant_unit(look->all->scenario);
        double next = floor(value * factor / unit) * unit;
        bool is_there = next >= 2.0 && next >= unit && next <= today * RANKS_TIMES;
        return is_there ? next : (double)NAN;
    }
    case GS_FLIP_JITTER:
        if (is_up) {
            double next = value < LEAST_JITTER ? LEAST_JITTER : value * factor;
            return next <= JITTER_MAX ? next : (double)NAN;
        }
        return value > today * 0.9 && today > 0.0 ? 0.0 : (double)NAN;
    case GS_FLIP_AXES:
        break;
    }
    return (double)NAN;
}

/* Between a value that holds and one that flips. */
static double middle_of(const probe *look, double a, double b)
{
    if (look->axis == GS_FLIP_RANKS) {
        double unit = gs_variant_unit(look->all->scenario);
        return floor((a + b) / 2.0 / unit) * unit;
    }
    return a > 0.0 && b > 0.0 ? sqrt(a * b) : (a + b) / 2.0;
}

static bool bisect(const probe *look, gs_flip *flip)
{
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = middle_of(look, flip->holds_to, flip->flips_at);
        if (fabs(middle - flip->holds_to) < 1e-9 || fabs(middle - flip->flips_at) < 1e-9) {
            return true;
        }
        int best = best_at(look, middle);
        if (best < 0) {
            return false;
        }
        if (best == 0) {
            flip->holds_to = middle;
        } else {
            flip->flips_at = middle;
            flip->to = look->who->arms[best];
        }
    }
    return true;
}

static bool look_along(const probe *look, gs_flip *flip)
{
    flip->holds_to = flip->today;
    flip->flips_at = (double)NAN;
    for (int i = 0; i < DOUBLINGS; i++) {
        double next = next_of(look, flip->holds_to, flip->today, flip->is_up);
        if (isnan(next)) {
            return true;
        }
        int best = best_at(look, next);
        if (best < 0) {
            return !look->all->interrupted;
        }
        if (best > 0) {
            flip->flips_at = next;
            flip->to = look->who->arms[best];
            bool done = bisect(look, flip);
            for (uint32_t k = 0; k < look->who->count; k++) {
                bool counts = k == 0 || look->who->arms[k] == flip->to;
                flip->is_assumed = flip->is_assumed || (counts && look->who->assumed[k]);
            }
            return done || !look->all->interrupted;
        }
        flip->holds_to = next;
    }
    return true;
}

static double today_of(const gs_scenario *scenario, gs_flip_axis axis)
{
    if (axis == GS_FLIP_BANDWIDTH) {
        return (double)gs_scenario_outer_link(scenario)->bandwidth_bps;
    }
    if (axis == GS_FLIP_RANKS) {
        return (double)scenario->ranks;
    }
    return scenario->noise.compute.law == GS_LAW_NONE ? 0.0 : scenario->noise.compute.cv;
}

/* Is there an axis at all? One rank has no link; ranks with places of their own have no others. */
static bool has_axis(const gs_scenario *scenario, gs_flip_axis axis)
{
    if (axis == GS_FLIP_RANKS) {
        return scenario->ranks > 1 && !gs_variant_is_placed(scenario) &&
               scenario->cluster.servers == 0;
    }
    return axis == GS_FLIP_JITTER ? scenario->noise.compute.law == GS_LAW_NONE ||
                                        scenario->noise.compute.law == GS_LAW_LOGNORMAL
                                  : scenario->ranks > 1;
}

bool gs_flips_find(gs_recommend *all, const gs_arm *choice, gs_flips *out)
{
    rivals who = rivals_of(all, choice);
    *out = (gs_flips){0};
    if (who.count < 2 || all->objective == GS_OBJECTIVE_SAMPLES) {
        return true;
    }
    if (!find_ties(all, &who)) {
        return !all->interrupted;
    }
    for (int axis = 0; axis < GS_FLIP_AXES; axis++) {
        probe look = {all, &who, (gs_flip_axis)axis, axis == GS_FLIP_JITTER ? 2 : 1};
        for (int up = 0; up < 2 && has_axis(all->scenario, look.axis); up++) {
            uint64_t runs = (uint64_t)who.count * look.seeds * (DOUBLINGS + BISECTIONS);
            if (!gs_trial_affords(all, runs, true, "where the choice flips")) {
                return false;
            }
            gs_flip flip = {
                .axis = look.axis, .is_up = up == 1, .today = today_of(all->scenario, look.axis)};
            if (!look_along(&look, &flip)) {
                return false;
            }
            /* Nothing was looked at in this direction. */
            if (fabs(flip.holds_to - flip.today) > 0.0 || flip.to != NULL) {
                out->flips[out->count++] = flip;
            }
        }
    }
    return true;
}
