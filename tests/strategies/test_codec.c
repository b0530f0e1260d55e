/* The rules of codecs, and that they count the bytes that encoders write. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "models/codec_kernels.h"
#include "strategies/codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static gs_codec_config defaults_of(const char *name)
{
    gs_codec_config config;
    cr_assert(gs_codec_find(name) != NULL, "%s", name);
    gs_config_defaults(gs_codec_find(name)->config, &config);
    return config;
}

static void set(gs_codec_config *config, const char *name, const char *key, const char *text)
{
    gs_error err = {0};
    cr_assert_eq(gs_config_set_text(gs_codec_find(name)->config, config, key, text, &err), GS_OK,
                 "%s", err.text);
}

static int64_t most_bytes(const char *name, const gs_codec_config *config, int64_t elements)
{
    return gs_codec_find(name)->payload_bytes(config, elements, 1000).most_bytes;
}

Test(codec, each_is_whole_and_the_list_is_sorted)
{
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        const gs_codec *codec = gs_codec_at(i);
        gs_codec_config config = defaults_of(codec->name);
        cr_expect(codec->summary != NULL && codec->source != NULL, "%s", codec->name);
        cr_expect_str_eq(codec->config->name, codec->name);
        cr_expect_eq(codec->config->struct_bytes, sizeof(gs_codec_config));
        cr_expect(codec->travel < GS_TRAVEL_COUNT);
        cr_expect_eq(gs_codec_find(codec->name), codec);
        cr_expect(i == 0 || strcmp(gs_codec_at(i - 1)->name, codec->name) < 0, "%s", codec->name);
        cr_expect(!(codec->unbiased && config.feedback), "%s: nothing to feed back", codec->name);
        cr_expect_eq(codec->payload_bytes(&config, 0, 0).most_bytes, 0, "%s", codec->name);
    }
    cr_expect(gs_codec_find("zip") == NULL);
}

/* What hosts copy from a config into a rule for the encoder. */
static gs_pack_rule rule_of(const gs_codec *codec, const gs_codec_config *config, size_t count)
{
    return (gs_pack_rule){
        .count = count,
        .block = (size_t)config->block,
        .bits = (uint32_t)config->bits,
        .scaled = !gs_codec_is_vote(codec, config),
        .clip = config->clip,
        .kept = (size_t)gs_codec_kept(config, (int64_t)count, 1000),
        .wide_index = config->index == GS_INDEX_INT64,
        .sample = config->sample,
        .lower = config->lower,
        .upper = config->upper,
        .rounds = (uint32_t)config->rounds,
        .key = {.seed = 1, .purpose = GS_RNG_TEST},
    };
}

static void expect_counted(const gs_codec *codec, const gs_codec_config *config)
{
    const int64_t counts[] = {1, 2, 5, 7, 8, 9, 255, 256, 257, 511, 513, 1000, 30011};
    const gs_packer *packer = gs_packer_find(codec->name);
    float *in = malloc(30011 * sizeof *in);
    cr_assert(packer != NULL && in != NULL, "%s has no encoder", codec->name);
    for (uint32_t i = 0; i < 30011; i++) {
        in[i] = (float)(gs_rng_uniform((gs_rng_key){2, GS_RNG_TEST, 0}, 0, i) - 0.5);
    }
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        gs_pack_rule rule = rule_of(codec, config, (size_t)counts[c]);
        gs_codec_size size = codec->payload_bytes(config, counts[c], 1000);
        uint8_t *out = malloc(packer->room_bytes(&rule));
        cr_assert(out != NULL);
        int64_t bytes = (int64_t)packer->encode(&rule, in, out);
        cr_assert_leq(size.expected_bytes, size.most_bytes);
        if (strcmp(codec->name, "dgc") == 0) {
            cr_assert_leq(bytes, size.most_bytes);
            cr_assert_geq((double)bytes, 0.79 * (double)size.expected_bytes);
        } else {
            cr_assert_eq(size.expected_bytes, size.most_bytes);
            cr_assert_eq(bytes, size.most_bytes, "%s of %lld: %lld, not %lld", codec->name,
                         (long long)counts[c], (long long)bytes, (long long)size.most_bytes);
        }
        free(out);
    }
    free(in);
}

