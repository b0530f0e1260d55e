/* From the events of one rank to its steps: how long it computed, where its collectives stood, and
 * how long each of them held it up. Knows one rank only; what other ranks did is import_kineto.c's.
 *
 * The rank's own time. A step lasts from P to E: P is the start of its ProfilerStep annotation, or
 * the end of the step before on the device if that is later; E is the end of the annotation, or of
 * the step's last compute kernel if that is later. An op holds the rank up from the instant where
 * nothing runs beside it and a kernel launched already (or the host, inside a synchronising call)
 * waits, until its end. All other time is the rank's own: kernels, and gaps in which the host is
 * the one that is slow. */
#ifndef GS_TRACES_KINETO_STEPS_H
#define GS_TRACES_KINETO_STEPS_H

#include "base/arena.h"
#include "traces/importers/import_notes.h"
#include "traces/importers/kineto_events.h"

typedef struct gs_kineto_op {
    const char *collective; /* "collective" where the trace does not say which */
    int64_t elements;       /* -1 unknown */
    int32_t element_bytes;  /* 0 unknown */
    bool is_gradient;
    gs_time_ns at_ns; /* in the rank's own time since the step's start: when its data were ready */
    gs_time_ns start_ns;    /* of its kernel, on the clock of the file */
    gs_time_ns duration_ns; /* of its kernel; 0 unknown */
    gs_time_ns blocked_ns;  /* the part, at its end, in which it held the rank up */
} gs_kineto_op;

typedef struct gs_kineto_step {
    int64_t number;          /* N of ProfilerStep#N */
    gs_time_ns length_ns;    /* E - P */
    gs_time_ns compute_ns;   /* union of the step's compute kernels */
    gs_time_ns loader_ns;    /* the loader's part of the gaps before the first op */
    const gs_kineto_op *ops; /* in launch order; at_ns does not go back */
    uint32_t op_count;
    uint32_t kernel_count; /* of both kinds; without a device: spans of host work */
} gs_kineto_step;

typedef struct gs_kineto_rank {
    const char *file;
    int32_t rank;
    const gs_kineto_step *steps; /* by start */
    uint32_t step_count;         /* >= 1 */
    bool has_kernels;
} gs_kineto_rank;

/* Fills steps, step_count and has_kernels of out (file must be set). Remarks go to notes.
 * Errors: GS_EPARSE (nothing to play: no kernel, no operator; a step twice), GS_ENOMEM. Owner of
 * the steps: the arena. */
GS_MUST_USE gs_status gs_kineto_steps_make(const gs_kineto_events *events, gs_arena *arena,
                                           gs_import_notes *notes, gs_kineto_rank *out,
                                           gs_error *err);

#endif
