/* Parameter servers: workers push gradients and pull weights, servers decide (ps_server.c).
 *
 * A worker pulls, computes, pushes, and waits for every server's answer. The end loses nothing:
 * when a run stops, each worker says how much it pushed, servers use what has come, and all get the
 * same final weights.
 *
 * Every shard sees its own order of arrival and decides for itself. So an update of the whole model
 * is not atomic: a worker may get shards of different ages, and one gradient may count at one
 * server and be dropped at another, as in real systems. */
#include "base/assert.h"
#include "strategies/coding.h"
#include "strategies/ps_parts.h"

#include <string.h>

typedef enum answer { ANSWER_NONE, ANSWER_OF_PUSH, ANSWER_LAST } answer;

/* A server as the worker knows it. */
typedef struct giver {
    int64_t version; /* of the weights that it gave last, */
    int64_t newest;  /* and of those that it said it has */
    uint8_t awaited; /* answer */
} giver;

typedef struct worker {
    gs_ps_role is;
    bool backward, quiescing, told;
    bool stepping;       /* a step has begun, its gradient was pushed or given up, and it has not
                            ended */
    uint32_t sending;    /* pieces, and ends of pushes */
    uint32_t unanswered; /* servers that have not answered the last push */
    uint32_t lasts;      /* servers whose final weights have come */
    uint32_t server;     /* the next piece to push: of this one, */
    uint32_t piece;
    int64_t outdated;      /* notes of that kind that have come, */
    int64_t outdated_due;  /* and that final weights said were sent */
    int64_t pushes;        /* in this run, whole or not, */
    int64_t pushed;        /* gradients among them, */
    int64_t pushed_before; /* and in the runs it goes on from */
    giver givers[];        /* [servers] */
} worker;

/* ---------------------------------------------------------------- shards and pieces */

uint32_t gs_ps_server_count(const gs_ps_config *config, const gs_job *job)
{
    return config->servers > 0 ? (uint32_t)config->servers : job->servers;
}

gs_slice gs_ps_shard(const gs_job *job, uint32_t servers, uint32_t server, uint32_t vector)
{
    int64_t share = job->elements / servers;
    int64_t more = job->elements % servers; /* the first ones have one element more */
    int64_t before = server < more ? server : more;
    return (gs_slice){vector, server * share + before, share + (server < more ? 1 : 0)};
}

static int64_t piece_elements(const gs_ps_config *config, const gs_job *job)
{
    int64_t elements = config->bucket_bytes / job->element_bytes;
    return elements > 0 ? elements : 1;
}

uint32_t gs_ps_piece_count(const gs_ps_config *config, const gs_job *job, gs_slice shard)
{
    int64_t elements = piece_elements(config, job);
    return config->overlap ? (uint32_t)((shard.length + elements - 1) / elements) : 1;
}

gs_slice gs_ps_piece(const gs_ps_config *config, const gs_job *job, gs_slice shard, uint32_t piece)
{
    if (!config->overlap) {
        return shard;
    }
    int64_t elements = piece_elements(config, job);
    int64_t begin = piece * elements;
    int64_t left = shard.length - begin;
    return (gs_slice){shard.vector, shard.offset + begin, left < elements ? left : elements};
}

/* ---------------------------------------------------------------- layout */

enum { PIECES_MAX = 60000 }; /* a tag each */

static gs_status check_servers(const char *name, const gs_ps_config *config, const gs_job *job,
                               const gs_ps_rule *rule, gs_error *err)
{
    uint32_t servers = gs_ps_server_count(config, job);
    if (job->servers == 0) {
        return gs_fail(err, GS_EINVAL,
                       "cluster.servers.count: 0, but %s keeps the weights on servers; set it to 1 "
                       "or more, or use allreduce",
                       name);
    }
    if (servers > job->servers) {
        return gs_fail(err, GS_EINVAL,
                       "%s.servers: %u, but cluster.servers.count offers %u; raise that, or use "
                       "servers=%u",
                       name, servers, job->servers, job->servers);
    }
    if (servers > job->elements) {
        return gs_fail(err, GS_EINVAL,
                       "%s.servers: %u shards of %lld elements leave some empty; use servers=%lld",
                       name, servers, (long long)job->elements, (long long)job->elements);
    }
    /* With gather gradients an update and no bound on age, each shard may keep gather - 1 workers
     * that came last to it. Where these can be all workers, nobody is left to wake them. */
    uint64_t kept = (uint64_t)servers * (rule->gather - 1);
    if (servers > 1 && rule->wait == GS_PS_WAIT_UPDATE && rule->delay_max == GS_PS_ANY_DELAY &&
        rule->gather < job->ranks && kept >= job->ranks) {
        return gs_fail(err, GS_EINVAL,
                       "%s.k: with %u servers, each of which keeps up to %u workers waiting, all "
                       "%u can wait for one another for ever; use servers=%u, or another k",
                       name, servers, rule->gather - 1, job->ranks,
                       (job->ranks - 1) / (rule->gather - 1));
    }
    return GS_OK;
}

