/* One loop for two widths of registers. The body is inlined into a function for processors with
 * AVX2 and into one for all others; which one runs is asked at each call, by a look at a word that
 * was filled at start. The bits are the same: elements do not meet, and AVX2 alone has no fused
 * multiply-add.
 *
 *     GS_WIDE_BODY void f_body(float *x, size_t n) { ... }
 *     GS_WIDE static void f_wide(float *x, size_t n) { f_body(x, n); }
 *     void f(float *x, size_t n) { GS_IS_WIDE ? f_wide(x, n) : f_body(x, n); } */
#ifndef GS_BASE_WIDE_H
#define GS_BASE_WIDE_H

#include <stdbool.h>

#define GS_WIDE_BODY static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define GS_WIDE    __attribute__((target("avx2")))
#define GS_IS_WIDE (__builtin_cpu_supports("avx2") != 0)
#else
#define GS_WIDE
#define GS_IS_WIDE false
#endif

#endif
