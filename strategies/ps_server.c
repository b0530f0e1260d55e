#include "strategies/ps_server.h"

#include "base/assert.h"
#include "strategies/ps_intake.h"
#include "strategies/ps_parts.h"
#include "strategies/ps_shard.h"
#include "strategies/ps_update.h"

#include <string.h>

typedef struct server {
    gs_ps_role is;
    bool quiescing, ended;
    gs_ps_intake intake;
    uint32_t turn;    /* in_rank_order: whose gradient is next */
    uint32_t waiting; /* workers that a reply is owed */
    uint32_t copies;  /* replies on their way */
    uint32_t stopped; /* workers that push no more, */
    int64_t expected; /* and what they pushed */
    int64_t came;
    gs_ps_server rule;
    gs_ps_worker workers[];
} server;

size_t gs_ps_server_bytes(uint32_t ranks)
{
    return sizeof(server) + ranks * sizeof(gs_ps_worker);
}

static gs_ps_rule rule_of(const gs_world *world, const server *self)
{
    return gs_ps_rule_of((gs_ps_kind)self->is.kind, gs_world_config(world), self->rule.ranks);
}

static void give(gs_world *world, server *self, uint32_t worker, bool last)
{
    gs_ps_rule rule = rule_of(world, self);
    self->waiting -= self->workers[worker].waits ? 1 : 0;
    self->copies++;
    gs_ps_go(&self->rule, &self->workers[worker]);
    gs_ps_update_remember(world, &rule, worker);
    gs_send(world, (gs_peer){GS_WORKER, (uint16_t)worker}, GS_PS_TAG_PARAM,
            gs_ps_own_shard(world, GS_PARAM),
            (int64_t[4]){[GS_PS_META_VERSION] = self->rule.version,
                         [GS_PS_META_LAST] = last,
                         [GS_PS_META_TOLD] = self->workers[worker].told},
            GS_SEND_COPY);
}

/* To any worker, or to the one whose turn it is. No more workers are kept waiting than replies may
 * be on their way: the others' gradients wait with them. */
static void listen(gs_world *world, server *self)
{
    if (gs_ps_intake_is_busy(&self->intake) || self->ended ||
        self->copies + self->waiting >= self->rule.ranks) {
        return;
    }
    gs_ps_rule rule = rule_of(world, self);
    gs_ps_intake_listen(world, &self->intake, &rule,
                        rule.in_rank_order ? (uint16_t)self->turn : GS_ANY);
}

static void let_go(gs_world *world, server *self, const gs_ps_rule *rule, bool all)
{
    for (uint32_t i = all ? 0 : self->intake.from;
         i < (all ? self->rule.ranks : self->intake.from + 1); i++) {
        if (gs_ps_may_go(rule, &self->rule, self->workers, i)) {
            give(world, self, i, false);
        }
    }
}

static void restart(gs_world *world, server *self, const gs_ps_rule *rule)
{
    for (uint32_t i = 0; i < self->rule.ranks; i++) {
        if (gs_ps_must_restart(rule, &self->rule, &self->workers[i])) {
            gs_note(world, (gs_peer){GS_WORKER, (uint16_t)i}, GS_PS_TAG_OUTDATED,
                    (int64_t[4]){[GS_PS_META_VERSION] = self->rule.version});
        }
    }
}

/* Everything has come: what was gathered is used though it is less than an update wants, and every
 * worker gets the final weights. */
static void end_if_done(gs_world *world, server *self)
{
    if (self->quiescing && !self->ended && self->stopped == self->rule.ranks &&
        self->came == self->expected && self->copies == 0) {
        gs_ps_rule rule = rule_of(world, self);
        if (gs_ps_flush(&self->rule, self->workers)) {
            gs_ps_update_make(world, &rule, 1.0);
        }
        for (uint32_t i = 0; i < self->rule.ranks; i++) {
            give(world, self, i, true);
        }
        self->ended = true;
    } else if (self->ended && self->copies == 0) {
        gs_drained(world);
    }
}

static void take(gs_world *world, server *self, gs_time_ns at_ns)
{
    gs_ps_rule rule = rule_of(world, self);
    self->came++;
    self->waiting++;
    if (self->intake.is_cut) {
        gs_ps_ask(&self->workers[self->intake.from]);
        let_go(world, self, &rule, false);
        return;
    }
    bool is_first = self->rule.gathered == 0;
    gs_ps_verdict verdict =
        gs_ps_arrive(&rule, &self->rule, self->workers, self->intake.from, at_ns);
    self->turn = (self->turn + 1) % self->rule.ranks;
    if (verdict.dropped) {
        gs_drop(world, gs_ps_own_shard(world, GS_GRAD));
    } else {
        gs_ps_update_take(world, &rule, self->intake.from, &verdict, is_first);
    }
    let_go(world, self, &rule, verdict.wakes_others);
    if (verdict.updates) {
        restart(world, self, &rule);
    }
}

/* ---------------------------------------------------------------- hooks */

void gs_ps_server_message(gs_world *world, void *state, const gs_event *event)
{
    server *self = state;
    if (event->is_note) {
        self->stopped++;
        self->expected += event->meta[0];
    } else {
        if (gs_ps_intake_hear(world, &self->intake, event)) {
            take(world, self, event->at_ns);
        }
        listen(world, self);
    }
    end_if_done(world, self);
}

void gs_ps_server_op_done(gs_world *world, void *state)
{
    server *self = state;
    self->copies--;
    listen(world, self);
    end_if_done(world, self);
}

void gs_ps_server_quiesce(gs_world *world, void *state)
{
    server *self = state;
    self->quiescing = true;
    end_if_done(world, self);
}

void gs_ps_server_init(gs_world *world, void *state)
{
    server *self = state;
    uint32_t ranks = gs_world_job(world)->ranks;
    gs_ps_start(&self->rule, self->workers, ranks);
    gs_ps_rule rule = rule_of(world, self);
    for (uint32_t i = 0; i < ranks; i++) {
        gs_ps_update_remember(world, &rule, i);
    }
    listen(world, self);
}

/* Between runs every worker has the server's weights, so that clocks and copies say nothing. */
size_t gs_ps_server_export(const void *state, void *out, size_t out_bytes)
{
    const server *self = state;
    gs_ps_account account = {self->rule.version, self->rule.taken, self->rule.dropped,
                             self->rule.staleness};
    GS_ASSERT(out_bytes >= sizeof account);
    memcpy(out, &account, sizeof account);
    return sizeof account;
}

void gs_ps_server_import(gs_world *world, void *state, const void *in, size_t in_bytes)
{
    server *self = state;
    gs_ps_account account;
    GS_ASSERT(in_bytes == sizeof account);
    memcpy(&account, in, sizeof account);
    gs_ps_server_init(world, state);
    self->rule.version = account.version;
    self->rule.taken = account.taken;
    self->rule.dropped = account.dropped;
    self->rule.staleness = account.staleness;
    for (uint32_t i = 0; i < self->rule.ranks; i++) {
        self->workers[i].version = account.version;
    }
}
