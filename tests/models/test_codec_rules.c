/* Each encoder against the rule of its source. */
#include <criterion/criterion.h>

#include "base/hash.h"
#include "base/rng.h"
#include "models/codec_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const gs_rng_key test_key = {.seed = 17, .purpose = GS_RNG_TEST, .entity = 9};

static double uniform(uint64_t stream, size_t i)
{
    return gs_rng_uniform(test_key, stream, (uint32_t)i);
}

/* Gaussian by twelve uniforms: mean 0, variance 1, no tail beyond 6. */
static void fill_gaussian(float *out, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++) {
        double sum = -6.0;
        for (uint64_t k = 0; k < 12; k++) {
            sum += uniform(12 * stream + k, i);
        }
        out[i] = (float)sum;
    }
}

static size_t through(const char *name, const gs_pack_rule *rule, const float *in, float *out)
{
    const gs_packer *packer = gs_packer_find(name);
    uint8_t *payload = malloc(packer->room_bytes(rule) + 1);
    cr_assert(payload != NULL);
    size_t bytes = packer->encode(rule, in, payload);
    cr_assert(packer->decode(rule, GS_UNPACK_PUT, payload, bytes, out));
    free(payload);
    return bytes;
}

/* ---------------------------------------------------------------- 8-bit floats */

/* The value of a code as the format defines it: sign, exponent with its bias, fraction. */
static double float8(gs_float8 kind, unsigned code)
{
    int digits = kind == GS_E4M3 ? 3 : 2, bias = kind == GS_E4M3 ? 7 : 15;
    int exponent = (int)(code & 0x7f) >> digits;
    double fraction = (double)(code & ((1U << digits) - 1)) / (double)(1 << digits);
    double sign = (code & 0x80) != 0 ? -1.0 : 1.0;
    if (kind == GS_E4M3 && (code & 0x7f) == 0x7f) {
        return (double)NAN; /* the only one, and there is no infinity */
    }
    if (kind == GS_E5M2 && exponent == 31) {
        return fraction > 0.0 ? (double)NAN : sign * (double)INFINITY;
    }
    return exponent == 0 ? sign * ldexp(fraction, 1 - bias)
                         : sign * ldexp(1.0 + fraction, exponent - bias);
}

Test(codec_rules, all_256_codes_of_both_kinds_of_fp8_are_as_defined)
{
    cr_expect_eq(float8(GS_E4M3, 0x7e), 448.0);
    cr_expect_eq(float8(GS_E5M2, 0x7b), 57344.0);
    for (gs_float8 kind = GS_E4M3; kind <= GS_E5M2; kind++) {
        for (unsigned code = 0; code < 256; code++) {
            double wanted = float8(kind, code);
            float got = gs_float_of_float8(kind, (uint8_t)code);
            cr_assert(isnan(wanted) ? isnan(got) : (double)got == wanted, "%x: %a", code,
                      (double)got);
            if (isfinite(wanted)) {
                cr_assert_eq(gs_float8_of_float(kind, got), code, "%x", code);
            }
        }
    }
}

/* Between two neighbours: the point half way goes to the even code, its neighbours to the nearer.
 */
Test(codec_rules, fp8_rounds_to_nearest_even)
{
    const unsigned largest[] = {0x7e, 0x7b};
    for (gs_float8 kind = GS_E4M3; kind <= GS_E5M2; kind++) {
        for (unsigned code = 0; code < largest[kind]; code++) {
            float middle = (float)((float8(kind, code) + float8(kind, code + 1)) / 2.0);
            cr_assert_eq(gs_float8_of_float(kind, middle), code + code % 2);
            cr_assert_eq(gs_float8_of_float(kind, nextafterf(middle, 0.0F)), code);
            cr_assert_eq(gs_float8_of_float(kind, nextafterf(middle, 1e9F)), code + 1);
            cr_assert_eq(gs_float8_of_float(kind, -middle), (code + code % 2) | 0x80);
        }
        cr_expect_eq(gs_float8_of_float(kind, 1e30F), largest[kind]);
        cr_expect_eq(gs_float8_of_float(kind, -INFINITY), largest[kind] | 0x80);
    }
}

