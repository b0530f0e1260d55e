#include "tools/launcher.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

enum { SET_MAX = 12 };

static const char *const variables[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "TORCHELASTIC_RUN_ID",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "TORCHELASTIC_RESTART_COUNT",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "PMIX_NAMESPACE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_JOBID",
                                        "MPI_LOCALRANKID",
                                        "HYDI_CONTROL_FD",
                                        "SLURM_NTASKS",
                                        "SLURM_PROCID",
                                        "SLURM_LOCALID",
                                        "SLURM_STEP_ID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_JOB_ID"};

static void clear(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        (void)unsetenv(variables[i]);
    }
}

/* "NAME=value", up to the first NULL. */
static void set(const char *const *pairs)
{
    clear();
    for (size_t i = 0; i < SET_MAX && pairs[i] != NULL; i++) {
        char name[64];
        size_t length = strcspn(pairs[i], "=");
        cr_assert_lt(length, sizeof name);
        memcpy(name, pairs[i], length);
        name[length] = '\0';
        (void)setenv(name, pairs[i] + length + 1, 1);
    }
}

typedef struct launched {
    const char *set[SET_MAX];
    const char *launcher;
    uint32_t ranks, rank, local_rank;
    const char *address;
    const char *job;
} launched;

/* clang-format off */
static const launched cases[] = {
    {{NULL}, NULL, 1, 0, 0, "", ""},
    {{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_LOCAL_RANK=1",
      "PMIX_NAMESPACE=2177"},
     "mpirun", 8, 5, 1, "", "2177"},
    {{"PMI_SIZE=3", "PMI_RANK=2", "MPI_LOCALRANKID=2"}, "mpiexec", 3, 2, 2, "", ""},
    /* Where mpirun's user says an address, a TCP carrier has one. */
    {{"PMI_SIZE=3", "PMI_RANK=2", "MASTER_ADDR=node1", "MASTER_PORT=4000"},
     "mpiexec", 3, 2, 0, "node1:4000", ""},
    /* torchrun: its own store has MASTER_PORT. */
    {{"WORLD_SIZE=4", "RANK=3", "LOCAL_RANK=1", "MASTER_ADDR=10.0.0.7", "MASTER_PORT=29500",
      "TORCHELASTIC_RUN_ID=job7", "TORCHELASTIC_USE_AGENT_STORE=True",
      "TORCHELASTIC_RESTART_COUNT=2"},
     "torchrun", 4, 3, 1, "10.0.0.7:29501", "job7#2"},
    {{"WORLD_SIZE=4", "RANK=3", "MASTER_ADDR=fd00::7", "MASTER_PORT=29500",
      "TORCHELASTIC_RUN_ID=job7", "TORCHELASTIC_USE_AGENT_STORE=False"},
     "torchrun", 4, 3, 0, "[fd00::7]:29500", "job7"},
    {{"WORLD_SIZE=2", "RANK=0", "MASTER_ADDR=localhost", "MASTER_PORT=29500"},
     "torchrun", 2, 0, 0, "localhost:29500", ""},
    /* torchrun started by srun, once a node. */
    {{"WORLD_SIZE=16", "RANK=9", "LOCAL_RANK=1", "TORCHELASTIC_RUN_ID=x", "SLURM_NTASKS=2",
      "SLURM_PROCID=1", "SLURM_STEP_ID=0"},
     "torchrun", 16, 9, 1, "", "x"},
    /* srun: step 2 of job 1234567. (1234567 * 8 + 2) mod 5000 = 1538; 20000 + 8 * 1538 = 32304. */
    {{"SLURM_NTASKS=6", "SLURM_STEP_NUM_TASKS=6", "SLURM_PROCID=4", "SLURM_LOCALID=1",
      "SLURM_STEP_ID=2", "SLURM_JOB_ID=1234567", "SLURM_STEP_NODELIST=gpu[07-09,12],login"},
     "srun", 6, 4, 1, "gpu07:32304", "1234567.2"},
    {{"SLURM_NTASKS=6", "SLURM_PROCID=4", "SLURM_STEP_ID=0", "SLURM_JOB_ID=5",
      "SLURM_STEP_NODELIST=alpha,beta"},
     "srun", 6, 4, 0, "alpha:20320", "5.0"},
    /* Names of several dimensions are not taken apart. */
    {{"SLURM_NTASKS=6", "SLURM_PROCID=4", "SLURM_STEP_ID=0", "SLURM_JOB_ID=5",
      "SLURM_STEP_NODELIST=rack[1-2]node[1-4]"},
     "srun", 6, 4, 0, "", "5.0"},
    /* srun --mpi=pmi2: srun, not mpiexec, is who counts processes of a host. */
    {{"PMI_SIZE=6", "PMI_RANK=4", "SLURM_NTASKS=6", "SLURM_PROCID=4", "SLURM_LOCALID=2",
      "SLURM_STEP_ID=0"},
     "srun", 6, 4, 2, "", ".0"},
    /* mpirun in a job of Slurm starts its helpers by srun, one a node. */
    {{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=5", "SLURM_NTASKS=2", "SLURM_PROCID=1",
      "SLURM_STEP_ID=0"},
     "mpirun", 8, 5, 0, "", ""},
    {{"PMI_SIZE=8", "PMI_RANK=5", "HYDI_CONTROL_FD=5", "SLURM_NTASKS=2", "SLURM_PROCID=1",
      "SLURM_STEP_ID=0"},
     "mpiexec", 8, 5, 0, "", ""},
    /* A batch script, and the shell of salloc (step 0xfffffffa): no launch. */
    {{"SLURM_NTASKS=6", "SLURM_PROCID=0", "SLURM_JOB_ID=5"}, NULL, 1, 0, 0, "", ""},
    {{"SLURM_NTASKS=6", "SLURM_PROCID=0", "SLURM_STEP_ID=4294967290"}, NULL, 1, 0, 0, "", ""},
    /* RANK alone is somebody else's word. */
    {{"RANK=3"}, NULL, 1, 0, 0, "", ""},
};
/* clang-format on */

