/* What every encoder must do, and what each one's source says of it. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "models/codec_kernels.h"
#include "models/halves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 70000 };

static const gs_rng_key own_key = {.seed = 99, .purpose = GS_RNG_TEST, .entity = 3};

static gs_pack_rule rule_of(size_t count)
{
    return (gs_pack_rule){.count = count,
                          .block = 64,
                          .bits = 4,
                          .scaled = true,
                          .clip = 2.5,
                          .kept = count == 0 ? 0 : (count + 9) / 10,
                          .wide_index = true,
                          .sample = 0.05,
                          .lower = 0.8,
                          .upper = 1.3,
                          .rounds = 10,
                          .key = own_key,
                          .step = 7};
}

/* Like gradients: both signs, sizes over some powers of two. */
static void fill(float *out, size_t count, uint64_t stream)
{
    gs_rng_key key = {.seed = 5, .purpose = GS_RNG_TEST, .entity = 1};
    for (size_t i = 0; i < count; i++) {
        double u = gs_rng_uniform(key, stream, (uint32_t)i);
        double w = gs_rng_uniform(key, stream + 1000, (uint32_t)i);
        out[i] = (float)((2.0 * u - 1.0) * ldexp(1.0, (int)(8.0 * w) - 6));
    }
}

/* A payload in memory that ends where it ends, so that a sanitizer sees who goes on. */
static uint8_t *encoded(const gs_packer *packer, const gs_pack_rule *rule, const float *in,
                        size_t *out_bytes)
{
    size_t room = packer->room_bytes(rule);
    uint8_t *work = malloc(room + 1);
    cr_assert(work != NULL);
    memset(work, 0xa5, room + 1);
    *out_bytes = packer->encode(rule, in, work);
    cr_assert_eq(work[room], 0xa5, "%s writes behind its room", packer->name);
    cr_assert_leq(*out_bytes, room);
    uint8_t *payload = malloc(*out_bytes == 0 ? 1 : *out_bytes);
    cr_assert(payload != NULL);
    memcpy(payload, work, *out_bytes);
    free(work);
    return payload;
}

static void round_trip(const gs_packer *packer, const gs_pack_rule *rule, const float *in,
                       float *out)
{
    size_t bytes;
    uint8_t *payload = encoded(packer, rule, in, &bytes);
    cr_assert(packer->decode(rule, GS_UNPACK_PUT, payload, bytes, out), "%s refuses its own",
              packer->name);
    free(payload);
}

static bool is_same(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

/* ---------------------------------------------------------------- all of them */

static const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000, 4099, 40001};
enum { COUNTS = sizeof counts / sizeof *counts };

Test(codec_kernels, each_decodes_what_it_encodes_whatever_the_length)
{
    static float in[COUNT_MAX], put[COUNT_MAX], add[COUNT_MAX], sub[COUNT_MAX], wanted[COUNT_MAX];
    for (size_t p = 0; p < gs_packer_count(); p++) {
        const gs_packer *packer = gs_packer_at(p);
        for (size_t c = 0; c < COUNTS; c++) {
            gs_pack_rule rule = rule_of(counts[c]);
            size_t bytes;
            fill(in, counts[c], c);
            uint8_t *payload = encoded(packer, &rule, in, &bytes);
            memset(put, 0xff, sizeof put); /* NaN: each float must be written */
            memcpy(add, in, sizeof in);
            memcpy(sub, in, sizeof in);
            cr_assert(packer->decode(&rule, GS_UNPACK_PUT, payload, bytes, put));
            cr_assert(packer->decode(&rule, GS_UNPACK_ADD, payload, bytes, add));
            cr_assert(packer->decode(&rule, GS_UNPACK_SUB, payload, bytes, sub));
            /* Put, add and sub are one value: in + put, in - put, to the bit. */
            for (size_t i = 0; i < counts[c]; i++) {
                wanted[i] = in[i] + put[i];
            }
            cr_assert(is_same(add, wanted, counts[c]), "%s of %zu", packer->name, counts[c]);
            for (size_t i = 0; i < counts[c]; i++) {
                wanted[i] = in[i] - put[i];
            }
            cr_assert(is_same(sub, wanted, counts[c]), "%s of %zu", packer->name, counts[c]);
            free(payload);
        }
    }
}

