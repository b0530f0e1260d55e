/* Kineto traces: the real files against what is known of them and against a second, simpler reader.
 */
#include "tests/traces/kineto_fixture.h"

#include "base/json.h"
#include "traces/whole_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the real files -------------------------------------------------------------------------- */

enum { DLRM_RANKS = 8, FILES_MAX = 8 };

/* Every file of the folder; a test below fails for one that is not here. */
static const char *const KNOWN[] = {
    "amd_mi250_single_gpu_no_comm.json.gz", "cpu_only_no_distributed_info.json",
    "dlrm_8ranks/worker0.pt.trace.json.gz", "dlrm_8ranks/worker1.pt.trace.json.gz",
    "dlrm_8ranks/worker2.pt.trace.json.gz", "dlrm_8ranks/worker3.pt.trace.json.gz",
    "dlrm_8ranks/worker4.pt.trace.json.gz", "dlrm_8ranks/worker5.pt.trace.json.gz",
    "dlrm_8ranks/worker6.pt.trace.json.gz", "dlrm_8ranks/worker7.pt.trace.json.gz",
    "dlrm_rank0_plain.pt.trace.json",       "recsys_rank3_of_8_old_names.json.gz",
    "resnet_ddp_rank0_of_2.json.gz",
};

enum { KNOWN_COUNT = sizeof KNOWN / sizeof KNOWN[0] };

static const char *kineto_path(const char *name, char out[TEST_PATH_BYTES])
{
    snprintf(out, TEST_PATH_BYTES, "%s/%s", test_data_path("traces/kineto"), name);
    return out;
}

static const gs_profile *import_known(const char *name)
{
    char path[TEST_PATH_BYTES];
    return import_one(kineto_path(name, path));
}

static const gs_profile *import_dlrm(void)
{
    static char paths[DLRM_RANKS][TEST_PATH_BYTES];
    const char *files[DLRM_RANKS];
    for (int r = 0; r < DLRM_RANKS; r++) {
        char name[64];
        snprintf(name, sizeof name, "dlrm_8ranks/worker%d.pt.trace.json.gz", r);
        files[r] = kineto_path(name, paths[r]);
    }
    return import_files(files, DLRM_RANKS);
}

/* Elements of the units in the order in which a step makes them ready; returns how many. */
static uint32_t ready_order(const gs_profile *profile, const gs_profile_step *step, int64_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        if (step->segments[i].kind == GS_SEGMENT_GRADIENT) {
            out[count++] = profile->units[step->segments[i].index].elements;
        }
    }
    return count;
}

static uint32_t blocking_in(const gs_profile *profile, const gs_profile_step *step,
                            const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        if (step->segments[i].kind == GS_SEGMENT_BLOCKING &&
            strcmp(profile->blocking[step->segments[i].index].name, name) == 0) {
            count++;
        }
    }
    return count;
}

static size_t walk_folder(const char *folder, const char *prefix)
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
        snprintf(name, sizeof name, "%s%s", prefix, entry->d_name);
        cr_assert_eq(stat(path, &about), 0);
        if (S_ISDIR(about.st_mode)) {
            strcat(name, "/");
            found += walk_folder(path, name);
            continue;
        }
        bool known = false;
        for (size_t i = 0; i < KNOWN_COUNT; i++) {
            known = known || strcmp(KNOWN[i], name) == 0;
        }
        cr_assert(known, "no test names traces/kineto/%s", name);
        found++;
    }
    closedir(directory);
    return found;
}

Test(import_kineto, every_file_of_the_folder_is_tested_by_name)
{
    cr_assert_eq(walk_folder(test_data_path("traces/kineto"), ""), KNOWN_COUNT);
}

