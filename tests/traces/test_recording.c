#include <criterion/criterion.h>

#include "base/hash.h"
#include "tests/support.h"
#include "traces/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORDS = 40,
    UNITS = 3,
    HEAD_HASH = 168,
    HEAD_BYTES = HEAD_HASH + 8 + 8 * UNITS,
    RECORD_BYTES = 32
};

static const gs_recording_about about = {.strategy = "allreduce",
                                         .seed = 0x123456789abcdef0,
                                         .elements = 9610,
                                         .batch_per_rank = 32,
                                         .budget_steps = 3,
                                         .cut_step = -1,
                                         .weights_hash = 0xfeedfacecafebeef,
                                         .ranks = 3,
                                         .servers = 1,
                                         .units = UNITS};
static const int64_t unit_elements[UNITS] = {9000, 600, 10};

static gs_recording made;
static char path[TEST_PATH_BYTES];

static void setup(void)
{
    gs_error err;
    cr_assert_eq(gs_recording_init(&made, &about, &err), GS_OK);
    cr_expect_eq(made.about.units, 0);
    cr_assert_eq(gs_recording_set_units(&made, unit_elements, UNITS, &err), GS_OK);
    for (int i = 0; i < RECORDS; i++) {
        gs_input_record record = {
            .at_ns = 1000 + 10 * i,
            .sequence = (uint64_t)i / 4,
            .entity = {i % 4 == 3 ? GS_SERVER : GS_WORKER, (uint16_t)(i % 4 == 3 ? 0 : i % 4)},
            .kind = (uint8_t)(i % GS_INPUT_KIND_COUNT)};
        cr_assert_eq(gs_recording_add(&made, &record), GS_OK);
    }
    test_temp_path(path);
}

static void teardown(void)
{
    gs_recording_fini(&made);
}

TestSuite(recording, .init = setup, .fini = teardown);

Test(recording, times_ascend_strictly_whatever_the_clock_says)
{
    gs_input_record record = {.at_ns = 5, .entity = {GS_WORKER, 0}};
    cr_assert_eq(gs_recording_add(&made, &record), GS_OK);
    cr_expect_eq(record.at_ns, 1000 + 10 * (RECORDS - 1) + 1);
}

static gs_status read_back(gs_recording *out, gs_error *err)
{
    return gs_recording_read(path, out, err);
}

Test(recording, what_is_written_is_read)
{
    gs_recording read;
    gs_error err;
    cr_assert_eq(gs_recording_write(&made, path, &err), GS_OK, "%s", err.text);
    cr_assert_eq(read_back(&read, &err), GS_OK, "%s", err.text);
    cr_assert_eq(read.count, RECORDS);
    cr_expect_eq(memcmp(&read.about, &about, sizeof about), 0);
    cr_expect_eq(memcmp(read.unit_elements, unit_elements, sizeof unit_elements), 0);
    cr_expect_eq(memcmp(read.records, made.records, RECORDS * sizeof *made.records), 0);
    gs_recording_fini(&read);
}

/* The file's bytes; owner: caller. */
static unsigned char *bytes_of(size_t *out_length)
{
    gs_error err;
    cr_assert_eq(gs_recording_write(&made, path, &err), GS_OK, "%s", err.text);
    FILE *in = fopen(path, "rb");
    unsigned char *bytes = malloc(65536);
    cr_assert(in != NULL && bytes != NULL);
    *out_length = fread(bytes, 1, 65536, in);
    (void)fclose(in);
    return bytes;
}

static gs_status read_bytes(const unsigned char *bytes, size_t length, gs_error *err)
{
    gs_recording read;
    FILE *out = fopen(path, "wb");
    cr_assert(out != NULL);
    cr_assert_eq(fwrite(bytes, 1, length, out), length);
    (void)fclose(out);
    gs_status status = read_back(&read, err);
    if (status == GS_OK) {
        gs_recording_fini(&read);
    }
    return status;
}

