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

/* ---------------------------------------------------------------- layouts */

static gs_layout said; /* what the strategy below needs */

static gs_status say(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)job, (void)err;
    *out = said;
    return GS_OK;
}

static void expect_layout(gs_layout layout, const char *text)
{
    const gs_job job = {.ranks = 6, .elements = 10};
    gs_layout got = {.servers = 77};
    gs_error err = {0};
    said = layout;
    make("mine");
    mine.layout = say;
    gs_status status = gs_strategy_layout(&mine, NULL, &job, &got, &err);
    cr_expect_eq(status, text == NULL ? GS_OK : GS_EINVAL);
    cr_expect_str_eq(err.text, text == NULL ? "" : text);
    cr_expect_eq(got.servers, text == NULL ? layout.servers : 77); /* only on success */
}

Test(registry, a_layout_that_no_host_can_serve_is_refused)
{
    gs_layout one = {.communicator_count = 1};
    expect_layout(one, NULL);
    one.communicators[0].group = (gs_group){.size = 3, .stride = 2};
    expect_layout(one, NULL);
    one.communicators[0].group = (gs_group){.size = 4, .stride = 1};
    expect_layout(one, "mine: layout: communicators[0]: groups of 4 workers, 1 apart, do not tile "
                       "6 workers");
    one.communicators[0].group = (gs_group){.size = 3, .stride = 0};
    expect_layout(one, "mine: layout: communicators[0]: groups of 3 workers, 0 apart, do not tile "
                       "6 workers");
    one.communicators[0] = (gs_communicator){.kinds = 1U << GS_REDUCE};
    expect_layout(one, "mine: layout: communicators[0]: kinds is 0x20; bits above broadcast are of "
                       "no service");
    one.communicators[0] = (gs_communicator){.all_reduce = "ring_all_gather"};
    expect_layout(one, "mine: layout: communicators[0]: no all-reduce \"ring_all_gather\"");
    expect_layout((gs_layout){.communicator_count = 9},
                  "mine: layout: communicator_count is 9; allowed is 0 to 8");
    expect_layout((gs_layout){.own_vectors = {[GS_SERVER] = UINT32_MAX}},
                  "mine: layout: own_vectors of a server is 4294967295; allowed is 0 to 65536");
    expect_layout(
        (gs_layout){.state_bytes = {[GS_WORKER] = (size_t)1 << 31}},
        "mine: layout: state_bytes of a worker is 2147483648; allowed is 0 to 1073741824");
    expect_layout((gs_layout){.optimizer_shards = 7},
                  "mine: layout: 0 servers and 7 optimizer_shards; allowed are 65534, and as many "
                  "as workers");
    expect_layout((gs_layout){.samples_max = -1},
                  "mine: layout: buckets of 0 and 0 bytes, samples_max -1: none is below 0");
    expect_layout((gs_layout){.cut = (gs_cut)2},
                  "mine: layout: cut is 2; it is GS_CUT_COMMON or GS_CUT_OWN");
}

Test(registry, fields_that_are_none_are_refused)
{
    static const gs_field_table nowhere = {"mine", 8, NULL, 1};
    make("mine");
    mine.config = &nowhere;
    expect_refused("mine", GS_EINVAL,
                   "strategy \"mine\": config: 1 fields at NULL; at most 128, and a name for the "
                   "table");
}
