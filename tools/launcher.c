#include "tools/launcher.h"

#include "strategies/strategy.h"

#include <errno.h>
#include <stdlib.h>

/* torchrun; Open MPI; MPICH, its kin and PMI of Slurm; srun. */
static const char *const variables[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS"};

static gs_status read_count(const char *variable, const char *text, int64_t *out, gs_error *err)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > GS_ENTITIES_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "%s: not a rank count (\"%.40s\"); allowed is a whole number, 1..%d; unset "
                       "it if no launcher is meant",
                       variable, text, GS_ENTITIES_MAX);
    }
    *out = value;
    return GS_OK;
}

gs_status gs_launcher_find(gs_launcher *out, gs_error *err)
{
    gs_launcher found = {0};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text == NULL || text[0] == '\0') {
            continue;
        }
        int64_t ranks = 0;
        GS_TRY(read_count(variables[i], text, &ranks, err));
        if (found.variable != NULL && found.ranks != ranks) {
            return gs_fail(err, GS_EINVAL,
                           "launchers disagree: %s says %lld ranks, %s says %lld; unset the one "
                           "that is not meant",
                           found.variable, (long long)found.ranks, variables[i], (long long)ranks);
        }
        if (found.variable == NULL) {
            found = (gs_launcher){.variable = variables[i], .ranks = ranks};
        }
    }
    *out = found;
    return GS_OK;
}
