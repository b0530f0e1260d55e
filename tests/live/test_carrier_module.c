#include "live/carrier_module.h"

#include "live/carrier.h"
#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
    "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",   "PMI_RANK", "PMI_SIZE", "PMI_ID",
    "SLURM_STEP_ID",        "SLURM_PROCID"};

static void clear(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        (void)unsetenv(variables[i]);
    }
}

Test(carrier_module, the_mpi_is_the_one_whose_launcher_started_the_process, .init = clear)
{
    static const struct {
        const char *set[4];
        const char *stem; /* NULL: refused */
        const char *text; /* the variable that said so, or of the error */
    } cases[] = {
        {{"OMPI_COMM_WORLD_SIZE"}, "openmpi", "OMPI_COMM_WORLD_SIZE"},
        {{"PMIX_RANK", "SLURM_STEP_ID", "SLURM_PROCID"}, "openmpi", "PMIX_RANK"},
        {{"PMI_RANK", "PMI_SIZE"}, "mpich", "PMI_RANK"},
        {{"PMI_ID"}, "mpich", "PMI_ID"},
        {{"PMI_RANK", "SLURM_STEP_ID", "SLURM_PROCID"}, "mpich", "PMI_RANK"},
        /* mpirun of Open MPI within a step of srun that offers PMI. */
        {{"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "SLURM_STEP_ID"}, "openmpi", "OMPI_COMM_WORLD_SIZE"},
        {{"SLURM_STEP_ID", "SLURM_PROCID"}, NULL, "srun --mpi=pmix (Open MPI)"},
        {{"SLURM_PROCID"}, NULL, "start it with mpirun"},
        {{NULL}, NULL, "start it with mpirun"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear();
        for (size_t k = 0; k < 4 && cases[i].set[k] != NULL; k++) {
            (void)setenv(cases[i].set[k], "1", 1);
        }
        gs_mpi_kind kind = {0};
        gs_error err = {0};
        gs_status status = gs_mpi_kind_find(&kind, &err);
        if (cases[i].stem == NULL) {
            cr_expect_eq(status, GS_EUNSUPPORTED, "case %zu", i);
            cr_expect(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
            continue;
        }
        cr_assert_eq(status, GS_OK, "%s", err.text);
        cr_expect_str_eq(kind.stem, cases[i].stem, "case %zu", i);
        cr_expect_str_eq(kind.variable, cases[i].text, "case %zu", i);
    }
}

Test(carrier_module, a_carrier_without_a_module_is_found_by_its_name)
{
    const gs_carrier *carrier = NULL;
    gs_error err = {0};
    cr_assert_eq(gs_carrier_find("tcp", &carrier, &err), GS_OK);
    cr_expect_str_eq(carrier->name, "tcp");
    cr_expect_eq(carrier->version, GS_CARRIER_VERSION);
    cr_expect_eq(gs_carrier_find("smoke", &carrier, &err), GS_ENOTFOUND);
    cr_expect_str_eq(err.text, "no carrier \"smoke\"; allowed are mpi, nccl, tcp");
}

/* With a module: no launcher. Without: what to install. Never silence, and never a crash. */
Test(carrier_module, mpi_without_a_launcher_says_what_to_do, .init = clear)
{
    const gs_carrier *carrier = NULL;
    gs_error err = {0};
    char path[GS_MODULE_PATH_BYTES];
    bool is_built = gs_module_path("mpi_openmpi", path) || gs_module_path("mpi_mpich", path);
    cr_assert_eq(gs_carrier_find("mpi", &carrier, &err), GS_EUNSUPPORTED);
    const char *wanted = is_built ? "mpi: no MPI has started this process; start it with mpirun -n"
                                  : "mpi: this gradsync was built without it: install openmpi-bin";
    cr_expect(strstr(err.text, wanted) == err.text, "%s", err.text);
}

Test(carrier_module, the_list_is_sorted_and_names_what_find_finds)
{
    for (uint32_t i = 0; i < gs_carrier_count(); i++) {
        cr_expect(i == 0 || strcmp(gs_carrier_name(i - 1), gs_carrier_name(i)) < 0);
    }
    cr_expect_eq(gs_carrier_count(), 3);
}

Test(carrier_module, a_module_that_is_nowhere_has_no_path)
{
    char path[GS_MODULE_PATH_BYTES];
    cr_expect_not(gs_module_path("of_nobody", path));
}
