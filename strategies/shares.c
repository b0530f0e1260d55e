#include "strategies/shares.h"

#include "base/assert.h"

#include <stdbool.h>
#include <string.h>

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

/* Samples, and parts of one, that a rank which was timed does in that time. */
static double done_by(const gs_share *share, double time)
{
    return (time - share->fixed_ns) / share->per_sample_ns;
}

/* Whole samples, within the bounds. */
static int64_t done_in(const gs_share *share, double time, const gs_share_bounds *bounds)
{
    if (!is_timed(share)) {
        return share->samples;
    }
    double samples = done_by(share, time);
    return samples <= (double)bounds->least  ? bounds->least
           : samples >= (double)bounds->most ? bounds->most
                                             : (int64_t)samples; /* >= 0: cut off is rounded down */
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

/* A moment in which too few are done, and a later one in which enough are. */
typedef struct search {
    moment few, enough;
} search;

/* Begins about the time in which all would do the total but for bounds, half a sample of each on;
 * steps of that size double until the search is between two. Then halves until no rank does more
 * than one sample in between. */
static search between_few_and_enough(const gs_share *shares, uint32_t count,
                                     const gs_share_bounds *bounds)
{
    double timed = 0.0, rate = 0.0, late = 0.0, kept = 0.0, fastest = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_timed(&shares[i])) {
            double rate_of_one = 1.0 / shares[i].per_sample_ns;
            timed += 1.0;
            rate += rate_of_one;
            late += shares[i].fixed_ns * rate_of_one;
            fastest = rate_of_one > fastest ? rate_of_one : fastest;
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
    while (found.enough.samples > bounds->total &&
           (found.enough.time - found.few.time) * fastest > 0.5) {
        double middle = found.few.time + 0.5 * (found.enough.time - found.few.time);
        moment made = at(shares, count, middle, bounds);
        *(made.samples < bounds->total ? &found.few : &found.enough) = made;
    }
    return found;
}

/* The double before or after one above 0. */
static double neighbour(double time, int64_t way)
{
    int64_t bits;
    memcpy(&bits, &time, sizeof bits);
    bits += way;
    memcpy(&time, &bits, sizeof time);
    return time;
}

/* The first double in which a rank has done so many, > 0. */
static double first_time_of(const gs_share *share, int64_t samples)
{
    double time = share->fixed_ns + share->per_sample_ns * (double)samples;
    while (done_by(share, time) < (double)samples) {
        time = neighbour(time, 1);
    }
    while (done_by(share, neighbour(time, -1)) >= (double)samples) {
        time = neighbour(time, -1);
    }
    return time;
}

/* The first double in which all have done the total: that of the last sample that is needed of
 * those between the two moments. Sets next_ns: of who does one in between, when; of others 0. */
static double end_of_total(gs_share *shares, uint32_t count, const search *found,
                           const gs_share_bounds *bounds)
{
    double first = found->enough.time, last = found->few.time;
    int64_t done = 0; /* in the first moment; what found says of time 0 is no number of samples */
    for (uint32_t i = 0; i < count; i++) {
        int64_t before = done_in(&shares[i], found->few.time, bounds);
        int64_t after = done_in(&shares[i], found->enough.time, bounds);
        done += before;
        shares[i].next_ns = 0.0;
        if (after > before) {
            double next = first_time_of(&shares[i], after);
            shares[i].next_ns = next;
            first = next < first ? next : first;
            last = next > last ? next : last;
        }
    }
    while (first < last) { /* it is one of [first, last] */
        double middle = first + 0.5 * (last - first);
        middle = middle < last ? middle : first;
        double below = first, above = last;
        int64_t by_then = done;
        for (uint32_t i = 0; i < count; i++) {
            double next = shares[i].next_ns;
            if (next > middle) {
                above = next < above ? next : above;
            } else if (next > 0.0) {
                by_then++;
                below = next > below ? next : below;
            }
        }
        if (by_then < bounds->total) {
            first = above;
        } else {
            last = below;
        }
    }
    return last;
}

void gs_share_out(gs_share *shares, uint32_t count, const gs_share_bounds *bounds)
{
    search found = between_few_and_enough(shares, count, bounds);
    if (found.enough.samples > bounds->total) {
        double end = end_of_total(shares, count, &found, bounds);
        found.few.time = neighbour(end, -1);
        found.enough = at(shares, count, end, bounds);
    }
    /* Too many are done by those that end at that very time: the last ones give back. */
    int64_t over = found.enough.samples - bounds->total;
    for (uint32_t i = count; i-- > 0;) {
        int64_t most = done_in(&shares[i], found.enough.time, bounds);
        int64_t least = over > 0 ? done_in(&shares[i], found.few.time, bounds) : most;
        int64_t less = most - least < over ? most - least : over;
        shares[i].samples = most - less;
        over -= less;
    }
    GS_ASSERT(over == 0);
}
