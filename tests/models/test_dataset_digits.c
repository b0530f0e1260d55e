#include <criterion/criterion.h>

#include "models/dataset_digits.h"
#include "models/dataset_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gs_arena arena;
static gs_dataset digits;

static const gs_data_source *source(void)
{
    return gs_data_source_find("digits");
}

static void setup(void)
{
    gs_arena_init(&arena);
    gs_error err;
    cr_assert_eq(source()->read(NULL, GS_TEST_SOURCE_DIR, &arena, &digits, &err), GS_OK, "%s",
                 err.text);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(dataset_digits, .init = setup, .fini = teardown);

/* The sums that come with the data: models/data/README.md. */
Test(dataset_digits, digits_are_the_ones_that_were_published)
{
    static const int64_t wanted[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    cr_assert_eq(digits.row_count, 1797);
    cr_expect_eq(digits.train_count, 1437);
    cr_expect_eq(digits.test_count, 360);
    cr_expect_eq(gs_extent_count(digits.shape.input), 64);
    double sum = 0; /* of sixteenths up to 1: exact */
    for (int64_t i = 0; i < digits.row_count * 64; i++) {
        sum += (double)digits.inputs[i];
    }
    cr_expect(sum * 16 == 561718.0, "%g", sum * 16);
    int64_t counts[10] = {0};
    for (int64_t i = 0; i < digits.row_count; i++) {
        counts[digits.labels[i]]++;
    }
    cr_expect(memcmp(counts, wanted, sizeof counts) == 0);
    for (int i = 0; i < 10; i++) {
        cr_expect_eq(digits.labels[i], i); /* the first ten rows are 0 to 9 in turn */
    }
    cr_expect(digits.inputs[2] == 5.0F / 16 && digits.inputs[3] == 13.0F / 16); /* 0,0,5,13,... */
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

Test(dataset_digits, the_split_holds_every_row_once_and_every_class_on_both_sides)
{
    static uint32_t rows[1797];
    memcpy(rows, digits.split, sizeof rows);
    qsort(rows, 1797, sizeof rows[0], compare);
    for (uint32_t i = 0; i < 1797; i++) {
        cr_assert_eq(rows[i], i);
    }
    int64_t counts[10] = {0};
    for (int64_t i = 0; i < 360; i++) {
        counts[digits.labels[digits.split[1437 + i]]]++;
    }
    /* 36 expected in each class, standard deviation 5.1: 4 of them either way. */
    for (int c = 0; c < 10; c++) {
        cr_expect(counts[c] > 15 && counts[c] < 57, "class %d: %d", c, (int)counts[c]);
    }
}

Test(dataset_digits, the_split_never_changes)
{
    /* Results of different versions are compared on the same test set: these are the first rows of
     * the two sides as they were when the set was split. */
    const uint32_t first_train[4] = {531, 1636, 1205, 1222};
    const uint32_t first_test[4] = {1471, 551, 59, 1265};
    cr_expect(memcmp(digits.split, first_train, sizeof first_train) == 0, "%u %u %u %u",
              digits.split[0], digits.split[1], digits.split[2], digits.split[3]);
    cr_expect(memcmp(digits.split + 1437, first_test, sizeof first_test) == 0, "%u %u %u %u",
              digits.split[1437], digits.split[1438], digits.split[1439], digits.split[1440]);
}

#define ROW_OF(label)                                                                              \
    EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT label
#define EIGHT "0,1,2,3,4,5,6,16"

static void expect_error(const char *text, size_t length, gs_status code, const char *wanted)
{
    gs_dataset parsed;
    gs_error err = {.code = GS_OK};
    gs_status status = gs_digits_parse(text, length, "d.csv", &arena, &parsed, &err);
    cr_expect_eq(status, code, "%s", wanted);
    cr_expect_str_eq(err.text, wanted);
}

static void refuse(const char *text, const char *wanted)
{
    expect_error(text, strlen(text), GS_EPARSE, wanted);
}

Test(dataset_digits, two_rows_are_enough_with_or_without_a_last_line_end)
{
    const char *texts[2] = {ROW_OF(",7\n") ROW_OF(",0\n"), ROW_OF(",7\n") ROW_OF(",0")};
    for (int i = 0; i < 2; i++) {
        gs_dataset parsed;
        gs_error err;
        cr_assert_eq(gs_digits_parse(texts[i], strlen(texts[i]), "d.csv", &arena, &parsed, &err),
                     GS_OK, "%s", err.text);
        cr_expect_eq(parsed.row_count, 2);
        cr_expect_eq(parsed.train_count, 1);
        cr_expect_eq(parsed.test_count, 1);
        cr_expect(parsed.labels[0] == 7 && parsed.labels[1] == 0);
        cr_expect(parsed.inputs[71] == 1.0F && parsed.inputs[70] == 0.375F);
    }
}

Test(dataset_digits, files_without_enough_rows_are_refused)
{
    refuse("", "d.csv: empty; at least two rows are needed, one to train and one to test with");
    refuse(ROW_OF(",7\n"),
           "d.csv: a single row; at least two rows are needed, one to train and one to test with");
}

Test(dataset_digits, rows_with_other_columns_are_refused)
{
    refuse(ROW_OF(",7\n") ROW_OF("\n"),
           "d.csv: line 2: 64 columns; a row is 64 pixels and a label, with commas between them");
    refuse(ROW_OF(",7,1\n") ROW_OF(",0\n"),
           "d.csv: line 1: 66 columns; a row is 64 pixels and a label, with commas between them");
    refuse(ROW_OF(",7\n") "\n" ROW_OF(",0\n"),
           "d.csv: line 2: 1 columns; a row is 64 pixels and a label, with commas between them");
}

Test(dataset_digits, values_out_of_range_are_refused)
{
    refuse("17,1,2,3,4,5,6,16," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT
           ",7\n" ROW_OF(",0\n"),
           "d.csv: line 1: column 1: pixel \"17\" is no whole number in 0..16");
    refuse(ROW_OF(",7\n") "0,-1,2,3,4,5,6,16," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT
                          "," EIGHT "," EIGHT ",7\n",
           "d.csv: line 2: column 2: pixel \"-1\" is no whole number in 0..16");
    refuse(ROW_OF(",10\n") ROW_OF(",0\n"),
           "d.csv: line 1: column 65: label \"10\" is no whole number in 0..9");
    refuse(ROW_OF(",99999999999999999999\n") ROW_OF(",0\n"),
           "d.csv: line 1: column 65: label \"99999999999999999999\" is no whole number in 0..9");
}

Test(dataset_digits, values_that_are_no_whole_numbers_are_refused)
{
    refuse("0,nan,2,3,4,5,6,16," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT
           ",7\n" ROW_OF(",0\n"),
           "d.csv: line 1: column 2: pixel \"nan\" is no whole number in 0..16");
    refuse("0,1,2.0,3,4,5,6,16," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT "," EIGHT
           ",7\n" ROW_OF(",0\n"),
           "d.csv: line 1: column 3: pixel \"2.0\" is no whole number in 0..16");
    refuse(ROW_OF(",\n") ROW_OF(",0\n"),
           "d.csv: line 1: column 65: label \"\" is no whole number in 0..9");
    refuse(ROW_OF(",7\r\n") ROW_OF(",0\r\n"),
           "d.csv: line 1: column 65: label \"7?\" is no whole number in 0..9");
    const char nul[] = ROW_OF(",\0\n") ROW_OF(",0\n");
    expect_error(nul, sizeof nul - 1, GS_EPARSE,
                 "d.csv: line 1: column 65: label \"?\" is no whole number in 0..9");
}

Test(dataset_digits, each_request_for_memory_may_fail)
{
    const char *text = ROW_OF(",7\n") ROW_OF(",0\n");
    for (int64_t n = 0; n < 3; n++) {
        gs_arena poor;
        gs_arena_init(&poor);
        poor.fail_after = n;
        gs_dataset parsed;
        gs_error err;
        cr_expect_eq(gs_digits_parse(text, strlen(text), "d.csv", &poor, &parsed, &err), GS_ENOMEM);
        cr_expect_str_eq(err.text, "d.csv: out of memory for its rows");
        gs_arena_fini(&poor);
    }
}

Test(dataset_digits, a_missing_file_is_named)
{
    gs_dataset parsed;
    gs_error err;
    cr_expect_eq(source()->read(NULL, "nowhere/at/all", &arena, &parsed, &err), GS_ENOTFOUND);
    cr_expect_str_eq(err.text, "nowhere/at/all/models/data/digits.csv: cannot be opened; the data "
                               "directory holds models/data");
}
