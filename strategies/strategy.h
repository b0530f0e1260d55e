/* THE CENTRE: what a synchronisation strategy is, and the contract of its hooks.
 *
 * A strategy is a struct of function pointers and plain memory. It is a reaction: a host (sim or
 * live) calls a hook when something has happened, the hook calls services (strategies/world.h) that
 * return at once, and their completion comes on a later turn of the host's loop, also for zero
 * bytes. A hook never blocks, allocates, starts threads, reads a clock or does I/O, and it never
 * sees a float: vectors belong to the host and are named. State holds values and offsets, never
 * pointers: a host saves, moves and swaps it by copying bytes. The driver (strategies/driver.h)
 * enforces the rules; docs/contract.md tells them with their reasons. */
#ifndef GS_STRATEGIES_STRATEGY_H
#define GS_STRATEGIES_STRATEGY_H

#include "base/config.h"
#include "base/json.h"
#include "base/status.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_coding gs_coding;
typedef struct gs_world gs_world; /* the services, one object an entity */

/* An outstanding request: an entity's own counter from 1, never reused, the same in every host. */
typedef uint64_t gs_op;

typedef enum gs_role { GS_WORKER, GS_SERVER, GS_ROLE_COUNT } gs_role;

/* One entity: worker 3, server 0. Index GS_ANY: whoever comes first. */
typedef struct gs_peer {
    uint16_t role;
    uint16_t index;
} gs_peer;

enum { GS_ANY = 0xffff, GS_ENTITIES_MAX = 0xfffe };

/* Vectors of an entity. PARAM and GRAD exist for every worker, PARAM for every server; own vectors
 * follow. */
enum { GS_PARAM = 0, GS_GRAD = 1, GS_OWN = 2 };

/* A piece of a host-owned vector, in elements. */
typedef struct gs_slice {
    uint32_t vector;
    int64_t offset;
    int64_t length;
} gs_slice;

/* A unit as it lies in the parameters: a matrix [rows][columns] in row-major order, then vectors.
 * rows 1: vectors alone; rows 0: not known. */
typedef struct gs_unit_shape {
    int64_t rows, columns;
} gs_unit_shape;

/* What the user says of training from a step on: a hint, for strategies that pace themselves. */
typedef enum gs_phase {
    GS_PHASE_NORMAL,
    GS_PHASE_WARMUP,
    GS_PHASE_SPARSE,   /* little is learned: communication may wait */
    GS_PHASE_CRITICAL, /* much is learned: it should not */
    GS_PHASE_COUNT
} gs_phase;

typedef struct gs_phase_from {
    int64_t from_step; /* of a worker, from 0 */
    gs_phase phase;
} gs_phase_from;

/* What every entity knows of the job before it starts; equal on all of them. */
typedef struct gs_job {
    uint32_t ranks;        /* workers, 1 to GS_ENTITIES_MAX */
    uint32_t servers;      /* server entities that the cluster offers */
    int64_t elements;      /* of the model; every PARAM and GRAD has this many */
    int32_t element_bytes; /* on the wire, 1 to 8 */
    uint32_t unit_count;   /* pieces of gradient that become ready as one, in parameter order */
    /* [unit_count]; owner: the host, for the whole run. Their sum is `elements`. */
    const int64_t *unit_elements;
    const gs_unit_shape *unit_shapes; /* likewise; NULL: none is known */
    int64_t batch;        /* samples of one pass of a worker, as the workload asks; 0: not known */
    uint32_t node_ranks;  /* workers on each node; 0: not the same on all */
    int64_t accumulation; /* forward and backward passes per step that the workload asks for */
    int64_t budget_steps; /* of each rank, by the workload's budget; 0: unknown */
    uint32_t moments;     /* vectors of the model's size that the optimizer keeps */
    uint64_t seed;
    /* [2 * ranks]: workers in the order in which rings of all of them go, then the place of each;
     * NULL: by number. Owner: the host. */
    const uint32_t *ring_order;
    const gs_phase_from *phases; /* [phase_count] by ascending step; before the first: normal */
    uint32_t phase_count;
} gs_job;

