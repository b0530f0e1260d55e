/* Noise: each law against its formulas, maxima of many ranks against order statistics, stragglers
 * by hand. Sampled values have to lie within 4 standard errors; seeds are fixed. */
#include "traces/noise.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

static const gs_rng_key test_key = {.seed = 90210, .purpose = GS_RNG_TEST, .entity = 3};

static gs_noise_sampler sampler(gs_noise_law law)
{
    gs_noise_sampler made;
    gs_error err = {.code = GS_OK};
    cr_assert_eq(gs_noise_sampler_init(&made, &law, "noise.test", &err), GS_OK, "%s", err.text);
    return made;
}

static void expect_near(double value, double expected, double relative)
{
    cr_assert(fabs(value - expected) <= relative * fabs(expected), "%.17g, expected %.17g", value,
              expected);
}

/* ------------------------------------------------------------------ laws */

Test(noise, no_law_and_no_spread_are_exactly_one)
{
    gs_noise_sampler none = sampler((gs_noise_law){.law = GS_LAW_NONE, .cv = 3});
    gs_noise_sampler flat = sampler((gs_noise_law){.law = GS_LAW_GAMMA, .cv = 0});
    cr_assert_eq(gs_noise_draw(&none, test_key, 5, 0), 1.0);
    cr_assert_eq(gs_noise_draw(&flat, test_key, 5, 0), 1.0);
    cr_assert_eq(gs_noise_quantile(&none, 0.9), 1.0);
}

Test(noise, quantiles_equal_closed_forms)
{
    /* cv 1/2: variance of the log ln(5/4), its mean minus half of it. */
    gs_noise_sampler lognormal = sampler((gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5});
    expect_near(gs_noise_quantile(&lognormal, 0.5), 1 / sqrt(1.25), 1e-14);
    /* Phi(1) = 0.8413447460685429 */
    expect_near(gs_noise_quantile(&lognormal, 0.8413447460685429),
                exp(-0.5 * log(1.25) + sqrt(log(1.25))), 1e-13);
    /* Pareto, a = 3: cv^2 = 1/(3·1), least 2/3, (1 - u)^(-1/3) = 2 at u = 7/8. */
    gs_noise_sampler pareto = sampler((gs_noise_law){.law = GS_LAW_PARETO, .cv = sqrt(1.0 / 3)});
    expect_near(gs_noise_quantile(&pareto, 0.875), 4.0 / 3, 1e-14);
    /* Shifted by 0.3, the median of the rest is 0.7 ln 2; cv says the same as shift. */
    gs_noise_sampler shifted =
        sampler((gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL, .shift = 0.3});
    expect_near(gs_noise_quantile(&shifted, 0.5), 0.3 + 0.7 * log(2), 1e-14);
    shifted = sampler((gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 0.7});
    expect_near(gs_noise_quantile(&shifted, 0.5), 0.3 + 0.7 * log(2), 1e-14);
    /* Weibull of shape 2 (Rayleigh): cv^2 = 4/pi - 1, mean scale · sqrt(pi)/2. */
    double pi = acos(-1.0);
    gs_noise_sampler weibull =
        sampler((gs_noise_law){.law = GS_LAW_WEIBULL, .cv = sqrt(4 / pi - 1)});
    expect_near(gs_noise_quantile(&weibull, 0.75), 2 / sqrt(pi) * sqrt(log(4)), 1e-12);
}

Test(noise, laws_of_cv_one_are_the_exponential_where_they_should)
{
    gs_noise_sampler gamma = sampler((gs_noise_law){.law = GS_LAW_GAMMA, .cv = 1});
    gs_noise_sampler weibull = sampler((gs_noise_law){.law = GS_LAW_WEIBULL, .cv = 1});
    gs_noise_sampler plain = sampler((gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL});
    const double uniforms[] = {1e-9, 0.003, 0.4, 0.77, 0.9999, 1 - 0x1p-40};
    for (size_t i = 0; i < sizeof uniforms / sizeof uniforms[0]; i++) {
        double expected = -log1p(-uniforms[i]);
        expect_near(gs_noise_quantile(&gamma, uniforms[i]), expected, 1e-12);
        expect_near(gs_noise_quantile(&weibull, uniforms[i]), expected, 1e-11);
        expect_near(gs_noise_quantile(&plain, uniforms[i]), expected, 1e-15);
    }
}

