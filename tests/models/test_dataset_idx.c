#include <criterion/criterion.h>

#include "models/dataset_idx.h"
#include "models/task_config.h"
#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gs_arena arena;
static gs_dataset set;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(dataset_idx, .init = setup, .fini = teardown);

/* ---------------------------------------------------------------- real files */

static void name_file(gs_data_config *config, const char *key, const char *file)
{
    cr_assert_eq(
        gs_config_set_text(config->source->config_table, config->source_config, key, file, &err),
        GS_OK, "%s", err.text);
}

static gs_data_config config_of(const char *images, const char *labels)
{
    gs_data_config config = {.source = gs_data_source_find("idx")};
    gs_config_defaults(config.source->config_table, config.source_config);
    name_file(&config, "images", images);
    name_file(&config, "labels", labels);
    return config;
}

static void expect_set(const uint8_t *pixels, const uint8_t *labels, int64_t rows, int64_t sum,
                       const int64_t classes[10], const char *first_labels)
{
    int64_t found_sum = 0;
    int64_t counts[10] = {0};
    for (int64_t i = 0; i < rows * 784; i++) {
        found_sum += pixels[i];
    }
    for (int64_t i = 0; i < rows; i++) {
        counts[labels[i]]++;
    }
    cr_expect_eq(found_sum, sum, "%lld", (long long)found_sum);
    cr_expect(memcmp(counts, classes, sizeof counts) == 0);
    for (int i = 0; i < 10; i++) {
        cr_expect_eq(labels[i], first_labels[i] - '0');
    }
}

/* The sums that come with the data: datasets/README.md of the shared data. */
Test(dataset_idx, fashion_mnist_is_the_one_that_was_published)
{
    static const int64_t train[10] = {560, 643, 608, 612, 584, 594, 590, 617, 590, 602};
    static const int64_t test[10] = {107, 105, 111, 93, 115, 87, 97, 95, 95, 95};
    gs_data_config config = config_of("", "");
    name_file(&config, "images", test_data_path("datasets/fashion_train6000-images-idx3-ubyte"));
    name_file(&config, "labels", test_data_path("datasets/fashion_train6000-labels-idx1-ubyte"));
    name_file(&config, "test_images",
              test_data_path("datasets/fashion_test1000-images-idx3-ubyte"));
    name_file(&config, "test_labels",
              test_data_path("datasets/fashion_test1000-labels-idx1-ubyte"));
    cr_assert_eq(gs_data_load(&config, "", &arena, &set, &err), GS_OK, "%s", err.text);
    cr_expect_eq(set.train_count, 6000);
    cr_expect_eq(set.test_count, 1000);
    cr_expect(set.shape.input.height == 28 && set.shape.input.width == 28);
    expect_set(set.pixels, set.labels, 6000, 342670278, train, "9003027255");
    expect_set(set.pixels + 6000 * 784, set.labels + 6000, 1000, 58034149, test, "9211614657");
    cr_expect_eq(set.split[0], 0); /* they come split: train rows first */
    cr_expect_eq(set.split[6000], 6000);
}

Test(dataset_idx, mnist_without_test_files_is_split_one_in_five)
{
    static const int64_t wanted[10] = {200, 200, 200, 200, 200, 200, 200, 200, 200, 200};
    gs_data_config config = config_of("", "");
    name_file(&config, "images", test_data_path("datasets/mnist2000-images-idx3-ubyte"));
    name_file(&config, "labels", test_data_path("datasets/mnist2000-labels-idx1-ubyte"));
    cr_assert_eq(gs_data_load(&config, "", &arena, &set, &err), GS_OK, "%s", err.text);
    cr_expect_eq(set.train_count, 1600);
    cr_expect_eq(set.test_count, 400);
    expect_set(set.pixels, set.labels, 2000, 52668175, wanted, "0123456789");
}

/* ---------------------------------------------------------------- small ones */

enum { ROWS = 5, PIXELS = 6, IMAGES_BYTES = 16 + ROWS * PIXELS, LABELS_BYTES = 8 + ROWS };

/* Five images of 2 x 3 pixels, and their labels. */
static char images[IMAGES_BYTES + 1], labels[LABELS_BYTES + 1];
static gs_idx_files files;

static void make(void)
{
    memset(images, 0, sizeof images);
    memset(labels, 0, sizeof labels);
    memcpy(images, "\0\0\x08\x03\0\0\0\5\0\0\0\2\0\0\0\3", 16);
    memcpy(labels, "\0\0\x08\x01\0\0\0\5", 8);
    for (int i = 0; i < ROWS * PIXELS; i++) {
        images[16 + i] = (char)(i * 8 + 15);
    }
    for (int i = 0; i < ROWS; i++) {
        labels[8 + i] = (char)(9 - i);
    }
    files = (gs_idx_files){.images = {"i", images, IMAGES_BYTES},
                           .labels = {"l", labels, LABELS_BYTES},
                           .classes = 10};
}

static void refuse(gs_status code, const char *wanted)
{
    err.text[0] = '\0';
    cr_expect_eq(gs_idx_parse(&files, &arena, &set, &err), code);
    cr_expect_str_eq(err.text, wanted);
}

Test(dataset_idx, a_small_file_is_read)
{
    make();
    cr_assert_eq(gs_idx_parse(&files, &arena, &set, &err), GS_OK, "%s", err.text);
    cr_expect_eq(set.row_count, 5);
    cr_expect_eq(set.test_count, 1);
    cr_expect(set.shape.input.channels == 1 && set.shape.input.height == 2 &&
              set.shape.input.width == 3);
    cr_expect_eq(set.input_stride, PIXELS);
    cr_expect(set.pixels[0] == 15 && set.pixels[29] == 247);
    cr_expect(set.labels[0] == 9 && set.labels[4] == 5);
}