/* Relative error of a normal number: half a unit of the last place, 2^-4 or 2^-3; below the
 * smallest normal half a unit of the smallest subnormal, in units of the scale. */
Test(codec_rules, fp8_of_a_block_is_within_half_a_place)
{
    static float in[4096], out[4096];
    for (size_t i = 0; i < 4096; i++) {
        in[i] = (float)((uniform(0, i) - 0.5) * ldexp(1.0, (int)(20.0 * uniform(1, i)) - 30));
    }
    gs_pack_rule rule = {.count = 4096, .block = 256};
    for (gs_float8 kind = GS_E4M3; kind <= GS_E5M2; kind++) {
        through(kind == GS_E4M3 ? "fp8_e4m3" : "fp8_e5m2", &rule, in, out);
        double half = kind == GS_E4M3 ? 0x1p-4 : 0x1p-3, most = kind == GS_E4M3 ? 448.0 : 57344.0;
        double smallest = kind == GS_E4M3 ? 0x1p-9 : 0x1p-16;
        for (size_t block = 0; block < 4096; block += 256) {
            double largest = 0.0;
            for (size_t i = block; i < block + 256; i++) {
                largest = fmax(largest, fabs((double)in[i]));
            }
            for (size_t i = block; i < block + 256; i++) {
                double error = fabs((double)out[i] - (double)in[i]);
                double allowed = fmax(half * fabs((double)in[i]), smallest / 2.0 * largest / most);
                cr_assert_leq(error, allowed * 1.00001);
            }
        }
    }
}

/* ---------------------------------------------------------------- whole numbers */

Test(codec_rules, int_blocks_are_within_half_a_scale)
{
    static float in[1000], out[1000];
    fill_gaussian(in, 1000, 3);
    const char *const names[] = {"int8", "int4"};
    const double levels[] = {127.0, 7.0};
    for (size_t n = 0; n < 2; n++) {
        gs_pack_rule rule = {.count = 1000, .block = 100};
        /* Ten scales, and 8 or 4 bits an element. */
        cr_expect_eq(through(names[n], &rule, in, out), 40U + (n == 0 ? 1000U : 500U));
        for (size_t block = 0; block < 1000; block += 100) {
            double largest = 0.0;
            for (size_t i = block; i < block + 100; i++) {
                largest = fmax(largest, fabs((double)in[i]));
            }
            for (size_t i = block; i < block + 100; i++) {
                cr_assert_leq(fabs((double)out[i] - (double)in[i]),
                              largest / levels[n] / 2.0 * 1.00001);
            }
        }
    }
}

/* Scale 1, so that the codes are the numbers: 127, and ties between two whole numbers. */
Test(codec_rules, int8_rounds_ties_to_even)
{
    const float in[6] = {127.0F, 0.5F, 1.5F, -2.5F, -126.5F, 3.2F};
    const float wanted[6] = {127.0F, 0.0F, 2.0F, -2.0F, -126.0F, 3.0F};
    float out[6];
    gs_pack_rule rule = {.count = 6, .block = 0};
    through("int8", &rule, in, out);
    for (size_t i = 0; i < 6; i++) {
        cr_expect_eq(out[i], wanted[i]);
    }
}

/* ---------------------------------------------------------------- random rounding */

enum { SAMPLES = 1000000 };

typedef struct moments {
    double mean, variance;
} moments;

/* Of decoded[i] - in[i] over a slice in which every float is equal to in[i % period]: so many draws
 * of few values. */
static moments errors_of(const float *in, const float *out, size_t period, size_t which)
{
    double sum = 0.0, squares = 0.0, n = 0.0;
    for (size_t i = which; i < SAMPLES; i += period) {
        double error = (double)out[i] - (double)in[i];
        sum += error;
        squares += error * error;
        n += 1.0;
    }
    return (moments){.mean = sum / n, .variance = squares / n - (sum / n) * (sum / n)};
}

/* Standard error of the variance measured in n draws of chance p, relative to it: the fourth moment
 * of a two-valued error is (1 - 3 p q) / (p q) times its squared variance. */
static double spread_of_variance(double p, double n)
{
    double both = p * (1.0 - p);
    return sqrt((1.0 - 4.0 * both) / (both * n));
}

