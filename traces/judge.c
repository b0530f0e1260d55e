#include "traces/judge.h"

#include "base/assert.h"
#include "traces/record.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const gs_judged judged[] = {
#define GS_JUDGED(metric, words, yardstick, tolerance, by_seed, of_ranks)                          \
    {#metric, words, tolerance, GS_YARDSTICK_##yardstick, by_seed, of_ranks},
#include "traces/judged.def"
#undef GS_JUDGED
};

enum { JUDGED_COUNT = sizeof judged / sizeof judged[0] };

const char *gs_yardstick_text(gs_yardstick yardstick)
{
    static const char *const texts[] = {"measured", "step", "difference"};
    GS_ASSERT(yardstick < sizeof texts / sizeof texts[0]);
    return texts[yardstick];
}

uint32_t gs_judged_count(void)
{
    return JUDGED_COUNT;
}

const gs_judged *gs_judged_at(uint32_t index)
{
    GS_ASSERT(index < JUDGED_COUNT);
    return &judged[index];
}

uint32_t gs_judged_find(const char *name)
{
    uint32_t metric = gs_metric_find(name);
    const char *full = metric < gs_metric_count() ? gs_metric_at(metric)->name : name;
    uint32_t index = 0;
    while (index < JUDGED_COUNT && strcmp(judged[index].name, full) != 0) {
        index++;
    }
    return index;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The largest k >= 1 for which fewer than k of `count` values lie below the median, and fewer than
 * k above it, with 95 % or more; 0 where there is none. */
static uint32_t rank_of_interval(uint32_t count)
{
    uint32_t k = 0;
    while (k + 1 <= count / 2 && 2.0 * gsl_cdf_binomial_P(k, 0.5, count) <= 0.05) {
        k++;
    }
    return k;
}

gs_estimate gs_estimate_of(double *values, uint32_t count)
{
    gs_estimate estimate = {
        .count = count, .value = (double)NAN, .low = (double)NAN, .high = (double)NAN};
    if (count == 0) {
        return estimate;
    }
    qsort(values, count, sizeof *values, by_value);
    double below = values[(count - 1) / 2];
    double above = values[count / 2];
    estimate.value = isinf(above) ? above : below + (above - below) / 2.0;
    uint32_t k = rank_of_interval(count);
    if (k > 0) {
        estimate.low = values[k - 1];
        estimate.high = values[count - k];
    }
    return estimate;
}

static double error_of(gs_yardstick yardstick, double predicted, double measured, double step_ns)
{
    /* Also where both are INFINITY: neither reached its target, as predicted. */
    if (!(predicted < measured) && !(predicted > measured)) {
        return 0.0;
    }
    if (yardstick == GS_YARDSTICK_DIFFERENCE) {
        return predicted - measured;
    }
    if (yardstick == GS_YARDSTICK_STEP) {
        return (predicted - measured) / step_ns;
    }
    return predicted / measured - 1.0;
}

gs_judgement gs_judge(gs_yardstick yardstick, const gs_estimate *predicted,
                      const gs_estimate *measured, double step_ns, double tolerance)
{
    GS_ASSERT(!isnan(predicted->value));
    GS_ASSERT(!isnan(measured->value));
    gs_judgement judgement = {.error =
                                  error_of(yardstick, predicted->value, measured->value, step_ns)};
    judgement.inside = fabs(judgement.error) <= tolerance;
    const double ends[] = {measured->low, measured->high};
    for (int i = 0; i < 2; i++) {
        if (!isnan(ends[i])) {
            double error = error_of(yardstick, predicted->value, ends[i], step_ns);
            bool inside = fabs(error) <= tolerance;
            judgement.unsure = judgement.unsure || inside != judgement.inside;
        }
    }
    return judgement;
}
