/* Where a rank's time goes: its timeline cut into parts that add up to the step, to the ns.
 *
 * The worker says when kernels ran and when it waited for input; what lies between is a gap. A gap
 * is cut by what was under way: a kernel of the stream (the optimizer) counts as compute; else
 * encoding or decoding, of an op or of a message, as overhead: nothing of it is on the wire then;
 * else, where an op was under way whose last member had started, or a message of the rank's own was
 * being sent, it is exposed communication; else, where an op waits for a member, or an answer that
 * comes has not been sent, it is wait; else overhead. Every boundary is a time stamp; no part is a
 * remainder. */
#ifndef GS_TRACES_STEP_ACCOUNT_H
#define GS_TRACES_STEP_ACCOUNT_H

#include "base/arena.h"
#include "traces/group_ops.h"
#include "traces/record.h"
#include "traces/timeline.h"

typedef enum gs_span_kind {
    GS_SPAN_OP,
    GS_SPAN_SEND, /* a message of the rank's own, until its last byte has left */
    GS_SPAN_KERNEL,
    GS_SPAN_CODE, /* of a codec, also within an op */
    GS_SPAN_VECTOR
} gs_span_kind;

/* Something under way on one rank besides its own compute. */
typedef struct gs_span {
    gs_span_kind kind;
    bool open;             /* an op or a message that has not ended here */
    uint16_t communicator; /* of an open op */
    gs_time_ns from_ns, to_ns;
    union {
        uint64_t sequence; /* open: the op's number, by which it is looked up when its last member
                              starts; of a message the slot of its request */
        gs_time_ns last_start_ns; /* of an op's members, once it has ended */
    };
} gs_span;

typedef struct gs_step_account {
    gs_step_row row;      /* of the step under way */
    gs_time_ns marked_ns; /* up to here every ns has its part */
    gs_span *spans;       /* that end after marked_ns, by from_ns */
    uint32_t span_count, span_capacity;
    const gs_group_ops *ops;
    gs_arena *arena;
    gs_timeline *timeline; /* is told of gaps and input; NULL: nobody looks at this step */
    bool out_of_memory;
} gs_step_account;

/* Takes memory with the first span. */
void gs_step_account_init(gs_step_account *account, int32_t rank, const gs_group_ops *ops,
                          gs_arena *arena);

/* A step begins at `at`; the time before the first one belongs to nobody. */
void gs_step_account_begin(gs_step_account *account, int64_t step, gs_time_ns at);
/* An op starts here at `at`, which may be still to come, and ends. */
void gs_step_account_op_start(gs_step_account *account, uint32_t communicator, uint64_t sequence,
                              gs_time_ns at);
void gs_step_account_op_end(gs_step_account *account, uint32_t communicator, uint64_t sequence,
                            gs_time_ns last_start_ns, gs_time_ns at);
/* The message of that request begins to be sent at `at`, which may be still to come; and has left.
 */
void gs_step_account_send_start(gs_step_account *account, uint32_t slot, gs_time_ns at);
void gs_step_account_send_end(gs_step_account *account, uint32_t slot, gs_time_ns at);
/* Is an op of the rank's under way or next on its stream, or a message of its own being sent, at
 * `at`? */
bool gs_step_account_communicates(const gs_step_account *account, gs_time_ns at);
/* Anything else that is known whole, before the time it covers is marked. */
void gs_step_account_span(gs_step_account *account, gs_span span);
/* [marked, from) was a gap; [from, to) was compute, or waiting for input. */
void gs_step_account_compute(gs_step_account *account, gs_time_ns from_ns, gs_time_ns to_ns);
void gs_step_account_input(gs_step_account *account, gs_time_ns from_ns, gs_time_ns to_ns);
/* The step ends at `at`; [marked, at) was a gap. Asserts that the parts add up. */
gs_step_row gs_step_account_end(gs_step_account *account, gs_time_ns at);

#endif
