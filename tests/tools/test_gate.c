/* Limits as people write them, and as scenarios hold them. */
#include "tests/support.h"

#include "tools/compare/gate.h"
#include "traces/record.h"

#include <string.h>

static gs_gate parse(const char *text)
{
    gs_gate gate = {0};
    gs_error err = {0};
    cr_assert_eq(gs_gate_parse(text, &gate, &err), GS_OK, "%s: %s", text, err.text);
    return gate;
}

static void expect(const char *text, const char *metric, bool is_amount, double value,
                   const char *shown)
{
    gs_gate gate = parse(text);
    char limit[GS_LIMIT_TEXT_BYTES];
    cr_assert_str_eq(gs_metric_at(gate.metric)->name, metric);
    cr_assert_eq(gate.limit.is_amount, is_amount, "%s", text);
    cr_assert_float_eq(gate.limit.value, value, 1e-12 + 1e-12 * value, "%s: %.17g", text,
                       gate.limit.value);
    cr_assert_str_eq(gs_gate_limit_text(&gate, limit), shown, "%s: %s", text, limit);
}

Test(gate, is_a_share_or_an_amount_in_the_units_of_the_metric)
{
    expect("time_to_target<=+3%", "time_to_target_ns", false, 0.03, "+3 %");
    expect(" step_p50_ns <= 2.5 % ", "step_p50_ns", false, 0.025, "+2.5 %");
    expect("step_p50<=+2ms", "step_p50_ns", true, 2e6, "+2 ms");
    expect("wire_bytes_per_step<=+1MiB", "wire_bytes_per_step", true, 1048576.0, "+1.049 MB");
    expect("final_accuracy>=-0.002", "final_accuracy", true, 0.002, "-0.002");
    expect("final_accuracy>=-1%", "final_accuracy", false, 0.01, "-1 %");
    expect("final_bits_per_char<=+0.01", "final_bits_per_char", true, 0.01, "+0.01");
    expect("step_p50<=0%", "step_p50_ns", false, 0.0, "+0 %");
    expect("samples_per_s>=-0%", "samples_per_s", false, 0.0, "-0 %");
}

Test(gate, of_two_gates_of_a_metric_the_later_stands)
{
    gs_gates gates = {0};
    gs_gate first = parse("step_p50<=+3%");
    gs_gate other = parse("step_p95<=+3%");
    gs_gate later = parse("step_p50<=+9%");
    cr_assert_eq(gs_gates_add(&gates, &first, NULL), GS_OK);
    cr_assert_eq(gs_gates_add(&gates, &other, NULL), GS_OK);
    cr_assert_eq(gs_gates_add(&gates, &later, NULL), GS_OK);
    cr_assert_eq(gates.count, 2);
    cr_assert_float_eq(gs_gates_find(&gates, first.metric)->limit.value, 0.09, 1e-15);
    cr_assert_null(gs_gates_find(&gates, gs_metric_find("run_ns")));
}

Test(gate, a_scenario_holds_shares_and_amounts)
{
    gs_gates gates = {0};
    gs_error err = {0};
    cr_assert_eq(gs_gates_of_scenario("{\"gates\":[{\"metric\":\"time_to_target\","
                                      "\"max_regression\":0.03,\"max_drop\":0},{\"metric\":"
                                      "\"final_accuracy\",\"max_drop\":0.002}]}",
                                      &gates, &err),
                 GS_OK, "%s", err.text);
    cr_assert_eq(gates.count, 2);
    cr_assert(!gates.gates[0].limit.is_amount && gates.gates[0].limit.value == 0.03);
    cr_assert(gates.gates[1].limit.is_amount && gates.gates[1].limit.value == 0.002);
    cr_assert_eq(gs_gates_of_scenario("{\"cluster\":{}}", &gates, &err), GS_OK);
    cr_assert_eq(gates.count, 0);
    cr_assert_eq(gs_gates_of_scenario("{\"gates\":[{\"metric\":\"events\"}]}", &gates, &err),
                 GS_EINVAL);
    cr_assert_not_null(strstr(err.text, "gates[0]: \"events\" is no metric that has a limit"), "%s",
                       err.text);
}

/* The share goes to what has no amount of its own. */
Test(gate, what_is_built_in_judges_times_bytes_and_what_was_learned)
{
    gs_gates gates;
    gs_gates_built_in(0.05, &gates);
    cr_assert_eq(gates.count, 6);
    cr_assert_float_eq(gs_gates_find(&gates, gs_metric_find("step_p95"))->limit.value, 0.05, 1e-15);
    cr_assert(gs_gates_find(&gates, gs_metric_find("final_accuracy"))->limit.is_amount);
}
