/* Reads a Kineto trace of 200 MB and shows that memory does not grow with the file: almost all of
 * it are operators and python frames, as in real traces. One JSON line a form, plain and gzipped.
 *
 * Fails where the peak of memory exceeds a tenth of the file. */
#include "traces/importers/importer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { FILE_BYTES = 200 * 1000 * 1000, EVENTS_A_STEP = 20000, TEXT_BYTES = 512 };

static void must(int is_done, const char *what)
{
    if (!is_done) {
        fprintf(stderr, "bench_kineto: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage use;
    must(getrusage(RUSAGE_SELF, &use) == 0, "getrusage failed");
    return use.ru_maxrss;
}

/* A step's annotation, its one kernel and its one reduction. */
static size_t write_step(gzFile out, long step, long ts)
{
    char text[8 * TEXT_BYTES];
    int length = snprintf(
        text, sizeof text,
        ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%ld\",\"tid\":1,"
        "\"ts\":%ld,"
        "\"dur\":%d},\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
        "\"tid\":1,"
        "\"ts\":%ld,\"dur\":2,\"args\":{\"correlation\":%ld}},\n{\"ph\":\"X\",\"cat\":\"kernel\","
        "\"name\":\"gemm\",\"tid\":7,\"ts\":%ld,\"dur\":900,\"args\":{\"correlation\":%ld}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)\","
        "\"tid\":20,\"ts\":%ld,\"dur\":50,\"args\":{\"Collective name\":\"allreduce\","
        "\"In msg nelems\":1000,\"dtype\":\"Float\"}}",
        step, ts, EVENTS_A_STEP, ts + 1, step, ts + 5, step, ts + 1000);
    must(length > 0 && gzwrite(out, text, (unsigned)length) == length, "cannot write");
    return (size_t)length;
}

static void write_trace(const char *path, const char *mode)
{
    static const char HEAD[] =
        "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":1},"
        "\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\"}";
    gzFile out = gzopen(path, mode);
    must(out != NULL, "cannot create the file");
    must(gzputs(out, HEAD) > 0, "cannot write");
    size_t bytes = 0;
    for (long i = 0; bytes < FILE_BYTES; i++) {
        char text[TEXT_BYTES];
        if (i % EVENTS_A_STEP == 0) {
            bytes += write_step(out, i / EVENTS_A_STEP, i);
        }
        int length = snprintf(
            text, sizeof text,
            ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"aten::convolution_backward\",\"pid\":59811,"
            "\"tid\":1,\"ts\":%ld,\"dur\":1,\"args\":{\"External id\":%ld,\"Input "
            "Dims\":[[64,3,7,7],"
            "[64]],\"Input type\":[\"float\",\"float\"]}}",
            i % 2 == 0 ? "cpu_op" : "python_function", i, i);
        must(length > 0 && gzwrite(out, text, (unsigned)length) == length, "cannot write");
        bytes += (size_t)length;
    }
    must(gzputs(out, "]}") == 2, "cannot write");
    must(gzclose(out) == Z_OK, "cannot write");
}

static void measure(const char *form, const char *path)
{
    long before_kib = peak_kib();
    double start = seconds();
    gs_arena arena;
    gs_imported imported;
    gs_error err;
    gs_arena_init(&arena);
    gs_status status = gs_import(&path, 1, NULL, &arena, &imported, &err);
    must(status == GS_OK, err.text);
    double took = seconds() - start;
    long grown_kib = peak_kib() - before_kib;
    printf("{\"bench\": \"kineto\", \"form\": \"%s\", \"mb_per_s\": %.1f, \"steps\": %u, "
           "\"peak_growth_kib\": %ld}\n",
           form, FILE_BYTES / took / 1e6, imported.profile->ranks[0].step_count, grown_kib);
    must(grown_kib < FILE_BYTES / 10 / 1024, "memory grows with the file");
    gs_arena_fini(&arena);
}

int main(void)
{
    char path[] = "/tmp/gradsync-bench-XXXXXX";
    int handle = mkstemp(path);
    must(handle >= 0, "cannot create a file in /tmp");
    close(handle);
    write_trace(path, "wbT");
    measure("plain", path);
    write_trace(path, "wb1");
    measure("gzip", path);
    remove(path);
    return EXIT_SUCCESS;
}
