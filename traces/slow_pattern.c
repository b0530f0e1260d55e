#include "traces/slow_pattern.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>

/* Levels tried for the late state of stretches, in standard deviations of noise. */
static const double LEVELS[] = {0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0};
/* Share of the highest scores of a rank like the others, within which single late steps count. */
static const double TAILS[] = {0.01, 0.02, 0.05};
/* Two hiccups with a step or two between them make no stretch. */
enum { STRETCH_STEPS_MIN = 4 };
/* Scores count up to here towards a period: two hiccups a period apart must not make one. The same
 * where patterns are compared: one level fits no better for being far exceeded in some steps. */
static const double SCORE_MAX = 3.0;
enum { LEVEL_COUNT = sizeof LEVELS / sizeof *LEVELS, TAIL_COUNT = sizeof TAILS / sizeof *TAILS };

typedef struct fitter {
    const double *scores;
    uint32_t count;
    uint32_t present; /* scores that are not missing */
    const gs_slow_terms *terms;
    unsigned char *is_on; /* of the best so far */
    unsigned char *trial;
    unsigned char *came_from; /* [count] bits: where each state of the two came from */
    double *folded;           /* [GS_SLOW_PERIOD_MAX] sums by phase */
    uint32_t *folded_count;
    gs_slow_fit best;
    double best_weight;
} fitter;

const char *gs_slow_pattern_name(gs_slow_pattern pattern)
{
    static const char *const NAMES[GS_SLOW_PATTERNS] = {"none", "always",   "since",
                                                        "once", "periodic", "bursts"};
    GS_ASSERT(pattern < GS_SLOW_PATTERNS);
    return NAMES[pattern];
}

/* Cost of having looked at `ways` patterns on each array of scores. */
static double cost_of(const gs_slow_terms *terms, double ways)
{
    return log(terms->tests * ways / GS_SLOW_FALSE_ALARM);
}

/* Gain of one common level for scores that sum up to `sum`; only slowness counts. */
static double gain_of(const gs_slow_terms *terms, double sum, double count)
{
    return sum <= 0.0 || count < 1.0 ? 0.0 : sum * sum / (2.0 * count * terms->inflation);
}

/* One-sided: half of the deviations of a rank like the others are to its favour. */
static double always_cost(const gs_slow_terms *terms)
{
    return cost_of(terms, 0.5);
}

double gs_slow_least_mean(uint32_t count, const gs_slow_terms *terms)
{
    return count == 0 ? HUGE_VAL
                      : sqrt(2.0 * terms->inflation * always_cost(terms) / (double)count);
}

/* What one common level in the steps of trial explains, less the cost: comparable across patterns.
 */
static double weigh(const fitter *in, double cost)
{
    double sum = 0.0;
    double count = 0.0;
    for (uint32_t i = 0; i < in->count; i++) {
        if (in->trial[i] != 0 && !isnan(in->scores[i])) {
            sum += fmin(in->scores[i], SCORE_MAX);
            count += 1.0;
        }
    }
    return gain_of(in->terms, sum, count) - cost;
}

/* Excess says whether it is a pattern at all, the weight which pattern it is. */
static void offer(fitter *in, gs_slow_fit fit, double weight)
{
    bool is_first = in->best.pattern == GS_SLOW_NOT;
    if (fit.excess <= 0.0 || (!is_first && weight <= in->best_weight)) {
        return;
    }
    in->best = fit;
    in->best_weight = weight;
    memcpy(in->is_on, in->trial, in->count);
}

static void try_always(fitter *in)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < in->count; i++) {
        sum += isnan(in->scores[i]) ? 0.0 : in->scores[i];
        in->trial[i] = 1;
    }
    double cost = always_cost(in->terms);
    double gain = gain_of(in->terms, sum, (double)in->present);
    offer(in, (gs_slow_fit){.pattern = GS_SLOW_ALWAYS, .excess = gain - cost}, weigh(in, cost));
}

