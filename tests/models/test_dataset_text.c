#include <criterion/criterion.h>

#include "models/dataset_text.h"
#include "models/task_config.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

static gs_arena arena;
static gs_dataset text;
static gs_error err;
static gs_text_config config;

static void setup(void)
{
    gs_arena_init(&arena);
    gs_config_defaults(gs_data_source_find("text")->config_table, &config);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(dataset_text, .init = setup, .fini = teardown);

static void load(void)
{
    gs_data_config data = {.source = gs_data_source_find("text")};
    memcpy(data.source_config, &config, sizeof config);
    cr_assert_eq(gs_data_load(&data, GS_TEST_SOURCE_DIR, &arena, &text, &err), GS_OK, "%s",
                 err.text);
}

/* Entropies in bits of a character and of one given the one before it, from counts over windows of
 * one character: row r is (character r, character r + 1). */
static void measure(double *out_single, double *out_pair)
{
    static double single[256];
    static double before[256];
    static double pair[256][256];
    memset(single, 0, sizeof single);
    memset(before, 0, sizeof before);
    memset(pair, 0, sizeof pair);
    int64_t last = text.row_count - 1;
    for (int64_t r = 0; r < text.row_count; r++) {
        single[text.tokens[r]]++;
        before[text.tokens[r]]++;
        pair[text.tokens[r]][text.labels[r]]++;
    }
    single[text.labels[last]]++;
    *out_single = 0.0;
    *out_pair = 0.0;
    double rows = (double)text.row_count;
    for (int a = 0; a < 256; a++) {
        double share = single[a] / (rows + 1.0);
        *out_single -= single[a] > 0.0 ? share * log2(share) : 0.0;
        for (int b = 0; b < 256; b++) {
            if (pair[a][b] > 0.0) {
                *out_pair -= pair[a][b] / rows * log2(pair[a][b] / before[a]);
            }
        }
    }
}

/* The values that come with the text: datasets/README.md of the shared data. */
Test(dataset_text, the_shared_text_has_the_published_entropies)
{
    double single = 0.0;
    double pair = 0.0;
    cr_assert_eq(gs_config_set_text(gs_data_source_find("text")->config_table, &config, "file",
                                    test_data_path("datasets/kjv_1m.txt"), &err),
                 GS_OK);
    config.context = 1;
    load();
    cr_expect_eq(text.row_count, 1043563);
    cr_expect_eq(text.shape.answer_width, 73);
    measure(&single, &pair);
    cr_expect_float_eq(single, 4.4385, 0.00005, "%.5f", single);
    cr_expect_float_eq(pair, 3.2768, 0.00005, "%.5f", pair);
}

/* models/data/README.md says what the bundled text is. */
Test(dataset_text, the_bundled_text_is_the_one_that_was_published)
{
    static const char begins[] = "Genesis 1\n1 In the beginning";
    load();
    cr_expect_eq(text.row_count, 155396 / 32);
    cr_expect_eq(text.test_count, 486); /* a tenth of 4856, rounded up */
    cr_expect_eq(text.train_count, 4370);
    cr_expect_eq(text.shape.answer_width, 70);
    cr_expect_eq(text.shape.answer_count, 32);
    cr_expect(text.shape.is_tokens);
    for (size_t i = 0; i < sizeof begins - 1; i++) {
        cr_expect_eq(text.vocabulary[text.tokens[i]], begins[i]);
    }
}

static void parse(const char *of)
{
    cr_assert_eq(gs_text_parse(of, strlen(of), "t", &config, &arena, &text, &err), GS_OK, "%s",
                 err.text);
}

static void refuse(const char *of, size_t length, gs_status code, const char *wanted)
{
    err.text[0] = '\0';
    cr_expect_eq(gs_text_parse(of, length, "t", &config, &arena, &text, &err), code);
    cr_expect_str_eq(err.text, wanted);
}

/* "abcabcabcab": 11 bytes, windows of 3 and a last byte: rows abc|bca, abc|bca, abc|bca; the last
 * is for testing and the rest is not used. */
Test(dataset_text, windows_touch_and_answers_are_the_next_characters)
{
    config.context = 3;
    parse("abcabcabcab");
    cr_expect(text.row_count == 3 && text.train_count == 2 && text.test_count == 1);
    cr_expect_eq(text.shape.answer_width, 3);
    cr_expect(text.input_stride == 3 && text.answer_stride == 3);
    for (int64_t r = 0; r < 3; r++) {
        cr_expect_eq(text.split[r], r);
        for (int64_t i = 0; i < 3; i++) {
            cr_expect_eq(text.tokens[r * text.input_stride + i], i);
            cr_expect_eq(text.labels[r * text.answer_stride + i], (i + 1) % 3);
        }
    }
}

Test(dataset_text, a_stated_vocabulary_takes_bytes_as_they_are)
{
    config.context = 1;
    config.vocabulary = 128;
    parse("az\n");
    cr_expect_eq(text.shape.answer_width, 128);
    cr_expect(text.tokens[0] == 'a' && text.labels[0] == 'z' && text.labels[1] == '\n');
    cr_expect_eq(text.vocabulary['z'], 'z');
    refuse("ab\x80", 3, GS_EPARSE,
           "t: offset 2: byte 0x80; expected below 128, the vocabulary that is set; say vocabulary "
           "256 for all bytes");
    config.vocabulary = 256;
    parse("ab\x80\xff");
    cr_expect_eq(text.labels[2], 255);
    config.vocabulary = 1;
    refuse("ab", 2, GS_EINVAL, "vocabulary 1 is no choice; say 0, or 2 to 256");
}

/* "ababababaq": 9 windows of 1, the last one for testing; its answer q was in no training. */
Test(dataset_text, a_character_that_only_the_test_part_has_is_refused_with_its_place)
{
    config.context = 1;
    refuse("ababababaq", 10, GS_EPARSE,
           "t: offset 9: byte 0x71 is only in the last tenth, which is for testing; take it out or "
           "say vocabulary 256");
}

Test(dataset_text, texts_without_enough_to_predict_are_refused)
{
    refuse("short", 5, GS_EPARSE,
           "t: 5 bytes; expected at least 65, two windows of 32 characters and one more; lower "
           "context or take a longer text");
    config.context = 1;
    refuse("", 0, GS_EPARSE,
           "t: 0 bytes; expected at least 3, two windows of 1 characters and one more; lower "
           "context or take a longer text");
    refuse("aaaa", 4, GS_EPARSE,
           "t: offset 0: a single distinct byte; expected two, or there is nothing to predict");
}

Test(dataset_text, each_request_for_memory_may_fail)
{
    config.context = 1;
    for (int64_t n = 0; n < 3; n++) {
        gs_arena poor;
        gs_arena_init(&poor);
        poor.fail_after = n;
        cr_expect_eq(gs_text_parse("abab", 4, "t", &config, &poor, &text, &err), GS_ENOMEM);
        cr_expect_str_eq(err.text, "t: out of memory for its rows");
        gs_arena_fini(&poor);
    }
}
