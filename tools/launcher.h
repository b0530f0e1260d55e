/* How many ranks a launcher (torchrun, mpirun, srun) says it has started. */
#ifndef GS_TOOLS_LAUNCHER_H
#define GS_TOOLS_LAUNCHER_H

#include "base/status.h"

#include <stdint.h>

typedef struct gs_launcher {
    const char *variable; /* NULL: no launcher */
    int64_t ranks;        /* 0: no launcher */
} gs_launcher;

/* Errors: GS_EINVAL where a variable is no rank count, or where two disagree. */
GS_MUST_USE gs_status gs_launcher_find(gs_launcher *out, gs_error *err);

#endif
