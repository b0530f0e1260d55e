#include "traces/entity_memory.h"

#include "base/assert.h"
#include "base/hash.h"
#include "models/kernels.h"
#include "traces/compose.h"
#include "traces/divergence.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- payloads */

void gs_payload_pool_init(gs_payload_pool *pool, gs_arena *arena)
{
    *pool = (gs_payload_pool){.arena = arena};
}

gs_payload *gs_payload_take(gs_payload_pool *pool, size_t count)
{
    uint32_t size_class = 0;
    while (((size_t)1 << size_class) < count) {
        size_class++;
    }
    GS_ASSERT(size_class < GS_PAYLOAD_CLASSES);
    gs_payload *payload = pool->free[size_class];
    if (payload != NULL) {
        pool->free[size_class] = payload->next;
    } else {
        payload = GS_TAKE(pool->arena, gs_payload, 1);
        float *data = GS_TAKE(pool->arena, float, (size_t)1 << size_class);
        if (payload == NULL || data == NULL) {
            return NULL;
        }
        payload->data = data;
        payload->size_class = size_class;
    }
    payload->next = NULL;
    payload->count = count;
    payload->coded = NULL;
    payload->bytes = 0;
    return payload;
}

gs_payload *gs_payload_copy(gs_payload_pool *pool, const gs_payload *payload)
{
    bool coded = payload->coded != NULL;
    size_t floats = (payload->bytes + sizeof(float) - 1) / sizeof(float);
    gs_payload *copy = gs_payload_take(pool, coded ? floats : payload->count);
    if (copy == NULL) {
        return NULL;
    }
    copy->version = payload->version;
    if (coded) {
        copy->coded = (uint8_t *)copy->data;
        copy->bytes = payload->bytes;
        copy->count = 0;
        memcpy(copy->coded, payload->coded, payload->bytes);
    } else {
        gs_kernel_copy(copy->data, payload->data, NULL, payload->count, 0.0F);
    }
    return copy;
}

void gs_payload_give(gs_payload_pool *pool, gs_payload *payload)
{
    if (payload != NULL) {
        payload->next = pool->free[payload->size_class];
        pool->free[payload->size_class] = payload;
    }
}

/* ---------------------------------------------------------------- creation */

