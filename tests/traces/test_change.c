/* Verdicts: by hand where they can be, and how often they are wrong or find what was planted. */
#include "tests/support.h"

#include "base/rng.h"
#include "traces/stats/change.h"
#include "traces/stats/holm.h"
#include "traces/stats/power.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>

enum { SEEDS = 10, ROWS_MAX = 8 };

static const gs_change_limit three_percent = {.value = 0.03};

static gs_change measure(const gs_change_sides *sides, gs_change_limit limit)
{
    gs_change change = {0};
    cr_assert_eq(gs_change_measure(sides, limit, 0.05, &change), GS_OK);
    return change;
}

static gs_change_verdict judge(const gs_change *change)
{
    return gs_change_judge(change, change->p, 0.05, 1);
}

/* ---------------------------------------------------------------- by hand */

/* Base 100 to 109, candidate 10 % more each: every log ratio is log 1.1, no spread, all signs
 * equal: p = 2 / 2^10; against the limit of 3 % too. */
Test(change, ten_percent_more_everywhere_is_worse)
{
    double base[SEEDS];
    double candidate[SEEDS];
    for (int i = 0; i < SEEDS; i++) {
        base[i] = 100.0 + i;
        candidate[i] = 1.1 * base[i];
    }
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = SEEDS,
                             .candidate_count = SEEDS,
                             .paired = true,
                             .lower_is_better = true};
    gs_change change = measure(&sides, three_percent);
    cr_assert(change.of_ratio && !change.identical && change.count == SEEDS);
    cr_assert_float_eq(change.effect, log(1.1), 1e-12);
    cr_assert_float_eq(change.limit, log(1.03), 1e-12);
    cr_assert_float_eq(change.p, 1.0 / 512.0, 1e-15);
    cr_assert_eq(judge(&change).word, GS_CHANGE_WORSE);
    /* Among 26 rows ten seeds cannot tell: 26 * 2 / 2^10 = 0.0508; eleven can. */
    gs_change_verdict among = gs_change_judge(&change, fmin(1.0, 26.0 * change.p), 0.05, 26);
    cr_assert(among.word == GS_CHANGE_INCONCLUSIVE && among.needed == 11);
    sides.lower_is_better = false;
    change = measure(&sides, three_percent);
    cr_assert_eq(judge(&change).word, GS_CHANGE_BETTER);
    cr_assert_float_eq(change.limit, -log(0.97), 1e-12);
}

Test(change, exact_values_are_judged_by_size_alone)
{
    const double base[] = {100.0, 200.0};
    const double less[] = {102.0, 204.0};
    const double more[] = {104.0, 208.0};
    const double zero[] = {0.0, 200.0};
    gs_change_sides sides = {.base = base,
                             .candidate = base,
                             .base_count = 2,
                             .candidate_count = 2,
                             .paired = true,
                             .exact = true,
                             .lower_is_better = true};
    gs_change change = measure(&sides, three_percent);
    cr_assert(change.identical && judge(&change).word == GS_CHANGE_SAME);
    sides.candidate = less;
    change = measure(&sides, three_percent);
    cr_assert(!change.identical && judge(&change).word == GS_CHANGE_SAME);
    cr_assert(isnan(change.p) && isnan(change.low));
    sides.candidate = more;
    change = measure(&sides, three_percent);
    cr_assert(judge(&change).word == GS_CHANGE_WORSE);
    sides.base = more;
    sides.candidate = base;
    change = measure(&sides, three_percent);
    cr_assert(judge(&change).word == GS_CHANGE_BETTER);
    /* A value of 0 has no ratio: from 0 and 200 to 100 and 200 is 50 more, 3 % of 100 are 3. */
    sides.base = zero;
    change = measure(&sides, three_percent);
    cr_assert(!change.of_ratio && change.effect == 50.0);
    cr_assert_float_eq(change.limit, 3.0, 1e-12);
    cr_assert(judge(&change).word == GS_CHANGE_WORSE);
}

