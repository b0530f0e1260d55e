/* Who makes the steps of a traced job slow: many replays of op_replay.h, put side by side.
 *
 * A group of ops (a type, a stage, a copy of the model, a rank) is judged twice: its recorded times
 * added to the ideal step, and taken away from the replayed one. Where the two differ, the group
 * acts together with others: that is the interaction. */
#ifndef GS_SIM_OP_WHAT_IF_H
#define GS_SIM_OP_WHAT_IF_H

#include "sim/op_replay.h"

typedef enum gs_op_group {
    GS_OP_GROUP_TYPE,    /* first: a gs_op_kind */
    GS_OP_GROUP_STAGE,   /* first: the stage */
    GS_OP_GROUP_DP_RANK, /* first: the dp_rank */
    GS_OP_GROUP_WORKER   /* first: dp_rank, second: stage */
} gs_op_group;

/* Means over steps. Shares are of the time that is lost to stragglers, replayed minus ideal; 0
 * where nothing is lost. */
typedef struct gs_op_blame {
    gs_op_group group;
    uint32_t first;
    uint32_t second;
    double added_ns;   /* all others ideal */
    double removed_ns; /* only this group ideal */
    double slowdown;   /* added over ideal */
    double add_share;
    double remove_share;
} gs_op_blame;

typedef struct gs_op_what_if {
    uint32_t step_count;
    double recorded_ns;     /* means over steps, as below */
    double replayed_ns;     /* recorded own times, without launch delay */
    double ideal_ns;        /* every op as is usual */
    double slowdown;        /* replayed over ideal */
    double launch_slowdown; /* recorded over replayed: what the replay does not explain */
    gs_op_blame last_stage;
    gs_op_blame slowest_workers;        /* first: how many: 3 % of all, at least one */
    const gs_time_ns *step_replayed_ns; /* [step_count] */
    const gs_time_ns *step_ideal_ns;    /* [step_count] */
    const gs_op_blame *blames;          /* by group; in it the slowest first */
    uint32_t blame_count;
} gs_op_what_if;

/* Two replays for each group. Errors: GS_ENOMEM. Owner of the arrays: the arena. */
GS_MUST_USE gs_status gs_op_what_if_make(gs_op_replay *replay, gs_arena *arena, gs_op_what_if *out,
                                         gs_error *err);

/* "forward-pp-comm", "stage 3", "dp_rank 1", "dp_rank 1 stage 3". Returns out. */
enum { GS_OP_BLAME_NAME_BYTES = 64 };
char *gs_op_blame_name(const gs_op_blame *blame, char out[GS_OP_BLAME_NAME_BYTES]);

#endif