Test(dataset_idx, heads_that_are_none_are_refused)
{
    make();
    files.images.length = 15;
    refuse(GS_EPARSE, "i: 15 bytes; an IDX file of images begins with a head of 16 bytes");
    make();
    files.labels.length = 0;
    refuse(GS_EPARSE, "l: 0 bytes; an IDX file of labels begins with a head of 8 bytes");
    make();
    images[3] = 4;
    refuse(GS_EPARSE,
           "i: offset 0: magic number 0x00000804; expected 0x00000803, an IDX file of images");
    make();
    files.images = files.labels;
    files.images.length = 16;
    refuse(GS_EPARSE,
           "l: offset 0: magic number 0x00000801; expected 0x00000803, an IDX file of images "
           "(images and labels may be exchanged)");
    make();
    images[7] = 0;
    refuse(GS_EPARSE, "i: offset 4: count is 0; at least one of images is needed");
}

Test(dataset_idx, files_that_are_cut_or_go_on_are_refused)
{
    make();
    files.images.length -= 1;
    refuse(GS_EPARSE, "i: 45 bytes; expected 46 by its head, 5 times 6 after 16: it is cut");
    files.images.length += 2;
    refuse(GS_EPARSE,
           "i: 47 bytes; expected 46 by its head, 5 times 6 after 16: it goes on behind its end");
    make();
    files.labels.length += 1;
    refuse(GS_EPARSE,
           "l: 14 bytes; expected 13 by its head, 5 times 1 after 8: it goes on behind its end");
}

Test(dataset_idx, counts_sizes_and_labels_that_do_not_fit_are_refused)
{
    make();
    labels[7] = 4;
    refuse(GS_EPARSE, "l: offset 4: 4 labels; expected 5, one for each image of i");
    make();
    labels[10] = 10;
    refuse(GS_EPARSE, "l: offset 10: label 10; expected 0 to 9, as classes is 10");
    make();
    files.classes = 8;
    refuse(GS_EPARSE, "l: offset 8: label 9; expected 0 to 7, as classes is 8");
    make();
    images[11] = 0;
    refuse(GS_EPARSE, "i: offset 8: images of 0 x 3 pixels hold none");
    make();
    images[10] = 0x10;
    images[11] = 1;
    refuse(GS_ELIMIT, "i: offset 8: images of 4097 x 3 pixels; at most 4096 x 4096");
    make();
    images[7] = labels[7] = 1;
    files.images.length = 16 + PIXELS;
    files.labels.length = 9;
    refuse(GS_EPARSE, "i: offset 4: a single image; expected two, one to train and one to test "
                      "with, or test_images");
}

Test(dataset_idx, test_files_have_images_of_the_same_size)
{
    static char other[16 + 6];
    static char other_labels[9];
    make();
    memcpy(other, "\0\0\x08\x03\0\0\0\1\0\0\0\3\0\0\0\2", 16);
    memcpy(other_labels, "\0\0\x08\x01\0\0\0\1\7", 9);
    files.test_images = (gs_idx_file){"ti", other, sizeof other};
    files.test_labels = (gs_idx_file){"tl", other_labels, sizeof other_labels};
    refuse(GS_EPARSE, "ti: offset 8: images of 3 x 2 pixels; expected 2 x 3 as in i");
    other[11] = 2;
    other[15] = 3;
    cr_assert_eq(gs_idx_parse(&files, &arena, &set, &err), GS_OK, "%s", err.text);
    cr_expect(set.train_count == 5 && set.test_count == 1);
    cr_expect_eq(set.labels[5], 7);
}

Test(dataset_idx, test_files_belong_together_and_files_must_be_there)
{
    gs_data_config config = config_of("a", "b");
    name_file(&config, "test_labels", "c");
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "test_images and test_labels belong together: say both, or none to "
                               "test with one image in five");
    config = config_of("nowhere/at/all", "b");
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_ENOTFOUND);
    cr_expect_str_eq(err.text, "nowhere/at/all: cannot be opened; paths are relative to the "
                               "scenario that says them");
    config = config_of(GS_TEST_SOURCE_DIR, "b");
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_EIO);
    cr_expect_str_eq(err.text, GS_TEST_SOURCE_DIR ": is no regular file");
    config = config_of("", "b");
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_EINVAL);
}

/* Who opens a FIFO that nobody writes to as a file waits for ever. */
Test(dataset_idx, what_is_no_file_is_refused_at_once, .timeout = 10)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, "", 0);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    gs_data_config config = config_of(path, "b");
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_EIO);
    cr_expect(strstr(err.text, ": is no regular file") != NULL, "%s", err.text);
    unlink(path);
    config = config_of(GS_TEST_SOURCE_DIR "/LICENSE/x", "b");
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_EIO);
    cr_expect_str_eq(err.text, GS_TEST_SOURCE_DIR "/LICENSE/x: cannot be opened: Not a directory");
}

Test(dataset_idx, a_packed_file_is_named_as_such)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, "\x1f\x8b\x08\0", 4);
    gs_data_config config = config_of(path, path);
    cr_expect_eq(gs_data_load(&config, "", &arena, &set, &err), GS_EPARSE);
    cr_expect(strstr(err.text, ": is compressed by gzip; unpack it first") != NULL, "%s", err.text);
}

Test(dataset_idx, each_request_for_memory_may_fail)
{
    make();
    for (int64_t n = 0; n < 3; n++) {
        gs_arena poor;
        gs_arena_init(&poor);
        poor.fail_after = n;
        cr_expect_eq(gs_idx_parse(&files, &poor, &set, &err), GS_ENOMEM);
        cr_expect_str_eq(err.text, "i: out of memory for its rows");
        gs_arena_fini(&poor);
    }
}