Test(noise, gamma_inverts_its_distribution_over_its_whole_range)
{
    for (double cv = 0.001; cv <= 10.0; cv *= 1.19) {
        gs_noise_sampler gamma = sampler((gs_noise_law){.law = GS_LAW_GAMMA, .cv = cv});
        double shape = 1 / (cv * cv);
        double before = 0.0;
        for (int32_t i = -108; i <= 106; i++) { /* from 2^-54 up, and from 1 - 2^-53 down */
            double uniform = i < 0 ? exp2(0.5 * i) : 1.0 - exp2(-1.0 - 0.5 * (i - 2));
            if (uniform <= 0.0 || uniform >= 1.0 || (i >= 0 && i < 4)) {
                continue;
            }
            double factor = gs_noise_quantile(&gamma, uniform);
            cr_assert(isfinite(factor) && factor >= before * (1 - 1e-12));
            before = factor;
            if (shape > 1000.0 || factor < 1e-290) {
                continue; /* GSL's distribution fails there; see the moments */
            }
            double tail = uniform < 0.5 ? gsl_cdf_gamma_P(factor, shape, 1 / shape)
                                        : gsl_cdf_gamma_Q(factor, shape, 1 / shape);
            expect_near(tail, uniform < 0.5 ? uniform : 1.0 - uniform, 1e-9);
        }
    }
}

Test(noise, weibull_has_the_cv_that_was_asked_for)
{
    /* By its definition, from the sampler's own shape. */
    for (double cv = 0.001; cv <= 10.0; cv *= 1.7) {
        gs_noise_sampler weibull = sampler((gs_noise_law){.law = GS_LAW_WEIBULL, .cv = cv});
        double first = exp(lgamma(1.0 + weibull.shape));
        double ratio = exp(lgamma(1.0 + 2.0 * weibull.shape)) / (first * first) - 1.0;
        expect_near(sqrt(ratio), cv, 1e-6);
        expect_near(weibull.scale * first, 1.0, 1e-12);
    }
}

Test(noise, a_draw_is_the_quantile_of_one_uniform)
{
    const gs_noise_law laws[] = {
        {.law = GS_LAW_LOGNORMAL, .cv = 0.3}, {.law = GS_LAW_GAMMA, .cv = 0.3},
        {.law = GS_LAW_PARETO, .cv = 0.3},    {.law = GS_LAW_WEIBULL, .cv = 0.3},
        {.law = GS_LAW_SHIFTED_EXPONENTIAL},
    };
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++) {
        gs_noise_sampler made = sampler(laws[i]);
        for (uint32_t index = 0; index < 100; index++) {
            double uniform = gs_rng_uniform(test_key, 7, index);
            cr_assert_eq(gs_noise_draw(&made, test_key, 7, index),
                         gs_noise_quantile(&made, uniform));
        }
    }
}

Test(noise, an_empirical_law_gives_each_sample_its_share)
{
    const double samples[] = {0.5, 0.75, 1.25, 1.5};
    gs_noise_sampler made =
        sampler((gs_noise_law){.law = GS_LAW_EMPIRICAL, .samples = samples, .sample_count = 4});
    cr_assert_eq(gs_noise_quantile(&made, 0x1p-54), 0.5);
    cr_assert_eq(gs_noise_quantile(&made, 0.2499), 0.5);
    cr_assert_eq(gs_noise_quantile(&made, 0.25), 0.75);
    cr_assert_eq(gs_noise_quantile(&made, 0.74), 1.25);
    cr_assert_eq(gs_noise_quantile(&made, 1 - 0x1p-53), 1.5);
}

