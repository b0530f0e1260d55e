/* The driver: one strategy on one entity, the same in every host.
 *
 * It turns what the host tells it into hook calls, and what the hooks ask into the three things a
 * host can do: move bytes, do local work, call again later. It keeps the table of requests, matches
 * messages, lends slices, plays the programs of collectives, and enforces the rules of the
 * contract. It has no clock: every input carries its time. All memory comes from the arena at
 * creation; steady state takes none. */
#ifndef GS_STRATEGIES_DRIVER_H
#define GS_STRATEGIES_DRIVER_H

#include "base/arena.h"
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/collective.h"
#include "strategies/host.h"
#include "strategies/relay.h"
#include "strategies/selection.h"
#include "strategies/strategy.h"

/* What the hooks see as their world. */
typedef struct gs_world gs_driver;

typedef struct gs_driver_config {
    const gs_strategy *strategy;
    const void *strategy_config; /* owner: caller, for the whole run */
    const gs_job *job;
    const gs_layout *layout;
    const gs_coding *coding;       /* of coded communicators and sends; NULL: dense */
    const gs_selection *selection; /* of programs; NULL: no rules; owner: as strategy_config */
    const gs_bucket_plan *buckets; /* of the first step; owner: the host, for the whole run */
    gs_peer self;
    const gs_host_calls *calls;
    void *host;
    const gs_relay *relay; /* of which the first is what stands above; NULL: it is the only one */
    bool swap_state; /* copy the state to another place before every hook, and poison the old one */
} gs_driver_config;

/* NULL: no memory. Owner: the arena. Opens the channels of its communicators through the host. */
gs_driver *gs_driver_create(const gs_driver_config *config, gs_arena *arena);
/* Likewise, by the config of another one in the same arena, which both then use, but for its self.
 */
gs_driver *gs_driver_create_like(const gs_driver *other, gs_peer self, gs_arena *arena);

/* Inputs. Times never go back. Where a driver has failed or is drained they do nothing. */
void gs_driver_start(gs_driver *driver, gs_time_ns at);
/* Instead of start: with the bytes of an export. */
void gs_driver_import(gs_driver *driver, gs_time_ns at, const void *state, size_t bytes);
/* Asks for the next step. out->go false: held. */
void gs_driver_step_begin(gs_driver *driver, gs_time_ns at, gs_plan *out);
/* Unit is ready in the last micro-step. Units of one step may come in any order. */
void gs_driver_unit_ready(gs_driver *driver, gs_time_ns at, uint32_t unit);
void gs_driver_backward_done(gs_driver *driver, gs_time_ns at, double loss);
/* A part arrived on an inbox (gs_driver_inbox). Parts of one inbox come in order; the host keeps
 * them until absorb. */
void gs_driver_part(gs_driver *driver, gs_time_ns at, uint32_t inbox);
/* A message or note arrived; copied. */
void gs_driver_message(gs_driver *driver, gs_time_ns at, const gs_message *message);
void gs_driver_sent(gs_driver *driver, gs_time_ns at, uint32_t slot);
void gs_driver_later(gs_driver *driver, gs_time_ns at, uint32_t slot);
void gs_driver_native_done(gs_driver *driver, gs_time_ns at, uint32_t slot);
/* Instead of it: the host ran the op, which is not coded, up to here, and the driver goes on with
 * its program: lane i has played vertices [0, vertices[i]). Parts that have come and that these
 * have not received were told by gs_driver_part before. Calls no hook, now or before a later turn.
 */
void gs_driver_native_return(gs_driver *driver, gs_time_ns at, uint32_t slot,
                             const uint64_t *vertices);
/* That leg is due by its time: a strategy that cuts on its own ends as soon as no gradient is under
 * way. Nothing happens where another leg is next, or the strategy finds the common step itself. */
void gs_driver_swap(gs_driver *driver, gs_time_ns at, uint32_t leg);
/* cut_step: the common step, or -1 where the strategy cuts on its own. */
void gs_driver_quiesce(gs_driver *driver, gs_time_ns at, int64_t cut_step);

/* The inbox for what a rank sends on a channel of a communicator; UINT32_MAX where there is none.
 */
uint32_t gs_driver_inbox(const gs_driver *driver, uint32_t communicator, uint32_t channel,
                         uint32_t rank);

/* It is about to be told something: asks for its memory, and, once that is there, for what this
 * points to. */
void gs_driver_prefetch(const gs_driver *driver);
/* plays: a part comes, and a program goes on. */
void gs_driver_prefetch_behind(const gs_driver *driver, bool plays);

/* Looks. */
int64_t gs_driver_step(const gs_driver *driver); /* steps ended: applies with `last` */
/* The leg that it is in; their count: the handover. And which one begins next by its time, and
 * at which step; false: none. */
uint32_t gs_driver_leg(const gs_driver *driver);
bool gs_driver_next_leg(const gs_driver *driver, uint32_t *out_leg, int64_t *out_step);
bool gs_driver_is_drained(const gs_driver *driver);
bool gs_driver_has_failed(const gs_driver *driver);
uint64_t gs_driver_ops_issued(const gs_driver *driver); /* requests so far: for recordings */
void gs_driver_model_view(const gs_driver *driver, uint32_t *out_vector, double *out_weight);
size_t gs_driver_export(const gs_driver *driver, void *out,
                        size_t out_bytes); /* only when drained */
/* What it waits for, for a person: "worker 3, step 12: all_reduce 5 (label 2) waits for worker 2".
 * false: it waits for nothing. */
bool gs_driver_waits_for(const gs_driver *driver, char *out, size_t out_bytes);
/* Requests and messages left over, for a person; false: none. */
bool gs_driver_leftovers(const gs_driver *driver, char *out, size_t out_bytes);
/* The buckets from the next step on; owner: the host. Equal on all workers. */
void gs_driver_set_buckets(gs_driver *driver, const gs_bucket_plan *buckets);

#endif
