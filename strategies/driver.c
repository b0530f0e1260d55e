#include "strategies/driver_parts.h"

#include "base/prefetch.h"
#include "base/rng.h"

#include <float.h>
#include <stdarg.h>
#include <string.h>

enum { STATE_POISON = 0xa5 };

static const char *role_name(gs_peer peer)
{
    return peer.role == GS_WORKER ? "worker" : "server";
}

void gs_driver_broke(gs_driver *driver, gs_status code, const char *format, ...)
{
    if (driver->failed) {
        return;
    }
    driver->failed = true;
    gs_error detail;
    va_list arguments;
    va_start(arguments, format);
    gs_fail_list(&detail, code, format, arguments);
    va_end(arguments);
    gs_error err;
    (void)gs_fail(&err, code, "%s %d, step %lld, %s: %s", role_name(driver->entity),
                  driver->entity.index, (long long)driver->steps_ended,
                  driver->config->strategy->name, detail.text);
    driver->config->calls->failed(driver->config->host, driver->entity, &err);
}

/* Self-swap: the state moves before every hook, so that a pointer kept in it is found out. */
void gs_driver_move_state(gs_driver *driver)
{
    if (driver->state_spare == NULL) {
        return;
    }
    size_t bytes = driver->room->state_bytes[driver->entity.role];
    void *old = driver->state;
    memcpy(driver->state_spare, old, bytes);
    memset(old, STATE_POISON, bytes);
    driver->state = driver->state_spare;
    driver->state_spare = old;
}

void gs_driver_call(gs_driver *driver, gs_hook *hook, gs_event *event)
{
    if (driver->failed || driver->drained) {
        return;
    }
    if (hook == NULL) {
        gs_driver_broke(driver, GS_ECONTRACT, "an event came for which the strategy has no hook");
        return;
    }
    GS_ASSERT(driver->hooks_deep == 0); /* a host never calls the driver from inside a request */
    gs_driver_move_state(driver);
    event->at_ns = driver->now;
    driver->hooks_deep++;
    hook(driver, driver->state, event);
    driver->hooks_deep--;
    if (driver->over) {
        gs_driver_settle(driver);
    }
}

int64_t gs_driver_step_now(const gs_driver *driver)
{
    return driver->entity.role == GS_WORKER && driver->steps_begun > 0
               ? driver->steps_begun - 1 + driver->begun_more
               : driver->steps_ended;
}

bool gs_driver_take_input(gs_driver *driver, gs_time_ns at)
{
    GS_ASSERT(at >= driver->now);
    driver->now = at;
    return !driver->failed && !driver->drained;
}

/* ---------------------------------------------------------------- creation */

static bool create_state(gs_driver *driver, gs_arena *arena)
{
    size_t bytes = driver->room->state_bytes[driver->entity.role];
    driver->state = gs_arena_pack(arena, bytes, 1);
    if (driver->config->relay != NULL) {
        driver->leg.kept = gs_arena_pack(arena, bytes, 1);
        if (driver->leg.kept == NULL) {
            return false;
        }
    }
    if (driver->config->swap_state) {
        driver->state_spare = gs_arena_pack(arena, bytes, 1);
    }
    return driver->state != NULL && (!driver->config->swap_state || driver->state_spare != NULL);
}

/* Of any leg. */
static uint32_t buckets_max(const gs_driver_config *config)
{
    uint32_t most = gs_bucket_count_max(config->job, &config->layout->buckets);
    for (uint32_t i = 0; config->relay != NULL && i < config->relay->count; i++) {
        uint32_t own = gs_bucket_count_max(config->job, &config->relay->list[i].layout.buckets);
        most = own > most ? own : most;
    }
    return most;
}

