/* LAG: a server keeps the mean of the last gradient of every worker, and a worker sends its new
 * one, as the difference to the last that it sent, only where that is worth it.
 *
 *     server    m = m + sum over workers that sent of d / n; x = optimizer(x, m); x to all
 *     worker    g = gradient at x, l = the last that it sent; d = g - l is sent where
 *       lag       |g - l|^2 > xi (|m|^2 of each of the last `window` steps)
 *       lasg      |x - x'|^2 > xi (|x - x before|^2 of each of the last `window` steps),
 *                 x': where its last gradient was taken
 *
 * The first rule is LAG-WK with the optimizer's rate left out: |m| is how far plain SGD moves, over
 * its rate. It takes every change of a gradient for news, also what comes of other samples, and
 * with small batches sends nearly always. LASG's WK rules compare two gradients of the same
 * samples, of which the contract takes one; its PS rule looks at weights alone, and is the second
 * rule, with xi = c / (L^2 window). Workers compute in every step: what is saved is messages to the
 * server. Whoever does not send says so in a note of 32 bytes to each server. Gradients are added
 * in rank order, so that runs have the same bits in every host. Where there are no floats all send.
 */
#include "base/assert.h"
#include "strategies/collective.h"
#include "strategies/lag_rule.h"
#include "strategies/stateless.h"
#include "strategies/whole_model.h"

#include <string.h>

enum { TAG_ANSWER, TAG_STOP, TAG_NEWS, TAG_PARAM }; /* notes: a worker sends or not; it is done */
enum { META_SENDS };                                /* of an answer */
enum { META_SQUARE };                               /* with weights: of the shard of m */
enum { LAST = GS_OWN, NEWS, TAKEN_AT, BEFORE, MOVED }; /* a worker's; the last three of lasg */
enum { MEAN = GS_OWN, INBOX = GS_GRAD };               /* a server's */
enum { CHANGE, STEP };                                 /* cookies of sums of products */

typedef struct config {
    double xi;
    int64_t window, longest, servers;
} config;

/* clang-format off */
#define FIELDS(xi_text, longest_text)                                                              \
    {"xi", GS_FIELD_REAL, GS_FIELD_AT(config, xi), xi_text, 0, 1e9, NULL,                          \
     "weight of each recent step in the threshold; 0: every change is sent"},                      \
    {"window", GS_FIELD_INT, GS_FIELD_AT(config, window), "10", 1, GS_LAG_WINDOW_MAX, NULL,        \
     "recent steps that the threshold is made of"},                                                \
    {"longest", GS_FIELD_INT, GS_FIELD_AT(config, longest), longest_text, 0, 1e9, NULL,            \
     "steps after which a worker sends in any case; 0: never"},                                    \
    {"servers", GS_FIELD_INT, GS_FIELD_AT(config, servers), "0", 0, GS_ENTITIES_MAX, NULL,         \
     "servers that the parameters are cut over; 0: all that the cluster has"}
/* clang-format on */

static const gs_field fields_lag[] = {FIELDS("0.1", "0")};
static const gs_field fields_lasg[] = {FIELDS("0.4", "10")};

/* First word of both states: export has nothing else to tell them apart. */
typedef struct worker {
    uint16_t role;
    bool is_lasg;
    bool computes, waits, quiescing;
    bool awaits_sum;          /* of products */
    uint32_t coming, leaving; /* shards of weights, and of a gradient */
    int64_t since;            /* steps without sending */
    gs_lag_rule rule;
    double squares[]; /* [servers] */
} worker;

typedef struct server {
    uint16_t role;
    bool quiescing;
    bool receives; /* the gradient of worker `turn` */
    bool measures; /* m is complete, its square has not come */
    bool may_give; /* it has */
    double square;
    uint32_t turn;    /* workers whose answer is used */
    uint32_t copies;  /* of weights on their way */
    uint32_t stopped; /* workers that are done */
    struct answer {
        bool is_there, sends;
    } answers[]; /* [ranks] */
} server;

static uint32_t servers_of(const config *chosen, const gs_job *job)
{
    return chosen->servers > 0 ? (uint32_t)chosen->servers : job->servers;
}

