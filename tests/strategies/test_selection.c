/* Rules that choose programs, what shapes they give, and how streams are numbered. */
#include <criterion/criterion.h>

#include "strategies/registry.h"
#include "strategies/selection.h"

static const gs_collective *find(const char *name)
{
    return gs_collective_find(name);
}

static gs_selection_rule rule(uint32_t communicator, int64_t up_to, const char *program,
                              uint32_t rings)
{
    return (gs_selection_rule){.communicator = communicator,
                               .kind = find(program)->kind,
                               .up_to_bytes = up_to,
                               .choice = {.program = find(program), .rings = rings}};
}

static const gs_communicator any = {.all_reduce = NULL};

static void expect_program(const gs_selection *selection, uint32_t communicator, int64_t bytes,
                           const char *name)
{
    gs_choice choice = gs_selection_choose(selection, &any, communicator, GS_ALL_REDUCE, bytes);
    cr_expect_str_eq(choice.program->name, name, "%lld bytes on %u: %s", (long long)bytes,
                     communicator, choice.program->name);
}

Test(selection, the_first_rule_that_an_op_meets_holds)
{
    const gs_selection_rule rules[] = {
        rule(1, 100, "naive", 1),
        rule(GS_ANY_COMMUNICATOR, 1000, "recursive_doubling", 1),
        rule(GS_ANY_COMMUNICATOR, INT64_MAX, "ring_all_gather", 1),
    };
    gs_selection selection = {rules, 3};
    expect_program(&selection, 1, 100, "naive");
    expect_program(&selection, 0, 100, "recursive_doubling");
    expect_program(&selection, 1, 101, "recursive_doubling");
    expect_program(&selection, 1, 1001, "ring"); /* no rule of the kind: its own algorithm */
    expect_program(NULL, 1, 1, "ring");
    gs_communicator named = {.all_reduce = "halving_doubling"};
    gs_choice choice = gs_selection_choose(&selection, &named, 1, GS_ALL_REDUCE, 1);
    cr_expect_str_eq(choice.program->name, "halving_doubling", "what a strategy names stands");
}

/* The kind's own algorithm is among them unless a rule holds for any size. */
Test(selection, candidates_are_what_some_size_may_meet)
{
    const gs_selection_rule rules[] = {rule(0, 100, "naive", 1), rule(1, 100, "ring", 4),
                                       rule(0, INT64_MAX, "double_binary_tree", 2),
                                       rule(0, INT64_MAX, "halving_doubling", 1)};
    gs_selection selection = {rules, 4};
    static const char *const wanted[2][3] = {{"naive", "double_binary_tree", NULL},
                                             {"ring", "ring", NULL}};
    for (uint32_t communicator = 0; communicator < 2; communicator++) {
        uint32_t number = 0;
        for (gs_choice choice;
             gs_selection_candidate(&selection, &any, communicator, GS_ALL_REDUCE, number, &choice);
             number++) {
            cr_assert_not_null(wanted[communicator][number]);
            cr_expect_str_eq(choice.program->name, wanted[communicator][number]);
        }
        cr_expect_eq(number, 2);
    }
}

/* 12 ranks in nodes of 4: groups that are whole nodes have 4 inside, those inside one node are
 * all inside, ranks of one place on all nodes and groups that cut nodes have none. */
Test(selection, a_shape_knows_the_nodes_of_its_group)
{
    gs_job job = {.ranks = 12, .node_ranks = 4, .element_bytes = 4};
    cr_expect_eq(gs_group_inner((gs_group){0, 0}, &job), 4);
    cr_expect_eq(gs_group_inner((gs_group){4, 1}, &job), 4);
    cr_expect_eq(gs_group_inner((gs_group){2, 1}, &job), 2);
    cr_expect_eq(gs_group_inner((gs_group){3, 4}, &job), 1);
    cr_expect_eq(gs_group_inner((gs_group){6, 1}, &job), 1);
    job.node_ranks = 0; /* not the same on all nodes */
    cr_expect_eq(gs_group_inner((gs_group){0, 0}, &job), 1);
    gs_choice choice = {.program = find("ring"), .rings = 3, .inner = 2, .piece_bytes = 10};
    gs_shape shape = gs_choice_shape(&choice, &job, (gs_group){0, 0}, 5, 7, 1000);
    cr_expect(shape.members == 12 && shape.self == 5 && shape.root == 7 && shape.elements == 1000);
    cr_expect(shape.rings == 3 && shape.inner == 2 && shape.middle == 1);
    cr_expect_eq(shape.piece, 2, "10 bytes are 2 whole elements");
    choice.piece_bytes = 3;
    cr_expect_eq(gs_choice_shape(&choice, &job, (gs_group){0, 0}, 0, 0, 0).piece, 1);
}

/* Communicator 0 has one channel, 1 may run two pairs of trees, four channels. */
Test(selection, streams_are_the_channels_of_all_communicators_in_order)
{
    const gs_selection_rule rules[] = {rule(1, 100, "double_binary_tree", 2)};
    gs_selection selection = {rules, 1};
    gs_job job = {.ranks = 4, .element_bytes = 4};
    gs_layout layout = {.communicator_count = 3};
    gs_streams streams = gs_streams_of(&layout, &job, &selection);
    static const uint32_t communicators[] = {0, 1, 1, 1, 1, 2};
    cr_assert_eq(gs_streams_count(&streams), 6);
    for (uint32_t stream = 0; stream < 6; stream++) {
        uint32_t channel;
        cr_expect_eq(gs_streams_communicator(&streams, stream, &channel), communicators[stream]);
        cr_expect_eq(channel, communicators[stream] == 1 ? stream - 1 : 0);
    }
}