Test(codec, sizes_are_those_that_encoders_write)
{
    size_t with_encoder = 0;
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        const gs_codec *codec = gs_codec_at(i);
        gs_codec_config config = defaults_of(codec->name);
        if (codec->travel != GS_TRAVEL_LOW_RANK) {
            expect_counted(codec, &config);
            with_encoder++;
            cr_expect_eq(codec->travel == GS_TRAVEL_SUM, gs_packer_find(codec->name)->add != NULL,
                         "%s", codec->name);
        }
    }
    cr_expect_eq(with_encoder, gs_packer_count());
    for (char bits = '2'; bits <= '8'; bits++) {
        gs_codec_config config = defaults_of("qsgd");
        set(&config, "qsgd", "bits", (char[2]){bits, '\0'});
        expect_counted(gs_codec_find("qsgd"), &config);
        set(&config, "qsgd", "bucket", "0");
        expect_counted(gs_codec_find("qsgd"), &config);
        set(&config, "qsgd", "bucket", "13");
        expect_counted(gs_codec_find("qsgd"), &config);
    }
    gs_codec_config config = defaults_of("sign");
    set(&config, "sign", "scale", "mean");
    expect_counted(gs_codec_find("sign"), &config);
    config = defaults_of("dgc");
    set(&config, "dgc", "index", "int32");
    expect_counted(gs_codec_find("dgc"), &config);
}

/* A million elements, by the table of the sources; d / 256 or d / 512 scales of 4 bytes. */
Test(codec, a_million_elements_take_what_the_sources_say)
{
    const struct {
        const char *name;
        int64_t bytes;
    } wanted[] = {
        {"none", 4000000},
        {"fp16", 2000000},
        {"bf16", 2000000},
        {"fp8_e4m3", 1000000 + 4 * 3907},
        {"fp8_e5m2", 1000000 + 4 * 3907},
        {"int8", 1000000 + 4 * 3907},
        {"int4", 500000 + 4 * 3907},
        {"qsgd", 1000000 + 4 * 1954},
        {"terngrad", 200000 + 4},
        {"sign", 125000},
        {"ef_sign", 125000 + 4},
        {"onebit", 125000 + 8},
        {"topk", 10000 * 8},
        {"randomk", 10000 * 4},
        {"dgc", 4 + 1300 * 12},
        {"powersgd", 4 * 2000}, /* 1000 x 1000, rank 1 */
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        gs_codec_config config = defaults_of(wanted[i].name);
        cr_expect_eq(most_bytes(wanted[i].name, &config, 1000000), wanted[i].bytes, "%s",
                     wanted[i].name);
    }
    cr_expect_eq(sizeof wanted / sizeof *wanted, gs_codec_count());
    gs_codec_config config = defaults_of("dgc");
    cr_expect_eq(gs_codec_find("dgc")->payload_bytes(&config, 1000000, 0).expected_bytes,
                 4 + 1000 * 12);
}

Test(codec, memory_is_a_residual_or_the_codecs_own)
{
    const char *const residual[] = {"topk", "randomk", "ef_sign", "onebit", "powersgd"};
    const char *const none[] = {"none", "fp16", "int8", "qsgd", "terngrad", "sign"};
    for (size_t i = 0; i < 5; i++) {
        gs_codec_config config = defaults_of(residual[i]);
        /* powersgd's Q has a vector of its own. */
        uint32_t own = strcmp(residual[i], "powersgd") == 0 ? 1 : 0;
        cr_expect_eq(gs_codec_vectors(gs_codec_find(residual[i]), &config), own + 1, "%s",
                     residual[i]);
        set(&config, residual[i], "feedback", "false");
        cr_expect_eq(gs_codec_vectors(gs_codec_find(residual[i]), &config), own, "%s", residual[i]);
    }
    for (size_t i = 0; i < 6; i++) {
        gs_codec_config config = defaults_of(none[i]);
        cr_expect_eq(gs_codec_vectors(gs_codec_find(none[i]), &config), 0, "%s", none[i]);
    }
    gs_codec_config config = defaults_of("dgc");
    cr_expect_eq(gs_codec_vectors(gs_codec_find("dgc"), &config), 2);
}