Test(noise, what_is_not_allowed_is_refused_with_place_and_value)
{
    const double bad_samples[] = {1.0, -0.25};
    const struct {
        gs_noise_law law;
        const char *says;
    } cases[] = {
        {{.law = GS_LAW_LOGNORMAL, .cv = -0.1}, "noise.x.cv: -0.1"},
        {{.law = GS_LAW_WEIBULL, .cv = 0.0005}, "noise.x.cv: 0.0005"},
        {{.law = GS_LAW_GAMMA, .cv = 10.5}, "noise.x.cv: 10.5"},
        {{.law = GS_LAW_PARETO, .cv = (double)NAN}, "noise.x.cv"},
        {{.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 1.2}, "noise.x.cv: 1.2"},
        {{.law = GS_LAW_SHIFTED_EXPONENTIAL, .shift = 1.5}, "noise.x.shift: 1.5"},
        {{.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 0.5, .shift = 0.25}, "cv is 1 - shift"},
        {{.law = GS_LAW_EMPIRICAL}, "at least one sample"},
        {{.law = GS_LAW_EMPIRICAL, .samples = bad_samples, .sample_count = 2}, "sample 1 is -0.25"},
        {{.law = 77, .cv = 0.5}, "77"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gs_noise_sampler made;
        gs_error err = {.code = GS_OK};
        cr_assert_eq(gs_noise_sampler_init(&made, &cases[i].law, "noise.x", &err), GS_EINVAL,
                     "case %zu", i);
        cr_assert_not_null(strstr(err.text, cases[i].says), "case %zu: %s", i, err.text);
    }
    sampler((gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 0.75, .shift = 0.25});
}

/* ------------------------------------------------------------------ moments */

typedef struct moments {
    double count, sum, square, cube, fourth; /* powers of value - 1 */
} moments;

static void add(moments *m, double value)
{
    double x = value - 1.0;
    double xx = x * x;
    m->count += 1.0;
    m->sum += x;
    m->square += xx;
    m->cube += xx * x;
    m->fourth += xx * xx;
}

static void expect_mean(const moments *m, double expected, const char *what)
{
    double mean = m->sum / m->count;
    double error = sqrt((m->square / m->count - mean * mean) / m->count);
    cr_assert(fabs(1.0 + mean - expected) <= 4 * error, "%s: mean %.6f, expected %.6f, error %.6f",
              what, 1.0 + mean, expected, error);
}

static void expect_variance(const moments *m, double expected, const char *what)
{
    double n = m->count;
    double mean = m->sum / n;
    double variance = m->square / n - mean * mean;
    double fourth = m->fourth / n - 4 * mean * m->cube / n + 6 * mean * mean * m->square / n -
                    3 * mean * mean * mean * mean;
    double error = sqrt((fourth - variance * variance) / n);
    cr_assert(fabs(variance - expected) <= 4 * error,
              "%s: variance %.6f, expected %.6f, error %.6f", what, variance, expected, error);
}

Test(noise, every_law_has_mean_one_and_the_variance_asked_for)
{
    const double samples[] = {0.25, 0.5, 0.75, 2.5}; /* variance (9/16 + 1/4 + 1/16 + 9/4)/4 */
    const struct {
        gs_noise_law law;
        double variance;
        const char *name;
    } cases[] = {
        {{.law = GS_LAW_LOGNORMAL, .cv = 0.4}, 0.16, "lognormal"},
        {{.law = GS_LAW_GAMMA, .cv = 0.9}, 0.81, "gamma"},
        {{.law = GS_LAW_GAMMA, .cv = 0.02}, 0.0004, "narrow gamma"},
        {{.law = GS_LAW_SHIFTED_EXPONENTIAL, .shift = 0.65}, 0.1225, "shifted exponential"},
        {{.law = GS_LAW_PARETO, .cv = 0.2}, 0.04, "pareto"}, /* exponent 6.1: a fourth moment */
        {{.law = GS_LAW_WEIBULL, .cv = 0.7}, 0.49, "weibull"},
        {{.law = GS_LAW_EMPIRICAL, .samples = samples, .sample_count = 4}, 0.78125, "empirical"},
    };
    enum { LAWS = sizeof cases / sizeof cases[0], DRAWS = 1000000 };
    gs_noise_sampler samplers[LAWS];
    moments found[LAWS] = {{0}};
    for (uint32_t i = 0; i < LAWS; i++) {
        samplers[i] = sampler(cases[i].law);
    }
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        double uniform = gs_rng_uniform(test_key, draw, 0);
        for (uint32_t i = 0; i < LAWS; i++) {
            add(&found[i], gs_noise_quantile(&samplers[i], uniform));
        }
    }
    for (uint32_t i = 0; i < LAWS; i++) {
        expect_mean(&found[i], 1.0, cases[i].name);
        expect_variance(&found[i], cases[i].variance, cases[i].name);
    }
}

/* ------------------------------------------------------------------ maxima */

enum { SIZES = 5, SIZE_MAX_RANKS = 64, MAXIMA = 1000000, MAXIMA_DRAWS = MAXIMA * SIZE_MAX_RANKS };

static const uint32_t sizes[SIZES] = {4, 8, 16, 32, 64};

/* E max of n standard normals: the integral of x n phi(x) Phi(x)^(n-1), by the trapezoidal rule,
 * which is exact to rounding for such a function. */
