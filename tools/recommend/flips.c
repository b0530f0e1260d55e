#include "tools/recommend/flips.h"

#include "base/assert.h"
#include "tools/explain_ranks.h"
#include "tools/explain_variant.h"
#include "tools/message.h"
#include "tools/recommend/rivals.h"
#include "tools/recommend/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gs_flip_axis_keys[GS_FLIP_AXES] = {"bandwidth_bps", "compute_jitter_ratio",
                                                     "ranks"};

enum {
    STEPS_MAX = 128, /* two periods of the longest arm */
    DOUBLINGS = 5,   /* up to 32 times as much, or as little */
    NARROWINGS = 3,  /* simulations between two doublings, at what is the flip by those before */
    PLACES_MAX = 1 + DOUBLINGS + NARROWINGS + 2, /* with today, and the ends of the interval */
    BISECTIONS = 20, /* between two places, by what is simulated at both */
    ROUNDS = 999,    /* of the bootstrap */
    RANKS_TIMES = 4  /* so many times as many ranks cost as many times as much to simulate */
};

#define LEAST_JITTER 0.02
#define JITTER_MAX   1.0
#define NEAR_RATIO   1.01 /* of two places that need not both be simulated */

/* --- one place on an axis --------------------------------------------------------------------- */

typedef struct place {
    double at;
    double logs[GS_STANDINGS_MAX]; /* so many times today's cost of a sample; INFINITY: failed */
} place;

/* One direction of an axis, today first, outwards. */
typedef struct curve {
    gs_recommend *all;
    const gs_rivals *who;
    const gs_standings *rounds; /* [ROUNDS], who->standings on other draws of seeds */
    gs_flip_axis axis;
    bool is_up;
    uint32_t seeds;
    double today[GS_STANDINGS_MAX]; /* logarithms of the cost of a sample */
    place places[PLACES_MAX];
    uint32_t count;
} curve;

static gs_scenario *variant_at(const curve *along, const gs_arm *arm, double value, gs_arena *arena)
{
    gs_scenario *base = gs_trial_timing(arm, STEPS_MAX, arena);
    if (along->axis == GS_FLIP_BANDWIDTH) {
        double today = (double)gs_scenario_outer_link(base)->bandwidth_bps;
        return gs_variant_link(base, value / today, arena);
    }
    if (along->axis == GS_FLIP_RANKS) {
        return gs_variant_ranks(base, (uint32_t)llround(value), arena);
    }
    base->noise.compute =
        (gs_noise_law){.law = value > 0.0 ? GS_LAW_LOGNORMAL : GS_LAW_NONE, .cv = value};
    return base;
}

/* Logarithms of what a sample costs there. false: a signal came, or a run of the choice failed. */
static bool costs_at(const curve *along, double value, double logs[GS_STANDINGS_MAX])
{
    const gs_standings *who = &along->who->standings;
    const gs_scenario *variants[GS_STANDINGS_MAX];
    gs_outcome outcomes[GS_STANDINGS_MAX * 2];
    gs_arena arena;
    gs_arena_init(&arena);
    for (uint32_t i = 0; i < who->count; i++) {
        variants[i] = variant_at(along, who->arms[i], value, &arena);
    }
    bool done =
        gs_trial_run(along->all, variants, who->count, GS_TUNING_SEEDS, along->seeds, outcomes);
    for (uint32_t i = 0; i < who->count; i++) {
        double sum = 0.0;
        for (uint32_t seed = 0; seed < along->seeds; seed++) {
            gs_outcome *outcome = &outcomes[i * along->seeds + seed];
            double rate = gs_trial_metric(outcome, "samples_per_s");
            sum += gs_trial_is_good(outcome) && rate > 0.0 ? 1.0 / rate : (double)INFINITY;
            gs_outcome_fini(outcome);
        }
        logs[i] = log(sum);
    }
    gs_arena_fini(&arena);
    return done && isfinite(logs[0]);
}

/* Simulates it and puts it in its order. false: as above. */
static bool add_place(curve *along, double value)
{
    uint32_t at = along->count;
    place next = {.at = value};
    GS_ASSERT(along->count < PLACES_MAX);
    if (!costs_at(along, value, next.logs)) {
        return false;
    }
    for (uint32_t i = 0; i < along->who->standings.count; i++) {
        next.logs[i] -= along->today[i];
    }
    for (; at > 1 &&
           (along->is_up ? along->places[at - 1].at > value : along->places[at - 1].at < value);
         at--) {
        along->places[at] = along->places[at - 1];
    }
    along->places[at] = next;
    along->count++;
    return true;
}