Test(codec, at_least_one_element_is_kept_and_no_more_than_asked)
{
    gs_codec_config config = defaults_of("topk");
    cr_expect_eq(gs_codec_kept(&config, 0, 0), 0);
    cr_expect_eq(gs_codec_kept(&config, 1, 0), 1);
    cr_expect_eq(gs_codec_kept(&config, 99, 0), 1);
    cr_expect_eq(gs_codec_kept(&config, 100, 0), 1);
    cr_expect_eq(gs_codec_kept(&config, 199, 0), 1);
    cr_expect_eq(gs_codec_kept(&config, 200, 0), 2);
    for (int64_t k = 1; k <= 2000;
         k++) { /* 0.01 is not a binary fraction: k of 100 k all the same */
        cr_assert_eq(gs_codec_kept(&config, 100 * k, 0), k);
        cr_assert_eq(gs_codec_kept(&config, 100 * k - 1, 0), k > 1 ? k - 1 : 1);
    }
    set(&config, "topk", "ratio", "100 %");
    cr_expect_eq(gs_codec_kept(&config, 12345, 0), 12345);
}

/* The list of the source for 0.001 in five stages: .25, .063, .015, .004, .001; here four stages
 * and then the ratio itself. */
Test(codec, dgc_warms_up_in_equal_factors)
{
    gs_codec_config config = defaults_of("dgc");
    cr_expect_eq(gs_codec_ratio(&config, 0), 0.001);
    set(&config, "dgc", "warmup", "4");
    set(&config, "dgc", "warmup_steps", "10");
    const double wanted[] = {0.2512, 0.0631, 0.01585, 0.003981};
    for (int64_t stage = 0; stage < 4; stage++) {
        cr_expect_float_eq(gs_codec_ratio(&config, 10 * stage), wanted[stage],
                           1e-3 * wanted[stage]);
        cr_expect_eq(gs_codec_ratio(&config, 10 * stage + 9), gs_codec_ratio(&config, 10 * stage));
    }
    cr_expect_eq(gs_codec_ratio(&config, 40), 0.001);
    cr_expect_eq(gs_codec_kept(&config, 100000, 0), 25118); /* 10^5 x 10^(-3/5) */
    cr_expect_eq(gs_codec_kept(&config, 100000, 40), 100);
}

Test(codec, powersgd_shapes_its_matrices_and_leaves_vectors_dense)
{
    gs_codec_config config = defaults_of("powersgd");
    /* 1001 elements, near-square: 32 rows (31.6 up), 32 columns; rank 1 sends 64 of 1001. */
    gs_codec_matrix matrix = gs_codec_matrix_of(&config, 1001, 0, 100);
    cr_expect(matrix.rows == 32 && matrix.columns == 32 && matrix.rank == 1);
    /* The layer's own shape: 10 x 784. */
    matrix = gs_codec_matrix_of(&config, 7840, 784, 100);
    cr_expect(matrix.rows == 10 && matrix.columns == 784 && matrix.rank == 1);
    /* A part of it, whose last row is not whole. */
    matrix = gs_codec_matrix_of(&config, 7000, 784, 100);
    cr_expect(matrix.rows == 9 && matrix.columns == 784 && matrix.rank == 1);
    /* 4 x 4 of rank 1: (4 + 4) x 2 = 16 is not below 16. 5 x 4 = 20 would be 18. */
    cr_expect_eq(gs_codec_matrix_of(&config, 16, 4, 100).rank, 0);
    cr_expect_eq(gs_codec_matrix_of(&config, 20, 4, 100).rank, 1);
    /* Dense for the first ten steps. */
    cr_expect_eq(gs_codec_matrix_of(&config, 7840, 784, 9).rank, 0);
    cr_expect_eq(gs_codec_find("powersgd")->payload_bytes(&config, 1001, 9).most_bytes, 4004);
    cr_expect_eq(gs_codec_find("powersgd")->payload_bytes(&config, 1001, 10).most_bytes, 4 * 64);
    /* No rank above the smaller side. */
    set(&config, "powersgd", "rank", "64");
    set(&config, "powersgd", "min_compression", "0");
    cr_expect_eq(gs_codec_matrix_of(&config, 7840, 784, 100).rank, 10);
    /* A bias as one row or one column, whatever it would save. */
    cr_expect_eq(gs_codec_matrix_of(&config, 100, 100, 100).rank, 0);
    cr_expect_eq(gs_codec_matrix_of(&config, 100, 1, 100).rank, 0);
    /* All elements have a place, and each row but the last is whole. */
    for (int64_t elements = 1; elements < 3000; elements++) {
        matrix = gs_codec_matrix_of(&config, elements, 0, 100);
        cr_assert_geq(matrix.rows * matrix.columns, elements);
        cr_assert_lt((matrix.rows - 1) * matrix.columns, elements);
    }
}

