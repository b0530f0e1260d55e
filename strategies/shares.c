#include "strategies/shares.h"

#include "base/assert.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Of the mean square of the samples: with less variance the slope is one of noise. */
#define VARIANCE_MIN 0.0025
/* Part of the time that at least grows with the samples: a slope of noise must not run away. */
#define GROWING_MIN 0.1

static void fit(gs_share *share)
{
    double samples = share->samples_sum / share->weight;
    double took = share->time_sum / share->weight;
    double variance = share->square_sum / share->weight - samples * samples;
    double covariance = share->product_sum / share->weight - samples * took;
    double most = took / samples;
    double slope = variance > VARIANCE_MIN * samples * samples ? covariance / variance : most;
    slope = slope < GROWING_MIN * most ? GROWING_MIN * most : slope;
    slope = slope > most ? most : slope;
    share->fixed_ns = took - slope * samples;
    share->per_sample_ns = slope;
}

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
    fit(share);
}

static bool is_timed(const gs_share *share)
{
    return share->weight > 0.0;
}

/* Whole samples that a rank does in that time, within the bounds. */
static int64_t done_in(const gs_share *share, double time, const gs_share_bounds *bounds)
{
    if (!is_timed(share)) {
        return share->samples;
    }
    double samples = floor((time - share->fixed_ns) / share->per_sample_ns);
    return samples <= (double)bounds->least  ? bounds->least
           : samples >= (double)bounds->most ? bounds->most
                                             : (int64_t)samples;
}

/* A time, and how many samples all do in it. */
typedef struct moment {
    double time;
    int64_t samples;
} moment;

static moment at(const gs_share *shares, uint32_t count, double time, const gs_share_bounds *bounds)
{
    moment made = {.time = time};
    for (uint32_t i = 0; i < count; i++) {
        made.samples += done_in(&shares[i], time, bounds);
    }
    return made;
}

/* ---------------------------------------------------------------- the time that is enough */

/* The last moment known in which too few are done, and the first in which enough are. */
typedef struct search {
    moment few, enough;
} search;

/* About the time in which all would do the total but for bounds, and two steps of half a sample of
 * each around it; they double until the search is between the two. */
static search begin(const gs_share *shares, uint32_t count, const gs_share_bounds *bounds)
{
    double timed = 0.0, rate = 0.0, late = 0.0, kept = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_timed(&shares[i])) {
            timed += 1.0;
            rate += 1.0 / shares[i].per_sample_ns;
            late += shares[i].fixed_ns / shares[i].per_sample_ns;
        } else {
            kept += (double)shares[i].samples;
        }
    }
    double step = 0.5 * timed / rate;
    moment guess = at(shares, count, ((double)bounds->total - kept + late) / rate + step, bounds);
    search found = {guess, guess};
    for (; found.enough.samples < bounds->total; step *= 2.0) {
        found.few = found.enough;
        found.enough = at(shares, count, found.few.time + step, bounds);
    }
    for (; found.few.samples >= bounds->total; step *= 2.0) {
        found.enough = found.few;
        found.few = found.enough.time > step ? at(shares, count, found.enough.time - step, bounds)
                                             : (moment){0.0, INT64_MIN}; /* no time is too little */
    }
    return found;
}

/* Do all that do more in the second moment take that one sample at the same time? */
static bool is_one_time(const gs_share *shares, uint32_t count, const search *found,
                        const gs_share_bounds *bounds)
{
    const gs_share *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const gs_share *share = &shares[i];
        int64_t more =
            done_in(share, found->enough.time, bounds) - done_in(share, found->few.time, bounds);
        if (more > 0 && first == NULL) {
            first = share;
        }
        if (more > 1 ||
            (more == 1 && (share->fixed_ns < first->fixed_ns || share->fixed_ns > first->fixed_ns ||
                           share->per_sample_ns < first->per_sample_ns ||
                           share->per_sample_ns > first->per_sample_ns))) {
            return false;
        }
    }
    return true;
}

/* Halves until no time between the two would share out otherwise: exactly enough are done, or what
 * is over comes at one time, or there is no double between them. */
static void narrow(search *found, const gs_share *shares, uint32_t count,
                   const gs_share_bounds *bounds)
{
    bool halved = true; /* the samples between the two moments became fewer */
    while (found->enough.samples > bounds->total &&
           (halved || !is_one_time(shares, count, found, bounds))) {
        double between = found->few.time + 0.5 * (found->enough.time - found->few.time);
        if (between <= found->few.time || between >= found->enough.time) {
            return;
        }
        moment middle = at(shares, count, between, bounds);
        moment *end = middle.samples < bounds->total ? &found->few : &found->enough;
        halved = middle.samples != end->samples;
        *end = middle;
    }
}

void gs_share_out(gs_share *shares, uint32_t count, const gs_share_bounds *bounds)
{
    search found = begin(shares, count, bounds);
    narrow(&found, shares, count, bounds);
    /* Too many are done by those that end at that very time: the last ones give back. */
    int64_t over = found.enough.samples - bounds->total;
    for (uint32_t i = count; i-- > 0;) {
        int64_t most = done_in(&shares[i], found.enough.time, bounds);
        int64_t least = done_in(&shares[i], found.few.time, bounds);
        int64_t less = most - least < over ? most - least : over;
        shares[i].samples = most - less;
        over -= less;
    }
    GS_ASSERT(over == 0);
}
