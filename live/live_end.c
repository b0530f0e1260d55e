/* The end of a live run: how everybody ended becomes known, what may not be left over is looked
 * for, and process 0 adds the rows of the run. */
#include "live/live_parts.h"

#include "base/assert.h"
#include "base/log.h"
#include "live/crew.h"
#include "strategies/group.h"

#include <stdio.h>
#include <string.h>

/* Adds who waits for whom to the error. */
static void tell_waits(gs_live *live)
{
    char *text = live->shared.error.text;
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        if (live->finals[i].waits[0] != '\0') {
            size_t used = strlen(text);
            (void)snprintf(text + used, GS_ERROR_TEXT_BYTES - used, "; %s", live->finals[i].waits);
        }
    }
}

/* A worker has issued other collectives than the first member of one of its groups. Communicators
 * overlap, so each has an order of its own. */
static bool streams_differ(const gs_live *live, uint32_t rank, uint32_t *out_first)
{
    const gs_layout *layout = &live->shared.layout;
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        *out_first =
            gs_group_rank(layout->communicators[i].group, live->shared.config.job->ranks, rank, 0);
        if (live->finals[rank].op_streams[i] != live->finals[*out_first].op_streams[i]) {
            return true;
        }
    }
    return false;
}

static void check_streams(gs_live *live)
{
    for (uint32_t i = 1; i < live->shared.config.job->ranks; i++) {
        uint32_t first;
        if (streams_differ(live, i, &first)) {
            gs_error err;
            (void)gs_fail(&err, GS_EMISMATCH,
                          "workers %u and %u did not issue the same collectives in the same order",
                          first, i);
            gs_live_fail(&live->shared, &err);
        }
    }
}

/* The run ended well here: nothing may be left over, and the weights are finite. */
static void check_own(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_parcel *parcel;
    for (uint32_t i = 0; i < shared->places; i++) {
        while (shared->status == GS_OK && shared->transport->left_over(shared->net, i, &parcel)) {
            if (parcel->to < shared->entity_count && gs_live_is_here(shared, parcel->to)) {
                gs_live_entity_left_over(&live->entities[parcel->to], parcel);
            }
        }
    }
    for (uint32_t i = 0; i < shared->config.job->ranks; i++) {
        const gs_live_entity *worker = &live->entities[i];
        uint32_t vector;
        double weight;
        gs_error err;
        if (!gs_live_is_here(shared, i)) {
            continue;
        }
        gs_driver_model_view(worker->driver, &vector, &weight);
        if (gs_entity_memory_check(&worker->memory, vector, &err) != GS_OK) {
            (void)gs_fail_in(&err, "step %lld", (long long)gs_driver_step(worker->driver));
            gs_live_fail(shared, &err);
        }
    }
}

/* A launcher tells those that are left to end when one is lost: it is that one that ended the run.
 */
static void lose(gs_live_shared *shared, const gs_error *err)
{
    const gs_crew *crew = shared->config.crew;
    if (shared->status == GS_EINTERRUPTED && crew != NULL && gs_crew_lost(crew) != GS_NOT_HERE) {
        (void)gs_fail(&shared->error, GS_EINTERRUPTED, "%s", err->text);
    }
    if (shared->status == GS_OK || shared->status == GS_EDEADLOCK) {
        shared->status = err->code;
        shared->error = *err;
    }
}

/* Everybody's end becomes known. */
static void join(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    if (shared->status == GS_OK) {
        check_own(live);
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        if (gs_live_is_here(shared, i) &&
            !gs_live_final_of(&live->entities[i], &live->arena, &live->finals[i])) {
            gs_live_fail_memory(shared, "the results of the run");
        }
    }
    if (shared->config.crew != NULL &&
        gs_live_finals_gather(shared, live->finals, &live->arena, &err) != GS_OK) {
        lose(shared, &err);
    }
    for (uint32_t i = 0; live->shelves != NULL && i < shared->config.job->ranks; i++) {
        gs_live_shelf_look(&live->shelves[i]);
        if (live->shelves[i].file_after > 0) {
            live->finals[i].shelf = &live->shelves[i];
        }
    }
    bool is_whole = shared->process == 0;
    if (is_whole && shared->status == GS_EDEADLOCK) {
        tell_waits(live);
    }
    if (is_whole && shared->status == GS_OK) {
        check_streams(live);
    }
}