static gs_driver *create(const gs_driver_config *shared, const gs_driver_config *legs,
                         gs_peer entity, gs_arena *arena)
{
    gs_driver *driver = GS_TAKE(arena, gs_driver, 1);
    if (driver == NULL) {
        return NULL;
    }
    driver->config = shared;
    driver->legs = legs;
    driver->entity = entity;
    driver->self = driver;
    driver->arena = arena;
    driver->room = shared->relay != NULL ? &shared->relay->layout : shared->layout;
    driver->leg.timed = shared->relay != NULL ? gs_relay_timed(shared->relay, 1) : 0;
    driver->leg.absent = entity.role == GS_SERVER && entity.index >= shared->layout->servers;
    if (entity.role == GS_WORKER) {
        driver->buckets = driver->buckets_next = shared->buckets;
        driver->bucket_units_left = GS_PACK(arena, uint32_t, buckets_max(shared));
        if (driver->bucket_units_left == NULL) {
            return NULL;
        }
    }
    if (!create_state(driver, arena) || !gs_driver_requests_create(driver, arena) ||
        !gs_driver_lines_create(driver, arena) || !gs_driver_rounds_create(driver, arena)) {
        return NULL;
    }
    return driver;
}

gs_driver *gs_driver_create(const gs_driver_config *config, gs_arena *arena)
{
    GS_ASSERT(config->strategy->struct_bytes == sizeof(gs_strategy));
    gs_driver_config *kept = GS_PACK(arena, gs_driver_config, 1);
    if (kept == NULL) {
        return NULL;
    }
    *kept = *config;
    const gs_driver_config *legs = NULL;
    if (config->relay != NULL) {
        legs = gs_driver_legs(config, arena);
        if (legs == NULL) {
            return NULL;
        }
    }
    return create(kept, legs, config->self, arena);
}

gs_driver *gs_driver_create_like(const gs_driver *other, gs_peer self, gs_arena *arena)
{
    return create(other->config, other->legs, self, arena);
}

void gs_driver_start(gs_driver *driver, gs_time_ns at)
{
    if (gs_driver_take_input(driver, at) && !driver->leg.absent) {
        gs_driver_move_state(driver);
        driver->hooks_deep++;
        driver->config->strategy->init(driver, driver->state);
        driver->hooks_deep--;
    }
}

void gs_driver_import(gs_driver *driver, gs_time_ns at, const void *state, size_t bytes)
{
    if (gs_driver_take_input(driver, at)) {
        driver->hooks_deep++;
        driver->config->strategy->import_state(driver, driver->state, state, bytes);
        driver->hooks_deep--;
    }
}

/* ---------------------------------------------------------------- steps */

static void open_step(gs_driver *driver, gs_plan plan)
{
    driver->bucket_launched = 0;
    driver->closed_buckets = plan.closed_buckets;
    memcpy(driver->bucket_units_left, driver->buckets->units_in_bucket,
           driver->buckets->bucket_count * sizeof *driver->bucket_units_left);
    driver->in_backward = true;
    driver->cancelled = false;
    driver->plan = plan;
    driver->steps_begun++;
    driver->passes_begun += plan.micro_steps;
}

/* The last one that begins at that step or before. */
static gs_phase phase_at(const gs_job *job, int64_t step)
{
    gs_phase phase = GS_PHASE_NORMAL;
    for (uint32_t i = 0; i < job->phase_count && job->phases[i].from_step <= step; i++) {
        phase = job->phases[i].phase;
    }
    return phase;
}

/* Of the samples of a pass. */
static bool is_share(const gs_driver *driver, const gs_plan *plan)
{
    const gs_job *job = driver->config->job;
    if (plan->samples == 0) {
        return plan->samples_before == 0;
    }
    return !plan->dummy && plan->samples > 0 &&
           plan->samples <= driver->config->layout->samples_max && plan->samples_before >= 0 &&
           plan->samples_before <= job->batch * job->ranks - plan->samples;
}

/* The gradient is taken at buckets [first, end) of a vector: GRAD is free for it, and no receive
 * posted before the pin may write there. */
