#include "traces/link_merge.h"

#include <math.h>

#include "traces/robust.h"

/* The fastest pair that leaves a member, or comes to it; 0: none does. */
static double fastest(const gs_pair_rate *pairs, uint32_t count, uint32_t member, int is_from)
{
    double most = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end = is_from ? pairs[i].from : pairs[i].to;
        most = end == member ? fmax(most, pairs[i].rate_bps) : most;
    }
    return most;
}

void gs_end_rates(const gs_pair_rate *pairs, uint32_t count, uint32_t members, double *out_bps)
{
    for (uint32_t member = 0; member < members; member++) {
        double leaves = fastest(pairs, count, member, 1);
        double comes = fastest(pairs, count, member, 0);
        out_bps[member] = leaves > 0.0 && comes > 0.0 ? fmin(leaves, comes) : fmax(leaves, comes);
    }
}

/* Median of the members that have a rate near `around`; around 0: of all. */
static double median_near(const double *rates_bps, uint32_t members, double around, double *scratch)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < members; i++) {
        double off = around > 0.0 ? fabs(rates_bps[i] / around - 1.0) : 0.0;
        if (rates_bps[i] > 0.0 && off < GS_ALIKE_RATIO) {
            scratch[count++] = rates_bps[i];
        }
    }
    return count == 0 ? 0.0 : gs_middle_of(scratch, count).median;
}

double gs_end_scales(const double *rates_bps, uint32_t members, double *out_scales, double *scratch)
{
    double usual = median_near(rates_bps, members, 0.0, scratch);
    for (uint32_t i = 0; i < members; i++) {
        double scale = usual > 0.0 && rates_bps[i] > 0.0 ? rates_bps[i] / usual : 1.0;
        out_scales[i] = fabs(scale - 1.0) < GS_ALIKE_RATIO ? 1.0 : 0.0;
    }
    /* The others in the order of their numbers: who is alike to one before it has its scale. */
    for (uint32_t i = 0; i < members; i++) {
        for (uint32_t k = 0; k < i && !(out_scales[i] > 0.0); k++) {
            if (fabs(out_scales[k] - 1.0) > 0.0 && rates_bps[k] > 0.0 &&
                fabs(rates_bps[i] / rates_bps[k] - 1.0) < GS_ALIKE_RATIO) {
                out_scales[i] = out_scales[k];
            }
        }
        if (!(out_scales[i] > 0.0)) {
            out_scales[i] = median_near(rates_bps, members, rates_bps[i], scratch) / usual;
        }
    }
    return usual;
}
