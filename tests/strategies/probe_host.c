#include "tests/strategies/probe_host.h"

#include "base/assert.h"
#include "strategies/driver_parts.h"
#include "strategies/registry.h"
#include "strategies/world.h"

#include <string.h>

static const int64_t units[] = {10, 20, 30};
static int moved; /* a handle for payloads */

static void no_init(gs_world *world, void *state)
{
    (void)world, (void)state;
}

static void ignore(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state, (void)event;
}

static gs_plan go(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state, (void)event;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1};
}

/* ---------------------------------------------------------------- what the driver asks */

static void keep_slot(probe_host *host, uint32_t slot)
{
    GS_ASSERT(host->slot_count < PROBE_SLOTS_MAX);
    host->slots[host->slot_count++] = slot;
}

static uint32_t channel(void *host, uint32_t communicator, uint32_t number, gs_peer from,
                        gs_peer to)
{
    (void)host;
    return communicator * 1000 + number * 100 + from.index * 10u + to.index;
}

static void issued(void *host, gs_peer self, const gs_op_signature *op)
{
    (void)self;
    ((probe_host *)host)->issued[op->communicator]++;
}

static void ended(void *host, gs_peer self, const gs_op_signature *op)
{
    (void)host, (void)self, (void)op;
}

static bool start(void *host, gs_peer self, uint32_t slot, const gs_op_signature *op, gs_slice data)
{
    (void)host, (void)self, (void)slot, (void)op, (void)data;
    return false;
}

static void send_part(void *host, gs_peer self, uint32_t to, const gs_op_signature *op,
                      gs_slice part, bool copy)
{
    (void)self, (void)to, (void)op, (void)part, (void)copy;
    ((probe_host *)host)->parts_sent++;
}

static bool absorb(void *host, gs_peer self, uint32_t from, const gs_op_signature *op,
                   gs_slice into, bool add)
{
    (void)self, (void)from, (void)op, (void)into, (void)add;
    return !((probe_host *)host)->other_op;
}

static void flush(void *host, gs_peer self, uint32_t slot, const uint32_t *channels, uint32_t count)
{
    (void)self, (void)channels, (void)count;
    keep_slot(host, slot);
}

static void send(void *host, const gs_message *message, gs_slice data, uint32_t slot)
{
    (void)message, (void)data;
    keep_slot(host, slot);
}

static void note(void *host, const gs_message *message)
{
    ((probe_host *)host)->notes_sent++;
    ((probe_host *)host)->last_note = *message;
}

static void take(void *host, gs_peer self, gs_slice into, const gs_message *message)
{
    (void)host, (void)self, (void)into, (void)message;
}

static void later(void *host, gs_peer self, uint32_t slot)
{
    (void)self;
    keep_slot(host, slot);
}

static void timer(void *host, gs_peer self, uint32_t slot, gs_time_ns after_ns)
{
    (void)self;
    keep_slot(host, slot);
    ((probe_host *)host)->timer_ns = after_ns;
}

static void wake(void *host, gs_peer self)
{
    (void)self;
    ((probe_host *)host)->wakes++;
}

static void vec(void *host, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    (void)self, (void)vop, (void)dst, (void)a, (void)k;
    ((probe_host *)host)->vecs++;
}

static double dot(void *host, gs_peer self, gs_slice a, gs_slice b, uint32_t slot)
{
    (void)self, (void)a, (void)b;
    keep_slot(host, slot);
    return ((probe_host *)host)->product;
}

static void apply(void *host, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last)
{
    (void)self, (void)grad, (void)rate_scale, (void)last;
    ((probe_host *)host)->applied += param.length;
}

static void open_forward(void *host, gs_peer self, uint32_t first_bucket)
{
    (void)self;
    ((probe_host *)host)->open_from = first_bucket;
}

static void cancel_gradient(void *host, gs_peer self)
{
    (void)self;
    ((probe_host *)host)->cancelled++;
}

static void end_step(void *host, gs_peer self)
{
    (void)self;
    ((probe_host *)host)->steps_ended++;
}

static void drop(void *host, gs_peer self, gs_slice gradient)
{
    (void)self;
    ((probe_host *)host)->dropped += gradient.length;
}

static void drained(void *host, gs_peer self)
{
    (void)self;
    ((probe_host *)host)->drained++;
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    probe_host *of = host;
    (void)self;
    of->failures++;
    of->error = *err;
}