/* Step times and sizes of TRACES.md §1. */
Test(import_kineto, the_eight_dlrm_ranks_have_their_recorded_steps_and_collectives)
{
    static const int64_t STEP_US[DLRM_RANKS] = {14455, 19901, 13017, 19313,
                                                17979, 17797, 13091, 12509};
    const gs_profile *profile = import_dlrm();
    cr_assert_eq(profile->rank_count, DLRM_RANKS);
    cr_assert_eq(profile->world_size, DLRM_RANKS);
    cr_assert_eq(profile->element_bytes, 4);
    cr_assert_eq(profile->blocking_count, 5);
    for (uint32_t r = 0; r < DLRM_RANKS; r++) {
        const gs_profile_step *step = &profile->ranks[r].steps[0];
        int64_t elements[FILES_MAX];
        cr_assert_eq(profile->ranks[r].rank, (int32_t)r);
        cr_assert_eq(profile->ranks[r].step_count, 1);
        cr_assert_eq(step->measured_ns, STEP_US[r] * GS_NS_PER_US);
        cr_assert_eq(ready_order(profile, step, elements), 3);
        cr_assert_eq(elements[0], 394241);
        cr_assert_eq(elements[1], 112);
        cr_assert_eq(elements[2], 226960);
        cr_assert_eq(blocking_in(profile, step, "all_to_all"), 5);
    }
    /* Parameter order is the other way round: the last bucket holds the first parameters. */
    cr_assert_eq(profile->units[0].elements, 226960);
    cr_assert(has_note("1 step, no variance"));
    check_accounts(profile);
    gs_arena_fini(&arena);
}

/* TRACES.md §0.2: the first all-to-all lasts 10 us on the last rank to come and 7,635 us on the
 * first (rank 1), so its wire time is 10 us and rank 1 waits the rest, less what it still computed.
 */
Test(import_kineto, skew_between_the_dlrm_ranks_is_wait_and_not_wire_time)
{
    const gs_profile *profile = import_dlrm();
    cr_assert_eq(profile->blocking[0].wire_ns, 10 * GS_NS_PER_US);
    cr_assert_eq(profile->blocking[0].bytes, 6144 * 4);
    const gs_profile_step *first = &profile->ranks[1].steps[0];
    cr_assert_gt(first->measured_wait_ns, 6900 * GS_NS_PER_US);
    cr_assert_lt(first->measured_wait_ns, 8700 * GS_NS_PER_US);
    /* Alone, nothing tells one from the other: all of it counts as wire. */
    gs_time_ns held_ns = first->measured_wait_ns + first->measured_wire_ns;
    gs_arena_fini(&arena);
    profile = import_known("dlrm_8ranks/worker1.pt.trace.json.gz");
    cr_assert_eq(profile->ranks[0].rank, 1);
    cr_assert_eq(profile->ranks[0].steps[0].measured_wait_ns, 0);
    cr_assert_eq(profile->ranks[0].steps[0].measured_wire_ns, held_ns);
    cr_assert(has_note("8 ranks recorded, 1 given: waits for the others cannot be told from wire"));
    gs_arena_fini(&arena);
}

Test(import_kineto, a_plain_file_and_its_gzipped_twin_give_the_same_profile)
{
    const gs_profile *packed = import_known("dlrm_8ranks/worker0.pt.trace.json.gz");
    gs_arena first = arena;
    const gs_profile *plain = import_known("dlrm_rank0_plain.pt.trace.json");
    const gs_profile_step *a = &packed->ranks[0].steps[0];
    const gs_profile_step *b = &plain->ranks[0].steps[0];
    cr_assert_eq(a->segment_count, b->segment_count);
    cr_assert_gt(a->segment_count, 10);
    for (uint32_t i = 0; i < a->segment_count; i++) {
        cr_assert_eq(a->segments[i].kind, b->segments[i].kind);
        cr_assert_eq(a->segments[i].index, b->segments[i].index);
        cr_assert_eq(a->segments[i].duration_ns, b->segments[i].duration_ns);
    }
    gs_arena_fini(&first);
    gs_arena_fini(&arena);
}

/* Durations of the annotations ProfilerStep#4 to #6, and TRACES.md §1 for the sizes. */
Test(import_kineto, resnet_has_three_steps_and_five_buckets_in_ready_order)
{
    static const int64_t STEP_NS[] = {222442191, 219726905, 224936243};
    static const int64_t BUCKETS[] = {2049000, 7875584, 6563840, 6637568, 2431040};
    const gs_profile *profile = import_known("resnet_ddp_rank0_of_2.json.gz");
    int64_t sum = 0;
    cr_assert_eq(profile->ranks[0].step_count, 3);
    cr_assert_eq(profile->unit_count, 5);
    for (uint32_t u = 0; u < 5; u++) {
        sum += profile->units[u].elements;
    }
    cr_assert_eq(sum, 25557032); /* all of ResNet-50 */
    for (uint32_t s = 0; s < 3; s++) {
        const gs_profile_step *step = &profile->ranks[0].steps[s];
        int64_t elements[FILES_MAX];
        cr_assert_eq(step->measured_ns, STEP_NS[s]);
        cr_assert_eq(ready_order(profile, step, elements), 5);
        for (uint32_t u = 0; u < 5; u++) {
            cr_assert_eq(elements[u], BUCKETS[u]);
        }
        /* Batch-norm buffers: 53,120 floats, and 53 counters of 8 bytes. */
        cr_assert_eq(blocking_in(profile, step, "broadcast"), 2);
        cr_assert_eq(profile->blocking[2 * s].bytes, 53120 * 4);
        cr_assert_eq(profile->blocking[2 * s + 1].bytes, 53 * 8);
    }
    cr_assert(has_note("2 ranks recorded, 1 given"));
    check_accounts(profile);
    gs_arena_fini(&arena);
}

