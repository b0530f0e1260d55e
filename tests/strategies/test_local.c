/* Rules of local updates alone, on numbers worked out by hand, and what they refuse. */
#include "strategies/coding.h"
#include "strategies/local_rule.h"
#include "strategies/registry.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

static gs_error err;
static gs_local_config config;
static gs_job job;

static void setup(void)
{
    config = (gs_local_config){.period = 10, .fragments = 1, .rate = 1.0, .penalty = 1.0};
    job = (gs_job){.ranks = 4, .elements = 103, .element_bytes = 4, .node_ranks = 2};
}

TestSuite(local, .init = setup);

/* ---------------------------------------------------------------- what is kept */

/* The anchor; the outer momentum or what was sent; the sum on its way, where a gradient is computed
 * meanwhile. */
Test(local, no_more_vectors_are_kept_than_the_algorithm_reads_again)
{
    static const struct {
        const char *name;
        uint32_t vectors;
    } kept[] = {{"local_sgd", 1},
                {"post_local", 1},
                {"adacomm", 1},
                {"hier_avg", 1},
                {"slowmo", 2}, /* and momentum */
                {"bmuf", 2},
                {"diloco", 2},
                {"easgd", 2}, /* and the sum that comes a period late */
                {"overlap_local_sgd", 3},
                {"streaming_diloco", 3},
                {"co2", 3},
                {"cocod", 3}, /* what was sent, and the sum */
                {"dasgd", 3}};
    static alignas(max_align_t) unsigned char chosen[1024];
    job.budget_steps = 1000;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const gs_strategy *strategy = gs_strategy_find(kept[i].name);
        gs_layout layout;
        gs_config_defaults(strategy->config, chosen);
        cr_assert_eq(strategy->layout(chosen, &job, &layout, &err), GS_OK, "%s", err.text);
        cr_expect_eq(layout.own_vectors[GS_WORKER], kept[i].vectors, "%s: %u", kept[i].name,
                     layout.own_vectors[GS_WORKER]);
    }
}

/* ---------------------------------------------------------------- when */

/* The first fragments of 103 elements have one more than 25. */
Test(local, fragments_follow_each_other_and_begin_again)
{
    config.period = 40;
    config.fragments = 4;
    gs_local_rule rule = gs_local_rule_of(GS_LOCAL_STREAMING_DILOCO, &config, 4);
    cr_expect_eq(rule.period, 10);
    const int64_t offsets[5] = {0, 26, 52, 78, 0};
    const int64_t lengths[5] = {26, 26, 26, 25, 26};
    for (int64_t round = 0; round < 5; round++) {
        gs_slice part = gs_local_fragment(&rule, &job, round, 7);
        cr_expect_eq(part.vector, 7);
        cr_expect_eq(part.offset, offsets[round]);
        cr_expect_eq(part.length, lengths[round]);
    }
}

Test(local, a_period_is_one_step_until_post_local_begins)
{
    config.start = 3;
    gs_local_rule rule = gs_local_rule_of(GS_LOCAL_POST, &config, 4);
    cr_expect_eq(gs_local_period_at(&rule, 2, 99), 1);
    cr_expect_eq(gs_local_period_at(&rule, 3, 99), 10);
    rule = gs_local_rule_of(GS_LOCAL_SGD, &config, 4);
    cr_expect_eq(gs_local_period_at(&rule, 0, 99), 10);
    config.interval = 5;
    rule = gs_local_rule_of(GS_LOCAL_ADACOMM, &config, 4);
    cr_expect_eq(gs_local_period_at(&rule, 0, 99), 99);
}

static int64_t rounds(gs_local_kind kind, int64_t steps, bool expect_differ)
{
    gs_local_rule rule = gs_local_rule_of(kind, &config, 4);
    bool differ = !expect_differ;
    int64_t count = gs_local_rounds(&rule, steps, &differ);
    cr_expect_eq(differ, expect_differ, "kind %d, %d steps", (int)kind, (int)steps);
    return count;
}

/* 3 steps one by one and 4 periods of 10 in 43; in 47 the last 4 are left over. Who is late, or has
 * sent a part of the model, has something left over always; the centre of easgd needs nothing. */
