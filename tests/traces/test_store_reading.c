/* What reports read back: places in sweeps, and comparisons. */
#include "tests/traces/store_fixture.h"
#include "traces/store/store_compare.h"
#include "traces/store/store_sweep.h"

TestSuite(store_reading, .init = fixture_init, .fini = fixture_fini);

static gs_store *open_store(void)
{
    gs_store *store = NULL;
    gs_error err = {0};
    cr_assert_eq(gs_store_open(fixture_path("runs.db"), GS_STORE_WRITE, &store, &err), GS_OK, "%s",
                 err.text);
    return store;
}

Test(store_reading, a_run_has_its_places_in_all_sweeps_by_their_keys)
{
    gs_store *store = open_store();
    gs_arena arena;
    gs_arena_init(&arena);
    gs_error err = {0};
    gs_stored_run run = fixture_run(1, 42);
    gs_stored_place place = {.sweep_key = 0xfedcba9876543210, .point = 3, .overrides_json = "{}"};
    int64_t id = 0;
    run.place = &place;
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_OK, "%s", err.text);
    place =
        (gs_stored_place){.sweep_key = 7, .point = 5, .overrides_json = "{\"a\":\"1\"}", .rung = 2};
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_OK, "%s", err.text);
    const gs_stored_place *rows = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_read_places(store, id, &arena, &rows, &count, &err), GS_OK);
    cr_assert_eq(count, 2U);
    cr_expect_eq(rows[0].sweep_key, 7U);
    cr_expect_eq(rows[0].point, 5);
    cr_expect_eq(rows[0].rung, 2);
    cr_expect_str_eq(rows[0].overrides_json, "{\"a\":\"1\"}");
    cr_expect_eq(rows[1].sweep_key, 0xfedcba9876543210);
    cr_expect_eq(rows[1].point, 3);
    cr_assert_eq(gs_store_read_places(store, id + 1, &arena, &rows, &count, &err), GS_OK);
    cr_expect_eq(count, 0U);
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(store_reading, a_comparison_comes_back_as_it_was_written)
{
    gs_store *store = open_store();
    gs_arena arena;
    gs_arena_init(&arena);
    gs_error err = {0};
    gs_stored_run run = fixture_run(1, 42);
    gs_stored_comparison made = {.baseline_sel = "baseline:main",
                                 .candidate_sel = "@last",
                                 .paired = true,
                                 .method = "sign-flip, BCa",
                                 .alpha = 0.03,
                                 .correction = "Holm",
                                 .gate_json = "[]",
                                 .verdict = "fail",
                                 .exit_code = 3};
    gs_stored_verdict row = {.scenario = &run.scenario,
                             .strategy = &run.strategy,
                             .metric = "step_p50_ns",
                             .n_base = 10,
                             .n_cand = 9,
                             .failed_cand = 1,
                             .base = 100.0,
                             .cand = 110.0,
                             .ratio = 1.1,
                             .ratio_lo = (double)NAN,
                             .ratio_hi = 1.25,
                             .p_raw = 0.002,
                             .p_adjusted = 0.02,
                             .threshold_ratio = 1.03,
                             .min_detectable_ratio = 1.05,
                             .verdict = "worse",
                             .reason = "why"};
    int64_t id = 0;
    cr_assert_eq(gs_store_write_comparison(store, &made, &row, 1, &id, &err), GS_OK, "%s",
                 err.text);
    gs_stored_comparison got;
    const gs_stored_verdict *rows = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_read_comparison(store, id, &arena, &got, &rows, &count, &err), GS_OK,
                 "%s", err.text);
    cr_expect_str_eq(got.baseline_sel, "baseline:main");
    cr_expect_str_eq(got.candidate_sel, "@last");
    cr_expect(got.paired);
    cr_expect_eq(got.alpha, 0.03);
    cr_expect_str_eq(got.verdict, "fail");
    cr_expect_eq(got.exit_code, 3);
    cr_expect_eq(strlen(got.made_utc), sizeof "2026-11-30T00:00:00Z" - 1);
    cr_assert_eq(count, 1U);
    cr_expect_str_eq(rows[0].scenario->name, run.scenario.name);
    cr_expect_str_eq(rows[0].strategy->params_json, run.strategy.params_json);
    cr_expect_eq(rows[0].n_cand, 9);
    cr_expect_eq(rows[0].failed_cand, 1);
    cr_expect_eq(rows[0].cand, 110.0);
    cr_expect(isnan(rows[0].ratio_lo));
    cr_expect_eq(rows[0].ratio_hi, 1.25);
    cr_expect_eq(rows[0].p_adjusted, 0.02);
    cr_expect_str_eq(rows[0].verdict, "worse");
    cr_expect_str_eq(rows[0].reason, "why");
    cr_expect_eq(gs_store_read_comparison(store, id + 1, &arena, &got, &rows, &count, &err),
                 GS_ENOTFOUND);
    gs_arena_fini(&arena);
    gs_store_close(store);
}