/* The next value outwards; NAN: there is none. */
static double next_of(const curve *along)
{
    double factor = along->is_up ? 2.0 : 0.5;
    double today = along->places[0].at;
    double value = along->places[along->count - 1].at;
    switch (along->axis) {
    case GS_FLIP_BANDWIDTH:
        return value * factor;
    case GS_FLIP_RANKS: {
        double unit = gs_variant_unit(along->all->scenario);
        double next = floor(value * factor / unit) * unit;
        bool is_there = next >= 2.0 && next >= unit && next <= today * RANKS_TIMES;
        return is_there ? next : (double)NAN;
    }
    case GS_FLIP_JITTER:
        if (along->is_up) {
            double next = value < LEAST_JITTER ? LEAST_JITTER : value * factor;
            return next <= JITTER_MAX ? next : (double)NAN;
        }
        return value > today * 0.9 && today > 0.0 ? 0.0 : (double)NAN;
    case GS_FLIP_AXES:
        break;
    }
    return (double)NAN;
}

/* --- where it flips --------------------------------------------------------------------------- */

/* Between place `at` - 1 and place `at`. */
static void between(const curve *along, uint32_t at, double share, double logs[GS_STANDINGS_MAX])
{
    for (uint32_t i = 0; i < along->who->standings.count; i++) {
        double from = along->places[at - 1].logs[i];
        double to = along->places[at].logs[i];
        logs[i] = share <= 0.0 ? from : share >= 1.0 ? to : from + share * (to - from);
    }
}

/* Number of the place where another one is recommended first, with a fraction between two places,
 * over which logarithms of costs run straight; INFINITY: at none. *out_to: who is. */
static double crossing(const curve *along, const gs_standings *standings, uint32_t *out_to)
{
    for (uint32_t at = 0; at < along->count; at++) {
        double low = 0.0;
        double high = 1.0;
        uint32_t winner = gs_standings_judge(standings, along->places[at].logs).winner;
        for (int i = 0; winner != 0 && at > 0 && i < BISECTIONS; i++) {
            double logs[GS_STANDINGS_MAX];
            double middle = (low + high) / 2.0;
            between(along, at, middle, logs);
            uint32_t there = gs_standings_judge(standings, logs).winner;
            winner = there != 0 ? there : winner;
            low = there != 0 ? low : middle;
            high = there != 0 ? middle : high;
        }
        if (winner != 0) {
            *out_to = winner;
            return at == 0 ? 0.0 : at - 1.0 + high;
        }
    }
    *out_to = 0;
    return (double)INFINITY;
}

/* In the unit of the axis; of ranks the next number that the job can have, outwards. */
static double value_of(const curve *along, double crossing)
{
    if (!isfinite(crossing)) {
        return (double)NAN;
    }
    uint32_t at = (uint32_t)floor(crossing);
    double share = crossing - at;
    double from = along->places[at].at;
    double to = share > 0.0 ? along->places[at + 1].at : from;
    if (along->axis == GS_FLIP_RANKS) {
        double unit = gs_variant_unit(along->all->scenario);
        double units = (from + share * (to - from)) / unit;
        return unit * (along->is_up ? ceil(units - 1e-9) : floor(units + 1e-9));
    }
    return from > 0.0 && to > 0.0 ? from * pow(to / from, share) : from + share * (to - from);
}

static int by_size(const void *a, const void *b)
{
    double own = *(const double *)a;
    double other = *(const double *)b;
    return (own > other) - (own < other);
}

typedef struct ends {
    double first, last;
} ends;

/* Interval of the crossing: quantiles of those of the rounds. */
static ends ends_of(const curve *along)
{
    double crossings[ROUNDS];
    uint32_t to;
    double alpha = along->all->scenario->alpha;
    for (int i = 0; i < ROUNDS; i++) {
        crossings[i] = crossing(along, &along->rounds[i], &to);
    }
    qsort(crossings, ROUNDS, sizeof *crossings, by_size);
    int first = (int)(alpha / 2.0 * (ROUNDS + 1)) - 1;
    first = first > 0 ? first : 0;
    return (ends){crossings[first], crossings[ROUNDS - 1 - first]};
}

/* Simulates what is a flip by the places so far, unless there is one as near. false: as add_place.
 */
static bool look_at(curve *along, double crossing)
{
    double value = value_of(along, crossing);
    for (uint32_t i = 0; i < along->count; i++) {
        double own = along->places[i].at;
        bool is_near = own <= value * NEAR_RATIO && value <= own * NEAR_RATIO;
        if (!isfinite(crossing) || is_near) {
            return true;
        }
    }
    return add_place(along, value);
}