/* ---------------------------------------------------------------- evaluations */

/* Who is told to end is killed soon after; mpirun, which tells all others when it has lost one,
 * waits for a second, or until another ends. What there is must be written by then, so process 0
 * is in a hurry, and the others wait for it. */
static const gs_time_ns interrupted_ns = 100 * GS_NS_PER_MS;

/* What process 0 does that takes long, in a thread of its own. */
typedef struct errand {
    gs_live *live;
    gs_live_looks *looks; /* NULL: the rows of what was logged */
    uint32_t mark;
    gs_status status;
    gs_error error;
    atomic_bool is_over;
} errand;

static void act(errand *own)
{
    gs_live *live = own->live;
    const gs_live_config *config = &live->shared.config;
    own->status = own->looks != NULL ? gs_live_looks_mark(own->looks, own->mark, &own->error)
                                     : gs_live_log_rows(&live->shared.log, &live->shared.layout,
                                                        config->job->ranks, config->rows,
                                                        &live->end_ns, &own->error);
}

static void *run_errand(void *argument)
{
    errand *own = argument;
    act(own);
    atomic_store(&own->is_over, true);
    gs_crew_wake(own->live->shared.config.crew);
    return NULL;
}

/* It may take longer than the deadline, within which the others want to hear of process 0. */
static gs_status act_beside(errand *what, gs_error *err)
{
    gs_crew *crew = what->live->shared.config.crew;
    pthread_t thread;
    if (crew == NULL || gs_crew_broken(crew) != NULL ||
        pthread_create(&thread, NULL, run_errand, what) != 0) {
        act(what);
    } else {
        gs_crew_live_on(crew, &what->is_over);
        (void)pthread_join(thread, NULL);
    }
    *err = what->error;
    return what->status;
}

/* Of process 0 to all that wait for it: the models of a mark, or that no more are wanted. */
typedef struct wanted {
    int64_t mark; /* -1: none any more; this is how the run ended */
    gs_status status;
    gs_error error;
} wanted;

static gs_status ask(gs_live *live, gs_live_looks *looks, uint32_t mark, gs_error *err)
{
    wanted want = {.mark = mark};
    GS_TRY(gs_crew_share(live->shared.config.crew, &want, sizeof want, err));
    return gs_live_looks_gather(&live->shared, NULL, mark, looks->told, err);
}

/* Somebody was told to end while a run that ended well is evaluated. */
static bool is_told_to_end(const gs_live_shared *shared)
{
    bool is_own = shared->config.interrupted != NULL && shared->config.interrupted();
    return is_own || (shared->config.crew != NULL && gs_crew_is_urged(shared->config.crew));
}

/* The curve, mark by mark: who is told to end does not begin another one. What is evaluated by then
 * is the curve. */
static gs_status add_curve(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    gs_crew *crew = shared->config.crew;
    bool is_hasty =
        shared->status == GS_EINTERRUPTED || (crew != NULL && gs_crew_broken(crew) != NULL);
    gs_time_ns until_ns = is_hasty ? gs_live_clock() + 2 * interrupted_ns : GS_TIME_NEVER;
    gs_live_looks looks;
    gs_status status =
        gs_live_looks_begin(&looks, &live->entities[0], live->finals, shared->config.rows, err);
    if (looks.count > 0) {
        gs_log(GS_LOG_INFO, "live: the run has ended, %u models of it are evaluated", looks.count);
    }
    for (uint32_t i = 0;
         status == GS_OK && i < looks.count && (i == 0 || gs_live_clock() < until_ns); i++) {
        if (!is_hasty && is_told_to_end(shared)) {
            status = gs_fail(err, GS_EINTERRUPTED,
                             "interrupted after %u of %u evaluations of the run", i, looks.count);
            break;
        }
        if (looks.asks && gs_crew_broken(crew) == NULL) {
            status = ask(live, &looks, i, err);
        }
        errand evaluation = {.live = live, .looks = &looks, .mark = i};
        status = status == GS_OK ? act_beside(&evaluation, err) : status;
    }
    gs_live_looks_end(&looks);
    return status;
}

