/* Runs in the database: what is written is read back, found, and replaced by the rules. */
#include "tests/traces/store_fixture.h"

TestSuite(store, .init = fixture_init, .fini = fixture_fini);

/* The newest run that a selector names. */
static int64_t find(gs_store *store, const char *selector)
{
    int64_t id = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_find_run(store, selector, &id, &err), GS_OK, "%s", err.text);
    return id;
}

static void assert_find_fails(gs_store *store, const char *selector, gs_status code,
                              const char *text)
{
    int64_t id = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_find_run(store, selector, &id, &err), code);
    cr_assert_eq(err.code, code);
    cr_assert_str_eq(err.text, text);
}

/* One run written through a store of its own, as one command does. */
static int64_t write_batch(const gs_stored_run *run)
{
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, run);
    gs_store_close(store);
    return id;
}

static void assert_text(const char *value, const char *wanted)
{
    cr_assert_not_null(value);
    cr_assert_str_eq(value, wanted);
}

static void assert_same_facts(const gs_stored_run *got, const gs_stored_run *wanted)
{
    cr_assert_eq(got->source, wanted->source);
    cr_assert_eq(got->status, wanted->status);
    assert_text(got->scenario.name, wanted->scenario.name);
    cr_assert_eq(got->scenario.config_hash, wanted->scenario.config_hash);
    assert_text(got->scenario.config_json, wanted->scenario.config_json);
    cr_assert_eq(got->scenario.ranks, wanted->scenario.ranks);
    cr_assert_eq(got->scenario.nodes, wanted->scenario.nodes);
    assert_text(got->scenario.model, wanted->scenario.model);
    cr_assert_eq(got->scenario.gradient_bytes, wanted->scenario.gradient_bytes);
    assert_text(got->strategy.name, wanted->strategy.name);
    assert_text(got->strategy.version, wanted->strategy.version);
    assert_text(got->strategy.params_json, wanted->strategy.params_json);
    assert_text(got->environment.tool_version, wanted->environment.tool_version);
    assert_text(got->environment.commit, wanted->environment.commit);
    cr_assert_eq(got->environment.dirty, wanted->environment.dirty);
    assert_text(got->environment.compiler, wanted->environment.compiler);
    assert_text(got->environment.cpu, wanted->environment.cpu);
    assert_text(got->environment.os, wanted->environment.os);
    assert_text(got->environment.blas, wanted->environment.blas);
    assert_text(got->environment.runner, wanted->environment.runner);
    assert_text(got->label, wanted->label);
    cr_assert_eq(got->seed, wanted->seed);
    cr_assert_eq(got->repeat, wanted->repeat);
    cr_assert_eq(got->exact, wanted->exact);
    cr_assert_eq(got->result_hash, wanted->result_hash);
    assert_text(got->started_utc, wanted->started_utc);
    cr_assert_eq(got->wall_ns, wanted->wall_ns);
}

Test(store, a_run_is_read_back_as_it_was_written)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_stored_run run = fixture_run(UINT64_C(0xf000000000000007), UINT64_C(0x8899aabbccddeeff));
    gs_stored_run got;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, &run);
    cr_assert_eq(gs_store_read_run(store, id, &arena, &got, NULL), GS_OK);
    assert_same_facts(&got, &run);
    cr_assert_null(got.error_text);
    cr_assert_not(got.target_censored);
    cr_assert_eq(got.input_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_text(got.inputs[i].role, run.inputs[i].role);
        assert_text(got.inputs[i].name, run.inputs[i].name);
        assert_text(got.inputs[i].format, run.inputs[i].format);
        cr_assert_eq(got.inputs[i].bytes, run.inputs[i].bytes);
        cr_assert_eq(got.inputs[i].xxh3, run.inputs[i].xxh3);
    }
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        cr_assert_eq(got.values[i], 1.5 + i);
    }
    gs_store_close(store);
    gs_arena_fini(&arena);
}

static void assert_same_step(const gs_step_row *got, gs_step_row wanted)
{
    cr_assert_eq(got->step, wanted.step);
    cr_assert_eq(got->rank, wanted.rank);
    cr_assert_eq(got->start_ns, wanted.start_ns);
    cr_assert_eq(got->duration_ns, wanted.duration_ns);
    cr_assert_eq(got->compute_ns, wanted.compute_ns);
    cr_assert_eq(got->comm_ns, wanted.comm_ns);
    cr_assert_eq(got->exposed_comm_ns, wanted.exposed_comm_ns);
    cr_assert_eq(got->wait_ns, wanted.wait_ns);
    cr_assert_eq(got->input_ns, wanted.input_ns);
    cr_assert_eq(got->overhead_ns, wanted.overhead_ns);
    cr_assert_eq(got->bytes_sent, wanted.bytes_sent);
}

