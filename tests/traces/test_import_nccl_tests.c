/* nccl-tests output: every real file by name, then small texts for each rule. */
#include "traces/importers/importer.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static gs_arena arena;
static gs_imported imported;
static gs_error err;

/* A curve that a file must hold. time_us: as printed at 134,217,728 bytes, 0 where that size is not
 * in it as such; bus_gbps: what TRACES.md §5 states, 0 where it states none. */
typedef struct expected {
    const char *file;
    const char *collective;
    int32_t ranks;
    int32_t hosts;
    uint32_t points; /* sizes of more than 0 bytes */
    double time_us;
    double factor; /* bus over algorithm bandwidth: rule 5 of §0 */
    double bus_gbps;
} expected;

/* clang-format off */
static const expected EXPECTED[] = {
    {"a100_sxm4_8gpu_1node_allgather.log", "all_gather", 8, 1, 29, 698.6, 7.0 / 8, 168.12},
    {"a100_sxm4_8gpu_1node_allreduce.log", "all_reduce", 8, 1, 32, 1162.2, 14.0 / 8, 202.11},
    {"a100_sxm4_8gpu_1node_alltoall.log", "all_to_all", 8, 1, 29, 633.6, 7.0 / 8, 185.35},
    {"h100_10nodes_1gpu_each.log", "all_reduce", 10, 10, 10, 5031.02, 18.0 / 10, 48.02},
    {"h100_10nodes_1gpu_each.log", "all_gather", 10, 10, 10, 0, 9.0 / 10, 0},
    {"h100_10nodes_1gpu_each.log", "reduce_scatter", 10, 10, 10, 0, 9.0 / 10, 0},
    {"h100_10nodes_1gpu_each.log", "all_to_all", 10, 10, 10, 0, 9.0 / 10, 0},
    {"h100_10nodes_1gpu_each.log", "sendrecv", 10, 10, 10, 5436.43, 1.0, 24.69},
    {"h100_p5_efa_2nodes_excerpt_mpi_prefix.log",
     "all_reduce", 16, 0, 6, 1950.5, 30.0 / 16, 129.02},
    {"h100_pairwise/nccl_N2_G1_cnode2-001_cnode2-002.log",
     "all_to_all", 2, 2, 10, 4990.70, 0.5, 13.45},
    {"h100_pairwise/nccl_N2_G1_cnode2-001_cnode2-002.log",
     "sendrecv", 2, 2, 10, 9947.83, 1.0, 0},
    {"h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-002.log",
     "all_to_all", 8, 2, 10, 5136.60, 7.0 / 8, 22.86},
    {"h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-002.log",
     "sendrecv", 8, 2, 10, 9218.45, 1.0, 14.56},
    {"h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-003.log",
     "sendrecv", 8, 2, 10, 15193.2, 1.0, 8.83},
    {"h100_pairwise/nccl_N2_G8_cnode2-001_cnode2-002.log",
     "all_to_all", 16, 2, 10, 5365.57, 15.0 / 16, 23.45},
    {"h100_pairwise/nccl_N2_G8_cnode2-001_cnode2-002.log",
     "sendrecv", 16, 2, 10, 8871.95, 1.0, 0},
    {"rtx3090_pcie_4hosts_8gpus_allreduce.txt", "all_reduce", 32, 4, 25, 64456, 62.0 / 32, 4.03},
    {"rtx4090_pcie_2gpu_allgather.txt", "all_gather", 2, 1, 27, 7434.7, 0.5, 9.03},
};

/* Files that hold no result, and the words by which they are refused. */
static const struct {
    const char *file;
    const char *reason;
} REFUSED[] = {
    {"h100_pairwise/failures.txt", "not nccl-tests output but a summary"},
    {"h100_pairwise/nccl_N2_G4_cnode2-003_cnode2-008.log",
     "no result: a header without rows (line 2)"},
    {"h100_pairwise/nccl_N2_G4_cnode2-007_cnode2-016.log", "no result: it failed (line 14)"},
};
/* clang-format on */

enum {
    EXPECTED_COUNT = sizeof EXPECTED / sizeof EXPECTED[0],
    REFUSED_COUNT = sizeof REFUSED / sizeof REFUSED[0]
};

static gs_status import_path(const char *path, const char *collective)
{
    gs_import_options options = {.format = "nccl_tests", .collective = collective};
    gs_arena_init(&arena);
    imported = (gs_imported){0};
    return gs_import(&path, 1, &options, &arena, &imported, &err);
}

static const char *log_path(const char *name, char out[TEST_PATH_BYTES])
{
    snprintf(out, TEST_PATH_BYTES, "%s/%s", test_data_path("traces/nccl_tests"), name);
    return out;
}