/* The best set of stretches for one level: dynamic programming over (step, late or not), where
 * entering a stretch costs `entry`. Writes trial; returns the gain less all entries. */
static double best_stretches(fitter *in, double level, double entry)
{
    double off = 0.0;
    double on = -HUGE_VAL;
    for (uint32_t i = 0; i < in->count; i++) {
        double score = in->scores[i];
        double gain =
            isnan(score) ? 0.0 : (score * level - level * level / 2.0) / in->terms->inflation;
        bool ends = on > off;
        bool enters = off - entry > on;
        double next_off = ends ? on : off;
        on = (enters ? off - entry : on) + gain;
        off = next_off;
        in->came_from[i] = (unsigned char)((ends ? 1 : 0) | (enters ? 2 : 0));
    }
    bool is_on = on > off;
    double result = is_on ? on : off;
    for (uint32_t i = in->count; i-- > 0;) {
        in->trial[i] = is_on ? 1 : 0;
        is_on = is_on ? (in->came_from[i] & 2) == 0 : (in->came_from[i] & 1) != 0;
    }
    return result;
}

/* What trial holds, its excess aside. False: too few steps for stretches. */
static bool count_stretches(const fitter *in, gs_slow_fit *out)
{
    bool was_on = false;
    uint32_t late = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        late += in->trial[i];
        out->stretches += in->trial[i] != 0 && !was_on ? 1 : 0;
        was_on = in->trial[i] != 0;
    }
    out->pattern = out->stretches > 1 ? GS_SLOW_BURSTS : was_on ? GS_SLOW_SINCE : GS_SLOW_ONCE;
    return late >= STRETCH_STEPS_MIN;
}

static void try_stretches(fitter *in)
{
    double steps = (double)in->present;
    double highest = 0.0;
    for (uint32_t i = 0; i < in->count; i++) {
        highest = in->scores[i] > highest ? in->scores[i] : highest;
    }
    /* No lone step, of whatever size, pays for a stretch: a hiccup is no pattern. */
    double lone = 1.0 + gain_of(in->terms, highest, 1.0);
    double each = log(steps) + 3.0;
    double further = fmax(each, lone);
    double cost = cost_of(in->terms, 2.0 * steps);
    double first = fmax(cost, lone);
    double best_level = 0.0;
    double best = 0.0;
    for (int l = 0; l < LEVEL_COUNT; l++) {
        double excess = best_stretches(in, LEVELS[l], further) - (first - further);
        gs_slow_fit fit = {.excess = excess};
        if (excess > best && count_stretches(in, &fit)) {
            best_level = LEVELS[l];
            best = excess;
        }
    }
    if (best > 0.0) {
        gs_slow_fit fit = {.excess = best};
        best_stretches(in, best_level, further);
        (void)count_stretches(in, &fit);
        offer(in, fit, weigh(in, cost + (fit.stretches - 1) * each));
    }
}

/* Windows of all phases and widths of one period; remembers the best of them in *out. */
static void fold(fitter *in, uint32_t period, double *out_gain, uint32_t best[3])
{
    memset(in->folded, 0, period * sizeof *in->folded);
    memset(in->folded_count, 0, period * sizeof *in->folded_count);
    for (uint32_t i = 0, phase = 0; i < in->count; i++) {
        if (!isnan(in->scores[i])) {
            in->folded[phase] += fmin(in->scores[i], SCORE_MAX);
            in->folded_count[phase]++;
        }
        phase = phase + 1 == period ? 0 : phase + 1;
    }
    for (uint32_t phase = 0; phase < period; phase++) {
        double sum = 0.0;
        double count = 0.0;
        for (uint32_t width = 1; width <= period / 2; width++) {
            uint32_t at = phase + width - 1;
            at -= at >= period ? period : 0;
            sum += in->folded[at];
            count += in->folded_count[at];
            double gain = gain_of(in->terms, sum, count);
            if (gain > *out_gain) {
                *out_gain = gain;
                best[0] = period;
                best[1] = phase;
                best[2] = width;
            }
        }
    }
}