Test(local, a_run_has_as_many_rounds_as_periods_fit)
{
    config.start = 3;
    cr_expect_eq(rounds(GS_LOCAL_POST, 43, false), 7);
    cr_expect_eq(rounds(GS_LOCAL_POST, 47, true), 7);
    cr_expect_eq(rounds(GS_LOCAL_POST, 2, false), 2);
    cr_expect_eq(rounds(GS_LOCAL_SGD, 40, false), 4);
    cr_expect_eq(rounds(GS_LOCAL_SGD, 49, true), 4);
    cr_expect_eq(rounds(GS_LOCAL_COCOD, 40, true), 4);
    cr_expect_eq(rounds(GS_LOCAL_EASGD, 49, false), 4);
    config.fragments = 5;
    cr_expect_eq(rounds(GS_LOCAL_STREAMING_DILOCO, 40, true), 20);
}

/* ceil(sqrt(0.5) 20) = ceil(14.14); ceil(sqrt(0.2) 20) = ceil(8.94); no less than now: half of it;
 * a period of one stays. */
Test(local, the_period_of_adacomm_follows_the_root_of_the_loss)
{
    cr_expect_eq(gs_local_adapt(20, 20, 2.0, 1.0), 15);
    cr_expect_eq(gs_local_adapt(20, 15, 2.0, 0.4), 9);
    cr_expect_eq(gs_local_adapt(20, 15, 2.0, 1.0), 8);
    cr_expect_eq(gs_local_adapt(20, 20, 2.0, 3.0), 10);
    cr_expect_eq(gs_local_adapt(20, 1, 2.0, 2.0), 1);
    cr_expect_eq(gs_local_adapt(20, 1, 2.0, 1e-9), 1);
}

/* ---------------------------------------------------------------- what is refused */

static void expect_refused(const char *name, const char *parameters, const char *reason,
                           const char *instead)
{
    static _Alignas(int64_t) unsigned char space[256];
    char copy[128];
    gs_layout layout;
    const gs_strategy *strategy = gs_strategy_find(name);
    cr_assert(strategy != NULL && strategy->config->struct_bytes <= sizeof space, "%s", name);
    gs_config_defaults(strategy->config, space);
    cr_assert_lt(strlen(parameters), sizeof copy);
    strcpy(copy, parameters);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        cr_assert_eq(gs_config_set_text(strategy->config, space, word, value, &err), GS_OK, "%s",
                     err.text);
    }
    if (reason == NULL) {
        cr_expect_eq(strategy->layout(space, &job, &layout, &err), GS_OK, "%s", err.text);
        return;
    }
    cr_expect_eq(strategy->layout(space, &job, &layout, &err), GS_EINVAL, "%s:%s", name,
                 parameters);
    cr_expect(strncmp(err.text, name, strlen(name)) == 0, "%s", err.text);
    cr_expect_not_null(strstr(err.text, reason), "%s", err.text);
    cr_expect_not_null(strstr(err.text, instead), "%s", err.text);
}

Test(local, what_cannot_work_is_refused_with_the_nearest_that_does)
{
    job.budget_steps = 60;
    expect_refused("local_sgd", "period=61", "the run has 60", "use period=60");
    expect_refused("local_sgd", "period=60", NULL, NULL);
    expect_refused("post_local", "period=20,start=41", "the run has 60", "use start=40");
    expect_refused("post_local", "period=20,start=40", NULL, NULL);
    expect_refused("streaming_diloco", "period=60,fragments=61", "do not fit into a period",
                   "use period=60,fragments=60,delay=0");
    expect_refused("streaming_diloco", "period=60,fragments=60,delay=0", NULL, NULL);
    expect_refused("streaming_diloco", "period=50,fragments=4,delay=0", "do not divide the period",
                   "use period=48,fragments=4,delay=0");
    expect_refused("streaming_diloco", "period=40,fragments=4,delay=10",
                   "the next average begins after 10", "use delay=9");
    expect_refused("streaming_diloco", "period=40,fragments=4,delay=9", NULL, NULL);
    expect_refused("dasgd", "period=6,delay=6", "the next average begins after 6",
                   "use delay=5, or cocod");
    expect_refused("easgd", "alpha=0.26", "beyond their mean", "use alpha=0.25");
    expect_refused("easgd", "alpha=0.25", NULL, NULL);
    job.budget_steps = 1000;
    expect_refused("streaming_diloco", "period=800,fragments=104", "leave some of the model empty",
                   "use period=721,fragments=103,delay=5");
    expect_refused("streaming_diloco", "period=721,fragments=103,delay=5", NULL, NULL);
    job.budget_steps = 0; /* nobody knows how long it will be */
    expect_refused("local_sgd", "period=1000000", NULL, NULL);
}