static void may_read(gs_driver *driver, const char *service, uint32_t at, uint32_t first,
                     uint32_t end)
{
    int64_t offset = driver->buckets->offsets[first];
    gs_slice weights = {at, offset, driver->buckets->offsets[end] - offset};
    gs_slice gradient = {GS_GRAD, weights.offset, weights.length};
    if (gs_driver_is_lent(driver, gradient)) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: GRAD is still lent to a request", service);
    } else {
        (void)gs_driver_may_use(driver, service, weights, false);
    }
}

static bool check_plan(gs_driver *driver, const gs_plan *plan)
{
    if (plan->at >= gs_driver_vector_count(driver) || plan->at == GS_GRAD) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "step_begin: the gradient cannot be taken at vector %u", plan->at);
    } else if (plan->micro_steps < 1 || plan->micro_steps > GS_MICRO_STEPS_MAX) {
        gs_driver_broke(driver, GS_ECONTRACT, "step_begin: %u micro-steps; a step has 1 to %d",
                        plan->micro_steps, GS_MICRO_STEPS_MAX);
    } else if (!is_share(driver, plan)) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "step_begin: %lld samples behind %lld%s: at most %lld of the %lld of all "
                        "workers",
                        (long long)plan->samples, (long long)plan->samples_before,
                        plan->dummy ? " of a dummy" : "",
                        (long long)driver->config->layout->samples_max,
                        (long long)(driver->config->job->batch * driver->config->job->ranks));
    } else if (plan->closed_buckets > 0 && !driver->config->layout->gated) {
        gs_driver_broke(driver, GS_ECONTRACT, "step_begin: the layout does not declare gated");
    } else if (plan->closed_buckets > driver->buckets->bucket_count) {
        gs_driver_broke(driver, GS_ECONTRACT, "step_begin: %u of %u buckets are closed",
                        plan->closed_buckets, driver->buckets->bucket_count);
    } else {
        may_read(driver, "step_begin", plan->at, plan->closed_buckets,
                 driver->buckets->bucket_count);
    }
    return !driver->failed;
}

void gs_driver_step_begin(gs_driver *driver, gs_time_ns at, gs_plan *out)
{
    *out = (gs_plan){.go = false};
    if (!gs_driver_take_input(driver, at) || driver->quiescing) {
        return;
    }
    GS_ASSERT(driver->entity.role == GS_WORKER && !driver->in_backward);
    GS_ASSERT(driver->hooks_deep == 0);
    driver->wake_asked = false;
    driver->held = false; /* it is being asked: a release in the hook has no effect */
    if (driver->config->relay != NULL && gs_driver_swaps_here(driver)) {
        return;
    }
    gs_driver_move_state(driver);
    uint64_t services_before = driver->services_called;
    const gs_bucket_plan *buckets_before = driver->buckets;
    driver->buckets = driver->buckets_next;
    int64_t step = driver->steps_begun + driver->begun_more;
    gs_event event = {
        .at_ns = driver->now, .step = step, .phase = phase_at(driver->config->job, step)};
    driver->hooks_deep++;
    gs_plan plan = driver->config->strategy->step_begin(driver, driver->state, &event);
    driver->hooks_deep--;
    if (!plan.go) {
        driver->held = true;
        driver->buckets = buckets_before;
        if (driver->services_called != services_before) {
            gs_driver_broke(driver, GS_ECONTRACT, "step_begin: a hold must not call services");
        }
        return;
    }
    if (driver->failed || !check_plan(driver, &plan)) {
        return;
    }
    open_step(driver, plan);
    *out = plan;
}

