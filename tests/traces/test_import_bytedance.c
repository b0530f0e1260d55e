/* ByteDance's CSV: the real files, then each rule and each damage on small texts. */
#include "traces/importers/importer.h"

#include "tests/support.h"
#include "traces/importers/job_sizes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define HEAD "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"

static gs_arena arena;
static gs_imported imported;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(import_bytedance, .init = setup, .fini = teardown);

static gs_status import_path(const char *path)
{
    gs_import_options options = {.format = "bytedance"};
    return gs_import(&path, 1, &options, &arena, &imported, &err);
}

static gs_status import_text(const char *text)
{
    static char path[TEST_PATH_BYTES];
    test_temp_file(path, text, strlen(text));
    return import_path(path);
}

/* Rows and sizes as TRACES.md, 14 states them; the first row as the file has it. */
Test(import_bytedance, the_stage_imbalance_trace_is_read_whole)
{
    const char *file = test_data_path("traces/bytedance_straggler/trace-ST.csv");
    cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    const gs_op_trace *ops = imported.ops;
    cr_assert_str_eq(imported.format, "bytedance");
    cr_assert_eq(imported.note_count, 0);
    cr_assert_eq(ops->op_count, 6784);
    cr_assert_eq(ops->type_count, 13);
    cr_assert_eq(ops->dp_size, 2);
    cr_assert_eq(ops->dsp_size, 1);
    cr_assert_eq(ops->pp_size, 4);
    cr_assert_eq(ops->step[0], 23);
    cr_assert_str_eq(ops->types[ops->type[0]], "backward-compute");
    cr_assert_eq(ops->start_ns[0], 848671675); /* 0.8486716747283936 s */
    cr_assert_eq(ops->duration_ns[0], 138679683);
}

Test(import_bytedance, without_its_sizes_a_trace_says_so)
{
    const char *file = test_data_path("traces/bytedance_straggler/trace-AR_first8steps.csv");
    cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    cr_assert_eq(imported.ops->op_count, 21312);
    cr_assert_eq(imported.ops->dp_size, 0);
    cr_assert_eq(imported.note_count, 1);
    cr_assert(strstr(imported.notes[0], "4 dp_ranks and 4 stages") != NULL, "%s",
              imported.notes[0]);
}

/* Half a nanosecond rounds up; an exponent and a whole number with a point are numbers too; columns
 * may stand in another order, and unknown ones and empty lines do not count. */
Test(import_bytedance, numbers_come_in_many_forms)
{
    cr_assert_eq(import_text("optype,new,seq_id,mb_id,mc,duration,start_ts,step,rank,stage,"
                             "dp_rank\r\n"
                             "gc,?,-1,0,-1,1.0000000005,-0.25,3.0,8,1,2\r\n"
                             "\n"
                             "gc,?,1,-1,-1,2.5e-05,1,4,8,1,2"),
                 GS_OK, "%s", err.text);
    const gs_op_trace *ops = imported.ops;
    cr_assert_eq(ops->op_count, 2);
    cr_assert_eq(ops->duration_ns[0], 1000000001);
    cr_assert_eq(ops->start_ns[0], -250000000);
    cr_assert_eq(ops->step[0], 3);
    cr_assert_eq(ops->rank[0], 8);
    cr_assert_eq(ops->stage[0], 1);
    cr_assert_eq(ops->dp_rank[0], 2);
    cr_assert_eq(ops->sequence[0], -1);
    cr_assert_eq(ops->micro_batch[0], 0);
    cr_assert_eq(ops->chunk[0], -1);
    cr_assert_eq(ops->duration_ns[1], 25000);
    cr_assert_eq(ops->start_ns[1], GS_NS_PER_S);
    cr_assert_eq(ops->type_count, 1);
}

Test(import_bytedance, a_gzipped_trace_is_the_same)
{
    char path[TEST_PATH_BYTES];
    test_temp_path(path);
    gzFile out = gzopen(path, "wb");
    cr_assert_not_null(out);
    cr_assert_gt(gzputs(out, HEAD "0,0,0,1,gc,0,0.5,0,-1,0,-1\n"), 0);
    cr_assert_eq(gzclose(out), Z_OK);
    cr_assert_eq(import_path(path), GS_OK, "%s", err.text);
    cr_assert_eq(imported.ops->duration_ns[0], GS_NS_PER_S / 2);
}

static const struct {
    const char *text;
    const char *reason;
} DAMAGED[] = {
    {"", "a header without rows"},
    {HEAD, "a header without rows"},
    {"dp_rank,stage,rank,step,start_ts,duration,seq_id,mc,mb_id\n", "line 1: no column \"optype\""},
    {"stage,stage\n", "line 1: the column \"stage\" is there twice"},
    {HEAD "0,0,0,1,gc,0,nan,0,-1,0,-1\n", "line 2: duration is \"nan\": allowed are seconds"},
    {HEAD "0,0,0,1,gc,0,-0.5,0,-1,0,-1\n", "line 2: duration is \"-0.5\""},
    {HEAD "0,0,0,1,gc,,0.5,0,-1,0,-1\n", "line 2: start_ts is \"\""},
    {HEAD "0,0,0,1,gc,1e9,0.5,0,-1,0,-1\n", "line 2: start_ts is \"1e9\""},
    {HEAD "0,0,0,1,gc,1000000000,0.5,0,-1,0,-1\n", "line 2: start_ts is \"1000000000\""},
    {HEAD "0,0,0,1,gc,9991999999,0.5,0,-1,0,-1\n", "line 2: start_ts is \"9991999999\""},
    {HEAD "0,0,0,1,gc,0,0,0,-1,0,-1\n0,0,0,1.5,gc,0,0,0,-1,0,-1\n",
     "line 3: step is \"1.5\": allowed is a whole number of at least 0"},
    {HEAD "-1,0,0,1,gc,0,0,0,-1,0,-1\n", "line 2: dp_rank is \"-1\""},
    {HEAD "0,0,0,1,gc,0,0,-2,-1,0,-1\n", "line 2: seq_id is \"-2\""},
    {HEAD "0,0,0,99999999999,gc,0,0,0,-1,0,-1\n", "line 2: step is \"99999999999\""},
    {HEAD "0,0,0,1,,0,0,0,-1,0,-1\n", "line 2: optype is \"\""},
    {HEAD "0,0,0,1,gc,0,0\n", "line 2: fewer than the 11 fields"},
    {HEAD "0,0,0,1,gc,0,0,0,-1,0,-1,7\n", "line 2: more than the 11 fields"},
};

