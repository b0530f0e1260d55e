/* A sweep by one process, by two, and by two processes of mpirun: how many times as fast, the
 * median of five rounds in which each goes once. Runs the gradsync of this build. */
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

typedef struct cost {
    double clock_s, cpu_s; /* below 0: the command failed */
} cost;

static double children_s(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static cost cost_of(const char *launcher, const char *program, const char *flags, bool anew)
{
    char text[3 * TEXT_BYTES];
    (void)snprintf(text, sizeof text,
                   "%s%s %s sweep " GS_TEST_SOURCE_DIR
                   "/tests/cli/data/small.json -q --db sweep.db %s workload.budget.steps=1000 "
                   "cluster.links.nic.bandwidth=1..100Gbit/s:8:log --seeds 6 >out 2>err",
                   anew ? "rm -f sweep.db; " : "", launcher, program, flags);
    double clock_s = seconds();
    double cpu_s = children_s();
    int status = system(text);
    return status == 0 ? (cost){seconds() - clock_s, children_s() - cpu_s} : (cost){-1.0, -1.0};
}

static double free_ratio(const cost *alone, const cost *shared, double once_s)
{
    return alone->cpu_s / (once_s + (shared->cpu_s - once_s) / 2.0);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

typedef struct ratios {
    double two[ROUNDS], mpi[ROUNDS], two_free[ROUNDS], mpi_free[ROUNDS];
} ratios;

static bool measure(const char *program, int round, ratios *out)
{
    cost alone = cost_of("", program, "-j 1", true);
    cost once = cost_of("", program, "-j 1", false);
    cost two = cost_of("", program, "-j 2", true);
    cost mpi = cost_of("mpirun --oversubscribe -n 2", program, "-j 1", true);
    out->two[round] = alone.clock_s / two.clock_s;
    out->mpi[round] = alone.clock_s / mpi.clock_s;
    out->two_free[round] = free_ratio(&alone, &two, once.cpu_s);
    out->mpi_free[round] = free_ratio(&alone, &mpi, once.cpu_s);
    printf("{\"bench\": \"sweep\", \"round\": %d, \"one_s\": %.2f, \"two_s\": %.2f, "
           "\"mpi_s\": %.2f, \"one_cpu_s\": %.2f, \"two_cpu_s\": %.2f, \"mpi_cpu_s\": %.2f, "
           "\"once_cpu_s\": %.3f}\n",
           round, alone.clock_s, two.clock_s, mpi.clock_s, alone.cpu_s, two.cpu_s, mpi.cpu_s,
           once.cpu_s);
    fflush(stdout);
    return alone.clock_s > 0.0 && once.clock_s > 0.0 && two.clock_s > 0.0 && mpi.clock_s > 0.0;
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

int main(void)
{
    static const char *const files[] = {"sweep.db", "out", "err"};
    char program[TEXT_BYTES];
    char folder[] = "/tmp/gs_bench_XXXXXX";
    ratios all;
    bool ok = true;
    find_program(program);
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror("bench_sweep");
        return 1;
    }
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    for (int i = 0; i < ROUNDS; i++) {
        ok = measure(program, i, &all) && ok;
    }
    printf("{\"bench\": \"sweep\", \"two_processes_ratio\": %.2f, \"on_free_processors\": %.2f, "
           "\"wanted\": 1.8, \"two_mpi_ranks_ratio\": %.2f, \"mpi_on_free_processors\": %.2f, "
           "\"wanted_mpi\": 1.7}\n",
           median(all.two), median(all.two_free), median(all.mpi), median(all.mpi_free));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)unlink(files[i]);
    }
    (void)rmdir(folder);
    return ok ? 0 : 1;
}
