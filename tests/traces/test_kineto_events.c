/* Kineto traces that are damaged, endless or too large, and a reader without memory. */
#include "traces/importers/kineto_events.h"

#include "tests/traces/kineto_fixture.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static gs_status text_fails(const char *text)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, text, strlen(text));
    const char *file = path;
    return import_fails(&file, 1);
}

/* --- damaged files ---------------------------------------------------------------------------- */

static void check_text_fails(const char *text, gs_status code, const char *reason)
{
    cr_assert_eq(text_fails(text), code, "%s: %s", text, err.text);
    cr_assert(strstr(err.text, reason) != NULL, "%s: %s", text, err.text);
}

#define EVENT(more) "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\"" more

Test(kineto_events, damage_is_told_with_its_reason)
{
    check_text_fails("", GS_EPARSE, "empty");
    check_text_fails("[1, 2]", GS_EPARSE, "a list at the top");
    check_text_fails("{\"a\": 1}", GS_EPARSE, "no list traceEvents");
    check_text_fails("{\"traceEvents\": []}", GS_EPARSE, "no kernel and no operator");
    check_text_fails("{\"traceEvents\": [", GS_EPARSE, "the file was cut");
    check_text_fails("{\"traceEvents\": [}", GS_EPARSE, "byte 18: no valid JSON");
    check_text_fails("{\"traceEvents\": []} x", GS_EPARSE, "no valid JSON");
    check_text_fails("\x7f\x45LF\x02\x01", GS_EPARSE, "no valid JSON");
    check_text_fails(EVENT("}]}"), GS_EPARSE, "has no ts");
    check_text_fails(EVENT(", \"ts\": 1}]}"), GS_EPARSE, "has no dur");
    check_text_fails(EVENT(", \"ts\": 1, \"dur\": -1}]}"), GS_EPARSE, "dur -1");
    check_text_fails(EVENT(", \"ts\": 1e300, \"dur\": 1}]}"), GS_EPARSE, "ts 1e300");
    check_text_fails("{\"distributedInfo\": {\"rank\": -2}, \"traceEvents\": []}", GS_EPARSE,
                     "rank -2");
}

Test(kineto_events, deep_nesting_and_endless_values_stop_at_a_limit)
{
    char *text = malloc(20u << 20);
    cr_assert_not_null(text);
    memset(text, '[', 1000);
    strcpy(text, "{\"a\": ");
    memset(text + 6, '[', 1000);
    text[1006] = '\0';
    check_text_fails(text, GS_ELIMIT, "nested deeper than 64");
    memset(text + 6, 'x', 19u << 20);
    text[6] = '"';
    text[6 + (19u << 20)] = '\0';
    cr_assert_eq(text_fails(text), GS_ELIMIT);
    cr_assert(strstr(err.text, "a value of more than 16 MiB") != NULL, "%s", err.text);
    free(text);
}

Test(kineto_events, a_cut_gzip_file_is_told_as_cut)
{
    char path[TEST_PATH_BYTES];
    put_simple(0, 1, 64, path);
    char packed[TEST_PATH_BYTES];
    test_temp_path(packed);
    gzFile out = gzopen(packed, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(gzwrite(out, trace, (unsigned)strlen(trace)), (int)strlen(trace));
    cr_assert_eq(gzclose(out), Z_OK);
    const char *file = packed;
    import_files(&file, 1);
    gs_arena_fini(&arena);
    struct stat about;
    cr_assert_eq(stat(packed, &about), 0);
    cr_assert_eq(truncate(packed, about.st_size / 2), 0);
    cr_assert_eq(import_fails(&file, 1), GS_EPARSE);
    cr_assert(strstr(err.text, "cut") != NULL, "%s", err.text);
}

Test(kineto_events, a_file_that_is_not_there_is_not_found)
{
    const char *file = "/nonexistent/trace.json";
    cr_assert_eq(import_fails(&file, 1), GS_ENOTFOUND);
    cr_assert(strstr(err.text, file) != NULL);
}

Test(kineto_events, more_events_than_the_limit_are_refused_and_not_kept)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_step(1, 0, 500);
    for (int i = 0; i < 20; i++) {
        put_compute(i, 10 * i, 10 * i + 1, 5);
    }
    end_trace(path);
    gs_kineto_events events;
    cr_assert_eq(gs_kineto_events_read(path, 41, &events, &err), GS_OK); /* 1 step, 20 of each */
    cr_assert_eq(events.kernel_count, 20);
    gs_kineto_events_fini(&events);
    cr_assert_eq(gs_kineto_events_read(path, 40, &events, &err), GS_ELIMIT);
    cr_assert(strstr(err.text, "more than 40") != NULL, "%s", err.text);
    gs_kineto_events_fini(&events);
}

/* 100,000 operators and python frames that nest or do not matter leave one span behind. */
Test(kineto_events, what_a_profile_does_not_need_is_not_kept)
{
    char path[TEST_PATH_BYTES];
    test_temp_path(path);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    fputs("{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"all\", \"tid\": 1, "
          "\"ts\": 0, \"dur\": 100000}",
          file);
    for (int i = 0; i < 50000; i++) {
        fprintf(file,
                ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"tid\":1,\"ts\":%d,"
                "\"dur\":1},{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f\",\"ts\":%d,"
                "\"dur\":2}",
                2 * i, 2 * i);
    }
    fputs("]}", file);
    cr_assert_eq(fclose(file), 0);
    gs_kineto_events events;
    cr_assert_eq(gs_kineto_events_read(path, 4, &events, &err), GS_OK, "%s", err.text);
    cr_assert_eq(events.span_count, 1);
    cr_assert_eq(events.event_count, 100001);
    gs_kineto_events_fini(&events);
}

/* --- no memory -------------------------------------------------------------------------------- */

Test(kineto_events, no_memory_at_any_point_is_told_and_leaks_nothing)
{
    char paths[2][TEST_PATH_BYTES];
    put_pair(0, paths[0]);
    put_pair(1, paths[1]);
    const char *files[] = {paths[0], paths[1]};
    gs_status status = GS_ENOMEM;
    int64_t after = 0;
    for (; status != GS_OK && after < 1000; after++) {
        gs_arena_init(&arena);
        test_fail_allocations(after);
        status = gs_import(files, 2, NULL, &arena, &imported, &err);
        test_fail_allocations(-1);
        cr_assert(status == GS_OK || status == GS_ENOMEM, "%lld: %s", (long long)after, err.text);
        gs_arena_fini(&arena);
    }
    cr_assert_eq(status, GS_OK);
    cr_assert_gt(after, 20);
    status = GS_ENOMEM;
    for (after = 0; status != GS_OK && after < 1000; after++) {
        gs_arena_init(&arena);
        arena.fail_after = after;
        status = gs_import(files, 2, NULL, &arena, &imported, &err);
        cr_assert(status == GS_OK || status == GS_ENOMEM, "%lld: %s", (long long)after, err.text);
        gs_arena_fini(&arena);
    }
    cr_assert_eq(status, GS_OK);
    cr_assert_gt(after, 20);
}
