/* The inside of a run, shared by its eleven files and nobody else: sim.c (make, run, result),
 * sim_worker.c (what a rank computes, and when), sim_curve.c (the model now and then),
 * sim_forward.c (where it waits for weights), sim_world.c (what drivers ask of the host),
 * sim_work.c (the numbers of a rank) and sim_sum.c (those of all-reduces), sim_look.c (what a
 * timeline is told), sim_leg.c (from one strategy to the next), sim_diverge.c (why it diverged),
 * sim_ahead.c (memory asked for ahead). */
#ifndef GS_SIM_SIM_PARTS_H
#define GS_SIM_SIM_PARTS_H

#include "base/hash.h"
#include "models/team.h"
#include "traces/input_stage.h"
#include "traces/noise.h"
#include "sim/sim.h"
#include "traces/step_account.h"
#include "sim/op_mode.h"
#include "sim/sim_loop.h"
#include "sim/sim_net.h"
#include "traces/group_ops.h"
#include "sim/topology.h"
#include "strategies/driver.h"
#include "traces/divergence.h"
#include "traces/entity_memory.h"
#include "traces/gradient_watch.h"
#include "traces/model_mean.h"
#include "traces/sum.h"
#include "traces/wire.h"

typedef enum gs_worker_phase {
    GS_WORKER_ASKS,  /* or is held: between two steps */
    GS_WORKER_INPUT, /* waits for the loader */
    GS_WORKER_COMPUTES,
    GS_WORKER_GATED,  /* its forward pass waits for weights */
    GS_WORKER_BLOCKS, /* in a blocking op */
    GS_WORKER_DONE
} gs_worker_phase;

enum { GS_SIM_WORK_MAX = 32, GS_SIM_OP_TIMES = 6 };

/* The gradient of a step, from its begin to its first unit, and what was put off before it: a job
 * of the team. */
typedef struct gs_sim_gradient {
    gs_team_job job; /* first: the job is the gradient */
    struct gs_sim *sim;
    uint32_t worker;
    bool is_under_way; /* it and the work are the team's: submitted and not joined */
    gs_entity_work work[GS_SIM_WORK_MAX];
    uint32_t work_count;
    int64_t applied_step; /* of the last update among it */
    gs_plan plan;
    double loss;
    gs_loss_trail trail; /* of the worker's losses */
    double gradient_max; /* as its memory says, of the gradient that was joined last, */
    double applied_max;  /* and of the update that was settled last */
    gs_status status;
    gs_error error;
} gs_sim_gradient;

/* The sum of a group's all-reduce under way, and its shares: jobs of the team. */
typedef struct gs_sim_sum_share {
    gs_team_job job; /* first: the job is the share */
    struct gs_sim_sum *of;
    uint32_t index;
} gs_sim_sum_share;

typedef struct gs_sim_sum {
    gs_sum sum;
    gs_slice *slices;         /* [members] of sum: as far as they have started */
    gs_sim_sum_share *shares; /* [members of the team] */
    uint32_t share_count;
    uint32_t shares_left; /* not joined yet */
} gs_sim_sum;

/* What every segment of a step looks at comes first. */
typedef struct gs_sim_worker {
    gs_worker_phase phase;
    uint32_t micro_step, micro_steps;
    uint32_t segment; /* next of the program */
    int64_t step;     /* under way, or the next one to ask for */
    int64_t rows;     /* begun: that of a step begins when the stream is done with the one before */
    const gs_profile_step *program;
    gs_time_ns since_ns;     /* phase began */
    uint64_t event;          /* handle of the one it waits for; others are of what was cancelled */
    gs_time_ns batch_ns;     /* its batch comes from the loader then; 0: it waits for none */
    double compute_scale;    /* of its node */
    double overlap_slowdown; /* likewise */
    double pass_scale;       /* of this step's samples */
    gs_time_ns segment_ns;   /* of it that has been played, as the profile counts */
    gs_time_ns forward_ns;   /* of the forward pass likewise */
    uint32_t closed_buckets; /* [0, closed) whose weights the forward pass may not read yet */
    int64_t passes_more;     /* counted on top since ranks agreed on a number: strategies/swap.h */
    bool has_gradient;       /* of this step */
    bool asked_again;        /* a GS_SIM_WORKER event is on its way */
    bool told;               /* to quiesce */
    gs_sim_gradient *gradient; /* NULL: timing only */
    gs_time_ns *gates_ns;      /* [buckets]: where in it their shares begin; NULL: never gated */
    double loss;
    int64_t passes;       /* begun */
    int64_t bytes_before; /* sent before this step */
    uint64_t blocking;    /* blocking ops come to */
    gs_plan plan;         /* of the step */
} gs_sim_worker;