/* An accuracy may drop by 0.002; here by 0.001 in half of the seeds, 0.0012 in the others. */
Test(change, a_limit_may_be_an_amount)
{
    double base[SEEDS];
    double candidate[SEEDS];
    for (int i = 0; i < SEEDS; i++) {
        base[i] = 0.9 + 0.01 * i;
        candidate[i] = base[i] - (i % 2 == 0 ? 0.001 : 0.0012);
    }
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = SEEDS,
                             .candidate_count = SEEDS,
                             .paired = true};
    gs_change change = measure(&sides, (gs_change_limit){.is_amount = true, .value = 0.002});
    cr_assert(!change.of_ratio);
    cr_assert_float_eq(change.effect, -0.0011, 1e-12);
    cr_assert_eq(judge(&change).word, GS_CHANGE_SAME);
    change = measure(&sides, (gs_change_limit){.is_amount = true, .value = 0.0005});
    cr_assert_eq(judge(&change).word, GS_CHANGE_WORSE);
}

/* All of what is better when higher may be lost: nothing is worse than that. */
Test(change, a_share_of_everything_allows_anything)
{
    const double base[] = {100.0, 200.0};
    const double candidate[] = {1.0, 2.0};
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = 2,
                             .candidate_count = 2,
                             .paired = true,
                             .exact = true};
    gs_change change = measure(&sides, (gs_change_limit){.value = 1.5});
    cr_assert_eq(judge(&change).word, GS_CHANGE_SAME);
    change = measure(&sides, (gs_change_limit){.value = 0.98});
    cr_assert_eq(judge(&change).word, GS_CHANGE_WORSE); /* 99 % are lost */
}

Test(change, few_seeds_are_inconclusive_unless_nothing_changed)
{
    const double base[] = {1.0, 2.0, 3.0, 4.0, 5.0};
    const double candidate[] = {2.0, 4.0, 6.0, 8.0, 10.0};
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = 5,
                             .candidate_count = 5,
                             .paired = true,
                             .lower_is_better = true};
    gs_change change = measure(&sides, three_percent);
    gs_change_verdict verdict = judge(&change);
    cr_assert(verdict.word == GS_CHANGE_INCONCLUSIVE && verdict.needed == 6);
    sides.candidate = base;
    change = measure(&sides, three_percent);
    verdict = judge(&change);
    cr_assert(change.identical && verdict.word == GS_CHANGE_SAME && verdict.needed == 0);
    sides.candidate = candidate;
    sides.paired = false;
    sides.base_count = sides.candidate_count = 3;
    change = measure(&sides, three_percent);
    verdict = judge(&change);
    cr_assert(verdict.word == GS_CHANGE_INCONCLUSIVE &&
              verdict.needed == 4); /* 2 / C(6, 3) = 0.1 */
}

/* Ten of ten reach the target, then two of ten: sign flips of eight ones, 2 / 2^8, twice. Times of
 * those two are no longer than before. */
Test(change, fewer_that_reach_the_target_is_worse)
{
    double base[SEEDS];
    double candidate[SEEDS];
    for (int i = 0; i < SEEDS; i++) {
        base[i] = 50.0 + i;
        candidate[i] = i < 2 ? base[i] : HUGE_VAL;
    }
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = SEEDS,
                             .candidate_count = SEEDS,
                             .paired = true,
                             .lower_is_better = true,
                             .horizon = 60.0};
    gs_change change = measure(&sides, three_percent);
    cr_assert(change.censored && change.tests == 2);
    cr_assert(change.reached_base == 10 && change.reached_candidate == 2);
    cr_assert_leq(change.p, 2.0 * 2.0 / 256.0);
    cr_assert_eq(judge(&change).word, GS_CHANGE_WORSE);
    /* the other way round */
    sides.base = candidate;
    sides.candidate = base;
    change = measure(&sides, three_percent);
    cr_assert_eq(judge(&change).word, GS_CHANGE_BETTER);
}

