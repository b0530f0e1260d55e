/* Ops that a run times as a whole: who has started, when each member ends, and how an op goes back
 * to its drivers.
 *
 * An op is open from the first start to the last end. While it is, its links are its plan's. Where
 * somebody else comes on one of them, or two of its own channels meet, all open ops of the plan go
 * back: their dataflow is played again up to that time, what is then under way becomes parts, flows
 * and arrivals of the network, and the drivers go on in the middle of their programs. So ops that
 * went back end as if they had gone message by message from the start. */
#ifndef GS_SIM_SIM_OP_H
#define GS_SIM_SIM_OP_H

#include "sim/sim_parts.h"

typedef struct gs_sim_op {
    struct gs_sim_op *next; /* of its line, by sequence; or of those that its plan can use again */
    struct gs_sim *sim;
    struct gs_sim_op_line *line;
    gs_op_plan *plan;
    gs_op_signature signature;
    gs_op_mode mode; /* GS_OP_MESSAGE: it has gone back, or never was whole */
    uint32_t started, ended;
    gs_tick *starts;  /* [members]; GS_TICK_NEVER: not yet */
    gs_tick *ready;   /* [members] nothing is sent before */
    uint32_t *slots;  /* [members] of its request; GS_NO_CALL: it has ended */
    uint32_t *calls;  /* [members] that end it; GS_NO_CALL: not known yet */
    gs_dataflow flow; /* lanes NULL: not needed so far */
    gs_overlap overlap;
    gs_tick meets_at;      /* its channels meet; GS_TICK_NEVER: not as far as is known */
    uint32_t meeting_call; /* of that; GS_NO_CALL */
    gs_tick quiet_at;      /* all has left; GS_TICK_NEVER: not known yet */
    gs_tick *arrivals;     /* [channels] last_arrival of each before, with jitter; else NULL */
    uint64_t *messages;    /* likewise */
} gs_sim_op;

/* Of one group of a communicator. */
typedef struct gs_sim_op_line {
    gs_op_plan **plans[GS_COLLECTIVE_KIND_COUNT]; /* [plan_counts] */
    uint32_t plan_counts[GS_COLLECTIVE_KIND_COUNT];
    gs_sim_op *first, *last; /* open */
} gs_sim_op_line;

/* sim_op.c: after the drivers are made, as they open the channels. */
gs_status gs_sim_ops_init(gs_sim *sim, gs_error *err);
/* A member starts an op, the last one or not. true: it is timed as a whole, and the driver has
 * nothing to do until gs_driver_native_done. */
bool gs_sim_op_start(gs_sim *sim, uint32_t rank, uint32_t slot, const gs_op_signature *op,
                     bool is_last);
/* A member has ended any op. */
void gs_sim_op_ended(gs_sim *sim, uint32_t rank, const gs_op_signature *op);
/* Channels of an op meet now. */
void gs_sim_op_meet(gs_sim *sim, gs_sim_op *op);
/* A transfer that is not of a whole op begins on a link. */
void gs_sim_op_intrude(void *sim, uint32_t link);
void gs_sim_op_close(gs_sim *sim, gs_sim_op *op);

/* sim_op_time.c: the dataflow of an op begins anew, up to a horizon. false: no memory. */
bool gs_sim_op_begin_flow(gs_sim_op *op, gs_tick horizon);
/* As a member starts: with jitter, keeps what its channels remember of the ops before; and gives it
 * to the dataflow, before the member starts there. */
void gs_sim_op_save(gs_sim_op *op, uint32_t member);
void gs_sim_op_load(gs_sim_op *op, uint32_t member);
/* All have started: by a form for rings. received, left [members]: out. false: no memory. */
bool gs_sim_op_ring(gs_sim_op *op, gs_tick *received, gs_tick *left);
/* A member has ended: what it sent is counted; and that of one of the plan's channels. */
void gs_sim_op_count(const gs_sim_op *op, uint32_t member);
void gs_sim_op_count_channel(const gs_sim_op *op, uint32_t channel, uint64_t messages,
                             int64_t bytes);
/* Bytes that a member at `place` sends in turns round a ring whose slice has so many elements. */
int64_t gs_sim_op_ring_bytes(const gs_sim_op *op, const gs_ring *ring, uint32_t place,
                             int64_t elements);

/* sim_op_stage.c: likewise of rings one after the other. */
bool gs_sim_op_stages(gs_sim_op *op, gs_tick *received, gs_tick *left);
void gs_sim_op_count_stages(const gs_sim_op *op, uint32_t member);

/* sim_op_return.c: all open ops of a line that have something to send go back to their drivers. */
void gs_sim_op_return(gs_sim *sim, gs_sim_op_line *line);
/* Nothing is on its way: so do those of all lines, whose drivers can say what they wait for. false:
 * there are none. */
bool gs_sim_ops_return(gs_sim *sim);

#endif