static gs_status check_counts(const char *name, gs_ps_kind kind, const gs_ps_config *config,
                              const gs_job *job, gs_error *err)
{
    bool of_ranks = kind == GS_PS_K_SYNC || kind == GS_PS_K_ASYNC || kind == GS_PS_M_SYNC;
    if (of_ranks && config->count > job->ranks) {
        const char *field = kind == GS_PS_M_SYNC ? "m" : "k";
        return gs_fail(err, GS_EINVAL,
                       "%s.%s: %lld of %u ranks; an update cannot wait for more than all: use "
                       "%s=%u",
                       name, field, (long long)config->count, job->ranks, field, job->ranks);
    }
    bool of_gradients =
        kind == GS_PS_K_BATCH_SYNC || kind == GS_PS_K_BATCH_ASYNC || kind == GS_PS_RENNALA;
    int64_t gradients = job->budget_steps * job->ranks;
    if (of_gradients && gradients > 0 && config->count > gradients) {
        const char *field = kind == GS_PS_RENNALA ? "batches" : "k";
        return gs_fail(err, GS_EINVAL,
                       "%s.%s: %lld gradients an update, but the run has %lld in all and would "
                       "never update; use at most %s=%lld, or a longer workload.budget",
                       name, field, (long long)config->count, (long long)gradients, field,
                       (long long)gradients);
    }
    if (kind == GS_PS_BACKUP && config->count >= job->ranks) {
        return gs_fail(err, GS_EINVAL,
                       "%s.backups: %lld of %u ranks leave none to wait for; use backups=%u", name,
                       (long long)config->count, job->ranks, job->ranks - 1);
    }
    if (kind == GS_PS_DSSP && config->staleness_max < config->staleness) {
        return gs_fail(err, GS_EINVAL,
                       "%s.staleness_max: %lld is below staleness, %lld; use at least that", name,
                       (long long)config->staleness_max, (long long)config->staleness);
    }
    return GS_OK;
}

gs_status gs_ps_layout(gs_ps_kind kind, const char *name, const gs_ps_config *config,
                       const gs_job *job, gs_layout *out, gs_error *err)
{
    GS_TRY(check_counts(name, kind, config, job, err));
    gs_ps_rule rule = gs_ps_rule_of(kind, config, job->ranks);
    GS_TRY(check_servers(name, config, job, &rule, err));
    uint32_t servers = gs_ps_server_count(config, job);
    gs_slice largest = gs_ps_shard(job, servers, 0, GS_GRAD);
    int64_t elements = piece_elements(config, job);
    if (config->overlap && largest.length / elements >= PIECES_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "%s.bucket: a shard of %lld elements has over %d of them; use bucket=%lldB "
                       "or more",
                       name, (long long)largest.length, PIECES_MAX,
                       (long long)((largest.length / PIECES_MAX + 1) * job->element_bytes));
    }
    uint32_t pieces = gs_ps_piece_count(config, job, largest);
    gs_bucket_rule buckets = {.first_bytes = config->bucket_bytes,
                              .cap_bytes = config->bucket_bytes};
    *out = (gs_layout){
        .servers = servers,
        .own_vectors = {[GS_SERVER] = gs_ps_server_vectors(config, &rule, job->ranks)},
        .state_bytes = {sizeof(worker) + servers * sizeof(giver), gs_ps_server_bytes(job->ranks)},
        .copies_max = {[GS_SERVER] = job->ranks},
        .outstanding_max = {servers * (pieces + (rule.restarts ? 2 : 1)), pieces + job->ranks},
        .gradients_per_update = rule.gather,
        .point_to_point = true,
        .sends_coded = true,
        .applies_slices = servers > 1,
        .cancels = rule.restarts,
        .buckets = buckets,
        /* Where every gradient of every rank counts, all make the same steps. */
        .cut = rule.in_rank_order ? GS_CUT_COMMON : GS_CUT_OWN,
    };
    return GS_OK;
}

