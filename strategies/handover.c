#include "strategies/handover.h"

#include "strategies/ps_shard.h"
#include "strategies/swap.h"
#include "strategies/whole_model.h"

enum { COMMUNICATOR = 0, SCRATCH = GS_GRAD };
enum { TAG_MODEL, TAG_MOMENT };
enum { WEIGHT, PASSES, STEPS }; /* what ranks agree on: their sums */

/* Where the moments of the old strategy are. */
typedef enum moments_at { AT_EACH_RANK, AT_SERVERS, IN_SHARDS, APART } moments_at;

/* A worker's acts, each begun when all of the one before has ended: the mean of the models, three
 * for each moment (get, sum, put), one for the servers' weights and one for each of their moments.
 */
typedef struct state {
    uint32_t act;
    uint32_t pending; /* requests of the act under way */
    bool has_met;     /* all ranks are here */
    double weight;    /* of all models */
    int64_t passes, steps;
} state;

void gs_handover_layout(const gs_layout *legs, gs_layout *out)
{
    *out = (gs_layout){
        .servers = legs->servers,
        .own_vectors = {legs->own_vectors[GS_WORKER], legs->own_vectors[GS_SERVER]},
        .state_bytes = {sizeof(state), sizeof(state)},
        .outstanding_max = {[GS_WORKER] = legs->servers + 1, [GS_SERVER] = 1},
        .communicator_count = 1,
        .communicators[COMMUNICATOR] = {.kinds =
                                            1U << GS_ALL_REDUCE | 1U << GS_BROADCAST | GS_AGREES},
        .point_to_point = true,
        .ordered = true,
        .buckets = {INT64_MAX, INT64_MAX},
        .cut = GS_CUT_COMMON,
    };
}

static moments_at moments_of(const gs_layout *old)
{
    if (old->servers > 0) {
        return AT_SERVERS;
    }
    if (old->optimizer_shards > 1) {
        return IN_SHARDS;
    }
    return old->learns_apart ? APART : AT_EACH_RANK;
}

/* What a server has of a vector. */
static gs_slice shard_of(const gs_world *world, const gs_layout *layout, uint32_t server,
                         uint32_t vector)
{
    return layout->shares_servers
               ? gs_ps_shard(gs_world_job(world), layout->servers, server, vector)
               : gs_whole(world, vector);
}

/* Who has a moment that servers hold: each its shard, or one all of it. */
static uint32_t holders(const gs_layout *layout)
{
    return layout->shares_servers || layout->servers == 0 ? layout->servers : 1;
}

static bool is_first(const gs_world *world)
{
    return gs_self(world).index == 0;
}

/* ---------------------------------------------------------------- a worker's acts */

static void all_reduce(gs_world *world, state *self, uint32_t vector)
{
    (void)gs_all_reduce(world, COMMUNICATOR, gs_whole(world, vector), self->act);
    self->pending++;
}

/* The mean of all models, by their weights. */
static void mean_of_models(gs_world *world, state *self)
{
    const gs_swap *swap = gs_world_swap(world);
    if (!swap->old->learns_apart) {
        return;
    }
    if (swap->view != GS_PARAM) {
        gs_whole_vec(world, GS_VOP_copy, GS_PARAM, swap->view, 0.0);
    }
    gs_whole_vec(world, GS_VOP_scale, GS_PARAM, GS_PARAM, swap->weight / self->weight);
    all_reduce(world, self, GS_PARAM);
}

/* Of a moment in shards, those of this rank: its parts of all buckets, as sharded updates go. */
static void load_shards(gs_world *world, uint32_t number)
{
    gs_whole_vec(world, GS_VOP_scale, SCRATCH, SCRATCH, 0.0);
    for (uint32_t bucket = 0; bucket < gs_bucket_count(world); bucket++) {
        gs_slice slice = gs_bucket_slice(world, bucket);
        slice.vector = SCRATCH;
        gs_world_moment(world, number,
                        gs_part(world, COMMUNICATOR, slice, gs_member(world, COMMUNICATOR)), false);
    }
}

