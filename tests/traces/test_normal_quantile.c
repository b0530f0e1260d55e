#include <criterion/criterion.h>

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "base/rng.h"
#include "tests/support.h"
#include "traces/normal_quantile.h"

/* GSL has the same algorithm with libm's log, so that tails differ by what the logs do: a relative
 * error of 4e-16 in log(p) is 2e-16 in its root, beside the roundings of both. Many at once are bit
 * for bit what each is alone. Every third probability is uniform, every third one in a tail down to
 * e^-700, every third one near its mirror image. */
Test(normal_quantile, it_is_that_of_gsl_and_many_at_once_are_those_made_one_by_one)
{
    enum { COUNT = 100003 };
    static double probabilities[COUNT], many[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        double uniform = gs_rng_uniform((gs_rng_key){3, GS_RNG_TEST, 1}, i, 0);
        double tail = exp(-700.0 * uniform);
        probabilities[i] = i % 3 == 0 ? uniform : i % 3 == 1 ? tail : 1.0 - fmax(tail, 0x1p-53);
    }
    gs_normal_quantiles(probabilities, COUNT, many);
    for (uint32_t i = 0; i < COUNT; i++) {
        double wanted = gsl_cdf_ugaussian_Pinv(probabilities[i]);
        double one = gs_normal_quantile(probabilities[i]);
        TEST_REQUIRE(fabs(one - wanted) <= 1e-15 * fabs(wanted), "at %a: %a, not %a",
                     probabilities[i], one, wanted);
        TEST_REQUIRE(many[i] <= one && many[i] >= one, "at %a: %a, not %a", probabilities[i],
                     many[i], one);
    }
}

/* Where regions meet: at a distance of 0.425 from the middle, and where sqrt(-log(tail)) is 5, at
 * e^-25. Neighbours there are apart by their distance over the density, and by what two quantiles
 * of a relative error of 2e-16 may be wrong. Phi(1.959964...) = 0.975 is in every table. */
Test(normal_quantile, regions_meet_and_tables_agree)
{
    const double seams[] = {0.075, 0.925, exp(-25.0)};
    const double root_2_pi = 2.5066282746310002;
    for (size_t i = 0; i < sizeof seams / sizeof *seams; i++) {
        double low = nextafter(seams[i], 0.0), high = nextafter(seams[i], 1.0);
        double before = gs_normal_quantile(low), after = gs_normal_quantile(high);
        double apart = (high - low) * root_2_pi * exp(0.5 * after * after);
        cr_expect_leq(fabs(after - before - apart), 4e-16 * fabs(after), "seam %zu", i);
    }
    cr_expect_float_eq(gs_normal_quantile(0.975), 1.9599639845400545, 1e-15);
    cr_expect_float_eq(gs_normal_quantile(0.025), -1.9599639845400545, 1e-15);
    cr_expect_float_eq(gs_normal_quantile(0.5), 0.0, 0.0);
}