/* How gradient units become buckets: DDP's rule (strategies/bucket.h). */
typedef struct gs_bucket_rule {
    int64_t first_bytes; /* cap of the first bucket */
    int64_t cap_bytes;   /* cap of all others; 0: one unit a bucket */
} gs_bucket_rule;

/* Groups of a communicator: strategies/group.h. size 0: one group of all workers. */
typedef struct gs_group {
    uint32_t size;
    uint32_t stride;
} gs_group;

/* What can be asked of a communicator. */
typedef enum gs_collective_kind {
    GS_ALL_REDUCE,
    GS_REDUCE_SCATTER,
    GS_ALL_GATHER,
    GS_BROADCAST,
    GS_ALL_TO_ALL, /* only inside of coded all-reduces */
    GS_REDUCE,     /* this and the following: of no service */
    GS_GATHER,
    GS_SCATTER,
    GS_COLLECTIVE_KIND_COUNT
} gs_collective_kind;

/* Beside them: values of all members (gs_agree). Alone it opens no channels for data. */
enum { GS_AGREES = 1 << GS_COLLECTIVE_KIND_COUNT };

/* Workers that issue collectives together, one after the other. */
typedef struct gs_communicator {
    gs_group group;
    uint32_t kinds; /* sum of 1 << gs_collective_kind that will be asked of it, and GS_AGREES; 0:
                       all-reduce only */
    const char *all_reduce; /* algorithm: a name of collectives.def; NULL: by the rules of
                               strategies/selection.h, or ring */
    bool coded;             /* its all-reduces carry a codec, where one is chosen */
} gs_communicator;

enum {
    GS_COMMUNICATORS_MAX = 8, /* of a strategy */
    GS_LINES_MAX = 32         /* of all legs of a run together (strategies/relay.h) */
};

/* Where a run may stop: at a step that all agree on, or each entity on its own. */
typedef enum gs_cut { GS_CUT_COMMON, GS_CUT_OWN } gs_cut;

/* What a strategy needs, declared before the run; static for its whole length. */
typedef struct gs_layout {
    uint32_t servers;                    /* server entities used; 0: none */
    uint32_t gradients_per_update;       /* of a server, each a worker's step; 0: 1 */
    uint32_t own_vectors[GS_ROLE_COUNT]; /* beyond PARAM and GRAD, each of job->elements */
    size_t state_bytes[GS_ROLE_COUNT];
    uint32_t copies_max[GS_ROLE_COUNT];      /* outstanding sends with GS_SEND_COPY */
    uint32_t outstanding_max[GS_ROLE_COUNT]; /* outstanding requests of one entity */
    uint32_t communicator_count;
    gs_communicator communicators[GS_LINES_MAX]; /* numbered from 0 */
    bool point_to_point;                         /* uses send, recv or note */
    uint32_t optimizer_shards; /* ranks that the optimizer of the workers is spread over; 0: 1 */
    bool applies_slices; /* the optimizer gets less than a whole vector: not with one that looks at
                            all of it (clipping, lars, a dynamic loss scale) */
    bool ordered;        /* issues collectives in one order over all communicators, as NCCL wants */
    bool sends_coded;    /* some of its sends ask for GS_SEND_CODED */
    bool no_residual;    /* its coded sends have no use for a memory of the codec's */
    bool gated; /* some plans leave buckets closed: buckets stay in reverse parameter order */
    bool shares_servers; /* server s has shard s of the weights (strategies/ps_shard.h); else all */
    bool cancels;        /* its workers may stop a gradient that is under way */
    bool bytes_vary; /* how much it sends follows from what it learns: wire_bytes is of the start */
    bool learns_apart; /* between averages each worker has a model of its own: the one that is
                          trained is their mean, by model_view */
    gs_bucket_rule buckets;
    int64_t samples_max; /* of one pass, of a plan that names samples; 0: no plan does */
    gs_cut cut;
} gs_layout;

enum { GS_MICRO_STEPS_MAX = 65536 };