/* Of process 0. */
static void add_rows(gs_live *live, const gs_staleness *staleness)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    errand rows = {.live = live};
    gs_status status = act_beside(&rows, &err);
    status = status == GS_OK ? add_curve(live, &err) : status;
    if (status == GS_OK || status == GS_EINTERRUPTED) {
        gs_status stored = gs_staleness_store(staleness, gs_record_series(shared->config.rows));
        status = stored == GS_OK ? status : gs_fail(&err, stored, "no memory for staleness");
    }
    if (status != GS_OK && shared->status == GS_OK) {
        shared->status = status;
        shared->error = err;
    }
}

/* Process 0 has added its rows: everybody knows how the run ended at last. */
static void share_end(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_crew *crew = shared->config.crew;
    wanted last = {.mark = -1, .status = shared->status, .error = shared->error};
    gs_error err;
    if (gs_crew_broken(crew) != NULL) {
        return;
    }
    if (shared->status == GS_EINTERRUPTED) {
        gs_crew_hurry(crew, gs_live_clock() + interrupted_ns);
    }
    if (gs_crew_share(crew, &last, sizeof last, &err) != GS_OK) {
        lose(shared, &err);
    }
}

/* Of the others: gives process 0 what it wants, until it has all. */
static void serve_end(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_crew *crew = shared->config.crew;
    const gs_live_entity *own =
        shared->process < shared->entity_count ? &live->entities[shared->process] : NULL;
    wanted want = {.mark = 0};
    gs_error err;
    while (want.mark >= 0 && gs_crew_broken(crew) == NULL) {
        gs_status status = gs_crew_share(crew, &want, sizeof want, &err);
        if (status == GS_OK && want.mark >= 0) {
            status = gs_live_looks_gather(shared, own, (uint32_t)want.mark, NULL, &err);
        }
        if (status != GS_OK) {
            lose(shared, &err);
            return;
        }
    }
    if (want.mark < 0) {
        shared->status = want.status;
        shared->error = want.error;
    }
}

/* ---------------------------------------------------------------- the whole */

static void end(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    join(live);
    gs_live_result result;
    gs_live_result_get(live, &result);
    const gs_job *job = shared->config.job;
    shared->recording.about.weights_hash = result.weights_hash;
    if (shared->config.record && gs_recording_set_units(&shared->recording, job->unit_elements,
                                                        job->unit_count, &err) != GS_OK) {
        lose(shared, &err);
    }
    if (shared->config.record &&
        gs_recording_set_origin(&shared->recording, shared->config.origin, &err) != GS_OK) {
        lose(shared, &err);
    }
    if (shared->process == 0 && shared->config.rows != NULL && shared->config.scenario != NULL) {
        add_rows(live, &result.staleness);
    }
    if (shared->config.crew != NULL && shared->process == 0) {
        share_end(live);
    } else if (shared->config.crew != NULL) {
        serve_end(live);
    }
}

/* All that was sent leaves, and process 0 hears how everybody ended, as long as there is time. */
static void end_together(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_crew *crew = shared->config.crew;
    gs_time_ns until_ns = gs_live_clock() + shared->config.deadline_ns;
    if (shared->status != GS_OK) {
        gs_live_stop_all(shared);
    }
    if (shared->status == GS_EINTERRUPTED) {
        until_ns = gs_live_clock() + interrupted_ns;
    }
    if (shared->status == GS_EINTERRUPTED && shared->process == 0) {
        gs_crew_hurry(crew, until_ns + 2 * interrupted_ns);
    }
    shared->transport->drain(shared->net, until_ns);
    end(live);
    gs_crew_hurry(crew, GS_TIME_NEVER);
}

void gs_live_end(gs_live *live)
{
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        if (gs_live_is_here(&live->shared, i)) {
            gs_live_compute_stop(&live->entities[i]);
        }
    }
    if (live->shared.config.crew != NULL) {
        end_together(live);
    } else {
        end(live);
    }
}
