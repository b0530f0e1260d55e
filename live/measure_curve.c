#include "live/measure_curve.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "live/measure_talk.h"
#include "models/kernels.h"
#include "strategies/collective.h"

const int64_t gs_curve_sizes[GS_CURVE_SIZES] = {2400, 60000, 450000, 1700000, 6100000};

enum { REPEATS = 9, FILL_BYTES = 190000, IN_FLIGHT = 4, PASSES_MIN = 7, PASSES_MAX = 200 };
#define BUSY_NS (2 * GS_NS_PER_S)

/* ---------------------------------------------------------------- all-reduce */

typedef struct reduction {
    gs_talk talk;
    const gs_collective *program;
    const gs_carrier *native;
    void *net;
    uint32_t group;
    float *data;
    size_t count;
} reduction;

/* Parts are sent from where they lie, as the program allows. */
static gs_status send_part(reduction *on, const gs_vertex *vertex, gs_error *err)
{
    on->talk.body = on->data + vertex->offset;
    return gs_talk_send(&on->talk, vertex->peer, GS_PROBE_FILL, 0,
                        (size_t)vertex->length * sizeof(float), err);
}

static gs_status take_part(reduction *on, const gs_vertex *vertex, gs_error *err)
{
    gs_carried came;
    GS_TRY(gs_talk_hear(&on->talk, vertex->peer, &came, err));
    GS_ASSERT(came.peer == vertex->peer);
    GS_ASSERT(came.frame.body_bytes == (size_t)vertex->length * sizeof(float));
    float *into = on->data + vertex->offset;
    if (vertex->kind == GS_VERTEX_ADD) {
        gs_kernel_add(into, came.frame.body, NULL, (size_t)vertex->length, 0.0F);
    } else {
        gs_kernel_copy(into, came.frame.body, NULL, (size_t)vertex->length, 0.0F);
    }
    gs_crew_give_back(on->talk.crew, &came);
    return GS_OK;
}

static gs_status by_program(reduction *on, gs_error *err)
{
    gs_shape shape = gs_shape_plain(gs_crew_size(on->talk.crew), gs_crew_self(on->talk.crew),
                                    (int64_t)on->count);
    gs_vertex vertex;
    for (uint64_t i = 0; on->program->vertex(&shape, 0, i, &vertex); i++) {
        GS_TRY(vertex.kind == GS_VERTEX_SEND ? send_part(on, &vertex, err)
                                             : take_part(on, &vertex, err));
    }
    return GS_OK;
}

static gs_status by_carrier(reduction *on, gs_error *err)
{
    gs_time_ns until = gs_live_clock() + gs_crew_deadline_ns(on->talk.crew);
    if (!on->native->all_reduce(on->net, on->group, on->data, on->count, 0)) {
        return gs_fail(err, GS_EIO, "%s has refused an all-reduce of %zu floats", on->native->name,
                       on->count);
    }
    for (;;) {
        gs_carried came;
        bool is_frame = false;
        GS_TRY(gs_talk_turn(&on->talk, &came, &is_frame, err));
        if (came.kind == GS_CARRIED_DONE) {
            return GS_OK;
        }
        if (gs_live_clock() > until) {
            return gs_fail(err, GS_EDEADLOCK,
                           "an all-reduce of %s has not ended within %.3g s: a process was killed "
                           "or stopped, or a host cannot be reached",
                           on->native->name,
                           (double)gs_crew_deadline_ns(on->talk.crew) / (double)GS_NS_PER_S);
        }
        gs_crew_wait(on->talk.crew, until);
    }
}

/* From the moment that all have in common until this process has the sum. */
static gs_status once(reduction *on, double *out_ns, gs_error *err)
{
    gs_time_ns start;
    GS_TRY(gs_crew_meet(on->talk.crew, &start, err));
    memset(on->data, 0, on->count * sizeof *on->data);
    GS_TRY(gs_talk_until(&on->talk, start, err));
    GS_TRY(on->program != NULL ? by_program(on, err) : by_carrier(on, err));
    *out_ns = (double)(gs_live_clock() - start);
    return gs_talk_flush(&on->talk, err);
}

/* The slowest of each repeat, then the median of those. */
static gs_status judge(gs_crew *crew, const double *own, gs_arena *arena,
                       gs_curve_point out[GS_CURVE_SIZES], gs_error *err)
{
    uint32_t size = gs_crew_size(crew);
    size_t count = (size_t)GS_CURVE_SIZES * REPEATS;
    gs_crew_bytes *all = GS_TAKE(arena, gs_crew_bytes, size);
    double last[GS_CURVE_SIZES * REPEATS] = {0.0};
    if (all == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for what was measured");
    }
    GS_TRY(gs_crew_gather(crew, own, count * sizeof *own, all, err));
    for (uint32_t i = 0; gs_crew_self(crew) == 0 && i < size; i++) {
        const double *theirs = all[i].data;
        for (size_t k = 0; k < count; k++) {
            last[k] = theirs[k] > last[k] ? theirs[k] : last[k];
        }
        free(all[i].data);
    }
    for (size_t i = 0; i < GS_CURVE_SIZES; i++) {
        double median = gs_middle_of(&last[i * REPEATS], REPEATS).median;
        out[i] = (gs_curve_point){gs_curve_sizes[i], (gs_time_ns)median};
    }
    return GS_OK;
}