static double normal_maximum(uint32_t n)
{
    double sum = 0.0;
    for (int32_t i = -1000; i <= 1000; i++) {
        double x = 0.01 * i;
        double phi = exp(-0.5 * x * x) / sqrt(2 * acos(-1.0));
        sum += 0.01 * x * n * phi * pow(gsl_cdf_ugaussian_P(x), n - 1.0);
    }
    return sum;
}

static double exponential_maximum(uint32_t n)
{
    double sum = 0.0;
    for (uint32_t k = 1; k <= n; k++) {
        sum += 1.0 / k;
    }
    return sum;
}

/* n! G(1 - 1/a) / G(n + 1 - 1/a), for the law with least value 1. */
static double pareto_maximum(uint32_t n, double exponent)
{
    return exp(lgamma(n + 1.0) + lgamma(1.0 - 1.0 / exponent) - lgamma(n + 1.0 - 1.0 / exponent));
}

Test(noise, formulas_of_maxima_give_the_published_values)
{
    const double exponential[] = {2.0833, 2.7179, 3.3807, 4.0585, 4.7439};
    const double normal[] = {1.029, 1.424, 1.766, 2.070, 2.344};
    const double heavy[] = {3.4727, 4.5483, 5.9791}; /* a = 2.5; n = 8, 16, 32 */
    const double lighter[] = {2.7458, 3.4359, 4.3140};
    for (uint32_t i = 0; i < SIZES; i++) {
        cr_assert_float_eq(exponential_maximum(sizes[i]), exponential[i], 0.5001e-4);
        cr_assert_float_eq(normal_maximum(sizes[i]), normal[i], 0.5001e-3);
    }
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_float_eq(pareto_maximum(sizes[i + 1], 2.5), heavy[i], 0.5001e-4);
        cr_assert_float_eq(pareto_maximum(sizes[i + 1], 3.0), lighter[i], 0.5001e-4);
    }
}

typedef struct maxima {
    gs_noise_sampler exponential, normal, heavy, lighter;
    moments exponentials[SIZES], normals[SIZES], heavies[SIZES], lighters[SIZES];
} maxima;

/* The slowest of n ranks has the largest uniform, as laws are inverted: so one uniform goes through
 * the four laws, for the maximum only. */
static void add_maximum(maxima *all, uint32_t size_index, double uniform)
{
    if (all->exponentials[size_index].count >= MAXIMA) {
        return;
    }
    add(&all->exponentials[size_index], gs_noise_quantile(&all->exponential, uniform));
    double log_factor = log(gs_noise_quantile(&all->normal, uniform));
    add(&all->normals[size_index], (log_factor - all->normal.location) / all->normal.scale);
    if (sizes[size_index] >= 8 && sizes[size_index] <= 32) {
        /* From mean 1 back to least value 1. */
        add(&all->heavies[size_index], gs_noise_quantile(&all->heavy, uniform) * (2.5 / 1.5));
        add(&all->lighters[size_index], gs_noise_quantile(&all->lighter, uniform) * (3.0 / 2.0));
    }
}

Test(noise, the_slowest_of_many_ranks_is_as_slow_as_order_statistics_say)
{
    /* A million maxima of each size, out of the same 64 million draws. Pareto: cv^2 = 1/(a(a-2)),
     * which is 0.8 for a = 2.5 and 1/3 for a = 3. */
    static maxima all;
    all.exponential = sampler((gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL});
    all.normal = sampler((gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5});
    all.heavy = sampler((gs_noise_law){.law = GS_LAW_PARETO, .cv = sqrt(0.8)});
    all.lighter = sampler((gs_noise_law){.law = GS_LAW_PARETO, .cv = sqrt(1.0 / 3)});
    double largest[SIZES] = {0};
    for (uint32_t draw = 0; draw < MAXIMA_DRAWS; draw++) {
        double uniform = gs_rng_uniform(test_key, draw, 1);
        largest[0] = uniform > largest[0] ? uniform : largest[0];
        for (uint32_t i = 0; i < SIZES && (draw + 1) % sizes[i] == 0; i++) {
            add_maximum(&all, i, largest[i]);
            if (i + 1 < SIZES) {
                largest[i + 1] = largest[i] > largest[i + 1] ? largest[i] : largest[i + 1];
            }
            largest[i] = 0.0;
        }
    }
    for (uint32_t i = 0; i < SIZES; i++) {
        expect_mean(&all.exponentials[i], exponential_maximum(sizes[i]), "exponential");
        expect_mean(&all.normals[i], normal_maximum(sizes[i]), "normal");
    }
    for (uint32_t i = 1; i < 4; i++) {
        expect_mean(&all.heavies[i], pareto_maximum(sizes[i], 2.5), "pareto 2.5");
        expect_mean(&all.lighters[i], pareto_maximum(sizes[i], 3.0), "pareto 3");
    }
}

