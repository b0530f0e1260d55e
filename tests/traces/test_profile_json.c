/* gradsync's own form of profiles and curves: written, read back, and refused where it is wrong. */
#include "traces/importers/profile_json.h"

#include "tests/support.h"
#include "traces/importers/trace_stat.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gs_arena arena;
static gs_imported imported;
static gs_error err;

/* Two ranks, one step, two gradients, one blocking op, one curve: numbers that nothing else has. */
static const char DOCUMENT[] =
    "{\"schema\": \"gradsync.profile/1\", \"format\": \"kineto\", \"notes\": [\"by hand\"],"
    "\"profile\": {\"source\": \"made up\", \"world_size\": 4, \"element_bytes\": 2, \"batch\": 48,"
    "\"units\": [{\"name\": \"b1\", \"elements\": 1009, \"rows\": 12, \"columns\": 83, "
    "\"wire_ns\": 31},"
    "{\"name\": \"b0\", \"elements\": 5003, \"wire_ns\": 0}],"
    "\"blocking\": [{\"name\": \"broadcast\", \"bytes\": -1, \"wire_ns\": 17}],"
    "\"ranks\": [{\"rank\": 0, \"steps\": [{\"measured_ns\": 701, \"compute_ns\": 600,"
    "\"input_ns\": 50, \"wait_ns\": 40, \"wire_ns\": 11, \"hidden_ns\": 3, \"segments\":"
    "[[\"input\", 50], [\"forward\", 300], [\"blocking\", 0], [\"gradient\", 1], [\"backward\", "
    "200],"
    "[\"gradient\", 0], [\"optimizer\", 100]]}]},"
    "{\"rank\": 3, \"steps\": [{\"measured_ns\": 0, \"compute_ns\": 0, \"input_ns\": 0,"
    "\"wait_ns\": 0, \"wire_ns\": 0, \"hidden_ns\": 0, \"segments\":"
    "[[\"gradient\", 0], [\"gradient\", 1]]}]}]},"
    "\"curves\": [{\"collective\": \"all_reduce\", \"ranks\": 8, \"hosts\": 2, \"device\": \"X\","
    "\"source\": \"y.log\", \"points\": [[8, 21], [4096, 9007199254740993]]}]}";

static gs_status import_text(const char *text)
{
    char path[TEST_PATH_BYTES];
    const char *file = path;
    gs_import_options options = {.format = "gradsync_profile"};
    test_temp_file(path, text, strlen(text));
    gs_arena_init(&arena);
    return gs_import(&file, 1, &options, &arena, &imported, &err);
}

static char *write_imported(void)
{
    gs_json *object = gs_json_new_object();
    cr_assert_eq(gs_trace_import_json(&imported, object), GS_OK);
    char *text = gs_json_write(object, false);
    cr_assert_not_null(text);
    gs_json_free(object);
    return text;
}

Test(profile_json, what_is_read_is_what_is_written)
{
    cr_assert_eq(import_text(DOCUMENT), GS_OK, "%s", err.text);
    const gs_profile *profile = imported.profile;
    cr_assert_str_eq(imported.format, "kineto");
    cr_assert_str_eq(profile->source, "made up");
    cr_assert_eq(profile->world_size, 4);
    cr_assert_eq(profile->element_bytes, 2);
    cr_assert_eq(profile->batch, 48);
    cr_assert_eq(profile->units[0].elements, 1009);
    cr_assert_eq(profile->units[0].shape.rows, 12); /* 996, and a vector of 13 */
    cr_assert_eq(profile->units[0].shape.columns, 83);
    cr_assert_eq(profile->units[1].shape.rows, 0); /* not known */
    cr_assert_eq(profile->units[0].wire_ns, 31);
    cr_assert_eq(profile->blocking[0].bytes, -1);
    cr_assert_eq(profile->rank_count, 2);
    cr_assert_eq(profile->ranks[1].rank, 3);
    cr_assert_eq(profile->ranks[0].steps[0].measured_wire_ns, 11);
    cr_assert_eq(profile->ranks[0].steps[0].segments[3].kind, GS_SEGMENT_GRADIENT);
    cr_assert_eq(profile->ranks[0].steps[0].segments[3].index, 1);
    cr_assert_eq(profile->ranks[0].steps[0].segments[4].duration_ns, 200);
    cr_assert_str_eq(profile->notes[0], "by hand");
    cr_assert_eq(imported.curves[0].points[1].time_ns, INT64_C(9007199254740993));
    char *first = write_imported();
    gs_arena_fini(&arena);
    cr_assert_eq(import_text(first), GS_OK, "%s", err.text);
    char *second = write_imported();
    cr_assert_str_eq(first, second);
    free(first);
    free(second);
    gs_arena_fini(&arena);
}

Test(profile_json, a_real_trace_survives_the_round_trip_and_is_found_by_probing)
{
    const char *file = test_data_path("traces/kineto/resnet_ddp_rank0_of_2.json.gz");
    gs_arena_init(&arena);
    cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    char *first = write_imported();
    gs_arena_fini(&arena);
    char path[TEST_PATH_BYTES];
    file = path;
    test_temp_file(path, first, strlen(first));
    gs_arena_init(&arena);
    cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    cr_assert_eq(imported.profile->ranks[0].steps[2].measured_ns, 224936243);
    char *second = write_imported();
    cr_assert_str_eq(first, second);
    free(first);
    free(second);
    gs_arena_fini(&arena);
}

/* The document with `from` replaced by `to`, which must be refused with a text that holds reason.
 */
