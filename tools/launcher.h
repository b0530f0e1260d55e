/* What a launcher (torchrun, mpirun, srun) says: how many ranks it has started, and which of them
 * this process is. */
#ifndef GS_TOOLS_LAUNCHER_H
#define GS_TOOLS_LAUNCHER_H

#include "base/status.h"

#include <stdint.h>

typedef struct gs_launcher {
    const char *variable; /* NULL: no launcher */
    int64_t ranks;        /* 0: no launcher */
} gs_launcher;

/* Errors: GS_EINVAL where a variable is no rank count, or where two disagree. Variables of srun
 * that a launcher started inside of it has left there do not count. */
GS_MUST_USE gs_status gs_launcher_find(gs_launcher *out, gs_error *err);

enum { GS_LAUNCH_ADDRESS_BYTES = 320, GS_LAUNCH_JOB_BYTES = 128 };

/* This process among those that were started with it. */
typedef struct gs_launch {
    const char *launcher; /* for people: "mpirun", "mpiexec", "srun", "torchrun"; NULL: none */
    uint32_t ranks;       /* 1: no launcher */
    uint32_t rank;
    uint32_t local_rank; /* among those of its host */
    /* HOST:PORT where process 0 is to listen for a TCP carrier: MASTER_ADDR and MASTER_PORT, one
     * port further where torchrun's own store has that one; srun: the first host of the step, a
     * port made of the job's number. "": nobody says. */
    char address[GS_LAUNCH_ADDRESS_BYTES];
    char job[GS_LAUNCH_JOB_BYTES]; /* known to this launch only; "": nobody says */
} gs_launch;

/* The innermost launcher that started this very process (a batch script of Slurm is none). Errors:
 * GS_EINVAL where a variable is missing, is no number, or a rank is not below the count. */
GS_MUST_USE gs_status gs_launch_find(gs_launch *out, gs_error *err);

#endif