void gs_driver_unit_ready(gs_driver *driver, gs_time_ns at, uint32_t unit)
{
    if (!gs_driver_take_input(driver, at)) {
        return;
    }
    GS_ASSERT(driver->in_backward && driver->closed_buckets == 0);
    GS_ASSERT(unit < driver->config->job->unit_count);
    uint32_t bucket = driver->buckets->bucket_of_unit[unit];
    GS_ASSERT(driver->bucket_units_left[bucket] > 0);
    driver->bucket_units_left[bucket]--;
    /* A late bucket holds back all that follow: launch is in index order, as in DDP. The hook of
     * one may stop the gradient. */
    while (driver->in_backward && driver->bucket_launched < driver->buckets->bucket_count &&
           driver->bucket_units_left[driver->bucket_launched] == 0) {
        uint32_t ready = driver->bucket_launched++;
        gs_event event = {.step = gs_driver_step_now(driver),
                          .bucket = ready,
                          .slice = gs_bucket_slice(driver, ready)};
        gs_driver_call(driver, driver->config->strategy->bucket_ready, &event);
    }
}

void gs_driver_backward_done(gs_driver *driver, gs_time_ns at, double loss)
{
    if (!gs_driver_take_input(driver, at)) {
        return;
    }
    GS_ASSERT(driver->in_backward);
    GS_ASSERT(driver->bucket_launched == driver->buckets->bucket_count);
    driver->in_backward = false;
    gs_event event = {.step = gs_driver_step_now(driver), .loss = loss};
    gs_driver_call(driver, driver->config->strategy->backward_done, &event);
}

void gs_driver_set_buckets(gs_driver *driver, const gs_bucket_plan *buckets)
{
    GS_ASSERT(buckets->bucket_count <=
              gs_bucket_count_max(driver->config->job, &driver->config->layout->buckets));
    driver->buckets_next = buckets;
}

void gs_driver_quiesce(gs_driver *driver, gs_time_ns at, int64_t cut_step)
{
    bool takes = gs_driver_take_input(driver, at);
    if (takes && driver->config->relay != NULL) {
        gs_driver_stop(driver);
        return;
    }
    if (!takes || driver->quiescing) {
        return;
    }
    GS_ASSERT((cut_step < 0) == (driver->config->layout->cut == GS_CUT_OWN));
    driver->quiescing = true;
    gs_event event = {.step = cut_step};
    gs_driver_call(driver, driver->config->strategy->quiesce, &event);
}

void gs_driver_message(gs_driver *driver, gs_time_ns at, const gs_message *message)
{
    if (driver->drained && !driver->failed) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "a message of %s %d with tag %u came after this entity had drained; count "
                        "messages in the final notes",
                        role_name(message->from), message->from.index, message->tag);
        return;
    }
    if (!gs_driver_take_input(driver, at) ||
        (driver->config->relay != NULL && !gs_driver_is_of_leg(driver, message))) {
        return;
    }
    if (message->is_note && message->tag >= GS_TAGS_MAX) {
        gs_driver_rounds_note(driver, message);
        return;
    }
    if (message->is_note) {
        gs_event event = {.step = gs_driver_step_now(driver),
                          .from = message->from,
                          .tag = message->tag,
                          .is_note = true};
        memcpy(event.meta, message->meta, sizeof event.meta);
        gs_driver_call(driver, driver->config->strategy->message, &event);
        return;
    }
    gs_driver_match(driver, message);
}

/* A request ended: its slice is free and its hook is called. */
static void end_request(gs_driver *driver, uint32_t slot)
{
    const request *done = &driver->requests[slot];
    bool is_message = done->kind == REQUEST_RECV;
    gs_event event = {.step = gs_driver_step_now(driver), .op = done->id, .cookie = done->cookie};
    if (is_message) {
        event.slice = gs_driver_request_slice(done);
        event.from = driver->landed[slot].from;
        event.tag = done->of.message.tag;
        memcpy(event.meta, driver->landed[slot].meta, sizeof event.meta);
    } else if (done->kind == REQUEST_DOT) {
        event.scalar = done->scalar;
    } else if (done->kind == REQUEST_AGREE) {
        memcpy(event.agreed, driver->voices[slot].values, sizeof event.agreed);
    }
    gs_driver_request_close(driver, slot);
    const gs_strategy *strategy = driver->config->strategy;
    gs_driver_call(driver, is_message ? strategy->message : strategy->op_done, &event);
}