Test(codec_kernels, a_payload_of_another_length_is_refused_and_nothing_is_written)
{
    static float in[300], out[300], before[300];
    fill(in, 300, 0);
    fill(before, 300, 1);
    for (size_t p = 0; p < gs_packer_count(); p++) {
        const gs_packer *packer = gs_packer_at(p);
        gs_pack_rule rule = rule_of(300);
        size_t bytes;
        uint8_t *payload = encoded(packer, &rule, in, &bytes);
        uint8_t *longer = calloc(bytes + 8, 1);
        cr_assert(longer != NULL);
        memcpy(longer, payload, bytes);
        memcpy(out, before, sizeof out);
        cr_expect_not(packer->decode(&rule, GS_UNPACK_ADD, longer, bytes - 1, out));
        cr_expect_not(packer->decode(&rule, GS_UNPACK_ADD, longer, bytes + 1, out));
        cr_expect_not(packer->decode(&rule, GS_UNPACK_PUT, longer, 0, out));
        cr_expect(is_same(out, before, 300), "%s", packer->name);
        free(longer);
        free(payload);
    }
}

static bool decodes(const gs_packer *packer, const gs_pack_rule *rule, const uint8_t *payload,
                    size_t bytes)
{
    float out[300], before[300];
    memset(before, 0x11, sizeof before);
    memcpy(out, before, sizeof out);
    bool ok = packer->decode(rule, GS_UNPACK_SUB, payload, bytes, out);
    cr_assert(ok || is_same(out, before, 300), "%s wrote before it refused", packer->name);
    return ok;
}

/* One byte of a good payload of 299 floats changed to what no encoder writes. */
static void expect_refused(const char *name, size_t at, uint8_t value)
{
    static float in[299];
    fill(in, 299, 4);
    const gs_packer *packer = gs_packer_find(name);
    gs_pack_rule rule = rule_of(299);
    size_t bytes;
    uint8_t *payload = encoded(packer, &rule, in, &bytes);
    cr_assert_lt(at, bytes);
    cr_expect(decodes(packer, &rule, payload, bytes));
    payload[at] = value;
    cr_expect_not(decodes(packer, &rule, payload, bytes), "%s: byte %zu = %u", name, at, value);
    free(payload);
}

Test(codec_kernels, corrupt_payloads_are_refused)
{
    /* Five blocks of 64: scales in bytes 0 to 19; byte 3 is the sign of the first. */
    expect_refused("int8", 3, 0xbf);
    expect_refused("int8", 20, 0x80);       /* -128 */
    expect_refused("int4", 20 + 10, 0x8);   /* -8 in the lower half */
    expect_refused("int4", 20 + 149, 0x10); /* the 300th of 299 */
    expect_refused("fp8_e4m3", 25, 0x7f);   /* NaN */
    expect_refused("fp8_e5m2", 25, 0xfc);   /* -infinity */
    expect_refused("qsgd", 7, 0xff);
    expect_refused("qsgd", 20 + 149, 0xf0);
    expect_refused("terngrad", 3, 0xbf);
    expect_refused("terngrad", 10, 243);
    expect_refused("terngrad", 4 + 59, 81); /* 4 elements in the last byte: below 81 */
    expect_refused("sign", 4 + 37, 0x08);   /* 3 elements in the last byte */
    expect_refused("ef_sign", 3, 0x80);     /* -0: no encoder's scale */
    expect_refused("onebit", 7, 0x80);
    expect_refused("topk", 3, 0x80); /* an index beyond the slice */
    expect_refused("topk", 4 + 3, 0x80);
    expect_refused("dgc", 2, 1); /* more entries than there is room for */
    expect_refused("dgc", 4 + 7, 1);
}

Test(codec_kernels, indices_that_do_not_ascend_are_refused)
{
    const gs_packer *topk = gs_packer_find("topk");
    gs_pack_rule rule = rule_of(300);
    rule.kept = 2;
    uint8_t payload[16] = {5, 0, 0, 0, 5, 0, 0, 0};
    cr_expect_not(decodes(topk, &rule, payload, 16)); /* twice the same: added twice */
    payload[4] = 4;
    cr_expect_not(decodes(topk, &rule, payload, 16));
    payload[4] = 6;
    cr_expect(decodes(topk, &rule, payload, 16));
}

/* A gradient that is not finite must be seen to be so after the codec, within its block. */
Test(codec_kernels, what_is_not_finite_arrives_as_not_finite)
{
    static const char *const names[] = {"none",    "fp16",   "bf16", "fp8_e4m3", "fp8_e5m2",
                                        "int8",    "int4",   "qsgd", "terngrad", "sign",
                                        "ef_sign", "onebit", "topk", "dgc",      NULL};
    static float in[1000], out[1000];
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t n = 0; names[n] != NULL; n++) {
        for (size_t b = 0; b < 3; b++) {
            gs_pack_rule rule = rule_of(1000);
            fill(in, 1000, 2);
            in[500] = bad[b];
            round_trip(gs_packer_find(names[n]), &rule, in, out);
            cr_expect_not(isfinite(out[500]), "%s", names[n]);
        }
    }
}

