/* The JSON result: its whole text once, and what scripts must be able to rely on. */
#include "traces/result_json.h"

#include "tests/support.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 64 };

static gs_environment environment(void)
{
    return (gs_environment){.tool_version = "0.1.0",
                            .commit = "3f2a91c00000",
                            .compiler = "gcc 12.2.0",
                            .cpu = "a processor",
                            .blas = "a kernel"};
}

static gs_stored_run run_of(const double *values)
{
    static const gs_stored_input inputs[] = {{"profile", "rank0.json.gz", "kineto", 977, 0x1f}};
    return (gs_stored_run){
        .source = GS_SOURCE_SIM,
        .status = GS_RUN_OK,
        .scenario = {.name = "eth10",
                     .config_hash = UINT64_C(0x00a1b2c3d4e5f607),
                     .config_json = "{}",
                     .ranks = 8,
                     .nodes = 2,
                     .model = "mlp",
                     .gradient_bytes = 100000000},
        .strategy = {.name = "allreduce", .version = "1", .params_json = "{\"bucket\":\"25MiB\"}"},
        .environment = environment(),
        .seed = 3,
        .exact = true,
        .result_hash = UINT64_C(0x0123456789abcdef),
        .started_utc = "2026-11-29T19:30:31Z",
        .wall_ns = 123456789,
        .inputs = inputs,
        .input_count = 1,
        .values = values,
    };
}

/* value i is i + 0.5, except two that are not finite. */
static const double *some_values(void)
{
    static double values[VALUES_MAX];
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        values[i] = i + 0.5;
    }
    values[gs_metric_find("step_p50_ns")] = 148213377.0;
    values[gs_metric_find("final_loss")] = (double)INFINITY;
    values[gs_metric_find("samples_to_target")] = (double)NAN;
    return values;
}

static gs_json *document_with(const gs_stored_run *run)
{
    gs_environment facts = environment();
    gs_error err = {0};
    gs_json *document = gs_result_json_create("gradsync sim eth10 --json", &facts);
    cr_assert_not_null(document);
    cr_assert_eq(gs_result_json_add_run(document, run, 41, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_result_json_finish(document, "done", 0, &err), GS_OK);
    return document;
}

static void assert_has(const gs_json *document, const char *part)
{
    char *text = gs_json_write(document, false);
    cr_assert_not_null(text);
    cr_assert_not_null(strstr(text, part), "no %s in %s", part, text);
    free(text);
}

Test(result_json, a_run_is_told_in_full)
{
    gs_stored_run run = run_of(some_values());
    run.target_censored = true;
    gs_json *document = document_with(&run);
    char *text = gs_json_write(document, false);
    /* The metrics stand between these two parts. */
    const char *head =
        "{\"schema\":\"gradsync.result/1\",\"command\":\"gradsync sim eth10 --json\","
        "\"environment\":{\"tool_version\":\"0.1.0\",\"commit\":\"3f2a91c00000\",\"dirty\":false,"
        "\"compiler\":\"gcc 12.2.0\",\"cpu\":\"a processor\",\"os\":null,\"blas\":\"a kernel\","
        "\"runner\":null},\"runs\":[{\"run_id\":41,\"source\":\"sim\",\"scenario\":{\"name\":"
        "\"eth10\",\"config_hash\":\"00a1b2c3d4e5f607\",\"ranks\":8,\"nodes\":2,\"model\":\"mlp\","
        "\"gradient_bytes\":100000000},\"strategy\":{\"name\":\"allreduce\",\"version\":\"1\","
        "\"params\":{\"bucket\":\"25MiB\"}},\"label\":null,\"seed\":3,\"repeat\":0,\"status\":"
        "\"ok\",\"error\":null,\"result_hash\":\"0123456789abcdef\",\"started_utc\":"
        "\"2026-11-29T19:30:31Z\",\"wall_ns\":123456789,\"inputs\":[{\"role\":\"profile\","
        "\"name\":\"rank0.json.gz\",\"format\":\"kineto\",\"bytes\":977,\"xxh3\":"
        "\"000000000000001f\"}],\"metrics\":{\"step_mean_ns\":0.5,\"step_p50_ns\":148213377,";
    const char *tail =
        "},\"censored\":[\"time_to_target_ns\"]}],\"strategies\":null,\"verdict\":\"done\","
        "\"exit_code\":0}";
    cr_assert_eq(strncmp(text, head, strlen(head)), 0, "%s", text);
    cr_assert_str_eq(text + strlen(text) - strlen(tail), tail);
    free(text);
    gs_json_free(document);
}

Test(result_json, what_is_not_finite_is_null)
{
    gs_stored_run run = run_of(some_values());
    gs_json *document = document_with(&run);
    assert_has(document, "\"final_loss\":null");
    assert_has(document, "\"samples_to_target\":null");
    assert_has(document, "\"censored\":[]");
    gs_json_free(document);
}

Test(result_json, every_metric_is_there_also_where_none_was_measured)
{
    gs_stored_run run = run_of(NULL);
    run.status = GS_RUN_INTERRUPTED;
    run.error_text = "stopped after 2 of 100 steps";
    run.exact = false;
    gs_json *document = document_with(&run);
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        char part[64];
        (void)snprintf(part, sizeof part, "\"%s\":null", gs_metric_at(i)->name);
        assert_has(document, part);
    }
    assert_has(document, "\"status\":\"interrupted\",\"error\":\"stopped after 2 of 100 steps\","
                         "\"result_hash\":null");
    gs_json_free(document);
}