gs_status gs_entity_memory_init(gs_entity_memory *memory, const gs_entity_memory_config *config,
                                gs_arena *arena, gs_error *err)
{
    const gs_task *task = config->task;
    uint32_t vectors = GS_OWN + config->layout->own_vectors[config->self.role] +
                       gs_coding_vectors(config->coding) + config->more_vectors;
    size_t count = task != NULL ? gs_task_parameter_count(task) : 0;
    size_t state_floats = task != NULL ? gs_task_state_floats(task) : 0;
    *memory = (gs_entity_memory){.config = *config,
                                 .gradients_per_update = config->layout->gradients_per_update};
    if (task != NULL &&
        gs_compose_optimizer(config->layout, gs_task_optimizer(task), err) != GS_FIT_YES) {
        return GS_EUNSUPPORTED;
    }
    memory->updates = GS_PACK(arena, int64_t, vectors);
    memory->spans = GS_PACK(arena, gs_update_span, vectors);
    memory->gradient_scale = GS_PACK(arena, double, vectors);
    bool ok = memory->updates != NULL && memory->spans != NULL && memory->gradient_scale != NULL &&
              gs_numbers_init(&memory->numbers, config->device, config->device_context,
                              config->number, count) &&
              gs_vectors_init(&memory->vectors, vectors, config->device == NULL ? count : 0,
                              config->job->elements, arena) &&
              gs_versions_init(&memory->versions, vectors, config->job->elements, arena);
    if (ok && config->device != NULL && count > 0) {
        memory->vectors.count = count;
        memory->vectors.data = gs_numbers_take(&memory->numbers, vectors * count, arena);
        ok = memory->vectors.data != NULL;
    }
    if (ok && state_floats > 0) {
        memory->optimizer_state = gs_numbers_take(&memory->numbers, vectors * state_floats, arena);
        ok = memory->optimizer_state != NULL;
    }
    if (!ok) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u vectors of %zu floats", vectors, count);
    }
    if (task != NULL) {
        gs_task_init(task, memory->vectors.data);
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- moving floats */

static float *floats_of(const gs_entity_memory *memory, gs_slice slice, size_t *out_count)
{
    return gs_vectors_slice(&memory->vectors, slice.vector, slice.offset, slice.length, out_count);
}

gs_payload gs_entity_memory_view(const gs_entity_memory *memory, gs_slice slice)
{
    gs_payload view = {
        .version = gs_versions_oldest(&memory->versions, slice.vector, slice.offset, slice.length)};
    view.data = floats_of(memory, slice, &view.count);
    gs_numbers_settle(&memory->numbers);
    return view;
}

bool gs_entity_memory_put(gs_entity_memory *memory, gs_slice into, const gs_payload *payload,
                          bool add)
{
    if (payload == NULL) {
        return true;
    }
    size_t count;
    float *to = floats_of(memory, into, &count);
    if (count != payload->count) {
        return false;
    }
    gs_numbers_put(&memory->numbers, to, payload->data, count, add);
    if (add) {
        gs_versions_add(&memory->versions, into.vector, into.offset, into.length, payload->version);
    } else {
        gs_versions_put(&memory->versions, into.vector, into.offset, into.length, payload->version);
    }
    return true;
}

/* How old dst is then. */
static void vec_versions(gs_versions *versions, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    if (vop == GS_VOP_scale) {
        if (k >= 0.0 && k <= 0.0) {
            gs_versions_clear(versions, dst.vector, dst.offset, dst.length);
        }
        return;
    }
    bool whole = dst.length == versions->elements && a.length == versions->elements;
    int64_t version = gs_versions_oldest(versions, a.vector, a.offset, a.length);
    if (vop != GS_VOP_copy) {
        gs_versions_add(versions, dst.vector, dst.offset, dst.length, version);
    } else if (whole) {
        gs_versions_copy(versions, dst.vector, a.vector);
    } else {
        gs_versions_put(versions, dst.vector, dst.offset, dst.length, version);
    }
}

bool gs_entity_memory_plan_vec(gs_entity_memory *memory, gs_vop vop, gs_slice dst, gs_slice a,
                               double k, gs_entity_work *out)
{
    *out = (gs_entity_work){.vop = vop, .k = (float)k, .is_rounded = dst.vector == GS_GRAD};
    vec_versions(&memory->versions, vop, dst, vop == GS_VOP_scale ? dst : a, k);
    if (memory->vectors.data == NULL) {
        return true;
    }
    size_t count, a_count;
    out->to = floats_of(memory, dst, &count);
    out->from = out->to;
    if (vop != GS_VOP_scale) {
        out->from = floats_of(memory, a, &a_count);
        if (a_count != count) {
            return false;
        }
    }
    out->count = count;
    if (vop == GS_VOP_copy) {
        memory->gradient_scale[dst.vector] = memory->gradient_scale[a.vector];
    }
    return true;
}

bool gs_entity_memory_vec(gs_entity_memory *memory, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    gs_entity_work work;
    if (!gs_entity_memory_plan_vec(memory, vop, dst, a, k, &work)) {
        return false;
    }
    gs_entity_memory_do(memory, &work, 1);
    return true;
}

bool gs_entity_memory_dot(const gs_entity_memory *memory, gs_slice a, gs_slice b, double *out)
{
    *out = (double)NAN;
    if (memory->vectors.data == NULL) {
        return true;
    }
    size_t count, b_count;
    const float *first = floats_of(memory, a, &count);
    const float *second = floats_of(memory, b, &b_count);
    gs_numbers_settle(&memory->numbers);
    *out = gs_kernel_dot(first, second, count < b_count ? count : b_count);
    return count == b_count;
}

/* ---------------------------------------------------------------- learning */

static float *state_of(const gs_entity_memory *memory, uint32_t vector)
{
    return memory->optimizer_state == NULL
               ? NULL
               : memory->optimizer_state + vector * gs_task_state_floats(memory->config.task);
}

static int64_t samples_before(const gs_entity_memory *memory, uint32_t param)
{
    const gs_entity_memory_config *config = &memory->config;
    if (config->self.role == GS_WORKER) {
        return memory->first_pass * config->job->ranks * config->batch_per_rank +
               memory->samples_more;
    }
    uint32_t gradients = memory->gradients_per_update > 0 ? memory->gradients_per_update : 1;
    return memory->updates[param] * gradients * config->job->accumulation * config->batch_per_rank +
           memory->samples_more;
}

/* The share of the momentum that a ramp still leaves out. */
static double momentum_less(const gs_entity_memory *memory, uint32_t param)
{
    const gs_update_ramp *ramp = &memory->ramp;
    int64_t done = memory->updates[param] - ramp->from;
    return done < ramp->length ? 1.0 - (double)done / (double)ramp->length : 0.0;
}

/* A slice that meets one of the update under way begins the next. */
static gs_update_span *span_of(gs_entity_memory *memory, gs_slice param)
{
    gs_update_span *span = &memory->spans[param.vector];
    int64_t to = param.offset + param.length;
    if (param.offset < span->to && span->from < to) {
        memory->updates[param.vector] += span->was_made ? 1 : 0;
        *span = (gs_update_span){.from = param.offset, .to = to};
    } else if (span->to == span->from) {
        *span = (gs_update_span){.from = param.offset, .to = to};
    } else {
        span->from = param.offset < span->from ? param.offset : span->from;
        span->to = to > span->to ? to : span->to;
    }
    return span;
}

bool gs_entity_memory_can_wait(const gs_entity_memory *memory)
{
    const gs_task *task = memory->config.task;
    return task != NULL && gs_task_optimizer(task)->loss_scale > 0.0;
}

void gs_entity_memory_plan_apply(gs_entity_memory *memory, gs_slice param, uint32_t grad,
                                 double rate_scale, gs_entity_work *out)
{
    const gs_task *task = memory->config.task;
    *out = (gs_entity_work){.param = param.vector};
    if (param.length == 0) {
        return;
    }
    int64_t behind =
        gs_versions_apply(&memory->versions, param.vector, grad, param.offset, param.length);
    if (behind >= 0 && memory->config.staleness != NULL) {
        gs_staleness_add(memory->config.staleness, behind);
    }
    if (task == NULL) {
        return;
    }
    gs_update_span *span = span_of(memory, param);
    size_t count = memory->vectors.count;
    float *parameters = memory->vectors.data + param.vector * count;
    const float *first = floats_of(memory, param, &out->count);
    double scale = gs_task_optimizer(task)->loss_scale;
    span->was_made |= gs_entity_memory_can_wait(memory); /* else it is seen when it is made */
    out->update = (gs_optimizer_update){
        .parameters = parameters,
        .gradient = memory->vectors.data + grad * count,
        .state = state_of(memory, param.vector),
        .offset = (size_t)(first - parameters),
        .count = out->count,
        .rate_scale = rate_scale,
        .gradient_scale = scale > 0.0 ? scale : memory->gradient_scale[grad],
        .updates = memory->updates[param.vector],
        .samples = samples_before(memory, param.vector),
        .momentum_less = momentum_less(memory, param.vector),
    };
}

static void do_vec(const gs_entity_memory *memory, const gs_entity_work *work, size_t from,
                   size_t count)
{
    gs_numbers_vec vec = {.vop = work->vop, .k = work->k, .is_rounded = work->is_rounded};
    gs_numbers_do(&memory->numbers, &vec, work->to + from, work->from + from, count);
}

/* Block by block where the rule allows it: the gradient is read twice, and thrice where a vec on
 * the same floats comes just before (NULL: none). */
static void do_apply(gs_entity_memory *memory, const gs_entity_work *work,
                     const gs_entity_work *before)
{
    const gs_task *task = memory->config.task;
    gs_optimizer_update part = work->update;
    size_t end = part.offset + part.count;
    double largest = 0.0;
    bool is_made = true;
    for (; part.offset < end; part.offset += part.count) {
        double here;
        part.count = gs_numbers_block(&memory->numbers, task, end - part.offset);
        if (before != NULL) {
            do_vec(memory, before, part.offset - work->update.offset, part.count);
        }
        is_made = gs_numbers_apply(&memory->numbers, task, &part, &here);
        largest = here > largest ? here : largest;
    }
    if (is_made) {
        memory->applied_max = largest;
    }
    if (is_made && !gs_entity_memory_can_wait(memory)) { /* else it was known before */
        memory->spans[work->param].was_made = true;
    }
}

/* A vec whose result is just what the apply after it reads. */
static bool is_before(const gs_entity_work *vec, const gs_entity_work *apply)
{
    return vec->to != NULL && apply->to == NULL && vec->count == apply->count &&
           vec->to == apply->update.gradient + apply->update.offset;
}

void gs_entity_memory_do(gs_entity_memory *memory, const gs_entity_work *work, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (work[i].count == 0) {
            continue;
        }
        if (i + 1 < count && is_before(&work[i], &work[i + 1])) {
            do_apply(memory, &work[i + 1], &work[i]);
            i++;
        } else if (work[i].to == NULL) {
            do_apply(memory, &work[i], NULL);
        } else {
            do_vec(memory, &work[i], 0, work[i].count);
        }
        if (!isfinite(memory->applied_max)) {
            return;
        }
    }
}