static void expect_refused(const char *name, const gs_codec_config *config, int64_t elements,
                           const char *part)
{
    gs_error err = {0};
    cr_expect_eq(gs_codec_find(name)->check(config, elements, &err), GS_EINVAL);
    cr_expect(strstr(err.text, part) != NULL, "%s", err.text);
}

Test(codec, what_cannot_work_is_refused_with_what_does)
{
    gs_error err = {0};
    gs_codec_config config = defaults_of("topk");
    cr_expect_eq(gs_codec_find("topk")->check(&config, INT32_MAX, &err), GS_OK);
    expect_refused("topk", &config, INT64_C(1) << 31, "dgc:index=int64");
    config = defaults_of("randomk");
    expect_refused("randomk", &config, INT64_C(1) << 31, "smaller buckets");
    config = defaults_of("sign");
    cr_expect_eq(gs_codec_find("sign")->check(&config, 5, &err), GS_OK);
    set(&config, "sign", "feedback", "true");
    expect_refused("sign", &config, 5, "scale=mean");
    set(&config, "sign", "scale", "mean");
    cr_expect_eq(gs_codec_find("sign")->check(&config, 5, &err), GS_OK);
    cr_expect(!gs_codec_is_vote(gs_codec_find("sign"), &config));
    config = defaults_of("dgc");
    cr_expect_eq(gs_codec_find("dgc")->check(&config, 5, &err), GS_OK);
    set(&config, "dgc", "warmup", "3");
    expect_refused("dgc", &config, 5, "warmup_steps");
    config = defaults_of("dgc");
    set(&config, "dgc", "warmup_steps", "40");
    expect_refused("dgc", &config, 5,
                   "dgc: warmup_steps=40 are the steps of a stage, and warmup=0 has none; say how "
                   "many stages, as warmup=4");
    set(&config, "dgc", "warmup", "4");
    cr_expect_eq(gs_codec_find("dgc")->check(&config, 5, &err), GS_OK);
    config = defaults_of("terngrad");
    set(&config, "terngrad", "clip", "1e-300");
    expect_refused("terngrad", &config, 5,
                   "terngrad: clip=1e-300 standard deviations leaves signs alone; use 0 (not cut) "
                   "or 0.1 and more, the source has 2.5");
    set(&config, "terngrad", "clip", "0.1");
    cr_expect_eq(gs_codec_find("terngrad")->check(&config, 5, &err), GS_OK);
    set(&config, "terngrad", "clip", "0");
    cr_expect_eq(gs_codec_find("terngrad")->check(&config, 5, &err), GS_OK);
    cr_expect_eq(gs_config_set_text(gs_codec_find("qsgd")->config, &config, "bits", "9", &err),
                 GS_EINVAL);
    cr_expect_eq(gs_config_set_text(gs_codec_find("topk")->config, &config, "ratio", "0", &err),
                 GS_EINVAL);
}