static void try_periods(fitter *in)
{
    enum { PERIODS_AT_LEAST = 4 };
    uint32_t longest = in->count / PERIODS_AT_LEAST;
    longest = longest < GS_SLOW_PERIOD_MAX ? longest : GS_SLOW_PERIOD_MAX;
    if (!in->terms->is_evenly_spaced || longest < 2) {
        return;
    }
    double gain = 0.0;
    uint32_t best[3] = {0, 0, 0};
    for (uint32_t period = 2; period <= longest; period++) {
        fold(in, period, &gain, best);
    }
    if (best[0] == 0) {
        return;
    }
    for (uint32_t i = 0; i < in->count; i++) {
        in->trial[i] = (i + best[0] - best[1]) % best[0] < best[2];
    }
    double cost = cost_of(in->terms, (double)longest * longest);
    double excess = gain - cost;
    offer(in, (gs_slow_fit){.pattern = GS_SLOW_PERIODIC, .excess = excess, .period = best[0]},
          excess);
}

/* Single late steps: more of this rank's scores are high than chance gives. How often they are by
 * chance is known only as well as the noise's tail is, hence the ten-fold cost. */
static void try_singles(fitter *in)
{
    for (int t = 0; t < TAIL_COUNT; t++) {
        double least = gsl_cdf_ugaussian_Qinv(TAILS[t]);
        unsigned found = 0;
        for (uint32_t i = 0; i < in->count; i++) {
            in->trial[i] = !isnan(in->scores[i]) && in->scores[i] >= least;
            found += in->trial[i];
        }
        if (found < 2) {
            continue;
        }
        double chance = gsl_cdf_binomial_Q(found - 1, TAILS[t], in->present);
        double gain = -log(chance > 0.0 ? chance : 1e-300) / in->terms->inflation;
        double cost = cost_of(in->terms, 10.0 * TAIL_COUNT);
        offer(in, (gs_slow_fit){.pattern = GS_SLOW_BURSTS, .excess = gain - cost},
              weigh(in, cost + gsl_sf_lnchoose(in->present, found)));
    }
}

static void fit_all(fitter *in)
{
    for (uint32_t i = 0; i < in->count; i++) {
        in->present += isnan(in->scores[i]) ? 0 : 1;
    }
    if (in->present == 0) {
        return;
    }
    try_always(in);
    try_stretches(in);
    try_periods(in);
    try_singles(in);
    if (in->best.pattern == GS_SLOW_NOT) {
        return;
    }
    in->best.first = in->count;
    for (uint32_t i = 0; i < in->count; i++) {
        if (in->is_on[i] != 0) {
            in->best.first = i < in->best.first ? i : in->best.first;
            in->best.last = i;
        }
    }
}

gs_status gs_slow_fit_scores(const double *scores, uint32_t count, const gs_slow_terms *terms,
                             unsigned char *is_on, gs_slow_fit *out, gs_error *err)
{
    GS_ASSERT(terms->tests >= 1.0);
    GS_ASSERT(terms->inflation >= 1.0);
    fitter in = {.scores = scores, .count = count, .terms = terms, .is_on = is_on};
    in.trial = malloc((size_t)count + 1);
    in.came_from = malloc((size_t)count + 1);
    in.folded = malloc(GS_SLOW_PERIOD_MAX * sizeof *in.folded);
    in.folded_count = malloc(GS_SLOW_PERIOD_MAX * sizeof *in.folded_count);
    gs_status status = GS_OK;
    if (in.trial == NULL || in.came_from == NULL || in.folded == NULL || in.folded_count == NULL) {
        status = gs_fail(err, GS_ENOMEM, "no memory to judge %u steps", count);
    } else {
        memset(is_on, 0, count);
        fit_all(&in);
        *out = in.best;
    }
    free(in.trial);
    free(in.came_from);
    free(in.folded);
    free(in.folded_count);
    return status;
}