/* Every piece of a gradient, once; what was pushed of one that was cancelled comes on top. */
int64_t gs_ps_wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const gs_ps_config *config = settings;
    uint32_t servers = gs_ps_server_count(config, job);
    int64_t total = 0;
    for (uint32_t server = 0; server < servers; server++) {
        gs_slice shard = gs_ps_shard(job, servers, server, GS_GRAD);
        uint32_t pieces = gs_ps_piece_count(config, job, shard);
        for (uint32_t piece = 0; piece < pieces; piece++) {
            int64_t length = gs_ps_piece(config, job, shard, piece).length;
            total += gs_coding_send_bytes(coding, length, job->element_bytes);
        }
    }
    return total;
}

/* ---------------------------------------------------------------- a worker's step */

static uint32_t servers_of(const gs_world *world)
{
    return gs_ps_server_count(gs_world_config(world), gs_world_job(world));
}

static gs_peer server_at(uint32_t index)
{
    return (gs_peer){GS_SERVER, (uint16_t)index};
}

static void await(gs_world *world, worker *self, uint32_t server, answer which)
{
    gs_slice into = gs_ps_shard(gs_world_job(world), servers_of(world), server, GS_PARAM);
    self->givers[server].awaited = (uint8_t)which;
    gs_recv(world, server_at(server), GS_PS_TAG_PARAM, into, server);
}

static bool restarts(const gs_world *world, const worker *self)
{
    return gs_ps_rule_of((gs_ps_kind)self->is.kind, gs_world_config(world),
                         gs_world_job(world)->ranks)
        .restarts;
}

/* That many pieces of its shard were sent, and no more come. */
static void end_push(gs_world *world, worker *self, uint32_t server, uint32_t pieces)
{
    self->sending++;
    gs_send(world, server_at(server), GS_PS_TAG_END, (gs_slice){.vector = GS_GRAD},
            (int64_t[4]){[GS_PS_META_PIECES] = pieces}, GS_SEND_LENT);
}

/* Pushes what lies before `ready`, an element of GRAD. */
static void push(gs_world *world, worker *self, int64_t ready)
{
    const gs_ps_config *config = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    while (self->server < servers_of(world)) {
        gs_slice shard = gs_ps_shard(job, servers_of(world), self->server, GS_GRAD);
        gs_slice piece = gs_ps_piece(config, job, shard, self->piece);
        if (piece.offset + piece.length > ready) {
            return;
        }
        self->sending++;
        gs_send(world, server_at(self->server), (uint16_t)(GS_PS_TAG_PIECE + self->piece), piece,
                NULL, GS_SEND_CODED);
        if (++self->piece == gs_ps_piece_count(config, job, shard)) {
            if (restarts(world, self)) {
                end_push(world, self, self->server, self->piece);
            }
            self->piece = 0;
            self->server++;
        }
    }
}

/* Every server has got a push, and answers it. */
static void await_all(gs_world *world, worker *self)
{
    self->pushes++;
    self->unanswered = servers_of(world);
    for (uint32_t i = 0; i < self->unanswered; i++) {
        await(world, self, i, ANSWER_OF_PUSH);
    }
}

/* After the last gradient: what each server must have got, and the final weights are asked for. */
static void stop(gs_world *world, worker *self)
{
    self->told = true;
    for (uint32_t i = 0; i < servers_of(world); i++) {
        gs_note(world, server_at(i), GS_PS_TAG_STOP, (int64_t[4]){self->pushes});
        if (self->givers[i].awaited == ANSWER_NONE) {
            await(world, self, i, ANSWER_LAST);
        }
    }
}

/* Every server that has not got its share of the gradient under way has made the update that it was
 * for; or where none is under way, all of them have newer weights than they gave. */
static bool is_overtaken(const gs_world *world, const worker *self)
{
    uint32_t first = self->backward ? self->server : 0;
    for (uint32_t i = first; i < servers_of(world); i++) {
        if (self->givers[i].newest <= self->givers[i].version) {
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
        int64_t kept = gs_ps_shard(job, servers_of(world), self->server, GS_GRAD).offset;
        gs_drop(world, (gs_slice){GS_GRAD, kept, job->elements - kept});
        gs_cancel_gradient(world);
        self->backward = false;
        self->stepping = true;
    } else {
        self->server = self->piece = 0;
    }
    for (; self->server < servers_of(world); self->server++) {
        end_push(world, self, self->server, self->piece);
        self->piece = 0;
    }
    await_all(world, self);
}

/* The answers alone do not free GRAD: a send may end after the answer to it has come. */
static void go_on(gs_world *world, worker *self)
{
    if (self->stepping && self->unanswered == 0) {
        self->stepping = false;
        gs_end_step(world);
    }
    bool is_free = self->sending == 0 && self->unanswered == 0;
    if (!self->quiescing && (self->backward || is_free) && is_overtaken(world, self)) {
        begin_again(world, self);
        return;
    }
    if (self->quiescing && !self->told && !self->backward) {
        stop(world, self);
    }
    if (self->lasts == servers_of(world) && self->sending == 0 &&
        self->outdated == self->outdated_due) {
        gs_drained(world);
    } else if (!self->quiescing && is_free) {
        gs_release(world);
    }
}

gs_plan gs_ps_step_begin(gs_world *world, void *state, const gs_event *event)
{
    worker *self = state;
    (void)event;
    if (self->sending > 0 || self->unanswered > 0) {
        return (gs_plan){.go = false};
    }
    self->backward = true;
    self->server = self->piece = 0;
    int64_t passes = gs_world_job(world)->accumulation;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = (uint32_t)passes};
}

