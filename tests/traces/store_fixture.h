/* For the tests of the store: a folder for each test, and a run to put into it. Static functions,
 * because each test file is a program of its own. */
#ifndef GS_TESTS_TRACES_STORE_FIXTURE_H
#define GS_TESTS_TRACES_STORE_FIXTURE_H

#include "traces/store/store_parts.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIXTURE_PATH_BYTES = 128, FIXTURE_PATHS = 8, FIXTURE_VALUES_MAX = 64 };

/* Folder of this test, removed with everything in it by fixture_fini. */
static char fixture_folder[FIXTURE_PATH_BYTES];

static inline void fixture_init(void)
{
    const char *place = getenv("TMPDIR");
    (void)snprintf(fixture_folder, sizeof fixture_folder, "%s/gs_store_XXXXXX",
                   place == NULL ? "/tmp" : place);
    cr_assert_not_null(mkdtemp(fixture_folder));
}

static inline void fixture_remove_tree(const char *folder)
{
    DIR *entries = opendir(folder);
    cr_assert_not_null(entries, "%s", folder);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        char path[2 * FIXTURE_PATH_BYTES + 256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat facts;
        if (lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
            fixture_remove_tree(path);
        } else {
            (void)unlink(path);
        }
    }
    (void)closedir(entries);
    (void)rmdir(folder);
}

static inline void fixture_fini(void)
{
    fixture_remove_tree(fixture_folder);
}

/* "FOLDER/name"; valid until the eighth next call. */
static inline const char *fixture_path(const char *name)
{
    static char paths[FIXTURE_PATHS][2 * FIXTURE_PATH_BYTES];
    static int next = 0;
    char *path = paths[next++ % FIXTURE_PATHS];
    (void)snprintf(path, sizeof paths[0], "%s/%s", fixture_folder, name);
    return path;
}

/* values [gs_metric_count()]: value i is 1.5 + i. */
static inline const double *fixture_values(void)
{
    static double values[FIXTURE_VALUES_MAX];
    cr_assert_leq(gs_metric_count(), FIXTURE_VALUES_MAX);
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        values[i] = 1.5 + i;
    }
    return values;
}

/* A simulated run with every field set. */
static inline gs_stored_run fixture_run(uint64_t seed, uint64_t result_hash)
{
    static const gs_stored_input inputs[] = {
        {"curve", "nccl_tests.txt", "nccl_tests", 4711, UINT64_C(0x0123456789abcdef)},
        {"profile", "rank0.json.gz", "kineto", 977, UINT64_C(0xfedcba9876543210)}};
    return (gs_stored_run){
        .source = GS_SOURCE_SIM,
        .status = GS_RUN_OK,
        .scenario = {.name = "eth10",
                     .config_hash = UINT64_C(0xa1b2c3d4e5f60718),
                     .config_json = "{\"seed\":1}",
                     .ranks = 8,
                     .nodes = 2,
                     .model = "mlp",
                     .gradient_bytes = 100000000},
        .strategy = {.name = "allreduce", .version = "1", .params_json = "{\"bucket\":\"25MiB\"}"},
        .environment = {.tool_version = "0.1.0",
                        .commit = "3f2a91c00000",
                        .compiler = "gcc 12.2.0",
                        .cpu = "a processor",
                        .os = "an os",
                        .blas = "a kernel",
                        .runner = "ci-1"},
        .label = "nightly",
        .seed = seed,
        .exact = true,
        .result_hash = result_hash,
        .started_utc = "2026-11-29T19:30:31Z",
        .wall_ns = 123456789,
        .inputs = inputs,
        .input_count = 2,
        .values = fixture_values(),
    };
}

/* A series of two ranks, a value that is not finite, two values at one time, and a histogram with a
 * bin that nothing lay in. */
static inline void fixture_series(gs_series *series)
{
    uint32_t norm = 0;
    uint32_t abs = 0;
    int64_t bin = 0;
    cr_assert_eq(gs_series_find_name(series, "gradient_norm", &norm), GS_OK);
    cr_assert_eq(gs_series_find_name(series, "gradient_abs/hidden0", &abs), GS_OK);
    const gs_series_point points[] = {{norm, 1, 300, 0.25},
                                      {norm, GS_ALL_RANKS, 977, 2.5},
                                      {norm, GS_ALL_RANKS, 977, 3.5},
                                      {norm, GS_ALL_RANKS, 100, (double)NAN}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        cr_assert_eq(gs_series_add(series, &points[i]), GS_OK);
    }
    const gs_series_bin bins[] = {{abs, GS_ALL_RANKS, 0.0, 1e-3, 0},
                                  {abs, GS_ALL_RANKS, 1e-3, 1.0, 4711}};
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
        cr_assert_eq(gs_series_add_bin(series, &bins[i], &bin), GS_OK);
    }
}

/* step_count steps of two ranks, kept apart, a curve of two rows, and series. Owner: caller. */
static inline gs_record *fixture_record(int64_t step_count)
{
    gs_record *record = gs_record_create(2, true);
    cr_assert_not_null(record);
    for (int64_t step = 0; step < step_count; step++) {
        for (int32_t rank = 0; rank < 2; rank++) {
            gs_step_row row = {.step = step,
                               .rank = rank,
                               .start_ns = 1000 * step + rank,
                               .duration_ns = 101,
                               .compute_ns = 61,
                               .comm_ns = 47,
                               .exposed_comm_ns = 23,
                               .wait_ns = 11,
                               .input_ns = 5,
                               .overhead_ns = 1,
                               .bytes_sent = 1009};
            cr_assert_eq(gs_record_step(record, &row), GS_OK);
        }
    }
    gs_curve_row first = {.loss = 2.25, .accuracy = (double)NAN};
    gs_curve_row last = {
        .step = 20, .time_ns = 20977, .samples = 1280, .loss = 0.5, .accuracy = 0.9375};
    cr_assert_eq(gs_record_curve(record, &first), GS_OK);
    cr_assert_eq(gs_record_curve(record, &last), GS_OK);
    fixture_series(gs_record_series(record));
    return record;
}

static inline gs_store *fixture_open(const char *path, gs_store_mode mode)
{
    gs_store *store = NULL;
    gs_error err = {0};
    cr_assert_eq(gs_store_open(path, mode, &store, &err), GS_OK, "%s", err.text);
    return store;
}

static inline int64_t fixture_write(gs_store *store, const gs_stored_run *run)
{
    int64_t id = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_write_run(store, run, &id, &err), GS_OK, "%s", err.text);
    return id;
}

/* First column of the first row of a query on the file, through a connection of its own. */
static inline int64_t fixture_query(const char *path, const char *query)
{
    gs_sql sql;
    gs_error err = {0};
    int64_t value = 0;
    cr_assert_eq(gs_sql_open(path, false, &sql, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_store_query_int(&sql, query, &value, &err), GS_OK, "%s", err.text);
    gs_sql_close(&sql);
    return value;
}

/* Runs statements on the file through a connection of its own. */
static inline void fixture_execute(const char *path, const char *statements)
{
    gs_sql sql;
    gs_error err = {0};
    cr_assert_eq(gs_sql_open(path, true, &sql, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_sql_run(&sql, statements, &err), GS_OK, "%s", err.text);
    gs_sql_close(&sql);
}

#endif
