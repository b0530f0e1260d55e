/* exp and log for loops over many numbers: the same bits on every processor and from every
 * compiler, one by one and side by side.
 *
 * Sums, products, quotients and bits of the number, in one order, without a branch or a table, so
 * that a compiler takes several numbers at a time wherever the caller's loop lets it; libm promises
 * neither. Both are the first terms of their series on a short stretch around 0: relative errors
 * are below 4e-16 (tests/base/test_elementary.c). */
#ifndef GS_BASE_ELEMENTARY_H
#define GS_BASE_ELEMENTARY_H

#include "base/wide.h"

#include <stdint.h>
#include <string.h>

/* ln 2 in two parts, of which the first has 21 bits to spare: its product with an exponent is
 * exact. */
#define GS_LN2_HIGH 0x1.62e42fee00000p-1
#define GS_LN2_LOW  0x1.a39ef35793c76p-33

GS_WIDE_BODY uint64_t gs_word_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GS_WIDE_BODY double gs_double_of_word(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* e^x for -700 <= x <= 700: x is n ln 2 + r with |r| <= 0.347, and 14 terms of e^r leave 5e-18. */
GS_WIDE_BODY double gs_exp(double x)
{
    const double to_whole = 0x1.8p52; /* added to a small number, leaves no room for a fraction */
    double shifted = x * 0x1.71547652b82fep0 + to_whole;
    double n = shifted - to_whole;
    double r = x - n * GS_LN2_HIGH - n * GS_LN2_LOW;
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r * r + r;
    return gs_double_of_word(gs_word_of_double(1.0 + sum) + (gs_word_of_double(shifted) << 52));
}

/* log x of a normal x > 0: x is 2^n m with m from sqrt(1/2) to sqrt(2), and with s = (m - 1)/(m +
 * 1) log m is 2 (s + s^3/3 + s^5/5 + ...), |s| <= 0.172: 11 terms leave 2e-18 of it. */
GS_WIDE_BODY double gs_log(double x)
{
    const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd), whole = UINT64_C(0x4330000000000000);
    const uint64_t fraction = (UINT64_C(1) << 52) - 1;
    /* By so many powers of 2 x is above sqrt(1/2), counted from 1074 below. */
    uint64_t above = gs_word_of_double(x) - root_half + (UINT64_C(1024) << 52);
    double n = gs_double_of_word(whole | above >> 52) - (0x1p52 + 1024.0);
    double m = gs_double_of_word((above & fraction) + root_half);
    double f = m - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double sum = 2.0 / 21.0;
    sum = sum * z + 2.0 / 19.0;
    sum = sum * z + 2.0 / 17.0;
    sum = sum * z + 2.0 / 15.0;
    sum = sum * z + 2.0 / 13.0;
    sum = sum * z + 2.0 / 11.0;
    sum = sum * z + 2.0 / 9.0;
    sum = sum * z + 2.0 / 7.0;
    sum = sum * z + 2.0 / 5.0;
    sum = sum * z + 2.0 / 3.0;
    return n * GS_LN2_HIGH + (2.0 * s + (sum * z * s + n * GS_LN2_LOW));
}

/* -log(1 - x), 0 < x < 1 - 2^-53, also where 1 - x is rounded. */
GS_WIDE_BODY double gs_minus_log1m(double x)
{
    double rest = 1.0 - x;
    return (x - (1.0 - rest)) / rest - gs_log(rest);
}

#endif
