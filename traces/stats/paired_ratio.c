#include "traces/stats/paired_ratio.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "traces/stats/bootstrap.h"
#include "traces/stats/permutation.h"

uint32_t gs_paired_logs(const double *base, const double *candidate, uint32_t count, double *out)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isfinite(base[i]) && isfinite(candidate[i]) && base[i] > 0.0 && candidate[i] > 0.0) {
            out[pairs++] = log(candidate[i] / base[i]);
        }
    }
    return pairs;
}

static gs_status describe(const double *logs, double alpha, gs_paired_ratio *ratio)
{
    gs_samples samples = {.values = {logs}, .counts = {ratio->pairs}};
    gs_interval interval;
    GS_TRY(gs_bca(&samples, gs_statistic_mean, alpha, &interval));
    ratio->low = exp(interval.low);
    ratio->high = exp(interval.high);
    ratio->spread = gsl_stats_sd(logs, 1, ratio->pairs);
    return GS_OK;
}

gs_status gs_paired_ratio_of(const double *base, const double *candidate, uint32_t count,
                             double alpha, gs_paired_ratio *out)
{
    const double none = (double)NAN;
    gs_paired_ratio ratio = {.value = none, .low = none, .high = none, .spread = none, .p = 1.0};
    double *logs = malloc(((size_t)count + 1) * sizeof *logs);
    if (logs == NULL) {
        return GS_ENOMEM;
    }
    ratio.pairs = gs_paired_logs(base, candidate, count, logs);
    gs_status status = GS_OK;
    if (ratio.pairs > 0) {
        ratio.value = exp(gsl_stats_mean(logs, 1, ratio.pairs));
        ratio.p = gs_sign_flip(logs, ratio.pairs);
    }
    if (ratio.pairs > 1) {
        status = describe(logs, alpha, &ratio);
    }
    free(logs);
    if (status == GS_OK) {
        *out = ratio;
    }
    return status;
}
