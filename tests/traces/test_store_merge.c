#include "traces/store/store_merge.h"

#include "tests/traces/store_fixture.h"
#include "traces/store/store_gc.h"
#include "traces/store/store_sweep.h"

TestSuite(store_merge, .init = fixture_init, .fini = fixture_fini);

/* As a program of schema 1 left it: a simulated run and a measured one. */
static void make_schema_1(const char *path)
{
    static const char rows[] =
        "INSERT INTO status VALUES('ok', '');"
        "INSERT INTO metric VALUES('step_p50_ns', 'ns', 'lower', 1, '');"
        "INSERT INTO scenario VALUES(1, 'eth10', 'a1b2c3d4e5f60718', '{}', 8, 2, 'mlp', 100);"
        "INSERT INTO strategy VALUES(1, 'allreduce', '1', '{}');"
        "INSERT INTO env(env_id, tool_version, env_hash) VALUES(1, '0.1.0', 'x');"
        "INSERT INTO run VALUES(1, 'k1', 1, 'sim', 1, 1, 1, NULL, 3, 0, 'ok', NULL, 'h',"
        "  '2026-11-29T23:59:58Z', 1500000000),"
        "  (2, 'k2', 2, 'live', 1, 1, 1, NULL, 3, 0, 'ok', NULL, NULL, '2026-11-30T00:10:00Z', 7);"
        "INSERT INTO result VALUES(1, 'step_p50_ns', 238500, 0), (2, 'step_p50_ns', 250000, 0);";
    gs_sql sql;
    gs_error err = {0};
    cr_assert_eq(gs_sql_open(path, true, &sql, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_store_migrate(&sql, gs_store_migrations, 1, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_sql_run(&sql, rows, &err), GS_OK, "%s", err.text);
    gs_sql_close(&sql);
}

static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *entries = opendir(fixture_folder);
    cr_assert_not_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += entry->d_name[0] == '.' ? 0 : 1;
    }
    (void)closedir(entries);
    return count;
}

Test(store_merge, an_older_database_is_read_in_a_copy_that_does_not_stay)
{
    const char *older = fixture_path("older.db");
    const char *newer = fixture_path("newer.db");
    make_schema_1(older);
    gs_store *store = fixture_open(newer, GS_STORE_WRITE);
    gs_stored_run run = fixture_run(1, 1);
    (void)fixture_write(store, &run);
    gs_merged merged;
    gs_error err = {0};
    cr_assert_eq(gs_store_merge(store, older, &merged, &err), GS_OK, "%s", err.text);
    gs_store_close(store);
    cr_expect_eq(merged.added, 2);
    cr_expect_eq(merged.same, 0);
    cr_expect_eq(fixture_query(older, "PRAGMA user_version"), 1);
    cr_expect_eq(fixture_query(newer, "SELECT count(*) FROM run"), 3);
    cr_expect_eq(fixture_query(newer, "SELECT max(batch) FROM run"), 3,
                 "1 of its own, 2 behind it");
    cr_expect_eq(fixture_query(newer, "SELECT value FROM result JOIN run USING(run_id) "
                                      "WHERE run_key = 'k2'"),
                 250000);
    cr_expect_eq(fixture_query(newer, "SELECT count(*) FROM prediction JOIN run USING(run_id) "
                                      "WHERE run_key = 'k1'"),
                 1, "what a run of schema 1 foretold came with the migration of the copy");
    cr_expect_eq(count_files(), 2u);
}