void gs_entity_memory_apply(gs_entity_memory *memory, gs_slice param, uint32_t grad,
                            double rate_scale)
{
    gs_entity_work work;
    gs_entity_memory_plan_apply(memory, param, grad, rate_scale, &work);
    gs_entity_memory_do(memory, &work, 1);
}

gs_status gs_entity_memory_check_applied(const gs_entity_memory *memory, gs_error *err)
{
    gs_peer self = memory->config.self;
    GS_TRY(gs_numbers_check(&memory->numbers, err)); /* what a device could not do looks infinite */
    return isfinite(memory->applied_max)
               ? GS_OK
               : gs_fail(err, GS_EDIVERGED, "%s %d: what it applied to its weights is not finite",
                         self.role == GS_WORKER ? "worker" : "server", self.index);
}

gs_status gs_entity_memory_check(const gs_entity_memory *memory, uint32_t vector, gs_error *err)
{
    size_t count;
    const float *weights = gs_entity_memory_vector(memory, vector, &count);
    gs_peer self = memory->config.self;
    GS_TRY(gs_entity_memory_check_applied(memory, err));
    return isfinite(gs_largest_magnitude(weights, count))
               ? GS_OK
               : gs_fail(err, GS_EDIVERGED, "%s %d: its weights are not finite",
                         self.role == GS_WORKER ? "worker" : "server", self.index);
}

