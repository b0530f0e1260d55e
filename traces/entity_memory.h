/* The numbers of one entity: its vectors, its share of the learning task, and what it sends.
 *
 * Sim, live and replay all move floats through here and nowhere else, so that the same inputs in
 * the same order give the same bytes in each of them. Hosts decide when; this file does it at once.
 * In timing-only runs (no task) there are no floats and every call is a cheap no-op.
 *
 * A slice in job elements is a range of floats (models/vectors.h). Where the job is not the model's
 * size, two slices of one length at different offsets may hold different numbers of floats; what
 * would pair them is refused: false, and the host ends the run. Not thread safe: an entity and a
 * pool belong to one thread at a time.
 *
 * In half precision what a device would hold or send in 16 bits is rounded to them: GRAD when it is
 * computed and after each operation on it, every payload, and every sum of a payload and what is
 * there. PARAM, own vectors and the optimizer's state are the master copies and stay in floats. */
#ifndef GS_TRACES_ENTITY_MEMORY_H
#define GS_TRACES_ENTITY_MEMORY_H

#include "base/arena.h"
#include "base/status.h"
#include "models/halves.h"
#include "models/task.h"
#include "models/vectors.h"
#include "strategies/coding.h"
#include "strategies/host.h"
#include "strategies/strategy.h"
#include "strategies/world.h"
#include "traces/numbers.h"
#include "traces/staleness.h"
#include "traces/versions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------- payloads */

/* Floats or coded bytes on their way, and how old they are. Owner: the pool it was taken from, or
 * whoever lends a view. */
typedef struct gs_payload {
    float *data;     /* [count] */
    size_t count;    /* 0 in timing-only runs */
    int64_t version; /* of what it was copied from (traces/versions.h) */
    uint8_t *coded;  /* [bytes] instead of floats; NULL: floats */
    size_t bytes;
    struct gs_payload *next; /* of the pool */
    uint32_t size_class;
} gs_payload;

enum { GS_PAYLOAD_CLASSES = 48 };

/* Buffers by power-of-two size; grows to the most that were ever out at once, then takes no memory.
 */
typedef struct gs_payload_pool {
    gs_arena *arena;
    gs_payload *free[GS_PAYLOAD_CLASSES];
} gs_payload_pool;

void gs_payload_pool_init(gs_payload_pool *pool, gs_arena *arena);
/* Room for so many floats; what is in it is undefined. NULL: no memory. Owner: the pool. */
gs_payload *gs_payload_take(gs_payload_pool *pool, size_t count);
/* A copy of a payload; NULL: no memory. Owner: the pool. */
gs_payload *gs_payload_copy(gs_payload_pool *pool, const gs_payload *payload);
/* NULL is accepted. The payload must be of this pool. */
void gs_payload_give(gs_payload_pool *pool, gs_payload *payload);

/* ---------------------------------------------------------------- one entity */

typedef struct gs_entity_memory_config {
    const gs_job *job;
    const gs_layout *layout;
    const gs_coding *coding; /* whose vectors stand behind those of the layout; NULL: none */
    uint32_t more_vectors;   /* behind those: of codecs of other legs of the run */
    gs_peer self;
    const gs_task *task;          /* NULL: timing only */
    int64_t batch_per_rank;       /* samples of one forward and backward pass */
    gs_number number;             /* what gradients and payloads are made of */
    gs_staleness *staleness;      /* of what is applied here; NULL: nobody counts */
    const gs_accelerator *device; /* that holds the floats and works on them; NULL: nobody else */
    void *device_context;         /* opened, for this entity alone; closed after its last use */
} gs_entity_memory_config;

/* Where the update under way of a vector has got to: slices of one update do not overlap. */
typedef struct gs_update_span {
    int64_t from, to; /* elements */
    bool was_made;    /* of any of its slices: not left out for a loss scale */
} gs_update_span;

/* The momentum of sgd comes back over so many updates: that of a server whose gradients begin to be
 * stale. */
typedef struct gs_update_ramp {
    int64_t from, length; /* length 0: it is there */
} gs_update_ramp;

