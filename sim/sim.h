/* One simulated run: a scenario, one of its strategies and a seed in; rows, metrics and a status
 * out.
 *
 * Step-wise: create, run in slices of events (for progress and interruption), look, destroy.
 * Nothing is global; the same inputs give the same bytes. The twin of live/live.h. */
#ifndef GS_SIM_SIM_H
#define GS_SIM_SIM_H

#include "base/status.h"
#include "sim/op_mode.h"
#include "traces/record.h"
#include "traces/scenario/scenario.h"
#include "traces/timeline.h"

typedef struct gs_sim gs_sim;

typedef struct gs_sim_config {
    const gs_scenario *scenario;        /* owner: caller, for the life of the run */
    const gs_strategy_choice *strategy; /* likewise */
    uint64_t seed;
    gs_record *record;      /* rows go here; NULL: none. Owner: caller */
    gs_timeline *timeline;  /* empty; filled with its window of steps; NULL: none. Owner: caller */
    int64_t evaluate_every; /* steps between evaluations of the model; 0:
                               gs_scenario_evaluation_steps */
    int64_t look_every;     /* steps between looks at the gradients, of which at most 1000 are made;
                               0: none */
    uint32_t threads;       /* that compute gradients, this one included; 0: 1. Changes no result */
    bool shuffle_ties;   /* events of equal time in random order: exposes hidden order dependence */
    gs_time_ns late_ns;  /* completions come up to this much late, at random: exposes races */
    bool swap_state;     /* move every strategy state before every hook */
    bool threads_always; /* also for gradients too small to gain by it: for tests */
    bool parts_always;   /* numbers of all-reduces travel in parts: for tests of the sum at once */
    bool share_always;   /* never treat a channel as private: for tests of the fast path */
} gs_sim_config;

typedef struct gs_sim_result {
    gs_status
        status; /* GS_OK, GS_EDEADLOCK, GS_EMISMATCH, GS_ECONTRACT, GS_EDIVERGED, GS_EINTERRUPTED */
    gs_error error;
    gs_run_facts facts;
    /* Of rows, ops and weights: sums, because ways to time an op may differ in who comes first at a
     * tick. */
    uint64_t result_hash;
    uint64_t weights_hash; /* of the model of every rank; 0 in timing-only runs */
    int64_t steps;         /* ended by every worker */
    size_t memory_bytes;
    bool outside_curve;             /* an op's size lay outside the measured ones of its curve */
    int64_t below_curve_bytes;      /* the least size below them; 0: none */
    int64_t above_curve_bytes;      /* the largest size above them; 0: none */
    uint64_t ops[GS_OP_MODE_COUNT]; /* collectives that were timed so, */
    uint64_t ops_returned; /* and of those by messages, the ones that were begun as a whole */
    int64_t least_message_bytes, most_message_bytes; /* that were sent over links; 0: none */
} gs_sim_result;

/* NULL on error: GS_ENOMEM, GS_EINVAL (layout refused), GS_EUNSUPPORTED. Owner: caller. */
gs_sim *gs_sim_create(const gs_sim_config *config, gs_error *err);
void gs_sim_destroy(gs_sim *sim);

/* Handles up to `events` more events. false: the run has ended. */
bool gs_sim_run(gs_sim *sim, uint64_t events);
/* Share of the budget done, 0..1, for progress. */
double gs_sim_progress(const gs_sim *sim);
/* Ends a run early: status GS_EINTERRUPTED. */
void gs_sim_interrupt(gs_sim *sim);
/* After the end. */
void gs_sim_result_get(const gs_sim *sim, gs_sim_result *out);
/* Weights of a worker's model [parameter count]; NULL in timing-only runs. */
const float *gs_sim_weights(const gs_sim *sim, uint32_t rank, size_t *out_count);

#endif