/* Samples of each pass of a plan. */
static int64_t samples_of(const gs_plan *plan, int64_t batch_per_rank)
{
    return plan->dummy || plan->samples > 0 ? plan->samples : batch_per_rank;
}

gs_sample_range gs_sample_range_of(const gs_task *task, int64_t batch_per_rank, uint32_t rank,
                                   int64_t pass, int64_t before, const gs_plan *plan)
{
    int64_t count = samples_of(plan, batch_per_rank);
    if (gs_task_has_own_streams(task)) {
        return (gs_sample_range){before, count};
    }
    bool is_shared = plan->dummy || plan->samples > 0;
    int64_t first = gs_task_position(task, is_shared ? 0 : rank, pass, batch_per_rank);
    return (gs_sample_range){first + plan->samples_before, count};
}

int64_t gs_samples_max(const gs_layout *layout, int64_t batch_per_rank)
{
    return layout->samples_max > batch_per_rank ? layout->samples_max : batch_per_rank;
}

void gs_entity_memory_begin(gs_entity_memory *memory, const gs_plan *plan)
{
    const gs_task *task = memory->config.task;
    memory->first_pass = memory->passes;
    memory->passes += plan->micro_steps;
    memory->first_sample = memory->samples;
    memory->samples += plan->micro_steps * samples_of(plan, memory->config.batch_per_rank);
    gs_numbers_settle(&memory->numbers); /* the gradient is computed on this processor */
    memory->rounded_before = memory->rounded_elements;
    memory->underflown_before = memory->underflown_elements;
    gs_versions_copy(&memory->versions, GS_GRAD, plan->at);
    if (task != NULL) {
        memory->gradient_scale[GS_GRAD] = gs_optimizer_loss_scale(
            gs_task_optimizer(task), state_of(memory, GS_PARAM), memory->vectors.count);
    }
}

void gs_entity_memory_cancel(gs_entity_memory *memory)
{
    memory->rounded_elements = memory->rounded_before;
    memory->underflown_elements = memory->underflown_before;
}

