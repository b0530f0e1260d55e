/* What a worker of a live run computes: really, beside its communication where it is a process of
 * its own, or for show, by the durations of the profile.
 *
 * A gradient is computed from the weights as its step began, whatever is applied meanwhile: beside
 * communication it reads a copy. Its units are announced in the order in which they become ready,
 * each on a turn of its own, by COMPUTE parcels that say which gradient they are of. */
#include "live/live_entity.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>
#include <time.h>

typedef enum beside { BESIDE_RESTS, BESIDE_WORKS, BESIDE_ENDS } beside;

struct gs_live_computer {
    gs_live_entity *entity;
    gs_live_pace *pace; /* NULL: trains */
    gs_paced_step step;
    gs_time_ns began_ns;      /* of gs_live_clock: the first kernel of the step */
    gs_time_ns not_before_ns; /* likewise: the optimizer of the step before has passed */
    uint64_t gradient;        /* under way, or the last one; parcels of others are late */
    uint32_t units_told;
    double loss;
    gs_status status;
    gs_error error;

    /* A stream of the device that spins, and keeps its own time; NULL: no device. */
    const gs_accelerator *device;
    void *stream;

    /* The thread beside, in processes of a crew. */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    beside beside;
    atomic_bool is_unwanted; /* what it does: it ends as soon as it can */
    float *weights;          /* as the step began [parameters]; NULL: timing only */
};

/* ---------------------------------------------------------------- numbers */

static gs_parcel turn_of(const gs_live_computer *computer, gs_time_ns after_ns)
{
    return (gs_parcel){.kind = GS_PARCEL_COMPUTE,
                       .from = computer->entity->number,
                       .to = computer->entity->number,
                       .request = computer->gradient,
                       .after_ns = after_ns > 0 ? after_ns : 0};
}

static void take_gradient(gs_live_computer *computer, const float *weights)
{
    gs_live_entity *entity = computer->entity;
    computer->status = gs_entity_memory_gradient(&entity->memory, entity->workspace, &entity->plan,
                                                 weights, &computer->loss, &computer->error);
}

enum { MARK_BEGIN, MARK_END };

/* Until the device is asked again whether it has ended. */
static const gs_time_ns look_again_ns = 20 * GS_NS_PER_US;

/* The device says how long it took, whatever the processor saw meanwhile. */
static void begin_on_device(gs_live_computer *computer)
{
    computer->device->mark(computer->stream, MARK_BEGIN);
    computer->device->spin(computer->stream, computer->step.compute_ns);
    computer->device->mark(computer->stream, MARK_END);
}

/* -1: it has not ended. */
static gs_time_ns device_ns(const gs_live_computer *computer)
{
    return computer->device->elapsed_ns(computer->stream, MARK_BEGIN, MARK_END);
}

/* Keeps a core busy until then, unless nobody wants it any more. */
static void spin_until(const gs_live_computer *computer, gs_time_ns until_ns)
{
    while (gs_live_clock() < until_ns && !atomic_load(&computer->is_unwanted)) {
        for (volatile int i = 0; i < 64; i++) {
        }
    }
}

static void compute_beside(gs_live_computer *computer)
{
    if (computer->entity->shared->config.compute == GS_COMPUTE_SPIN) {
        spin_until(computer, computer->began_ns + computer->step.compute_ns);
        return;
    }
    take_gradient(computer, computer->weights);
    gs_parcel parcel = turn_of(computer, 0);
    gs_live_post(computer->entity->shared, &parcel, false);
}

static void *run_beside(void *argument)
{
    gs_live_computer *computer = argument;
    (void)pthread_mutex_lock(&computer->lock);
    while (computer->beside != BESIDE_ENDS) {
        if (computer->beside == BESIDE_WORKS) {
            (void)pthread_mutex_unlock(&computer->lock);
            compute_beside(computer);
            (void)pthread_mutex_lock(&computer->lock);
            computer->beside = computer->beside == BESIDE_WORKS ? BESIDE_RESTS : computer->beside;
            (void)pthread_cond_broadcast(&computer->changed);
        } else {
            (void)pthread_cond_wait(&computer->changed, &computer->lock);
        }
    }
    (void)pthread_mutex_unlock(&computer->lock);
    return NULL;
}

static void begin_beside(gs_live_computer *computer)
{
    const gs_live_entity *entity = computer->entity;
    size_t count;
    const float *weights = gs_entity_memory_vector(&entity->memory, entity->plan.at, &count);
    (void)pthread_mutex_lock(&computer->lock);
    GS_ASSERT(computer->beside == BESIDE_RESTS);
    if (count > 0) {
        memcpy(computer->weights, weights, count * sizeof *weights);
    }
    atomic_store(&computer->is_unwanted, false);
    computer->beside = BESIDE_WORKS;
    (void)pthread_cond_broadcast(&computer->changed);
    (void)pthread_mutex_unlock(&computer->lock);
}