/* ------------------------------------------------------------------ factors of ranks */

static gs_arena arena;

static gs_compute_noise *ranks(gs_noise noise, uint32_t rank_count)
{
    gs_compute_noise *made = NULL;
    gs_error err = {.code = GS_OK};
    gs_arena_init(&arena);
    cr_assert_eq(gs_compute_noise_create(&noise, 31337, rank_count, &arena, &made, &err), GS_OK,
                 "%s", err.text);
    return made;
}

/* 300 draws: more than are worked out at once, and no whole number of those. */
Test(noise, many_draws_at_once_are_those_made_one_by_one)
{
    enum { COUNT = 300 };
    const gs_noise_law laws[] = {
        {.law = GS_LAW_NONE},
        {.law = GS_LAW_LOGNORMAL, .cv = 0.7},
        {.law = GS_LAW_GAMMA, .cv = 0.7},
        {.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 0.7},
    };
    uint32_t entities[COUNT];
    uint64_t steps[COUNT];
    double many[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        entities[i] = 7919 * i;
        steps[i] = i / 3;
    }
    for (size_t law = 0; law < sizeof laws / sizeof *laws; law++) {
        gs_noise_sampler of = sampler(laws[law]);
        gs_rng_many draws = {29, GS_RNG_LATENCY, entities, steps, .later = 5};
        gs_noise_draw_many(&of, &draws, COUNT, many);
        for (uint32_t i = 0; i < COUNT; i++) {
            gs_rng_key key = {29, GS_RNG_LATENCY, entities[i]};
            double one = gs_noise_draw(&of, key, steps[i] + 5, 0);
            cr_assert(many[i] <= one && many[i] >= one, "law %zu, draw %u", law, i);
        }
    }
}

Test(noise, other_laws_and_stragglers_leave_compute_draws_alone)
{
    enum { RANKS = 3, STEPS = 50 };
    gs_noise noise = {.compute = {.law = GS_LAW_LOGNORMAL, .cv = 0.2}};
    double factors[RANKS][STEPS];
    gs_compute_noise *plain = ranks(noise, RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (uint32_t step = 0; step < STEPS; step++) {
            factors[rank][step] = gs_compute_noise_factor(plain, rank, step, 10 * step);
        }
    }
    gs_arena_fini(&arena);
    cr_assert_neq(factors[0][0], factors[1][0]);
    cr_assert_neq(factors[0][0], factors[0][1]);
    noise.latency = (gs_noise_law){.law = GS_LAW_PARETO, .cv = 0.7};
    noise.input = (gs_noise_law){.law = GS_LAW_WEIBULL, .cv = 0.7};
    noise.straggler = (gs_straggler){.kind = GS_STRAGGLER_MARKOV,
                                     .rank = -1,
                                     .factor = 2.0,
                                     .mean_up_ns = 40,
                                     .mean_down_ns = 40};
    gs_noise_sampler latency = sampler(noise.latency);
    gs_compute_noise *other = ranks(noise, RANKS);
    uint32_t slow = 0;
    for (uint32_t step = 0; step < STEPS; step++) { /* another order, other draws in between */
        for (uint32_t rank = RANKS; rank-- > 0;) {
            gs_rng_key key = {.seed = 31337, .purpose = GS_RNG_LATENCY, .entity = rank};
            cr_assert_neq(gs_noise_draw(&latency, key, step, 0), factors[rank][step]);
            double factor = gs_compute_noise_factor(other, rank, step, 10 * step);
            bool is_slow = factor == 2.0 * factors[rank][step];
            slow += is_slow;
            cr_assert(is_slow || factor == factors[rank][step]);
        }
    }
    cr_assert_gt(slow, 20);
    cr_assert_lt(slow, RANKS * STEPS - 20);
    gs_arena_fini(&arena);
}

