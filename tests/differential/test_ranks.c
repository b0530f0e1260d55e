/* Simulator and real ranks: every strategy with every codec that it carries, over processes. What
 * does not depend on timing ends with the simulator's bytes; the rest ends well; and the recordings
 * of all end with the same bytes when they are played again. The processes are
 * tests/live/live_ranks.c. */
#include "live/carrier_module.h"
#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_BYTES = 3 * TEST_PATH_BYTES, SAID_BYTES = 1 << 16 };

/* Combinations that do not depend on timing, of 3 workers: a few may go as strategies learn to
 * carry more, and none may be lost unseen. */
enum { EQUAL_LEAST = 80 };

static char said[SAID_BYTES];

static void program(char out[TEST_PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", out, TEST_PATH_BYTES - 32);
    cr_assert_gt(length, 0);
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    cr_assert_not_null(slash);
    strcpy(slash, "/live_ranks");
}

static int run(const char *command)
{
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t used = fread(said, 1, sizeof said - 1, pipe);
    said[used] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect_same_bytes(const char *command, unsigned least)
{
    int code = run(command);
    const char *last = said;
    for (const char *line = said; *line != '\0'; line = strchr(line, '\n') + 1) {
        last = line;
        if (strchr(line, '\n') == NULL) {
            break;
        }
    }
    unsigned equal = 0, differ = 1, by_timing = 0, failed = 1, replayed = 0;
    int read = sscanf(last, "%u equal, %u differ, %u by timing, %u failed; %u replayed", &equal,
                      &differ, &by_timing, &failed, &replayed);
    cr_assert_eq(read, 5, "exit %d: %s", code, said);
    cr_expect(code == 0 && differ == 0 && failed == 0, "exit %d: %s", code, said);
    cr_expect_eq(replayed, equal + by_timing, "exit %d: %s", code, said);
    cr_expect_geq(equal, least, "%s", last);
}

Test(ranks, end_with_the_bytes_of_the_simulator_over_tcp, .timeout = 880)
{
    char ranks[TEST_PATH_BYTES], command[COMMAND_BYTES];
    program(ranks);
    int port = 20000 + (int)(getpid() % 20000);
    snprintf(command, sizeof command,
             "exec 2>&1; export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d; "
             "for r in 1 2 3; do RANK=$r LOCAL_RANK=$r timeout 800 %s tcp & done; "
             "RANK=0 LOCAL_RANK=0 timeout 800 %s tcp; code=$?; wait; exit $code",
             port, ranks, ranks);
    expect_same_bytes(command, EQUAL_LEAST);
}

static void under_mpi(const char *stem, const char *launcher, const char *flags, int processes,
                      const char *only, unsigned least)
{
    char ranks[TEST_PATH_BYTES], command[COMMAND_BYTES], module[GS_MODULE_PATH_BYTES];
    snprintf(command, sizeof command, "command -v %s", launcher);
    if (!gs_module_path(stem, module) || run(command) != 0) {
        cr_skip_test("no %s here, or no module %s was built", launcher, stem);
    }
    program(ranks);
    snprintf(command, sizeof command,
             "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
             "ASAN_OPTIONS=detect_leaks=0 timeout 800 %s %s -n %d %s mpi %s 2>&1",
             launcher, flags, processes, ranks, only);
    expect_same_bytes(command, least);
}

Test(ranks, end_with_the_bytes_of_the_simulator_over_open_mpi, .timeout = 880)
{
    under_mpi("mpi_openmpi", "mpirun.openmpi", "--oversubscribe", 4, "", EQUAL_LEAST);
}

/* Two and three processes are one and two workers and a server. */
Test(ranks, of_other_counts_do_so_too, .timeout = 880)
{
    under_mpi("mpi_openmpi", "mpirun.openmpi", "--oversubscribe", 2, "allreduce", 10);
    under_mpi("mpi_openmpi", "mpirun.openmpi", "--oversubscribe", 3, "allreduce", 10);
}

Test(ranks, end_with_the_bytes_of_the_simulator_over_mpich, .timeout = 880)
{
    under_mpi("mpi_mpich", "mpiexec.mpich", "", 4, "", EQUAL_LEAST);
}
