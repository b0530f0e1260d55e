/* cluster.collectives: rules of a user, before all others, and what they may not say. */
#include "tests/traces/scenario_fixture.h"

TestSuite(scenario_collectives, .init = scenario_setup, .fini = scenario_teardown);

#define RULES(text) "cluster.collectives=[" text "]"

/* Of the demo's 2 nodes of 4 ranks. */
Test(scenario_collectives, rules_of_the_user_stand_before_all_others)
{
    cr_assert_eq(READ_DEMO("cluster.tuning.follow=mpich",
                           RULES("{\"up_to\": \"64KiB\", \"algorithm\": \"double_binary_tree\", "
                                 "\"rings\": 2, \"piece\": \"8KiB\"}")),
                 GS_OK, "%s", err.text);
    const gs_selection *selection = &scenario.strategies[0].selection;
    cr_assert_eq(selection->rule_count, 3, "and two of MPICH's");
    const gs_selection_rule *first = &selection->rules[0];
    cr_expect_eq(first->up_to_bytes, 65536);
    cr_expect_str_eq(first->choice.program->name, "double_binary_tree");
    cr_expect(first->choice.rings == 2 && first->choice.piece_bytes == 8192);
    cr_expect_str_eq(scenario.strategies[0].algorithm, "auto", "it depends on the size");
}

Test(scenario_collectives, a_rule_for_any_size_is_the_algorithm)
{
    cr_assert_eq(READ_DEMO(RULES("{\"algorithm\": \"hierarchical_ring\"}")), GS_OK, "%s", err.text);
    cr_expect_str_eq(scenario.strategies[0].algorithm, "hierarchical_ring");
    cr_assert_eq(READ_DEMO("strategies=[{\"name\": \"allreduce\", \"algorithm\": \"naive\"}]",
                           RULES("{\"algorithm\": \"ring\"}")),
                 GS_OK, "%s", err.text);
    cr_expect_str_eq(scenario.strategies[0].algorithm, "naive");
    bool noted = false;
    for (uint32_t i = 0; i < scenario.note_count; i++) {
        noted |= strstr(scenario.notes[i], "cluster.collectives[0] has no effect: no strategy "
                                           "leaves the algorithm of all_reduce open") != NULL;
    }
    cr_expect(noted);
}

Test(scenario_collectives, what_an_algorithm_cannot_do_is_refused_with_the_key)
{
    expect_word_refused(GS_EINVAL, RULES("{\"algorithm\": \"double_tree\"}"),
                        "cluster.collectives[0].algorithm on the command line: \"double_tree\" is "
                        "no algorithm of all_reduce; see `gradsync list collectives`");
    expect_word_refused(GS_EINVAL, RULES("{\"algorithm\": \"rign\"}"),
                        "cluster.collectives[0].algorithm on the command line: \"rign\" is no "
                        "algorithm of all_reduce; did you mean ring?");
    expect_word_refused(GS_EINVAL, RULES("{\"kind\": \"broadcast\", \"algorithm\": \"ring\"}"),
                        "cluster.collectives[0].algorithm on the command line: \"ring\" is no "
                        "algorithm of broadcast; see `gradsync list collectives`");
    expect_word_refused(GS_EINVAL, RULES("{\"algorithm\": \"naive\", \"rings\": 2}"),
                        "cluster.collectives[0].rings on the command line: naive has none; leave "
                        "it out, or take another algorithm");
    expect_word_refused(GS_EINVAL, RULES("{\"algorithm\": \"ring\", \"rings\": 0}"),
                        "cluster.collectives[0].rings on the command line: 0 is out of range; "
                        "allowed is a whole number, 1..64");
    expect_word_refused(GS_EINVAL, RULES("{\"algorithm\": \"hierarchical_ring\", \"inner\": 3}"),
                        "cluster.collectives[0].inner on the command line: 3 does not divide the 8 "
                        "ranks that allreduce reduces over; write a divisor");
    expect_word_refused(GS_EINVAL, RULES("{\"algorithm\": \"hierarchical_ring\", \"middle\": 3}"),
                        "cluster.collectives[0].middle on the command line: 3 does not divide the "
                        "2 nodes that allreduce reduces over; write a divisor");
    expect_word_refused(GS_EINVAL,
                        RULES("{\"algorithm\": \"ring\"}, {\"up_to\": \"1MiB\", \"algorithm\": "
                              "\"naive\"}"),
                        "cluster.collectives[1].up_to on the command line: every all_reduce of "
                        "this rule meets rule 0 first; give sizes in ascending order, 0B last");
}

/* Both of a pair add, what each has itself is not rounded as what came. */
Test(scenario_collectives, members_end_with_equal_bits_in_half_precision_too)
{
    cr_expect_eq(READ_DEMO("workload.dtype=bf16", RULES("{\"algorithm\": \"recursive_doubling\"}")),
                 GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "demo-ethernet: cluster.collectives[0].algorithm on the command line: "
                     "recursive_doubling: both of a pair add, and of real 16-bit numbers ranks "
                     "would end with different last bits; take halving_doubling");
    cr_expect_eq(READ_DEMO("workload.dtype=bf16", "workload.real_gradients=false",
                           RULES("{\"algorithm\": \"recursive_doubling\"}")),
                 GS_OK, "%s", err.text);
}
