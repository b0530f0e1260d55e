/* Baselines, comparisons and acks in the database. */
#include "traces/store/store_ack.h"
#include "traces/store/store_baseline.h"
#include "traces/store/store_compare.h"

#include "tests/support.h"
#include "tests/traces/store_fixture.h"

TestSuite(store_baseline, .init = fixture_init, .fini = fixture_fini, .timeout = 60);

static gs_store *store;
static gs_arena arena;

/* Runs of seeds 1 and 2. */
static void open_with_two(const char *name, int64_t ids[2])
{
    store = fixture_open(fixture_path(name), GS_STORE_WRITE);
    gs_arena_init(&arena);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        gs_stored_run run = fixture_run(seed, seed);
        ids[seed - 1] = fixture_write(store, &run);
    }
}

static void close_all(void)
{
    gs_arena_fini(&arena);
    gs_store_close(store);
}

static void set(const char *name, const int64_t *ids, uint32_t count)
{
    gs_error err = {0};
    cr_assert_eq(gs_store_set_baseline(store, name, ids, count, "why", &err), GS_OK, "%s",
                 err.text);
}

static uint32_t find(const char *selector, gs_status expected, const char *text)
{
    const int64_t *ids = NULL;
    uint32_t count = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_find_runs(store, selector, &arena, &ids, &count, &err), expected, "%s",
                 err.text);
    if (text != NULL) {
        cr_assert_not_null(strstr(err.text, text), "%s", err.text);
    }
    return count;
}

/* Names with quotes are values, not SQL. */
Test(store_baseline, names_runs_until_it_is_removed)
{
    int64_t ids[2];
    const char *name = "it's \"main\"; DROP TABLE run; --";
    open_with_two("runs.db", ids);
    set(name, ids, 2);
    set("other", ids, 1);
    char selector[128];
    (void)snprintf(selector, sizeof selector, "baseline:%s", name);
    cr_assert_eq(find(selector, GS_OK, NULL), 2);
    cr_assert_eq(find("baseline:other", GS_OK, NULL), 1);
    (void)find("baseline:othr", GS_ENOTFOUND, "no baseline \"othr\"; did you mean \"other\"?");
    const gs_baseline *rows = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_read_baselines(store, &arena, &rows, &count, NULL), GS_OK);
    cr_assert(count == 2 && rows[0].runs + rows[1].runs == 3);
    cr_assert_str_eq(rows[0].commit, "3f2a91c00000");
    cr_assert_str_eq(rows[0].note, "why");
    cr_assert_eq(gs_store_remove_baseline(store, name, NULL), GS_OK);
    cr_assert_eq(gs_store_remove_baseline(store, name, NULL), GS_ENOTFOUND);
    (void)find(selector, GS_ENOTFOUND, NULL);
    cr_assert_eq(find("@last", GS_OK, NULL), 2);
    close_all();
}

Test(store_baseline, setting_it_again_replaces_its_runs)
{
    int64_t ids[2];
    open_with_two("runs.db", ids);
    set("main", ids, 2);
    set("main", ids + 1, 1);
    cr_assert_eq(find("baseline:main", GS_OK, NULL), 1);
    cr_assert_eq(gs_store_set_baseline(store, "a:b", ids, 1, NULL, NULL), GS_EINVAL);
    cr_assert_eq(gs_store_set_baseline(store, "12", ids, 1, NULL, NULL), GS_EINVAL);
    close_all();
}

/* A build from a changed tree stores another result under the same key; the same result again is no
 * loss. */
Test(store_baseline, is_gone_when_a_run_was_replaced_by_another_result)
{
    int64_t id = 0;
    store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    gs_arena_init(&arena);
    gs_stored_run run = fixture_run(1, 1);
    run.environment.dirty = true;
    id = fixture_write(store, &run);
    set("main", &id, 1);
    cr_assert_eq(fixture_write(store, &run), id);
    cr_assert_eq(find("baseline:main", GS_OK, NULL), 1);
    run.result_hash = 2;
    cr_assert_eq(fixture_write(store, &run), id);
    (void)find("baseline:main", GS_EMISMATCH,
               "baseline \"main\" is gone: of its 1 runs 1 were removed, or replaced");
    set("main", &id, 1);
    cr_assert_eq(find("baseline:main", GS_OK, NULL), 1);
    fixture_execute(fixture_path("runs.db"), "DELETE FROM run");
    (void)find("baseline:main", GS_EMISMATCH, "is gone");
    cr_assert_eq(gs_store_remove_baseline(store, "main", NULL), GS_OK);
    close_all();
}

Test(store_baseline, a_commit_names_the_runs_of_its_unchanged_builds)
{
    int64_t ids[2];
    open_with_two("runs.db", ids);
    gs_stored_run run = fixture_run(3, 3);
    run.environment.dirty = true;
    (void)fixture_write(store, &run);
    cr_assert_eq(find("commit:3f2a", GS_OK, NULL), 2);
    cr_assert_eq(find("commit:3F2A91C00000d1d1d1d1", GS_OK, NULL), 2);
    (void)find("commit:3f2b", GS_ENOTFOUND,
               "no run of a program built from commit 3f2b, unchanged");
    (void)find("commit:3f2", GS_EINVAL, "four digits");
    (void)find("commit:main", GS_EINVAL, "not the name of a commit");
    close_all();
}