static void get_moment(gs_world *world, state *self, uint32_t number)
{
    const gs_layout *old = gs_world_swap(world)->old;
    switch (moments_of(old)) {
    case AT_SERVERS:
        for (uint32_t i = 0; is_first(world) && i < holders(old); i++) {
            (void)gs_recv(world, (gs_peer){GS_SERVER, (uint16_t)i}, (uint16_t)(TAG_MOMENT + number),
                          shard_of(world, old, i, SCRATCH), i);
            self->pending++;
        }
        return;
    case IN_SHARDS:
        load_shards(world, number);
        return;
    case APART:
        gs_world_moment(world, number, gs_whole(world, SCRATCH), false);
        gs_whole_vec(world, GS_VOP_scale, SCRATCH, SCRATCH, 1.0 / gs_world_job(world)->ranks);
        return;
    case AT_EACH_RANK:
        return;
    }
}

static void sum_moment(gs_world *world, state *self)
{
    moments_at at = moments_of(gs_world_swap(world)->old);
    if (at == AT_SERVERS) {
        (void)gs_broadcast(world, COMMUNICATOR, gs_whole(world, SCRATCH), 0, self->act);
        self->pending++;
    } else if (at != AT_EACH_RANK) {
        all_reduce(world, self, SCRATCH);
    }
}

static void put_moment(gs_world *world, uint32_t number)
{
    if (moments_of(gs_world_swap(world)->old) != AT_EACH_RANK) {
        gs_world_moment(world, number, gs_whole(world, SCRATCH), true);
    }
}

/* Worker 0 gives every server of the next leg what it holds of that vector. */
static void give_servers(gs_world *world, state *self, uint32_t vector, uint16_t tag)
{
    const gs_layout *next = gs_world_swap(world)->next;
    for (uint32_t i = 0; i < next->servers; i++) {
        (void)gs_send(world, (gs_peer){GS_SERVER, (uint16_t)i}, tag,
                      shard_of(world, next, i, vector), (int64_t[4]){self->passes, self->steps},
                      GS_SEND_LENT);
        self->pending++;
    }
}

static void give_servers_moment(gs_world *world, state *self, uint32_t number)
{
    gs_world_moment(world, number, gs_whole(world, SCRATCH), false);
    give_servers(world, self, SCRATCH, (uint16_t)(TAG_MOMENT + number));
}

/* Begins a worker's act; false: there are no more. */
static bool begin(gs_world *world, state *self)
{
    const gs_swap *swap = gs_world_swap(world);
    uint32_t moments = gs_world_job(world)->moments;
    bool gives = is_first(world) && swap->next->servers > 0;
    uint32_t act = self->act;
    if (act == 0) {
        mean_of_models(world, self);
    } else if (act <= 3 * moments) {
        uint32_t number = (act - 1) / 3;
        switch ((act - 1) % 3) {
        case 0:
            get_moment(world, self, number);
            break;
        case 1:
            sum_moment(world, self);
            break;
        default:
            put_moment(world, number);
            break;
        }
    } else if (gives && act == 3 * moments + 1) {
        give_servers(world, self, GS_PARAM, TAG_MODEL);
    } else if (gives && act <= 4 * moments + 1) {
        give_servers_moment(world, self, act - 3 * moments - 2);
    } else {
        return false;
    }
    return true;
}

/* Vectors of the next leg's own start as zeros. */
static void clear(gs_world *world)
{
    const gs_layout *next = gs_world_swap(world)->next;
    uint32_t own = next->own_vectors[gs_self(world).role];
    for (uint32_t vector = GS_OWN; vector < GS_OWN + own; vector++) {
        gs_whole_vec(world, GS_VOP_scale, vector, vector, 0.0);
    }
}