/* What is offered instead is refused for no other reason: the defaults, in a run of 10 steps, and
 * 1 / 7, which three digits would round up. */
Test(local, what_is_offered_instead_works)
{
    job.budget_steps = 10;
    expect_refused("streaming_diloco", "", "the run has 10", "use period=8,fragments=4,delay=1,");
    expect_refused("streaming_diloco", "period=8,fragments=4,delay=1", NULL, NULL);
    expect_refused("post_local", "", "the run has 10", "use period=10,start=0,");
    expect_refused("post_local", "period=10,start=0", NULL, NULL);
    expect_refused("hier_avg", "inside=3,between=10", "the run has 10",
                   "use inside=3,between=9,delay=0,");
    expect_refused("hier_avg", "inside=3,between=9,delay=0", NULL, NULL);
    job.ranks = 7;
    expect_refused("easgd", "alpha=0.5", "beyond their mean", "use alpha=0.14285,");
    expect_refused("easgd", "alpha=0.14285", NULL, NULL);
}

/* Averages are at 4, 8, 12, 16 and 20 of 20 steps: the last is 16 after the first one, which
 * measures the loss. Of two averages of 11 steps the run has one. */
Test(local, a_period_that_would_never_change_is_refused)
{
    job.budget_steps = 20;
    expect_refused("adacomm", "period=4,interval=17", "after the first average at 4",
                   "use interval=16");
    expect_refused("adacomm", "period=4,interval=16", NULL, NULL);
    expect_refused("adacomm", "period=11,interval=1", "looked at once", "use local_sgd");
    expect_refused("adacomm", "period=1,interval=1000", NULL, NULL);
    job.budget_steps = 0;
    expect_refused("adacomm", "period=10,interval=1000", NULL, NULL);
}

Test(local, levels_that_do_not_fit_are_refused)
{
    job.budget_steps = 60;
    expect_refused("hier_avg", "inside=4,between=10", "not a multiple of inside", "use between=12");
    expect_refused("hier_avg", "inside=2,between=4,delay=2", "the next average inside nodes",
                   "use delay=1");
    expect_refused("hier_avg", "inside=2,between=4,delay=1", NULL, NULL);
    expect_refused("hier_avg", "inside=8,between=64", "the run has 60",
                   "use inside=8,between=56,delay=0");
    expect_refused("hier_avg", "inside=64,between=64", "the run has 60",
                   "use inside=60,between=60,delay=0");
    job.node_ranks = 0;
    expect_refused("hier_avg", "inside=2,between=4", "equal numbers of ranks", "use local_sgd");
}

/* ---------------------------------------------------------------- bytes */

/* Ring: 2 (n - 1) / n of 412 bytes = 618 an average. 4 of them in 40 steps; 4 and one at the end in
 * 49; without a budget, one a period. */
Test(local, an_average_costs_a_ring)
{
    gs_coding dense = {.codec = NULL};
    const gs_strategy *strategy = gs_strategy_find("local_sgd");
    job.budget_steps = 40;
    cr_expect_eq(strategy->wire_bytes(&config, &job, &dense), 618 * 4 / 40);
    job.budget_steps = 49;
    cr_expect_eq(strategy->wire_bytes(&config, &job, &dense), 618 * 5 / 49);
    job.budget_steps = 0;
    cr_expect_eq(strategy->wire_bytes(&config, &job, &dense), 618 / 10);
    cr_expect_eq(strategy->wire_bytes(&(gs_local_config){.period = 1}, &job, &dense), 618);
}
