#include <criterion/criterion.h>

#include "tools/simpler.h"

/* In the order of tools/recommend/arms.def, whatever their labels spell out. */
Test(simpler, strategies_stand_in_the_order_of_the_list)
{
    static const char *const sorted[] = {"allreduce",
                                         "allreduce+fp16",
                                         "sharded",
                                         "local_sgd:period=4",
                                         "allreduce+powersgd:rank=2",
                                         "hier_avg",
                                         "asp"};
    enum { COUNT = sizeof sorted / sizeof *sorted };
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < COUNT; k++) {
            int order = gs_simpler_compare(sorted[i], sorted[k]);
            cr_expect_eq((order > 0) - (order < 0), (i > k) - (i < k), "%s, %s", sorted[i],
                         sorted[k]);
        }
    }
}

Test(simpler, of_one_strategy_the_one_with_fewer_parameters_is_simpler)
{
    cr_expect_lt(gs_simpler_compare("local_sgd:period=4", "local_sgd:period=4,warmup=9"), 0);
    cr_expect_lt(gs_simpler_compare("allreduce", "allreduce:bucket=50MB"), 0);
    cr_expect_eq(gs_simpler_compare("local_sgd:period=4", "local_sgd:period=16"), 0);
}

Test(simpler, what_is_not_in_the_list_follows_its_own_name_or_all)
{
    /* The list has no codec natural: behind the last all-reduce there, before hier_avg. */
    cr_expect_gt(gs_simpler_compare("allreduce+natural", "allreduce+fp16"), 0);
    cr_expect_lt(gs_simpler_compare("allreduce+natural", "hier_avg"), 0);
    /* cross_barrier is exact, easgd local, ad_psgd timed, and a plug-in may do anything. */
    cr_expect_gt(gs_simpler_compare("cross_barrier", "choco+int8"), 0);
    cr_expect_lt(gs_simpler_compare("cross_barrier", "easgd"), 0);
    cr_expect_lt(gs_simpler_compare("easgd", "ad_psgd"), 0);
    cr_expect_eq(gs_simpler_compare("of_a_plugin", "ad_psgd"), 0);
}
