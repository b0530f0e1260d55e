/* Which values of two stored scenarios differ, in words. */
#include "tools/config_difference.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void assert_difference(const char *one, const char *other, const char *wanted)
{
    char *text = gs_config_difference(one, other);
    if (wanted == NULL) {
        cr_assert_null(text, "%s", text);
    } else {
        cr_assert_not_null(text);
        cr_assert_str_eq(text, wanted);
    }
    free(text);
}

Test(config_difference, keys_come_by_name_with_both_values)
{
    assert_difference(
        "{\"cluster\":{\"links\":{\"nic\":{\"latency\":\"30us\",\"bandwidth\":\"10Gbit/s\"}}}}",
        "{\"cluster\":{\"links\":{\"nic\":{\"bandwidth\":\"25Gbit/s\",\"latency\":\"31us\"}}}}",
        "cluster.links.nic.bandwidth \"10Gbit/s\" against \"25Gbit/s\", "
        "cluster.links.nic.latency \"30us\" against \"31us\"");
}

Test(config_difference, what_only_one_has_is_against_nothing)
{
    assert_difference("{\"workload\":{\"a\":1,\"c\":[]}}", "{\"workload\":{\"b\":true,\"c\":[]}}",
                      "workload.a 1 against nothing, workload.b nothing against true");
    assert_difference("{\"noise\":{}}", "{\"noise\":{\"cv\":0.5}}",
                      "noise {} against nothing, noise.cv nothing against 0.5");
}

Test(config_difference, elements_of_lists_are_told_apart)
{
    assert_difference("{\"cluster\":{\"nodes\":[{\"count\":2},{\"count\":3}]}}",
                      "{\"cluster\":{\"nodes\":[{\"count\":2},{\"count\":4}]}}",
                      "cluster.nodes[1].count 3 against 4");
}

Test(config_difference, three_are_shown_and_the_rest_counted)
{
    assert_difference(
        "{\"workload\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}}",
        "{\"workload\":{\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":2}}",
        "workload.a 1 against 2, workload.b 1 against 2, workload.c 1 against 2 and 2 "
        "more");
}

/* Labels, seeds, strategies and what live adds are no part of the config hash. */
Test(config_difference, what_is_not_hashed_does_not_count)
{
    assert_difference("{\"seed\":1,\"live\":{\"x\":1},\"strategies\":[1],\"cluster\":{\"a\":1}}",
                      "{\"seed\":2,\"live\":{\"x\":2},\"strategies\":[2],\"cluster\":{\"a\":1}}",
                      NULL);
    assert_difference("{\"evaluate\":{\"seeds\":1,\"metrics\":[],\"every\":5}}",
                      "{\"evaluate\":{\"seeds\":2,\"metrics\":[\"x\"],\"every\":6}}",
                      "evaluate.every 5 against 6");
}

Test(config_difference, what_is_no_json_has_no_difference)
{
    assert_difference("{\"cluster\":", "{\"cluster\":1}", NULL);
    assert_difference("{\"cluster\":1}", "nothing", NULL);
}

/* A newer program writes keys that an older one does not know; a list that grew is another list. */
Test(config_difference, keys_of_one_program_alone_are_no_conflict)
{
    const char *old = "{\"cluster\":{\"a\":1,\"nodes\":[{\"count\":2}]}}";
    cr_assert(!gs_config_conflicts(old, old));
    cr_assert(!gs_config_conflicts(
        old, "{\"cluster\":{\"a\":1,\"b\":0,\"nodes\":[{\"count\":2,\"watts\":0}]}}"));
    cr_assert(gs_config_conflicts(old, "{\"cluster\":{\"a\":2,\"nodes\":[{\"count\":2}]}}"));
    cr_assert(gs_config_conflicts(
        old, "{\"cluster\":{\"a\":1,\"nodes\":[{\"count\":2},{\"count\":2}]}}"));
    cr_assert(!gs_config_conflicts("nothing", old));
}
