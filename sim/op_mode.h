/* How an op of a collective may be timed as a whole: what is known before any op of one program on
 * one group of a communicator.
 *
 * Whole, its time costs no events: in closed form or by a recurrence where it is turns round a ring
 * (sim/ring_times.h) or stages of such (sim/sim_op_stage.c), else by its dataflow (sim/dataflow.h).
 * That is exact as long as nobody else uses its links, which only its run can tell (sim/sim_op.c),
 * and no two of its own channels meet on a link: where links are shared, that is watched
 * (sim/overlap.h). */
#ifndef GS_SIM_OP_MODE_H
#define GS_SIM_OP_MODE_H

#include "sim/dataflow.h"
#include "sim/overlap.h"
#include "sim/ring_times.h"
#include "sim/sim_net.h"
#include "strategies/group.h"
#include "strategies/selection.h"

/* How one op goes. */
typedef enum gs_op_mode {
    GS_OP_MESSAGE, /* the driver plays its program, message by message */
    GS_OP_DATAFLOW,
    GS_OP_RING, /* by the recurrence */
    GS_OP_CLOSED,
    GS_OP_SURROGATE, /* closed, and a drawn mean effect of latencies that differ */
    GS_OP_MODE_COUNT
} gs_op_mode;

/* What latencies that differ add to ops of one size, in ticks. */
typedef struct gs_op_effect {
    int64_t elements;
    double mean, deviation; /* of the mean over the members */
    struct gs_op_effect *next;
} gs_op_effect;

typedef struct gs_op_plan {
    gs_choice choice;
    gs_group group;
    uint32_t ranks, first_rank; /* of the run; member 0 of the group */
    gs_op_mode mode;            /* of its ops, where nothing is in the way */
    gs_dataflow_plan *flow;     /* NULL: message by message only */
    uint32_t *channels;         /* [flow->channel_count] of the net */
    bool *over_nic;             /* [flow->channel_count] each one's route */
    uint32_t *links;            /* [link_count] that it uses, each once */
    uint32_t link_count;
    uint32_t *shared_first; /* [channels + 1] of shared; NULL: no two channels share a link */
    uint32_t *shared;       /* links of a channel that others of the plan use too, counted anew */
    uint32_t shared_count;  /* different ones */
    uint32_t stages;        /* of rings, one after the other; 0: it is one ring, or none */
    /* Of a ring. */
    uint64_t turns;
    uint32_t first_part;
    double slowest, fastest; /* bytes per tick of its links */
    bool equal_latency;      /* and overhead */
    bool has_copies;         /* latency grows with the bytes */
    gs_time_ns latency_ns;   /* of the first channel; of all where they are equal */
    gs_tick overhead;        /* likewise */
    /* Its ops met themselves so often in a row, and this many more are not tried. */
    uint32_t meetings, skips;
    struct gs_sim_op *spare; /* done, to be used again */
    gs_op_effect *effects;   /* of the surrogate, sizes that have been met */
} gs_op_plan;

/* The group of a communicator that a plan is for. */
typedef struct gs_op_site {
    const gs_job *job;
    gs_group group;
    uint32_t first_rank;   /* its member 0 */
    uint32_t first_stream; /* of the communicator */
    gs_network_mode mode;  /* of the run */
} gs_op_site;

/* NULL: no memory. Its channels are open. Owner: the arena. */
gs_op_plan *gs_op_plan_create(gs_sim_net *net, const gs_choice *choice, const gs_op_site *site,
                              gs_arena *arena);

/* The most lanes of one member; 0 where it goes message by message. */
uint32_t gs_op_plan_lanes(const gs_op_plan *plan);

/* Rank of a member. */
static inline uint32_t gs_op_plan_rank(const gs_op_plan *plan, uint32_t member)
{
    return gs_group_rank(plan->group, plan->ranks, plan->first_rank, member);
}

#endif