/* As far as it goes without waiting. */
static void go_on(gs_world *world, state *self)
{
    const gs_swap *swap = gs_world_swap(world);
    bool goes_on = swap->from != swap->to;
    while (self->pending == 0 && goes_on) {
        goes_on = begin(world, self);
        self->act += goes_on ? 1 : 0;
    }
    if (self->pending == 0) {
        if (swap->from != swap->to) {
            clear(world);
        }
        gs_drained(world);
    }
}

/* ---------------------------------------------------------------- ranks meet */

/* All come from the same leg and go to the same one; where they stop at a common step, after the
 * same. */
static uint64_t label_of(const gs_swap *swap)
{
    uint64_t step = swap->old->cut == GS_CUT_COMMON ? (uint64_t)swap->steps : 0;
    return step << 8 | swap->to;
}

static void meet(gs_world *world)
{
    const gs_swap *swap = gs_world_swap(world);
    double said[GS_AGREE_VALUES] = {swap->weight, (double)swap->passes, (double)swap->steps};
    (void)gs_agree(world, COMMUNICATOR, GS_AGREE_SUM, said, label_of(swap));
}

static void met(gs_world *world, state *self, const gs_event *event)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    self->has_met = true;
    self->weight = event->agreed[WEIGHT];
    self->passes = (int64_t)event->agreed[PASSES] / ranks;
    self->steps = (int64_t)event->agreed[STEPS] / ranks;
    gs_world_count_as(world, self->passes, self->steps);
    go_on(world, self);
}

/* ---------------------------------------------------------------- a server's acts */

static gs_slice own_shard(const gs_world *world, const gs_layout *layout, uint32_t vector)
{
    return shard_of(world, layout, gs_self(world).index, vector);
}

/* Sends the moments it had, one after the other; then gets weights and moments. */
static void serve(gs_world *world, state *self)
{
    const gs_swap *swap = gs_world_swap(world);
    uint32_t moments = gs_world_job(world)->moments;
    uint32_t index = gs_self(world).index;
    bool stays = swap->from == swap->to;
    uint32_t gives = !stays && index < holders(swap->old) ? moments : 0;
    uint32_t gets = !stays && index < swap->next->servers ? moments + 1 : 0;
    gs_peer first = {GS_WORKER, 0};
    if (self->act < gives) {
        gs_slice slice = own_shard(world, swap->old, SCRATCH);
        gs_world_moment(world, self->act, slice, false);
        (void)gs_send(world, first, (uint16_t)(TAG_MOMENT + self->act), slice, NULL, GS_SEND_LENT);
        self->act++;
    } else if (self->act < gives + gets) {
        uint32_t number = self->act++ - gives;
        uint16_t tag = (uint16_t)(number == 0 ? TAG_MODEL : TAG_MOMENT + number - 1);
        (void)gs_recv(world, first, tag,
                      own_shard(world, swap->next, number == 0 ? GS_PARAM : SCRATCH), number);
    } else {
        if (!stays) {
            clear(world);
        }
        gs_drained(world);
    }
}

static void served(gs_world *world, state *self, const gs_event *event)
{
    if (event->tag == TAG_MODEL) {
        gs_world_count_as(world, event->meta[0], event->meta[1]);
    } else {
        gs_world_moment(world, (uint32_t)event->cookie - 1, event->slice, true);
    }
    serve(world, self);
}

/* ---------------------------------------------------------------- hooks */

static void init(gs_world *world, void *memory)
{
    if (gs_self(world).role == GS_SERVER) {
        serve(world, memory);
    } else {
        meet(world);
    }
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (gs_self(world).role == GS_SERVER) {
        serve(world, self);
    } else if (!self->has_met) {
        met(world, self, event);
    } else {
        self->pending--;
        go_on(world, self);
    }
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (gs_self(world).role == GS_SERVER) {
        served(world, self, event);
    } else {
        self->pending--;
        go_on(world, self);
    }
}

/* It is to end from its beginning. */
static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    (void)world;
    (void)memory;
    (void)event;
}

const gs_strategy gs_strategy_handover = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "handover",
    .init = init,
    .op_done = op_done,
    .message = message,
    .quiesce = quiesce,
};
