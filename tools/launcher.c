#include "tools/launcher.h"

#include "strategies/strategy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* torchrun; Open MPI; MPICH, its kin and PMI of Slurm; srun. */
static const char slurm_count[] = "SLURM_NTASKS";
static const char *const variables[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        slurm_count};

enum { PORT_MAX = 65535 };

/* Steps of Slurm that srun did not start: the batch script, the shell of salloc, ... */
static const int64_t slurm_special_step = INT64_C(0xfffffff0);

/* Of the variable, or NULL: not set, or empty. */
static const char *value_of(const char *variable)
{
    const char *text = variable == NULL ? NULL : getenv(variable);
    return text == NULL || text[0] == '\0' ? NULL : text;
}

static bool is_number(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

static gs_status read_count(const char *variable, const char *text, int64_t *out, gs_error *err)
{
    int64_t value = 0;
    if (!is_number(text, &value) || value < 1 || value > GS_ENTITIES_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "%s: not a rank count (\"%.40s\"); allowed is a whole number, 1..%d; unset "
                       "it if no launcher is meant",
                       variable, text, GS_ENTITIES_MAX);
    }
    *out = value;
    return GS_OK;
}

/* One of these has started this process, maybe by means of srun or within a job of Slurm. */
static bool is_inside_slurm(void)
{
    return value_of("OMPI_COMM_WORLD_RANK") != NULL || value_of("PMI_RANK") != NULL ||
           value_of("TORCHELASTIC_RUN_ID") != NULL;
}

gs_status gs_launcher_find(gs_launcher *out, gs_error *err)
{
    gs_launcher found = {0};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = value_of(variables[i]);
        if (text == NULL || (variables[i] == slurm_count && is_inside_slurm())) {
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

/* A launcher by the variables it sets for each process; sorted from the innermost to the outermost
 * where several may be at work: what mpirun and torchrun start by srun has the variables of both.
 */
typedef struct launcher {
    const char *name;
    const char *rank; /* its being set tells the launcher */
    const char *count;
    const char *count_else; /* where that one is not set; NULL: none */
    const char *local_rank; /* not set: 0 */
    const char *job;        /* may be NULL */
} launcher;

static const launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", NULL, "LOCAL_RANK", "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, "OMPI_COMM_WORLD_LOCAL_RANK",
     "PMIX_NAMESPACE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", slurm_count, "SLURM_LOCALID", "SLURM_JOB_ID"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", NULL, "MPI_LOCALRANKID", "PMI_JOBID"},
};

/* srun sets its variables for other things too: the batch script itself, the helpers by which
 * mpiexec starts its processes on other hosts. */
static bool has_started(const launcher *one)
{
    if (value_of(one->rank) == NULL) {
        return false;
    }
    if (strcmp(one->name, "torchrun") == 0) {
        /* Without a count these words are somebody else's. */
        return value_of(one->count) != NULL;
    }
    if (strcmp(one->name, "srun") == 0) {
        const char *step = value_of("SLURM_STEP_ID");
        int64_t number = 0;
        return step != NULL && is_number(step, &number) && number < slurm_special_step &&
               value_of("HYDI_CONTROL_FD") == NULL;
    }
    return true;
}

static gs_status read_rank(const char *variable, int64_t ranks, uint32_t *out, gs_error *err)
{
    const char *text = value_of(variable);
    int64_t value = 0;
    if (text == NULL) {
        *out = 0;
        return GS_OK;
    }
    if (!is_number(text, &value) || value < 0 || value >= ranks) {
        return gs_fail(err, GS_EINVAL,
                       "%s: not a rank (\"%.40s\"); allowed is a whole number, 0..%" PRId64
                       "; the launcher sets it",
                       variable, text, ranks - 1);
    }
    *out = (uint32_t)value;
    return GS_OK;
}

/* The first name of a list of hosts as Slurm writes it: "gpu[07-09,12],login" begins with gpu07. */
static bool first_host(const char *list, char *out, size_t size)
{
    size_t length = strcspn(list, ",[");
    size_t digits = 0;
    const char *number = "";
    if (list[length] == '[') {
        number = list + length + 1;
        digits = strcspn(number, "-,]");
        const char *end = strchr(number, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ',')) {
            return false; /* names of several dimensions */
        }
    }
    int written = snprintf(out, size, "%.*s%.*s", (int)length, list, (int)digits, number);
    return length + digits > 0 && (size_t)written < size;
}

