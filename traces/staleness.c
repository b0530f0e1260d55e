#include "traces/staleness.h"

#include "base/assert.h"
#include "traces/record.h"

#include <math.h>

enum { OCTAVE_BINS = 8, EXACT_BITS = 6 /* 2^6 values are exact */ };

static uint32_t bin_of(int64_t updates)
{
    if (updates < GS_STALENESS_EXACT) {
        return (uint32_t)updates;
    }
    uint32_t octave = 0;
    while (updates >> (octave + EXACT_BITS + 1) != 0) {
        octave++;
    }
    /* Of the octave [64, 128) 2^octave: which eighth. */
    uint32_t eighth = (uint32_t)(updates >> (octave + EXACT_BITS - 3)) & (OCTAVE_BINS - 1);
    return GS_STALENESS_EXACT + octave * OCTAVE_BINS + eighth;
}

/* The least value of a bin; of the last one and a half it would not fit. */
static double low_of(uint32_t bin)
{
    if (bin < GS_STALENESS_EXACT) {
        return (double)bin;
    }
    uint32_t octave = (bin - GS_STALENESS_EXACT) / OCTAVE_BINS;
    uint32_t eighth = (bin - GS_STALENESS_EXACT) % OCTAVE_BINS;
    return ldexp((double)(OCTAVE_BINS + eighth), (int)octave + EXACT_BITS - 3);
}

void gs_staleness_add(gs_staleness *staleness, int64_t updates)
{
    GS_ASSERT(updates >= 0);
    staleness->counts[bin_of(updates)]++;
    staleness->count++;
    staleness->sum += (double)updates;
    staleness->max = updates > staleness->max ? updates : staleness->max;
}

void gs_staleness_merge(gs_staleness *into, const gs_staleness *more)
{
    for (uint32_t bin = 0; bin < GS_STALENESS_BINS; bin++) {
        into->counts[bin] += more->counts[bin];
    }
    into->count += more->count;
    into->sum += more->sum;
    into->max = more->max > into->max ? more->max : into->max;
}

double gs_staleness_mean(const gs_staleness *staleness)
{
    return staleness->count > 0 ? staleness->sum / (double)staleness->count : (double)NAN;
}

double gs_staleness_quantile(const gs_staleness *staleness, double p)
{
    int64_t so_far = 0;
    for (uint32_t bin = 0; bin < GS_STALENESS_BINS; bin++) {
        so_far += staleness->counts[bin];
        if (so_far > 0 && (double)so_far >= p * (double)staleness->count) {
            double last = low_of(bin + 1) - 1.0;
            return last < (double)staleness->max ? last : (double)staleness->max;
        }
    }
    return (double)NAN;
}

gs_status gs_staleness_store(const gs_staleness *staleness, gs_series *series)
{
    gs_series_bin bin = {.rank = GS_ALL_RANKS};
    GS_TRY(gs_series_find_name(series, "staleness", &bin.name));
    for (uint32_t i = 0; i < GS_STALENESS_BINS; i++) {
        int64_t index;
        bin.low = low_of(i);
        bin.high = low_of(i + 1);
        bin.count = staleness->counts[i];
        if (bin.count > 0) {
            GS_TRY(gs_series_add_bin(series, &bin, &index));
        }
    }
    return GS_OK;
}
