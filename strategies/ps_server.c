/* A server: takes gradients as its rule says, makes updates, and lets workers go on. */
#include "base/assert.h"
#include "strategies/ps_parts.h"

#include <string.h>

typedef struct server {
    gs_ps_role is;
    bool listening; /* a receive of a last piece is posted */
    bool quiescing, ended;
    bool is_cut;          /* what is put together is the begin of a gradient: of no use */
    uint32_t pieces_left; /* of the gradient that is being put together, */
    uint32_t from;        /* of that worker */
    uint32_t turn;        /* in_rank_order: whose gradient is next */
    uint32_t waiting;     /* workers that a reply is owed */
    uint32_t copies;      /* replies on their way */
    uint32_t stopped;     /* workers that push no more, */
    int64_t expected;     /* and what they pushed */
    int64_t came;
    gs_ps_server rule;
    gs_ps_worker workers[];
} server;

/* Own vectors: the sum under way, where an update has several gradients; then what each worker was
 * given last, where delays are compensated. */
static uint32_t sum_vector(const gs_ps_rule *rule)
{
    return rule->gather > 1 ? GS_OWN : GS_GRAD;
}

static uint32_t given_vector(const gs_ps_rule *rule, uint32_t worker)
{
    return rule->gather > 1 ? GS_OWN + 1 + worker : GS_OWN + worker;
}

uint32_t gs_ps_server_vectors(const gs_ps_config *config, const gs_ps_rule *rule, uint32_t ranks)
{
    uint32_t given = config->lambda > 0.0 ? ranks : 0;
    return rule->gather > 1 ? given + 1 : given;
}

size_t gs_ps_server_bytes(uint32_t ranks)
{
    return sizeof(server) + ranks * sizeof(gs_ps_worker);
}

static gs_ps_rule rule_of(const gs_world *world, const server *self)
{
    return gs_ps_rule_of((gs_ps_kind)self->is.kind, gs_world_config(world), self->rule.ranks);
}

static gs_slice shard_of(const gs_world *world, uint32_t vector)
{
    const gs_job *job = gs_world_job(world);
    return gs_ps_shard(job, gs_ps_server_count(gs_world_config(world), job), gs_self(world).index,
                       vector);
}

/* Compensating needs the weights that each worker's gradient is of. */
static void remember(gs_world *world, const gs_ps_rule *rule, uint32_t worker)
{
    const gs_ps_config *config = gs_world_config(world);
    if (config->lambda > 0.0) {
        gs_vec(world, GS_VOP_copy, shard_of(world, given_vector(rule, worker)),
               shard_of(world, GS_PARAM), 0.0);
    }
}

static void give(gs_world *world, server *self, uint32_t worker, bool last)
{
    gs_ps_rule rule = rule_of(world, self);
    self->waiting -= self->workers[worker].waits ? 1 : 0;
    self->copies++;
    gs_ps_go(&self->rule, &self->workers[worker]);
    remember(world, &rule, worker);
    gs_send(world, (gs_peer){GS_WORKER, (uint16_t)worker}, GS_PS_TAG_PARAM,
            shard_of(world, GS_PARAM),
            (int64_t[4]){[GS_PS_META_VERSION] = self->rule.version,
                         [GS_PS_META_LAST] = last,
                         [GS_PS_META_TOLD] = self->workers[worker].told},
            GS_SEND_COPY);
}

/* The last piece of any worker, or of the one whose turn it is; or the end of its push. No more
 * workers are kept waiting than replies may be on their way: the others' gradients wait with them.
 */
static void listen(gs_world *world, server *self)
{
    const gs_ps_config *config = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    if (self->listening || self->pieces_left > 0 || self->ended ||
        self->copies + self->waiting >= self->rule.ranks) {
        return;
    }
    self->listening = true;
    gs_slice shard = shard_of(world, GS_GRAD);
    uint32_t last = gs_ps_piece_count(config, job, shard) - 1;
    gs_ps_rule rule = rule_of(world, self);
    gs_peer from = {GS_WORKER, rule.in_rank_order ? (uint16_t)self->turn : GS_ANY};
    if (rule.restarts) {
        shard.length = 0;
        gs_recv(world, from, GS_PS_TAG_END, shard, 0);
        return;
    }
    gs_recv(world, from, (uint16_t)(GS_PS_TAG_PIECE + last), gs_ps_piece(config, job, shard, last),
            last);
}

/* ---------------------------------------------------------------- a gradient has come */

