/* Strategies that come from outside: taken in behind our own, or refused with what is wrong. */
#include <criterion/criterion.h>

#include "strategies/registry.h"

#include <string.h>

static gs_strategy mine;

/* A strategy that has all that is needed, with another name. */
static void make(const char *name)
{
    mine = *gs_strategy_find("allreduce");
    mine.name = name;
}

static void expect_refused(const char *name, gs_status code, const char *text)
{
    gs_error err = {0};
    mine.name = name;
    uint32_t count = gs_strategy_count();
    cr_expect_eq(gs_strategy_add(&mine, &err), code, "%s", name);
    cr_expect_str_eq(err.text, text);
    cr_expect_eq(gs_strategy_count(), count);
}

Test(registry, takes_in_a_strategy_behind_its_own_and_finds_it)
{
    gs_error err = {0};
    uint32_t count = gs_strategy_count();
    const gs_strategy *first = gs_strategy_at(0);
    make("mine_2");
    cr_assert_null(gs_strategy_find("mine_2"));
    cr_assert_eq(gs_strategy_add(&mine, &err), GS_OK, "%s", err.text);
    cr_expect_eq(gs_strategy_count(), count + 1);
    cr_expect_eq(gs_strategy_at(count), &mine);
    cr_expect_eq(gs_strategy_find("mine_2"), &mine);
    cr_expect_eq(gs_strategy_at(0), first);
}

Test(registry, refuses_names_that_are_taken_or_that_nobody_can_write)
{
    make("");
    expect_refused("allreduce", GS_EBUSY,
                   "there is already a strategy \"allreduce\"; give yours another name");
    expect_refused("topk", GS_EBUSY, "there is already a codec \"topk\"; give yours another name");
    expect_refused("ring", GS_EBUSY,
                   "there is already a collective \"ring\"; give yours another name");
    expect_refused("a:b", GS_EINVAL,
                   "a strategy is named \"a:b\"; names are 1 to 40 of a-z, 0-9 and _");
    expect_refused("", GS_EINVAL, "a strategy is named \"\"; names are 1 to 40 of a-z, 0-9 and _");
    /* 41 letters */
    expect_refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", GS_EINVAL,
                   "a strategy is named \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"; names are 1 "
                   "to 40 of a-z, 0-9 and _");
}

Test(registry, refuses_a_strategy_of_another_size_or_without_a_hook)
{
    make("mine");
    mine.op_done = NULL;
    expect_refused("mine", GS_EINVAL,
                   "strategy \"mine\": op_done is NULL; only wire_bytes, message and model_view "
                   "may be");
    make("mine");
    mine.struct_bytes += 8;
    gs_error err = {0};
    cr_expect_eq(gs_strategy_add(&mine, &err), GS_EINVAL);
    cr_expect(strstr(err.text, "struct_bytes of a strategy is ") != NULL, "%s", err.text);
    cr_expect_eq(gs_strategy_add(NULL, &err), GS_EINVAL);
    make("mine");
    mine.message = NULL;
    mine.wire_bytes = NULL;
    mine.model_view = NULL;
    cr_expect_eq(gs_strategy_add(&mine, &err), GS_OK);
}

Test(registry, has_room_for_a_number_of_them)
{
    static gs_strategy many[GS_STRATEGIES_ADDED_MAX + 1];
    static char names[GS_STRATEGIES_ADDED_MAX + 1][3];
    gs_error err = {0};
    for (int i = 0; i <= GS_STRATEGIES_ADDED_MAX; i++) {
        names[i][0] = (char)('a' + i / 16);
        names[i][1] = (char)('a' + i % 16);
        make(names[i]);
        many[i] = mine;
        cr_expect_eq(gs_strategy_add(&many[i], &err),
                     i < GS_STRATEGIES_ADDED_MAX ? GS_OK : GS_ELIMIT, "%d: %s", i, err.text);
    }
}
