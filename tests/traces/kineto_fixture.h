/* What the tests of the Kineto importer share: importing with checks, and traces made up event by
 * event. Included by each of them; a function that one of them does not need costs nothing. */
#ifndef GS_TESTS_TRACES_KINETO_FIXTURE_H
#define GS_TESTS_TRACES_KINETO_FIXTURE_H

#include "tests/support.h"
#include "traces/importers/importer.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static gs_arena arena;
static gs_imported imported;
static gs_error err;

static inline const gs_profile *import_files(const char *const *files, size_t count)
{
    gs_arena_init(&arena);
    gs_status status = gs_import(files, count, NULL, &arena, &imported, &err);
    cr_assert_eq(status, GS_OK, "%s", err.text);
    cr_assert_str_eq(imported.format, "kineto");
    cr_assert_not_null(imported.profile);
    return imported.profile;
}

static inline const gs_profile *import_one(const char *file)
{
    return import_files(&file, 1);
}

static inline bool has_note(const char *text)
{
    for (uint32_t i = 0; i < imported.note_count; i++) {
        if (strstr(imported.notes[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

/* What profile.h promises of every step. */
static inline void check_accounts(const gs_profile *profile)
{
    for (uint32_t r = 0; r < profile->rank_count; r++) {
        for (uint32_t s = 0; s < profile->ranks[r].step_count; s++) {
            const gs_profile_step *step = &profile->ranks[r].steps[s];
            gs_time_ns own_ns = 0;
            uint32_t gradients = 0;
            for (uint32_t i = 0; i < step->segment_count; i++) {
                const gs_segment *segment = &step->segments[i];
                cr_assert_geq(segment->duration_ns, 0);
                own_ns += segment->duration_ns;
                gradients += segment->kind == GS_SEGMENT_GRADIENT;
                cr_assert(segment->kind != GS_SEGMENT_OPTIMIZER ||
                          gradients == profile->unit_count);
                cr_assert(segment->kind != GS_SEGMENT_FORWARD || gradients == 0);
            }
            cr_assert_eq(gradients, profile->unit_count);
            cr_assert_eq(own_ns, step->measured_compute_ns + step->measured_input_ns);
            cr_assert_eq(own_ns + step->measured_wait_ns + step->measured_wire_ns,
                         step->measured_ns);
        }
    }
}

enum { TRACE_BYTES = 64 * 1024 };

static char trace[TRACE_BYTES];

static inline void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void put(const char *format, ...)
{
    size_t used = strlen(trace);
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(trace + used, sizeof trace - used, format, arguments);
    va_end(arguments);
    cr_assert(written > 0 && (size_t)written < sizeof trace - used);
}

static inline void begin_trace(int rank, int world_size)
{
    trace[0] = '\0';
    put("{\"schemaVersion\": 1, ");
    if (rank >= 0) {
        put("\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d}, ",
            rank, world_size);
    }
    put("\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1}");
}

static inline void put_span(const char *category, const char *name, int thread, double ts,
                            double dur, const char *args)
{
    put(",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 1, \"tid\": %d, "
        "\"ts\": %.3f, \"dur\": %.3f, \"args\": {%s}}",
        category, name, thread, ts, dur, args);
}

static inline void put_step(int number, double ts, double dur)
{
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    put_span("user_annotation", name, 1, ts, dur, "");
}

/* A compute kernel, launched at `launch` from thread 1. */
static inline void put_compute(int id, double launch, double ts, double dur)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\": %d", id);
    put_span("cuda_runtime", "cudaLaunchKernel", 1, launch, 1, args);
    put_span("kernel", "gemm", 7, ts, dur, args);
}

static inline void put_reduce_on(int thread, int id, double launch, double ts, double dur,
                                 int elements)
{
    char args[256];
    snprintf(args, sizeof args, "\"correlation\": %d", id);
    put_span("cuda_runtime", "cudaLaunchKernelExC", thread, launch, 1, args);
    snprintf(args, sizeof args,
             "\"correlation\": %d, \"Collective name\": \"allreduce\", \"In msg nelems\": %d, "
             "\"dtype\": \"Float\"",
             id, elements);
    put_span("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
             20, ts, dur, args);
}

/* A gradient all-reduce, launched from autograd's thread. */
static inline void put_reduce(int id, double launch, double ts, double dur, int elements)
{
    put_reduce_on(2, id, launch, ts, dur, elements);
}

static inline const char *end_trace(char path[TEST_PATH_BYTES])
{
    put("]}\n");
    test_temp_file(path, trace, strlen(trace));
    return path;
}

static inline gs_status import_fails(const char *const *files, size_t count)
{
    gs_arena_init(&arena);
    gs_import_options options = {.format = "kineto"};
    gs_status status = gs_import(files, count, &options, &arena, &imported, &err);
    cr_assert_neq(status, GS_OK);
    cr_assert_eq(status, err.code);
    gs_arena_fini(&arena);
    return status;
}

/* Step 0..1000 us. Compute [100, 300) and, launched at 320 but held up by the reduction, [600,
 * 700). The reduction was launched at 280, while the first kernel ran: its data are ready when that
 * ends, at 300; it runs [300, 600), and holds the rank up from 320 (a kernel waits) to 600. Rank 1
 * comes last: its reduction runs [550, 600), and as the compute behind it was launched at 560, from
 * 560 on the rank is held up. Wire time is the least, 50: rank 0 waits 280 - 50 = 230, rank 1 only
 * sees the wire. */
static inline void put_pair(int rank, char path[TEST_PATH_BYTES])
{
    begin_trace(rank, 2);
    put_step(3, 0, 1000);
    put_compute(1, 90, 100, 200);
    if (rank == 0) {
        put_reduce(2, 280, 300, 300, 1000);
        put_compute(3, 320, 600, 100);
    } else {
        put_reduce(2, 540, 550, 50, 1000);
        put_compute(3, 560, 600, 100);
    }
    end_trace(path);
}

static inline void put_simple(int rank, int world_size, int elements, char path[TEST_PATH_BYTES])
{
    begin_trace(rank, world_size);
    put_step(1, 0, 500);
    put_compute(1, 10, 20, 50);
    put_reduce(2, 60, 70, 20, elements);
    end_trace(path);
}

#endif
