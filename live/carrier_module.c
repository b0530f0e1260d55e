/* The list of carriers. Some need a library that not every machine has: they are modules, so that
 * one program runs everywhere and under every MPI that it was built for. */
#include "live/carrier_module.h"

#include "base/assert.h"
#include "base/log.h"
#include "live/carrier.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct entry {
    const char *name;
    const gs_carrier *built_in; /* NULL: a module */
    const char *module;
    const char *cure;
} entry;

#define GS_CARRIER(stem) extern const gs_carrier gs_carrier_##stem;
#define GS_CARRIER_MODULE(stem, module, cure)
#include "live/carriers.def"
#undef GS_CARRIER
#undef GS_CARRIER_MODULE

static const entry entries[] = {
#define GS_CARRIER(stem)                      {#stem, &gs_carrier_##stem, NULL, NULL},
#define GS_CARRIER_MODULE(stem, module, cure) {#stem, NULL, module, cure},
#include "live/carriers.def"
#undef GS_CARRIER
#undef GS_CARRIER_MODULE
};

static const gs_mpi_kind open_mpi = {"openmpi", "Open MPI", "openmpi-bin and libopenmpi-dev", NULL};
static const gs_mpi_kind mpich = {"mpich", "MPICH", "mpich and libmpich-dev", NULL};

uint32_t gs_carrier_count(void)
{
    return sizeof entries / sizeof *entries;
}

const char *gs_carrier_name(uint32_t index)
{
    GS_ASSERT(index < gs_carrier_count());
    return entries[index].name;
}

bool gs_module_path(const char *stem, char out[GS_MODULE_PATH_BYTES])
{
    static const char *const folders[] = {"", GS_INSTALLED_MODULES "/", "../"};
    char program[GS_MODULE_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) {
        return false;
    }
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) {
        return false;
    }
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int written =
            snprintf(out, GS_MODULE_PATH_BYTES, "%s%sgradsync_%s.so", program, folders[i], stem);
        if (written < GS_MODULE_PATH_BYTES && access(out, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_set(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0';
}

gs_status gs_mpi_kind_find(gs_mpi_kind *out, gs_error *err)
{
    /* The launcher's own variables come first: mpirun starts its helpers on other hosts by srun,
     * and what it starts then has the variables of both. */
    static const struct {
        const char *variable;
        const gs_mpi_kind *kind;
    } signs[] = {{"OMPI_COMM_WORLD_SIZE", &open_mpi},
                 {"PMIX_RANK", &open_mpi},
                 {"PMI_RANK", &mpich},
                 {"PMI_SIZE", &mpich},
                 {"PMI_ID", &mpich}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (is_set(signs[i].variable)) {
            *out = *signs[i].kind;
            out->variable = signs[i].variable;
            return GS_OK;
        }
    }
    if (is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID")) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "mpi: srun gave this process neither PMIx nor PMI; start with srun "
                       "--mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH)");
    }
    return gs_fail(
        err, GS_EUNSUPPORTED,
        "mpi: no MPI has started this process; start it with mpirun -n RANKS, mpiexec -n "
        "RANKS or srun --mpi=pmix");
}

/* The MPI whose launcher started this process. srun may offer what both understand: there the one
 * that was built is taken. */
static gs_status find_mpi(char out[GS_MODULE_PATH_BYTES], gs_error *err)
{
    gs_mpi_kind kind;
    GS_TRY(gs_mpi_kind_find(&kind, err));
    const gs_mpi_kind *other = strcmp(kind.stem, open_mpi.stem) == 0 ? &mpich : &open_mpi;
    char stem[32];
    (void)snprintf(stem, sizeof stem, "mpi_%s", kind.stem);
    bool is_there = gs_module_path(stem, out);
    if (!is_there && is_set("SLURM_STEP_ID") && !is_set("OMPI_COMM_WORLD_SIZE")) {
        (void)snprintf(stem, sizeof stem, "mpi_%s", other->stem);
        is_there = gs_module_path(stem, out);
        kind.name = other->name;
    }
    if (!is_there) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "mpi: %s has started this process (%s), but this gradsync was built without "
                       "it: install %s and build again, or start with the launcher of %s",
                       kind.name, kind.variable, kind.packages, other->name);
    }
    gs_log(GS_LOG_INFO, "mpi: %s, as %s says: %s", kind.name, kind.variable, out);
    return GS_OK;
}

static gs_status load(const char *name, const char *path, const gs_carrier **out, gs_error *err)
{
    /* Now: a missing symbol must not show in the middle of a run. Global: an MPI loads parts of its
     * own, which look for its symbols there. */
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (object == NULL) {
        const char *why = dlerror();
        return gs_fail(err, GS_EUNSUPPORTED, "%s: the module cannot be loaded: %s", name,
                       why == NULL ? path : why);
    }
    gs_carrier_module_fn *module;
    void *symbol = dlsym(object, "gs_carrier_module");
    memcpy(&module, &symbol, sizeof module);
    const gs_carrier *carrier = module == NULL ? NULL : module();
    if (carrier == NULL || carrier->version != GS_CARRIER_VERSION) {
        (void)dlclose(object);
        return gs_fail(err, GS_EVERSION,
                       "%s: %s is a module of another gradsync; build and install both together",
                       name, path);
    }
    *out = carrier;
    return GS_OK;
}

gs_status gs_carrier_find(const char *name, const gs_carrier **out, gs_error *err)
{
    for (uint32_t i = 0; i < gs_carrier_count(); i++) {
        const entry *this = &entries[i];
        if (strcmp(this->name, name) != 0) {
            continue;
        }
        if (this->built_in != NULL) {
            *out = this->built_in;
            return GS_OK;
        }
        char path[GS_MODULE_PATH_BYTES];
        char unused[GS_MODULE_PATH_BYTES];
        if (strcmp(name, "mpi") == 0 &&
            (gs_module_path("mpi_openmpi", unused) || gs_module_path("mpi_mpich", unused))) {
            GS_TRY(find_mpi(path, err));
        } else if (!gs_module_path(this->module, path)) {
            return gs_fail(err, GS_EUNSUPPORTED, "%s: this gradsync was built without it: %s", name,
                           this->cure);
        }
        return load(name, path, out, err);
    }
    return gs_fail(err, GS_ENOTFOUND, "no carrier \"%.40s\"; allowed are mpi, nccl, tcp", name);
}