void gs_ps_bucket_ready(gs_world *world, void *state, const gs_event *event)
{
    const gs_ps_config *config = gs_world_config(world);
    if (config->overlap) {
        push(world, state, event->slice.offset + event->slice.length);
    }
}

void gs_ps_backward_done(gs_world *world, void *state, const gs_event *event)
{
    worker *self = state;
    (void)event;
    self->backward = false;
    push(world, self, gs_world_job(world)->elements);
    self->pushed++;
    self->stepping = true;
    await_all(world, self);
    go_on(world, self);
}

static void weights_came(gs_world *world, worker *self, const gs_event *event)
{
    giver *from = &self->givers[event->from.index];
    answer awaited = (answer)from->awaited;
    from->awaited = ANSWER_NONE;
    from->version = event->meta[GS_PS_META_VERSION];
    self->unanswered -= awaited == ANSWER_OF_PUSH ? 1 : 0;
    if (event->meta[GS_PS_META_LAST] != 0) {
        self->lasts++;
        self->outdated_due += event->meta[GS_PS_META_TOLD];
    } else if (self->told) {
        await(world, self, event->from.index, ANSWER_LAST);
    }
    go_on(world, self);
}

/* It may come before the weights that it is about, and long after newer ones. */
static void outdated(gs_world *world, worker *self, const gs_event *event)
{
    giver *from = &self->givers[event->from.index];
    int64_t newest = event->meta[GS_PS_META_VERSION];
    self->outdated++;
    from->newest = newest > from->newest ? newest : from->newest;
    go_on(world, self);
}

/* ---------------------------------------------------------------- hooks of both roles */

static bool is_server(const void *state)
{
    return ((const gs_ps_role *)state)->role == GS_SERVER;
}

static void begin(gs_ps_kind kind, gs_world *world, void *state)
{
    *(gs_ps_role *)state = (gs_ps_role){.kind = kind, .role = gs_self(world).role};
}

void gs_ps_init(gs_ps_kind kind, gs_world *world, void *state)
{
    begin(kind, world, state);
    if (is_server(state)) {
        gs_ps_server_init(world, state);
    }
}

void gs_ps_op_done(gs_world *world, void *state, const gs_event *event)
{
    (void)event;
    if (is_server(state)) {
        gs_ps_server_op_done(world, state);
        return;
    }
    ((worker *)state)->sending--;
    go_on(world, state);
}

void gs_ps_message(gs_world *world, void *state, const gs_event *event)
{
    if (is_server(state)) {
        gs_ps_server_message(world, state, event);
    } else if (event->is_note) {
        outdated(world, state, event);
    } else {
        weights_came(world, state, event);
    }
}

void gs_ps_quiesce(gs_world *world, void *state, const gs_event *event)
{
    (void)event;
    if (is_server(state)) {
        gs_ps_server_quiesce(world, state);
        return;
    }
    ((worker *)state)->quiescing = true;
    go_on(world, state);
}

size_t gs_ps_export(const void *state, void *out, size_t out_bytes)
{
    if (is_server(state)) {
        return gs_ps_server_export(state, out, out_bytes);
    }
    const worker *self = state;
    int64_t pushed = self->pushed_before + self->pushed;
    GS_ASSERT(out_bytes >= sizeof pushed);
    memcpy(out, &pushed, sizeof pushed);
    return sizeof pushed;
}

void gs_ps_import(gs_ps_kind kind, gs_world *world, void *state, const void *in, size_t in_bytes)
{
    begin(kind, world, state);
    if (is_server(state)) {
        gs_ps_server_import(world, state, in, in_bytes);
    } else {
        worker *self = state;
        GS_ASSERT(in_bytes == sizeof self->pushed_before);
        memcpy(&self->pushed_before, in, sizeof self->pushed_before);
    }
}
