#include "traces/link_merge.h"

#include <math.h>

bool gs_rates_are_alike(gs_estimate a, gs_estimate b)
{
    bool overlap = a.low <= b.high && b.low <= a.high;
    return overlap || fabs(a.value / b.value - 1.0) < GS_ALIKE_RATIO;
}

/* The fastest pair that leaves a member, or comes to it; all 0: none does. */
static gs_estimate fastest(const gs_pair_rate *pairs, uint32_t count, uint32_t member, bool leaves)
{
    gs_estimate most = {0.0, 0.0, 0.0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end = leaves ? pairs[i].from : pairs[i].to;
        if (end == member && pairs[i].bps.value > most.value) {
            most = pairs[i].bps;
        }
    }
    return most;
}

void gs_end_rates(const gs_pair_rate *pairs, uint32_t count, uint32_t members, gs_estimate *out_bps)
{
    for (uint32_t member = 0; member < members; member++) {
        gs_estimate leaves = fastest(pairs, count, member, true);
        gs_estimate comes = fastest(pairs, count, member, false);
        bool is_less = comes.value > 0.0 && comes.value < leaves.value;
        out_bps[member] = leaves.value > 0.0 && !is_less ? leaves : comes;
    }
}

/* The rate that as many members are below as above; the lower one of two. */
static gs_estimate middle(const gs_estimate *rates_bps, uint32_t members)
{
    gs_estimate found = {0.0, 0.0, 0.0};
    uint32_t known = 0;
    for (uint32_t i = 0; i < members; i++) {
        known += rates_bps[i].value > 0.0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < members; i++) {
        uint32_t below = 0;
        for (uint32_t k = 0; k < members; k++) {
            double other = rates_bps[k].value;
            bool is_below = other < rates_bps[i].value || (k < i && other <= rates_bps[i].value);
            below += other > 0.0 && is_below ? 1 : 0;
        }
        if (rates_bps[i].value > 0.0 && below == (known - 1) / 2) {
            found = rates_bps[i];
        }
    }
    return found;
}

double gs_end_scales(const gs_estimate *rates_bps, uint32_t members, double *out_scales)
{
    gs_estimate usual = middle(rates_bps, members);
    for (uint32_t i = 0; i < members; i++) {
        bool is_usual = !(rates_bps[i].value > 0.0) || gs_rates_are_alike(rates_bps[i], usual);
        out_scales[i] = is_usual ? 1.0 : rates_bps[i].value / usual.value;
        for (uint32_t k = 0; k < i && !is_usual; k++) {
            bool is_other = fabs(out_scales[k] - 1.0) > 0.0;
            if (is_other && gs_rates_are_alike(rates_bps[i], rates_bps[k])) {
                out_scales[i] = out_scales[k];
                break;
            }
        }
    }
    return usual.value;
}
