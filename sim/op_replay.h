/* Plays the traced steps of a pipelined job again with other durations: what would a step take if
 * some ops were as slow as recorded and all others as fast as is usual?
 *
 * Each op's duration is split into waiting for its peers and the rest, the op's own time: end minus
 * the latest start in its group. A replay starts every op as soon as all that it waits for has
 * ended (op_graph.h), so gaps in which a rank simply did not start its next op are gone; what they
 * cost is the launch delay, recorded step minus replayed step. The usual time of an op is the mean
 * over all ranks and steps for compute, and the median for what ranks do together.
 * Source: the method behind ByteDance's answers (SIMULATORS.md, 5). */
#ifndef GS_SIM_OP_REPLAY_H
#define GS_SIM_OP_REPLAY_H

#include "sim/op_graph.h"

typedef struct gs_op_replay {
    gs_op_graph graph;
    const gs_time_ns *recorded_ns; /* [step_count] last end minus first start */
    const gs_time_ns *own_ns;      /* [node_count] without waiting, >= 0 */
    gs_time_ns usual_ns[GS_OP_KIND_COUNT];
    uint32_t kind_counts[GS_OP_KIND_COUNT];
    gs_time_ns clock_error_ns; /* most that an op ended before its last peer came; 0: none did.
                                  Clocks of ranks differ by at least that; own time counts as 0 */
    uint32_t clock_error_count;
    gs_time_ns *end_ns;  /* [node_count + 1] 1 + node, of the newest replay; [0] is 0 */
    gs_time_ns *when_ns; /* [workers * GS_OP_KIND_COUNT] while playing: the duration of ops that are
                            not as recorded, or -1 */
} gs_op_replay;

/* Which ops keep their recorded own time; all others take the usual one. */
typedef struct gs_op_select {
    int32_t share;       /* a gs_op_kind that is its own share; -1: any */
    int32_t dp_rank;     /* -1: any */
    int32_t stage;       /* -1: any */
    const bool *workers; /* [dp_count * stage_count]; NULL: any */
    bool others;         /* those that are not meant instead */
} gs_op_select;

#define GS_OP_SELECT_ALL  ((gs_op_select){.share = -1, .dp_rank = -1, .stage = -1})
#define GS_OP_SELECT_NONE ((gs_op_select){.share = -1, .dp_rank = -1, .stage = -1, .others = true})

/* Errors: those of gs_op_graph_make; GS_EMISMATCH (clocks of ranks differ by more than a step
 * takes); GS_ELIMIT (times whose sum does not fit). Owner of what is in out: the arena. */
GS_MUST_USE gs_status gs_op_replay_make(const gs_op_trace *trace, gs_arena *arena,
                                        gs_op_replay *out, gs_error *err);

/* Plays all steps. step_ns [step_count]: out, from the start to the last end. Takes no memory. */
void gs_op_replay_run(gs_op_replay *replay, gs_op_select recorded, gs_time_ns *step_ns);

/* Mean over steps of a replay, in ns. step_ns [step_count]: out as above, or scratch. */
double gs_op_replay_mean_ns(gs_op_replay *replay, gs_op_select recorded, gs_time_ns *step_ns);

/* The timeline of the newest replay: when a node began its own time and when it ended, since the
 * start of its step. */
typedef struct gs_op_span {
    gs_time_ns start_ns;
    gs_time_ns end_ns;
} gs_op_span;
gs_op_span gs_op_replay_span(const gs_op_replay *replay, uint32_t node);

#endif
