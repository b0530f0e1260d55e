/* One live run: a strategy on real ranks, with real gradients; status, rows, weights and the order
 * of what happened out.
 *
 * Every worker and server has its own driver and stands on a thread of this process, or is a
 * process of the crew. Time is that of the machines, so only results that no timing may change can
 * be compared; for the rest there is the recording, which sim/replay.h plays again. With a crew
 * every process calls every function, in the same order; results of all are known to process 0, and
 * the others know how the run ended. The twin of sim/sim.h. */
#ifndef GS_LIVE_LIVE_H
#define GS_LIVE_LIVE_H

#include "base/status.h"
#include "live/live_net.h"
#include "models/accelerator.h"
#include "models/halves.h"
#include "models/task.h"
#include "traces/record.h"
#include "traces/recording.h"
#include "traces/scenario/scenario.h"

typedef struct gs_live gs_live;

/* Where the time of a gradient comes from. */
typedef enum gs_live_compute {
    GS_COMPUTE_TRAIN, /* it is computed, and takes what that takes */
    GS_COMPUTE_SLEEP, /* the profile's durations with the scenario's noise pass, */
    GS_COMPUTE_SPIN   /* and keep a core busy */
} gs_live_compute;

typedef struct gs_live_config {
    const gs_strategy_choice *strategy; /* owner: caller, for the life of the run, as all below */
    const gs_job *job;
    const gs_task *task;    /* NULL: timing only */
    int64_t batch_per_rank; /* samples of one forward and backward pass */
    gs_number number;       /* what gradients and payloads are made of */
    int64_t budget_steps;  /* optimizer steps of a rank, or their mean where each cuts on its own */
    const char *transport; /* name of transports.def */
    gs_delay delay;
    gs_time_ns delay_ns; /* > 0 */
    bool rendezvous;     /* data stays with its sender until the receiver takes it */
    uint64_t delay_seed;
    gs_time_ns deadline_ns; /* > 0; so long without any progress is a deadlock */
    bool swap_state;        /* move every strategy state before every hook */
    bool record;            /* keep what the drivers were told */
    const char *origin;     /* of the recording (traces/recording.h); NULL: not said */
    gs_live_compute compute;
    const gs_scenario *scenario; /* its durations, noise and evaluations; NULL: GS_COMPUTE_TRAIN, no
                                    evaluations, and buckets are not rebuilt */
    gs_record *rows; /* of process 0, filled when the run has ended; NULL: none. Owner: caller */
    gs_crew *crew;   /* NULL: this process alone */
    const gs_accelerator *device; /* that holds the floats of this process and works on them; NULL:
                                     the processor. It trains on the place then, not beside */
    uint32_t device_number;       /* of this host */
    bool native;                  /* dense all-reduces by the carrier's own, where it has one */
    gs_time_ns latency_ns;        /* what comes from another process waits so long more, */
    gs_time_ns jitter_ns;         /* and up to so long more at random */
    bool (*interrupted)(void);    /* true: end early; NULL: never */
} gs_live_config;

/* Transport loop without delays, a deadline of 5 s; what a run is about is left empty. */
gs_live_config gs_live_config_default(void);

typedef struct gs_live_result {
    gs_status status; /* GS_OK, GS_EDEADLOCK (nothing moved, or a process is gone), GS_EMISMATCH,
                         GS_ECONTRACT, GS_EDIVERGED, GS_EINTERRUPTED, GS_ENOMEM */
    gs_error error;
    uint64_t weights_hash;   /* of the models of all workers in rank order; 0 in timing-only runs */
    uint64_t op_stream_hash; /* of worker 0's collectives; equal in each group, or EMISMATCH */
    int64_t steps;           /* ended by every worker */
    int64_t gradients;       /* computed by all workers */
    gs_staleness staleness;  /* of all gradients applied */
    gs_run_facts facts;      /* of process 0; what a live run does not know is 0 or NAN */
} gs_live_result;

/* NULL on error: GS_ENOMEM, GS_EINVAL (layout or transport refused). Owner: caller. */
gs_live *gs_live_create(const gs_live_config *config, gs_error *err);
void gs_live_destroy(gs_live *live);

/* Runs to the end; once. Never hangs: deadline_ns. */
void gs_live_run(gs_live *live);

/* After the run. */
void gs_live_result_get(const gs_live *live, gs_live_result *out);
/* Weights of a worker's model [parameter count]; NULL in timing-only runs, and where another
 * process has them. */
const float *gs_live_weights(const gs_live *live, uint32_t rank, size_t *out_count);
/* Any vector of an entity of this process, for tests. */
const float *gs_live_vector(const gs_live *live, gs_peer entity, uint32_t vector,
                            size_t *out_count);
/* State of such an entity's strategy as it exports it; 0 bytes unless the run ended well. */
size_t gs_live_export(const gs_live *live, gs_peer entity, void *out, size_t out_bytes);
/* What the drivers were told; NULL unless config.record. Owner: the run. */
const gs_recording *gs_live_recording(const gs_live *live);

#endif
