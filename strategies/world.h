/* The services of a strategy: all it can do. Each returns at once; completion always comes on a
 * later turn.
 *
 * A slice given to a service is lent until its op_done (or message): nobody else may write it, and
 * who receives into it is the only one to touch it. A broken rule ends the run with GS_ECONTRACT
 * and a text that names entity, step and rule. */
#ifndef GS_STRATEGIES_WORLD_H
#define GS_STRATEGIES_WORLD_H

#include "strategies/strategy.h"

typedef enum gs_vop {
#define GS_VOP(name, moves) GS_VOP_##name,
#include "strategies/vops.def"
#undef GS_VOP
    GS_VOP_COUNT
} gs_vop;

/* How each of three values of all members becomes one. A NAN among them makes a sum NAN; min and
 * max leave it out, and are NAN where there is nothing else. There is one zero. */
typedef enum gs_agree_kind {
    GS_AGREE_SUM,
    GS_AGREE_MIN,
    GS_AGREE_MAX,
    GS_AGREE_KINDS
} gs_agree_kind;

enum { GS_SEND_LENT = 0, GS_SEND_COPY = 1, GS_SEND_CODED = 2, GS_SEND_SAME = 4 };

/* Who am I, and what is the job. */
gs_peer gs_self(const gs_world *world);
const gs_job *gs_world_job(const gs_world *world);
const void *gs_world_config(const gs_world *world);
uint32_t gs_bucket_count(const gs_world *world);                  /* in this step */
gs_slice gs_bucket_slice(const gs_world *world, uint32_t bucket); /* of GRAD, in this step */

/* A step as the workload asks for it, whose gradient is taken at that vector. */
static inline gs_plan gs_plan_at(const gs_world *world, uint32_t vector)
{
    return (gs_plan){
        .go = true, .at = vector, .micro_steps = (uint32_t)gs_world_job(world)->accumulation};
}

/* dst = vop(dst, a, k), element by element on the entity's stream; later requests see the result.
 * No completion event. Lengths must be equal. `a` is ignored by scale. */
void gs_vec(gs_world *world, gs_vop vop, gs_slice dst, gs_slice a, double k);

/* The host's optimizer on the whole of vector `param` with gradient `grad`; `last`: this ends the
 * step of the entity, its step counter ticks. On the entity's stream; no completion event. */
void gs_apply(gs_world *world, uint32_t param, uint32_t grad, double rate_scale, bool last);

/* The same on a slice of vector `param` with the same elements of vector `grad`; less than a whole
 * vector only where the layout says applies_slices. */
void gs_apply_slice(gs_world *world, gs_slice param, uint32_t grad, double rate_scale, bool last);

/* The step of a worker ends without an update of its own: its weights were updated elsewhere and
 * are here now. What `last` does, and nothing else. */
void gs_end_step(gs_world *world);

/* A gradient that came or was begun, or a share of one, is not used: counts the work that was for
 * nothing, and touches no vector. */
void gs_drop(gs_world *world, gs_slice gradient);

/* Sum over the elements of a times b (a == b: the square of its norm), as they are when the
 * entity's stream comes here. Ends in op_done with this cookie and `scalar`; what is written later
 * does not change it. Sums in double, in one order, the same in every host. A GRAD of mixed
 * precision is times its loss scale. */
gs_op gs_dot(gs_world *world, gs_slice a, gs_slice b, uint64_t cookie);

/* Tags of send, recv and note are below this. */
enum { GS_TAGS_MAX = 0xffe0 };

/* To `to` on `tag`; op_done when it has left and the slice is free again. GS_SEND_COPY: a private
 * copy in stream order, the slice is free at once; op_done comes all the same, so that who sends
 * can keep to the at most copies_max that may be outstanding. GS_SEND_CODED: by the codec where one
 * is chosen, which makes a copy that counts among the requests only; what could not be said stays
 * in the entity's residual at the same elements. GS_SEND_SAME, with GS_SEND_CODED: `data` as the
 * last gs_code coded it, without a residual, so that several peers get one payload. */
gs_op gs_send(gs_world *world, gs_peer to, uint16_t tag, gs_slice data, const int64_t meta[4],
              int flags);