static const gs_curve *find_curve(const char *collective)
{
    for (uint32_t i = 0; i < imported.curve_count; i++) {
        if (strcmp(imported.curves[i].collective, collective) == 0) {
            return &imported.curves[i];
        }
    }
    return NULL;
}

static bool has_note(const char *text)
{
    for (uint32_t i = 0; i < imported.note_count; i++) {
        if (strstr(imported.notes[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_named(const char *name)
{
    for (size_t i = 0; i < EXPECTED_COUNT; i++) {
        if (strcmp(EXPECTED[i].file, name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < REFUSED_COUNT; i++) {
        if (strcmp(REFUSED[i].file, name) == 0) {
            return true;
        }
    }
    return false;
}

static size_t check_folder(const char *folder, const char *prefix)
{
    size_t found = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory, "%s", folder);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        char path[2 * TEST_PATH_BYTES];
        char name[TEST_PATH_BYTES];
        struct stat about;
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        cr_assert_eq(stat(path, &about), 0);
        bool is_folder = S_ISDIR(about.st_mode);
        snprintf(name, sizeof name, "%s%s%s", prefix, entry->d_name, is_folder ? "/" : "");
        if (is_folder) {
            found += check_folder(path, name);
        } else {
            cr_assert(is_named(name), "no test names traces/nccl_tests/%s", name);
            found++;
        }
    }
    closedir(directory);
    return found;
}

Test(import_nccl_tests, every_file_of_the_folder_is_tested_by_name)
{
    cr_assert_geq(check_folder(test_data_path("traces/nccl_tests"), ""), 14);
}

Test(import_nccl_tests, the_real_files_have_their_stated_bandwidth)
{
    for (size_t i = 0; i < EXPECTED_COUNT; i++) {
        const expected *want = &EXPECTED[i];
        char path[TEST_PATH_BYTES];
        cr_assert_eq(import_path(log_path(want->file, path), NULL), GS_OK, "%s", err.text);
        const gs_curve *curve = find_curve(want->collective);
        cr_assert_not_null(curve, "%s: %s", want->file, want->collective);
        cr_assert_eq(curve->ranks, want->ranks, "%s: %d", want->file, curve->ranks);
        cr_assert_eq(curve->hosts, want->hosts, "%s: %d", want->file, curve->hosts);
        cr_assert_eq(curve->point_count, want->points, "%s: %u", want->file, curve->point_count);
        for (uint32_t p = 1; p < curve->point_count; p++) {
            cr_assert_lt(curve->points[p - 1].bytes, curve->points[p].bytes);
        }
        if (want->time_us > 0) {
            bool outside = true;
            gs_time_ns time_ns = gs_curve_time(curve, 134217728, &outside);
            cr_assert_not(outside);
            cr_assert_eq(time_ns, llround(want->time_us * 1e3), "%s: %lld", want->file,
                         (long long)time_ns);
            double bus_gbps = 134217728.0 / (double)time_ns * want->factor;
            /* Printed times have 4 digits or more: a 2,000th, and half of the last digit printed.
             */
            cr_assert(want->bus_gbps <= 0 ||
                          fabs(bus_gbps - want->bus_gbps) <= 0.005 + want->bus_gbps / 2000,
                      "%s %s: %.3f", want->file, want->collective, bus_gbps);
        }
        cr_assert_not(has_note("left out"), "%s: %s", want->file, imported.notes[0]);
        gs_arena_fini(&arena);
    }
}

Test(import_nccl_tests, files_without_a_result_are_refused_with_line_and_reason)
{
    for (size_t i = 0; i < REFUSED_COUNT; i++) {
        char path[TEST_PATH_BYTES];
        const char *file = log_path(REFUSED[i].file, path);
        cr_assert_eq(import_path(file, NULL), GS_EPARSE);
        cr_assert(strstr(err.text, REFUSED[i].reason) != NULL, "%s", err.text);
        cr_assert(strstr(err.text, file) != NULL);
        gs_arena_fini(&arena);
        /* Also when the format is looked for. */
        gs_arena_init(&arena);
        cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_EPARSE);
        cr_assert(strstr(err.text, REFUSED[i].reason) != NULL, "%s", err.text);
        gs_arena_fini(&arena);
    }
}

Test(import_nccl_tests, a_file_with_one_good_and_one_failed_collective_keeps_the_good_one)
{
    char path[TEST_PATH_BYTES];
    cr_assert_eq(
        import_path(log_path("h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-003.log", path), NULL),
        GS_OK);
    cr_assert_eq(imported.curve_count, 1);
    cr_assert(has_note("no result for all_to_all: it failed (line 18)"));
    gs_arena_fini(&arena);
}

/* The p4d log of TRACES.md §5 stands between lines of NCCL INFO: 28.82 GB/s at 128 MiB. */
Test(import_nccl_tests, a_table_between_debug_lines_is_found)
{
    const char *path = test_data_path("traces/nccl_debug_log/p4d_a100_2nodes_efa_nccl_info.log");
    bool outside = true;
    cr_assert_eq(import_path(path, NULL), GS_OK, "%s", err.text);
    cr_assert_eq(imported.curve_count, 1);
    cr_assert_str_eq(imported.curves[0].collective, "all_reduce");
    cr_assert_eq(imported.curves[0].ranks, 16);
    cr_assert_eq(imported.curves[0].hosts, 2);
    cr_assert_str_eq(imported.curves[0].device, "A100-SXM4-40GB");
    cr_assert_eq(gs_curve_time(&imported.curves[0], 134217728, &outside), 8731100);
    gs_arena_fini(&arena);
}

/* --- small texts ------------------------------------------------------------------------------ */

static gs_status import_text(const char *text, const char *collective)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, text, strlen(text));
    return import_path(path, collective);
}

#define HEAD  "# size count type redop time algbw busbw error\n"
#define NAMED "# Collective test starting: all_reduce_perf\n"

/* 1,000,000 bytes in 100 us are 10 GB/s. Each form of a row says just that. */
Test(import_nccl_tests, every_form_of_a_row_is_read)
{
    static const char *const ROWS[] = {
        "1000000 250000 float sum 100.0 10.00 17.50 N/A",
        "1000000 250000 float sum 100.0 10.00 17.50 N/A 99.0 10.10 17.68 N/A",
        "1000000 250000 float 100.0 10.00 17.50 0e+00 99.0 10.10 17.68 0e+00",
        "1000000 250000 float sum -1 100.0 10.00 17.50 0 99.0 10.10 17.68 N/A",
        "[1,0]<stdout>:  1000000 250000 float none -1 100.0 10.00 17.50 0 99.0 10.10 17.68 0",
        "0: 1000000 250000 float sum 100.0 10.00 17.50 0",
        "node-0-1:   1000000 250000 float sum 100.0 10.00 17.50 0\r",
        "\t1000000\t250000\tbfloat16\tsum\t100\t10.00\t17.50\t0",
        "1000000 250000 float sum 1e+02 10.00 17.50 N/A",
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, NAMED HEAD "%s\n", ROWS[i]);
        cr_assert_eq(import_text(text, NULL), GS_OK, "%s: %s", ROWS[i], err.text);
        cr_assert_eq(imported.curve_count, 1);
        cr_assert_eq(imported.curves[0].point_count, 1);
        cr_assert_eq(imported.curves[0].points[0].bytes, 1000000);
        cr_assert_eq(imported.curves[0].points[0].time_ns, 100000, "%s", ROWS[i]);
        gs_arena_fini(&arena);
    }
}

/* 100.0 stands for 99.95 to 100.05, so algbw may be 9.995 to 10.005, printed 9.99 to 10.01. */
Test(import_nccl_tests, a_row_that_contradicts_itself_is_left_out_with_its_line)
{
    cr_assert_eq(import_text(NAMED HEAD "1000000 1 float sum 100.0 10.01 1 0\n"
                                        "2000000 1 float sum 100.0 10.00 1 0\n"
                                        "3000000 1 float sum 100.0 nan 1 0\n"
                                        "4000000 1 float sum 100.0\n"
                                        "5000000 1 float sum 0.00 10.00 1 0\n",
                             NULL),
                 GS_OK);
    cr_assert_eq(imported.curves[0].point_count, 1);
    cr_assert_eq(imported.curves[0].points[0].bytes, 1000000);
    cr_assert(has_note("line 4: left out: algbw 10.00 GB/s is not 2000000 B in 100 us"));
    cr_assert(has_note("line 5: left out: time, algbw or busbw is no number"));
    cr_assert(has_note("line 6: left out: it has not 4 or 8 columns"));
    cr_assert(has_note("line 7: left out"));
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, repeats_are_averaged_and_rows_without_bytes_are_skipped)
{
    cr_assert_eq(import_text(NAMED HEAD "0 0 float sum 5.0 0.00 0.00 N/A\n"
                                        "2000000 1 float sum 100.0 20.00 1 0\n"
                                        "1000000 1 float sum 100.0 10.00 1 0\n...\n"
                                        "1000000 1 float sum 50.0 20.00 1 0\n",
                             NULL),
                 GS_OK);
    cr_assert_eq(imported.curves[0].point_count, 2);
    cr_assert_eq(imported.curves[0].points[0].time_ns, 75000); /* (100 + 50) / 2 us */
    cr_assert_eq(imported.curves[0].points[1].bytes, 2000000);
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, a_collective_that_nothing_names_is_asked_for)
{
    static const char TEXT[] =
        "# nThread 1 nGpus 1\n" HEAD "1000000 1 float sum 100.0 10.00 8.00 0\n";
    cr_assert_eq(import_text(TEXT, NULL), GS_EPARSE);
    cr_assert(strstr(err.text, "does not say which collective ran") != NULL, "%s", err.text);
    gs_arena_fini(&arena);
    cr_assert_eq(import_text(TEXT, "reduce-scatter"), GS_OK);
    cr_assert_str_eq(imported.curves[0].collective, "reduce_scatter");
    cr_assert_eq(imported.curves[0].ranks, 5); /* (n - 1) / n = 0.8 */
    gs_arena_fini(&arena);
    cr_assert_eq(import_text(TEXT, "waltz"), GS_EINVAL);
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, a_factor_that_fits_no_rank_count_is_remarked)
{
    cr_assert_eq(import_text("# Collective test starting: all_gather_perf\n"
                             "# nThread 1\n#  Rank  0 Pid 1 on h device  0 [0x1] X\n"
                             "#  Rank  1 Pid 1 on h device  1 [0x2] X\n" HEAD
                             "1000000 1 float 10.0 100.00 100.00 0\n",
                             NULL),
                 GS_OK);
    cr_assert(has_note("busbw over algbw is 1.000, but 0.500 for all_gather on 2 ranks"));
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, of_several_files_those_without_a_result_become_remarks)
{
    char paths[2][TEST_PATH_BYTES];
    static const char GOOD[] = NAMED HEAD "1000000 1 float sum 100.0 10.00 1 0\n";
    static const char BAD[] = NAMED HEAD;
    test_temp_file(paths[0], BAD, strlen(BAD));
    test_temp_file(paths[1], GOOD, strlen(GOOD));
    const char *files[] = {paths[0], paths[1]};
    gs_arena_init(&arena);
    cr_assert_eq(gs_import(files, 2, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    cr_assert_eq(imported.curve_count, 1);
    cr_assert(has_note("no result"));
    cr_assert_str_eq(imported.curves[0].source, paths[1]);
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, what_is_no_text_of_lines_is_refused)
{
    char path[TEST_PATH_BYTES];
    char *text = malloc(200000);
    cr_assert_not_null(text);
    memset(text, 'x', 200000);
    test_temp_file(path, text, 200000);
    free(text);
    cr_assert_eq(import_path(path, NULL), GS_ELIMIT);
    cr_assert(strstr(err.text, "line 1 is longer than 64 KiB") != NULL, "%s", err.text);
    gs_arena_fini(&arena);
    test_temp_file(path, "a\nb\0c\n", 6);
    cr_assert_eq(import_path(path, NULL), GS_EPARSE);
    cr_assert(strstr(err.text, "line 1 holds a zero byte") != NULL, "%s", err.text);
    gs_arena_fini(&arena);
    cr_assert_eq(import_text("", NULL), GS_EPARSE);
    gs_arena_fini(&arena);
    cr_assert_eq(import_text("hello\n", NULL), GS_EPARSE);
    cr_assert(strstr(err.text, "no table with algbw and busbw") != NULL, "%s", err.text);
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, a_table_without_a_usable_row_names_the_first)
{
    cr_assert_eq(import_text(NAMED HEAD "1000000 1 flaot sum 100.0 10.00 1 0\n"
                                        "2000000 1 float sum nan 10.00 1 0\n",
                             NULL),
                 GS_EPARSE);
    cr_assert(strstr(err.text, "no row of it can be used; the first, line ") != NULL, "%s",
              err.text);
    cr_assert(strstr(err.text, "its type is none of nccl-tests") != NULL, "%s", err.text);
    gs_arena_fini(&arena);
}

Test(import_nccl_tests, no_memory_at_any_point_is_told_and_leaks_nothing)
{
    char path[TEST_PATH_BYTES];
    static const char TEXT[] = NAMED HEAD "1000000 1 float sum 100.0 10.00 1 0\n"
                                          "2000000 1 float sum 100.0 10.00 1 0\n";
    test_temp_file(path, TEXT, strlen(TEXT));
    gs_status status = GS_ENOMEM;
    int64_t after = 0;
    for (; status != GS_OK && after < 200; after++) {
        gs_arena_fini(&arena);
        test_fail_allocations(after);
        status = import_path(path, NULL);
        test_fail_allocations(-1);
        cr_assert(status == GS_OK || status == GS_ENOMEM, "%lld: %s", (long long)after, err.text);
    }
    cr_assert_eq(status, GS_OK);
    cr_assert_gt(after, 5);
    gs_arena_fini(&arena);
}