/* The handover under way, between two legs of the run. */
typedef struct gs_sim_handover {
    uint32_t inside;                 /* workers */
    gs_time_ns began_ns, drained_ns; /* the first one entered it, and the last */
    int64_t bytes;                   /* sent by all entities since, less those before */
    double distance;                 /* of the models then */
} gs_sim_handover;

typedef struct gs_sim_entity {
    gs_peer self;
    gs_driver *driver;
    gs_entity_memory memory;
    uint32_t leg;        /* of the run; their count: the handover */
    gs_wire *wire;       /* of the leg; NULL: nothing is coded */
    gs_wire **wires;     /* [legs] */
    gs_tick stream_free; /* its stream of vector operations is busy until then */
    double vector_bytes_per_ns;
} gs_sim_entity;

/* When the op under way on a rank started there. */
typedef struct gs_sim_op_begin {
    gs_time_ns at_ns;
    int64_t step; /* that the rank was in */
} gs_sim_op_begin;

/* A completion that a driver gets on a later turn. */
typedef struct gs_sim_call {
    uint32_t next; /* of the free list */
    uint32_t entity;
    uint32_t slot;
    uint32_t channels_left; /* a flush waits for */
    struct gs_sim_op *op;   /* native: that was timed as a whole, or a curve's, NULL; else that
                               meets itself */
    union {
        int64_t passes; /* opens: of its worker when that was asked for: it may have been stopped */
        gs_tick at;     /* of a flush: the latest channel so far */
    };
    bool native;
    bool cancelled; /* nothing is due any more */
    bool opens;     /* buckets from `slot` on, for the forward pass */
} gs_sim_call;

struct gs_sim {
    gs_sim_config config;
    const gs_scenario *scenario;
    gs_arena arena;
    gs_job job;
    gs_relay relay;   /* of the strategy: one, or those that follow one another */
    gs_layout layout; /* of all of them */
    gs_sim_handover handover;
    uint32_t timed; /* leg that all were told last to begin, by its time */
    gs_streams streams;
    bool learns; /* real gradients */
    gs_task *task;
    gs_team *team;                  /* NULL: timing only */
    gs_task_workspace **workspaces; /* [members of the team]; 0 is of the run's own thread */
    gs_gradient_watch *watch;       /* NULL: nobody watches */
    gs_staleness staleness;         /* of all gradients applied */
    bool closed;                    /* what is told once at the end has been told */
    gs_payload_pool pool;
    gs_sim_loop loop;
    gs_sim_net net;
    gs_group_ops ops;
    const gs_topology *topology;
    gs_host_calls host_calls;
    uint32_t entity_count;
    gs_sim_entity *entities; /* workers, then servers */
    gs_sim_worker *workers;
    gs_step_account *accounts;
    gs_input_loader *input; /* NULL: none */
    gs_compute_noise *compute_noise;
    const gs_noise_sampler *latency_noise;
    const gs_bucket_plan *buckets;         /* of the first step */
    const gs_bucket_plan *buckets_rebuilt; /* of those after it */
    gs_sim_call *calls;
    uint32_t call_count, call_capacity, free_call;
    gs_tick *sends_from;    /* [communicators][ranks]: nothing of the op under way is sent before */
    uint32_t *native_slots; /* [communicators][ranks]: slots of the ops that the host runs itself */
    gs_sim_sum *sums;       /* [groups of all communicators], by gs_group_ops_line; NULL: none */
    bool may_sum[GS_LINES_MAX]; /* else numbers of theirs always travel in parts */
    const gs_curve *curve;      /* of all-reduce; NULL: none */
    /* Ops that are timed as a whole: sim_op.h. */
    gs_network_mode network_mode;
    struct gs_sim_op_line *op_lines; /* [groups of all communicators], by gs_group_ops_line */
    uint32_t *op_claims;     /* [links] line + 1 that was the last one to claim it; 0: none */
    gs_tick *op_times;       /* [GS_SIM_OP_TIMES][ranks] scratch */
    gs_tick *op_samples;     /* [GS_SIM_OP_TIMES + 1][ranks] scratch of the surrogate */
    uint64_t *op_unsent;     /* [ranks] zeros: what members of its samples have sent before */
    gs_tick *op_stage_times; /* scratch of rings one after the other; NULL: none so far */
    gs_ring_room op_room;
    uint64_t *op_vertices;           /* [lanes of a member] scratch */
    gs_dataflow_transfer *under_way; /* [under_way_count] scratch */
    uint32_t under_way_count, under_way_capacity;
    bool ops_return;            /* some are going back to their drivers */
    gs_timeline *timeline;      /* NULL: nobody looks */
    gs_sim_op_begin *op_begins; /* [communicators][ranks], for the timeline */
    int64_t budget_passes;      /* forward and backward passes of one worker */
    int64_t passes;             /* ended, over all workers */
    int64_t cancelled_passes;   /* of gradients that were stopped */
    double dropped_elements;    /* of gradients that were not used, over all servers */
    uint32_t workers_told;      /* to quiesce */
    uint32_t drained;
    bool quiescing_all;
    bool ended;
    int64_t evaluate_every;
    gs_model_means model_means; /* of ranks that learn apart */
    gs_sim_result result;
};