/* As many reach it, later: restricted to 100 the mean of log ratios is that of 60 against 50 in
 * eight pairs and of nothing in two, 0.8 log 1.2. */
Test(change, times_are_restricted_to_the_horizon)
{
    double base[SEEDS];
    double candidate[SEEDS];
    for (int i = 0; i < SEEDS; i++) {
        base[i] = i < 8 ? 50.0 : HUGE_VAL;
        candidate[i] = i < 8 ? 60.0 : HUGE_VAL;
    }
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = SEEDS,
                             .candidate_count = SEEDS,
                             .paired = true,
                             .lower_is_better = true,
                             .horizon = 100.0};
    gs_change change = measure(&sides, three_percent);
    cr_assert(change.tests == 1 && !change.by_reach);
    cr_assert_float_eq(change.effect, 0.8 * log(1.2), 1e-12);
    cr_assert_eq(judge(&change).word, GS_CHANGE_WORSE);
}

/* ---------------------------------------------------------------- by chance */

typedef enum law { PAIRED, UNPAIRED, CENSORED, LAW_COUNT } law;

static double uniform(uint32_t entity, uint32_t trial, uint32_t index)
{
    gs_rng_key key = {.seed = 83, .purpose = GS_RNG_TEST, .entity = entity};
    return gs_rng_uniform(key, trial, index);
}

/* Ten seeds of a side, each with a part that the other side has too and one of its own, whose
 * logarithm has a spread such that ratios of a pair have `spread`; skewed where unpaired. */
static void draw(law of, uint32_t trial, uint32_t side, double shift, double spread, double *out)
{
    for (uint32_t i = 0; i < SEEDS; i++) {
        double u = uniform(1 + side, trial, i);
        double own = of == UNPAIRED ? -log(u) : gsl_cdf_ugaussian_Pinv(u);
        double shared = of == UNPAIRED ? 0.0 : gsl_cdf_ugaussian_Pinv(uniform(0, trial, i));
        out[i] = 100.0 * exp(0.3 * shared + spread / sqrt(2.0) * own + shift);
        out[i] = of == CENSORED && out[i] > 120.0 ? HUGE_VAL : out[i];
    }
}

static gs_change drawn_change(law of, uint32_t trial, double shift, double spread,
                              gs_change_limit limit)
{
    double base[SEEDS];
    double candidate[SEEDS];
    draw(of, trial, 0, 0.0, spread, base);
    draw(of, trial, 1, shift, spread, candidate);
    gs_change_sides sides = {.base = base,
                             .candidate = candidate,
                             .base_count = SEEDS,
                             .candidate_count = SEEDS,
                             .paired = of != UNPAIRED,
                             .lower_is_better = true,
                             .horizon = 120.0};
    return measure(&sides, limit);
}

/* At alpha = 0.05 and without a limit, 1,000 comparisons of alike sides may err 50 times, and do so
 * at most 68 times (50 + 2.6 standard errors of 6.9). */
Test(change, of_a_thousand_alike_at_most_68_are_called_changed)
{
    static const char *const names[] = {"paired", "unpaired", "censored"};
    for (int of = 0; of < LAW_COUNT; of++) {
        uint32_t wrong = 0;
        for (uint32_t trial = 0; trial < 1000; trial++) {
            gs_change change =
                drawn_change((law)of, trial, 0.0, 0.1, (gs_change_limit){.value = 0.0});
            gs_change_word word = judge(&change).word;
            wrong += word == GS_CHANGE_BETTER || word == GS_CHANGE_WORSE ? 1 : 0;
        }
        printf("%s: %u of 1,000 null comparisons were called changed\n", names[of], wrong);
        cr_assert_leq(wrong, 68, "%s: %u", names[of], wrong);
        cr_assert_gt(wrong, 0);
    }
}

/* Comparisons of eight rows each: with Holm's correction a comparison errs anywhere as rarely: at
 * most 0.05 + 2.6 standard errors of 300 (0.0327). */