/* All processes of a step come to the same port, and steps that run at once to others. */
static void address_of_slurm(gs_launch *launch)
{
    enum { FIRST = 20000, STEPS = 5000, PORTS_TRIED = 8 };
    const char *nodes = value_of("SLURM_STEP_NODELIST");
    const char *job = value_of("SLURM_JOB_ID");
    const char *step = value_of("SLURM_STEP_ID");
    int64_t job_number = 0;
    int64_t step_number = 0;
    char host[GS_LAUNCH_ADDRESS_BYTES - 8];
    if (nodes == NULL || job == NULL || !is_number(job, &job_number) ||
        !is_number(step, &step_number) || !first_host(nodes, host, sizeof host)) {
        return;
    }
    int64_t place = (job_number * PORTS_TRIED + step_number) % STEPS;
    if (place >= 0) {
        (void)snprintf(launch->address, sizeof launch->address, "%s:%" PRId64, host,
                       FIRST + place * PORTS_TRIED);
    }
}

static gs_status find_address(const launcher *by, gs_launch *launch, gs_error *err)
{
    const char *host = value_of("MASTER_ADDR");
    const char *port_text = value_of("MASTER_PORT");
    if (host == NULL || port_text == NULL) {
        if (strcmp(by->name, "srun") == 0) {
            address_of_slurm(launch);
        }
        return GS_OK;
    }
    int64_t port = 0;
    /* torchrun's agent listens there itself, for its own store. */
    const char *store = value_of("TORCHELASTIC_USE_AGENT_STORE");
    int64_t shift =
        value_of("TORCHELASTIC_RUN_ID") != NULL && (store == NULL || strcmp(store, "True") == 0)
            ? 1
            : 0;
    if (!is_number(port_text, &port) || port < 1 || port > PORT_MAX - shift) {
        return gs_fail(
            err, GS_EINVAL,
            "MASTER_PORT: not a port (\"%.40s\"); allowed is a whole number, 1..%" PRId64,
            port_text, PORT_MAX - shift);
    }
    bool is_six = strchr(host, ':') != NULL && host[0] != '[';
    int written = snprintf(launch->address, sizeof launch->address, "%s%s%s:%" PRId64,
                           is_six ? "[" : "", host, is_six ? "]" : "", port + shift);
    if ((size_t)written >= sizeof launch->address) {
        return gs_fail(err, GS_EINVAL, "MASTER_ADDR: longer than any host name");
    }
    return GS_OK;
}

gs_status gs_launch_find(gs_launch *out, gs_error *err)
{
    gs_launch found = {.ranks = 1};
    const launcher *by = NULL;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && by == NULL; i++) {
        by = has_started(&launchers[i]) ? &launchers[i] : NULL;
    }
    if (by == NULL) {
        *out = found;
        return GS_OK;
    }
    const char *variable = value_of(by->count) != NULL ? by->count : by->count_else;
    const char *count = value_of(variable);
    if (count == NULL) {
        return gs_fail(err, GS_EINVAL, "%s is set, %s is not: %s sets both", by->rank, by->count,
                       by->name);
    }
    int64_t ranks = 0;
    GS_TRY(read_count(variable, count, &ranks, err));
    found.launcher = by->name;
    found.ranks = (uint32_t)ranks;
    GS_TRY(read_rank(by->rank, ranks, &found.rank, err));
    GS_TRY(read_rank(by->local_rank, ranks, &found.local_rank, err));
    GS_TRY(find_address(by, &found, err));
    const char *job = value_of(by->job);
    const char *step = strcmp(by->name, "srun") == 0 ? value_of("SLURM_STEP_ID") : NULL;
    const char *again = value_of("TORCHELASTIC_RESTART_COUNT");
    (void)snprintf(found.job, sizeof found.job, "%.60s%s%.20s%s%.20s", job == NULL ? "" : job,
                   step == NULL ? "" : ".", step == NULL ? "" : step, again == NULL ? "" : "#",
                   again == NULL ? "" : again);
    *out = found;
    return GS_OK;
}