/* `into` becomes what peers will have of `data` that is sent to them with GS_SEND_SAME: by the
 * codec, or where none is chosen `data` itself. On the entity's stream; no completion event.
 * `data` must stay as it is until it is sent. */
void gs_code(gs_world *world, gs_slice into, gs_slice data);
/* Into a slice, from one peer or GS_ANY of a role; ends in the message hook with this cookie. First
 * in first out per (source, tag); from GS_ANY in order of arrival. */
gs_op gs_recv(gs_world *world, gs_peer from, uint16_t tag, gs_slice into, uint64_t cookie);
/* 32 bytes on the control plane, unsolicited; may overtake data. Ends in the receiver's message
 * hook. */
void gs_note(gs_world *world, gs_peer to, uint16_t tag, const int64_t meta[4]);

/* Collectives of the group that this worker is in, in place; what they do to the slices:
 * strategies/collective.h. Requests on one communicator run and complete in issue order. The label
 * must be equal on all members; it comes back as op_done's cookie. */
gs_op gs_all_reduce(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label);
gs_op gs_reduce_scatter(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label);
gs_op gs_all_gather(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label);
gs_op gs_broadcast(gs_world *world, uint32_t communicator, gs_slice data, uint32_t root_member,
                   uint64_t label);
/* What all members of this worker's group know together: each value by its kind. Ends in op_done
 * with the label as cookie and `agreed`, the same bits on all members. Costs ceil(log2 members)
 * rounds of notes of 32 bytes, one more of both where members are no power of two; no vector is
 * touched. Where the layout says GS_AGREES. Agreements of one communicator run and complete in
 * issue order, beside its collectives. Members that ask for another label or kind end the run with
 * GS_EMISMATCH. */
gs_op gs_agree(gs_world *world, uint32_t communicator, gs_agree_kind kind,
               const double values[GS_AGREE_VALUES], uint64_t label);
/* How many members this worker's group has, which of them it is, and a member's part of a slice. */
uint32_t gs_members(const gs_world *world, uint32_t communicator);
uint32_t gs_member(const gs_world *world, uint32_t communicator);
gs_slice gs_part(const gs_world *world, uint32_t communicator, gs_slice data, uint32_t member);

/* In a step whose plan left buckets closed: the weights of buckets from this one on are current,
 * are pinned from now on, and the forward pass may read them. At 0 the gradient is taken. */
void gs_open_forward(gs_world *world, uint32_t first_bucket);

/* The gradient under way of this worker is stopped, where the layout says cancels: from now on no
 * bucket of it is announced and backward_done does not come, the pin has ended, and GRAD holds what
 * was announced and nothing else until the next gradient. What was sent of it arrives all the same.
 * step_begin is asked on a later turn, as after backward_done. */
void gs_cancel_gradient(gs_world *world);

/* Ends in op_done with this cookie, `after_ns` or more from now: the only way to wait for time. */
gs_op gs_timer(gs_world *world, gs_time_ns after_ns, uint64_t cookie);

/* Legs of the run (strategies/relay.h), 1 where it has no others; and the one it is in. */
uint32_t gs_leg_count(const gs_world *world);
uint32_t gs_leg_now(const gs_world *world);
/* Asks that this strategy ends with the step under way, and that leg follows it; the present one
 * too. Of workers, each of whom must ask in the same step for the same leg: after an agreement.
 * Who asks twice in a step means the last. Nothing comes of it, and the host says so, in a run of
 * one leg, once the run or the leg is to end, and where a leg begins by its time at that
 * step. */
void gs_ask_swap(gs_world *world, uint32_t leg);

/* Ask step_begin again on a later turn; not sticky, without effect when the worker is not held. */
void gs_release(gs_world *world);

/* 64 bits, a pure function of (seed, purpose, entity, step, index). Purpose: the strategy's own
 * numbering. */
uint64_t gs_bits(const gs_world *world, uint32_t purpose, int64_t step, uint32_t index);

/* The entity is drained; no hook is called after the one that says this. Only after quiesce. */
void gs_drained(gs_world *world);

#endif
