#include "traces/stats/change.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "traces/stats/bootstrap.h"
#include "traces/stats/permutation.h"
#include "traces/stats/power.h"
#include "traces/stats/rank_sum.h"

#define DETECTED 0.8

/* Both sides as they are compared: restricted to the horizon, and logarithms where of_ratio. */
typedef struct sides_copy {
    double *base, *candidate; /* [counts] */
    double *shifts;           /* [base_count], where paired */
    uint32_t base_count, candidate_count;
    bool paired;
} sides_copy;

static bool is_identical(const gs_change_sides *sides)
{
    return sides->paired &&
           memcmp(sides->base, sides->candidate, sides->base_count * sizeof *sides->base) == 0;
}

/* Values of one side: how many are reached, the largest of those, whether all are above 0. */
typedef struct extent {
    uint32_t reached;
    double largest;
    bool positive;
} extent;

static extent extent_of(const double *values, uint32_t count)
{
    extent out = {.positive = true};
    for (uint32_t i = 0; i < count; i++) {
        GS_ASSERT(!isnan(values[i]));
        out.positive = out.positive && values[i] > 0.0;
        if (isfinite(values[i])) {
            out.largest = out.reached == 0 ? values[i] : fmax(out.largest, values[i]);
            out.reached++;
        }
    }
    return out;
}

static void fill(const double *values, uint32_t count, double horizon, bool of_ratio, double *out)
{
    for (uint32_t i = 0; i < count; i++) {
        double value = fmin(values[i], horizon);
        out[i] = of_ratio ? log(value) : value;
    }
}

/* 1 where the target is reached, 0 where not. */
static void fill_reached(const double *values, uint32_t count, double *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = isfinite(values[i]) ? 1.0 : 0.0;
    }
}

/* p of candidate - base other than `null`, for what the copy holds. */
static gs_status p_of(sides_copy *copy, double null, double *out)
{
    if (copy->paired) {
        for (uint32_t i = 0; i < copy->base_count; i++) {
            copy->shifts[i] = copy->candidate[i] - copy->base[i] - null;
        }
        *out = gs_sign_flip(copy->shifts, copy->base_count);
        return GS_OK;
    }
    for (uint32_t i = 0; i < copy->candidate_count; i++) {
        copy->candidate[i] -= null;
    }
    gs_rank_sum sum;
    GS_TRY(gs_rank_sum_test(copy->candidate, copy->candidate_count, copy->base, copy->base_count,
                            &sum));
    *out = sum.p;
    return GS_OK;
}

static double middle_of(const double *values, uint32_t count, bool by_mean, double *scratch)
{
    if (by_mean) {
        return gsl_stats_mean(values, 1, count);
    }
    memcpy(scratch, values, count * sizeof *values);
    gsl_sort(scratch, 1, count);
    return gsl_stats_median_from_sorted_data(scratch, 1, count);
}

/* Interval and spread of the effect, from two values on. */
static gs_status find_interval(const sides_copy *copy, double alpha, gs_change *change)
{
    gs_samples samples = {.values = {copy->base, copy->candidate},
                          .counts = {copy->base_count, copy->candidate_count}};
    gs_statistic statistic = change->censored ? gs_statistic_mean_shift : gs_statistic_median_shift;
    if (copy->paired) {
        for (uint32_t i = 0; i < copy->base_count; i++) {
            copy->shifts[i] = copy->candidate[i] - copy->base[i];
        }
        samples = (gs_samples){.values = {copy->shifts}, .counts = {copy->base_count}};
        statistic = gs_statistic_mean;
    }
    gs_interval interval;
    GS_TRY(gs_bca(&samples, statistic, alpha, &interval));
    change->low = interval.low;
    change->high = interval.high;
    change->spread = copy->paired ? gsl_stats_sd(copy->shifts, 1, copy->base_count)
                                  : hypot(gsl_stats_sd(copy->base, 1, copy->base_count),
                                          gsl_stats_sd(copy->candidate, 1, copy->candidate_count));
    return GS_OK;
}

static double worse_of(const gs_change *change, double effect)
{
    return change->lower_is_better ? effect : -effect;
}

/* The limit as an effect towards worse. */
static double limit_of(const gs_change *change, gs_change_limit limit)
{
    if (limit.is_amount) {
        return limit.value;
    }
    if (!change->of_ratio) {
        return limit.value * fabs(change->base);
    }
    if (change->lower_is_better) {
        return log1p(limit.value);
    }
    return limit.value < 1.0 ? -log1p(-limit.value) : (double)INFINITY;
}

/* Twice the smaller p of time and of reaching: either of the two may be told. */
static gs_status add_reach(const gs_change_sides *sides, sides_copy *copy, gs_change *change)
{
    if (change->reached_base * sides->candidate_count ==
        change->reached_candidate * sides->base_count) {
        return GS_OK;
    }
    double p = 1.0;
    fill_reached(sides->base, sides->base_count, copy->base);
    fill_reached(sides->candidate, sides->candidate_count, copy->candidate);
    GS_TRY(p_of(copy, 0.0, &p));
    change->by_reach = p <= change->p;
    change->p = fmin(1.0, 2.0 * fmin(p, change->p));
    change->least_p = fmin(1.0, 2.0 * change->least_p);
    change->tests = 2;
    return GS_OK;
}

static gs_status measure_noisy(const gs_change_sides *sides, double alpha, sides_copy *copy,
                               gs_change *change)
{
    change->least_p = sides->paired ? gs_sign_flip_least(change->count)
                                    : gs_rank_sum_least(sides->base_count, sides->candidate_count);
    if (change->count > 1) {
        GS_TRY(find_interval(copy, alpha, change));
    }
    bool beyond = worse_of(change, change->effect) > change->limit;
    double null = beyond ? worse_of(change, change->limit) : 0.0;
    GS_TRY(p_of(copy, null, &change->p));
    return change->censored ? add_reach(sides, copy, change) : GS_OK;
}

