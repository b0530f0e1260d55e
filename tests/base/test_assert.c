#include <criterion/criterion.h>

#include "base/assert.h"

#include <signal.h>

Test(assert, a_false_condition_aborts, .signal = SIGABRT)
{
    GS_ASSERT(1 + 1 == 3);
}

Test(assert, a_true_condition_does_nothing)
{
    int evaluated = 0;
    GS_ASSERT(++evaluated == 1);
    cr_expect_eq(evaluated, 1);
}

Test(assert, the_slow_kind_is_evaluated_in_debug_builds_only)
{
    int evaluated = 0;
    GS_ASSERT_SLOW(++evaluated == 1);
#ifdef GS_SLOW_CHECKS
    cr_expect_eq(evaluated, 1);
#else
    cr_expect_eq(evaluated, 0);
#endif
}
