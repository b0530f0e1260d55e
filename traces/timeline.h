/* What every rank did when, in a window of steps: for eyes (traces/export_chrome.h) and plots.
 *
 * A host that is asked for one fills it: spans are what a rank itself did or was blocked by, and
 * add up to its step rows to the ns; ops are collectives as a rank saw them; messages are what
 * crossed the network. Nothing is kept outside the window. Times are ns since the start of the
 * run. */
#ifndef GS_TRACES_TIMELINE_H
#define GS_TRACES_TIMELINE_H

#include "base/status.h"
#include "base/units.h"
#include "traces/record.h"

#include <stdbool.h>
#include <stdint.h>

/* GS_TIMELINE_KIND(name, track, text): the track is what of a step row the kind adds up to. */
/* clang-format off */
#define GS_TIMELINE_KIND_LIST(X)                                                                   \
    X(FORWARD,   COMPUTE, "forward")                                                               \
    X(BACKWARD,  COMPUTE, "backward")                                                              \
    X(OPTIMIZER, COMPUTE, "optimizer")                                                             \
    X(EXPOSED,   WAIT,    "exposed communication")                                                 \
    X(LATE,      WAIT,    "wait for ranks")                                                        \
    X(INPUT,     INPUT,   "input")                                                                 \
    X(OVERHEAD,  WAIT,    "overhead")
/* clang-format on */

typedef enum gs_timeline_kind {
#define GS_TIMELINE_ENUM(name, track, text) GS_TIMELINE_##name,
    GS_TIMELINE_KIND_LIST(GS_TIMELINE_ENUM)
#undef GS_TIMELINE_ENUM
        GS_TIMELINE_KIND_COUNT
} gs_timeline_kind;

typedef enum gs_timeline_track {
    GS_TRACK_COMPUTE,
    GS_TRACK_COMM,
    GS_TRACK_WAIT,
    GS_TRACK_INPUT
} gs_timeline_track;

const char *gs_timeline_kind_text(gs_timeline_kind kind);
gs_timeline_track gs_timeline_kind_track(gs_timeline_kind kind);
const char *gs_timeline_track_text(gs_timeline_track track); /* "compute" */

enum {
    GS_TIMELINE_NO_UNIT = -1,
    GS_TIMELINE_POINT_TO_POINT = -1, /* a stream that is no communicator */
    GS_TIMELINE_WHOLE_OP = -2 /* the share of one sender in an op that was timed as a whole */
};

typedef struct gs_timeline_span {
    gs_timeline_kind kind;
    uint32_t rank;
    int32_t unit; /* of the profile, whose gradient is ready at the end; or GS_TIMELINE_NO_UNIT */
    int64_t step;
    gs_time_ns from_ns, to_ns;
} gs_timeline_span;

/* A collective on one rank: [from, last_start) waits for members, [last_start, to) is on the wire.
 */
typedef struct gs_timeline_op {
    const char *name; /* "all_reduce"; borrowed: static, or of the profile */
    uint32_t rank;
    int32_t communicator; /* -1: a blocking op of the profile */
    uint64_t sequence;    /* on its communicator */
    uint64_t label;       /* the strategy's; of a blocking op: its index in the profile */
    int64_t bytes;        /* of the whole buffer; -1: not known */
    int64_t step;         /* in which it was issued */
    gs_time_ns from_ns, last_start_ns, to_ns;
} gs_timeline_op;

typedef struct gs_timeline_message {
    uint32_t from, to; /* entities: ranks, then servers */
    int32_t stream;    /* communicator, or one of the names above */
    bool over_nic;
    int64_t bytes;
    gs_time_ns began_ns;  /* its first byte leaves */
    gs_time_ns left_ns;   /* its last byte has left */
    gs_time_ns arrive_ns; /* its last byte is there */
} gs_timeline_message;

/* Where entities stand; arrays are copied. */
typedef struct gs_timeline_world {
    uint32_t ranks, entities, nodes, nics;
    const uint32_t *node_of; /* [ranks] */
    const uint32_t *nic_of;  /* [entities] */
} gs_timeline_world;

/* Arrays in order of arrival: of one rank ops, messages and steps ascend in time, spans need not.
 */
typedef struct gs_timeline {
    int64_t first_step, last_step; /* the window, both in it */
    gs_timeline_world world;
    gs_timeline_span *spans;
    gs_timeline_op *ops;
    gs_timeline_message *messages;
    gs_step_row *steps; /* of every rank; those that have ended */
    int64_t span_count, span_capacity;
    int64_t op_count, op_capacity;
    int64_t message_count, message_capacity;
    int64_t step_count, step_capacity;
    int64_t *last_span;     /* [ranks]: its newest span, or -1 */
    uint32_t begun, passed; /* ranks that have come to the window, and that have left it */
    bool out_of_memory;
} gs_timeline;

/* 0 <= first_step <= last_step. NULL: no memory. Owner: caller. */
gs_timeline *gs_timeline_create(int64_t first_step, int64_t last_step);
void gs_timeline_destroy(gs_timeline *timeline);

/* For hosts. describe comes first, once. A rank tells when it begins a step of the window, and ends
 * one; errors of any add before are told by that: GS_ENOMEM. */
GS_MUST_USE gs_status gs_timeline_describe(gs_timeline *timeline, const gs_timeline_world *world);
static inline bool gs_timeline_has(const gs_timeline *timeline, int64_t step)
{
    return step >= timeline->first_step && step <= timeline->last_step;
}
void gs_timeline_begin_step(gs_timeline *timeline, int64_t step);
GS_MUST_USE gs_status gs_timeline_end_step(gs_timeline *timeline, const gs_step_row *row);
/* Empty spans are left out; one that goes on the last one of its rank, kind and step lengthens it,
 * unless a unit ended there. */
void gs_timeline_add_span(gs_timeline *timeline, gs_timeline_span span);
/* What was told of a rank's passes after `at` does not come to be. Cost: all spans. */
void gs_timeline_cut(gs_timeline *timeline, uint32_t rank, gs_time_ns at_ns);
void gs_timeline_add_op(gs_timeline *timeline, const gs_timeline_op *op);
/* Kept while at least one rank is in the window. */
void gs_timeline_add_message(gs_timeline *timeline, const gs_timeline_message *message);

/* Every rank has passed the window: nothing comes any more. */
bool gs_timeline_is_complete(const gs_timeline *timeline);

#endif
