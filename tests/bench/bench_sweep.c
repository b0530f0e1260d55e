/* A sweep by one process, by two, and by two processes of mpirun: how many times as fast, the
 * median of five rounds in which each goes once. Runs the gradsync of this build. */
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, TEXT_BYTES = 4096 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The program of this build, two folders up. */
static void find_program(char out[TEXT_BYTES])
{
    char own[TEXT_BYTES] = "";
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length < 0 ? 0 : length] = '\0';
    (void)snprintf(out, TEXT_BYTES, "%s/../gradsync", dirname(own));
}

/* How long the command takes; below 0: it failed. */
static double time_of(const char *launcher, const char *program, const char *flags)
{
    char text[3 * TEXT_BYTES];
    (void)snprintf(text, sizeof text,
                   "rm -f sweep.db; %s %s sweep " GS_TEST_SOURCE_DIR
                   "/tests/cli/data/small.json -q --db sweep.db %s workload.budget.steps=2000 "
                   "cluster.links.nic.bandwidth=1..100Gbit/s:8:log --seeds 6 >out 2>err",
                   launcher, program, flags);
    double before = seconds();
    int status = system(text);
    return status == 0 ? seconds() - before : -1.0;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(void)
{
    char program[TEXT_BYTES];
    char folder[] = "/tmp/gs_bench_XXXXXX";
    double two[ROUNDS];
    double mpi[ROUNDS];
    bool failed = false;
    find_program(program);
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror("bench_sweep");
        return 1;
    }
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    for (int i = 0; i < ROUNDS; i++) {
        double alone_s = time_of("", program, "-j 1");
        double two_s = time_of("", program, "-j 2");
        double mpi_s = time_of("mpirun --oversubscribe -n 2", program, "-j 1");
        failed = failed || alone_s < 0.0 || two_s < 0.0 || mpi_s < 0.0;
        two[i] = alone_s / two_s;
        mpi[i] = alone_s / mpi_s;
        printf("{\"bench\": \"sweep\", \"round\": %d, \"one_s\": %.2f, \"two_s\": %.2f, "
               "\"mpi_s\": %.2f}\n",
               i, alone_s, two_s, mpi_s);
        fflush(stdout);
    }
    qsort(two, ROUNDS, sizeof *two, by_size);
    qsort(mpi, ROUNDS, sizeof *mpi, by_size);
    printf("{\"bench\": \"sweep\", \"two_processes_ratio\": %.2f, \"wanted\": 1.8, "
           "\"two_mpi_ranks_ratio\": %.2f, \"wanted_mpi\": 1.7}\n",
           two[ROUNDS / 2], mpi[ROUNDS / 2]);
    static const char *const files[] = {"sweep.db", "out", "err"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)unlink(files[i]);
    }
    (void)rmdir(folder);
    return failed ? 1 : 0;
}
