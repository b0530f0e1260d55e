/* The rule of a parameter server: what becomes of a gradient that has arrived, and who may go on.
 *
 * Plain functions on a small state, without a world: the engine (strategies/ps_server.c) asks them
 * at each server, and tests play them alone. A rule has three parts. A server gathers `gather`
 * gradients into one update, each of which may be at most `delay_max` updates old; a worker that
 * has sent one waits for nobody, for the next update, or for the slowest; and the rate of an update
 * is fixed or falls with staleness. All published rules are choices of these
 * (strategies/ps_presets.c).
 *
 * Every rule that lets workers wait must say who wakes them: gs_ps_may_go is asked for each waiting
 * worker whenever gs_ps_arrive says that it may have changed. */
#ifndef GS_STRATEGIES_PS_RULE_H
#define GS_STRATEGIES_PS_RULE_H

#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_ps_wait {
    GS_PS_WAIT_NONE,   /* goes on at once */
    GS_PS_WAIT_UPDATE, /* until a gradient of its own is in an update, or was dropped */
    GS_PS_WAIT_CLOCK   /* until it is at most `ahead_max` steps ahead of the slowest */
} gs_ps_wait;

/* No bound on how old a gradient may be. */
#define GS_PS_ANY_DELAY INT64_MAX

typedef struct gs_ps_rule {
    gs_ps_wait wait;
    uint32_t gather;    /* gradients in an update, >= 1 */
    int64_t delay_max;  /* an older one is dropped; 0: only those of the current weights count */
    bool restarts;      /* an update makes who still computes stop and begin again, at the new
                           weights: what is left of its gradient is of no use */
    bool in_rank_order; /* gradients are taken by rank, not as they come: all are waited for anyway,
                           and so the sum has the same bits whatever the timing */
    bool slow_when_stale; /* a gradient that is tau > 1 updates old counts 1 / tau */
    int64_t ahead_min;    /* WAIT_CLOCK: as far ahead a worker never waits, */
    int64_t ahead_max;    /* and further it always does; in between it waits where a prediction says
                             that waiting now is shorter than waiting later (DSSP) */
} gs_ps_rule;

/* A worker as one server knows it. */
typedef struct gs_ps_worker {
    int64_t clock;          /* gradients of it that have arrived */
    int64_t version;        /* of the weights that it was given last */
    int64_t extra;          /* further steps that a prediction has allowed */
    gs_time_ns pushed_ns;   /* its last arrival, */
    gs_time_ns interval_ns; /* and the time from the one before; 0: unknown */
    bool waits;             /* its gradient has arrived and it was not let go yet */
    bool refused;           /* it was told to wait: no prediction lets it go any more */
    bool gathered;          /* of it there is a gradient in the update under way */
    bool outdated;          /* it was told that the weights it was given are old, */
    int64_t told;           /* as it was so many times in all */
} gs_ps_worker;

typedef struct gs_ps_server {
    uint32_t ranks;
    uint32_t gathered; /* gradients in the update under way */
    int64_t version;   /* updates made */
    int64_t clock_min; /* of the slowest, */
    uint32_t at_min;   /* and how many workers are there */
    int64_t dropped;   /* gradients */
    int64_t taken;     /* gradients, and how many updates they did not know of, together */
    int64_t staleness;
} gs_ps_server;

typedef struct gs_ps_verdict {
    bool dropped;
    bool updates;      /* the update is complete with it */
    bool wakes_others; /* ask for every waiting worker, not only for the sender */
    int64_t staleness; /* updates that the gradient did not know of */
} gs_ps_verdict;

void gs_ps_start(gs_ps_server *server, gs_ps_worker *workers, uint32_t ranks);

/* A gradient of the worker has arrived; at_ns only matters to predictions. Where the verdict says
 * updates, the server makes the update before it asks gs_ps_may_go. Cost O(1), and O(ranks) where
 * the slowest moved on. */
gs_ps_verdict gs_ps_arrive(const gs_ps_rule *rule, gs_ps_server *server, gs_ps_worker *workers,
                           uint32_t worker, gs_time_ns at_ns);

/* May a waiting worker go on with the weights as they are now? Notes what it answered. */
bool gs_ps_may_go(const gs_ps_rule *rule, const gs_ps_server *server, gs_ps_worker *workers,
                  uint32_t worker);
/* It goes: it has the weights of now. Also for one that did not wait and is made to begin again. */
void gs_ps_go(const gs_ps_server *server, gs_ps_worker *worker);

/* Must a worker be told to begin again? Once for the weights it was given; notes that it was. */
bool gs_ps_must_restart(const gs_ps_rule *rule, const gs_ps_server *server, gs_ps_worker *worker);
/* A worker asks for the weights of now, and has no gradient for it: it waits. */
void gs_ps_ask(gs_ps_worker *worker);

/* The update under way ends with the gradients that it has; false: it has none. */
bool gs_ps_flush(gs_ps_server *server, gs_ps_worker *workers);

#endif