Test(noise, persistent_and_drifting_stragglers_concern_their_rank)
{
    gs_straggler straggler = {.kind = GS_STRAGGLER_PERSISTENT, .rank = 1, .factor = 1.75};
    gs_compute_noise *noise = ranks((gs_noise){.straggler = straggler}, 3);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 0, 5), 1.0);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 0, 5), 1.75);
    cr_assert_eq(gs_compute_noise_factor(noise, 2, 9, 5), 1.0);
    gs_arena_fini(&arena);
    straggler = (gs_straggler){
        .kind = GS_STRAGGLER_DRIFT, .rank = -1, .factor = 1.25, .drift_per_hour = 0.5};
    noise = ranks((gs_noise){.straggler = straggler}, 2);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 0, 0), 1.25);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 1, 90 * 60 * GS_NS_PER_S), 2.0);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 1, 30 * 60 * GS_NS_PER_S), 1.5);
    gs_arena_fini(&arena);
}

static const gs_straggler markov = {.kind = GS_STRAGGLER_MARKOV,
                                    .rank = -1,
                                    .factor = 3.0,
                                    .mean_up_ns = 7000,
                                    .mean_down_ns = 3000};

Test(noise, markov_ranks_are_slow_for_their_share_of_time_from_the_start)
{
    /* 3000 of 10,000 ns: 0.3 of the ranks at any time; standard error sqrt(0.3·0.7/20000) =
     * 0.00324. */
    enum { RANKS = 20000 };
    gs_compute_noise *noise = ranks((gs_noise){.straggler = markov}, RANKS);
    const gs_time_ns times[] = {0, 5000, 300000};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t slow = 0;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            slow += gs_compute_noise_factor(noise, rank, i, times[i]) == 3.0;
        }
        cr_assert_float_eq(slow / (double)RANKS, 0.3, 4 * 0.00324, "%u slow", slow);
    }
    gs_arena_fini(&arena);
}

Test(noise, markov_intervals_are_exponential_with_their_means)
{
    /* One rank looked at each 10 ns for 20 ms: about 2000 intervals of each kind. Mean and
     * deviation of an exponential are equal; the error of the mean is mean/sqrt(n), of the
     * deviation about mean·sqrt(2/n) (its fourth central moment is 9 mean^4). */
    gs_compute_noise *noise = ranks((gs_noise){.straggler = markov}, 1);
    moments lengths[2] = {{0}};
    gs_time_ns since = 0;
    bool slow = gs_compute_noise_factor(noise, 0, 0, 0) == 3.0;
    for (gs_time_ns now = 10; now < 20000000; now += 10) {
        bool is_slow = gs_compute_noise_factor(noise, 0, 0, now) == 3.0;
        if (is_slow != slow) {
            add(&lengths[slow], (double)(now - since));
            since = now;
            slow = is_slow;
        }
    }
    const double means[] = {7000, 3000};
    for (uint32_t i = 0; i < 2; i++) {
        double n = lengths[i].count;
        double mean = lengths[i].sum / n;
        double deviation = sqrt(lengths[i].square / n - mean * mean);
        cr_assert_float_eq(n, 2000, 400); /* a pair each 10,000 ns, and plenty to spare */
        cr_assert_float_eq(mean, means[i], 4 * means[i] / sqrt(n));
        cr_assert_float_eq(deviation, means[i], 4 * means[i] * sqrt(2 / n));
    }
    gs_arena_fini(&arena);
}

Test(noise, markov_does_not_depend_on_when_it_is_asked)
{
    gs_compute_noise *often = ranks((gs_noise){.straggler = markov}, 2);
    double asked_often[100];
    for (gs_time_ns now = 0; now < 100000; now += 37) {
        double factor = gs_compute_noise_factor(often, 1, 0, now);
        if (now % 1000 < 37) {
            asked_often[now / 1000] = factor;
        }
    }
    gs_arena_fini(&arena);
    gs_compute_noise *seldom = ranks((gs_noise){.straggler = markov}, 2);
    for (gs_time_ns i = 0; i < 100; i += 3) {
        gs_time_ns now = (i * 1000 + 36) / 37 * 37;
        cr_assert_eq(gs_compute_noise_factor(seldom, 1, 0, now), asked_often[i]);
    }
    gs_arena_fini(&arena);
}