Test(store, rows_of_steps_and_curve_are_read_back)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_record *record = fixture_record(3);
    gs_stored_run run = fixture_run(1, 1);
    run.record = record;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, &run);
    const gs_step_row *steps = NULL;
    const gs_curve_row *curve = NULL;
    int64_t count = 0;
    cr_assert_eq(gs_store_read_steps(store, id, &arena, &steps, &count, NULL), GS_OK);
    cr_assert_eq(count, 6);
    for (int64_t i = 0; i < count; i++) {
        assert_same_step(&steps[i], gs_record_step_at(record, i));
    }
    cr_assert_eq(gs_store_read_curve(store, id, &arena, &curve, &count, NULL), GS_OK);
    cr_assert_eq(count, 2);
    cr_assert(isnan(curve[0].accuracy));
    cr_assert_eq(curve[0].loss, 2.25);
    cr_assert_eq(curve[1].step, 20);
    cr_assert_eq(curve[1].time_ns, 20977);
    cr_assert_eq(curve[1].samples, 1280);
    cr_assert_eq(curve[1].accuracy, 0.9375);
    gs_store_close(store);
    gs_record_destroy(record);
    gs_arena_fini(&arena);
}

Test(store, series_and_histograms_are_read_back_by_name_rank_and_place)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_record *record = fixture_record(1);
    gs_stored_run run = fixture_run(1, 1);
    run.record = record;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, &run);
    const gs_stored_point *points = NULL;
    const gs_stored_bin *bins = NULL;
    int64_t count = 0;
    cr_assert_eq(gs_store_read_series(store, id, &arena, &points, &count, NULL), GS_OK);
    cr_assert_eq(count, 3);
    cr_assert_str_eq(points[0].name, "gradient_norm");
    cr_assert_eq(points[0].rank, GS_ALL_RANKS);
    cr_assert_eq(points[0].at_ns, 100);
    cr_assert(isnan(points[0].value));
    cr_assert_eq(points[1].at_ns, 977);
    cr_assert_eq(points[1].value, 3.5); /* the later of two at one time */
    cr_assert_eq(points[2].rank, 1);
    cr_assert_eq(points[2].value, 0.25);
    cr_assert_eq(gs_store_read_histograms(store, id, &arena, &bins, &count, NULL), GS_OK);
    cr_assert_eq(count, 1); /* the empty bin is not kept */
    cr_assert_str_eq(bins[0].name, "gradient_abs/hidden0");
    cr_assert_eq(bins[0].rank, GS_ALL_RANKS);
    cr_assert_eq(bins[0].low, 1e-3);
    cr_assert_eq(bins[0].high, 1.0);
    cr_assert_eq(bins[0].count, 4711);
    /* The same run again replaces them. */
    gs_record *bare = gs_record_create(2, true);
    run.record = bare;
    cr_assert_eq(fixture_write(store, &run), id);
    cr_assert_eq(gs_store_read_series(store, id, &arena, &points, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(gs_store_read_histograms(store, id, &arena, &bins, &count, NULL), GS_OK);
    cr_assert_eq(count, 0);
    gs_store_close(store);
    gs_record_destroy(record);
    gs_record_destroy(bare);
    gs_arena_fini(&arena);
}

Test(store, what_is_not_finite_is_null_and_comes_back_as_nan)
{
    gs_arena arena;
    gs_arena_init(&arena);
    double values[FIXTURE_VALUES_MAX];
    memcpy(values, fixture_values(), sizeof values);
    values[gs_metric_find("final_loss")] = (double)INFINITY;
    values[gs_metric_find("samples_to_target")] = (double)NAN;
    gs_stored_run run = fixture_run(1, 1);
    run.values = values;
    run.target_censored = true;
    gs_stored_run got;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, &run);
    cr_assert_eq(gs_store_read_run(store, id, &arena, &got, NULL), GS_OK);
    cr_assert(isnan(got.values[gs_metric_find("final_loss")]));
    cr_assert(isnan(got.values[gs_metric_find("samples_to_target")]));
    cr_assert(got.target_censored);
    gs_store_close(store);
    gs_arena_fini(&arena);
    const char *path = fixture_path("runs.db");
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM result WHERE value IS NULL"), 2);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM result WHERE censored"), 1);
}