static int64_t count_nonzero(const float *floats, size_t count)
{
    int64_t nonzero = 0;
    for (size_t i = 0; i < count; i++) {
        nonzero += floats[i] < 0.0F || floats[i] > 0.0F ? 1 : 0;
    }
    return nonzero;
}

/* A gradient under way, in its last pass: floats [from, end) of it are final. */
typedef struct finish {
    gs_entity_memory *memory;
    const gs_gradient_request *request;
    float *gradient;
    size_t from;
    double largest; /* magnitude of them */
} finish;

/* The sum over the passes becomes a mean, and what a device of this precision holds of it, from
 * there up to what is final. */
static void finish_from(finish *at, size_t from)
{
    gs_entity_memory *memory = at->memory;
    float *gradient = at->gradient + from;
    size_t count = at->from - from;
    double scale = memory->gradient_scale[GS_GRAD];
    uint32_t micro_steps = at->request->plan->micro_steps;
    at->from = from;
    if (micro_steps > 1) {
        gs_kernel_scale(gradient, NULL, NULL, count, (float)(1.0 / micro_steps));
    }
    if (scale < 1.0 || scale > 1.0) {
        gs_kernel_scale(gradient, NULL, NULL, count, (float)scale);
    }
    gs_number number = memory->config.number;
    if (number == GS_FP16 || number == GS_BF16) { /* else nothing is rounded */
        int64_t before = count_nonzero(gradient, count);
        gs_half_round(number, gradient, count);
        memory->rounded_elements += before;
        memory->underflown_elements += before - count_nonzero(gradient, count);
    }
    double largest = gs_largest_magnitude(gradient, count);
    at->largest = largest > at->largest ? largest : at->largest;
}

/* Layers come from the last to the first and lie in that order, so all behind this one is final. */
static void finish_layer(void *context, uint32_t layer)
{
    finish *at = context;
    const gs_network *network = gs_task_network(at->memory->config.task);
    finish_from(at, (size_t)network->layers[layer].offset);
    at->request->final(at->request->context, at->memory->vectors.count - at->from);
}

/* One pass after the other. The last one tells of its layers where somebody listens. */
static gs_status take_passes(finish *at, const float *weights, double *out_sum, gs_error *err)
{
    const gs_entity_memory *memory = at->memory;
    const gs_entity_memory_config *config = &memory->config;
    const gs_plan *plan = at->request->plan;
    int64_t before = memory->first_sample;
    *out_sum = 0.0;
    for (uint32_t micro = 0; micro < plan->micro_steps; micro++) {
        int64_t number = memory->first_pass + micro;
        gs_sample_range samples = gs_sample_range_of(config->task, config->batch_per_rank,
                                                     config->self.index, number, before, plan);
        gs_task_request pass = {
            .rank = config->self.index,
            .first_sample = samples.first,
            .sample_count = samples.count,
            .accumulate = micro > 0,
        };
        if (micro + 1 == plan->micro_steps && at->request->final != NULL) {
            pass.layer_ready = finish_layer;
            pass.context = at;
        }
        double loss;
        if (gs_task_gradient(at->request->workspace, &pass, weights, at->gradient, &loss, err) !=
            GS_OK) {
            return gs_fail_in(err, "worker %d, pass %lld", config->self.index, (long long)number);
        }
        *out_sum += loss;
        before += samples.count;
    }
    return GS_OK;
}

gs_status gs_entity_memory_gradient(gs_entity_memory *memory, const gs_gradient_request *request,
                                    double *out_loss, gs_error *err)
{
    const gs_entity_memory_config *config = &memory->config;
    const gs_plan *plan = request->plan;
    *out_loss = (double)NAN;
    if (config->task == NULL) {
        return GS_OK;
    }
    GS_ASSERT(config->self.role == GS_WORKER && request->workspace != NULL);
    GS_ASSERT(plan->micro_steps > 0);
    size_t count = memory->vectors.count;
    const float *weights =
        request->weights != NULL ? request->weights : memory->vectors.data + plan->at * count;
    finish at = {.memory = memory,
                 .request = request,
                 .gradient = memory->vectors.data + GS_GRAD * count,
                 .from = count};
    if (plan->dummy) {
        memset(at.gradient, 0, count * sizeof *at.gradient);
        memory->gradient_max = 0.0;
        *out_loss = 0.0;
        return GS_OK;
    }
    double sum;
    GS_TRY(take_passes(&at, weights, &sum, err));
    finish_from(&at, 0);
    memory->gradient_max = at.largest;
    if (!isfinite(memory->gradient_max) && gs_task_optimizer(config->task)->loss_scale > 0.0) {
        return gs_fail(err, GS_EDIVERGED, "worker %d, pass %lld: the gradient is not finite",
                       config->self.index, (long long)memory->first_pass);
    }
    *out_loss = sum / plan->micro_steps;
    return GS_OK;
}