/* A float between level l and l + 1 of size unit is rounded up with probability p = its rest: mean
 * 0, variance p (1 - p) unit^2. Mean within 4 standard errors; 3 values x 4 widths. */
Test(codec_rules, qsgd_is_unbiased_and_has_the_variance_of_its_rest)
{
    static float in[SAMPLES], out[SAMPLES];
    const float values[4] = {0.3F, -0.7F, 0.05F, 1.1F};
    const uint32_t widths[] = {2, 3, 4, 8};
    for (size_t i = 0; i < SAMPLES; i++) {
        in[i] = values[i % 4];
    }
    for (size_t w = 0; w < 4; w++) {
        gs_pack_rule rule = {
            .count = SAMPLES, .block = 8, .bits = widths[w], .key = test_key, .step = w};
        through("qsgd", &rule, in, out);
        double s = (double)((1 << (widths[w] - 1)) - 1);
        /* Each bucket holds each value twice. */
        double unit = sqrt(2.0 * (0.09 + 0.49 + 0.0025 + 1.21)) / s;
        for (size_t k = 0; k < 4; k++) {
            double at = fabs((double)values[k]) / unit, p = at - floor(at);
            double variance = p * (1.0 - p) * unit * unit;
            moments got = errors_of(in, out, 4, k);
            double error = sqrt(variance / (SAMPLES / 4.0));
            cr_assert_lt(fabs(got.mean), 4.0 * error + 1e-7, "%u bits, %g: %g of %g", widths[w],
                         (double)values[k], got.mean, error);
            double spread = spread_of_variance(p, SAMPLES / 4.0);
            cr_assert_float_eq(got.variance, variance, 4.0 * spread * variance + 1e-7);
        }
    }
}

/* Alistarh et al., lemma 3.1: E |Q(v) - v|^2 <= min(n / s^2, sqrt(n) / s) |v|^2. */
Test(codec_rules, qsgd_keeps_the_variance_bound_of_its_paper)
{
    enum { N = 512, REPEATS = 200 };
    static float in[N], out[N];
    fill_gaussian(in, N, 8);
    double norm2 = 0.0;
    for (size_t i = 0; i < N; i++) {
        norm2 += (double)in[i] * (double)in[i];
    }
    for (uint32_t bits = 2; bits <= 8; bits++) {
        double s = (double)((1 << (bits - 1)) - 1), squares = 0.0;
        for (uint64_t step = 0; step < REPEATS; step++) {
            gs_pack_rule rule = {.count = N, .bits = bits, .key = test_key, .step = step};
            cr_assert_eq(through("qsgd", &rule, in, out), 4 + N * bits / 8);
            for (size_t i = 0; i < N; i++) {
                squares += pow((double)out[i] - (double)in[i], 2.0);
            }
        }
        double bound = fmin(N / (s * s), sqrt((double)N) / s);
        cr_expect_lt(squares / REPEATS, bound * norm2, "%u bits", bits);
        /* And it is not 0 where nothing was lost. */
        cr_expect_gt(squares / REPEATS, 0.01 * bound * norm2);
    }
}

/* Without clipping s is the largest size; E = g, and the variance of s x Bernoulli is s |g| - g^2.
 * 200,000 draws of each of five values. */
Test(codec_rules, terngrad_is_unbiased_and_has_the_variance_of_its_coin)
{
    static float in[SAMPLES], out[SAMPLES];
    const float values[5] = {0.3F, -0.7F, 0.05F, 1.1F, -1.0F};
    for (size_t i = 0; i < SAMPLES; i++) {
        in[i] = values[i % 5];
    }
    gs_pack_rule rule = {.count = SAMPLES, .clip = 0.0, .key = test_key};
    cr_expect_eq(through("terngrad", &rule, in, out), 4 + SAMPLES / 5);
    for (size_t k = 0; k < 5; k++) {
        double g = fabs((double)values[k]), variance = 1.1 * g - g * g;
        moments got = errors_of(in, out, 5, k);
        cr_assert_lt(fabs(got.mean), 4.0 * sqrt(fmax(variance, 0.0) / (SAMPLES / 5.0)) + 1e-7);
        double spread = variance > 1e-6 ? spread_of_variance(g / 1.1, SAMPLES / 5.0) : 0.0;
        cr_assert_float_eq(got.variance, variance, 4.0 * spread * variance + 1e-6);
    }
}