static const gs_host_calls calls = {
    .channel = channel,
    .issued = issued,
    .start = start,
    .ended = ended,
    .send_part = send_part,
    .absorb = absorb,
    .flush = flush,
    .send = send,
    .send_copy = send,
    .note = note,
    .take = take,
    .later = later,
    .timer = timer,
    .wake = wake,
    .vec = vec,
    .dot = dot,
    .apply = apply,
    .open_forward = open_forward,
    .cancel_gradient = cancel_gradient,
    .end_step = end_step,
    .drop = drop,
    .drained = drained,
    .failed = failed,
};

/* ---------------------------------------------------------------- making and telling */

void probe_host_init(probe_host *host)
{
    *host = (probe_host){
        .job = {.ranks = 2,
                .servers = 1,
                .elements = PROBE_ELEMENTS,
                .element_bytes = 4,
                .unit_count = 3,
                .unit_elements = units,
                .accumulation = 1,
                .seed = 3},
        .layout = {.servers = 1,
                   .own_vectors = {2, 1},
                   .state_bytes = {64, 64},
                   .copies_max = {1, 1},
                   .outstanding_max = {4, 4},
                   .communicator_count = 2,
                   .point_to_point = true,
                   .cut = GS_CUT_OWN},
        .strategy = {.struct_bytes = sizeof(gs_strategy),
                     .name = "wrong",
                     .init = no_init,
                     .step_begin = go,
                     .bucket_ready = ignore,
                     .backward_done = ignore,
                     .op_done = ignore,
                     .message = ignore,
                     .quiesce = ignore},
    };
    gs_arena_init(&host->arena);
}

static void make(probe_host *host, gs_peer self)
{
    gs_driver_config config = {
        .strategy = &host->strategy,
        .strategy_config = host->strategy_config,
        .job = &host->job,
        .layout = &host->layout,
        .buckets = gs_bucket_plan_make(&host->job, &host->layout.buckets, NULL, &host->arena),
        .self = self,
        .calls = &calls,
        .host = host,
        .swap_state = true,
    };
    host->driver = gs_driver_create(&config, &host->arena);
    GS_ASSERT(host->driver != NULL);
}

void probe_host_make(probe_host *host, gs_peer self)
{
    make(host, self);
    gs_driver_start(host->driver, 0);
}

void probe_host_import(probe_host *host, gs_peer self, const void *exported, size_t bytes)
{
    make(host, self);
    gs_driver_import(host->driver, 0, exported, bytes);
}

size_t probe_host_export(const probe_host *host, void *out, size_t out_bytes)
{
    return host->strategy.export_state(host->driver->state, out, out_bytes);
}

void probe_host_fini(probe_host *host)
{
    gs_arena_fini(&host->arena);
}

gs_plan probe_host_step(probe_host *host)
{
    gs_plan plan;
    gs_driver_step_begin(host->driver, 0, &plan);
    return plan;
}

void probe_host_units(probe_host *host, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        gs_driver_unit_ready(host->driver, 0, host->job.unit_count - 1 - i);
    }
}

void probe_host_backward(probe_host *host)
{
    gs_plan plan = probe_host_step(host);
    GS_ASSERT(plan.go);
    probe_host_units(host, host->job.unit_count);
    gs_driver_backward_done(host->driver, 0, 0.0);
}

void probe_host_message(probe_host *host, gs_peer from, uint16_t tag, int64_t length)
{
    gs_message message = {.from = from, .tag = tag, .length = length, .data = &moved};
    gs_driver_message(host->driver, 0, &message);
}

void probe_host_note(probe_host *host, gs_peer from, uint16_t tag)
{
    gs_message message = {.from = from, .tag = tag, .is_note = true};
    gs_driver_message(host->driver, 0, &message);
}

void probe_host_voice(probe_host *host, gs_peer from, uint32_t communicator, gs_agree_kind kind,
                      const double values[GS_AGREE_VALUES], uint64_t label)
{
    gs_message message = {.from = from,
                          .tag = (uint16_t)(GS_TAGS_MAX + communicator * GS_AGREE_KINDS + kind),
                          .is_note = true};
    memcpy(message.meta, values, GS_AGREE_VALUES * sizeof *values);
    message.meta[GS_AGREE_VALUES] = (int64_t)label;
    gs_driver_message(host->driver, 0, &message);
}

void probe_host_quiesce(probe_host *host)
{
    bool is_common = host->layout.cut == GS_CUT_COMMON;
    gs_driver_quiesce(host->driver, 0, is_common ? gs_driver_step(host->driver) : -1);
}

void probe_host_sent(probe_host *host)
{
    GS_ASSERT(host->slot_count > 0);
    uint32_t slot = host->slots[0];
    host->slot_count--;
    for (int i = 0; i < host->slot_count; i++) {
        host->slots[i] = host->slots[i + 1];
    }
    gs_driver_sent(host->driver, 0, slot);
}