/* ---------------------------------------------------------------- from leg to leg */

void gs_entity_memory_moment(gs_entity_memory *memory, uint32_t number, gs_slice slice, bool stores)
{
    const gs_task *task = memory->config.task;
    size_t count;
    float *floats = floats_of(memory, slice, &count);
    if (task == NULL || count == 0) {
        return;
    }
    if (number >= gs_optimizer_state_vectors(gs_task_optimizer(task))) {
        gs_numbers_vec zero = {.vop = GS_VOP_scale};
        if (!stores) {
            gs_numbers_do(&memory->numbers, &zero, floats, floats, count);
        }
        return;
    }
    size_t offset = (size_t)(floats - memory->vectors.data) - slice.vector * memory->vectors.count;
    float *moment = state_of(memory, GS_PARAM) + number * memory->vectors.count + offset;
    gs_numbers_vec copy = {.vop = GS_VOP_copy};
    gs_numbers_do(&memory->numbers, &copy, stores ? moment : floats, stores ? floats : moment,
                  count);
}

enum { RAMP_STEPS = 50 };

void gs_entity_memory_resume(gs_entity_memory *memory, const gs_layout *layout, int64_t passes)
{
    const gs_entity_memory_config *config = &memory->config;
    const gs_job *job = config->job;
    int64_t accumulation = job->accumulation > 0 ? job->accumulation : 1;
    int64_t steps = passes / accumulation;
    uint32_t gradients = layout->gradients_per_update > 0 ? layout->gradients_per_update : 1;
    int64_t samples = passes * job->ranks * config->batch_per_rank;
    memory->gradients_per_update = gradients;
    memory->updates[GS_PARAM] = steps;
    memory->spans[GS_PARAM] = (gs_update_span){.from = 0};
    memory->ramp = (gs_update_ramp){.length = 0};
    if (config->self.role == GS_WORKER) {
        memory->samples_more = samples - memory->passes * job->ranks * config->batch_per_rank;
    } else {
        memory->samples_more = samples - steps * gradients * accumulation * config->batch_per_rank;
        if (layout->cut == GS_CUT_OWN) {
            memory->ramp =
                (gs_update_ramp){steps, RAMP_STEPS * (int64_t)job->ranks / (int64_t)gradients};
        }
    }
}

/* ---------------------------------------------------------------- looks */

const float *gs_entity_memory_vector(const gs_entity_memory *memory, uint32_t vector,
                                     size_t *out_count)
{
    gs_numbers_settle(&memory->numbers);
    return gs_vectors_slice(&memory->vectors, vector, 0, memory->vectors.elements, out_count);
}

uint64_t gs_entity_memory_hash(const gs_entity_memory *memory, uint32_t vector, uint64_t before)
{
    size_t count;
    const float *floats = gs_entity_memory_vector(memory, vector, &count);
    return floats == NULL ? before : gs_hash(before, floats, count * sizeof *floats);
}

bool gs_op_signature_equal(const gs_op_signature *a, const gs_op_signature *b)
{
    return a->communicator == b->communicator && a->sequence == b->sequence &&
           a->label == b->label && a->elements == b->elements && a->kind == b->kind &&
           a->root == b->root;
}

uint64_t gs_op_signature_hash(const gs_op_signature *op, uint64_t before)
{
    const uint64_t parts[] = {op->communicator,       op->sequence,       op->label,
                              (uint64_t)op->elements, (uint64_t)op->kind, op->root};
    return gs_hash(before, parts, sizeof parts);
}
