/* The ledger: predictions keep the time at which they were first stored; judgements are kept. */
#include "traces/store/ledger.h"

#include "tests/support.h"
#include "tests/traces/store_fixture.h"
#include "traces/judge.h"

TestSuite(ledger, .init = fixture_init, .fini = fixture_fini, .timeout = 60);

static void write_one(const char *path, const gs_stored_run *run)
{
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    (void)fixture_write(store, run);
    gs_store_close(store);
}

/* As if every prediction there is had been stored long ago. */
static void age(const char *path)
{
    fixture_execute(path, "UPDATE prediction SET predicted_utc = '2001-02-03T04:05:06Z'");
}

static int64_t count_old(const char *path)
{
    return fixture_query(
        path, "SELECT count(*) FROM prediction WHERE predicted_utc = '2001-02-03T04:05:06Z'");
}

/* The run of the fixture has every metric; decisions are no metric. */
Test(ledger, a_simulated_run_foretells_every_judged_metric)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    write_one(path, &run);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction"), gs_judged_count() - 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction p JOIN result r "
                                     "USING(run_id, metric) WHERE p.value = r.value"),
                 gs_judged_count() - 1);
}

Test(ledger, runs_that_failed_or_were_measured_foretell_nothing)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    run.status = GS_RUN_DEADLOCK;
    write_one(path, &run);
    run = fixture_run(2, 1);
    run.source = GS_SOURCE_LIVE;
    run.exact = false;
    write_one(path, &run);
    run = fixture_run(3, 1);
    run.values = NULL;
    write_one(path, &run);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction"), 0);
}

Test(ledger, the_same_result_stored_again_is_the_old_prediction)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    write_one(path, &run);
    age(path);
    run.label = "another label";
    write_one(path, &run);
    cr_assert_eq(count_old(path), gs_judged_count() - 1);
}

/* A build from a changed tree may give another result under the same key. */
Test(ledger, another_value_is_a_new_prediction)
{
    const char *path = fixture_path("runs.db");
    double values[FIXTURE_VALUES_MAX];
    memcpy(values, fixture_values(), sizeof values);
    gs_stored_run run = fixture_run(1, 1);
    run.environment.dirty = true;
    run.values = values;
    write_one(path, &run);
    age(path);
    values[gs_metric_find("step_p50")] = 238.5;
    write_one(path, &run);
    cr_assert_eq(count_old(path), gs_judged_count() - 2);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction WHERE value = 238.5 AND "
                                     "metric = 'step_p50_ns' AND predicted_utc > '2026'"),
                 1);
    gs_store *store = fixture_open(path, GS_STORE_READ);
    char utc[GS_UTC_BYTES];
    cr_assert_eq(gs_store_predicted_utc(store, 1, utc, NULL), GS_OK);
    cr_assert_gt(strcmp(utc, "2026"), 0); /* the run is as new as the newest of them */
    gs_store_close(store);
}

Test(ledger, results_that_were_changed_later_are_not_what_was_foretold)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    run.target_censored = true;
    write_one(path, &run);
    char utc[GS_UTC_BYTES];
    gs_store *store = fixture_open(path, GS_STORE_READ);
    cr_assert_eq(gs_store_predicted_utc(store, 1, utc, NULL), GS_OK);
    cr_assert_str_neq(utc, "");
    fixture_execute(path, "UPDATE result SET value = value + 1 WHERE metric = 'events'");
    cr_assert_eq(gs_store_predicted_utc(store, 1, utc, NULL), GS_OK);
    cr_assert_str_neq(utc, "");
    fixture_execute(path, "UPDATE result SET value = value + 1 WHERE metric = 'wait_ns'");
    cr_assert_eq(gs_store_predicted_utc(store, 1, utc, NULL), GS_OK);
    cr_assert_str_eq(utc, "");
    gs_store_close(store);
}

Test(ledger, a_target_that_is_not_reached_is_foretold_as_null)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    run.target_censored = true;
    write_one(path, &run);
    age(path);
    write_one(path, &run);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction WHERE value IS NULL AND "
                                     "metric = 'time_to_target_ns' AND predicted_utc < '2002'"),
                 1);
}