typedef struct gs_plan {
    bool go;     /* false: hold; the host asks again after gs_release */
    uint32_t at; /* the vector at which the gradient is taken; pinned until backward_done */
    uint32_t micro_steps; /* 1 to GS_MICRO_STEPS_MAX forward and backward passes: GRAD becomes their
                             mean, and buckets become ready in the last */
    /* Samples of each pass where the strategy shares them out. All workers of a pass must: their
     * sum stays ranks x batch, and a worker takes those behind the ones of lower ranks. */
    int64_t samples;        /* 1..samples_max; 0: the job's batch */
    int64_t samples_before; /* of lower ranks in the same pass; 0 where samples is 0 */
    bool dummy; /* takes part without samples: GRAD becomes 0, so does its loss; samples is 0 */
    /* The forward pass begins before the weights in `at` of buckets [0, closed_buckets) are
     * current; gs_open_forward opens them, the last ones first. 0: all are. */
    uint32_t closed_buckets;
} gs_plan;

enum { GS_AGREE_VALUES = 3 };

/* What happened. By pointer, valid during the hook; members that a hook does not name are 0. */
typedef struct gs_event {
    gs_time_ns at_ns; /* recorded by the host; there is no other time */
    gs_op op;         /* op_done, message */
    uint64_t cookie;  /* op_done: the label of a collective or of an agreement; message: that of
                         its recv */
    int64_t
        step; /* the entity's step, from 0; quiesce: the cut step, or -1 where the cut is its own */
    int64_t meta[4]; /* message */
    double loss;     /* backward_done: mean over the step's samples; NAN in timing-only runs */
    gs_peer from;    /* message */
    uint16_t tag;    /* message */
    bool is_note;    /* message: no data came with it */
    uint32_t bucket; /* bucket_ready: index in launch order */
    gs_slice slice;  /* bucket_ready: its part of GRAD; message: where the data lies */
    gs_phase phase;  /* step_begin: as the user sees it */
    double scalar;   /* op_done of gs_dot; NAN in timing-only runs */
    double agreed[GS_AGREE_VALUES]; /* op_done of gs_agree */
} gs_event;

typedef struct gs_strategy {
    size_t struct_bytes; /* sizeof(gs_strategy): the version of the contract */
    const char *name;
    const char *summary; /* one line */
    const char *source;  /* paper or code the rule is from */
    const gs_field_table *config;

    /* Checks config against the job and fills the layout. Errors: GS_EINVAL with the reason and the
     * nearest thing that works. */
    gs_status (*layout)(const void *config, const gs_job *job, gs_layout *out, gs_error *err);
    /* Bytes that one worker sends in one step on average, with that codec (never NULL); optional.
     */
    int64_t (*wire_bytes)(const void *config, const gs_job *job, const gs_coding *coding);

    /* Hooks. state: gs_layout.state_bytes of the entity's role, zeroed before init. */
    void (*init)(gs_world *world, void *state);
    gs_plan (*step_begin)(gs_world *world, void *state,
                          const gs_event *event); /* again after a hold */
    void (*bucket_ready)(gs_world *world, void *state, const gs_event *event);
    void (*backward_done)(gs_world *world, void *state, const gs_event *event);
    void (*op_done)(gs_world *world, void *state, const gs_event *event); /* means success */
    void (*message)(gs_world *world, void *state, const gs_event *event);
    /* No new work; finish or hand over what is on its way, then gs_drained. Terminal. */
    void (*quiesce)(gs_world *world, void *state, const gs_event *event);
    /* A neutral copy of drained state: export returns bytes written, import replaces init.
     * import(export(x)) is x. */
    size_t (*export_state)(const void *state, void *out, size_t out_bytes);
    void (*import_state)(gs_world *world, void *state, const void *in, size_t in_bytes);
    /* Which vector of a worker is the model, and with what weight it counts in a mean over workers.
     */
    void (*model_view)(const void *state, uint32_t *out_vector, double *out_weight);
} gs_strategy;

#endif
