#include <criterion/criterion.h>

#include "strategies/registry.h"
#include "tests/traces/scenario_fixture.h"
#include "tools/recommend/arm.h"

#include <stdlib.h>
#include <string.h>

static char *resolved_text;
static gs_arm *arms;
static uint32_t count;

static void setup(void)
{
    scenario_setup();
    resolved_text = NULL;
    arms = NULL;
    count = 0;
}

static void teardown(void)
{
    gs_arms_free(arms, count, 0);
    free(resolved_text);
    scenario_teardown();
}

TestSuite(recommend_arm, .init = setup, .fini = teardown);

static gs_arm_reader reader(void)
{
    resolved_text = gs_json_write(scenario.resolved, false);
    return (gs_arm_reader){.name = scenario.name,
                           .text = resolved_text,
                           .data_dir = scenario.data_dir,
                           .arena = &arena};
}

static const gs_arm *find(const char *label)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(arms[i].label, label) == 0) {
            return &arms[i];
        }
    }
    cr_assert_fail("no arm %s", label);
    return NULL;
}

Test(recommend_arm, every_strategy_has_a_family)
{
    static const char *const known[] = {
#define GS_FAMILY(strategy, family) #strategy,
#include "tools/recommend/families.def"
#undef GS_FAMILY
    };
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        bool has = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            has = has || strcmp(known[k], gs_strategy_at(i)->name) == 0;
        }
        cr_expect(has, "families.def lacks %s", gs_strategy_at(i)->name);
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        cr_expect_not_null(gs_strategy_find(known[k]), "there is no %s", known[k]);
    }
}

Test(recommend_arm, the_bundled_list_has_what_runs_and_why_the_rest_does_not)
{
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    gs_arm_reader from = reader();
    count = gs_arms_make(&from, NULL, 0, false, &arms);
    cr_expect_geq(count, 24u);
    cr_expect(gs_arm_is_plain(&arms[0]), "the simplest first");
    cr_expect_eq(find("allreduce")->family, GS_FAMILY_EXACT);
    cr_expect_eq(find("hierarchical")->family, GS_FAMILY_EXACT);
    cr_expect_eq(find("allreduce+fp16")->family, GS_FAMILY_LOSSY, "a codec loses");
    cr_expect_eq(find("d_psgd")->family, GS_FAMILY_LOSSY);
    cr_expect_eq(find("local_sgd:period=4")->family, GS_FAMILY_LOCAL);
    /* The demo has no servers. */
    cr_expect_eq(find("ssp")->state, GS_ARM_REFUSED);
    cr_expect_str_eq(find("ssp")->reason, find("dc_asgd")->reason, "the same words for both");
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_eq(arms[i].scenario == NULL, arms[i].state == GS_ARM_REFUSED, "%s",
                     arms[i].label);
    }
}

Test(recommend_arm, what_is_named_joins_once)
{
    static const char *const words[] = {"allreduce:accumulation=4", "allreduce+fp16"};
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    gs_arm_reader from = reader();
    count = gs_arms_make(&from, words, 2, false, &arms);
    uint32_t fp16 = 0;
    for (uint32_t i = 0; i < count; i++) {
        fp16 += strcmp(arms[i].label, "allreduce+fp16") == 0 ? 1 : 0;
    }
    cr_expect_eq(fp16, 1u);
    cr_expect(find("allreduce+fp16")->is_named);
    cr_expect_not(find("allreduce+bf16")->is_named);
    /* Four passes an update are not the updates of plain SGD. */
    cr_expect_eq(find("allreduce:accumulation=4")->family, GS_FAMILY_LOCAL);
}

Test(recommend_arm, only_what_is_named_stands_beside_plain_all_reduce)
{
    static const char *const words[] = {"hier_avg", "asp"};
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    gs_arm_reader from = reader();
    count = gs_arms_make(&from, words, 2, true, &arms);
    cr_assert_eq(count, 3u);
    cr_expect(gs_arm_is_plain(&arms[0]));
    cr_expect_str_eq(arms[1].label, "hier_avg");
    cr_expect_eq(arms[2].state, GS_ARM_REFUSED);
}

Test(recommend_arm, a_word_that_is_no_strategy_is_told_from_one_that_does_not_run)
{
    gs_scenario own;
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    gs_arm_reader from = reader();
    static const char *const wrong[] = {"alreduce", "local_sgd:perod=4", "local_sgd:period=x",
                                        "allreduce+topq"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_neq(gs_arm_read(&from, wrong[i], NULL, &own, &err), GS_OK);
        cr_expect(gs_arm_is_misspelt(&err), "%s", err.text);
    }
    static const char *const unfit[] = {"asp", "sharded+fp16"};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        cr_assert_neq(gs_arm_read(&from, unfit[i], NULL, &own, &err), GS_OK);
        cr_expect_not(gs_arm_is_misspelt(&err), "%s", err.text);
    }
}

Test(recommend_arm, a_rate_is_that_of_its_own_scenario)
{
    gs_scenario own;
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    gs_arm_reader from = reader();
    cr_assert_eq(gs_arm_read(&from, "allreduce", "workload.optimizer.rate=0.4", &own, &err), GS_OK,
                 "%s", err.text);
    cr_expect_eq(own.workload.task.optimizer.rate, 0.4);
    cr_expect_neq(own.config_hash, scenario.config_hash);
    gs_scenario_free(&own);
}

/* Of 25.6 million parameters in fp32: parameters, gradients and the momentum, 102 MB each; with
 * eight ranks sharing the momentum an eighth of that; three vectors more for an anchor. */
Test(recommend_arm, memory_is_that_of_the_strategy)
{
    static const char *const words[] = {"sharded"};
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    gs_arm_reader from = reader();
    count = gs_arms_make(&from, words, 1, true, &arms);
    int64_t gradient = 0;
    for (uint32_t i = 0; i < scenario.workload.profile->unit_count; i++) {
        gradient += 4 * scenario.workload.profile->units[i].elements;
    }
    int64_t saved = gs_arm_memory_bytes(find("allreduce")) - gs_arm_memory_bytes(find("sharded"));
    cr_expect_geq(saved, gradient * 7 / 8 - 64);
    cr_expect_leq(saved, gradient);
}