/* 99 numbers of size 1 and one of 100: variance is (99 + 10000) / 100 - mean^2, about 100; so the
 * scale is 2.5 sigma and not 100. */
Test(codec_rules, terngrad_cuts_at_so_many_standard_deviations)
{
    float in[100], out[100];
    for (size_t i = 0; i < 100; i++) {
        in[i] = i % 2 == 0 ? 1.0F : -1.0F;
    }
    in[0] = 100.0F;
    gs_pack_rule rule = {.count = 100, .clip = 2.5, .key = test_key};
    through("terngrad", &rule, in, out);
    double mean = (100.0 + 49.0 - 50.0) / 100.0,
           sigma = sqrt((99.0 + 10000.0) / 100.0 - mean * mean);
    cr_expect_float_eq((double)out[0], 2.5 * sigma, 1e-4);
    for (size_t i = 1; i < 100; i++) {
        cr_expect(out[i] == 0.0F || fabs(fabs((double)out[i]) - 2.5 * sigma) < 1e-4);
    }
}

/* Draws of neighbours, of neighbouring blocks and of neighbouring steps must not go together: the
 * correlation of n pairs has a standard error of 1/sqrt(n). */
Test(codec_rules, random_rounding_is_independent_of_its_neighbours)
{
    enum { N = 400000, BUCKET = 100 };
    static float in[N], first[N], second[N];
    for (size_t i = 0; i < N; i++) {
        in[i] = 1.0F;
    }
    /* One level, all numbers equal: each is 0 or the norm, 10, with chance 1 / 10. */
    gs_pack_rule rule = {.count = N, .block = BUCKET, .bits = 2, .key = test_key, .step = 0};
    through("qsgd", &rule, in, first);
    rule.step = 1;
    through("qsgd", &rule, in, second);
    const size_t lags[] = {1, 2, 8, BUCKET, 2 * BUCKET, BUCKET + 1};
    for (size_t k = 0; k < 7; k++) {
        double sum = 0.0;
        size_t lag = k < 6 ? lags[k] : 0, n = N - lag;
        for (size_t i = 0; i < n; i++) {
            double other = k < 6 ? (double)first[i + lag] : (double)second[i];
            sum += ((double)first[i] - 1.0) * (other - 1.0);
        }
        /* Variance of one: 10 - 1. */
        cr_assert_lt(fabs(sum / (double)n / 9.0), 4.0 / sqrt((double)n), "lag %zu", lag);
    }
}

Test(codec_rules, random_rounding_depends_on_rank_step_and_seed_and_on_nothing_else)
{
    static float in[1000], base[1000], again[1000], other[1000];
    fill_gaussian(in, 1000, 4);
    gs_pack_rule rule = {.count = 1000, .block = 128, .bits = 3, .key = test_key, .step = 5};
    through("qsgd", &rule, in, base);
    through("qsgd", &rule, in, again);
    cr_expect_eq(memcmp(base, again, sizeof base), 0);
    for (int change = 0; change < 3; change++) {
        gs_pack_rule changed = rule;
        changed.key.seed += change == 0;
        changed.key.entity += change == 1;
        changed.step += change == 2;
        through("qsgd", &changed, in, other);
        cr_expect_neq(memcmp(base, other, sizeof base), 0, "%d", change);
    }
}

/* ---------------------------------------------------------------- one bit */

Test(codec_rules, onebit_sends_the_mean_of_each_side)
{
    const float in[7] = {1.0F, -2.0F, 0.0F, 5.0F, -4.0F, 3.0F, -0.0F};
    float out[7];
    gs_pack_rule rule = {.count = 7};
    cr_expect_eq(through("onebit", &rule, in, out), 8 + 1);
    /* (1 + 0 + 5 + 3) / 4 and (2 + 4 + 0) / 3: -0 counts as negative. */
    const float wanted[7] = {2.25F, -2.0F, 2.25F, 2.25F, -2.0F, 2.25F, -2.0F};
    cr_expect_eq(memcmp(out, wanted, sizeof wanted), 0);
}