typedef struct gs_entity_memory {
    gs_entity_memory_config config;
    gs_numbers numbers;
    gs_vectors vectors;
    gs_versions versions;
    float *optimizer_state; /* [vector][gs_task_state_floats]; NULL: none */
    int64_t passes;         /* forward and backward passes begun: where the next samples are */
    int64_t first_pass;     /* of the gradient begun last */
    int64_t samples;        /* of all passes begun */
    int64_t first_sample;   /* of the gradient begun last, by that count */
    int64_t samples_more;   /* samples that all ranks learned from before: on top of those counted,
                               since they agreed on how many there were */
    uint32_t gradients_per_update; /* of a server */
    gs_update_ramp ramp;
    int64_t *updates;       /* [vector]: that the optimizer made to each, before that of its span */
    gs_update_span *spans;  /* [vectors]: of the next one */
    double *gradient_scale; /* [vector]: loss scale of the gradient that it holds */
    double gradient_max;    /* largest magnitude of the gradient made last; INFINITY: not finite */
    /* Elements of all gradients made that were not 0 before they were rounded to 16 bits, and those
     * of them that were then. */
    int64_t rounded_elements, underflown_elements;
    int64_t rounded_before, underflown_before; /* as the gradient begun last found them */
    double applied_max;                        /* likewise, of what was applied last */
} gs_entity_memory;

/* PARAM holds the task's starting parameters, everything else is 0. Pointers in config are borrowed
 * for the life of the memory; owner of the rest: the arena. Errors: GS_ENOMEM, GS_EUNSUPPORTED (a
 * dynamic loss scale where servers apply: they do not know with which scale a gradient was made; an
 * optimizer that looks at a whole vector where the layout applies slices).
 */
GS_MUST_USE gs_status gs_entity_memory_init(gs_entity_memory *memory,
                                            const gs_entity_memory_config *config, gs_arena *arena,
                                            gs_error *err);

/* The slice itself, for who may read it in place; good while the slice is lent. Never given to a
 * pool. */
gs_payload gs_entity_memory_view(const gs_entity_memory *memory, gs_slice slice);
/* Adds a payload to a slice, or puts it over what is there; NULL: nothing to do. Rounds as sender
 * and receiver would, so that a payload may be lent as it lies. The payload stays the caller's.
 * false: not the same number of floats. */
GS_MUST_USE bool gs_entity_memory_put(gs_entity_memory *memory, gs_slice into,
                                      const gs_payload *payload, bool add);

/* dst = vop(dst, a, k) by the kernel of that name. false: not the same number of floats. */
GS_MUST_USE bool gs_entity_memory_vec(gs_entity_memory *memory, gs_vop vop, gs_slice dst,
                                      gs_slice a, double k);
/* *out: the sum of the products of two slices' elements (gs_kernel_dot), as they are now; NAN in
 * timing-only runs. false: not the same number of floats. */
GS_MUST_USE bool gs_entity_memory_dot(const gs_entity_memory *memory, gs_slice a, gs_slice b,
                                      double *out);
/* The task's optimizer on a slice of vector param, by the same elements of vector grad; its state
 * belongs to param. Schedules are read at the samples that all ranks learned from before: of a
 * worker those before its last gradient, as if all ranks had done as many passes as it; of a server
 * those of the updates it made to param, each of as many workers' steps as the layout says. */
void gs_entity_memory_apply(gs_entity_memory *memory, gs_slice param, uint32_t grad,
                            double rate_scale);
/* The numbers of a vec or an apply, which may be worked on later and on another thread: before
 * anybody looks at them, in the order in which they were asked for. Ages and counts change when it
 * is asked for. */
typedef struct gs_entity_work {
    float *to; /* [count]; of an apply NULL */
    const float *from;
    size_t count;
    float k;
    gs_vop vop;
    bool is_rounded;
    uint32_t param; /* of an apply */
    gs_optimizer_update update;
} gs_entity_work;

/* As gs_entity_memory_vec and gs_entity_memory_apply, but for the numbers. */
GS_MUST_USE bool gs_entity_memory_plan_vec(gs_entity_memory *memory, gs_vop vop, gs_slice dst,
                                           gs_slice a, double k, gs_entity_work *out);
void gs_entity_memory_plan_apply(gs_entity_memory *memory, gs_slice param, uint32_t grad,
                                 double rate_scale, gs_entity_work *out);
/* One after the other, up to an apply of what is not finite (gs_entity_memory_check_applied). */
void gs_entity_memory_do(gs_entity_memory *memory, const gs_entity_work *work, uint32_t count);
/* false: the next thing asked for depends on what an apply finds in its numbers (a dynamic loss
 * scale), which then are worked on at once. */