/* 9e999 is infinity to SQLite: a comparison would take it for a target that was not reached. */
Test(store, what_another_program_has_left_infinite_is_no_value)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, &run);
    fixture_execute(fixture_path("runs.db"),
                    "UPDATE result SET value = -9e999 WHERE metric = 'step_mean_ns'");
    gs_stored_run got;
    cr_assert_eq(gs_store_read_run(store, id, &arena, &got, NULL), GS_OK);
    cr_assert(isnan(got.values[gs_metric_find("step_mean_ns")]));
    gs_store_close(store);
    gs_arena_fini(&arena);
}

Test(store, an_interrupted_run_keeps_its_partial_rows_and_its_reason)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_record *record = fixture_record(2);
    gs_stored_run run = fixture_run(1, 0);
    run.status = GS_RUN_INTERRUPTED;
    run.exact = false;
    run.error_text = "stopped after 2 of 100 steps";
    run.values = NULL;
    run.record = record;
    gs_stored_run got;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    int64_t id = fixture_write(store, &run);
    cr_assert_eq(gs_store_read_run(store, id, &arena, &got, NULL), GS_OK);
    cr_assert_eq(got.status, GS_RUN_INTERRUPTED);
    cr_assert_str_eq(got.error_text, "stopped after 2 of 100 steps");
    cr_assert_not(got.exact);
    cr_assert(isnan(got.values[0]));
    gs_store_close(store);
    gs_record_destroy(record);
    gs_arena_fini(&arena);
    cr_assert_eq(fixture_query(fixture_path("runs.db"), "SELECT count(*) FROM step"), 4);
}

Test(store, every_status_and_source_has_a_word_of_its_own)
{
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    gs_arena arena;
    gs_arena_init(&arena);
    uint64_t seed = 0;
    for (int source = GS_SOURCE_SIM; source <= GS_SOURCE_IMPORT; source++) {
        for (int status = 0; status < GS_RUN_STATUS_COUNT; status++) {
            gs_stored_run run = fixture_run(seed++, 1);
            run.source = (gs_run_source)source;
            run.status = (gs_run_status)status;
            gs_stored_run got;
            int64_t id = fixture_write(store, &run);
            cr_assert_eq(gs_store_read_run(store, id, &arena, &got, NULL), GS_OK);
            cr_assert_eq(got.source, run.source);
            cr_assert_eq(got.status, run.status);
        }
    }
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(store, the_same_key_replaces_the_run_under_its_id)
{
    gs_record *record = fixture_record(5);
    gs_stored_run run = fixture_run(1, 42);
    run.record = record;
    int64_t id = write_batch(&run);
    gs_record_destroy(record);
    run.record = NULL;
    run.label = "again";
    cr_assert_eq(write_batch(&run), id);
    const char *path = fixture_path("runs.db");
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run"), 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM step"), 0);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM input"), 2);
    cr_assert_eq(fixture_query(path, "SELECT label = 'again' FROM run"), 1);
    cr_assert_eq(fixture_query(path, "SELECT batch FROM run"), 2);
}

/* Each part of the key alone makes another run; a label, a time or a processor does not. */
Test(store, the_key_is_what_the_result_depends_on)
{
    static const gs_stored_input other[] = {{"profile", "rank0.json.gz", "kineto", 977, 1}};
    gs_stored_run same = fixture_run(1, 42);
    gs_stored_run runs[11];
    const int count = sizeof runs / sizeof runs[0];
    for (int i = 0; i < count; i++) {
        runs[i] = same;
    }
    runs[1].source = GS_SOURCE_LIVE;
    runs[2].environment.commit = "8b77e0200000";
    runs[3].environment.dirty = true;
    runs[4].scenario.config_hash++;
    runs[5].strategy.name = "local_sgd";
    runs[6].strategy.version = "2";
    runs[7].strategy.params_json = "{\"bucket\":\"10MiB\"}";
    runs[8].inputs = other;
    runs[8].input_count = 1;
    runs[9].seed = 2;
    runs[10].repeat = 1;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(fixture_write(store, &runs[i]), i + 1);
    }
    same.label = "other";
    same.started_utc = "2027-01-01T00:00:00Z";
    same.wall_ns = 1;
    same.environment.cpu = "another processor";
    same.scenario.name = "copy";
    cr_assert_eq(fixture_write(store, &same), 1);
    gs_store_close(store);
}