static void complete(gs_driver *driver, gs_time_ns at, uint32_t slot)
{
    if (driver->failed) {
        return;
    }
    GS_ASSERT(at >= driver->now);
    driver->now = at;
    GS_ASSERT(slot < driver->request_capacity && driver->requests[slot].kind != REQUEST_FREE);
    if (driver->requests[slot].kind == REQUEST_COLLECTIVE) {
        uint32_t communicator = driver->requests[slot].of.op.communicator;
        gs_driver_line_end(driver, slot);
        end_request(driver, slot);
        gs_driver_line_start(driver, communicator);
    } else if (driver->requests[slot].kind == REQUEST_AGREE) {
        uint32_t communicator = driver->requests[slot].of.op.communicator;
        gs_driver_rounds_end(driver, slot);
        end_request(driver, slot);
        gs_driver_rounds_start(driver, communicator);
    } else {
        end_request(driver, slot);
    }
}

void gs_driver_matched(gs_driver *driver, uint32_t slot)
{
    complete(driver, driver->now, slot);
}

void gs_driver_sent(gs_driver *driver, gs_time_ns at, uint32_t slot)
{
    complete(driver, at, slot);
}

void gs_driver_later(gs_driver *driver, gs_time_ns at, uint32_t slot)
{
    complete(driver, at, slot);
}

void gs_driver_native_done(gs_driver *driver, gs_time_ns at, uint32_t slot)
{
    complete(driver, at, slot);
}

/* ---------------------------------------------------------------- services without requests */

bool gs_driver_enter(gs_driver *driver, const char *service)
{
    if (driver->failed) {
        return false;
    }
    driver->services_called++;
    if (driver->drained || driver->over) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: the entity has drained", service);
        return false;
    }
    return true;
}

gs_peer gs_self(const gs_world *world)
{
    return world->entity;
}

const gs_job *gs_world_job(const gs_world *world)
{
    return world->config->job;
}

const void *gs_world_config(const gs_world *world)
{
    return world->config->strategy_config;
}

uint32_t gs_bucket_count(const gs_world *world)
{
    return world->buckets == NULL ? 0 : world->buckets->bucket_count; /* NULL: of a server */
}

gs_slice gs_bucket_slice(const gs_world *world, uint32_t bucket)
{
    if (!gs_driver_has_index(world, "bucket_slice", "bucket", bucket, gs_bucket_count(world))) {
        return (gs_slice){.vector = GS_GRAD};
    }
    int64_t offset = world->buckets->offsets[bucket];
    return (gs_slice){GS_GRAD, offset, world->buckets->offsets[bucket + 1] - offset};
}

static bool reads(gs_vop vop)
{
    return vop != GS_VOP_scale;
}

void gs_vec(gs_world *world, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    if (!gs_driver_enter(world, "vec")) {
        return;
    }
    if ((uint32_t)vop >= GS_VOP_COUNT) {
        gs_driver_broke(world, GS_ECONTRACT, "vec: no vector operation %u", (unsigned)vop);
        return;
    }
    if (!gs_driver_may_use(world, "vec", dst, true) ||
        (reads(vop) && !gs_driver_may_use(world, "vec", a, false))) {
        return;
    }
    if (reads(vop) && a.length != dst.length) {
        gs_driver_broke(world, GS_ECONTRACT, "vec: lengths %lld and %lld differ",
                        (long long)dst.length, (long long)a.length);
        return;
    }
    if (reads(vop) && !gs_driver_are_apart(world, "vec", dst, a)) {
        return;
    }
    world->config->calls->vec(world->config->host, world->entity, vop, dst, a, k);
}

/* A worker's steps are those it began; a server's are its updates. */
static bool may_end_step(gs_driver *driver, const char *service)
{
    if (driver->entity.role == GS_WORKER && driver->steps_ended >= driver->steps_begun) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: no step has begun that could end", service);
    }
    return !driver->failed;
}