Test(codec_rules, a_scaled_sign_has_the_mean_size)
{
    static float in[10003], out[10003];
    fill_gaussian(in, 10003, 6);
    double sum = 0.0;
    for (size_t i = 0; i < 10003; i++) {
        sum += fabs((double)in[i]);
    }
    gs_pack_rule rule = {.count = 10003, .scaled = true};
    cr_expect_eq(through("sign", &rule, in, out), 4 + 1251);
    for (size_t i = 0; i < 10003; i++) {
        cr_assert_float_eq((double)out[i], copysign(sum / 10003.0, (double)in[i]), 1e-6);
    }
    rule.scaled = false;
    cr_expect_eq(through("ef_sign", &rule, in, out), 4 + 1251);
    cr_expect_eq(through("sign", &rule, in, out), 1251);
    cr_expect(out[0] == 1.0F || out[0] == -1.0F);
}

/* ---------------------------------------------------------------- top k */

typedef struct entry {
    float size;
    uint32_t index;
} entry;

static int larger_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->size > y->size || x->size < y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return x->index < y->index ? -1 : 1;
}

static void expect_largest(const float *in, size_t count, size_t kept)
{
    entry *sorted = malloc(count * sizeof *sorted);
    float *out = malloc(count * sizeof *out), *wanted = calloc(count, sizeof *wanted);
    cr_assert(sorted != NULL && out != NULL && wanted != NULL);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = (entry){.size = fabsf(in[i]), .index = (uint32_t)i};
    }
    qsort(sorted, count, sizeof *sorted, larger_first);
    for (size_t i = 0; i < kept; i++) {
        wanted[sorted[i].index] = in[sorted[i].index];
    }
    gs_pack_rule rule = {.count = count, .kept = kept};
    cr_assert_eq(through("topk", &rule, in, out), 8 * kept);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(out[i], wanted[i], "%zu of %zu: element %zu", kept, count, i);
    }
    free(sorted);
    free(out);
    free(wanted);
}

Test(codec_rules, topk_is_what_a_sort_puts_first)
{
    enum { N = 300000 };
    static float in[N];
    const size_t counts[] = {1, 2, 100, 16384, 16385, 32767, 32768, N};
    for (size_t c = 0; c < 8; c++) {
        fill_gaussian(in, counts[c], 20 + c);
        const size_t kept[] = {1, 1 + counts[c] / 1000, 1 + counts[c] / 100, 1 + counts[c] / 3,
                               counts[c]};
        for (size_t k = 0; k < 5; k++) {
            expect_largest(in, counts[c], kept[k] < counts[c] ? kept[k] : counts[c]);
        }
    }
}

Test(codec_rules, topk_of_equal_sizes_takes_the_first)
{
    enum { N = 100000 };
    static float in[N];
    for (size_t i = 0; i < N; i++) { /* 8 sizes, both signs */
        in[i] = (float)((int)(16.0 * uniform(30, i)) - 8);
    }
    expect_largest(in, N, 1000);
    expect_largest(in, N, 20000);
    memset(in, 0, sizeof in);
    expect_largest(in, N, 500);
}

/* The threshold of an even sample: large floats where it does not look, or only where it does. */
Test(codec_rules, topk_is_exact_where_its_sample_misleads)
{
    enum { N = 163840 }; /* stride 10 */
    static float in[N];
    fill_gaussian(in, N, 31);
    for (size_t i = 0; i < N; i += 10) {
        in[i] = 100.0F + (float)i;
    }
    expect_largest(in, N, 1000);
    expect_largest(in, N, 17000);
    fill_gaussian(in, N, 32);
    for (size_t i = 5; i < N; i += 10) {
        in[i] = 100.0F + (float)i;
    }
    expect_largest(in, N, 100);
    expect_largest(in, N, 16000);
}

/* ---------------------------------------------------------------- random k */

