#include "tests/support.h"
#include "traces/importers/importer.h"

#include <stdio.h>
#include <string.h>

static gs_arena arena;
static gs_imported imported;
static gs_error err;
static char path[TEST_PATH_BYTES];

static gs_status read_text(const char *text, const char *unit)
{
    test_temp_file(path, text, strlen(text));
    const char *file = path;
    gs_import_options options = {.format = "step_csv", .time_unit = unit};
    gs_arena_init(&arena);
    return gs_import(&file, 1, &options, &arena, &imported, &err);
}

static const gs_step_table *table_of(const char *text)
{
    cr_assert_eq(read_text(text, NULL), GS_OK, "%s", err.text);
    cr_assert_not_null(imported.step_table);
    return imported.step_table;
}

/* The text after the file's name is exactly this. */
static void expect_refused(const char *text, const char *unit, const char *message)
{
    cr_assert_neq(read_text(text, unit), GS_OK, "%s", text);
    bool names_file = strncmp(err.text, path, strlen(path)) == 0;
    cr_expect_str_eq(err.text + (names_file ? strlen(path) : 0), message);
    gs_arena_fini(&arena);
}

Test(import_step_csv, rows_in_any_order_become_a_table)
{
    const gs_step_table *table = table_of("# a remark\r\n"
                                          "step;Rank;time (ms);compute_us;note\r\n"
                                          "8;3;1.5;900;x\r\n"
                                          "7;3;\"2\";;y\r\n"
                                          "\r\n"
                                          "7;0;0.0000015;0;z");
    cr_assert_eq(table->rank_count, 2);
    cr_assert_eq(table->step_count, 2);
    cr_expect_eq(table->ranks[1], 3);
    cr_expect_eq(table->steps[1], 8);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 1, 1), 1500000);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 1, 0), 2000000);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 0, 0), 2); /* 1.5 ns, rounded */
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 0, 1), GS_STEP_MISSING);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_COMPUTE, 1, 1), 900000);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_COMPUTE, 1, 0), GS_STEP_MISSING);
    cr_expect_null(table->parts[GS_STEP_WAIT]);
    cr_assert_eq(imported.note_count, 2);
    cr_expect_not_null(strstr(imported.notes[0], "columns that are not used: note"));
    cr_expect_str_eq(imported.notes[1], "rank 0 has 1 of 2 steps, the last is step 7");
    gs_arena_fini(&arena);
}

/* 100 - 60 - 20 - 12 = 8. */
Test(import_step_csv, what_compute_input_and_wait_leave_of_a_step_is_the_networks)
{
    const gs_step_table *table = table_of("step,rank,time_ms,compute_ms,input_ms,wait_ms\n"
                                          "0,0,100,60,20,12\n"
                                          "0,1,100,90,20,12\n");
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WIRE, 0, 0), 8000000);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WIRE, 1, 0), 0);
    cr_assert_eq(imported.note_count, 1);
    cr_expect_str_eq(imported.notes[0], "1 rows: compute, input and wait exceed the time");
    gs_arena_fini(&arena);
}

/* Our own database, as sqlite3 -csv -header exports it. */
Test(import_step_csv, the_steps_of_a_stored_run_are_read)
{
    const gs_step_table *table =
        table_of("step,rank,duration_ns,compute_ns,exposed_comm_ns,wait_ns,input_ns\n"
                 "0,0,100,60,8,12,20\n");
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 0, 0), 100);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WIRE, 0, 0), 8);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WAIT, 0, 0), 12);
    gs_arena_fini(&arena);
}

Test(import_step_csv, the_option_gives_the_unit_that_a_name_does_not)
{
    cr_assert_eq(read_text("step,rank,time,wait_ns\n1,0,2,5\n", "s"), GS_OK, "%s", err.text);
    cr_expect_eq(gs_step_table_get(imported.step_table, GS_STEP_TIME, 0, 0), 2000000000);
    cr_expect_eq(gs_step_table_get(imported.step_table, GS_STEP_WAIT, 0, 0), 5);
    gs_arena_fini(&arena);
}

Test(import_step_csv, what_is_wrong_is_told_with_its_place_and_a_cure)
{
    expect_refused("step,rank,time\n1,0,2\n", NULL,
                   ": line 1: the column time has no unit; call it time_ms (ns, us, ms, s) or say "
                   "--time-unit ms");
    expect_refused("step,rank,time\n1,0,2\n", "h",
                   "--time-unit: \"h\" is no unit; allowed are ns, us, ms and s");
    expect_refused("a,b\n1,2\n", NULL,
                   ": line 1: a header with columns such as step,rank,time_ms is wanted (then also "
                   "compute, input, wait, wire)");
    expect_refused("step,rank,time_ms\n", NULL, ": no row of a step");
    expect_refused("step,rank,time_ms\n1,0\n", NULL, ": line 2: 2 cells, but the header has 3");
    expect_refused("step,rank,time_ms\n1,0,abc\n", NULL,
                   ": line 2: column time: \"abc\" is not allowed; give a time of 0 to 10 days, or "
                   "leave it empty");
    expect_refused("step,rank,time_ms\n1,0,-2\n", NULL,
                   ": line 2: column time: \"-2\" is not allowed; give a time of 0 to 10 days, or "
                   "leave it empty");
    expect_refused("step,rank,time_ms\n1,0,nan\n", NULL,
                   ": line 2: column time: \"nan\" is not allowed; give a time of 0 to 10 days, or "
                   "leave it empty");
    expect_refused("step,rank,time_ms\n1.5,0,1\n", NULL,
                   ": line 2: column step: \"1.5\" is not allowed; give a whole number from 0 on");
    expect_refused("step,rank,time_ms\n1,,1\n", NULL,
                   ": line 2: column rank: \"\" is not allowed; give a whole number from 0 on");
}

Test(import_step_csv, a_step_of_a_rank_comes_once)
{
    cr_assert_neq(read_text("step,rank,time_ms\n1,0,2\n1,1,2\n1,0,3\n", NULL), GS_OK);
    char expected[2 * TEST_PATH_BYTES + 128];
    snprintf(expected, sizeof expected,
             "%s: line 2 and %s: line 4 are both step 1 of rank 0: give each once", path, path);
    cr_expect_str_eq(err.text, expected);
    gs_arena_fini(&arena);
}

Test(import_step_csv, a_table_too_large_for_its_rows_is_refused)
{
    /* 9000 ranks x 9000 steps: 81 million cells of 9000 rows. */
    static char text[9000 * 20];
    size_t used = (size_t)snprintf(text, sizeof text, "step,rank,time_ms\n");
    for (int i = 0; i < 9000; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,1\n", i, i);
    }
    expect_refused(text, NULL, ": 9000 ranks x 9000 steps; allowed are 64000000 together");
}

Test(import_step_csv, worker_times_of_the_pai_trace_are_relative)
{
    const char *file = test_data_path("traces/step_times/pai_job_3_norm.csv");
    gs_arena_init(&arena);
    cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    const gs_step_table *table = imported.step_table;
    cr_assert_not_null(table);
    cr_expect(table->is_relative);
    /* Counted with another program: 2489 rows of 10 workers, 249 iterations, one row missing. */
    cr_expect_eq(table->rank_count, 10);
    cr_expect_eq(table->step_count, 249);
    cr_expect_eq(table->steps[1], 11);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 1, 0), 764000);
    gs_arena_fini(&arena);
}