static void join_beside(gs_live_computer *computer)
{
    if (!computer->has_thread) {
        return;
    }
    (void)pthread_mutex_lock(&computer->lock);
    while (computer->beside == BESIDE_WORKS) {
        (void)pthread_cond_wait(&computer->changed, &computer->lock);
    }
    (void)pthread_mutex_unlock(&computer->lock);
}

/* ---------------------------------------------------------------- a step */

static void fail(gs_live_computer *computer)
{
    (void)gs_fail_in(&computer->error, "step %lld", (long long)computer->entity->steps_begun - 1);
    gs_live_fail(computer->entity->shared, &computer->error);
}

/* The numbers at once, and the first kernel when the batch is there. */
static void begin_paced(gs_live_computer *computer)
{
    gs_live_entity *entity = computer->entity;
    gs_live_shared *shared = entity->shared;
    gs_time_ns now = gs_live_clock();
    gs_time_ns begin = now > computer->not_before_ns ? now : computer->not_before_ns;
    computer->step = gs_live_pace_step(computer->pace, entity->steps_begun - 1, &entity->plan,
                                       begin - shared->start_ns);
    computer->began_ns = begin + computer->step.input_ns;
    take_gradient(computer, NULL);
    if (computer->status != GS_OK) {
        fail(computer);
        return;
    }
    if (computer->has_thread) {
        begin_beside(computer);
    } else if (computer->stream != NULL) {
        begin_on_device(computer);
    }
    gs_parcel parcel =
        turn_of(computer, computer->began_ns + computer->step.units[0].after_ns - gs_live_clock());
    gs_live_post(shared, &parcel, false);
}

void gs_live_compute_begin(gs_live_entity *entity)
{
    gs_live_computer *computer = entity->computer;
    computer->gradient++;
    computer->units_told = 0;
    computer->step.input_ns = 0;
    gs_entity_memory_begin(&entity->memory, &entity->plan);
    if (computer->pace != NULL) {
        begin_paced(computer);
        return;
    }
    computer->began_ns = gs_live_clock();
    if (computer->has_thread) {
        begin_beside(computer);
        return;
    }
    take_gradient(computer, NULL);
    gs_parcel parcel = turn_of(computer, 0);
    gs_live_post(entity->shared, &parcel, false);
}

/* What has passed when the backward pass ends, for the rows. device_ns: as a device says; -1: none
 * does. */
static void note_compute(const gs_live_computer *computer, gs_time_ns device_ns)
{
    gs_live_entity *entity = computer->entity;
    gs_time_ns start_ns = entity->shared->start_ns;
    gs_time_ns began_ns = computer->began_ns - start_ns, input_ns = computer->step.input_ns;
    if (input_ns > 0) {
        gs_live_note(entity, (gs_live_entry){.act = GS_ACT_INPUT,
                                             .from_ns = began_ns - input_ns,
                                             .to_ns = began_ns});
    }
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_COMPUTE,
                                         .from_ns = began_ns,
                                         .to_ns = device_ns >= 0 ? began_ns + device_ns
                                                                 : gs_live_clock() - start_ns});
}

static uint32_t next_unit(const gs_live_computer *computer)
{
    uint32_t units = computer->entity->shared->config.job->unit_count;
    return computer->pace != NULL ? computer->step.units[computer->units_told].unit
                                  : units - 1 - computer->units_told;
}

/* When the next thing of the step is due: a unit, or the end of the pass. */
static gs_time_ns next_due_ns(const gs_live_computer *computer)
{
    if (computer->pace == NULL) {
        return 0;
    }
    bool is_unit = computer->units_told < computer->entity->shared->config.job->unit_count;
    return computer->began_ns + (is_unit ? computer->step.units[computer->units_told].after_ns
                                         : computer->step.compute_ns);
}

