/* What the processes of a live run say to each other while it goes: how much is done, that it is
 * over, and that they live. Process 0 counts for all and decides; without a crew it is alone. */
#include "live/live_entity.h"

#include "live/crew.h"

#include <stdio.h>
#include <string.h>

typedef enum word_kind {
    WORD_COUNT, /* to process 0: what, amount */
    WORD_BEAT,  /* idle_ns: for so long nothing has moved there */
    WORD_FAIL,  /* to process 0: the run cannot go on, what, error */
    WORD_STOP   /* of process 0: it is over, error says how, what */
} word_kind;

typedef struct word {
    uint32_t kind;
    uint32_t what; /* gs_live_count; of FAIL and STOP: the process that is lost, or GS_NOT_HERE */
    int64_t amount;
    gs_time_ns idle_ns;
    gs_error error; /* of FAIL and STOP; others leave it out */
} word;

static void tell(gs_live_shared *shared, uint32_t process, const word *said)
{
    bool has_error = said->kind == WORD_FAIL || said->kind == WORD_STOP;
    gs_payload payload = {.coded = (uint8_t *)(uintptr_t)said,
                          .bytes = has_error ? sizeof *said : offsetof(word, error)};
    gs_parcel parcel = {
        .kind = GS_PARCEL_WORD, .from = shared->process, .to = process, .payload = &payload};
    gs_live_post(shared, &parcel, true);
}

static void tell_all(gs_live_shared *shared, const word *said)
{
    for (uint32_t i = 0; i < shared->process_count; i++) {
        if (i != shared->process) {
            tell(shared, i, said);
        }
    }
}

/* ---------------------------------------------------------------- the end */

void gs_live_stop_all(gs_live_shared *shared)
{
    word stop = {.kind = WORD_STOP, .what = GS_NOT_HERE, .error = shared->error};
    stop.error.code = shared->status;
    if (shared->config.crew != NULL) {
        stop.what = gs_crew_lost(shared->config.crew);
    }
    if (shared->process == 0) {
        tell_all(shared, &stop);
    } else if (shared->status != GS_OK) {
        stop.kind = WORD_FAIL;
        tell(shared, 0, &stop);
    }
    shared->transport->stop(shared->net);
}

static void hear_end(gs_live_shared *shared, const word *said)
{
    if (said->what != GS_NOT_HERE) {
        gs_crew_break(shared->config.crew, said->what, &said->error);
    }
    if (said->error.code != GS_OK) {
        gs_live_fail(shared, &said->error); /* process 0 tells the others when it stops */
    } else {
        shared->transport->stop(shared->net);
    }
}

/* ---------------------------------------------------------------- counting */

static void quiesce(gs_live_shared *shared, uint32_t first)
{
    for (uint32_t i = first; i < shared->entity_count; i++) {
        gs_parcel parcel = {.kind = GS_PARCEL_QUIESCE, .to = i};
        gs_live_post(shared, &parcel, false);
    }
}

/* So many passes were taken: tells the workers which legs begin by that. */
static void begin_legs(gs_live_shared *shared, int64_t passes, int64_t amount)
{
    const gs_job *job = shared->config.job;
    for (uint32_t leg = 1; leg < shared->relay.count; leg++) {
        int64_t from = shared->relay.list[leg].from_step * job->accumulation * job->ranks;
        for (uint32_t i = 0; from > 0 && passes >= from && passes - amount < from && i < job->ranks;
             i++) {
            gs_parcel parcel = {.kind = GS_PARCEL_SWAP, .to = i, .slot = leg};
            gs_live_post(shared, &parcel, false);
        }
    }
}

/* Of process 0. A strategy that cuts on its own has a budget of gradients, and all stop where they
 * are. Servers are told of the common cut when no worker can ask them for more than it owes. */
