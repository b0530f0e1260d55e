/* Assertions for programmer errors; never for input. On in every build, also in release.
 * GS_ASSERT_SLOW is for O(n) invariants: on in debug builds and in the tests. */
#ifndef GS_BASE_ASSERT_H
#define GS_BASE_ASSERT_H

#include <stdbool.h>

/* Prints "file:line: assertion failed: text" and aborts. */
_Noreturn void gs_assert_failed(const char *text, const char *file, int line);

#define GS_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : gs_assert_failed(#condition, __FILE__, __LINE__))

#ifdef GS_SLOW_CHECKS
#define GS_ASSERT_SLOW(condition) GS_ASSERT(condition)
#else
#define GS_ASSERT_SLOW(condition) ((void)sizeof(condition))
#endif

#endif