Test(store, an_exact_run_that_gives_another_result_is_refused_and_the_old_one_stays)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(3, UINT64_C(0x1111222233334444));
    (void)write_batch(&run);
    run.result_hash = UINT64_C(0x5555666677778888);
    int64_t id = 0;
    gs_error err = {0};
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_EMISMATCH);
    gs_store_close(store);
    char wanted[GS_ERROR_TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted,
                   "%s: not reproducible: eth10, allreduce, seed 3 gave result 1111222233334444 "
                   "before (run 1) and 5555666677778888 now, from the same commit 3f2a91c00000; "
                   "the old run stays; store the new one with another --db and report both as a "
                   "bug",
                   path);
    cr_assert_str_eq(err.text, wanted);
    cr_assert_eq(fixture_query(path, "SELECT result_hash = '1111222233334444' FROM run"), 1);
}

/* A changed tree is no one program, other BLAS kernels round differently, live runs measure. */
Test(store, another_result_is_no_error_where_it_may_differ)
{
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    gs_stored_run dirty = fixture_run(1, 1);
    dirty.environment.dirty = true;
    int64_t id = fixture_write(store, &dirty);
    dirty.result_hash = 2;
    cr_assert_eq(fixture_write(store, &dirty), id);

    gs_stored_run kernel = fixture_run(2, 1);
    id = fixture_write(store, &kernel);
    kernel.environment.blas = "another kernel";
    kernel.result_hash = 2;
    cr_assert_eq(fixture_write(store, &kernel), id);

    gs_stored_run live = fixture_run(3, 0);
    live.source = GS_SOURCE_LIVE;
    live.exact = false;
    id = fixture_write(store, &live);
    cr_assert_eq(fixture_write(store, &live), id);
    gs_store_close(store);
}

Test(store, an_interrupted_run_never_replaces_one_that_ended)
{
    gs_stored_run run = fixture_run(1, 42);
    gs_stored_run half = run;
    half.status = GS_RUN_INTERRUPTED;
    half.exact = false;
    int64_t id = write_batch(&half);
    cr_assert_eq(write_batch(&run), id);
    cr_assert_eq(write_batch(&half), id);
    const char *path = fixture_path("runs.db");
    cr_assert_eq(fixture_query(path, "SELECT status = 'ok' FROM run"), 1);
    cr_assert_eq(fixture_query(path, "SELECT batch FROM run"), 2);
}

Test(store, a_measured_run_takes_the_next_repeat)
{
    gs_stored_run run = fixture_run(1, 0);
    run.source = GS_SOURCE_LIVE;
    run.exact = false;
    run.repeat = GS_REPEAT_NEXT;
    for (int64_t i = 1; i <= 3; i++) {
        cr_assert_eq(write_batch(&run), i);
    }
    cr_assert_eq(fixture_query(fixture_path("runs.db"), "SELECT max(repeat) FROM run"), 2);
}

Test(store, runs_are_found_by_id_label_and_age)
{
    gs_stored_run run = fixture_run(1, 1);
    cr_assert_eq(write_batch(&run), 1);
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_WRITE);
    for (uint64_t seed = 2; seed < 5; seed++) {
        run = fixture_run(seed, 1);
        run.label = "sweep";
        (void)fixture_write(store, &run);
    }
    gs_store_close(store);
    run = fixture_run(9, 1);
    run.label = NULL;
    cr_assert_eq(write_batch(&run), 5);

    store = fixture_open(fixture_path("runs.db"), GS_STORE_READ);
    cr_assert_eq(find(store, "3"), 3);
    cr_assert_eq(find(store, "nightly"), 1);
    cr_assert_eq(find(store, "sweep"), 4);
    cr_assert_eq(find(store, "@last"), 5);
    cr_assert_eq(find(store, "@last~0"), 5);
    cr_assert_eq(find(store, "@last~1"), 4);
    cr_assert_eq(find(store, "@last~2"), 1);
    gs_arena arena;
    gs_arena_init(&arena);
    const int64_t *ids = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_find_runs(store, "@last~1", &arena, &ids, &count, NULL), GS_OK);
    cr_assert_eq(count, 3);
    cr_assert_eq(ids[0], 2);
    cr_assert_eq(ids[2], 4);
    gs_arena_fini(&arena);
    gs_store_close(store);
}