static gs_slice shard(const gs_world *world, uint32_t index, uint32_t vector)
{
    const gs_job *job = gs_world_job(world);
    gs_slice part = {.vector = vector};
    gs_part_of(job->elements, servers_of(gs_world_config(world), job), index, &part.offset,
               &part.length);
    return part;
}

static gs_status layout(const char *name, bool is_lasg, const config *chosen, const gs_job *job,
                        gs_layout *out, gs_error *err)
{
    uint32_t servers = servers_of(chosen, job);
    if (servers == 0 || servers > job->servers) {
        return gs_fail(err, GS_EINVAL,
                       "%s.servers: %u, but cluster.servers.count offers %u; raise that to 1 or "
                       "more, or use allreduce",
                       name, servers, job->servers);
    }
    if (servers > job->elements) {
        return gs_fail(err, GS_EINVAL,
                       "%s.servers: %u shards of %lld elements leave some empty; use servers=%lld",
                       name, servers, (long long)job->elements, (long long)job->elements);
    }
    *out = (gs_layout){
        .servers = servers,
        .gradients_per_update = job->ranks,
        .own_vectors = {is_lasg ? MOVED + 1 - GS_OWN : NEWS + 1 - GS_OWN, 1},
        .state_bytes = {sizeof(worker) + servers * sizeof(double),
                        sizeof(server) + job->ranks * sizeof(struct answer)},
        .copies_max = {[GS_SERVER] = job->ranks},
        .outstanding_max = {2 * servers + 1, job->ranks + 2},
        .point_to_point = true,
        .applies_slices = servers > 1,
        .bytes_vary = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* whether it is sent is known when it is complete */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* As long as every worker sends in every step. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    (void)settings, (void)coding;
    return job->elements * job->element_bytes;
}

/* ---------------------------------------------------------------- a worker */

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    worker *self = memory;
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    self->computes = true;
    return gs_plan_at(world, GS_PARAM);
}

/* To be compared with the threshold. */
static void ask_change(gs_world *world, const worker *self)
{
    uint32_t changed = NEWS;
    if (self->is_lasg) {
        changed = MOVED;
        gs_whole_vec(world, GS_VOP_copy, BEFORE, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_copy, MOVED, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_sub, MOVED, TAKEN_AT, 0.0);
    }
    (void)gs_dot(world, gs_whole(world, changed), gs_whole(world, changed), CHANGE);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    worker *self = memory;
    (void)event;
    self->computes = false;
    self->waits = self->awaits_sum = true;
    gs_whole_vec(world, GS_VOP_copy, NEWS, GS_GRAD, 0.0);
    gs_whole_vec(world, GS_VOP_sub, NEWS, LAST, 0.0);
    ask_change(world, self);
}

static void answer(gs_world *world, worker *self, double change)
{
    const config *chosen = gs_world_config(world);
    uint32_t servers = servers_of(chosen, gs_world_job(world));
    bool is_due = chosen->longest > 0 && self->since >= chosen->longest;
    bool sends = is_due || gs_lag_is_news(&self->rule, chosen->xi, change);
    self->since = sends ? 0 : self->since + 1;
    for (uint32_t i = 0; i < servers; i++) {
        gs_peer to = {GS_SERVER, (uint16_t)i};
        gs_note(world, to, TAG_ANSWER, (int64_t[4]){[META_SENDS] = sends});
        if (sends) {
            self->leaving++;
            (void)gs_send(world, to, TAG_NEWS, shard(world, i, NEWS), NULL, GS_SEND_LENT);
        }
    }
    if (sends) {
        gs_whole_vec(world, GS_VOP_copy, LAST, GS_GRAD, 0.0);
    }
    if (sends && self->is_lasg) {
        gs_whole_vec(world, GS_VOP_copy, TAKEN_AT, GS_PARAM, 0.0);
    }
    self->coming = servers;
    for (uint32_t i = 0; i < servers; i++) {
        (void)gs_recv(world, (gs_peer){GS_SERVER, (uint16_t)i}, TAG_PARAM,
                      shard(world, i, GS_PARAM), i);
    }
}

