/* Steps, waits and gradients of small made-up Kineto traces whose profile follows by hand. */
#include "tests/traces/kineto_fixture.h"

#include <stdlib.h>
#include <unistd.h>

Test(kineto_steps, wait_and_wire_of_two_ranks_follow_by_hand)
{
    char paths[2][TEST_PATH_BYTES];
    put_pair(0, paths[0]);
    put_pair(1, paths[1]);
    const char *files[] = {paths[1], paths[0]}; /* the order of files does not matter */
    const gs_profile *profile = import_files(files, 2);
    check_accounts(profile);
    const gs_profile_step *a = &profile->ranks[0].steps[0];
    const gs_profile_step *b = &profile->ranks[1].steps[0];
    cr_assert_eq(profile->units[0].wire_ns, 50000);
    cr_assert_eq(a->measured_compute_ns, 300000);
    cr_assert_eq(a->measured_wait_ns, 230000);
    cr_assert_eq(a->measured_wire_ns, 50000);
    cr_assert_eq(a->measured_input_ns, 420000);
    cr_assert_eq(a->measured_hidden_ns, 20000);
    cr_assert_eq(b->measured_wait_ns, 0);
    cr_assert_eq(b->measured_wire_ns, 40000);
    cr_assert_eq(b->measured_hidden_ns, 10000);
    /* FORWARD 300, gradient, OPTIMIZER: 1000 - 280 - 300. */
    cr_assert_eq(a->segment_count, 3);
    cr_assert_eq(a->segments[0].kind, GS_SEGMENT_FORWARD);
    cr_assert_eq(a->segments[0].duration_ns, 300000);
    cr_assert_eq(a->segments[1].kind, GS_SEGMENT_GRADIENT);
    cr_assert_eq(a->segments[2].kind, GS_SEGMENT_OPTIMIZER);
    cr_assert_eq(a->segments[2].duration_ns, 420000);
    /* On rank 1 the launch itself came last: ready at 540. */
    cr_assert_eq(b->segments[0].duration_ns, 540000);
    gs_arena_fini(&arena);
}

/* A gap in which the host launches nothing is the rank's own, even while a reduction runs: nothing
 * waits for it. The same gap with the host inside a synchronising call is the reduction's. */
Test(kineto_steps, a_gap_belongs_to_a_collective_only_where_something_waits_for_it)
{
    for (int blocked = 0; blocked <= 1; blocked++) {
        char path[TEST_PATH_BYTES];
        begin_trace(0, 1);
        put_step(0, 0, 1000);
        put_compute(1, 90, 100, 200);
        put_reduce(2, 280, 300, 300, 1000);
        if (blocked) {
            put_span("cuda_runtime", "cudaStreamSynchronize", 1, 400, 210, "\"correlation\": 9");
        }
        put_compute(3, 620, 630, 70);
        const gs_profile_step *step = &import_one(end_trace(path))->ranks[0].steps[0];
        cr_assert_eq(step->measured_wire_ns, blocked ? 200000 : 0);
        cr_assert_eq(step->measured_hidden_ns, blocked ? 100000 : 300000);
        cr_assert_eq(step->measured_input_ns, blocked ? 530000 : 730000);
        gs_arena_fini(&arena);
    }
}

/* The host runs ahead: it launches both steps within 0..20 us, the device works until 230. Each
 * kernel goes with the step that launched it: step 1 ends at 120, where its last kernel does, and
 * step 2 lasts from there to 230. */
Test(kineto_steps, kernels_belong_to_the_step_that_launched_them)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_step(1, 0, 10);
    put_step(2, 10, 10);
    put_compute(1, 1, 20, 100);
    put_compute(2, 11, 130, 100);
    const gs_profile_rank *rank = &import_one(end_trace(path))->ranks[0];
    cr_assert_eq(rank->step_count, 2);
    cr_assert_eq(rank->steps[0].measured_ns, 120000);
    cr_assert_eq(rank->steps[0].measured_compute_ns, 100000);
    cr_assert_eq(rank->steps[1].measured_ns, 110000);
    cr_assert_eq(rank->steps[1].measured_compute_ns, 100000);
    gs_arena_fini(&arena);
}