Test(import_kineto, old_kernel_names_get_their_sizes_from_the_annotations)
{
    static const int64_t SIZES[] = {45310188, 267040, 4432073};
    const gs_profile *profile = import_known("recsys_rank3_of_8_old_names.json.gz");
    cr_assert_eq(profile->ranks[0].rank, 3);
    cr_assert_eq(profile->world_size, 8);
    cr_assert_eq(profile->ranks[0].step_count, 2);
    for (uint32_t s = 0; s < 2; s++) {
        int64_t elements[FILES_MAX];
        cr_assert_eq(ready_order(profile, &profile->ranks[0].steps[s], elements), 3);
        for (uint32_t u = 0; u < 3; u++) {
            cr_assert_eq(elements[u], SIZES[u]);
        }
        cr_assert_eq(blocking_in(profile, &profile->ranks[0].steps[s], "all_to_all"), 7);
    }
    /* The first annotation: 8 x 1024 x 8816 floats. */
    cr_assert_eq(profile->blocking[0].bytes, INT64_C(8) * 1024 * 8816 * 4);
    check_accounts(profile);
    gs_arena_fini(&arena);
}

Test(import_kineto, a_trace_without_kernels_is_played_from_host_operators)
{
    const gs_profile *profile = import_known("cpu_only_no_distributed_info.json");
    cr_assert_eq(profile->rank_count, 1);
    cr_assert_eq(profile->world_size, 0);
    cr_assert_eq(profile->unit_count, 0);
    cr_assert_eq(profile->blocking_count, 6);
    cr_assert_eq(profile->blocking[0].wire_ns, 0);
    cr_assert_eq(profile->ranks[0].steps[0].measured_ns, 75473 * GS_NS_PER_US);
    cr_assert(has_note("neither the file nor its name says its rank"));
    cr_assert(has_note("no kernels"));
    check_accounts(profile);
    gs_arena_fini(&arena);
}

Test(import_kineto, a_trace_without_collectives_is_a_profile_of_one_rank)
{
    const gs_profile *profile = import_known("amd_mi250_single_gpu_no_comm.json.gz");
    cr_assert_eq(profile->unit_count, 0);
    cr_assert_eq(profile->blocking_count, 0);
    cr_assert_eq(profile->ranks[0].step_count, 2);
    cr_assert_eq(profile->ranks[0].steps[0].measured_ns, 9288291);
    cr_assert_eq(profile->ranks[0].steps[1].measured_ns, 49073);
    cr_assert(has_note("no collective"));
    check_accounts(profile);
    gs_arena_fini(&arena);
}

/* --- a second reader: the whole document in memory, doubles, no streams ----------------------- */

enum { SPANS_MAX = 1 << 16, STEPS_MAX = 8 };

typedef struct span {
    int64_t start;
    int64_t end;
} span;

typedef struct second_reader {
    span steps[STEPS_MAX];
    size_t step_count;
    struct {
        int64_t correlation;
        int64_t at;
    } launches[SPANS_MAX];
    size_t launch_count;
    struct {
        span when;
        int64_t correlation;
    } kernels[SPANS_MAX];
    size_t kernel_count;
} second_reader;

static int64_t ns_of(const gs_json_at *event, const char *key)
{
    gs_json_at at;
    double us = 0.0;
    cr_assert(gs_json_find(event, key, &at));
    cr_assert_eq(gs_json_real(&at, &us, &err), GS_OK);
    /* A double holds whole microseconds since 1970, but not their nanoseconds. */
    double whole_us = floor(us);
    return (int64_t)whole_us * 1000 + (int64_t)llround((us - whole_us) * 1000.0);
}

