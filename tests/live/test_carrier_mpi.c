/* The MPI carrier under the launchers of both MPIs, where they are there. */
#include "live/carrier_module.h"
#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As carried_frames ends. */
enum { EXIT_OPEN = 3, COMMAND_BYTES = 3 * TEST_PATH_BYTES };

typedef struct mpi {
    const char *stem;
    const char *launcher; /* with what it needs to start more ranks than cores, also as root */
    const char *launcher_else;
    const char *flags;
} mpi;

static const mpi kinds[] = {
    {"mpi_openmpi", "mpirun.openmpi", "mpirun", "--oversubscribe -x ASAN_OPTIONS"},
    {"mpi_mpich", "mpiexec.mpich", "mpiexec.hydra", ""},
};

enum { OPEN_MPI, MPICH };

static double seconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int run(const char *command, char *said, size_t size)
{
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t used = fread(said, 1, size - 1, pipe);
    said[used] = '\0';
    char rest[256];
    while (fread(rest, 1, sizeof rest, pipe) > 0) {
    }
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *launcher_of(const mpi *kind)
{
    const char *const names[] = {kind->launcher, kind->launcher_else};
    char module[GS_MODULE_PATH_BYTES];
    if (!gs_module_path(kind->stem, module)) {
        cr_skip_test("no module %s was built", kind->stem);
    }
    for (size_t i = 0; i < 2; i++) {
        char command[256];
        char said[16];
        snprintf(command, sizeof command, "command -v %s 2>&1", names[i]);
        if (run(command, said, sizeof said) == 0) {
            return names[i];
        }
    }
    cr_skip_test("no %s here", kind->launcher);
    return NULL;
}

/* Exit code of the launcher. environment: for the ranks. */
static int start(const mpi *kind, int ranks, const char *environment, const char *arguments,
                 char *said, size_t size)
{
    const char *launcher = launcher_of(kind);
    char folder[TEST_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(folder, '/');
    cr_assert_not_null(slash);
    *slash = '\0';
    char command[COMMAND_BYTES];
    /* Leaks of an MPI are not ours. */
    snprintf(
        command, sizeof command,
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
        "%s timeout 100 %s %s -n %d %s/carried_frames mpi %s 2>&1",
        environment, launcher, kind->flags, ranks, folder, arguments);
    return run(command, said, size);
}

static void expect_whole(const mpi *kind, const char *environment)
{
    for (int ranks = 1; ranks <= 4; ranks += ranks == 1 ? 2 : 1) {
        char said[4096];
        int code = start(kind, ranks, environment, "frames 60", said, sizeof said);
        cr_expect_eq(code, 0, "%s, %d ranks: exit %d: %s", kind->stem, ranks, code, said);
    }
}

/* Frames, order, sums of groups and close; then the same where messages go over sockets. */
Test(carrier_mpi, frames_and_sums_come_whole_under_open_mpi)
{
    expect_whole(&kinds[OPEN_MPI], "");
    expect_whole(&kinds[OPEN_MPI], "OMPI_MCA_btl=tcp,self");
}

Test(carrier_mpi, frames_and_sums_come_whole_under_mpich)
{
    expect_whole(&kinds[MPICH], "");
    expect_whole(&kinds[MPICH], "UCX_TLS=tcp,self UCX_RNDV_THRESH=inf");
}

/* The launcher, not the carrier, notices first as a rule; all must end, whoever it is. */
static void expect_end(const mpi *kind)
{
    char said[8192];
    double begin = seconds();
    int code = start(kind, 4, "", "killed 200 5000", said, sizeof said);
    cr_expect_neq(code, 0, "%s", said);
    cr_expect_neq(code, 124, "the ranks hung: %s", said);
    cr_expect_lt(seconds() - begin, 30);
    cr_expect(strstr(said, "a frame") == NULL, "%s", said);
}

Test(carrier_mpi, a_killed_process_ends_all_under_open_mpi)
{
    expect_end(&kinds[OPEN_MPI]);
}

Test(carrier_mpi, a_killed_process_ends_all_under_mpich)
{
    expect_end(&kinds[MPICH]);
}

static void expect_deadline(const mpi *kind)
{
    char said[8192];
    double begin = seconds();
    int code = start(kind, 3, "", "absent 10 1000", said, sizeof said);
    cr_expect_neq(code, 0, "%s", said);
    cr_expect_lt(seconds() - begin, 30);
    cr_expect(strstr(said, "of 3 has waited 1 s for MPI to start: a process has not come") != NULL,
              "%s", said);
}

Test(carrier_mpi, a_process_that_does_not_come_is_told_at_the_deadline_under_open_mpi)
{
    expect_deadline(&kinds[OPEN_MPI]);
}

Test(carrier_mpi, a_process_that_does_not_come_is_told_at_the_deadline_under_mpich)
{
    expect_deadline(&kinds[MPICH]);
}

/* What srun or a shell leaves of another MPI's launcher: PMI variables that lie about the count. */
Test(carrier_mpi, a_process_of_another_launcher_is_told)
{
    char said[4096];
    launcher_of(&kinds[OPEN_MPI]);
    char folder[TEST_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length < 0 ? 0 : length] = '\0';
    *strrchr(folder, '/') = '\0';
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_COMM_WORLD_SIZE=4 "
             "OMPI_COMM_WORLD_RANK=2 timeout 60 %s/carried_frames mpi frames 1 2>&1",
             folder);
    cr_expect_eq(run(command, said, sizeof said), EXIT_OPEN, "%s", said);
    cr_expect(strstr(said, "the launcher says process 2 of 4, MPI says 0 of 1") != NULL, "%s",
              said);
}
