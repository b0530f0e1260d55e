/* What the driver asks of a host, and what a host tells the driver: the seam between sim and live.
 *
 * A host owns time, vectors and the network. It calls gs_driver_* (strategies/driver.h) from its
 * loop, and it answers these requests by queueing work; it never calls the driver back from inside
 * a request. */
#ifndef GS_STRATEGIES_HOST_H
#define GS_STRATEGIES_HOST_H

#include "strategies/strategy.h"
#include "strategies/world.h"

/* A message of send, recv and note. Bytes of data travel on the data plane; notes have none and
 * travel on the control plane. */
typedef struct gs_message {
    gs_peer from;
    gs_peer to;
    uint16_t tag;
    bool is_note;
    uint32_t epoch; /* of the sender: legs and handovers that it has left behind */
    int64_t meta[4];
    int64_t length; /* elements */
    bool coded;     /* by the codec */
    bool same;      /* coded: as by the last `recode`, whose key it has; without a residual */
    uint64_t key;   /* coded: number of the sender's request, for what the codec draws */
    void *data;     /* the host's handle of the payload; NULL for notes */
} gs_message;

/* An op as its group sees it: equal on all members, or the ranks disagree. */
typedef struct gs_op_signature {
    uint32_t communicator;
    uint64_t sequence; /* on this communicator, from 0 */
    uint64_t label;
    int64_t elements;
    gs_collective_kind kind;
    uint32_t root; /* of a broadcast */
    int64_t step;
    uint64_t order; /* collectives that this entity issued before, over all communicators */
} gs_op_signature;

/* What a coded collective sends is not in a vector but on the wire of its communicator: the parts
 * of send_part and absorb name it by these, from GS_WIRE on, and count in units
 * (strategies/coding.h). */
enum gs_wire_place {
    GS_WIRE_FIRST = 0x7ffffff0, /* stage 0: numbers of a sum, or payloads that came */
    GS_WIRE_SECOND,             /* stage 1 likewise */
    GS_WIRE_OUT                 /* payloads of an all-to-all that go out */
};

static inline bool gs_is_wire(gs_slice part)
{
    return part.vector >= GS_WIRE_FIRST;
}

/* From one leg to another (strategies/relay.h). */
typedef struct gs_leg_turn {
    uint32_t leg;   /* that is entered; the count of legs: the handover */
    uint32_t from;  /* the last one, */
    uint32_t to;    /* and the next */
    bool asked;     /* by the strategy, else by its time */
    int64_t passes; /* once the next one is entered: passes that every worker counts as begun */
} gs_leg_turn;