Test(import_bytedance, damage_is_refused_with_line_value_and_what_is_allowed)
{
    for (size_t i = 0; i < sizeof DAMAGED / sizeof *DAMAGED; i++) {
        cr_assert_eq(import_text(DAMAGED[i].text), GS_EPARSE, "%s", DAMAGED[i].text);
        cr_assert_eq(err.code, GS_EPARSE);
        cr_assert(strstr(err.text, DAMAGED[i].reason) != NULL, "%s", err.text);
    }
}

Test(import_bytedance, a_file_cut_inside_a_row_is_refused)
{
    cr_assert_eq(import_text(HEAD "0,0,0,1,gc,0,0,0,-1,0,-1\n0,0,0,1,gc,0,"), GS_EPARSE);
    cr_assert(strstr(err.text, "line 3: ") != NULL, "%s", err.text);
}

Test(import_bytedance, two_files_are_no_set)
{
    const char *files[] = {"a.csv", "b.csv"};
    gs_import_options options = {.format = "bytedance"};
    cr_assert_eq(gs_import(files, 2, &options, &arena, &imported, &err), GS_EMISMATCH);
}

Test(import_bytedance, more_types_than_fit_are_refused)
{
    char text[8192];
    int used = snprintf(text, sizeof text, "%s", HEAD);
    for (int i = 0; i <= GS_OP_TYPES_MAX; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "0,0,0,1,t%d,0,0,0,-1,0,-1\n", i);
    }
    cr_assert_eq(import_text(text), GS_ELIMIT);
    cr_assert(strstr(err.text, "more than 64 types") != NULL, "%s", err.text);
}

Test(import_bytedance, without_memory_it_says_so)
{
    char path[TEST_PATH_BYTES];
    static const char TEXT[] = HEAD "0,0,0,1,gc,0,0,0,-1,0,-1\n";
    test_temp_file(path, TEXT, sizeof TEXT - 1);
    gs_status status = GS_ENOMEM;
    for (int64_t after = 0; status == GS_ENOMEM; after++) {
        gs_arena own;
        gs_arena_init(&own);
        const char *file = path;
        gs_import_options options = {.format = "bytedance"};
        test_fail_allocations(after);
        status = gs_import(&file, 1, &options, &own, &imported, &err);
        test_fail_allocations(-1);
        gs_arena_fini(&own);
        cr_assert_lt(after, 1000);
    }
    cr_assert_eq(status, GS_OK, "%s", err.text);
}

/* --- sizes ----------------------------------------------------------------------------------- */

Test(import_bytedance, the_sizes_of_a_trace_lie_beside_it)
{
    char name[64];
    gs_job_sizes_name("a/b/trace-ST.csv", name, sizeof name);
    cr_assert_str_eq(name, "a/b/meta-ST.yaml");
    gs_job_sizes_name("trace-ST.csv.gz", name, sizeof name);
    cr_assert_str_eq(name, "meta-ST.yaml");
    gs_job_sizes_name("other.csv", name, sizeof name);
    cr_assert_str_eq(name, "");
    gs_job_sizes_name("trace-ST.csv", name, 8);
    cr_assert_str_eq(name, "");
}

static gs_status sizes_of(const char *text, gs_job_sizes *out)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, text, strlen(text));
    return gs_job_sizes_read(path, out, &err);
}

Test(import_bytedance, sizes_are_read_and_other_keys_skipped)
{
    gs_job_sizes sizes;
    cr_assert_eq(sizes_of("trial_name: x\r\ndp_size: 4  # copies\r\ndsp_size: 1\npp_size: 16\n"
                          "vpp_size: 2",
                          &sizes),
                 GS_OK, "%s", err.text);
    cr_assert_eq(sizes.dp_size, 4);
    cr_assert_eq(sizes.dsp_size, 1);
    cr_assert_eq(sizes.pp_size, 16);
    cr_assert_eq(sizes.vpp_size, 2);
}

Test(import_bytedance, a_size_that_is_none_is_refused)
{
    static const char *const TEXTS[] = {"dp_size: 0", "dp_size:", "dp_size: four", "dp_size: 2.5",
                                        "dp_size: 99999999999"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        char text[64];
        gs_job_sizes sizes;
        snprintf(text, sizeof text, "x: 1\n%s\n", TEXTS[i]);
        cr_assert_eq(sizes_of(text, &sizes), GS_EPARSE, "%s", TEXTS[i]);
        cr_assert(strstr(err.text, ": line 2: \"dp_size:") != NULL, "%s", err.text);
    }
}