/* sim.c */
void gs_sim_fail(gs_sim *sim, gs_status status, const gs_error *err);

/* sim_curve.c: the model that is trained, now and then and at the end. Off the simulated clock:
 * looking at it takes no time. */
void gs_sim_curve_step_ended(gs_sim *sim, uint32_t worker);
void gs_sim_curve_passes(gs_sim *sim, int64_t passes_before);
void gs_sim_curve_all_drained(gs_sim *sim);
/* models [ranks], weights [ranks]: each rank's model of now and how often it counts in their mean.
 */
void gs_sim_models(const gs_sim *sim, const float **models, double *weights, size_t *out_count);

/* sim_worker.c */
gs_status gs_sim_worker_init(gs_sim *sim, gs_error *err);
void gs_sim_worker_wake(gs_sim *sim, uint32_t worker); /* on a later turn */
void gs_sim_worker_event(gs_sim *sim, uint32_t worker, uint64_t handle);
void gs_sim_worker_go_on(gs_sim *sim, uint32_t worker); /* what it waited for has come */
void gs_sim_worker_cancel(gs_sim *sim, uint32_t worker);
void gs_sim_worker_drained(gs_sim *sim, uint32_t worker);
gs_time_ns gs_sim_worker_apply_ns(gs_sim *sim, uint32_t worker);

/* sim_work.c */
gs_sim_gradient gs_sim_gradient_of(gs_sim *sim, uint32_t worker); /* with nothing to do */
/* As gs_entity_memory_vec and _apply. What is applied may be found not to be finite later. */
GS_MUST_USE bool gs_sim_work_vec(gs_sim *sim, uint32_t entity, gs_vop vop, gs_slice dst, gs_slice a,
                                 double k);
void gs_sim_work_apply(gs_sim *sim, uint32_t entity, gs_slice param, uint32_t grad,
                       double rate_scale);
/* The step of a worker begins, and its gradient; and that is there. */
void gs_sim_work_begin(gs_sim *sim, uint32_t worker, const gs_plan *plan);
void gs_sim_work_join(gs_sim *sim, uint32_t worker);
/* Or nobody wants it: no thread touches GRAD after this, or reads the weights that it is of. */
void gs_sim_work_cancel(gs_sim *sim, uint32_t worker);
/* Somebody looks at the vectors of an entity, or of all: they are what was asked for. */
void gs_sim_work_settle(gs_sim *sim, uint32_t entity);
void gs_sim_work_settle_all(gs_sim *sim);

/* sim_sum.c */
gs_status gs_sim_sums_init(gs_sim *sim, gs_error *err);
/* Nothing but bytes travels of this op: its numbers are summed at once. */
bool gs_sim_is_summed(const gs_sim *sim, const gs_op_signature *op);
/* A member starts any op, the last one of its group or not. false: the slices of the members hold
 * different numbers of floats. */