Test(codec_kernels, zeros_and_numbers_too_small_to_scale_are_no_trouble)
{
    static float in[300], out[300];
    const float sizes[] = {0.0F, -0.0F, 1e-45F, 1e-38F, 3.4e38F};
    for (size_t p = 0; p < gs_packer_count(); p++) {
        for (size_t s = 0; s < 5; s++) {
            gs_pack_rule rule = rule_of(300);
            for (size_t i = 0; i < 300; i++) {
                in[i] = i % 2 == 0 ? sizes[s] : -sizes[s];
            }
            round_trip(gs_packer_at(p), &rule, in, out);
            for (size_t i = 0; i < 300 && s < 4; i++) {
                cr_assert(fabsf(out[i]) <= 1.0001F * fabsf(sizes[s]) + 1e-37F, "%s %zu: %a",
                          gs_packer_at(p)->name, s, (double)out[i]);
            }
        }
    }
}

/* Without a vector unit the bytes would be the same: slices at odd places, and their parts. */
Test(codec_kernels, bits_do_not_depend_on_where_a_slice_lies)
{
    static float in[1009], moved[1012];
    fill(in, 1009, 3);
    for (size_t p = 0; p < gs_packer_count(); p++) {
        gs_pack_rule rule = rule_of(1009);
        size_t bytes, moved_bytes;
        uint8_t *payload = encoded(gs_packer_at(p), &rule, in, &bytes);
        memcpy(moved + 3, in, sizeof in);
        uint8_t *again = encoded(gs_packer_at(p), &rule, moved + 3, &moved_bytes);
        cr_assert_eq(bytes, moved_bytes);
        cr_assert_eq(memcmp(payload, again, bytes), 0, "%s", gs_packer_at(p)->name);
        free(payload);
        free(again);
    }
}

/* All upper halves of a float, NaN among them, before and after and at the middle between two
 * 16-bit numbers; the count leaves a rest that no vector takes. */
Test(codec_kernels, halves_are_those_of_one_number_at_a_time)
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x0fff, 0x1000, 0x1001};
    enum { LOWER = sizeof lower / sizeof *lower, COUNT = (1 << 16) * LOWER - 1 };
    static float in[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = i / LOWER << 16 | lower[i % LOWER];
        memcpy(&in[i], &bits, sizeof bits);
    }
    static const char *const names[] = {"fp16", "bf16"};
    uint16_t (*const one_of[])(float) = {gs_fp16_of_float, gs_bf16_of_float};
    gs_pack_rule rule = rule_of(COUNT);
    for (int n = 0; n < 2; n++) {
        size_t bytes;
        uint8_t *payload = encoded(gs_packer_find(names[n]), &rule, in, &bytes);
        cr_assert_eq(bytes, 2 * (size_t)COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            uint16_t wanted = one_of[n](in[i]);
            cr_assert(payload[2 * i] == (wanted & 0xff) && payload[2 * i + 1] == wanted >> 8,
                      "%s of %a", names[n], (double)in[i]);
        }
        free(payload);
    }
}

/* ---------------------------------------------------------------- sums */

Test(codec_kernels, payloads_that_can_be_added_give_the_sum)
{
    static const char *const names[] = {"none", "fp16", "bf16", "randomk", NULL};
    static const double precision[] = {0x1p-24, 0x1p-11, 0x1p-8, 0x1p-24};
    static float a[1003], b[1003], da[1003], db[1003], sum[1003];
    fill(a, 1003, 5);
    fill(b, 1003, 6);
    for (size_t n = 0; names[n] != NULL; n++) {
        const gs_packer *packer = gs_packer_find(names[n]);
        gs_pack_rule rule = rule_of(1003);
        size_t bytes;
        uint8_t *pa = encoded(packer, &rule, a, &bytes), *pb = encoded(packer, &rule, b, &bytes);
        cr_assert(packer->decode(&rule, GS_UNPACK_PUT, pa, bytes, da));
        cr_assert(packer->decode(&rule, GS_UNPACK_PUT, pb, bytes, db));
        packer->add(&rule, pa, pb);
        cr_assert(packer->decode(&rule, GS_UNPACK_PUT, pa, bytes, sum));
        for (size_t i = 0; i < 1003; i++) {
            double exact = (double)da[i] + (double)db[i];
            /* One rounding; 2^-25: half of the smallest fp16. */
            cr_assert_leq(fabs((double)sum[i] - exact), precision[n] * fabs(exact) + 0x1p-25, "%s",
                          names[n]);
        }
        free(pa);
        free(pb);
    }
    cr_expect(gs_packer_find("topk")->add == NULL && gs_packer_find("int8")->add == NULL);
}