static gs_status prepare(reduction *on, bool native, gs_arena *arena, gs_error *err)
{
    uint32_t size = gs_crew_size(on->talk.crew);
    on->data = GS_TAKE(arena, float, (size_t)gs_curve_sizes[GS_CURVE_SIZES - 1] / sizeof(float));
    uint32_t *members = GS_TAKE(arena, uint32_t, size);
    if (on->data == NULL || members == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for an all-reduce");
    }
    if (!native) {
        on->program = gs_collective_find("ring");
        return GS_OK;
    }
    for (uint32_t i = 0; i < size; i++) {
        members[i] = i;
    }
    return on->native->group(on->net, members, size, &on->group)
               ? GS_OK
               : gs_fail(err, GS_EIO, "%s has refused a group of %u", on->native->name, size);
}

gs_status gs_measure_all_reduce(gs_crew *crew, bool native, gs_arena *arena,
                                gs_curve_point out[GS_CURVE_SIZES], bool *out_has, gs_error *err)
{
    reduction on = {.talk = {.crew = crew}};
    double own[GS_CURVE_SIZES * REPEATS];
    on.native = gs_crew_native(crew, &on.net);
    *out_has = !native || on.native != NULL;
    if (!*out_has) {
        return GS_OK;
    }
    GS_TRY(prepare(&on, native, arena, err));
    for (size_t i = 0; i < GS_CURVE_SIZES; i++) {
        on.count = (size_t)gs_curve_sizes[i] / sizeof(float);
        for (int repeat = -1; repeat < REPEATS; repeat++) { /* the first warms up */
            double time_ns;
            GS_TRY(once(&on, &time_ns, err));
            own[i * REPEATS + (size_t)(repeat < 0 ? 0 : repeat)] = time_ns;
        }
    }
    return judge(crew, own, arena, out, err);
}

/* ---------------------------------------------------------------- passes beside it */

typedef struct passer {
    gs_measured_model *model;
    double *times_ns; /* [PASSES_MAX] */
    uint32_t count;
    atomic_int stop, ended;
    gs_status status;
    gs_error error;
} passer;

static void *run_passes(void *argument)
{
    passer *on = argument;
    on->status = gs_measure_passes(on->model, PASSES_MIN, PASSES_MAX, &on->stop, on->times_ns,
                                   &on->count, &on->error);
    atomic_store(&on->ended, 1);
    return NULL;
}

/* Sends to the next process as long as the passes go on, and takes what comes until the one before
 * has ended too. */
static gs_status keep_busy(gs_talk *talk, passer *beside, gs_error *err)
{
    uint32_t size = gs_crew_size(talk->crew);
    uint32_t to = (gs_crew_self(talk->crew) + 1) % size;
    gs_time_ns heard = gs_live_clock();
    gs_time_ns until = heard + BUSY_NS;
    bool sends = true;
    bool comes = true;
    while (sends || comes || talk->unsent > 0) {
        gs_carried came;
        bool is_frame = false;
        while (sends && talk->unsent < IN_FLIGHT) {
            bool ended = atomic_load(&beside->ended) != 0;
            gs_probe_kind kind = ended ? GS_PROBE_END : GS_PROBE_FILL;
            GS_TRY(gs_talk_send(talk, to, kind, 0, ended ? 0 : FILL_BYTES, err));
            sends = !ended;
        }
        GS_TRY(gs_talk_turn(talk, &came, &is_frame, err));
        gs_time_ns now = gs_live_clock();
        if (now > until) {
            atomic_store(&beside->stop, 1);
        }
        if (is_frame) {
            comes = gs_probe_of(&came).kind != GS_PROBE_END;
            gs_crew_give_back(talk->crew, &came);
        }
        heard = came.kind != GS_CARRIED_NOTHING ? now : heard;
        if (now - heard > gs_crew_deadline_ns(talk->crew)) {
            return gs_fail(err, GS_EDEADLOCK,
                           "nothing has moved for %.3g s while passes were timed beside the "
                           "network: a process was killed or stopped",
                           (double)(now - heard) / (double)GS_NS_PER_S);
        }
        if (came.kind == GS_CARRIED_NOTHING) {
            gs_crew_wait(talk->crew, now + GS_NS_PER_MS);
        }
    }
    return GS_OK;
}

gs_status gs_measure_busy_passes(gs_crew *crew, gs_measured_model *model, gs_arena *arena,
                                 gs_estimate *out_pass_ns, gs_error *err)
{
    passer beside = {.model = model, .times_ns = GS_TAKE(arena, double, PASSES_MAX)};
    gs_talk talk = {.crew = crew, .body = gs_arena_take(arena, 1, FILL_BYTES)};
    double *scratch = GS_TAKE(arena, double, PASSES_MAX);
    gs_time_ns start;
    pthread_t thread;
    if (beside.times_ns == NULL || talk.body == NULL || scratch == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for passes beside the network");
    }
    GS_TRY(gs_crew_meet(crew, &start, err));
    GS_TRY(gs_talk_until(&talk, start, err));
    if (pthread_create(&thread, NULL, run_passes, &beside) != 0) {
        return gs_fail(err, GS_ENOMEM, "the system gives no thread");
    }
    gs_status status = keep_busy(&talk, &beside, err);
    atomic_store(&beside.stop, 1);
    (void)pthread_join(thread, NULL);
    if (status == GS_OK && beside.status != GS_OK) {
        *err = beside.error;
        status = beside.status;
    }
    if (status == GS_OK) {
        *out_pass_ns = gs_median_estimate(beside.times_ns, beside.count, scratch);
    }
    return status;
}