static void randomk_places(size_t count, size_t kept, gs_rng_key key, uint64_t step, uint8_t *taken)
{
    float *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
    cr_assert(in != NULL && out != NULL);
    for (size_t i = 0; i < count; i++) {
        in[i] = 1.0F + (float)i;
    }
    gs_pack_rule rule = {.count = count, .kept = kept, .key = key, .step = step};
    cr_assert_eq(through("randomk", &rule, in, out), 4 * kept);
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        cr_assert(out[i] == 0.0F || out[i] == in[i]);
        taken[i] = out[i] > 0.0F;
        sent += taken[i];
    }
    cr_assert_eq(sent, kept, "%zu distinct of %zu", sent, kept);
    free(in);
    free(out);
}

Test(codec_rules, randomk_takes_k_distinct_places_that_only_the_key_decides)
{
    static uint8_t a[5000], b[5000];
    const size_t counts[] = {1, 2, 3, 4, 5, 17, 1000, 4096, 4097};
    for (size_t c = 0; c < 9; c++) {
        randomk_places(counts[c], counts[c], test_key, 0, a);
        randomk_places(counts[c], (counts[c] + 9) / 10, test_key, 0, a);
    }
    randomk_places(4096, 400, test_key, 3, a);
    randomk_places(4096, 400, test_key, 3, b); /* another rank: the same key */
    cr_expect_eq(memcmp(a, b, 4096), 0);
    randomk_places(4096, 400, test_key, 4, b);
    cr_expect_neq(memcmp(a, b, 4096), 0);
    gs_rng_key other = test_key;
    other.entity++; /* another slice */
    randomk_places(4096, 400, other, 3, b);
    cr_expect_neq(memcmp(a, b, 4096), 0);
}

/* Every place has the chance k / n: over 2000 steps 200 times, standard deviation 13.4; chi-square
 * over 100 places (each of variance n p (1 - p), summing to k: 99 degrees) below mean + 5 sigma. */
Test(codec_rules, randomk_favours_no_place)
{
    enum { N = 100, K = 10, STEPS = 2000 };
    uint8_t taken[N];
    double times[N] = {0.0}, chi = 0.0;
    for (uint64_t step = 0; step < STEPS; step++) {
        randomk_places(N, K, test_key, step, taken);
        for (size_t i = 0; i < N; i++) {
            times[i] += taken[i];
        }
    }
    for (size_t i = 0; i < N; i++) {
        double expected = (double)STEPS * K / N, variance = expected * (1.0 - (double)K / N);
        chi += pow(times[i] - expected, 2.0) / variance;
    }
    cr_expect_lt(chi, 100.0 + 5.0 * sqrt(200.0));
    cr_expect_gt(chi, 100.0 - 5.0 * sqrt(200.0));
}

/* ---------------------------------------------------------------- dgc */

Test(codec_rules, dgc_sends_between_lower_and_upper_times_what_was_asked)
{
    enum { N = 200000 };
    static float in[N], out[N];
    const double ratios[] = {0.001, 0.01, 0.25};
    for (uint64_t stream = 0; stream < 6; stream++) {
        fill_gaussian(in, N, 40 + stream % 3);
        for (size_t i = 0; i < N && stream >= 3; i++) { /* heavy tails */
            in[i] = in[i] * in[i] * in[i];
        }
        for (size_t r = 0; r < 3; r++) {
            gs_pack_rule rule = {.count = N,
                                 .kept = (size_t)(ratios[r] * N),
                                 .wide_index = r == 1,
                                 .sample = 0.01,
                                 .lower = 0.8,
                                 .upper = 1.3,
                                 .rounds = 10};
            size_t bytes = through("dgc", &rule, in, out);
            size_t entries = (bytes - 4) / (rule.wide_index ? 12 : 8);
            cr_assert_geq((double)entries, 0.8 * (double)rule.kept);
            cr_assert_leq((double)entries, 1.3 * (double)rule.kept);
            /* What was sent is above all that was not. */
            float least = INFINITY, most = 0.0F;
            size_t sent = 0;
            for (size_t i = 0; i < N; i++) {
                bool is_sent = out[i] > 0.0F || out[i] < 0.0F;
                sent += is_sent;
                least = is_sent ? fminf(least, fabsf(in[i])) : least;
                most = is_sent ? most : fmaxf(most, fabsf(in[i]));
            }
            cr_assert_eq(sent, entries);
            cr_assert(most <= least);
        }
    }
}