/* Without the launching call the device's own annotation decides. */
Test(kineto_steps, a_kernel_without_its_launch_goes_with_the_device_annotation)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_step(1, 0, 100);
    put_step(2, 100, 100);
    put_span("gpu_user_annotation", "ProfilerStep#1", 7, 50, 100, "");
    put_span("gpu_user_annotation", "ProfilerStep#2", 7, 150, 50, "");
    put_span("kernel", "gemm", 7, 110, 30, "\"correlation\": 5");
    put_span("kernel", "gemm", 7, 160, 20, "\"correlation\": 6");
    const gs_profile_rank *rank = &import_one(end_trace(path))->ranks[0];
    cr_assert_eq(rank->steps[0].measured_compute_ns, 30000);
    cr_assert_eq(rank->steps[0].measured_ns, 140000);
    cr_assert_eq(rank->steps[1].measured_compute_ns, 20000);
    gs_arena_fini(&arena);
}

Test(kineto_steps, a_trace_without_profiler_steps_is_one_step)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_compute(1, 90, 100, 200);
    put_compute(2, 390, 400, 50);
    const gs_profile_rank *rank = &import_one(end_trace(path))->ranks[0];
    cr_assert_eq(rank->step_count, 1);
    cr_assert_eq(rank->steps[0].measured_ns, 360000); /* from the first call at 90 to 450 */
    cr_assert(has_note("no ProfilerStep"));
    gs_arena_fini(&arena);
}

/* The loader works 10..80, of which a kernel runs 60..70: 60 us of input before anything else. */
Test(kineto_steps, the_loader_becomes_the_input_segment)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_step(1, 0, 500);
    put_span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1,
             10, 70, "");
    put_compute(1, 55, 60, 10);
    put_compute(2, 90, 100, 50);
    put_reduce(3, 140, 150, 20, 64);
    const gs_profile_step *step = &import_one(end_trace(path))->ranks[0].steps[0];
    cr_assert_eq(step->segments[0].kind, GS_SEGMENT_INPUT);
    cr_assert_eq(step->segments[0].duration_ns, 60000);
    cr_assert_eq(step->segments[1].kind, GS_SEGMENT_FORWARD);
    cr_assert_eq(step->segments[1].duration_ns, 90000); /* 150 - 60 */
    gs_arena_fini(&arena);
}

Test(kineto_steps, a_reduction_on_the_main_thread_beside_autograds_is_no_gradient)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_step(1, 0, 500);
    put_compute(1, 10, 20, 50);
    put_reduce_on(1, 2, 60, 70, 5, 1); /* a loss */
    put_reduce(3, 140, 150, 20, 64);
    const gs_profile *profile = import_one(end_trace(path));
    cr_assert_eq(profile->unit_count, 1);
    cr_assert_eq(profile->units[0].elements, 64);
    cr_assert_eq(profile->blocking_count, 1);
    cr_assert_str_eq(profile->blocking[0].name, "all_reduce");
    cr_assert_eq(profile->blocking[0].bytes, 4);
    gs_arena_fini(&arena);
}

/* ts may be whole, have a fraction or an exponent; 0.0005 us is half a nanosecond and rounds up. */
Test(kineto_steps, times_are_exact_to_the_nanosecond)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put(",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"tid\":1,"
        "\"ts\":1694128201426674,\"dur\":1.4455e4}");
    put(",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"tid\":7,"
        "\"ts\":1694128201426700.0015,\"dur\":12.3456}");
    const gs_profile_step *step = &import_one(end_trace(path))->ranks[0].steps[0];
    cr_assert_eq(step->measured_ns, 14455000);
    cr_assert_eq(step->measured_compute_ns, 12346);
    gs_arena_fini(&arena);
}

Test(kineto_steps, the_rank_comes_from_the_name_where_the_file_does_not_say_it)
{
    char folder[] = "/tmp/gradsync-ranks-XXXXXX";
    static const char *const NAMES[] = {"worker1.json", "rank-0.json"};
    char paths[2][64];
    cr_assert_not_null(mkdtemp(folder));
    begin_trace(-1, 0);
    put_step(1, 0, 500);
    put_compute(1, 10, 20, 50);
    put("]}");
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, NAMES[i]);
        FILE *file = fopen(paths[i], "wb");
        cr_assert_not_null(file);
        cr_assert_geq(fputs(trace, file), 0);
        cr_assert_eq(fclose(file), 0);
    }
    const char *files[] = {paths[0], paths[1]};
    const gs_profile *profile = import_files(files, 2);
    cr_assert_eq(profile->rank_count, 2);
    cr_assert_eq(profile->ranks[1].rank, 1);
    cr_assert(has_note("worker1.json: rank 1 is taken from the file name"));
    gs_arena_fini(&arena);
    remove(paths[0]);
    remove(paths[1]);
    remove(folder);
}

