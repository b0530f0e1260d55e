/* What every test may need: the shared real-world data, and files that vanish with the test. */
#ifndef GS_TESTS_SUPPORT_H
#define GS_TESTS_SUPPORT_H

#include <criterion/criterion.h>

#include <stddef.h>
#include <stdint.h>

/* cr_assert for loops: says nothing on success, where cr_assert writes to the runner each time
 * (about 25 us in a debug build). The format is required. */
#define TEST_REQUIRE(condition, ...)                                                               \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            cr_assert_fail(__VA_ARGS__);                                                           \
        }                                                                                          \
    } while (0)

enum { TEST_PATH_BYTES = 1024 };

/* Path of a file or folder under the shared data: $GRADSYNC_TEST_DATA, by default ../shared beside
 * the source tree. Where it is not there, says so on standard error and skips the calling test.
 * Owner: static storage; the next call overwrites it. */
const char *test_data_path(const char *relative);

/* Writes length bytes into a new file and its name into path; the file is removed when the test's
 * process ends. Fails the calling test where it cannot. */
void test_temp_file(char path[TEST_PATH_BYTES], const void *bytes, size_t length);

/* The same name rules for a file that the code under test is to create. */
void test_temp_path(char path[TEST_PATH_BYTES]);

/* Lets `after` more allocations of our own code succeed (malloc, calloc, realloc, aligned_alloc and
 * strdup; not those inside shared libraries), and fails each one from then on; < 0: none fails. */
void test_fail_allocations(int64_t after);

#endif
