/* A model timed layer by layer: the parts make up the pass, and what cannot be timed is refused. */
#include "live/measure_model.h"

#include "tests/traces/scenario_fixture.h"

#include <math.h>

TestSuite(measure_model, .init = scenario_setup, .fini = scenario_teardown);

#define SCENARIO(more)                                                                             \
    "{\"schema\": \"gradsync.scenario/1\", \"cluster\": {\"nodes\": [{\"count\": 2, \"ranks\": "   \
    "1}]}, \"workload\": {\"model\": {\"name\": \"mlp\", \"hidden\": [64, 32]}, "                  \
    "\"batch_per_rank\": 16, " more "\"budget\": {\"steps\": 4}}}"

Test(measure_model, forward_and_backward_times_of_all_layers_make_up_the_pass)
{
    gs_measured_model *model = NULL;
    gs_model_times times;
    cr_assert_eq(read_text(SCENARIO("\"real_gradients\": true, ")), GS_OK, "%s", err.text);
    cr_assert_eq(gs_measured_model_create(&scenario, 1, &arena, &model, &err), GS_OK, "%s",
                 err.text);
    cr_assert_eq(gs_measure_model(model, &times, &err), GS_OK, "%s", err.text);
    cr_assert_eq(times.unit_count, 3);
    double sum_ns = times.forward_ns;
    for (uint32_t i = 0; i < times.unit_count; i++) {
        cr_expect_geq(times.backward_ns[i], 0.0);
        sum_ns += times.backward_ns[i];
    }
    /* Medians of parts need not sum up to the median of the whole, but they are of like passes; the
     * first unit is ready as the pass ends. */
    cr_expect_float_eq(sum_ns / times.pass_ns.value, 1.0, 0.3, "%g of %g", sum_ns,
                       times.pass_ns.value);
    cr_expect_gt(times.forward_ns, 0.0);
    cr_expect_gt(times.optimizer_ns, 0.0);
    cr_expect_geq(times.passes, 7);
    cr_expect_geq(times.spread_ratio, 0.0);
}

Test(measure_model, passes_end_when_they_are_told_to_but_not_before_the_least)
{
    gs_measured_model *model = NULL;
    double times_ns[20];
    uint32_t count = 0;
    atomic_int stop = 1;
    cr_assert_eq(read_text(SCENARIO("\"real_gradients\": true, ")), GS_OK, "%s", err.text);
    cr_assert_eq(gs_measured_model_create(&scenario, 0, &arena, &model, &err), GS_OK);
    cr_assert_eq(gs_measure_passes(model, 5, 20, &stop, times_ns, &count, &err), GS_OK);
    cr_expect_eq(count, 5);
    stop = 0;
    cr_assert_eq(gs_measure_passes(model, 5, 20, &stop, times_ns, &count, &err), GS_OK);
    cr_expect_eq(count, 20);
    cr_expect_gt(times_ns[19], 0.0);
}

Test(measure_model, what_does_not_train_is_refused)
{
    gs_measured_model *model = NULL;
    cr_assert_eq(read_text(SCENARIO("")), GS_OK, "%s", err.text);
    cr_expect_eq(gs_measured_model_create(&scenario, 0, &arena, &model, &err), GS_EUNSUPPORTED);
    cr_expect_str_eq(err.text,
                     "workload.real_gradients is false: no model trains that could be timed");
}

Test(measure_model, a_profile_of_another_model_is_refused)
{
    gs_measured_model *model = NULL;
    cr_assert_eq(read_text(SCENARIO("\"real_gradients\": true, \"profile\": \"resnet50\", ")),
                 GS_OK, "%s", err.text);
    cr_expect_eq(gs_measured_model_create(&scenario, 0, &arena, &model, &err), GS_EUNSUPPORTED);
    cr_expect_str_eq(err.text, "workload.profile is of another model than mlp, which trains; leave "
                               "it out to have that one timed");
}
