/* A trace of single operations in memory: what each rank of a pipelined job ran in each step, and
 * when. One array a column; names are kept once. Knows neither files nor what an op depends on. */
#ifndef GS_TRACES_OP_TRACE_H
#define GS_TRACES_OP_TRACE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"

#include <stddef.h>
#include <stdint.h>

enum { GS_OP_TYPES_MAX = 64, GS_OPS_MAX = 200 * 1000 * 1000 };

/* Columns [op_count], in the order of the file. Owner of all: an arena. */
typedef struct gs_op_trace {
    const char *file; /* for messages */
    uint32_t op_count;
    const int32_t *dp_rank;        /* which copy of the model, from 0 */
    const int32_t *stage;          /* of the pipeline, from 0 */
    const int32_t *rank;           /* global rank of the process that ran it */
    const int32_t *step;           /* number of the step as recorded; steps may be missing */
    const uint8_t *type;           /* index of types */
    const gs_time_ns *start_ns;    /* since the start of the step; may be negative */
    const gs_time_ns *duration_ns; /* >= 0, waiting for other ranks included */
    const int32_t *sequence;       /* which of its type in this step on this rank; -1: none */
    const int32_t *chunk;          /* part of the model within the stage; -1: none */
    const int32_t *micro_batch;    /* -1: none */
    const char *const *types;
    uint32_t type_count;
    int32_t dp_size;  /* of the job; 0: not said */
    int32_t dsp_size; /* 0: not said */
    int32_t pp_size;  /* 0: not said */
} gs_op_trace;

/* One row, while a trace is gathered. */
typedef struct gs_traced_op {
    int32_t dp_rank;
    int32_t stage;
    int32_t rank;
    int32_t step;
    int32_t sequence;
    int32_t chunk;
    int32_t micro_batch;
    uint8_t type;
    gs_time_ns start_ns;
    gs_time_ns duration_ns;
} gs_traced_op;

/* Gathers rows whose number nobody knows yet. All zero but file to begin with. */
typedef struct gs_op_gather {
    const char *file;
    gs_traced_op *ops;
    uint32_t count;
    uint32_t capacity;
    char *types[GS_OP_TYPES_MAX];
    size_t type_lengths[GS_OP_TYPES_MAX];
    uint32_t type_count;
} gs_op_gather;

/* The number of a name, which is new or known. Errors: GS_ELIMIT, GS_ENOMEM. */
GS_MUST_USE gs_status gs_op_gather_type(gs_op_gather *gather, const char *name, size_t length,
                                        uint8_t *out, gs_error *err);
/* Errors: GS_ELIMIT, GS_ENOMEM. */
GS_MUST_USE gs_status gs_op_gather_add(gs_op_gather *gather, const gs_traced_op *op, gs_error *err);
/* Copies what was gathered into columns. out: its sizes are 0. Errors: GS_EPARSE (no row),
 * GS_ENOMEM. Owner of out: the arena. */
GS_MUST_USE gs_status gs_op_gather_finish(const gs_op_gather *gather, gs_arena *arena,
                                          gs_op_trace *out, gs_error *err);
/* Frees what was gathered, after success as after an error. */
void gs_op_gather_fini(gs_op_gather *gather);

#endif
