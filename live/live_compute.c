/* What a worker of a live run computes: really, beside its communication where it is a process of
 * its own, or for show, by the durations of the profile.
 *
 * A gradient is computed from the weights as its step began, whatever is applied meanwhile: beside
 * communication it reads a copy. Its units are announced in the order in which they become ready,
 * each on a turn of its own, by COMPUTE parcels that say which gradient they are of. What trains
 * beside announces a unit as soon as the layers that it lies in are final; what trains on its place
 * (threads of one process, a device) could move nothing meanwhile, and announces all at its end. */
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
    bool is_told; /* turns come from the thread beside as units become final; else each turn asks
                     for the next */
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
    size_t *final_floats;    /* [units]: of GRAD, before that many units may be told */
    uint32_t units_final;    /* of the gradient under way; the thread's */
};

/* ---------------------------------------------------------------- numbers */

/* What a COMPUTE parcel says; its slot. */
typedef enum turn { TURN_UNIT, TURN_END } turn;

static void post_turn(const gs_live_computer *computer, turn what, gs_time_ns after_ns)
{
    gs_parcel parcel = {.kind = GS_PARCEL_COMPUTE,
                        .from = computer->entity->number,
                        .to = computer->entity->number,
                        .request = computer->gradient,
                        .slot = what,
                        .after_ns = after_ns > 0 ? after_ns : 0};
    gs_live_post(computer->entity->shared, &parcel, false);
}

static void take_gradient(gs_live_computer *computer, const float *weights,
                          gs_gradient_final *final)
{
    gs_live_entity *entity = computer->entity;
    gs_gradient_request request = {.workspace = entity->workspace,
                                   .plan = &entity->plan,
                                   .weights = weights,
                                   .final = final,
                                   .context = computer};
    computer->status =
        gs_entity_memory_gradient(&entity->memory, &request, &computer->loss, &computer->error);
}

/* On the thread beside. */
static void tell_final(void *context, size_t count)
{
    gs_live_computer *computer = context;
    uint32_t units = computer->entity->shared->config.job->unit_count;
    while (computer->units_final < units &&
           computer->final_floats[computer->units_final] <= count) {
        computer->units_final++;
        post_turn(computer, TURN_UNIT, 0);
    }
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
    computer->units_final = 0;
    take_gradient(computer, computer->weights, tell_final);
    if (computer->status == GS_OK) {
        tell_final(computer, SIZE_MAX); /* of a gradient without samples nothing was told */
    }
    post_turn(computer, TURN_END, 0);
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
    take_gradient(computer, NULL, NULL);
    if (computer->status != GS_OK) {
        fail(computer);
        return;
    }
    if (computer->has_thread) {
        begin_beside(computer);
    } else if (computer->stream != NULL) {
        begin_on_device(computer);
    }
    post_turn(computer, TURN_UNIT,
              computer->began_ns + computer->step.units[0].after_ns - gs_live_clock());
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
    take_gradient(computer, NULL, NULL);
    post_turn(computer, computer->status == GS_OK ? TURN_UNIT : TURN_END, 0);
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

/* The next thing of the step, when it is due: a unit, or the end of the pass. */
static void post_next(const gs_live_computer *computer)
{
    bool is_unit = computer->units_told < computer->entity->shared->config.job->unit_count;
    gs_time_ns due_ns = 0;
    if (computer->pace != NULL) {
        due_ns = computer->began_ns + (is_unit ? computer->step.units[computer->units_told].after_ns
                                               : computer->step.compute_ns);
    }
    post_turn(computer, is_unit ? TURN_UNIT : TURN_END, due_ns - gs_live_clock());
}

static void end_pass(gs_live_computer *computer)
{
    gs_time_ns passed_ns = -1;
    if (computer->stream != NULL) {
        passed_ns = device_ns(computer);
        if (passed_ns < 0) {
            post_turn(computer, TURN_END, look_again_ns);
            return;
        }
    }
    join_beside(computer);
    if (computer->status != GS_OK) {
        fail(computer);
        return;
    }
    note_compute(computer, passed_ns);
    gs_live_entity_backward(computer->entity, computer->loss);
}

void gs_live_compute_turn(gs_live_entity *entity, const gs_parcel *parcel)
{
    gs_live_computer *computer = entity->computer;
    if (parcel->request != computer->gradient || !entity->in_backward) {
        return; /* of a gradient that was cancelled */
    }
    if (parcel->slot == TURN_END) {
        end_pass(computer);
        return;
    }
    uint32_t unit = next_unit(computer);
    computer->units_told++;
    gs_live_entity_unit(entity, unit);
    if (!computer->is_told && parcel->request == computer->gradient && entity->in_backward) {
        post_next(computer);
    }
}

void gs_live_compute_stop(gs_live_entity *entity)
{
    gs_live_computer *computer = entity->computer;
    if (computer != NULL) {
        atomic_store(&computer->is_unwanted, true);
        join_beside(computer); /* a pass that trains cannot be stopped: it ends, and is dropped */
    }
}

void gs_live_compute_cancel(gs_live_entity *entity)
{
    gs_live_computer *computer = entity->computer;
    gs_live_compute_stop(entity);
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

gs_time_ns gs_live_compute_free_ns(const gs_live_entity *entity)
{
    const gs_live_computer *computer = entity->computer;
    bool paced = computer != NULL && computer->not_before_ns > 0;
    return paced ? computer->not_before_ns - entity->shared->start_ns : 0;
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

/* How much of GRAD is final before that many units may be told. A unit that is told may close a
 * bucket, which may lie elsewhere than the unit where buckets are filled in an order that a profile
 * gives (strategies/bucket.h). */
static bool find_final_floats(gs_live_computer *computer)
{
    gs_live_entity *entity = computer->entity;
    const gs_live_shared *shared = entity->shared;
    const gs_job *job = shared->config.job;
    const gs_bucket_plan *const plans[] = {shared->buckets, shared->buckets_rebuilt};
    enum { PLANS = sizeof plans / sizeof *plans };
    uint32_t *told = GS_TAKE(&entity->arena, uint32_t, PLANS * (size_t)job->unit_count);
    computer->final_floats = GS_TAKE(&entity->arena, size_t, job->unit_count);
    if (told == NULL || computer->final_floats == NULL) {
        return false;
    }
    int64_t elements = 0, needed = 0;
    for (uint32_t i = 0; i < job->unit_count; i++) {
        uint32_t unit = job->unit_count - 1 - i;
        elements += job->unit_elements[unit];
        needed = elements > needed ? elements : needed;
        for (uint32_t p = 0; p < PLANS && plans[p] != NULL; p++) {
            uint32_t bucket = plans[p]->bucket_of_unit[unit];
            bool closes = ++told[p * job->unit_count + bucket] == plans[p]->units_in_bucket[bucket];
            int64_t end = plans[p]->offsets[bucket + 1];
            needed = closes && end > needed ? end : needed;
        }
        (void)gs_vectors_slice(&entity->memory.vectors, GS_GRAD, 0, needed,
                               &computer->final_floats[i]);
    }
    return true;
}

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
    computer->is_told = computer->pace == NULL;
    computer->weights = GS_TAKE(&entity->arena, float, count);
    if ((computer->weights == NULL && count > 0) ||
        (computer->is_told && !find_final_floats(computer))) {
        return gs_fail(err, GS_ENOMEM, "no memory for worker %u's weights", entity->number);
    }
    return start_thread(computer, err);
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