Test(noise, a_hot_rank_slows_down_until_it_has_cooled)
{
    /* Heat with time constant 1000: 0.5 is reached at 1000 ln 2 = 693.1 ns of computing. From there
     * 0.2 is reached after 500 ln 2.5 = 458.1 ns of idling. */
    gs_straggler throttle = {.kind = GS_STRAGGLER_THROTTLE,
                             .rank = 1,
                             .factor = 1.5,
                             .heat_ns = 1000,
                             .cool_ns = 500,
                             .hot = 0.5,
                             .cool = 0.2};
    gs_compute_noise *noise = ranks((gs_noise){.straggler = throttle}, 2);
    gs_compute_noise_busy(noise, 0, 0, 100000);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 0, 100000), 1.0); /* not its story */
    gs_compute_noise_busy(noise, 1, 0, 693);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 0, 693), 1.0);
    gs_compute_noise_busy(noise, 1, 693, 694);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 0, 694), 1.5);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 0, 694 + 458), 1.5);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 0, 694 + 460), 1.0);
    /* From 0.2 to 0.5: 1000 ln(0.8/0.5) = 470.0 ns; a short rest on the way does not make it slow.
     */
    gs_compute_noise_busy(noise, 1, 1154, 1154 + 468);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 1, 1622), 1.0);
    gs_compute_noise_busy(noise, 1, 1622, 1626);
    cr_assert_eq(gs_compute_noise_factor(noise, 1, 1, 1626), 1.5);
    gs_arena_fini(&arena);
}

Test(noise, computing_all_the_time_stays_slow_and_idling_ends_it)
{
    gs_straggler throttle = {.kind = GS_STRAGGLER_THROTTLE,
                             .rank = -1,
                             .factor = 2.0,
                             .heat_ns = 100,
                             .cool_ns = 100,
                             .hot = 1.0,
                             .cool = 0.0};
    gs_compute_noise *noise = ranks((gs_noise){.straggler = throttle}, 1);
    /* 1 is reached by rounding only, after 37 time constants; 0 likewise after 745. */
    gs_compute_noise_busy(noise, 0, 0, 3000);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 0, 3000), 1.0);
    gs_compute_noise_busy(noise, 0, 3000, 7000);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 0, 7000), 2.0);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 0, 70000), 2.0);
    cr_assert_eq(gs_compute_noise_factor(noise, 0, 0, 90000), 1.0);
    gs_arena_fini(&arena);
}

Test(noise, wrong_stragglers_are_refused_with_place_and_value)
{
    const struct {
        gs_straggler straggler;
        const char *says;
    } cases[] = {
        {{.kind = GS_STRAGGLER_PERSISTENT, .rank = 4, .factor = 2}, "rank: 4"},
        {{.kind = GS_STRAGGLER_PERSISTENT, .rank = -2, .factor = 2}, "rank: -2"},
        {{.kind = GS_STRAGGLER_PERSISTENT, .rank = 1, .factor = 0}, "factor: 0"},
        {{.kind = GS_STRAGGLER_DRIFT, .factor = 1, .drift_per_hour = -0.5}, "drift_per_hour: -0.5"},
        {{.kind = GS_STRAGGLER_MARKOV, .factor = 2, .mean_up_ns = 5}, "5 and 0 ns"},
        {{.kind = GS_STRAGGLER_THROTTLE, .factor = 2, .hot = 0.5, .heat_ns = 9}, "9 and 0 ns"},
        {{.kind = GS_STRAGGLER_THROTTLE,
          .factor = 2,
          .hot = 0.25,
          .cool = 0.75,
          .heat_ns = 9,
          .cool_ns = 9},
         "hot 0.25 and cool 0.75"},
        {{.kind = 99, .factor = 2}, "99"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gs_noise noise = {.straggler = cases[i].straggler};
        gs_compute_noise *made = NULL;
        gs_error err = {.code = GS_OK};
        gs_arena_init(&arena);
        cr_assert_eq(gs_compute_noise_create(&noise, 1, 4, &arena, &made, &err), GS_EINVAL,
                     "case %zu", i);
        cr_assert_not_null(strstr(err.text, cases[i].says), "case %zu: %s", i, err.text);
        gs_arena_fini(&arena);
    }
    for (int64_t n = 0; n < 2; n++) {
        gs_noise noise = {.compute = {.law = GS_LAW_NONE}};
        gs_compute_noise *made = NULL;
        gs_arena_init(&arena);
        arena.fail_after = n;
        cr_assert_eq(gs_compute_noise_create(&noise, 1, 4, &arena, &made, NULL), GS_ENOMEM);
        gs_arena_fini(&arena);
    }
}
