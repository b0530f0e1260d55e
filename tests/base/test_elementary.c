/* exp and log against libm's of 64 bits of mantissa, over all that they are for. */
#include "base/elementary.h"

#include "base/rng.h"
#include "tests/support.h"

#include <criterion/criterion.h>
#include <math.h>

enum { COUNT = 200000 };

static double uniform(uint64_t number, uint32_t index)
{
    return gs_rng_uniform((gs_rng_key){11, GS_RNG_TEST, 1}, number, index);
}

static void expect_near(double got, long double wanted, double x)
{
    long double miss = fabsl((long double)got - wanted);
    TEST_REQUIRE(miss <= 4e-16L * fabsl(wanted), "at %a: %a, not %La", x, got, wanted);
}

/* Half of them where one step of the reduction is next to the other: multiples of ln 2 / 2. */
Test(elementary, exp_is_that_of_libm_to_four_in_ten_to_the_sixteen)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        double x = 1400.0 * uniform(i, 0) - 700.0;
        double seam = 0.34657359027997264 * floor(2000.0 * uniform(i, 1) - 1000.0);
        x = i % 2 == 0 ? x : seam * (1.0 + 1e-12 * (uniform(i, 2) - 0.5));
        expect_near(gs_exp(x), expl((long double)x), x);
    }
    cr_assert_float_eq(gs_exp(0.0), 1.0, 0.0);
}

/* All sizes of normal numbers, and near 1, where log is as small as the distance from 1. */
Test(elementary, log_is_that_of_libm_to_four_in_ten_to_the_sixteen)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        double wide = ldexp(1.0 + uniform(i, 0), (int)(2000.0 * uniform(i, 1)) - 1000);
        double near = 1.0 + (uniform(i, 0) - 0.5) * exp2(-52.0 * uniform(i, 1));
        double x = i % 2 == 0 ? wide : near;
        expect_near(gs_log(x), logl((long double)x), x);
    }
    cr_assert_float_eq(gs_log(1.0), 0.0, 0.0);
    expect_near(gs_log(0x1p-1022), -1022.0L * logl(2.0L), 0x1p-1022);
}

/* Down to where 1 - x is 1, and up to the last number below 1. */
Test(elementary, minus_log1m_keeps_the_digits_of_small_numbers)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        double x = i % 2 == 0 ? uniform(i, 0) : exp(-700.0 * uniform(i, 0));
        expect_near(gs_minus_log1m(x), -log1pl(-(long double)x), x);
    }
    expect_near(gs_minus_log1m(0x1p-54), 0x1p-54L, 0x1p-54);
    expect_near(gs_minus_log1m(1.0 - 0x1p-53), 53.0L * logl(2.0L), 1.0 - 0x1p-53);
}