static const char *text_of(const gs_json_at *event, const char *key)
{
    gs_json_at at;
    const char *text = "";
    if (gs_json_find(event, key, &at) && gs_json_kind_of(at.value) == GS_JSON_TEXT) {
        cr_assert_eq(gs_json_text(&at, &text, &err), GS_OK);
    }
    return text;
}

static int64_t correlation_of(const gs_json_at *event)
{
    gs_json_at args;
    gs_json_at at;
    int64_t value = -1;
    if (gs_json_find(event, "args", &args) && gs_json_find(&args, "correlation", &at)) {
        cr_assert_eq(gs_json_int(&at, &value, &err), GS_OK);
    }
    return value;
}

static void take_event(second_reader *in, const gs_json_at *event)
{
    const char *category = text_of(event, "cat");
    if (strcmp(text_of(event, "ph"), "X") != 0) {
        return;
    }
    if (strcmp(category, "user_annotation") == 0 &&
        strncmp(text_of(event, "name"), "ProfilerStep", 12) == 0) {
        int64_t start = ns_of(event, "ts");
        in->steps[in->step_count++] = (span){start, start + ns_of(event, "dur")};
    } else if (strcmp(category, "cuda_runtime") == 0) {
        in->launches[in->launch_count].correlation = correlation_of(event);
        in->launches[in->launch_count++].at = ns_of(event, "ts");
    } else if (strcmp(category, "kernel") == 0 && strncmp(text_of(event, "name"), "nccl", 4) != 0) {
        int64_t start = ns_of(event, "ts");
        in->kernels[in->kernel_count].when = (span){start, start + ns_of(event, "dur")};
        in->kernels[in->kernel_count++].correlation = correlation_of(event);
    }
}

static int by_start(const void *left, const void *right)
{
    int64_t a = ((const span *)left)->start;
    int64_t b = ((const span *)right)->start;
    return (a > b) - (a < b);
}

static int by_first_int(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Union of the compute kernels that were launched in step s. */
static int64_t compute_in_step(second_reader *in, size_t s)
{
    static span mine[SPANS_MAX];
    size_t count = 0;
    for (size_t k = 0; k < in->kernel_count; k++) {
        const int64_t *launch = bsearch(&in->kernels[k].correlation, in->launches, in->launch_count,
                                        sizeof in->launches[0], by_first_int);
        int64_t at = launch == NULL ? in->kernels[k].when.start : launch[1];
        if (at >= in->steps[s].start && at < in->steps[s].end) {
            mine[count++] = in->kernels[k].when;
        }
    }
    qsort(mine, count, sizeof mine[0], by_start);
    int64_t sum = 0;
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t from = mine[i].start > until ? mine[i].start : until;
        sum += mine[i].end > from ? mine[i].end - from : 0;
        until = mine[i].end > until ? mine[i].end : until;
    }
    return sum;
}

Test(import_kineto, compute_agrees_with_a_second_reader_on_every_file_that_has_kernels)
{
    static second_reader in;
    for (size_t f = 0; f < KNOWN_COUNT; f++) {
        char path[TEST_PATH_BYTES];
        char *text = NULL;
        size_t bytes = 0;
        gs_json_at document;
        gs_json_at events;
        gs_json_at event;
        kineto_path(KNOWN[f], path);
        cr_assert_eq(gs_whole_file_read(path, GS_JSON_BYTES_MAX, &text, &bytes, &err), GS_OK);
        cr_assert_eq(gs_json_parse(text, bytes, path, &document, &err), GS_OK, "%s", err.text);
        memset(&in, 0, sizeof in);
        cr_assert(gs_json_find(&document, "traceEvents", &events));
        for (size_t i = 0; gs_json_walk(&events, i, &event); i++) {
            take_event(&in, &event);
        }
        gs_json_free(document.value);
        free(text);
        if (in.kernel_count == 0) {
            continue;
        }
        qsort(in.launches, in.launch_count, sizeof in.launches[0], by_first_int);
        const gs_profile *profile = import_one(path);
        cr_assert_eq(profile->ranks[0].step_count, in.step_count);
        for (size_t s = 0; s < in.step_count; s++) {
            cr_assert_eq(profile->ranks[0].steps[s].measured_compute_ns, compute_in_step(&in, s),
                         "%s step %zu: %lld", KNOWN[f], s, (long long)compute_in_step(&in, s));
        }
        gs_arena_fini(&arena);
    }
}
