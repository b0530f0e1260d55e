/* Collectives as their group sees them: do all members ask for the same, who came last, and the ops
 * that a host times as a whole (a measured curve, a blocking op of the workload).
 *
 * One line of records for each group of a communicator, by issue number; a record goes when every
 * member has ended it. A second line holds the order of issue over all communicators, for
 * strategies that promise one. */
#ifndef GS_TRACES_GROUP_OPS_H
#define GS_TRACES_GROUP_OPS_H

#include "base/arena.h"
#include "base/units.h"
#include "strategies/host.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_group_op {
    gs_op_signature signature; /* as the first member issued it */
    uint32_t first_member;
    uint32_t issued, started, ended;
    gs_time_ns latest_ns;     /* start so far */
    gs_time_ns last_start_ns; /* once all have started: the latest */
} gs_group_op;

typedef struct gs_group_op_line {
    gs_group_op *records; /* ring of capacity, a power of two */
    uint32_t capacity;
    uint64_t base;  /* number of the oldest record kept */
    uint64_t count; /* records kept */
    uint32_t members;
} gs_group_op_line;

typedef struct gs_group_ops {
    uint32_t ranks;
    const gs_layout *layout;
    uint32_t first_lines[GS_LINES_MAX]; /* of each communicator */
    uint32_t line_count;                /* of all groups */
    gs_group_op_line *lines;            /* these, then order, then blocking ops */
    gs_arena *arena;
} gs_group_ops;

/* false: no memory. The layout is borrowed. */
bool gs_group_ops_init(gs_group_ops *ops, const gs_layout *layout, uint32_t ranks, gs_arena *arena);

/* Number of the group that a worker is in, over all groups of all communicators. */
uint32_t gs_group_ops_line(const gs_group_ops *ops, uint32_t member, uint32_t communicator);

/* A member issues. Errors: GS_EMISMATCH naming both ranks, step and op; GS_ENOMEM. */
GS_MUST_USE gs_status gs_group_ops_issue(gs_group_ops *ops, uint32_t member,
                                         const gs_op_signature *signature, gs_error *err);

/* A member starts at `at`, which may be still to come; true: it was the last to say so. */
bool gs_group_ops_start(gs_group_ops *ops, uint32_t member, const gs_op_signature *signature,
                        gs_time_ns at);

/* When the last member started; GS_TIME_NEVER while one has not. */
gs_time_ns gs_group_ops_last_start(const gs_group_ops *ops, uint32_t member, uint32_t communicator,
                                   uint64_t sequence);

/* A member has ended; returns as last_start. */
gs_time_ns gs_group_ops_end(gs_group_ops *ops, uint32_t member, const gs_op_signature *signature);

/* A member comes to blocking op number `sequence` of its own count. *out_last: it is the last one.
 * Errors: GS_EMISMATCH where members come to different ops (`which`), GS_ENOMEM. */
GS_MUST_USE gs_status gs_group_ops_block(gs_group_ops *ops, uint32_t member, uint64_t sequence,
                                         uint32_t which, gs_time_ns at, bool *out_last,
                                         gs_error *err);
/* All members leave the blocking op together; returns when the last came. */
gs_time_ns gs_group_ops_unblock(gs_group_ops *ops, uint64_t sequence);

#endif