/* A label alone names the newest batch that bears it, "label:" all of them. */
Test(store, all_runs_of_a_label_are_found_over_batches)
{
    const char *path = fixture_path("runs.db");
    for (uint64_t batch = 0; batch < 3; batch++) {
        gs_stored_run run = fixture_run(batch, 1);
        run.label = batch == 1 ? "other" : "nightly";
        gs_store *store = fixture_open(path, GS_STORE_WRITE);
        (void)fixture_write(store, &run);
        gs_store_close(store);
    }
    gs_store *store = fixture_open(path, GS_STORE_READ);
    gs_arena arena;
    gs_arena_init(&arena);
    const int64_t *ids = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_find_runs(store, "label:nightly", &arena, &ids, &count, NULL), GS_OK);
    cr_assert_eq(count, 2);
    cr_assert_eq(ids[0], 1);
    cr_assert_eq(ids[1], 3);
    cr_assert_eq(gs_store_find_runs(store, "nightly", &arena, &ids, &count, NULL), GS_OK);
    cr_assert_eq(count, 1);
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(store, a_batch_of_hundreds_of_runs_is_found_whole)
{
    gs_store *store = fixture_open(":memory:", GS_STORE_WRITE);
    for (uint64_t seed = 0; seed < 300; seed++) {
        gs_stored_run run = fixture_run(seed, seed);
        (void)fixture_write(store, &run);
    }
    gs_arena arena;
    gs_arena_init(&arena);
    const int64_t *ids = NULL;
    uint32_t count = 0;
    cr_assert_eq(gs_store_find_runs(store, "nightly", &arena, &ids, &count, NULL), GS_OK);
    cr_assert_eq(count, 300);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(ids[i], i + 1);
    }
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(store, a_run_that_is_not_there_is_answered_with_what_is)
{
    gs_store *store = fixture_open(":memory:", GS_STORE_WRITE);
    const char *none = ":memory:: no runs yet; `gradsync sim` stores some, or name another "
                       "database with --db";
    assert_find_fails(store, "1", GS_ENOTFOUND, none);
    assert_find_fails(store, "@last", GS_ENOTFOUND, none);
    gs_stored_run run = fixture_run(1, 1);
    (void)fixture_write(store, &run);
    assert_find_fails(store, "12", GS_ENOTFOUND, ":memory:: no run 12; the newest is 1");
    assert_find_fails(store, "99999999999999999999999", GS_ENOTFOUND,
                      ":memory:: no run 99999999999999999999999; the newest is 1");
    assert_find_fails(store, "nigthly", GS_ENOTFOUND,
                      ":memory:: no run labelled \"nigthly\"; did you mean \"nightly\"?");
    assert_find_fails(store, "label:nigthly", GS_ENOTFOUND,
                      ":memory:: no run labelled \"nigthly\"; did you mean \"nightly\"?");
    assert_find_fails(store, "something else", GS_ENOTFOUND,
                      ":memory:: no run labelled \"something else\"; use an id, a label, @last or "
                      "@last~N (the same run stored again without --label loses its label)");
    assert_find_fails(store, "@last~1", GS_ENOTFOUND,
                      ":memory:: no @last~1; it holds the runs of 1 command, the oldest is "
                      "@last~0");
    static const char *const words[] = {"@first", "@last~", "@last~x", "@lastly", ""};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char wanted[128];
        (void)snprintf(wanted, sizeof wanted,
                       "run \"%s\": not a way to name a run; use an id, a label, @last or @last~N",
                       words[i]);
        assert_find_fails(store, words[i], GS_EINVAL, wanted);
    }
    gs_stored_run got;
    gs_error err = {0};
    gs_arena arena;
    gs_arena_init(&arena);
    cr_assert_eq(gs_store_read_run(store, 7, &arena, &got, &err), GS_ENOTFOUND);
    cr_assert_str_eq(err.text, ":memory:: no run 7");
    gs_arena_fini(&arena);
    gs_store_close(store);
}

