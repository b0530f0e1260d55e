/* Shares of samples: whole numbers, a fixed sum, and no longer than the best there is. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/shares.h"

#include <math.h>

enum { RANKS_MAX = 12 };

/* A rank that takes fixed + slope b, timed at two sizes: fitted exactly, but for rounding. */
static gs_share known(double fixed, double slope)
{
    gs_share share = {.samples = 0};
    for (int64_t samples = 20; samples <= 40; samples += 20) {
        share.samples = samples;
        gs_share_timed(&share, (int64_t)(fixed + slope * (double)samples), 0.9);
    }
    return share;
}

static double time_of(const gs_share *share, int64_t samples)
{
    return share->fixed_ns + share->per_sample_ns * (double)samples;
}

Test(shares, an_affine_time_is_fitted)
{
    gs_share share = known(5e6, 2e5);
    cr_expect_float_eq(share.fixed_ns, 5e6, 1.0);
    cr_expect_float_eq(share.per_sample_ns, 2e5, 0.1);
}

/* One size says nothing of a fixed part; a slope that falls, as noise may show it, is not believed:
 * a tenth of the mean 9e6 / 30 is left. */
Test(shares, a_fit_stays_within_reason)
{
    gs_share share = {.samples = 32};
    gs_share_timed(&share, 6400000, 0.9);
    gs_share_timed(&share, 6400000, 0.9);
    cr_expect_float_eq(share.fixed_ns, 0.0, 1e-6);
    cr_expect_float_eq(share.per_sample_ns, 2e5, 1e-6);
    share = (gs_share){.samples = 20};
    gs_share_timed(&share, 10000000, 1.0);
    share.samples = 40;
    gs_share_timed(&share, 8000000, 1.0);
    cr_expect_float_eq(share.per_sample_ns, 3e4, 1e-6);
    cr_expect_float_eq(share.fixed_ns, 9e6 - 30 * 3e4, 1e-3);
}

/* 8 ranks of batch 32, one 1.25 times as slow: all equal would be 256 / 7.8 = 32.82 and 26.26. In
 * the time of 33 fast ones the slow one does 26; one of 257 is too many. */
Test(shares, one_slow_rank_takes_less)
{
    gs_share shares[8];
    for (int i = 0; i < 8; i++) {
        shares[i] = known(0.0, i == 3 ? 2.5e5 : 2e5);
    }
    gs_share_out(shares, 8, &(gs_share_bounds){.total = 256, .least = 1, .most = 128});
    int64_t sum = 0;
    for (int i = 0; i < 8; i++) {
        sum += shares[i].samples;
        cr_expect(i == 3 || shares[i].samples >= 32);
        cr_expect_leq(shares[i].samples, 33);
    }
    cr_expect_eq(sum, 256);
    cr_expect_geq(shares[3].samples, 25);
    cr_expect_leq(shares[3].samples, 26);
}

/* Nobody could be given one sample less than the longest has, because the others cannot take one
 * more without lasting as long: the sum is kept and the longest time is the least there is. */
Test(shares, keep_their_sum_and_their_bounds_and_are_optimal_for_1000_sets_of_speeds)
{
    gs_rng_key key = {11, GS_RNG_TEST, 0};
    for (uint64_t set = 0; set < 1000; set++) {
        uint32_t count = 2 + (uint32_t)(gs_rng_bits(key, set, 0) % (RANKS_MAX - 1));
        int64_t batch = 1 + (int64_t)(gs_rng_bits(key, set, 1) % 64);
        gs_share_bounds bounds = {.total = count * batch,
                                  .least = (int64_t)(set % 2),
                                  .most = batch * (int64_t)(1 + set % 5)};
        gs_share shares[RANKS_MAX];
        for (uint32_t i = 0; i < count; i++) {
            double slope = 1e4 * exp(4.0 * gs_rng_uniform(key, set, 10 + i));
            shares[i] = known(2e6 * gs_rng_uniform(key, set, 50 + i), slope);
        }
        gs_share_out(shares, count, &bounds);
        int64_t sum = 0;
        double longest = 0.0, least_more = (double)INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            int64_t samples = shares[i].samples;
            cr_assert(samples >= bounds.least && samples <= bounds.most);
            sum += samples;
            double time = samples > bounds.least ? time_of(&shares[i], samples) : 0.0;
            longest = time > longest ? time : longest;
            if (samples < bounds.most) {
                double more = time_of(&shares[i], samples + 1);
                least_more = more < least_more ? more : least_more;
            }
        }
        cr_assert_eq(sum, bounds.total, "set %llu", (unsigned long long)set);
        cr_assert(least_more >= longest * (1.0 - 1e-12), "set %llu: %.17g before %.17g",
                  (unsigned long long)set, least_more, longest);
    }
}