typedef struct gs_host_calls {
    /* Handle of channel `channel` of a communicator from -> to, one way; called while drivers are
     * made, by both ends. */
    uint32_t (*channel)(void *host, uint32_t communicator, uint32_t channel, gs_peer from,
                        gs_peer to);
    /* A collective was issued / is first in its line and starts now / has ended here. `slot`
     * identifies it towards this entity's driver while it is outstanding. */
    void (*issued)(void *host, gs_peer self, const gs_op_signature *op);
    /* true: the host runs the whole op itself (a measured curve, a native collective) and ends it
     * by gs_driver_native_done. */
    bool (*start)(void *host, gs_peer self, uint32_t slot, const gs_op_signature *op,
                  gs_slice data);
    void (*ended)(void *host, gs_peer self, const gs_op_signature *op);
    /* Local work of a coded collective before its stage `stage`, or after the last one: from the
     * slice to the wire, from one stage to the next, from the wire to the slice. */
    void (*code)(void *host, gs_peer self, const gs_op_signature *op, gs_slice data,
                 uint32_t stage);
    /* Queues a part on a channel. The slice keeps its bytes until the op has ended, or with `copy`
     * may change at once. */
    void (*send_part)(void *host, gs_peer self, uint32_t channel, const gs_op_signature *op,
                      gs_slice part, bool copy);
    /* A program has come to the next part of a channel, whether or not it is there. NULL: the host
     * does not wait for receivers. */
    void (*await)(void *host, gs_peer self, uint32_t channel);
    /* Adds or puts the oldest delivered part of a channel into the slice, and frees it. false: the
     * part belongs to another op. NULL in timing-only hosts, where parts are counted and nothing
     * else. */
    bool (*absorb)(void *host, gs_peer self, uint32_t channel, const gs_op_signature *op,
                   gs_slice into, bool add);
    /* Calls gs_driver_sent(slot) once everything sent on these channels has left this entity: at
     * once where sends are copied, but always on a later turn. */
    void (*flush)(void *host, gs_peer self, uint32_t slot, const uint32_t *channels,
                  uint32_t channel_count);
    /* Queues a point-to-point message; gs_driver_sent(slot) when it has left and the slice is free.
     */
    void (*send)(void *host, const gs_message *message, gs_slice data, uint32_t slot);
    /* Takes a private copy in stream order and sends that; gs_driver_sent(slot) when it has left.
     */
    void (*send_copy)(void *host, const gs_message *message, gs_slice data, uint32_t slot);
    /* Codes a slice as a message of that key would be, without a residual, and puts what its
     * receiver would have into the other slice. */
    void (*recode)(void *host, gs_peer self, gs_slice into, gs_slice data, uint64_t key);
    void (*note)(void *host, const gs_message *message);
    /* Moves a delivered message's payload into the slice, and frees it. */
    void (*take)(void *host, gs_peer self, gs_slice into, const gs_message *message);
    /* Calls gs_driver_later(slot) on a later turn. */
    void (*later)(void *host, gs_peer self, uint32_t slot);
    /* Calls gs_driver_later(slot) after_ns from now, or as late as completions come. */
    void (*timer)(void *host, gs_peer self, uint32_t slot, gs_time_ns after_ns);
    /* Asks gs_driver_step_begin again on a later turn. */
    void (*wake)(void *host, gs_peer self);
    void (*vec)(void *host, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k);
    /* The sum of gs_dot, of the vectors as all that was asked for before leaves them; NAN in
     * timing-only hosts. Calls gs_driver_later(slot) once the entity's stream has come here. */
    double (*dot)(void *host, gs_peer self, gs_slice a, gs_slice b, uint32_t slot);
    /* A slice of a vector of parameters, by the same elements of vector grad. last: the entity's
     * step ends with it. */
    void (*apply)(void *host, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last);
    /* Of a step that left buckets closed: once the entity's stream has come here the forward pass
     * may read the weights of buckets from this one on; at 0 the gradient is taken. */
    void (*open_forward)(void *host, gs_peer self, uint32_t first_bucket);
    /* The gradient under way is of no use: neither units nor backward_done of it are told any more,
     * and step_begin is asked on a later turn. When this returns nothing reads its weights or
     * writes GRAD any more; as far as its units were told GRAD stays as it is. */
    void (*cancel_gradient)(void *host, gs_peer self);
    /* The step of a worker ends without an update. */
    void (*end_step)(void *host, gs_peer self);
    /* So much of a gradient was begun and is not used. */
    void (*drop)(void *host, gs_peer self, gs_slice gradient);
    /* The entity enters a leg of its run; their count: the handover between two. Then its step
     * counts as if so many passes had begun at every worker, and the leg it comes from; first:
     * a run's first leg is entered without a word. NULL: runs of one leg. */
    void (*leg)(void *host, gs_peer self, const gs_leg_turn *turn);
    /* Moment `number` of the optimizer of PARAM, at a slice of that length and offset: into the
     * slice, or from it. On the entity's stream. NULL: as leg. */
    void (*moment)(void *host, gs_peer self, uint32_t number, gs_slice slice, bool stores);
    /* What the strategy asked for is not done, and why; NULL: nobody listens. */
    void (*not_swapped)(void *host, gs_peer self, uint32_t leg, const char *why);
    /* The entity is drained. */
    void (*drained)(void *host, gs_peer self);
    /* A rule was broken, or ranks disagree: the run ends. The driver does nothing more after this.
     */
    void (*failed)(void *host, gs_peer self, const gs_error *err);
} gs_host_calls;

#endif