static void write_comparison(const gs_stored_run *run, const char *verdict, double ratio)
{
    gs_stored_comparison comparison = {.baseline_sel = "baseline:main",
                                       .candidate_sel = "@last",
                                       .paired = true,
                                       .method = "sign-flip",
                                       .alpha = 0.05,
                                       .correction = "holm",
                                       .gate_json = "[]",
                                       .verdict = "fail",
                                       .exit_code = 3};
    gs_stored_verdict row = {.scenario = &run->scenario,
                             .strategy = &run->strategy,
                             .metric = "step_p50_ns",
                             .n_base = 10,
                             .n_cand = 9,
                             .failed_cand = 1,
                             .base = 100.0,
                             .cand = 110.0,
                             .ratio = ratio,
                             .ratio_lo = (double)NAN,
                             .ratio_hi = HUGE_VAL,
                             .p_raw = 0.002,
                             .p_adjusted = 0.02,
                             .threshold_ratio = 1.03,
                             .min_detectable_ratio = 1.05,
                             .verdict = verdict,
                             .reason = ""};
    int64_t id = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_write_comparison(store, &comparison, &row, 1, &id, &err), GS_OK, "%s",
                 err.text);
}

Test(store_baseline, what_was_worse_last_can_be_accepted)
{
    int64_t ids[2];
    open_with_two("runs.db", ids);
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    const gs_worse *worse = NULL;
    const gs_ack *acks = NULL;
    uint32_t count = 9;
    cr_assert_eq(gs_store_read_worse(store, &arena, &worse, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    write_comparison(&run, "worse", 1.1);
    cr_assert_eq(fixture_query(path, "SELECT ratio_lo IS NULL AND ratio_hi IS NULL AND n_cand = 9 "
                                     "AND failed_cand = 1 AND threshold_ratio = 1.03 FROM verdict"),
                 1);
    cr_assert_eq(gs_store_read_worse(store, &arena, &worse, &count, NULL), GS_OK);
    cr_assert_eq(count, 1);
    cr_assert_str_eq(worse[0].commit, "3f2a91c00000");
    cr_assert_eq(gs_store_write_ack(store, &worse[0], "me", "more 'accurate'", NULL), GS_OK);
    cr_assert_eq(gs_store_read_acks(store, &arena, &acks, &count, NULL), GS_OK);
    cr_assert(count == 1 && acks[0].ratio == 1.1);
    cr_assert_str_eq(acks[0].why, "more 'accurate'");
    cr_assert_str_eq(acks[0].scenario, "eth10");
    write_comparison(&run, "same", 1.0);
    cr_assert_eq(gs_store_read_worse(store, &arena, &worse, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    close_all();
}

/* Three commands of one and two runs: means, newest first; the third's runs diverged. */
Test(store_baseline, history_has_a_mean_for_each_command)
{
    double values[FIXTURE_VALUES_MAX];
    memcpy(values, fixture_values(), sizeof values);
    uint32_t metric = gs_metric_find("step_p50_ns");
    const double of_run[] = {10.0, 20.0, 40.0, 70.0};
    const char *path = fixture_path("runs.db");
    int64_t ids[4];
    gs_arena_init(&arena);
    for (int i = 0; i < 4; i++) {
        if (i != 2) {
            store = fixture_open(path, GS_STORE_WRITE);
        }
        values[metric] = of_run[i];
        gs_stored_run run = fixture_run((uint64_t)i, (uint64_t)i);
        run.values = values;
        run.status = i == 3 ? GS_RUN_DIVERGED : GS_RUN_OK;
        ids[i] = fixture_write(store, &run);
        if (i != 1) {
            gs_store_close(store);
        }
    }
    store = fixture_open(path, GS_STORE_READ);
    gs_stored_run run = fixture_run(0, 0);
    gs_history_of of = {.source = GS_SOURCE_SIM,
                        .config_hash = run.scenario.config_hash,
                        .strategy = run.strategy.name,
                        .params_json = run.strategy.params_json,
                        .metric = "step_p50_ns",
                        .most = 20};
    const double *history = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_read_history(store, &of, &arena, &history, &count, NULL), GS_OK);
    cr_assert(count == 2 && history[0] == 30.0 && history[1] == 10.0);
    of.before_run = ids[0];
    cr_assert_eq(gs_store_read_history(store, &of, &arena, &history, &count, NULL), GS_OK);
    cr_assert(count == 1 && history[0] == 10.0);
    of.before_run = 0;
    of.since_utc = "2030-01-01T00:00:00Z";
    cr_assert_eq(gs_store_read_history(store, &of, &arena, &history, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    close_all();
}

/* Gates are no part of a scenario's hash: those of the command that ran it last are what counts. */
Test(store_baseline, a_scenario_has_the_text_of_its_last_run)
{
    int64_t ids[2];
    open_with_two("runs.db", ids);
    gs_stored_run run = fixture_run(3, 3);
    run.scenario.config_json = "{\"seed\":1,\"gates\":[]}";
    (void)fixture_write(store, &run);
    gs_stored_run first = fixture_run(1, 1);
    write_comparison(&first, "same", 1.0); /* its text is older */
    gs_stored_run back;
    cr_assert_eq(gs_store_read_run(store, ids[0], &arena, &back, NULL), GS_OK);
    cr_assert_str_eq(back.scenario.config_json, run.scenario.config_json);
    close_all();
}
