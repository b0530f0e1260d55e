#include "strategies/ps_worker.h"

#include "base/assert.h"
#include "strategies/ps_giver.h"
#include "strategies/ps_parts.h"
#include "strategies/ps_push.h"
#include "strategies/ps_shard.h"

#include <string.h>

typedef struct worker {
    gs_ps_role is;
    bool backward, quiescing, told;
    bool stepping;       /* a step has begun, its gradient was pushed or given up, and it has not
                            ended */
    uint32_t unanswered; /* servers that have not answered the last push */
    uint32_t lasts;      /* servers whose final weights have come */
    gs_ps_push push;
    int64_t outdated;      /* notes of that kind that have come, */
    int64_t outdated_due;  /* and that final weights said were sent */
    int64_t pushes;        /* in this run, whole or not, */
    int64_t pushed;        /* gradients among them, */
    int64_t pushed_before; /* and in the runs it goes on from */
    gs_ps_giver givers[];  /* [servers] */
} worker;

size_t gs_ps_worker_bytes(uint32_t servers)
{
    return sizeof(worker) + servers * sizeof(gs_ps_giver);
}

static uint32_t servers_of(const gs_world *world)
{
    return gs_ps_server_count(gs_world_config(world), gs_world_job(world));
}

static bool restarts(const gs_world *world, const worker *self)
{
    return gs_ps_rule_of((gs_ps_kind)self->is.kind, gs_world_config(world),
                         gs_world_job(world)->ranks)
        .restarts;
}

/* Every server has got a push, and answers it. */
static void await_all(gs_world *world, worker *self)
{
    self->pushes++;
    self->unanswered = servers_of(world);
    for (uint32_t i = 0; i < self->unanswered; i++) {
        gs_ps_giver_await(world, &self->givers[i], i, GS_PS_ANSWER_OF_PUSH);
    }
}

/* After the last gradient: what each server must have got, and the final weights are asked for. */
static void stop(gs_world *world, worker *self)
{
    self->told = true;
    for (uint32_t i = 0; i < servers_of(world); i++) {
        gs_note(world, (gs_peer){GS_SERVER, (uint16_t)i}, GS_PS_TAG_STOP,
                (int64_t[4]){self->pushes});
        if (self->givers[i].awaited == GS_PS_ANSWER_NONE) {
            gs_ps_giver_await(world, &self->givers[i], i, GS_PS_ANSWER_LAST);
        }
    }
}

/* Every server that has not got its share of the gradient under way has made the update that it was
 * for; or where none is under way, all of them have newer weights than they gave. */
static bool is_overtaken(const gs_world *world, const worker *self)
{
    uint32_t first = self->backward ? self->push.server : 0;
    for (uint32_t i = first; i < servers_of(world); i++) {
        if (!gs_ps_giver_has_newer(&self->givers[i])) {
            return false;
        }
    }
    return first < servers_of(world);
}

/* Gives the gradient under way up, and asks for the weights of now: what was pushed of it ends
 * here. Servers that have got their share of it answer to that. */
static void begin_again(gs_world *world, worker *self)
{
    const gs_job *job = gs_world_job(world);
    if (self->backward) {
        int64_t kept = gs_ps_shard(job, servers_of(world), self->push.server, GS_GRAD).offset;
        gs_drop(world, (gs_slice){GS_GRAD, kept, job->elements - kept});
        gs_cancel_gradient(world);
        self->backward = false;
        self->stepping = true;
    } else {
        gs_ps_push_begin(&self->push, true);
    }
    gs_ps_push_cut(world, &self->push);
    await_all(world, self);
}

/* The answers alone do not free GRAD: a send may end after the answer to it has come. */
static void go_on(gs_world *world, worker *self)
{
    if (self->stepping && self->unanswered == 0) {
        self->stepping = false;
        gs_end_step(world);
    }
    bool is_free = self->push.sending == 0 && self->unanswered == 0;
    if (!self->quiescing && (self->backward || is_free) && is_overtaken(world, self)) {
        begin_again(world, self);
        return;
    }
    if (self->quiescing && !self->told && !self->backward) {
        stop(world, self);
    }
    if (self->lasts == servers_of(world) && self->push.sending == 0 &&
        self->outdated == self->outdated_due) {
        gs_drained(world);
    } else if (!self->quiescing && is_free) {
        gs_release(world);
    }
}

gs_plan gs_ps_worker_step_begin(gs_world *world, void *state, const gs_event *event)
{
    worker *self = state;
    (void)event;
    if (self->push.sending > 0 || self->unanswered > 0) {
        return (gs_plan){.go = false};
    }
    self->backward = true;
    gs_ps_push_begin(&self->push, restarts(world, self));
    return gs_plan_at(world, GS_PARAM);
}

void gs_ps_worker_bucket_ready(gs_world *world, void *state, const gs_event *event)
{
    const gs_ps_config *config = gs_world_config(world);
    worker *self = state;
    if (config->overlap) {
        gs_ps_push_up_to(world, &self->push, event->slice.offset + event->slice.length);
    }
}

void gs_ps_worker_backward_done(gs_world *world, void *state, const gs_event *event)
{
    worker *self = state;
    (void)event;
    self->backward = false;
    gs_ps_push_up_to(world, &self->push, gs_world_job(world)->elements);
    self->pushed++;
    self->stepping = true;
    await_all(world, self);
    go_on(world, self);
}

static void weights_came(gs_world *world, worker *self, const gs_event *event)
{
    uint32_t server = event->from.index;
    gs_ps_answer awaited = gs_ps_giver_gave(&self->givers[server], event);
    self->unanswered -= awaited == GS_PS_ANSWER_OF_PUSH ? 1 : 0;
    if (event->meta[GS_PS_META_LAST] != 0) {
        self->lasts++;
        self->outdated_due += event->meta[GS_PS_META_TOLD];
    } else if (self->told) {
        gs_ps_giver_await(world, &self->givers[server], server, GS_PS_ANSWER_LAST);
    }
}

void gs_ps_worker_message(gs_world *world, void *state, const gs_event *event)
{
    worker *self = state;
    if (event->is_note) {
        gs_ps_giver_told(&self->givers[event->from.index], event);
        self->outdated++;
    } else {
        weights_came(world, self, event);
    }
    go_on(world, self);
}

void gs_ps_worker_op_done(gs_world *world, void *state)
{
    ((worker *)state)->push.sending--;
    go_on(world, state);
}

void gs_ps_worker_quiesce(gs_world *world, void *state)
{
    ((worker *)state)->quiescing = true;
    go_on(world, state);
}

size_t gs_ps_worker_export(const void *state, void *out, size_t out_bytes)
{
    const worker *self = state;
    int64_t pushed = self->pushed_before + self->pushed;
    GS_ASSERT(out_bytes >= sizeof pushed);
    memcpy(out, &pushed, sizeof pushed);
    return sizeof pushed;
}

void gs_ps_worker_import(void *state, const void *in, size_t in_bytes)
{
    worker *self = state;
    GS_ASSERT(in_bytes == sizeof self->pushed_before);
    memcpy(&self->pushed_before, in, sizeof self->pushed_before);
}