Test(recording, one_flipped_bit_anywhere_is_refused)
{
    size_t length;
    unsigned char *bytes = bytes_of(&length);
    cr_assert_eq(length, HEAD_BYTES + RECORDS * RECORD_BYTES + 8);
    for (size_t i = 0; i < length; i += 3) {
        gs_error err;
        bytes[i] ^= (unsigned char)(1 << i % 8);
        gs_status status = read_bytes(bytes, length, &err);
        cr_expect(status == GS_EPARSE || status == GS_EVERSION, "byte %zu: %d", i, status);
        bytes[i] ^= (unsigned char)(1 << i % 8);
    }
    free(bytes);
}

Test(recording, a_shorter_file_and_a_longer_one_are_refused)
{
    size_t length;
    unsigned char *bytes = bytes_of(&length);
    gs_error err;
    for (size_t i = 0; i < length; i += 5) {
        cr_expect_eq(read_bytes(bytes, i, &err), GS_EPARSE, "%zu bytes", i);
    }
    bytes[length] = 0;
    cr_expect_eq(read_bytes(bytes, length + 1, &err), GS_EPARSE);
    free(bytes);
}

Test(recording, damage_is_named_with_its_place)
{
    size_t length;
    unsigned char *bytes = bytes_of(&length);
    gs_error err;
    bytes[HEAD_BYTES + 7 * RECORD_BYTES + 8] ^= 1; /* sequence of record 7 */
    cr_expect_eq(read_bytes(bytes, length, &err), GS_EPARSE);
    /* 176 + 3 * 8 + 7 * 32 = 424 */
    cr_expect(strstr(err.text, "byte 424 (record 7): the file is damaged: does not follow from "
                               "those before it") != NULL,
              "%s", err.text);
    free(bytes);
}

Test(recording, another_version_is_named)
{
    size_t length;
    unsigned char *bytes = bytes_of(&length);
    gs_error err;
    bytes[16] = 9;
    cr_expect_eq(read_bytes(bytes, length, &err), GS_EVERSION);
    cr_expect(strstr(err.text, "recording version 9; this program reads versions 3 to 4") != NULL,
              "%s", err.text);
    cr_expect_eq(gs_recording_read("/nonexistent/recording", &made, &err), GS_ENOTFOUND);
    free(bytes);
}

/* Of 200 kB: it is read in pieces of 64 KiB. */
Test(recording, what_it_is_of_is_kept)
{
    gs_recording read;
    gs_error err;
    static char text[200001];
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        text[i] = (char)('a' + i % 23);
    }
    cr_assert_eq(gs_recording_set_origin(&made, text, &err), GS_OK);
    cr_assert_eq(gs_recording_write(&made, path, &err), GS_OK, "%s", err.text);
    cr_assert_eq(read_back(&read, &err), GS_OK, "%s", err.text);
    cr_expect_str_eq(read.origin, text);
    cr_expect_eq(memcmp(read.records, made.records, RECORDS * sizeof *made.records), 0);
    gs_recording_fini(&read);
    cr_assert_eq(gs_recording_set_origin(&made, NULL, &err), GS_OK);
    cr_expect_null(made.origin);
}

/* The head's hash is over its version too: XXH3 of the first 168 bytes, at 168. */
Test(recording, version_3_is_read_without_it)
{
    size_t length;
    unsigned char *bytes = bytes_of(&length);
    gs_error err;
    uint64_t hash;
    bytes[16] = 3;
    hash = gs_hash(0, bytes, HEAD_HASH);
    memcpy(bytes + HEAD_HASH, &hash, sizeof hash);
    hash = gs_hash(hash, unit_elements, sizeof unit_elements);
    hash = gs_hash(hash, made.records, RECORDS * sizeof *made.records);
    memcpy(bytes + length - sizeof hash, &hash, sizeof hash);
    cr_expect_eq(read_bytes(bytes, length, &err), GS_OK, "%s", err.text);
    free(bytes);
}