static void stop(gs_world *world)
{
    uint32_t servers = servers_of(gs_world_config(world), gs_world_job(world));
    for (uint32_t i = 0; i < servers; i++) {
        gs_note(world, (gs_peer){GS_SERVER, (uint16_t)i}, TAG_STOP, NULL);
    }
    gs_drained(world);
}

/* A step is known by how far it went. */
static void end_step(gs_world *world, worker *self, double square)
{
    const config *chosen = gs_world_config(world);
    gs_lag_step(&self->rule, (uint32_t)chosen->window, square);
    self->waits = false;
    gs_end_step(world);
    if (self->quiescing) {
        stop(world);
    } else {
        gs_release(world);
    }
}

static void go_on(gs_world *world, worker *self)
{
    if (self->awaits_sum || self->coming > 0 || self->leaving > 0) {
        return;
    }
    if (self->is_lasg) {
        self->awaits_sum = true;
        gs_whole_vec(world, GS_VOP_copy, MOVED, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_sub, MOVED, BEFORE, 0.0);
        (void)gs_dot(world, gs_whole(world, MOVED), gs_whole(world, MOVED), STEP);
        return;
    }
    double square = 0.0;
    for (uint32_t i = 0; i < servers_of(gs_world_config(world), gs_world_job(world)); i++) {
        square += self->squares[i];
    }
    end_step(world, self, square);
}

static void worker_op_done(gs_world *world, worker *self, const gs_event *event)
{
    if (!self->awaits_sum) {
        self->leaving--;
        go_on(world, self);
        return;
    }
    self->awaits_sum = false;
    if (event->cookie == CHANGE) {
        answer(world, self, event->scalar);
    } else {
        end_step(world, self, event->scalar);
    }
}

static void worker_message(gs_world *world, worker *self, const gs_event *event)
{
    memcpy(&self->squares[event->cookie], &event->meta[META_SQUARE], sizeof *self->squares);
    self->coming--;
    go_on(world, self);
}

/* ---------------------------------------------------------------- a server */

static gs_slice own(const gs_world *world, uint32_t vector)
{
    return shard(world, gs_self(world).index, vector);
}

/* Weights to all, once those of the step before have left. */
static void give(gs_world *world, server *self)
{
    if (!self->may_give || self->copies > 0) {
        return;
    }
    uint32_t ranks = gs_world_job(world)->ranks;
    int64_t meta[4] = {0};
    memcpy(&meta[META_SQUARE], &self->square, sizeof self->square);
    self->may_give = false;
    self->turn = 0;
    self->copies = ranks;
    for (uint32_t i = 0; i < ranks; i++) {
        (void)gs_send(world, (gs_peer){GS_WORKER, (uint16_t)i}, TAG_PARAM, own(world, GS_PARAM),
                      meta, GS_SEND_COPY);
    }
}

/* Uses answers as far as they have come, in rank order. */
static void gather(gs_world *world, server *self)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    while (!self->receives && self->turn < ranks && self->answers[self->turn].is_there) {
        struct answer *next = &self->answers[self->turn];
        next->is_there = false;
        self->receives = next->sends;
        if (next->sends) {
            gs_peer from = {GS_WORKER, (uint16_t)self->turn};
            (void)gs_recv(world, from, TAG_NEWS, own(world, INBOX), 0);
        } else {
            self->turn++;
        }
    }
    if (self->turn == ranks && !self->measures && !self->may_give) {
        self->measures = true;
        (void)gs_dot(world, own(world, MEAN), own(world, MEAN), STEP);
        gs_apply_slice(world, own(world, GS_PARAM), MEAN, 1.0, true);
    }
}

static void end_if_done(gs_world *world, const server *self)
{
    if (self->quiescing && self->stopped == gs_world_job(world)->ranks && self->copies == 0) {
        gs_drained(world);
    }
}

