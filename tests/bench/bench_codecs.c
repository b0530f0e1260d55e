/* Encoders and decoders over 25 million floats, against a copy and one look at the same memory:
 * bytes of gradient per second on one core. */
#include "models/codec_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 25000000, REPEATS = 5 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Sums of 12 uniforms cost too long; differences of two have sizes of all kinds too. */
static void fill(float *out)
{
    uint64_t state = 1;
    for (size_t i = 0; i < COUNT; i++) {
        float sum = 0.0F;
        for (int k = 0; k < 4; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            sum += (float)(state >> 40) * 0x1p-24F - 0.5F;
        }
        out[i] = sum;
    }
}

static void line(const char *name, const char *what, double seconds, double look_s)
{
    printf("{\"bench\": \"codecs\", \"codec\": \"%s\", \"what\": \"%s\", \"ms\": %.2f, "
           "\"gb_per_s\": %.2f, \"looks\": %.2f}\n",
           name, what, 1e3 * seconds, 4.0 * COUNT / seconds * 1e-9, seconds / look_s);
    fflush(stdout);
}

/* The best of some tries: other programs only ever add time. */
static double least(double a, double b)
{
    return a < b ? a : b;
}

/* One look: what reading all of it costs at the least. */
static double look(const float *in)
{
    double best = 1e9;
    for (int r = 0; r < REPEATS; r++) {
        double start = seconds_now();
        uint64_t lane[8] = {0};
        for (size_t i = 0; i + 16 <= COUNT; i += 16) {
            uint64_t words[8];
            memcpy(words, in + i, sizeof words);
            for (int k = 0; k < 8; k++) {
                lane[k] |= words[k];
            }
        }
        uint64_t all = 0;
        for (int k = 0; k < 8; k++) {
            all |= lane[k];
        }
        best = least(best, seconds_now() - start);
        if (all == 0) {
            printf("nothing to look at\n");
        }
    }
    return best;
}

static void measure(const gs_packer *packer, const gs_pack_rule *rule, const char *label,
                    const float *in, float *out, double look_s)
{
    size_t room = packer->room_bytes(rule), bytes = 0;
    uint8_t *payload = malloc(room);
    double encode_s = 1e9, decode_s = 1e9, add_s = 1e9;
    if (payload == NULL) {
        exit(1);
    }
    memset(payload, 1, room);
    for (int r = 0; r < REPEATS; r++) {
        double start = seconds_now();
        bytes = packer->encode(rule, in, payload);
        double middle = seconds_now();
        bool ok = packer->decode(rule, GS_UNPACK_PUT, payload, bytes, out);
        double end = seconds_now();
        ok = ok && packer->decode(rule, GS_UNPACK_ADD, payload, bytes, out);
        if (!ok) {
            printf("%s: refused\n", label);
            exit(1);
        }
        encode_s = least(encode_s, middle - start);
        decode_s = least(decode_s, end - middle);
        add_s = least(add_s, seconds_now() - end);
    }
    line(label, "encode", encode_s, look_s);
    line(label, "decode", decode_s, look_s);
    line(label, "decode_add", add_s, look_s);
    free(payload);
}

int main(void)
{
    float *in = malloc(COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out);
    if (in == NULL || out == NULL) {
        return 1;
    }
    fill(in);
    memset(out, 1, COUNT * sizeof *out);
    double look_s = look(in), copy_s = 1e9;
    for (int r = 0; r < REPEATS; r++) {
        double start = seconds_now();
        memcpy(out, in, COUNT * sizeof *out);
        copy_s = least(copy_s, seconds_now() - start);
    }
    line("memory", "look", look_s, look_s);
    line("memory", "copy", copy_s, look_s);
    for (size_t p = 0; p < gs_packer_count(); p++) {
        const gs_packer *packer = gs_packer_at(p);
        gs_pack_rule rule = {.count = COUNT,
                             .block = 256,
                             .bits = 8,
                             .scaled = false,
                             .clip = 2.5,
                             .kept = COUNT / 100,
                             .wide_index = true,
                             .sample = 0.01,
                             .lower = 0.8,
                             .upper = 1.3,
                             .rounds = 10,
                             .key = {.seed = 1, .purpose = GS_RNG_TEST}};
        if (strcmp(packer->name, "dgc") == 0) {
            rule.kept = COUNT / 1000;
        }
        measure(packer, &rule, packer->name, in, out, look_s);
    }
    const gs_packer *qsgd = gs_packer_find("qsgd");
    gs_pack_rule four = {
        .count = COUNT, .block = 512, .bits = 4, .key = {.seed = 1, .purpose = GS_RNG_TEST}};
    measure(qsgd, &four, "qsgd_4_bits", in, out, look_s);
    gs_pack_rule thousandth = {.count = COUNT, .kept = COUNT / 1000};
    measure(gs_packer_find("topk"), &thousandth, "topk_0.001", in, out, look_s);
    free(in);
    free(out);
    return 0;
}