GS_MUST_USE bool gs_sim_sum_start(gs_sim *sim, uint32_t rank, const gs_op_signature *op,
                                  gs_slice data, bool is_last);
/* A member ends any op: what it lent holds the sum. */
void gs_sim_sum_join(gs_sim *sim, uint32_t rank, const gs_op_signature *op);
/* Somebody looks at vectors that may be lent. */
void gs_sim_sums_join(gs_sim *sim);

/* sim_forward.c */
gs_status gs_sim_forward_init(gs_sim *sim, gs_error *err);
void gs_sim_forward_begin(gs_sim *sim, uint32_t worker); /* its plan is of a new step */
/* Weights of buckets from first_bucket on are there now, of the step with so many passes begun; on
 * a turn of its own. */
void gs_sim_forward_opened(gs_sim *sim, uint32_t worker, uint32_t first_bucket, int64_t passes);
/* Whether nothing of the next segment may run yet. */
bool gs_sim_forward_waits(const gs_sim_worker *worker, const gs_segment *segment);
/* Profile time of it that may; and that much was played: true where it ends with that. */
gs_time_ns gs_sim_forward_part(const gs_sim_worker *worker, const gs_segment *segment);
bool gs_sim_forward_end_part(gs_sim_worker *worker, const gs_segment *segment, gs_time_ns part_ns);

/* sim_look.c: what a timeline is told; called only where there is one. */
gs_status gs_sim_look_init(gs_sim *sim, gs_error *err);
void gs_sim_look_step(gs_sim *sim, uint32_t worker); /* its account has begun the step */
/* The segment before worker->segment. */
void gs_sim_look_compute(gs_sim *sim, uint32_t worker, gs_time_ns from_ns, gs_time_ns duration);
void gs_sim_look_blocking(gs_sim *sim, uint32_t worker, gs_time_ns last_came_ns);
void gs_sim_look_op_start(gs_sim *sim, uint32_t worker, const gs_op_signature *op,
                          gs_time_ns at_ns);
void gs_sim_look_op_end(gs_sim *sim, uint32_t worker, const gs_op_signature *op,
                        gs_time_ns last_start_ns);
/* A rank's share of an op that a curve times: to the next rank. */
void gs_sim_look_share(gs_sim *sim, uint32_t worker, int64_t bytes, gs_time_ns wire_ns);

/* sim_diverge.c: ends the run with what was not finite in a step of that entity, and why. */
void gs_sim_diverged(gs_sim *sim, uint32_t entity, int64_t step, const gs_error *what);
/* At the end: are the models of all workers finite? */
void gs_sim_check_models(gs_sim *sim);

/* sim_ahead.c: before an event is handled, for those behind it. */
void gs_sim_look_ahead(const gs_sim *sim);

/* sim_leg.c: gs_host_calls.leg and .not_swapped. */
void gs_sim_leg(void *host, gs_peer self, const gs_leg_turn *turn);
void gs_sim_leg_refused(void *host, gs_peer self, uint32_t leg, const char *why);

/* sim_world.c */
extern const gs_host_calls gs_sim_host_calls;
void gs_sim_world_open(gs_sim *sim, uint32_t worker, uint32_t first_bucket); /* in stream order */
void gs_sim_world_part(gs_sim *sim, uint32_t channel);
void gs_sim_world_note(gs_sim *sim, uint32_t part);
void gs_sim_world_left(gs_sim *sim, const gs_sim_left *left);
void gs_sim_world_call(gs_sim *sim, uint32_t call);
/* Of an op that is timed as a whole: the request in that slot ends at `at`; its channels meet then.
 * Both return the call, which may be cancelled until it is due (GS_NO_CALL: nothing to cancel). */
uint32_t gs_sim_world_op_end(gs_sim *sim, uint32_t rank, uint32_t slot, struct gs_sim_op *op,
                             gs_tick at);
uint32_t gs_sim_world_op_meeting(gs_sim *sim, struct gs_sim_op *op, gs_tick at);
void gs_sim_world_op_cancel(gs_sim *sim, uint32_t call);

#endif