/* The definition, and nothing of the search for it: T is the first double in which all do the total
 * or more, found by halving [0, 2^k] until there is no double between the ends; what is over there
 * is given back by the last ranks that do more than in the double before T. */
static int64_t done_in(const gs_share *share, double time, const gs_share_bounds *bounds)
{
    double samples = floor((time - share->fixed_ns) / share->per_sample_ns);
    samples = fmin(fmax(samples, (double)bounds->least), (double)bounds->most);
    return (int64_t)samples;
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

static void share_out_by_halving(const gs_share *shares, uint32_t count,
                                 const gs_share_bounds *bounds, int64_t *out)
{
    double before = 0.0, enough = 1.0;
    while (all_done_in(shares, count, enough, bounds) < bounds->total) {
        enough *= 2.0;
    }
    while (nextafter(before, enough) < enough) {
        double middle = before + 0.5 * (enough - before);
        if (all_done_in(shares, count, middle, bounds) < bounds->total) {
            before = middle;
        } else {
            enough = middle;
        }
    }
    int64_t over = all_done_in(shares, count, enough, bounds) - bounds->total;
    for (uint32_t i = count; i-- > 0;) {
        int64_t most = done_in(&shares[i], enough, bounds);
        int64_t less = most - done_in(&shares[i], before, bounds);
        less = less < over ? less : over;
        out[i] = most - less;
        over -= less;
    }
}

/* Speeds that are equal, or multiples of each other, so that samples of several ranks end in the
 * very same double, and speeds that are neither; bounds that hold some ranks, and all of them. */
Test(shares, are_to_the_last_sample_those_of_a_search_by_halving_for_2000_sets)
{
    gs_rng_key key = {17, GS_RNG_TEST, 0};
    for (uint64_t set = 0; set < 2000; set++) {
        uint32_t count = 1 + (uint32_t)(gs_rng_bits(key, set, 0) % RANKS_MAX);
        int64_t batch = 1 + (int64_t)(gs_rng_bits(key, set, 1) % 64);
        gs_share_bounds bounds = {.total = count * batch,
                                  .least = (int64_t)(gs_rng_bits(key, set, 2) % 2),
                                  .most = batch * (int64_t)(1 + gs_rng_bits(key, set, 3) % 4)};
        gs_share shares[RANKS_MAX];
        for (uint32_t i = 0; i < count; i++) {
            uint64_t speed = gs_rng_bits(key, set, 10 + i) % 3;
            switch (set % 3) {
            case 0: /* one size only: no fixed part, and times are 1, 2 or 3 times each other */
                shares[i] = (gs_share){.samples = 32};
                gs_share_timed(&shares[i], (int64_t)(1 + speed) * 3200000, 0.9);
                break;
            case 1:
                shares[i] = known(1e6, 1e5 * (double)(1 + speed));
                break;
            default:
                shares[i] = known(2e6 * gs_rng_uniform(key, set, 50 + i),
                                  1e4 * exp(4.0 * gs_rng_uniform(key, set, 30 + i)));
            }
        }
        int64_t wanted[RANKS_MAX];
        share_out_by_halving(shares, count, &bounds, wanted);
        gs_share_out(shares, count, &bounds);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(shares[i].samples, wanted[i], "set %llu, rank %u: %lld, not %lld",
                         (unsigned long long)set, i, (long long)shares[i].samples,
                         (long long)wanted[i]);
        }
    }
}

Test(shares, a_rank_without_samples_is_not_timed)
{
    gs_share share = known(0.0, 1e5);
    double before = share.weight;
    share.samples = 0;
    gs_share_timed(&share, 17, 0.9);
    cr_expect_eq(share.weight, before);
}
