/* One step of an operation trace: who waits for whom, and an order in which all can be played.
 * A part of op_graph.c, which says what the rules are. */
#ifndef GS_SIM_OP_STEP_H
#define GS_SIM_OP_STEP_H

#include "sim/op_graph.h"

typedef enum gs_op_lane {
    GS_OP_LANE_COMPUTE,
    GS_OP_LANE_FORWARD_SEND,
    GS_OP_LANE_FORWARD_RECV,
    GS_OP_LANE_BACKWARD_SEND,
    GS_OP_LANE_BACKWARD_RECV,
    GS_OP_LANE_COLLECTIVE,
    GS_OP_LANE_COUNT
} gs_op_lane;

/* An op of the trace with what its place in the graph depends on. */
typedef struct gs_op_entry {
    int32_t step;
    uint32_t worker; /* dp_rank * stage_count + stage */
    uint32_t stage;
    uint32_t sequence;
    uint32_t op; /* of the trace */
    uint8_t kind;
    uint8_t lane;
    gs_time_ns start_ns;
    gs_time_ns end_ns;
} gs_op_entry;

typedef struct gs_op_member {
    uint64_t key; /* equal for ops that are done together */
    uint32_t node;
} gs_op_member;

/* Entries are numbered from 0 in this step. Arrays [longest step] are taken once. */
typedef struct gs_op_step {
    uint32_t dp_count;
    uint32_t stage_count;
    const gs_op_entry *entries; /* [count] by worker, start */
    uint32_t count;
    /* out */
    uint32_t (*before)[GS_OP_BEFORE_MAX]; /* by entry: 1 + entry waited for; 0: none */
    uint32_t *order;                      /* entries in playing order, groups side by side */
    uint32_t *place;                      /* of each entry in order */
    uint32_t *group_first;                /* [group_count + 1] */
    uint32_t group_count;
    char reason[GS_OP_REASON_BYTES]; /* why it cannot be played */
    /* while it is made */
    gs_op_member *members;
    uint32_t *by_sequence; /* [GS_OP_KIND_COUNT * longest] of one worker: 1 + entry; 0: none */
    uint32_t *group;       /* of each entry */
    uint32_t *open;        /* by group: edges into it not played yet */
    uint32_t *first;       /* by group: its place in members */
    uint32_t *waiter_first;
    uint32_t *waiters; /* groups that wait for an entry */
    uint32_t *queue;
} gs_op_step;

/* false: no memory. Owner: the arena. */
bool gs_op_step_take(gs_op_step *step, uint32_t longest, gs_arena *arena);
/* false: it cannot be played, reason says why. */
bool gs_op_step_make(gs_op_step *step);

#endif