void gs_apply(gs_world *world, uint32_t param, uint32_t grad, double rate_scale, bool last)
{
    gs_slice whole = {param, 0, world->config->job->elements};
    gs_apply_slice(world, whole, grad, rate_scale, last);
}

void gs_apply_slice(gs_world *world, gs_slice param, uint32_t grad, double rate_scale, bool last)
{
    gs_slice from = {grad, param.offset, param.length};
    if (!gs_driver_enter(world, "apply") || !gs_driver_may_use(world, "apply", param, true) ||
        !gs_driver_may_use(world, "apply", from, false) ||
        (last && !may_end_step(world, "apply"))) {
        return;
    }
    if (param.length < world->config->job->elements && !world->config->layout->applies_slices) {
        gs_driver_broke(world, GS_ECONTRACT, "apply: the layout does not declare applies_slices");
        return;
    }
    world->config->calls->apply(world->config->host, world->entity, param, grad, rate_scale, last);
    if (last) {
        world->steps_ended++;
    }
}

void gs_end_step(gs_world *world)
{
    if (!gs_driver_enter(world, "end_step") || !may_end_step(world, "end_step")) {
        return;
    }
    world->config->calls->end_step(world->config->host, world->entity);
    world->steps_ended++;
}

void gs_open_forward(gs_world *world, uint32_t first_bucket)
{
    if (!gs_driver_enter(world, "open_forward")) {
        return;
    }
    if (first_bucket >= world->closed_buckets) {
        gs_driver_broke(world, GS_ECONTRACT,
                        "open_forward: bucket %u is not closed: no step under way waits for it",
                        first_bucket);
        return;
    }
    may_read(world, "open_forward", world->plan.at, first_bucket, world->closed_buckets);
    if (!world->failed) {
        world->closed_buckets = first_bucket;
        world->config->calls->open_forward(world->config->host, world->entity, first_bucket);
    }
}

void gs_cancel_gradient(gs_world *world)
{
    if (!gs_driver_enter(world, "cancel_gradient")) {
        return;
    }
    if (!world->config->layout->cancels) {
        gs_driver_broke(world, GS_ECONTRACT,
                        "cancel_gradient: the layout does not declare cancels");
    } else if (!world->in_backward) {
        gs_driver_broke(world, GS_ECONTRACT, "cancel_gradient: no gradient is under way");
    } else {
        world->in_backward = false;
        world->cancelled = true;
        world->passes_begun -= world->plan.micro_steps;
        world->closed_buckets = 0;
        world->config->calls->cancel_gradient(world->config->host, world->entity);
    }
}

void gs_drop(gs_world *world, gs_slice gradient)
{
    if (gs_driver_enter(world, "drop") && gs_driver_has_slice(world, "drop", gradient)) {
        world->config->calls->drop(world->config->host, world->entity, gradient);
    }
}

void gs_release(gs_world *world)
{
    if (world->failed || world->drained || !world->held || world->wake_asked) {
        return;
    }
    world->wake_asked = true;
    world->config->calls->wake(world->config->host, world->entity);
}

uint64_t gs_bits(const gs_world *world, uint32_t purpose, int64_t step, uint32_t index)
{
    if (step < 0 || step >> GS_RNG_STEP_BITS != 0) {
        gs_driver_broke(world->self, GS_ECONTRACT,
                        "bits: step %lld; steps are 0 to 2^%d - 1, events and plans have them",
                        (long long)step, GS_RNG_STEP_BITS);
        return 0;
    }
    uint32_t entity = (uint32_t)world->entity.role << 16 | world->entity.index;
    gs_rng_key key = {world->config->job->seed + purpose, GS_RNG_STRATEGY, entity};
    return gs_rng_bits(key, (uint64_t)step, index);
}

