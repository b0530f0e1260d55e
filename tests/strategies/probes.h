/* Probes: small strategies that use the contract in every way it is meant to be used, and what
 * tests need to run them. Whoever changes the contract changes them first. */
#ifndef GS_TESTS_STRATEGIES_PROBES_H
#define GS_TESTS_STRATEGIES_PROBES_H

#include "base/arena.h"
#include "models/task.h"
#include "strategies/strategy.h"
#include "strategies/world.h"
#include "traces/scenario/scenario.h"

#include <stdint.h>

enum { PROBE_RANKS_MAX = 16 };

extern const gs_strategy probe_asp;       /* asynchronous parameter server */
extern const gs_strategy probe_pair;      /* atomic pair averaging, delta form */
extern const gs_strategy probe_push_sum;  /* gossip with weights */
extern const gs_strategy probe_signals;   /* sums of products and agreements */
extern const gs_strategy probe_two_stage; /* two dependent collectives a bucket */

/* Own vector of probe_push_sum and probe_pair: the sum of what the worker's own gradients did to
 * it. */
enum { PROBE_UPDATES = GS_OWN };

/* What export_state writes, for all probes. */
typedef struct probe_export {
    int64_t sent;   /* gradients or messages sent */
    int64_t served; /* gradients applied, messages received */
    double weight;  /* push-sum's w */
} probe_export;

/* A job of that many ranks that trains an mlp on digits, with a choice for each strategy. */
typedef struct probe_job {
    gs_arena arena;
    gs_job job;
    gs_task *task;
    size_t count; /* floats of the model */
} probe_job;

enum { PROBE_BATCH = 4 };

void probe_job_init(probe_job *made, uint32_t ranks);
/* As init, for a job of another size than the model. */
void probe_job_init_sized(probe_job *made, uint32_t ranks, const int64_t *unit_elements,
                          uint32_t unit_count);
void probe_job_fini(probe_job *made);
/* A strategy with the defaults of its table; good until the arena of made ends. */
const gs_strategy_choice *probe_choose(probe_job *made, const gs_strategy *strategy);

/* ---------------------------------------------------------------- what several probes do */

/* Messages counted, for an end that loses none: a final note may overtake the last message. */
typedef struct probe_tally {
    int64_t to[PROBE_RANKS_MAX]; /* sent to each worker */
    int64_t sent, received, expected;
    uint32_t notes;
    bool told;
} probe_tally;

enum { PROBE_TAG_FINAL = 99 };

void probe_sent(probe_tally *tally, gs_peer to);
void probe_note_came(probe_tally *tally, const gs_event *event);
/* Tells every other worker once how many were sent to it. true: all have told, and all has come. */
bool probe_all_came(gs_world *world, probe_tally *tally);
/* Another worker, at random but the same in every host. */
gs_peer probe_other(const gs_world *world, int64_t step);
/* The optimizer on PARAM, the step's end. Keeps PROBE_UPDATES. */
void probe_train(gs_world *world, double rate_scale);
void probe_vec(gs_world *world, gs_vop vop, uint32_t dst, uint32_t a, double k);
/* From any worker, all of a vector. */
void probe_listen(gs_world *world, uint16_t tag, uint32_t into);
/* Hooks that have nothing to do. */
void probe_no_init(gs_world *world, void *state);
void probe_ignore(gs_world *world, void *state, const gs_event *event);
size_t probe_put(void *out, size_t out_bytes, probe_export exported);

static inline gs_slice probe_whole(const gs_world *world, uint32_t vector)
{
    return (gs_slice){vector, 0, gs_world_job(world)->elements};
}

#endif