bool gs_entity_memory_can_wait(const gs_entity_memory *memory);

/* Moment `number` of the optimizer of PARAM, at a slice: into the slice, or from it. One that the
 * optimizer does not keep is 0. */
void gs_entity_memory_moment(gs_entity_memory *memory, uint32_t number, gs_slice slice,
                             bool stores);
/* A leg of that layout follows another one (strategies/relay.h): schedules go on as if every
 * worker had begun so many passes, and PARAM had got an update from each step of theirs. */
void gs_entity_memory_resume(gs_entity_memory *memory, const gs_layout *layout, int64_t passes);

/* GS_OK, or GS_EDIVERGED naming the entity: what was applied last is not finite, or the weights in
 * that vector are not. */
GS_MUST_USE gs_status gs_entity_memory_check(const gs_entity_memory *memory, uint32_t vector,
                                             gs_error *err);
/* Of what was applied last alone. */
GS_MUST_USE gs_status gs_entity_memory_check_applied(const gs_entity_memory *memory, gs_error *err);
/* Where the samples of a rank's pass (from 0) lie in the stream it takes them from, by its plan;
 * before: samples that this rank took in the passes before. count 0: a dummy. */
typedef struct gs_sample_range {
    int64_t first, count;
} gs_sample_range;

gs_sample_range gs_sample_range_of(const gs_task *task, int64_t batch_per_rank, uint32_t rank,
                                   int64_t pass, int64_t before, const gs_plan *plan);
/* The most samples of one pass: what workspaces must hold. */
int64_t gs_samples_max(const gs_layout *layout, int64_t batch_per_rank);

/* A step of this worker begins: counts its passes, and fixes what its gradient is scaled by and
 * which weights it is of. */
void gs_entity_memory_begin(gs_entity_memory *memory, const gs_plan *plan);
/* The gradient begun last was cancelled, whether it was made or not: it counts for nothing but the
 * passes and samples that it began. */
void gs_entity_memory_cancel(gs_entity_memory *memory);
/* Says that the last `count` floats of GRAD are what they stay. Called with growing counts, from
 * inside gs_entity_memory_gradient and on its thread. */
typedef void gs_gradient_final(void *context, size_t count);

typedef struct gs_gradient_request {
    gs_task_workspace *workspace; /* for batches of gs_samples_max; NULL in timing-only runs */
    const gs_plan *plan;          /* of the step that began last */
    const float *weights;         /* a copy of vector plan->at as it began; NULL: it is as it was */
    gs_gradient_final *final;     /* NULL: nobody listens */
    void *context;                /* for final */
} gs_gradient_request;

/* GRAD becomes the mean gradient, times the loss scale, at vector plan->at over the samples of the
 * passes of the step, *out_loss their mean loss (NAN in timing-only runs); both are 0 for a dummy.
 * May run on a thread of its own while others read and write vectors that are neither of the two,
 * and that of GRAD which is final. Layers become final one by one, the last one first, in the
 * step's last pass; a listener hears nothing of a dummy and of timing-only runs. Errors:
 * GS_EDIVERGED, naming the worker: the loss is not finite, or the gradient while no dynamic loss
 * scale leaves it out; what was said to be final before is then not to be learned from. */
GS_MUST_USE gs_status gs_entity_memory_gradient(gs_entity_memory *memory,
                                                const gs_gradient_request *request,
                                                double *out_loss, gs_error *err);

/* Floats of a whole vector; NULL and 0 in timing-only runs. */
const float *gs_entity_memory_vector(const gs_entity_memory *memory, uint32_t vector,
                                     size_t *out_count);
/* Hash of a whole vector after `before`; `before` itself in timing-only runs. */
uint64_t gs_entity_memory_hash(const gs_entity_memory *memory, uint32_t vector, uint64_t before);

/* ---------------------------------------------------------------- ops as their group sees them */

/* Two members mean the same op. Step and order are not compared: an entity may issue before or
 * after its own steps end. */
bool gs_op_signature_equal(const gs_op_signature *a, const gs_op_signature *b);
/* Hash of an op stream with one more op; equal on all members of a communicator. Start with 0. */
uint64_t gs_op_signature_hash(const gs_op_signature *op, uint64_t before);

#endif