static void server_message(gs_world *world, server *self, const gs_event *event)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    if (event->is_note && event->tag == TAG_STOP) {
        self->stopped++;
    } else if (event->is_note) {
        self->answers[event->from.index] =
            (struct answer){.is_there = true, .sends = event->meta[META_SENDS] != 0};
    } else {
        gs_vec(world, GS_VOP_axpy, own(world, MEAN), own(world, INBOX), 1.0 / ranks);
        self->receives = false;
        self->turn++;
    }
    gather(world, self);
    end_if_done(world, self);
}

static void server_op_done(gs_world *world, server *self, const gs_event *event)
{
    if (event->cookie == STEP) {
        self->measures = false;
        self->may_give = true;
        self->square = event->scalar;
    } else {
        self->copies--;
    }
    give(world, self);
    end_if_done(world, self);
}

/* ---------------------------------------------------------------- hooks of both */

static bool is_server(const void *state)
{
    return *(const uint16_t *)state == GS_SERVER;
}

/* A worker that has sent nothing sends: its threshold is 0. */
static void init(bool is_lasg, gs_world *world, void *state)
{
    *(uint16_t *)state = gs_self(world).role;
    if (!is_server(state)) {
        worker *self = state;
        self->is_lasg = is_lasg;
    }
}

static void op_done(gs_world *world, void *state, const gs_event *event)
{
    if (is_server(state)) {
        server_op_done(world, state, event);
    } else {
        worker_op_done(world, state, event);
    }
}

static void message(gs_world *world, void *state, const gs_event *event)
{
    if (is_server(state)) {
        server_message(world, state, event);
    } else {
        worker_message(world, state, event);
    }
}

static void quiesce(gs_world *world, void *state, const gs_event *event)
{
    (void)event;
    if (is_server(state)) {
        ((server *)state)->quiescing = true;
        end_if_done(world, state);
        return;
    }
    worker *self = state;
    self->quiescing = true;
    if (!self->computes && !self->waits) {
        stop(world);
    }
}

/* From run to run every gradient is sent anew, and the window is empty. */
#define LAG(stem, lasg, summary_of, source_of)                                                     \
    static const gs_field_table table_##stem = {.name = #stem,                                     \
                                                .struct_bytes = sizeof(config),                    \
                                                .fields = fields_##stem,                           \
                                                .field_count =                                     \
                                                    sizeof fields_##stem / sizeof *fields_##stem}; \
    static gs_status layout_##stem(const void *chosen, const gs_job *job, gs_layout *out,          \
                                   gs_error *err)                                                  \
    {                                                                                              \
        return layout(#stem, lasg, chosen, job, out, err);                                         \
    }                                                                                              \
    static void init_##stem(gs_world *world, void *state)                                          \
    {                                                                                              \
        init(lasg, world, state);                                                                  \
    }                                                                                              \
    static void import_##stem(gs_world *world, void *state, const void *in, size_t in_bytes)       \
    {                                                                                              \
        (void)in, (void)in_bytes;                                                                  \
        init(lasg, world, state);                                                                  \
    }                                                                                              \
    const gs_strategy gs_strategy_##stem = {.struct_bytes = sizeof(gs_strategy),                   \
                                            .name = #stem,                                         \
                                            .summary = (summary_of),                               \
                                            .source = (source_of),                                 \
                                            .config = &table_##stem,                               \
                                            .layout = layout_##stem,                               \
                                            .wire_bytes = wire_bytes,                              \
                                            .init = init_##stem,                                   \
                                            .step_begin = step_begin,                              \
                                            .bucket_ready = gs_whole_bucket_ready,                 \
                                            .backward_done = backward_done,                        \
                                            .op_done = op_done,                                    \
                                            .message = message,                                    \
                                            .quiesce = quiesce,                                    \
                                            .export_state = gs_stateless_export,                   \
                                            .import_state = import_##stem}

LAG(lag, false,
    "a server keeps each rank's last gradient, ranks send one that has changed much; a note a "
    "rank, "
    "server and step says which",
    "Chen et al., LAG, NeurIPS 2018 (arXiv 1805.09965)");
LAG(lasg, true,
    "as lag, by how far weights have moved (LASG-PS), which batches do not disturb; a note a rank, "
    "server and step says who sends",
    "Chen, Sun and Yin, LASG, 2020 (arXiv 2002.11360)");