/* Steps of two until it has surely flipped, then where it does. false: as add_place. */
static bool walk(curve *along)
{
    uint32_t to;
    double next = next_of(along);
    for (int i = 0; i < DOUBLINGS && !isnan(next); i++) {
        if (!add_place(along, next)) {
            return false;
        }
        next = isfinite(ends_of(along).last) ? (double)NAN : next_of(along);
    }
    for (int i = 0; i < NARROWINGS; i++) {
        if (!look_at(along, crossing(along, &along->who->standings, &to))) {
            return false;
        }
    }
    return look_at(along, ends_of(along).first) && look_at(along, ends_of(along).last);
}

/* --- one direction ---------------------------------------------------------------------------- */

/* Who is as good as the choice at all places; NULL: nobody is. */
static const gs_arm *tied_throughout(const curve *along)
{
    const gs_standings *standings = &along->who->standings;
    for (uint32_t i = 1; i < standings->count; i++) {
        bool ties = true;
        for (uint32_t at = 0; at < along->count && ties; at++) {
            gs_standing there = gs_standings_judge(standings, along->places[at].logs);
            ties = (there.leader == i || there.ties[i]) && (there.leader == 0 || there.ties[0]);
        }
        if (ties) {
            return standings->arms[i];
        }
    }
    return NULL;
}

static void tell(const curve *along, gs_flip *flip)
{
    const gs_rivals *who = along->who;
    uint32_t to;
    double at = crossing(along, &who->standings, &to);
    ends interval = ends_of(along);
    flip->flips_at = value_of(along, at);
    flip->first = value_of(along, interval.first);
    flip->last = value_of(along, interval.last);
    flip->holds_to =
        along->places[isfinite(at) && at > 0.0 ? (uint32_t)ceil(at) - 1 : along->count - 1].at;
    flip->to = isfinite(at) ? who->standings.arms[to] : NULL;
    flip->tied = isfinite(at) ? NULL : tied_throughout(along);
    flip->is_assumed = isfinite(at) && (who->assumed[0] || who->assumed[to]);
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

/* Both directions. false: a signal came, or --budget left no time. */
static bool look_along(const curve *from, gs_flips *out)
{
    double today = today_of(from->all->scenario, from->axis);
    uint64_t runs = (uint64_t)from->who->standings.count * from->seeds * PLACES_MAX;
    double logs[GS_STANDINGS_MAX];
    if (!gs_trial_affords(from->all, 2 * runs, true, "where the choice flips")) {
        return false;
    }
    if (!costs_at(from, today, logs)) {
        return !from->all->interrupted;
    }
    for (int up = 0; up < 2; up++) {
        gs_flip flip = {.axis = from->axis, .is_up = up == 1, .today = today};
        curve along = *from;
        along.is_up = up == 1;
        along.places[0] = (place){.at = today};
        along.count = 1;
        memcpy(along.today, logs, sizeof logs);
        if (!walk(&along) && along.all->interrupted) {
            return false;
        }
        if (along.count > 1) {
            tell(&along, &flip);
            out->flips[out->count++] = flip;
        }
    }
    return true;
}

/* Of the axes one has two seeds; each has today once and two directions. */
uint64_t gs_flips_runs(void)
{
    return (uint64_t)(GS_FLIP_AXES + 1) * (2 * PLACES_MAX - 1) * GS_STANDINGS_MAX;
}

bool gs_flips_find(gs_recommend *all, const gs_arm *choice, gs_flips *out)
{
    gs_rivals *who = gs_need(calloc(1, sizeof *who));
    gs_standings *rounds = gs_need(calloc(ROUNDS, sizeof *rounds));
    bool done = true;
    *out = (gs_flips){0};
    gs_rivals_find(all, choice, who);
    for (int i = 0; i < ROUNDS; i++) {
        gs_standings_resample(&who->standings, (uint32_t)i, &rounds[i]);
    }
    bool has_rivals = who->standings.count > 1 && all->objective != GS_OBJECTIVE_SAMPLES;
    for (int axis = 0; axis < GS_FLIP_AXES && done && has_rivals; axis++) {
        curve from = {.all = all,
                      .who = who,
                      .rounds = rounds,
                      .axis = (gs_flip_axis)axis,
                      .seeds = axis == GS_FLIP_JITTER ? 2 : 1};
        done = !has_axis(all->scenario, from.axis) || look_along(&from, out);
    }
    free(rounds);
    free(who);
    return done;
}