/* All floats equal: every threshold lets all or none through, so the first of them are taken. */
Test(codec_rules, dgc_takes_the_exact_largest_where_no_threshold_helps)
{
    static float in[5000], out[5000];
    for (size_t i = 0; i < 5000; i++) {
        in[i] = 2.0F;
    }
    gs_pack_rule rule = {
        .count = 5000, .kept = 50, .sample = 0.1, .lower = 0.8, .upper = 1.3, .rounds = 10};
    cr_expect_eq(through("dgc", &rule, in, out), 4 + 50 * 8);
    cr_expect(out[49] > 0.0F && out[50] == 0.0F);
}

/* With all sent, dgc is momentum as an optimizer has it; with some, u and v are 0 where it was
 * sent and hold on elsewhere. */
Test(codec_rules, dgc_of_everything_is_dense_momentum)
{
    enum { N = 501, STEPS = 20 };
    static float u[N], v[N], gradient[N], decoded[N], dense[N];
    uint8_t *out = malloc(64 * N);
    cr_assert(out != NULL);
    gs_dgc_memory memory = {.u = u, .v = v, .momentum = 0.9F, .masking = true};
    gs_pack_rule rule = {
        .count = N, .kept = N, .sample = 0.1, .lower = 0.8, .upper = 1.3, .rounds = 10};
    cr_assert_leq(gs_packer_find("dgc")->room_bytes(&rule), 64 * N);
    for (uint64_t step = 0; step < STEPS; step++) {
        fill_gaussian(gradient, N, 60 + step);
        size_t bytes = gs_pack_dgc(&rule, &memory, gradient, out);
        cr_assert(gs_packer_find("dgc")->decode(&rule, GS_UNPACK_PUT, out, bytes, decoded));
        for (size_t i = 0; i < N; i++) {
            dense[i] = 0.9F * dense[i] + gradient[i];
            cr_assert_eq(decoded[i], dense[i]);
            cr_assert_eq(v[i], 0.0F);
        }
    }
    free(out);
}

Test(codec_rules, dgc_forgets_what_it_has_sent_and_nothing_else)
{
    enum { N = 1000 };
    for (int masking = 0; masking < 2; masking++) {
        float u[N] = {0}, v[N] = {0}, gradient[N], decoded[N];
        double given[N] = {0}, sent[N] = {0}, momentum[N] = {0};
        uint8_t out[16 * N];
        gs_dgc_memory memory = {.u = u, .v = v, .momentum = 0.5F, .masking = masking == 1};
        gs_pack_rule rule = {
            .count = N, .kept = 50, .sample = 0.2, .lower = 0.8, .upper = 1.3, .rounds = 10};
        cr_assert_leq(gs_packer_find("dgc")->room_bytes(&rule), sizeof out);
        for (uint64_t step = 0; step < 30; step++) {
            fill_gaussian(gradient, N, 90 + step);
            size_t bytes = gs_pack_dgc(&rule, &memory, gradient, out);
            cr_assert(gs_packer_find("dgc")->decode(&rule, GS_UNPACK_PUT, out, bytes, decoded));
            for (size_t i = 0; i < N; i++) {
                /* v collects velocities; what is not sent stays there. */
                bool is_sent = decoded[i] > 0.0F || decoded[i] < 0.0F;
                momentum[i] = 0.5 * momentum[i] + (double)gradient[i];
                given[i] += momentum[i];
                sent[i] += (double)decoded[i];
                momentum[i] = is_sent && masking == 1 ? 0.0 : momentum[i];
                cr_assert_float_eq((double)u[i], momentum[i], 1e-5);
                cr_assert_float_eq(sent[i] + (double)v[i], given[i], 1e-4);
                cr_assert(!is_sent || v[i] == 0.0F);
            }
        }
    }
}

/* ---------------------------------------------------------------- bits of the wire */

/* Code `i` of a qsgd payload, in plain words: Alistarh et al., §3.1, with the word of its element
 * from the mixer that models/codec_kernels.h speaks of. */
