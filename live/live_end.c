/* The end of a live run: how everybody ended becomes known, what may not be left over is looked
 * for, and process 0 adds the rows of the run. */
#include "live/live_parts.h"

#include "base/assert.h"
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

static void lose(gs_live_shared *shared, const gs_error *err)
{
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
    bool is_whole = shared->process == 0;
    if (is_whole && shared->status == GS_EDEADLOCK) {
        tell_waits(live);
    }
    if (is_whole && shared->status == GS_OK) {
        check_streams(live);
    }
}

static gs_status add_rows(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    const gs_live_config *config = &shared->config;
    GS_TRY(gs_live_log_rows(&shared->log, &shared->layout, config->job->ranks, config->rows,
                            &live->end_ns, err));
    return gs_live_look_rows(&live->entities[0], live->finals, config->rows, err);
}

typedef struct rows_thread {
    gs_live *live;
    gs_status status;
    gs_error error;
    atomic_bool is_over;
} rows_thread;

static void *run_rows(void *argument)
{
    rows_thread *own = argument;
    own->status = add_rows(own->live, &own->error);
    atomic_store(&own->is_over, true);
    gs_crew_wake(own->live->shared.config.crew);
    return NULL;
}

/* Evaluating may take longer than the deadline, within which the others want to hear of process 0.
 */
static gs_status add_rows_beside(gs_live *live, gs_error *err)
{
    gs_crew *crew = live->shared.config.crew;
    rows_thread rows = {.live = live};
    pthread_t thread;
    if (crew == NULL || gs_crew_broken(crew) != NULL ||
        pthread_create(&thread, NULL, run_rows, &rows) != 0) {
        return add_rows(live, err);
    }
    gs_crew_live_on(crew, &rows.is_over);
    (void)pthread_join(thread, NULL);
    *err = rows.error;
    return rows.status;
}

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
    if (shared->process != 0 || shared->config.rows == NULL || shared->config.scenario == NULL) {
        return;
    }
    gs_status status = add_rows_beside(live, &err);
    if (status == GS_OK) {
        status = gs_staleness_store(&result.staleness, gs_record_series(shared->config.rows));
    }
    if (status != GS_OK && shared->status == GS_OK) {
        shared->status = status;
        shared->error = err;
    }
}

/* Who is told to end is killed soon after; mpirun, which tells all others when it has lost one,
 * waits for a second, or until another ends. What there is must be written by then, so process 0
 * is in a hurry, and the others wait for it. */
static const gs_time_ns interrupted_ns = 100 * GS_NS_PER_MS;

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
    if (live->shared.config.crew != NULL) {
        end_together(live);
    } else {
        end(live);
    }
}