Test(launcher, a_process_knows_its_place_by_the_innermost_launcher, .fini = clear)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const launched *wanted = &cases[i];
        gs_launch launch;
        gs_error err = {.text = ""};
        set(wanted->set);
        cr_assert_eq(gs_launch_find(&launch, &err), GS_OK, "case %zu: %s", i, err.text);
        cr_expect((launch.launcher == NULL) == (wanted->launcher == NULL), "case %zu", i);
        if (launch.launcher != NULL && wanted->launcher != NULL) {
            cr_expect_str_eq(launch.launcher, wanted->launcher, "case %zu", i);
        }
        cr_expect_eq(launch.ranks, wanted->ranks, "case %zu: %u", i, launch.ranks);
        cr_expect_eq(launch.rank, wanted->rank, "case %zu: %u", i, launch.rank);
        cr_expect_eq(launch.local_rank, wanted->local_rank, "case %zu", i);
        cr_expect_str_eq(launch.address, wanted->address, "case %zu", i);
        cr_expect_str_eq(launch.job, wanted->job, "case %zu", i);
    }
}

Test(launcher, a_wrong_variable_is_named, .fini = clear)
{
    static const struct {
        const char *set[SET_MAX];
        const char *text;
    } wrong[] = {
        {{"OMPI_COMM_WORLD_RANK=1"},
         "OMPI_COMM_WORLD_RANK is set, OMPI_COMM_WORLD_SIZE is not: mpirun sets both"},
        {{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=none"},
         "OMPI_COMM_WORLD_SIZE: not a rank count (\"none\"); allowed is a whole number, 1..65534"},
        {{"PMI_RANK=4", "PMI_SIZE=4"},
         "PMI_RANK: not a rank (\"4\"); allowed is a whole number, 0..3"},
        {{"PMI_RANK=-1", "PMI_SIZE=4"},
         "PMI_RANK: not a rank (\"-1\"); allowed is a whole number, 0..3"},
        {{"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=two"}, "LOCAL_RANK: not a rank (\"two\")"},
        {{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=a", "MASTER_PORT=0"},
         "MASTER_PORT: not a port (\"0\"); allowed is a whole number, 1..65535"},
        {{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=a", "MASTER_PORT=65535", "TORCHELASTIC_RUN_ID=x"},
         "MASTER_PORT: not a port (\"65535\"); allowed is a whole number, 1..65534"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gs_launch launch;
        gs_error err = {.text = ""};
        set(wrong[i].set);
        cr_expect_eq(gs_launch_find(&launch, &err), GS_EINVAL, "case %zu", i);
        cr_expect(strstr(err.text, wrong[i].text) == err.text, "case %zu: %s", i, err.text);
    }
}

/* The count of a simulation: any launcher's, but not one that only started the launcher. */
Test(launcher, the_count_of_an_outer_srun_does_not_disagree, .fini = clear)
{
    static const struct {
        const char *set[SET_MAX];
        const char *variable; /* NULL: they disagree */
        int64_t ranks;
    } counts[] = {
        {{"SLURM_NTASKS=4"}, "SLURM_NTASKS", 4},
        {{"WORLD_SIZE=16", "SLURM_NTASKS=2"}, NULL, 0},
        {{"WORLD_SIZE=16", "TORCHELASTIC_RUN_ID=x", "SLURM_NTASKS=2"}, "WORLD_SIZE", 16},
        {{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=0", "SLURM_NTASKS=2"},
         "OMPI_COMM_WORLD_SIZE",
         8},
        {{"PMI_SIZE=8", "PMI_RANK=0", "SLURM_NTASKS=2"}, "PMI_SIZE", 8},
        {{"PMI_SIZE=8", "PMI_RANK=0", "WORLD_SIZE=2"}, NULL, 0},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        gs_launcher found;
        gs_error err = {.text = ""};
        set(counts[i].set);
        gs_status status = gs_launcher_find(&found, &err);
        if (counts[i].variable == NULL) {
            cr_expect_eq(status, GS_EINVAL, "case %zu", i);
            cr_expect(strstr(err.text, "launchers disagree: ") == err.text, "%s", err.text);
            continue;
        }
        cr_assert_eq(status, GS_OK, "%s", err.text);
        cr_expect_str_eq(found.variable, counts[i].variable);
        cr_expect_eq(found.ranks, counts[i].ranks);
    }
}