static uint32_t qsgd_code(const gs_pack_rule *rule, const float *in, size_t i, float scale)
{
    size_t block = i / rule->block;
    uint64_t key = gs_rng_bits(rule->key, rule->step, (uint32_t)block);
    uint32_t word = (uint32_t)(i % rule->block) + (uint32_t)key;
    word = (word ^ word >> 16) * UINT32_C(0x85ebca6b) ^ (uint32_t)(key >> 32);
    word = (word ^ word >> 13) * UINT32_C(0xc2b2ae35);
    word ^= word >> 16;
    uint32_t most = (UINT32_C(1) << (rule->bits - 1)) - 1;
    float at = fabsf(in[i]) * ((float)most / scale);
    double rest = (double)at - floor((double)at);
    uint32_t level = (uint32_t)at + ((double)(word >> 8) * 0x1p-24 < rest ? 1 : 0);
    level = level < most ? level : most;
    return level | (signbit(in[i]) != 0 ? UINT32_C(1) << (rule->bits - 1) : 0);
}

/* All widths, lengths that no vector divides and blocks that no chunk does: what is vectors, comes
 * in chunks and is fetched ahead says what a loop over one float at a time says. */
Test(codec_rules, qsgd_packs_what_one_float_at_a_time_gives)
{
    static const size_t counts[] = {1, 7, 8, 9, 31, 255, 257, 1000, 9001};
    static const size_t blocks[] = {3, 100, 512, 5000};
    static float in[9001];
    uint8_t *out = malloc(8 * 9001 + 64);
    cr_assert(out != NULL);
    fill_gaussian(in, 9001, 55);
    for (size_t k = 0; k < 9 * 4 * 7; k++) {
        gs_pack_rule rule = {.count = counts[k % 9],
                             .block = blocks[k / 9 % 4],
                             .bits = 2 + (uint32_t)(k / 36),
                             .key = test_key,
                             .step = k};
        if (rule.block > rule.count) {
            continue; /* is the same as a block of all */
        }
        size_t scales = (rule.count - 1) / rule.block + 1;
        size_t bytes = gs_packer_find("qsgd")->encode(&rule, in, out);
        cr_assert_eq(bytes, 4 * scales + (rule.count * rule.bits + 7) / 8);
        for (size_t i = 0; i < rule.count; i++) {
            float scale;
            memcpy(&scale, out + 4 * (i / rule.block), sizeof scale);
            uint32_t code = 0;
            for (uint32_t bit = 0; bit < rule.bits; bit++) {
                size_t at = i * rule.bits + bit;
                code |= (uint32_t)(out[4 * scales + at / 8] >> at % 8 & 1) << bit;
            }
            cr_assert_eq(code, qsgd_code(&rule, in, i, scale), "%zu bits %u", i, rule.bits);
        }
    }
    free(out);
}

/* One hash over the payloads of all encoders. It was the same from gcc and clang, at -O0 and -O3,
 * with AVX2 and without: a change of it is a change of the format. */
Test(codec_rules, payloads_have_the_bits_they_always_had)
{
    enum { N = 40001 };
    static float in[N];
    for (size_t i = 0; i < N; i++) {
        in[i] = (float)((uniform(70, i) - 0.5) * (1.0 + 8.0 * uniform(71, i) * uniform(72, i)));
    }
    gs_pack_rule rule = {.count = N,
                         .block = 300,
                         .bits = 5,
                         .scaled = true,
                         .clip = 2.5,
                         .kept = 400,
                         .wide_index = true,
                         .sample = 0.05,
                         .lower = 0.8,
                         .upper = 1.3,
                         .rounds = 10,
                         .key = test_key,
                         .step = 12};
    uint8_t *out = malloc(8 * N);
    cr_assert(out != NULL);
    uint64_t hash = 0;
    for (size_t p = 0; p < gs_packer_count(); p++) {
        cr_assert_leq(gs_packer_at(p)->room_bytes(&rule), 8 * N);
        hash = gs_hash(hash, out, gs_packer_at(p)->encode(&rule, in, out));
    }
    free(out);
    cr_expect_eq(hash, UINT64_C(0x036525e73cf92947), "0x%016llx", (unsigned long long)hash);
}
