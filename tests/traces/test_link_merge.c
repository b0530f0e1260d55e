/* Links of pairs become one class, and the ends that differ are found. */
#include "traces/link_merge.h"

#include <criterion/criterion.h>

enum { HOSTS = 5, PAIRS = HOSTS * (HOSTS - 1) };

/* Every pair is as fast as the slower of its two ends, less up to 2 %. */
static void make_pairs(const double *up, const double *down, gs_pair_rate out[PAIRS])
{
    uint32_t count = 0;
    for (uint32_t from = 0; from < HOSTS; from++) {
        for (uint32_t to = 0; to < HOSTS; to++) {
            if (from != to) {
                double rate = up[from] < down[to] ? up[from] : down[to];
                rate *= 1.0 - 0.001 * (count % 20);
                out[count++] = (gs_pair_rate){from, to, {rate, 0.995 * rate, 1.005 * rate}};
            }
        }
    }
}

Test(link_merge, equal_hosts_are_one_class)
{
    static const double rate[HOSTS] = {200e6, 200e6, 200e6, 200e6, 200e6};
    gs_pair_rate pairs[PAIRS];
    gs_estimate rates[HOSTS];
    double scales[HOSTS];
    make_pairs(rate, rate, pairs);
    gs_end_rates(pairs, PAIRS, HOSTS, rates);
    double usual = gs_end_scales(rates, HOSTS, scales);
    cr_expect_float_eq(usual, 200e6, 0.02 * 200e6);
    for (uint32_t i = 0; i < HOSTS; i++) {
        cr_expect_float_eq(scales[i], 1.0, 0.0, "host %u: %g", i, scales[i]);
    }
}

Test(link_merge, a_slow_host_is_found_though_all_its_pairs_are_slow)
{
    static const double rate[HOSTS] = {200e6, 50e6, 200e6, 200e6, 200e6};
    gs_pair_rate pairs[PAIRS];
    gs_estimate rates[HOSTS];
    double scales[HOSTS];
    make_pairs(rate, rate, pairs);
    gs_end_rates(pairs, PAIRS, HOSTS, rates);
    (void)gs_end_scales(rates, HOSTS, scales);
    for (uint32_t i = 0; i < HOSTS; i++) {
        cr_expect_float_eq(scales[i], i == 1 ? 0.25 : 1.0, i == 1 ? 0.02 : 0.0, "host %u", i);
    }
}

Test(link_merge, a_host_that_is_slow_in_one_direction_counts_as_slow)
{
    static const double up[HOSTS] = {200e6, 200e6, 200e6, 100e6, 200e6};
    static const double down[HOSTS] = {200e6, 200e6, 200e6, 200e6, 200e6};
    gs_pair_rate pairs[PAIRS];
    gs_estimate rates[HOSTS];
    double scales[HOSTS];
    make_pairs(up, down, pairs);
    gs_end_rates(pairs, PAIRS, HOSTS, rates);
    (void)gs_end_scales(rates, HOSTS, scales);
    cr_expect_float_eq(scales[3], 0.5, 0.02);
    cr_expect_float_eq(scales[0], 1.0, 0.0);
}

Test(link_merge, hosts_that_are_slow_alike_have_one_scale)
{
    static const double rate[HOSTS] = {200e6, 50e6, 200e6, 50e6, 200e6};
    gs_pair_rate pairs[PAIRS];
    gs_estimate rates[HOSTS];
    double scales[HOSTS];
    make_pairs(rate, rate, pairs);
    gs_end_rates(pairs, PAIRS, HOSTS, rates);
    (void)gs_end_scales(rates, HOSTS, scales);
    cr_expect_float_eq(scales[1], scales[3], 0.0);
    cr_expect_float_eq(scales[1], 0.25, 0.02);
}

Test(link_merge, rates_whose_intervals_overlap_are_alike_however_far_they_are)
{
    static const gs_estimate sure[] = {{200e6, 199e6, 201e6}, {180e6, 179e6, 181e6}};
    static const gs_estimate unsure[] = {{200e6, 150e6, 250e6}, {180e6, 160e6, 210e6}};
    double scales[2];
    cr_expect_not(gs_rates_are_alike(sure[0], sure[1]));
    cr_expect(gs_rates_are_alike(unsure[0], unsure[1]));
    (void)gs_end_scales(sure, 2, scales); /* the lower one of two is the usual one */
    cr_expect_float_eq(scales[0], 200.0 / 180.0, 1e-12);
    (void)gs_end_scales(unsure, 2, scales);
    cr_expect_float_eq(scales[0], 1.0, 0.0);
}

Test(link_merge, who_was_in_no_pair_is_taken_to_be_as_usual)
{
    static const gs_pair_rate pairs[] = {{0, 1, {1e9, 1e9, 1e9}}, {1, 0, {1e9, 1e9, 1e9}}};
    gs_estimate rates[3];
    double scales[3];
    gs_end_rates(pairs, 2, 3, rates);
    double usual = gs_end_scales(rates, 3, scales);
    cr_expect_float_eq(rates[2].value, 0.0, 0.0);
    cr_expect_float_eq(scales[2], 1.0, 0.0);
    cr_expect_float_eq(usual, 1e9, 0.0);
    gs_end_rates(NULL, 0, 3, rates);
    cr_expect_float_eq(gs_end_scales(rates, 3, scales), 0.0, 0.0);
    cr_expect_float_eq(scales[0], 1.0, 0.0);
}
