#include <criterion/criterion.h>

#include "tools/explain_even.h"

/* Gains above 3.7; counts how often it is asked. */
typedef struct asked {
    int count;
} asked;

static double gain(void *context, double factor)
{
    ((asked *)context)->count++;
    return factor - 3.7;
}

Test(explain_even, the_even_factor_is_found_to_a_quarter_of_a_percent)
{
    asked calls = {0};
    double factor = 0.0;
    cr_expect_eq(gs_even_find(gain, &calls, 1e-4, 1e4, &factor), GS_EVEN_FOUND);
    cr_expect_float_eq(factor, 3.7, 0.0025 * 3.7);
    /* ln 10^8 = 18.42; / 0.005 = 3684 < 2^12: 12 halvings, and the greatest factor once. */
    cr_expect_eq(calls.count, 13);
}

Test(explain_even, what_gains_everywhere_or_nowhere_is_said_to)
{
    asked calls = {0};
    double factor = 0.0;
    cr_expect_eq(gs_even_find(gain, &calls, 4.0, 100.0, &factor), GS_EVEN_ALWAYS);
    cr_expect_float_eq(factor, 4.0, 0.0);
    cr_expect_eq(gs_even_find(gain, &calls, 0.1, 3.7, &factor), GS_EVEN_NEVER);
    cr_expect_float_eq(factor, 3.7, 0.0);
}
