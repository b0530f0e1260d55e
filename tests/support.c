/* The helpers of support.h, linked into each test. */
#include "tests/support.h"

#include <criterion/criterion.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEMP_FILES_MAX = 64 };

static char temp_paths[TEMP_FILES_MAX][TEST_PATH_BYTES];
static size_t temp_count;

const char *test_data_path(const char *relative)
{
    static char path[TEST_PATH_BYTES];
    const char *root = getenv("GRADSYNC_TEST_DATA");
    if (root == NULL || root[0] == '\0') {
        root = GS_TEST_SOURCE_DIR "/../shared";
    }
    snprintf(path, sizeof path, "%s/%s", root, relative);
    if (access(path, R_OK) != 0) {
        fprintf(stderr, "skipped: no ../shared (%s); set GRADSYNC_TEST_DATA\n", path);
        cr_skip_test("no %s", path);
    }
    return path;
}

static void remove_temp_files(void)
{
    for (size_t i = 0; i < temp_count; i++) {
        remove(temp_paths[i]);
    }
}

void test_temp_path(char path[TEST_PATH_BYTES])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, TEST_PATH_BYTES, "%s/gradsync-test-XXXXXX", folder == NULL ? "/tmp" : folder);
    int file = mkstemp(path);
    cr_assert(file >= 0, "no temporary file in %s", path);
    close(file);
    cr_assert(temp_count < TEMP_FILES_MAX);
    if (temp_count == 0) {
        atexit(remove_temp_files);
    }
    snprintf(temp_paths[temp_count++], TEST_PATH_BYTES, "%s", path);
}

void test_temp_file(char path[TEST_PATH_BYTES], const void *bytes, size_t length)
{
    test_temp_path(path);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    size_t written = fwrite(bytes, 1, length, file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(written, length);
}

/* --- allocations that fail: the linker sends our code's calls here (--wrap) ------------------ */

static int64_t allocations_left = -1;

void test_fail_allocations(int64_t after)
{
    allocations_left = after;
}

static bool may_allocate(void)
{
    if (allocations_left == 0) {
        return false;
    }
    allocations_left -= allocations_left > 0;
    return true;
}

/* The names are the linker's. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t bytes)
{
    return may_allocate() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return may_allocate() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return may_allocate() ? __real_realloc(memory, bytes) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return may_allocate() ? __real_aligned_alloc(alignment, bytes) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return may_allocate() ? __real_strdup(text) : NULL;
}