Test(codec_kernels, a_vote_is_what_most_signs_say)
{
    const gs_packer *sign = gs_packer_find("sign");
    const float ranks[3][5] = {{1, -1, 1, -9, 0.5F}, {2, -2, -1, 1, 1}, {-7, -3, -5, 1, 1}};
    float sums[5] = {0}, even[2] = {0};
    gs_pack_rule rule = {.count = 5, .scaled = false};
    uint8_t payload[1];
    for (int rank = 0; rank < 3; rank++) {
        cr_assert_eq(sign->encode(&rule, ranks[rank], payload), 1);
        cr_assert(sign->decode(&rule, GS_UNPACK_ADD, payload, 1, sums));
    }
    const float wanted[5] = {1, -1, -1, 1, 1};
    gs_vote(sums, 5);
    gs_vote(even, 2);
    cr_expect(is_same(sums, wanted, 5));
    cr_expect(even[0] == 0.0F && even[1] == 0.0F);
}

/* ---------------------------------------------------------------- feedback */

/* What was sent and what is left is what there was: to rounding, over 100 steps. */
Test(codec_kernels, error_feedback_telescopes)
{
    static const char *const names[] = {"fp8_e4m3", "fp8_e5m2", "int8", "int4",    "sign",
                                        "ef_sign",  "onebit",   "topk", "randomk", NULL};
    enum { N = 1013, STEPS = 100 };
    static float gradient[N], residual[N], decoded[N];
    static double sent[N], total[N];
    for (size_t n = 0; names[n] != NULL; n++) {
        const gs_packer *packer = gs_packer_find(names[n]);
        gs_pack_rule rule = rule_of(N);
        memset(residual, 0, sizeof residual);
        memset(sent, 0, sizeof sent);
        memset(total, 0, sizeof total);
        uint8_t *out = malloc(packer->room_bytes(&rule));
        cr_assert(out != NULL);
        for (uint64_t step = 0; step < STEPS; step++) {
            rule.step = step;
            fill(gradient, N, 100 + step);
            size_t bytes = gs_pack_feedback(packer, &rule, gradient, residual, out);
            cr_assert(packer->decode(&rule, GS_UNPACK_PUT, out, bytes, decoded));
            for (size_t i = 0; i < N; i++) {
                sent[i] += (double)decoded[i];
                total[i] += (double)gradient[i];
            }
        }
        for (size_t i = 0; i < N; i++) {
            cr_assert_leq(fabs(sent[i] + (double)residual[i] - total[i]),
                          1e-5 * fmax(1.0, fabs(total[i])), "%s", names[n]);
        }
        free(out);
    }
}

/* STRATEGIES P6b: gradients (M, 1) and (-M, 1), top-1. Without feedback both ranks always send the
 * first coordinate, which cancels; with it the second one's residual grows by 1 a step and is sent
 * when it exceeds M: in step M + 1, for the first time. */
Test(codec_kernels, feedback_moves_the_coordinate_that_top_1_forgets)
{
    enum { M = 10 };
    const gs_packer *topk = gs_packer_find("topk");
    gs_pack_rule rule = {.count = 2, .kept = 1};
    uint8_t out[64];
    cr_assert_leq(topk->room_bytes(&rule), sizeof out);
    const float gradient[2][2] = {{M, 1}, {-M, 1}};
    float residual[2][2] = {{0}};
    int first_moved = 0;
    for (int step = 1; step <= 2 * M; step++) {
        float sum[2] = {0.0F, 0.0F}, without[2] = {0.0F, 0.0F};
        for (int rank = 0; rank < 2; rank++) {
            size_t bytes = topk->encode(&rule, gradient[rank], out);
            cr_assert(topk->decode(&rule, GS_UNPACK_ADD, out, bytes, without));
            bytes = gs_pack_feedback(topk, &rule, gradient[rank], residual[rank], out);
            cr_assert(topk->decode(&rule, GS_UNPACK_ADD, out, bytes, sum));
        }
        cr_assert(without[0] == 0.0F && without[1] == 0.0F);
        if (sum[1] > 0.0F && first_moved == 0) {
            first_moved = step;
        }
    }
    cr_expect_eq(first_moved, M + 1);
}
