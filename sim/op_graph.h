/* What each operation of a traced pipelined step waits for: the graph that op_replay.c plays.
 *
 * A rank has six lanes; each runs its ops in the order in which they were started: compute (also
 * optimizer and garbage collection), one lane for each of the four pipeline transfers, and one for
 * collectives. Across lanes: a micro-batch is computed when it is received, and sent when it is
 * computed; a receive is posted when the micro-batch before it is computed; the first compute waits
 * for the last gather of parameters before it, the first collective after it for the last compute,
 * and the optimizer for the last collective. An op that ranks do together begins when the last of
 * them has come: send and receive; gather and reduction of a stage over the copies of the model;
 * the embedding's reduction between first and last stage of a copy; clipping over all ranks. The
 * reduction of layer norms runs inside a stage, which a trace shows as one rank.
 * Source: the graph that gives the answers published with ByteDance's traces (SIMULATORS.md, 5). */
#ifndef GS_SIM_OP_GRAPH_H
#define GS_SIM_OP_GRAPH_H

#include "base/arena.h"
#include "base/status.h"
#include "traces/op_trace.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_op_kind {
#define GS_OP_KIND(name, text, lane, peers, share) GS_OP_##name,
#include "sim/op_kinds.def"
#undef GS_OP_KIND
    GS_OP_KIND_COUNT
} gs_op_kind;

enum { GS_OP_BEFORE_MAX = 3, GS_OP_REASON_BYTES = 160 };

/* Nodes stand in an order in which they can be played; ops done together stand side by side as a
 * group. Owner of all arrays: the arena. */
typedef struct gs_op_graph {
    uint32_t dp_count;
    uint32_t stage_count;
    uint32_t step_count; /* played; >= 1 */
    uint32_t group_count;
    uint32_t node_count;
    const int32_t *steps;        /* [step_count] their numbers, rising */
    const uint32_t *step_first;  /* [step_count + 1] groups */
    const uint32_t *group_first; /* [group_count + 1] nodes */
    const uint32_t *op;          /* [node_count] of the trace */
    const uint32_t *what;        /* [node_count] worker * GS_OP_KIND_COUNT + kind, where worker is
                                    dp_rank * stage_count + stage */
    const uint32_t (*before)[GS_OP_BEFORE_MAX]; /* [node_count] 1 + node waited for; 0: none */
    uint32_t left_out_count;                    /* steps that could not be played */
    int32_t left_out_step;                      /* the first of them, and why */
    char left_out_reason[GS_OP_REASON_BYTES];
} gs_op_graph;

/* Name of a kind in traces; whether an op of it is compute. Static storage. */
const char *gs_op_kind_name(gs_op_kind kind);
bool gs_op_kind_computes(gs_op_kind kind);
/* The kind under which the cost of this one is counted: sends and receives of a direction go
 * together. */
gs_op_kind gs_op_kind_share(gs_op_kind kind);

/* Steps in which an op is missing, twice there or without its peers are left out. Errors:
 * GS_EMISMATCH (ranks missing, or no step left, with the reason), GS_EUNSUPPORTED (an unknown type
 * of op, several chunks of the model in a stage, dsp_size above 1), GS_ENOMEM. */
GS_MUST_USE gs_status gs_op_graph_make(const gs_op_trace *trace, gs_arena *arena, gs_op_graph *out,
                                       gs_error *err);

#endif
