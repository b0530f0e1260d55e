#include "strategies/shares.h"

#include "base/assert.h"

#include <math.h>
#include <stdbool.h>

/* Of the mean square of the samples: with less variance the slope is one of noise. */
#define VARIANCE_MIN 0.0025
/* Part of the time that at least grows with the samples: a slope of noise must not run away. */
#define GROWING_MIN 0.1

enum { HALVINGS = 60 /* until the bounds are neighbouring doubles, nearly */ };

void gs_share_timed(gs_share *share, int64_t took_ns, double keep)
{
    if (share->samples == 0) {
        return;
    }
    double samples = (double)share->samples;
    double took = took_ns < 1 ? 1.0 : (double)took_ns;
    share->weight = keep * share->weight + 1.0;
    share->samples_sum = keep * share->samples_sum + samples;
    share->time_sum = keep * share->time_sum + took;
    share->square_sum = keep * share->square_sum + samples * samples;
    share->product_sum = keep * share->product_sum + samples * took;
}

void gs_share_fit(const gs_share *share, double *out_fixed, double *out_per_sample)
{
    GS_ASSERT(share->weight > 0.0);
    double samples = share->samples_sum / share->weight;
    double took = share->time_sum / share->weight;
    double variance = share->square_sum / share->weight - samples * samples;
    double covariance = share->product_sum / share->weight - samples * took;
    double most = took / samples;
    double slope = variance > VARIANCE_MIN * samples * samples ? covariance / variance : most;
    slope = slope < GROWING_MIN * most ? GROWING_MIN * most : slope;
    slope = slope > most ? most : slope;
    *out_fixed = took - slope * samples;
    *out_per_sample = slope;
}

/* Whole samples that a rank does in that time, within the bounds. */
static int64_t done_in(const gs_share *share, double time, const gs_share_bounds *bounds)
{
    if (!(share->weight > 0.0)) {
        return share->samples;
    }
    double fixed, per_sample;
    gs_share_fit(share, &fixed, &per_sample);
    double samples = floor((time - fixed) / per_sample);
    return samples <= (double)bounds->least  ? bounds->least
           : samples >= (double)bounds->most ? bounds->most
                                             : (int64_t)samples;
}

static int64_t all_done_in(const gs_share *shares, uint32_t count, double time,
                           const gs_share_bounds *bounds)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += done_in(&shares[i], time, bounds);
    }
    return sum;
}

void gs_share_out(gs_share *shares, uint32_t count, const gs_share_bounds *bounds)
{
    double low = 0.0, high = 1.0;
    while (all_done_in(shares, count, high, bounds) < bounds->total) {
        low = high;
        high *= 2.0;
    }
    for (int i = 0; i < HALVINGS; i++) {
        double middle = low + 0.5 * (high - low);
        if (all_done_in(shares, count, middle, bounds) < bounds->total) {
            low = middle;
        } else {
            high = middle;
        }
    }
    /* In `high` too many are done by those that end at that very time: the last ones give back. */
    int64_t over = all_done_in(shares, count, high, bounds) - bounds->total;
    for (uint32_t i = count; i-- > 0;) {
        int64_t most = done_in(&shares[i], high, bounds);
        int64_t least = done_in(&shares[i], low, bounds);
        int64_t less = most - least < over ? most - least : over;
        shares[i].samples = most - less;
        over -= less;
    }
    GS_ASSERT(over == 0);
}