static void counted(gs_live_shared *shared, gs_live_count what, int64_t amount)
{
    int64_t budget = shared->budget_passes * shared->config.job->ranks;
    int64_t passes;
    switch (what) {
    case GS_COUNT_PASSES:
        passes = atomic_fetch_add(&shared->all_passes, amount) + amount;
        begin_legs(shared, passes, amount);
        if (shared->layout.cut == GS_CUT_OWN && passes >= budget && passes - amount < budget) {
            quiesce(shared, 0);
        }
        break;
    case GS_COUNT_TOLD:
        if (atomic_fetch_add(&shared->workers_told, 1) + 1 == shared->config.job->ranks) {
            quiesce(shared, shared->config.job->ranks);
        }
        break;
    case GS_COUNT_DRAINED:
        if (atomic_fetch_add(&shared->drained, 1) + 1 == shared->entity_count) {
            gs_live_stop_all(shared);
        }
        break;
    case GS_COUNT_KINDS:
        break;
    }
}

void gs_live_count_more(gs_live_shared *shared, gs_live_count what, int64_t amount)
{
    if (shared->process == 0) {
        counted(shared, what, amount);
    } else {
        tell(shared, 0, &(word){.kind = WORD_COUNT, .what = what, .amount = amount});
    }
}

/* ---------------------------------------------------------------- who lives */

static gs_time_ns idle_ns(const gs_live_shared *shared)
{
    bool all_wait = atomic_load(&shared->waiting) == shared->places;
    return all_wait ? gs_live_clock() - (gs_time_ns)atomic_load(&shared->progress_ns) : 0;
}

static void fail_deadlock(gs_live_shared *shared)
{
    gs_error err;
    (void)gs_fail(&err, GS_EDEADLOCK, "nothing has moved for %.3g s",
                  (double)shared->config.deadline_ns / 1e9);
    gs_live_fail(shared, &err);
}

static void fail_lost(gs_live_shared *shared, uint32_t process)
{
    gs_error err;
    (void)gs_fail(&err, GS_EDEADLOCK,
                  "%s has said nothing for %.3g s: it was killed or stopped, or its host cannot be "
                  "reached",
                  gs_crew_name(shared->config.crew, process),
                  (double)shared->config.deadline_ns / 1e9);
    gs_crew_break(shared->config.crew, process, &err);
    gs_live_fail(shared, &err);
}

void gs_live_look_around(gs_live_shared *shared)
{
    gs_time_ns now = gs_live_clock(), least_idle = idle_ns(shared);
    gs_time_ns deadline = shared->config.deadline_ns;
    if (shared->beats != NULL && now - shared->beaten_ns >= deadline / 8) {
        shared->beaten_ns = now;
        word beat = {.kind = WORD_BEAT, .idle_ns = least_idle};
        if (shared->process == 0) {
            tell_all(shared, &beat);
        } else {
            tell(shared, 0, &beat);
        }
    }
    for (uint32_t i = 0; shared->beats != NULL && i < shared->process_count; i++) {
        bool is_watched = i != shared->process && (shared->process == 0 || i == 0);
        if (is_watched && now - shared->beats[i].at_ns > deadline) {
            fail_lost(shared, i);
            return;
        }
        gs_time_ns idle =
            is_watched && shared->process == 0 ? shared->beats[i].idle_ns : least_idle;
        least_idle = idle < least_idle ? idle : least_idle;
    }
    if (shared->process == 0 && least_idle >= deadline) {
        fail_deadlock(shared);
    }
}

void gs_live_hear(gs_live_shared *shared, const gs_parcel *parcel)
{
    word said = {0};
    memcpy(&said, parcel->payload->coded,
           parcel->payload->bytes < sizeof said ? parcel->payload->bytes : sizeof said);
    shared->beats[parcel->from].at_ns = gs_live_clock();
    switch ((word_kind)said.kind) {
    case WORD_COUNT:
        counted(shared, (gs_live_count)said.what, said.amount);
        break;
    case WORD_BEAT:
        shared->beats[parcel->from].idle_ns = said.idle_ns;
        break;
    case WORD_FAIL:
    case WORD_STOP:
        hear_end(shared, &said);
        break;
    }
}