Test(store, a_label_that_looks_like_something_else_is_refused)
{
    static const char *const bad[] = {"", "12", "@mine", "baseline:x", "a#1", "a~1"};
    gs_error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(gs_store_check_label(bad[i], &err), GS_EINVAL, "%s", bad[i]);
    }
    cr_assert_str_eq(err.text, "label \"a~1\": could be taken for another way to name a run; use a "
                               "word without @ : # ~ that is not a number");
    cr_assert_eq(gs_store_check_label("v12", &err), GS_OK);
    gs_stored_run run = fixture_run(1, 1);
    run.label = "12";
    int64_t id = 0;
    gs_store *store = fixture_open(":memory:", GS_STORE_WRITE);
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_EINVAL);
    gs_store_close(store);
}

Test(store, values_that_the_tables_refuse_leave_nothing_behind)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    run.strategy.params_json = "{not json";
    int64_t id = 0;
    gs_error err = {0};
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_EIO);
    char wanted[GS_ERROR_TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted,
                   "%s: the database failed: CHECK constraint failed: json_valid(params_json)",
                   path);
    cr_assert_str_eq(err.text, wanted);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM scenario"), 0);
    run = fixture_run(1, 1);
    cr_assert_eq(fixture_write(store, &run), 1); /* the store works on, catalogue included */
    gs_store_close(store);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM metric"), gs_metric_count());
}

/* A later build of the same schema may know more names than this one. */
Test(store, a_status_that_this_build_does_not_know_is_read_as_an_error)
{
    gs_stored_run run = fixture_run(1, 1);
    (void)write_batch(&run);
    fixture_execute(
        fixture_path("runs.db"),
        "INSERT INTO status VALUES('paused', 'later'); UPDATE run SET status = 'paused'");
    gs_arena arena;
    gs_arena_init(&arena);
    gs_stored_run got;
    gs_store *store = fixture_open(fixture_path("runs.db"), GS_STORE_READ);
    cr_assert_eq(gs_store_read_run(store, 1, &arena, &got, NULL), GS_OK);
    cr_assert_eq(got.status, GS_RUN_ERROR);
    gs_store_close(store);
    gs_arena_fini(&arena);
}

/* Everything that a reader takes from the arena, one failure after the other. */
static gs_status read_all(gs_store *store, gs_arena *arena, gs_error *err)
{
    gs_stored_run run;
    const gs_step_row *steps = NULL;
    const gs_curve_row *curve = NULL;
    const int64_t *ids = NULL;
    uint32_t id_count = 0;
    int64_t count = 0;
    gs_status status = gs_store_find_runs(store, "@last", arena, &ids, &id_count, err);
    if (status == GS_OK) {
        status = gs_store_read_run(store, ids[0], arena, &run, err);
    }
    if (status == GS_OK) {
        status = gs_store_read_steps(store, ids[0], arena, &steps, &count, err);
    }
    return status == GS_OK ? gs_store_read_curve(store, ids[0], arena, &curve, &count, err)
                           : status;
}

Test(store, a_reader_without_memory_says_so_and_the_store_works_on)
{
    gs_record *record = fixture_record(3);
    gs_stored_run run = fixture_run(1, 1);
    run.record = record;
    gs_store *store = fixture_open(":memory:", GS_STORE_WRITE);
    (void)fixture_write(store, &run);
    gs_status status = GS_ENOMEM;
    int64_t after = 0;
    for (; status != GS_OK; after++) {
        gs_arena arena;
        gs_arena_init(&arena);
        arena.fail_after = after;
        gs_error err = {0};
        status = read_all(store, &arena, &err);
        if (status != GS_OK) {
            cr_assert_eq(status, GS_ENOMEM);
            cr_assert_str_eq(err.text, ":memory:: out of memory");
        }
        gs_arena_fini(&arena);
    }
    cr_assert_gt(after, 20); /* texts, values, inputs, steps and curve */
    run.seed = 2;
    cr_assert_eq(fixture_write(store, &run), 2);
    gs_store_close(store);
    gs_record_destroy(record);
}

/* The view that people query (docs/formats.md). */
Test(store, the_flat_view_joins_names_values_and_units)
{
    gs_stored_run run = fixture_run(1, 1);
    (void)write_batch(&run);
    const char *path = fixture_path("runs.db");
    cr_assert_eq(fixture_query(path, "SELECT value * 10 FROM run_flat WHERE metric = 'step_p50_ns' "
                                     "AND scenario = 'eth10' AND strategy = 'allreduce' AND "
                                     "unit = 'ns' AND status = 'ok'"),
                 15 + 10 * gs_metric_find("step_p50_ns"));
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run_flat"), gs_metric_count());
}