Test(result_json, runs_stand_in_the_order_they_were_added)
{
    gs_stored_run run = run_of(NULL);
    gs_json *document = document_with(&run);
    run.seed = 4;
    cr_assert_eq(gs_result_json_add_run(document, &run, 0, NULL), GS_OK);
    gs_json_at at = {.value = document, .file = "test"};
    gs_json_at runs;
    cr_assert(gs_json_find(&at, "runs", &runs));
    cr_assert_eq(gs_json_count(runs.value), 2);
    int64_t seed = 0;
    gs_json_at member;
    gs_json_at second = gs_json_element(&runs, 1);
    cr_assert(gs_json_find(&second, "seed", &member));
    cr_assert_eq(gs_json_int(&member, &seed, NULL), GS_OK);
    cr_assert_eq(seed, 4);
    cr_assert(gs_json_find(&second, "run_id", &member));
    cr_assert_eq(gs_json_kind_of(member.value), GS_JSON_NULL);
    gs_json_free(document);
}

Test(result_json, parameters_that_are_no_json_are_refused_and_nothing_is_added)
{
    gs_stored_run run = run_of(NULL);
    gs_json *document = document_with(&run);
    char *before = gs_json_write(document, false);
    run.strategy.params_json = "{bucket}";
    gs_error err = {0};
    cr_assert_eq(gs_result_json_add_run(document, &run, 1, &err), GS_EPARSE);
    cr_assert_not_null(strstr(err.text, "strategy parameters"), "%s", err.text);
    char *after = gs_json_write(document, false);
    cr_assert_str_eq(after, before);
    free(before);
    free(after);
    gs_json_free(document);
}

/* An allocation of our own code in cJSON's place, so that the test can make it fail. */
static void *take(size_t bytes)
{
    return malloc(bytes);
}

Test(result_json, every_failed_allocation_is_told_and_nothing_leaks)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = take, .free_fn = free});
    gs_environment facts = environment();
    gs_stored_run run = run_of(some_values());
    bool done = false;
    int64_t after = 0;
    for (; !done; after++) {
        test_fail_allocations(after);
        gs_json *document = gs_result_json_create("gradsync", &facts);
        gs_status status = GS_ENOMEM;
        if (document != NULL) {
            status = gs_result_json_add_run(document, &run, 1, NULL);
        }
        if (status == GS_OK) {
            status = gs_result_json_finish(document, "done", 0, NULL);
        }
        test_fail_allocations(-1);
        cr_assert(status == GS_OK || status == GS_ENOMEM);
        done = status == GS_OK;
        gs_json_free(document);
    }
    cr_assert_gt(after, 50); /* more fields than that were built */
}