void gs_live_compute_turn(gs_live_entity *entity, const gs_parcel *parcel)
{
    gs_live_computer *computer = entity->computer;
    if (parcel->request != computer->gradient || !entity->in_backward) {
        return; /* of a gradient that was cancelled */
    }
    if (computer->status != GS_OK) {
        fail(computer);
        return;
    }
    if (computer->units_told < entity->shared->config.job->unit_count) {
        uint32_t unit = next_unit(computer);
        computer->units_told++;
        gs_live_entity_unit(entity, unit);
        if (parcel->request == computer->gradient && entity->in_backward) {
            gs_parcel next = turn_of(computer, next_due_ns(computer) - gs_live_clock());
            gs_live_post(entity->shared, &next, false);
        }
        return;
    }
    gs_time_ns passed_ns = -1;
    if (computer->stream != NULL) {
        passed_ns = device_ns(computer);
        if (passed_ns < 0) {
            gs_parcel again = turn_of(computer, look_again_ns);
            gs_live_post(entity->shared, &again, false);
            return;
        }
    }
    join_beside(computer);
    note_compute(computer, passed_ns);
    gs_live_entity_backward(entity, computer->loss);
}

void gs_live_compute_cancel(gs_live_entity *entity)
{
    gs_live_computer *computer = entity->computer;
    atomic_store(&computer->is_unwanted, true);
    join_beside(computer); /* a pass that trains cannot be stopped: it ends, and is dropped */
    computer->gradient++;
    entity->in_backward = false;
    note_compute(computer, -1);
}

void gs_live_compute_applied(gs_live_entity *entity)
{
    gs_live_computer *computer = entity->computer;
    if (computer == NULL || computer->pace == NULL || computer->step.optimizer_ns == 0) {
        return;
    }
    gs_time_ns now = gs_live_clock(), start_ns = entity->shared->start_ns;
    computer->not_before_ns = now + computer->step.optimizer_ns;
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_KERNEL,
                                         .from_ns = now - start_ns,
                                         .to_ns = computer->not_before_ns - start_ns});
}

bool gs_live_is_computing(gs_live_entity *entity)
{
    gs_live_computer *computer = entity->computer;
    if (computer == NULL || !computer->has_thread) {
        return false;
    }
    (void)pthread_mutex_lock(&computer->lock);
    bool works = computer->beside == BESIDE_WORKS;
    (void)pthread_mutex_unlock(&computer->lock);
    return works;
}

/* ---------------------------------------------------------------- opening */

/* Only where the entity's place must go on moving the network, and no device does the work. */
static bool needs_thread(const gs_live_config *config)
{
    bool trains = config->compute == GS_COMPUTE_TRAIN && config->crew != NULL;
    return config->device == NULL &&
           (config->compute == GS_COMPUTE_SPIN || (trains && config->task != NULL));
}

static gs_status start_thread(gs_live_computer *computer, gs_error *err)
{
    (void)pthread_mutex_init(&computer->lock, NULL);
    (void)pthread_cond_init(&computer->changed, NULL);
    if (pthread_create(&computer->thread, NULL, run_beside, computer) != 0) {
        return gs_fail(err, GS_ENOMEM, "worker %u: the thread that computes could not be started",
                       computer->entity->number);
    }
    computer->has_thread = true;
    return GS_OK;
}

gs_status gs_live_computer_open(gs_live_entity *entity, gs_error *err)
{
    const gs_live_config *config = &entity->shared->config;
    gs_live_computer *computer = GS_TAKE(&entity->arena, gs_live_computer, 1);
    size_t count;
    (void)gs_entity_memory_vector(&entity->memory, GS_PARAM, &count);
    if (computer == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for worker %u", entity->number);
    }
    *computer = (gs_live_computer){.entity = entity, .loss = (double)NAN};
    entity->computer = computer;
    if (config->compute != GS_COMPUTE_TRAIN) {
        GS_TRY(gs_live_pace_create(config->scenario, config->job, entity->number, &entity->arena,
                                   &computer->pace, err));
    }
    if (config->device != NULL && config->compute == GS_COMPUTE_SPIN) {
        computer->device = config->device;
        GS_TRY(config->device->open(config->device_number, &computer->stream, err));
    }
    if (!needs_thread(config)) {
        return GS_OK;
    }
    computer->weights = GS_TAKE(&entity->arena, float, count);
    return computer->weights == NULL && count > 0
               ? gs_fail(err, GS_ENOMEM, "no memory for worker %u's weights", entity->number)
               : start_thread(computer, err);
}

void gs_live_computer_close(gs_live_computer *computer)
{
    if (computer->stream != NULL) {
        computer->device->close(computer->stream);
    }
    if (!computer->has_thread) {
        return;
    }
    (void)pthread_mutex_lock(&computer->lock);
    computer->beside = BESIDE_ENDS;
    (void)pthread_cond_broadcast(&computer->changed);
    (void)pthread_mutex_unlock(&computer->lock);
    (void)pthread_join(computer->thread, NULL);
    (void)pthread_cond_destroy(&computer->changed);
    (void)pthread_mutex_destroy(&computer->lock);
}
