/* Plays a recording again: the same drivers, told the same things in the same order.
 *
 * No network and no clock: times are the recorded ones, the order decides everything. Gradients are
 * computed again, so a run that replays ends with the same bytes; one that does not is told apart
 * at the first record that cannot have happened, or by its weights. */
#ifndef GS_SIM_REPLAY_H
#define GS_SIM_REPLAY_H

#include "base/status.h"
#include "models/task.h"
#include "traces/recording.h"
#include "traces/scenario/scenario.h"
#include "traces/staleness.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_replay_config {
    const gs_recording *recording;      /* of a run that ended well */
    const gs_strategy_choice *strategy; /* as recorded */
    const gs_job *job;                  /* as recorded */
    const gs_task *task;                /* as recorded; NULL: timing only */
    const gs_scenario *scenario; /* as recorded: its sizes must be those of the recording, and
                                    buckets are rebuilt by it; NULL where the run had none */
    bool swap_state;             /* move every strategy state before every hook */
} gs_replay_config;

typedef struct gs_replay_result {
    uint64_t weights_hash;  /* of the models of all workers in rank order */
    size_t records;         /* played */
    gs_staleness staleness; /* of all gradients applied */
} gs_replay_result;

/* out is written in any case. Errors: GS_EINVAL (layout refused; the recording is of another run:
 * what differs), GS_EMISMATCH (an input that is not available at its place, with record, entity and
 * what was expected; an order that was changed; other weights than recorded), GS_ENOMEM, and what
 * the run itself ends with: GS_ECONTRACT, GS_EDIVERGED. */
GS_MUST_USE gs_status gs_replay_run(const gs_replay_config *config, gs_replay_result *out,
                                    gs_error *err);

#endif