static gs_status measure(const gs_change_sides *sides, gs_change_limit limit, double alpha,
                         sides_copy *copy, gs_change *change)
{
    extent base = extent_of(sides->base, sides->base_count);
    extent candidate = extent_of(sides->candidate, sides->candidate_count);
    change->reached_base = base.reached;
    change->reached_candidate = candidate.reached;
    change->censored =
        base.reached < sides->base_count || candidate.reached < sides->candidate_count;
    change->of_ratio = base.positive && candidate.positive && !limit.is_amount;
    double horizon = (double)INFINITY;
    if (change->censored) {
        double largest = fmax(base.reached > 0 ? base.largest : 0.0,
                              candidate.reached > 0 ? candidate.largest : 0.0);
        horizon = sides->horizon > 0.0 ? sides->horizon : largest > 0.0 ? largest : 1.0;
    }
    fill(sides->base, sides->base_count, horizon, change->of_ratio, copy->base);
    fill(sides->candidate, sides->candidate_count, horizon, change->of_ratio, copy->candidate);
    bool by_mean = sides->paired || change->censored;
    double first = middle_of(copy->base, sides->base_count, by_mean, copy->shifts);
    double second = middle_of(copy->candidate, sides->candidate_count, by_mean, copy->shifts);
    change->effect = change->identical ? 0.0 : second - first;
    change->base = change->of_ratio ? exp(first) : first;
    change->candidate = change->of_ratio ? exp(second) : second;
    change->limit = limit_of(change, limit);
    return change->exact || change->identical ? GS_OK : measure_noisy(sides, alpha, copy, change);
}

gs_status gs_change_measure(const gs_change_sides *sides, gs_change_limit limit, double alpha,
                            gs_change *out)
{
    GS_ASSERT(sides->base_count >= 1 && sides->candidate_count >= 1);
    GS_ASSERT(!sides->paired || sides->base_count == sides->candidate_count);
    GS_ASSERT(!sides->exact || sides->paired);
    GS_ASSERT(limit.value >= 0.0);
    const double none = (double)NAN;
    uint32_t less =
        sides->base_count < sides->candidate_count ? sides->base_count : sides->candidate_count;
    uint32_t more = sides->base_count + sides->candidate_count - less;
    gs_change change = {.exact = sides->exact,
                        .identical = is_identical(sides),
                        .lower_is_better = sides->lower_is_better,
                        .paired = sides->paired,
                        .count = less,
                        .tests = 1,
                        .low = none,
                        .high = none,
                        .spread = none,
                        .p = none,
                        .least_p = none};
    double *memory = malloc(3 * (size_t)more * sizeof *memory);
    if (memory == NULL) {
        return GS_ENOMEM;
    }
    sides_copy copy = {.base = memory,
                       .candidate = memory + more,
                       .shifts = memory + 2 * (size_t)more,
                       .base_count = sides->base_count,
                       .candidate_count = sides->candidate_count,
                       .paired = sides->paired};
    gs_status status = measure(sides, limit, alpha, &copy, &change);
    free(memory);
    if (status == GS_OK) {
        *out = change;
    }
    return status;
}

/* ---------------------------------------------------------------- verdict */

static gs_change_word word_of_exact(const gs_change *change)
{
    double worse = worse_of(change, change->effect);
    if (change->identical || worse == 0.0) {
        return GS_CHANGE_SAME;
    }
    return worse > change->limit    ? GS_CHANGE_WORSE
           : worse < -change->limit ? GS_CHANGE_BETTER
                                    : GS_CHANGE_SAME;
}

static gs_change_word word_of_noisy(const gs_change *change, bool certain)
{
    double low = change->lower_is_better ? change->low : -change->high;
    double high = change->lower_is_better ? change->high : -change->low;
    if (certain && change->by_reach) {
        bool fewer = change->reached_candidate < change->reached_base;
        return fewer ? GS_CHANGE_WORSE : GS_CHANGE_BETTER;
    }
    if (certain && low > change->limit) {
        return GS_CHANGE_WORSE;
    }
    if (certain && high < 0.0) {
        return GS_CHANGE_BETTER;
    }
    return high <= change->limit ? GS_CHANGE_SAME : GS_CHANGE_INCONCLUSIVE;
}

/* Seeds with which the least p is at most `level`; how many reach the target is a test beside it.
 */
static uint32_t needed_for(const gs_change *change, double level)
{
    double of_each = level / change->tests;
    return change->paired ? gs_sign_flip_needs(of_each) : gs_rank_sum_needs(of_each);
}

gs_change_verdict gs_change_judge(const gs_change *change, double p_adjusted, double alpha,
                                  uint32_t rows)
{
    GS_ASSERT(rows >= 1);
    gs_change_verdict verdict = {.detectable = (double)NAN};
    if (change->identical || change->exact) {
        verdict.word = word_of_exact(change);
        return verdict;
    }
    bool enough = change->least_p * rows <= alpha;
    if (enough) {
        verdict.detectable = change->limit + gs_detectable_shift(change->count, change->spread,
                                                                 alpha / rows, DETECTED);
    } else {
        verdict.needed = needed_for(change, alpha / rows);
    }
    if (change->least_p > alpha) {
        verdict.word = GS_CHANGE_INCONCLUSIVE;
        return verdict;
    }
    verdict.word = word_of_noisy(change, p_adjusted <= alpha);
    return verdict;
}
