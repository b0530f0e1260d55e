/* Where the modules of carriers lie, and which MPI has started this process. */
#ifndef GS_LIVE_CARRIER_MODULE_H
#define GS_LIVE_CARRIER_MODULE_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>

enum { GS_MODULE_PATH_BYTES = PATH_MAX };

typedef struct gs_mpi_kind {
    const char *stem;     /* of the module: gradsync_mpi_STEM.so */
    const char *name;     /* for people */
    const char *packages; /* what to install to have it */
    const char *variable; /* that says so; NULL: no MPI has started this process */
} gs_mpi_kind;

/* By what launchers leave in the environment: Open MPI's own variables or PMIx, or PMI as MPICH's
 * launcher and srun have it. Errors: GS_EUNSUPPORTED (srun gives no PMI, or no launcher at all). */
GS_MUST_USE gs_status gs_mpi_kind_find(gs_mpi_kind *out, gs_error *err);

/* The file gradsync_STEM.so beside the program, in the library folder of an installed one, or one
 * folder up (programs of the tests). false: none. */
bool gs_module_path(const char *stem, char out[GS_MODULE_PATH_BYTES]);

#endif