void gs_drained(gs_world *world)
{
    if (!gs_driver_enter(world, "drained")) {
        return;
    }
    if (!world->quiescing) {
        gs_driver_broke(world, GS_ECONTRACT, "drained: nobody asked for it (quiesce comes first)");
        return;
    }
    bool makes_steps = world->entity.role == GS_WORKER &&
                       (world->config->relay == NULL ||
                        world->leg.now < world->config->relay->count); /* no handover does */
    if (makes_steps && world->config->layout->cut == GS_CUT_COMMON &&
        world->steps_ended < world->steps_begun) {
        gs_driver_broke(world, GS_ECONTRACT,
                        "drained: %lld steps began and %lld ended; end each by the last apply of "
                        "it, or by end_step",
                        (long long)world->steps_begun, (long long)world->steps_ended);
        return;
    }
    char left[160];
    if (world->in_backward || gs_driver_leftovers(world, left, sizeof left)) {
        gs_driver_broke(world, GS_ECONTRACT, "drained: not yet: %s",
                        world->in_backward ? "a gradient is being computed" : left);
        return;
    }
    if (gs_driver_leg_ends(world)) {
        return;
    }
    world->drained = true;
    world->config->calls->drained(world->config->host, world->entity);
}

void gs_driver_prefetch(const gs_driver *driver)
{
    gs_prefetch(driver, offsetof(gs_driver, leg));
}

/* The state and the units of buckets lie behind the driver, taken from one arena one after the
 * other; of a line as much as an op needs that the host runs itself. Where a program plays, its
 * lanes, edges and inboxes lie behind the line. */
void gs_driver_prefetch_behind(const gs_driver *driver, bool plays)
{
    enum { BEHIND_BYTES = 192 };
    if (plays) {
        gs_prefetch(driver->lines, sizeof *driver->lines + BEHIND_BYTES);
        return;
    }
    gs_prefetch(driver->state, 1);
    gs_prefetch(driver->lent, 1);
    if (driver->free_first != GS_NO_SLOT) {
        gs_prefetch(&driver->requests[driver->free_first], sizeof *driver->requests);
    }
    if (driver->lines != NULL) {
        gs_prefetch(driver->lines, offsetof(line, stage));
    }
}

/* ---------------------------------------------------------------- looks */

int64_t gs_driver_step(const gs_driver *driver)
{
    return driver->steps_ended;
}

bool gs_driver_is_drained(const gs_driver *driver)
{
    return driver->drained;
}

bool gs_driver_has_failed(const gs_driver *driver)
{
    return driver->failed;
}

uint64_t gs_driver_ops_issued(const gs_driver *driver)
{
    return driver->ops_issued;
}

void gs_driver_model_view(const gs_driver *driver, uint32_t *out_vector, double *out_weight)
{
    *out_vector = GS_PARAM;
    *out_weight = 1.0;
    if (driver->config->strategy->model_view == NULL) {
        return;
    }
    driver->config->strategy->model_view(driver->state, out_vector, out_weight);
    bool is_weight = *out_weight >= 0.0 && *out_weight <= DBL_MAX;
    if (gs_driver_has_index(driver, "model_view", "vector", *out_vector,
                            gs_driver_vector_count(driver)) &&
        is_weight) {
        return;
    }
    gs_driver_broke(driver->self, GS_ECONTRACT, "model_view: weight %g; it is at least 0",
                    *out_weight);
    *out_vector = GS_PARAM;
    *out_weight = 1.0;
}

size_t gs_driver_export(const gs_driver *driver, void *out, size_t out_bytes)
{
    GS_ASSERT(driver->drained);
    size_t bytes = driver->config->strategy->export_state(driver->state, out, out_bytes);
    if (bytes > out_bytes) {
        gs_driver_broke(driver->self, GS_ECONTRACT, "export_state: %zu bytes in room for %zu",
                        bytes, out_bytes);
        return 0;
    }
    return bytes;
}

uint32_t gs_driver_vector_count(const gs_driver *driver)
{
    return GS_OWN + driver->config->layout->own_vectors[driver->entity.role];
}