static void check_changed(const char *from, const char *to, const char *reason)
{
    char text[2 * sizeof DOCUMENT];
    const char *at = strstr(DOCUMENT, from);
    cr_assert_not_null(at, "%s", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - DOCUMENT), DOCUMENT, to, at + strlen(from));
    cr_assert_neq(import_text(text), GS_OK, "%s", to);
    cr_assert(strstr(err.text, reason) != NULL, "%s: %s", to, err.text);
    gs_arena_fini(&arena);
}

Test(profile_json, what_does_not_fit_together_is_refused_with_its_place)
{
    check_changed("profile/1", "profile/2", "this version reads gradsync.profile/1");
    check_changed("\"world_size\"", "\"world_sise\"", "did you mean world_size?");
    check_changed("\"elements\": 1009", "\"elements\": 0", "profile.units[0].elements: 0");
    check_changed("\"rank\": 3", "\"rank\": 0", "rank 0 after rank 0");
    check_changed("[\"gradient\", 0]", "[\"gradient\", 1]", "gradient 1 is ready twice");
    check_changed("[\"gradient\", 0], [\"opt", "[\"opt", "1 of 2 gradients become ready");
    check_changed("[\"blocking\", 0]", "[\"blocking\", 1]", "1; allowed are 0 to 0");
    check_changed("[\"forward\", 300]", "[\"forwards\", 300]", "\"forwards\"; allowed are input");
    check_changed("[\"forward\", 300]", "[\"forward\"]", "not a list of two values");
    check_changed("[\"forward\", 300]", "[\"forward\", -1]", "-1; allowed are 0");
    check_changed("\"wait_ns\": 40", "\"wait_ns\": 41", "is not measured_ns");
    check_changed("[[8, 21]", "[[4096, 21]", "4096 bytes twice");
    check_changed("[[8, 21]", "[[0, 21]", "0; allowed are 1");
    check_changed("[[8, 21], [4096, 9007199254740993]]", "[]", "no point");
    check_changed("\"source\": \"made up\",", "", "key \"source\" is missing");
}

static int64_t whole_at(const gs_json_at *object, const char *key)
{
    gs_json_at at;
    int64_t value = -1;
    cr_assert(gs_json_find(object, key, &at), "%s", key);
    cr_assert_eq(gs_json_int(&at, &value, &err), GS_OK);
    return value;
}

/* Resnet's steps sorted: 219,726,905, 222,442,191 and 224,936,243 ns; the middle one is the median.
 */
Test(trace_stat, the_numbers_of_a_real_trace_are_there)
{
    const char *file = test_data_path("traces/kineto/resnet_ddp_rank0_of_2.json.gz");
    gs_arena_init(&arena);
    cr_assert_eq(gs_import(&file, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    gs_json_at stat = {.value = gs_json_new_object(), .file = "stat"};
    gs_json_at profile;
    gs_json_at list;
    gs_json_at step;
    cr_assert_eq(gs_trace_stat(&imported, stat.value), GS_OK);
    cr_assert(gs_json_find(&stat, "profile", &profile));
    cr_assert_eq(whole_at(&profile, "elements"), 25557032);
    cr_assert_eq(whole_at(&profile, "world_size"), 2);
    cr_assert(gs_json_find(&profile, "blocking", &list));
    cr_assert_eq(gs_json_count(list.value), 1);
    gs_json_at broadcast = gs_json_element(&list, 0);
    cr_assert_eq(whole_at(&broadcast, "count"), 2);
    cr_assert_eq(whole_at(&broadcast, "bytes"), 53120 * 4 + 53 * 8);
    cr_assert(gs_json_find(&profile, "ranks", &list));
    gs_json_at rank = gs_json_element(&list, 0);
    cr_assert_eq(whole_at(&rank, "steps"), 3);
    cr_assert(gs_json_find(&rank, "step_ns", &step));
    cr_assert_eq(whole_at(&step, "p50"), 222442191);
    cr_assert_eq(whole_at(&step, "min"), 219726905);
    cr_assert_eq(whole_at(&step, "max"), 224936243);
    gs_json_free(stat.value);
    gs_arena_fini(&arena);
}

Test(trace_stat, the_numbers_of_a_curve_are_there)
{
    cr_assert_eq(import_text(DOCUMENT), GS_OK, "%s", err.text);
    gs_json_at stat = {.value = gs_json_new_object(), .file = "stat"};
    gs_json_at list;
    cr_assert_eq(gs_trace_stat(&imported, stat.value), GS_OK);
    cr_assert(gs_json_find(&stat, "curves", &list));
    gs_json_at curve = gs_json_element(&list, 0);
    cr_assert_eq(whole_at(&curve, "points"), 2);
    cr_assert_eq(whole_at(&curve, "least_bytes"), 8);
    cr_assert_eq(whole_at(&curve, "most_bytes"), 4096);
    cr_assert_eq(whole_at(&curve, "latency_ns"), 21);
    gs_json_free(stat.value);
    gs_arena_fini(&arena);
}

Test(profile_json, no_memory_while_reading_is_told_and_leaks_nothing)
{
    char path[TEST_PATH_BYTES];
    const char *file = path;
    test_temp_file(path, DOCUMENT, strlen(DOCUMENT));
    gs_status status = GS_ENOMEM;
    int64_t after = 0;
    for (; status != GS_OK && after < 1000; after++) {
        gs_arena_init(&arena);
        arena.fail_after = after;
        status = gs_import(&file, 1, NULL, &arena, &imported, &err);
        cr_assert(status == GS_OK || status == GS_ENOMEM, "%lld: %s", (long long)after, err.text);
        if (status != GS_OK) {
            gs_arena_fini(&arena);
        }
    }
    cr_assert_gt(after, 15);
    gs_arena_fini(&arena);
}