Test(store_merge, a_run_is_found_by_its_key_and_becomes_one_of_the_new_batch)
{
    const char *path = fixture_path("sweep.db");
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    gs_stored_place place = {.sweep_key = 7, .point = 4, .overrides_json = "{}"};
    gs_stored_run run = fixture_run(1, 1);
    run.repeat = 0;
    run.place = &place;
    (void)fixture_write(store, &run);
    gs_store_close(store);

    store = fixture_open(path, GS_STORE_WRITE);
    double values[FIXTURE_VALUES_MAX];
    gs_found_run found;
    gs_error err = {0};
    place.point = 5;
    cr_assert_eq(gs_store_reuse_begin(store, &err), GS_OK, "%s", err.text);
    gs_status status =
        gs_store_reuse_run(store, gs_store_run_key(&run), "again", &place, values, &found, &err);
    cr_assert_eq(gs_store_reuse_end(store, status, &err), GS_OK, "%s", err.text);
    cr_expect_eq(found.run_id, 1);
    cr_expect_eq(found.status, GS_RUN_OK);
    cr_expect_float_eq(values[0], 1.5, 0.0, "fixture_values");
    cr_assert_eq(gs_store_prune_point(store, 7, 4, 2, &err), GS_OK, "%s", err.text);

    run.seed = 2; /* nobody has made this one */
    cr_assert_eq(gs_store_reuse_begin(store, &err), GS_OK, "%s", err.text);
    status =
        gs_store_reuse_run(store, gs_store_run_key(&run), "again", &place, values, &found, &err);
    cr_assert_eq(gs_store_reuse_end(store, status, &err), GS_OK, "%s", err.text);
    cr_expect_eq(found.run_id, 0);
    gs_store_close(store);
    cr_expect_eq(fixture_query(path, "SELECT batch FROM run WHERE label = 'again'"), 2);
    cr_expect_eq(fixture_query(path, "SELECT sum(point) FROM sweep_point"), 9);
    cr_expect_eq(fixture_query(path, "SELECT rung FROM sweep_point WHERE pruned AND point = 4"), 2);
}

Test(store_merge, an_interrupted_run_is_none_that_could_be_used)
{
    gs_store *store = fixture_open(fixture_path("sweep.db"), GS_STORE_WRITE);
    gs_stored_place place = {.sweep_key = 7, .point = 4, .overrides_json = "{}"};
    gs_stored_run run = fixture_run(1, 1);
    run.repeat = 0;
    run.exact = false;
    run.status = GS_RUN_INTERRUPTED;
    (void)fixture_write(store, &run);
    double values[FIXTURE_VALUES_MAX];
    gs_found_run found;
    gs_error err = {0};
    cr_assert_eq(gs_store_reuse_begin(store, &err), GS_OK, "%s", err.text);
    gs_status status =
        gs_store_reuse_run(store, gs_store_run_key(&run), NULL, &place, values, &found, &err);
    cr_assert_eq(gs_store_reuse_end(store, status, &err), GS_OK, "%s", err.text);
    cr_expect_eq(found.run_id, 0);
    gs_store_close(store);
}

Test(store_merge, the_room_of_dropped_runs_is_given_back)
{
    const char *path = fixture_path("gc.db");
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    gs_error err = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        gs_stored_run run = fixture_run(seed, seed);
        (void)fixture_write(store, &run);
    }
    gs_collected collected;
    const gs_gc_rule rule = {.label = "nightly"};
    cr_assert_eq(gs_store_collect(store, &rule, true, &collected, &err), GS_OK, "%s", err.text);
    cr_expect_eq(collected.runs, 40);
    cr_expect_eq(collected.bytes_after, collected.bytes_before);
    cr_expect_eq(fixture_query(path, "SELECT count(*) FROM run"), 40, "a dry run changes nothing");
    cr_assert_eq(gs_store_collect(store, &rule, false, &collected, &err), GS_OK, "%s", err.text);
    cr_expect_eq(collected.unused, 3, "a scenario, a strategy and an environment");
    cr_expect_lt(collected.bytes_after, collected.bytes_before);
    cr_expect_eq(fixture_query(path, "SELECT (SELECT count(*) FROM run) + "
                                     "(SELECT count(*) FROM step) + (SELECT count(*) FROM result)"),
                 0);
    gs_store_close(store);
}