Test(change, many_rows_do_not_add_up_to_more_errors)
{
    enum { COMPARISONS = 300 };
    uint32_t wrong = 0;
    uint32_t uncorrected = 0;
    for (uint32_t trial = 0; trial < COMPARISONS; trial++) {
        gs_change rows[ROWS_MAX];
        double p[ROWS_MAX];
        double adjusted[ROWS_MAX];
        for (uint32_t row = 0; row < ROWS_MAX; row++) {
            rows[row] = drawn_change(PAIRED, 2000 + ROWS_MAX * trial + row, 0.0, 0.1,
                                     (gs_change_limit){.value = 0.0});
            p[row] = rows[row].p;
        }
        gs_holm(p, ROWS_MAX, adjusted);
        bool any = false;
        bool any_raw = false;
        for (uint32_t row = 0; row < ROWS_MAX; row++) {
            gs_change_word word = gs_change_judge(&rows[row], adjusted[row], 0.05, ROWS_MAX).word;
            any = any || word == GS_CHANGE_WORSE || word == GS_CHANGE_BETTER;
            any_raw = any_raw || p[row] <= 0.05;
        }
        wrong += any ? 1 : 0;
        uncorrected += any_raw ? 1 : 0;
    }
    printf("of %d comparisons of %d alike rows %u called one changed; without Holm %u\n",
           COMPARISONS, ROWS_MAX, wrong, uncorrected);
    cr_assert_leq(wrong, (0.05 + 0.0327) * COMPARISONS);
    cr_assert_gt(uncorrected, 0.2 * COMPARISONS); /* 1 - 0.95^8 = 0.34 */
}

/* A change of twice the limit, (1.03)^2 - 1 = 6.09 %, is log 1.03 beyond it. Spreads are chosen so
 * that the stated power is 60, 80 and 95 %; as many are called worse, within four standard errors
 * of 1,000 and the loss of sign flips against Student's test (2 points). */
Test(change, twice_the_limit_is_found_with_the_stated_power)
{
    const double powers[] = {0.6, 0.8, 0.95};
    for (int i = 0; i < 3; i++) {
        double beyond = log(1.03);
        double spread = beyond / gs_detectable_shift(SEEDS, 1.0, 0.05, powers[i]);
        cr_assert_float_eq(gs_paired_power(SEEDS, beyond, spread, 0.05), powers[i], 1e-6);
        uint32_t found = 0;
        double detectable = 0.0;
        for (uint32_t trial = 0; trial < 1000; trial++) {
            gs_change change =
                drawn_change(PAIRED, 9000 + trial, 2.0 * beyond, spread, three_percent);
            gs_change_verdict verdict = judge(&change);
            found += verdict.word == GS_CHANGE_WORSE ? 1 : 0;
            detectable += verdict.detectable / 1000.0;
        }
        double error = sqrt(powers[i] * (1.0 - powers[i]) / 1000.0);
        printf("stated power %.0f %%: %.1f %% of planted changes found; detectable: +%.1f %%\n",
               100.0 * powers[i], 0.1 * found, 100.0 * expm1(detectable));
        cr_assert_geq(0.001 * found, powers[i] - 4.0 * error - 0.02);
        cr_assert_leq(0.001 * found, powers[i] + 4.0 * error);
    }
}

/* 10 % more where 3 % are allowed, spread 4 %: called worse always, and 10 % less is better. */
Test(change, unpaired_changes_are_found)
{
    uint32_t worse = 0;
    uint32_t better = 0;
    for (uint32_t trial = 0; trial < 200; trial++) {
        gs_change more = drawn_change(UNPAIRED, trial, log(1.1), 0.02, three_percent);
        gs_change less = drawn_change(UNPAIRED, trial, log(0.9), 0.02, three_percent);
        worse += judge(&more).word == GS_CHANGE_WORSE ? 1 : 0;
        better += judge(&less).word == GS_CHANGE_BETTER ? 1 : 0;
    }
    cr_assert(worse > 190 && better > 190, "%u %u", worse, better);
}