/* --- sets that do not fit together ------------------------------------------------------------ */

static void check_pair_fails(int rank_a, int world_a, int rank_b, int world_b, int elements_b,
                             gs_status code, const char *reason)
{
    char paths[2][TEST_PATH_BYTES];
    put_simple(rank_a, world_a, 64, paths[0]);
    put_simple(rank_b, world_b, elements_b, paths[1]);
    const char *files[] = {paths[0], paths[1]};
    cr_assert_eq(import_fails(files, 2), code);
    cr_assert(strstr(err.text, reason) != NULL, "%s", err.text);
    cr_assert(strstr(err.text, paths[1]) != NULL, "%s", err.text);
}

Test(kineto_steps, ranks_of_different_jobs_are_refused_by_name)
{
    check_pair_fails(0, 4, 0, 4, 64, GS_EMISMATCH, "both rank 0");
    check_pair_fails(0, 4, 1, 8, 64, GS_EMISMATCH, "world_size 8");
    check_pair_fails(0, 4, 1, 4, 65, GS_EMISMATCH, "other gradients (65)");
    check_pair_fails(0, 4, 4, 4, 64, GS_EPARSE, "rank 4 of a world_size of 4");
}

Test(kineto_steps, ranks_that_are_missing_are_named)
{
    char paths[2][TEST_PATH_BYTES];
    put_simple(0, 4, 64, paths[0]);
    put_simple(2, 4, 64, paths[1]);
    const char *files[] = {paths[0], paths[1]};
    import_files(files, 2);
    cr_assert(has_note("4 ranks recorded, 2 given"));
    cr_assert(has_note("ranks that are missing: 1, 3"));
    gs_arena_fini(&arena);
}

Test(kineto_steps, other_buckets_in_a_later_step_are_refused_with_step_and_sizes)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 2);
    put_step(1, 0, 500);
    put_reduce(1, 60, 70, 20, 64);
    put_step(2, 500, 500);
    put_reduce(2, 560, 570, 20, 48);
    put_reduce(3, 600, 610, 20, 16);
    const char *file = end_trace(path);
    cr_assert_eq(import_fails(&file, 1), GS_EMISMATCH);
    cr_assert(strstr(err.text, "ProfilerStep#2 reduces other gradients (48, 16)") != NULL, "%s",
              err.text);
    cr_assert(strstr(err.text, "(64)") != NULL, "%s", err.text);
}

Test(kineto_steps, a_rank_with_one_collective_more_is_refused)
{
    char paths[2][TEST_PATH_BYTES];
    put_simple(0, 2, 64, paths[0]);
    begin_trace(1, 2);
    put_step(1, 0, 500);
    put_reduce(2, 60, 70, 20, 64);
    put_span("kernel", "ncclDevKernel_Broadcast_RING_LL(x)", 20, 200, 5, "\"correlation\": 7");
    const char *files[] = {paths[0], end_trace(paths[1])};
    cr_assert_eq(import_fails(files, 2), GS_EMISMATCH);
    cr_assert(strstr(err.text, "has 1 times broadcast") != NULL, "%s", err.text);
}

Test(kineto_steps, an_empty_last_step_beside_full_ones_is_left_out)
{
    char path[TEST_PATH_BYTES];
    begin_trace(0, 1);
    put_step(1, 0, 500);
    put_compute(1, 10, 20, 50);
    put_reduce(2, 60, 70, 20, 64);
    put_step(2, 510, 3);
    const gs_profile *profile = import_one(end_trace(path));
    cr_assert_eq(profile->ranks[0].step_count, 1);
    cr_assert(has_note("ProfilerStep#2 is empty and left out"));
    gs_arena_fini(&arena);
}