Test(ledger, a_run_without_predictions_has_no_time_and_decisions_are_counted)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    run.source = GS_SOURCE_LIVE;
    run.exact = false;
    write_one(path, &run);
    fixture_execute(
        path, "INSERT INTO decision(run_id, step, seq, at_ns, from_strategy, "
              "to_strategy, reason, evidence_json) VALUES(1, 3, 0, 5, 'a', 'b', 'slow', '{}'), "
              "(1, 3, 1, 6, 'b', 'a', 'fast', '{}')");
    gs_store *store = fixture_open(path, GS_STORE_READ);
    char utc[GS_UTC_BYTES] = "x";
    int64_t count = 0;
    cr_assert_eq(gs_store_predicted_utc(store, 1, utc, NULL), GS_OK);
    cr_assert_str_eq(utc, "");
    cr_assert_eq(gs_store_count_decisions(store, 1, &count, NULL), GS_OK);
    cr_assert_eq(count, 2);
    cr_assert_eq(gs_store_count_decisions(store, 77, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    gs_store_close(store);
}

static gs_validation judgement(const char *name, double error)
{
    return (gs_validation){.predicted_run_id = 1,
                           .measured_run_id = 2,
                           .name = name,
                           .rank = GS_ALL_RANKS,
                           .predicted_count = 3,
                           .measured_count = 7,
                           .predicted = 238.5,
                           .predicted_low = (double)NAN,
                           .predicted_high = (double)NAN,
                           .measured = 250.0,
                           .measured_low = 249.5,
                           .measured_high = 251.25,
                           .predicted_utc = "2026-11-29T19:30:31Z",
                           .measured_utc = "2026-11-29T19:40:00Z",
                           .blind = true,
                           .yardstick = "measured",
                           .error = error,
                           .tolerance = 0.05,
                           .inside = true,
                           .reason = "why"};
}

/* A simulated run and a measured one. Owner: caller. */
static gs_store *open_with_runs(void)
{
    gs_store *store = fixture_open(":memory:", GS_STORE_WRITE);
    gs_stored_run run = fixture_run(1, 1);
    (void)fixture_write(store, &run);
    run.source = GS_SOURCE_LIVE;
    run.exact = false;
    (void)fixture_write(store, &run);
    return store;
}

Test(ledger, a_judgement_is_read_back_as_it_was_written)
{
    gs_store *store = open_with_runs();
    gs_validation wanted = judgement("step_p50_ns", -0.046);
    cr_assert_eq(gs_store_write_validations(store, &wanted, 1, NULL), GS_OK);
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_validation *rows = NULL;
    int64_t count = 0;
    cr_assert_eq(gs_store_read_validations(store, &arena, &rows, &count, NULL), GS_OK);
    cr_assert_eq(count, 1);
    cr_assert_eq(rows[0].predicted_run_id, 1);
    cr_assert_eq(rows[0].measured_run_id, 2);
    cr_assert_str_eq(rows[0].name, "step_p50_ns");
    cr_assert_eq(rows[0].rank, GS_ALL_RANKS);
    cr_assert_eq(rows[0].predicted_count, 3);
    cr_assert_eq(rows[0].measured_count, 7);
    cr_assert_eq(rows[0].predicted, 238.5);
    cr_assert(isnan(rows[0].predicted_low));
    cr_assert(isnan(rows[0].predicted_high));
    cr_assert_eq(rows[0].measured, 250.0);
    cr_assert_eq(rows[0].measured_low, 249.5);
    cr_assert_eq(rows[0].measured_high, 251.25);
    cr_assert_str_eq(rows[0].predicted_utc, "2026-11-29T19:30:31Z");
    cr_assert_str_eq(rows[0].measured_utc, "2026-11-29T19:40:00Z");
    cr_assert(rows[0].blind);
    cr_assert_str_eq(rows[0].yardstick, "measured");
    cr_assert_eq(rows[0].error, -0.046);
    cr_assert_eq(rows[0].tolerance, 0.05);
    cr_assert(rows[0].inside);
    cr_assert_str_eq(rows[0].reason, "why");
    gs_arena_fini(&arena);
    gs_store_close(store);
}

/* The second judgement of the same runs replaces the first, in its place; another rank is another
 * row. */
Test(ledger, the_same_runs_judged_again_replace_their_row)
{
    gs_store *store = open_with_runs();
    gs_validation rows[] = {judgement("step_p50_ns", -0.046), judgement("wait_ns", 0.25),
                            judgement("step_p50_ns", 0.5)};
    rows[2].rank = 1;
    cr_assert_eq(gs_store_write_validations(store, rows, 3, NULL), GS_OK);
    rows[0].error = 0.125;
    rows[0].inside = false;
    rows[0].reason = NULL;
    rows[0].measured_count = 9;
    cr_assert_eq(gs_store_write_validations(store, rows, 1, NULL), GS_OK);
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_validation *got = NULL;
    int64_t count = 0;
    cr_assert_eq(gs_store_read_validations(store, &arena, &got, &count, NULL), GS_OK);
    cr_assert_eq(count, 3);
    cr_assert_eq(got[0].error, 0.125);
    cr_assert_eq(got[0].measured_count, 9);
    cr_assert_not(got[0].inside);
    cr_assert_null(got[0].reason);
    cr_assert_eq(got[1].error, 0.25);
    cr_assert_eq(got[2].rank, 1);
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(ledger, judgements_of_runs_that_are_not_there_leave_nothing_behind)
{
    gs_store *store = open_with_runs();
    gs_error err = {0};
    gs_validation rows[] = {judgement("step_p50_ns", -0.046), judgement("wait_ns", 0.25)};
    rows[1].measured_run_id = 99;
    cr_assert_eq(gs_store_write_validations(store, rows, 2, &err), GS_EIO);
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_validation *got = NULL;
    int64_t count = 7;
    cr_assert_eq(gs_store_read_validations(store, &arena, &got, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(ledger, a_reader_without_memory_says_so)
{
    gs_store *store = open_with_runs();
    gs_validation row = judgement("step_p50_ns", -0.046);
    cr_assert_eq(gs_store_write_validations(store, &row, 1, NULL), GS_OK);
    gs_status status = GS_ENOMEM;
    for (int64_t after = 0; status != GS_OK; after++) {
        gs_arena arena;
        gs_arena_init(&arena);
        gs_error err = {0};
        const gs_validation *rows = NULL;
        int64_t count = 0;
        test_fail_allocations(after);
        status = gs_store_read_validations(store, &arena, &rows, &count, &err);
        test_fail_allocations(-1);
        cr_assert(status == GS_OK || status == GS_ENOMEM, "allocation %d", (int)after);
        gs_arena_fini(&arena);
    }
    gs_store_close(store);
}