/* g + lambda g g (x - x'), where x' are the weights that g is of; x' is not needed after this. */
static void compensate(gs_world *world, const gs_ps_rule *rule, uint32_t worker, double lambda)
{
    gs_slice gradient = shard_of(world, GS_GRAD);
    gs_slice moved = shard_of(world, given_vector(rule, worker));
    gs_vec(world, GS_VOP_sub, moved, shard_of(world, GS_PARAM), 0.0); /* x' - x */
    gs_vec(world, GS_VOP_mul, moved, gradient, 0.0);
    gs_vec(world, GS_VOP_mul, moved, gradient, 0.0);
    gs_vec(world, GS_VOP_axpy, gradient, moved, -lambda);
}

static void update(gs_world *world, const server *self, const gs_ps_rule *rule, double scale)
{
    const gs_ps_config *config = gs_world_config(world);
    double rate = config->rate;
    if (config->rate <= GS_PS_RATE_MATCHED) {
        rate = (double)rule->gather / self->rule.ranks;
    }
    gs_apply_slice(world, shard_of(world, GS_PARAM), sum_vector(rule), rate * scale, true);
}

static void use_gradient(gs_world *world, server *self, const gs_ps_rule *rule,
                         const gs_ps_verdict *verdict, bool is_first)
{
    const gs_ps_config *config = gs_world_config(world);
    if (config->lambda > 0.0) {
        compensate(world, rule, self->from, config->lambda);
    }
    double scale =
        rule->slow_when_stale && verdict->staleness > 1 ? 1.0 / (double)verdict->staleness : 1.0;
    if (rule->gather == 1) {
        update(world, self, rule, scale);
        return;
    }
    gs_slice sum = shard_of(world, sum_vector(rule));
    gs_slice gradient = shard_of(world, GS_GRAD);
    double share = scale / rule->gather;
    if (is_first) {
        gs_vec(world, GS_VOP_copy, sum, gradient, 0.0);
        gs_vec(world, GS_VOP_scale, sum, sum, share);
    } else {
        gs_vec(world, GS_VOP_axpy, sum, gradient, share);
    }
    if (verdict->updates) {
        update(world, self, rule, 1.0);
    }
}

static void let_go(gs_world *world, server *self, const gs_ps_rule *rule, bool all)
{
    for (uint32_t i = all ? 0 : self->from; i < (all ? self->rule.ranks : self->from + 1); i++) {
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
            update(world, self, &rule, 1.0);
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
    if (self->is_cut) {
        gs_ps_ask(&self->workers[self->from]);
        let_go(world, self, &rule, false);
        return;
    }
    bool is_first = self->rule.gathered == 0;
    gs_ps_verdict verdict = gs_ps_arrive(&rule, &self->rule, self->workers, self->from, at_ns);
    self->turn = (self->turn + 1) % self->rule.ranks;
    if (verdict.dropped) {
        gs_drop(world, shard_of(world, GS_GRAD));
    } else {
        use_gradient(world, self, &rule, &verdict, is_first);
    }
    let_go(world, self, &rule, verdict.wakes_others);
    if (verdict.updates) {
        restart(world, self, &rule);
    }
}

/* ---------------------------------------------------------------- hooks */

/* Its last piece came, or the end of its push: the others of that worker are there or close,
 * channels being first in, first out. */
static void put_together(gs_world *world, server *self, const gs_event *event)
{
    uint32_t worker = event->from.index;
    const gs_ps_config *config = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    gs_slice shard = shard_of(world, GS_GRAD);
    self->listening = false;
    self->from = worker;
    self->pieces_left = gs_ps_piece_count(config, job, shard) - 1;
    if (event->tag == GS_PS_TAG_END) {
        uint32_t pieces = (uint32_t)event->meta[GS_PS_META_PIECES];
        self->is_cut = pieces <= self->pieces_left;
        self->pieces_left = pieces;
    }
    for (uint32_t piece = 0; piece < self->pieces_left; piece++) {
        gs_recv(world, (gs_peer){GS_WORKER, (uint16_t)worker}, (uint16_t)(GS_PS_TAG_PIECE + piece),
                gs_ps_piece(config, job, shard, piece), piece);
    }
}

void gs_ps_server_message(gs_world *world, void *state, const gs_event *event)
{
    server *self = state;
    if (event->is_note) {
        self->stopped++;
        self->expected += event->meta[0];
    } else {
        if (self->listening) {
            put_together(world, self, event);
        } else {
            self->pieces_left--;
        }
        if (self->pieces_left == 0) {
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
        remember(world, &rule, i);
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
