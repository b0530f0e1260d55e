/* A network on its own, for tests: messages are asked for at given times, and it is noted when they
 * leave and come. */
#ifndef GS_TESTS_NET_FIXTURE_H
#define GS_TESTS_NET_FIXTURE_H

#include "base/assert.h"
#include "sim/sim_net.h"
#include "tests/support.h"

#include <string.h>

enum { NET_HOSTS = 64, NET_MESSAGES = 4096, NET_STREAMS = 4 };

typedef struct net_message {
    uint32_t from, to;
    uint32_t stream; /* NET_STREAMS: point to point */
    bool is_note;
    int64_t bytes;
    gs_time_ns at_ns;    /* asked for */
    gs_time_ns ready_ns; /* ready to be sent; 0: at once */
    gs_tick left, came;  /* out; -1: not yet */
} net_message;

typedef struct net_fixture {
    gs_arena arena;
    gs_node_group group;
    gs_scenario scenario;
    gs_topology topology;
    gs_topology_link links[2 * NET_HOSTS]; /* up 2h, down 2h + 1 */
    gs_payload_pool pool;
    gs_sim_loop loop;
    gs_sim_net net;
    net_message messages[NET_MESSAGES];
    uint32_t count;
    uint32_t came[NET_MESSAGES]; /* [came_count] in this order */
    uint32_t came_count;
    /* Are told when a message has been asked for, has left, has come; may send. NULL: nobody. */
    void (*on_ask)(struct net_fixture *fixture, uint32_t message);
    void (*on_left)(struct net_fixture *fixture, uint32_t message);
    void (*on_come)(struct net_fixture *fixture, uint32_t message);
} net_fixture;

/* 1 byte per ns: 8 Gbit/s. */
static inline gs_link net_link(void)
{
    return (gs_link){.bandwidth_bps = INT64_C(8000000000),
                     .efficiency = 1.0,
                     .latency_ns = 10 * GS_NS_PER_US,
                     .sockets = GS_SOCKETS_PROCESS};
}

/* Once f->topology is there. */
static inline void net_start(net_fixture *f, uint64_t tie_seed)
{
    gs_payload_pool_init(&f->pool, &f->arena);
    cr_assert(gs_sim_loop_init(&f->loop, tie_seed, tie_seed != 0));
    static const gs_streams streams = {.first = {0, 1, 2, 3, NET_STREAMS},
                                       .communicator_count = NET_STREAMS};
    gs_sim_net_config config = {.loop = &f->loop,
                                .topology = &f->topology,
                                .seed = 1,
                                .pool = &f->pool,
                                .streams = &streams};
    cr_assert(gs_sim_net_init(&f->net, &config, &f->arena));
}

/* Equal hosts on a switch. The caller may change links before anything is sent. */
static inline void net_init(net_fixture *f, uint32_t hosts, const gs_link *nic, uint64_t tie_seed)
{
    GS_ASSERT(hosts <= NET_HOSTS);
    memset(f, 0, sizeof *f);
    gs_arena_init(&f->arena);
    f->scenario.ranks = f->scenario.nodes = hosts;
    f->scenario.cluster.topology.kind = GS_TOPOLOGY_SWITCH;
    f->group = (gs_node_group){.count = hosts, .ranks = 1, .nic_scale = 1.0};
    f->scenario.cluster.groups = &f->group;
    f->scenario.cluster.group_count = 1;
    f->scenario.cluster.nic = *nic;
    const gs_topology *made = gs_topology_create(&f->scenario, 0, 1, &f->arena);
    cr_assert_not_null(made);
    f->topology = *made;
    memcpy(f->links, made->links, made->link_count * sizeof *made->links);
    f->topology.links = f->links;
    net_start(f, tie_seed);
}

/* The cluster of a scenario. */
static inline void net_init_on(net_fixture *f, const gs_scenario *scenario)
{
    memset(f, 0, sizeof *f);
    gs_arena_init(&f->arena);
    const gs_topology *made =
        gs_topology_create(scenario, (uint32_t)scenario->cluster.servers, 1, &f->arena);
    cr_assert_not_null(made);
    f->topology = *made;
    net_start(f, 0);
}

static inline void net_fini(net_fixture *f)
{
    gs_sim_loop_fini(&f->loop);
    gs_arena_fini(&f->arena);
}

/* Returns the index of the message. */
static inline uint32_t net_send(net_fixture *f, net_message message)
{
    GS_ASSERT(f->count < NET_MESSAGES);
    message.left = message.came = -1;
    f->messages[f->count] = message;
    gs_tick at = gs_ticks(message.at_ns);
    gs_sim_loop_at(&f->loop, at > f->loop.now ? at : f->loop.now, GS_SIM_CALL, f->count);
    return f->count++;
}

static inline void net_ask(net_fixture *f, uint32_t index)
{
    const net_message *message = &f->messages[index];
    uint32_t part = gs_sim_net_part(&f->net);
    f->net.parts[part].message.meta[0] = index;
    if (message->is_note) {
        gs_sim_net_note(&f->net, message->from, message->to, part);
        return;
    }
    f->net.parts[part].sender_slot = index;
    uint32_t channel = gs_sim_net_channel(&f->net, message->from, message->to, message->stream);
    gs_tick ready = gs_ticks(message->ready_ns);
    gs_sim_net_send(&f->net, channel, message->bytes, ready > f->loop.now ? ready : f->loop.now,
                    part);
}

static inline void net_came(net_fixture *f, uint32_t part)
{
    uint32_t index = (uint32_t)f->net.parts[part].message.meta[0];
    gs_sim_net_part_free(&f->net, part);
    f->messages[index].came = f->loop.now;
    f->came[f->came_count++] = index;
    if (f->on_come != NULL) {
        f->on_come(f, index);
    }
}

static inline void net_left(net_fixture *f, const gs_sim_left *left)
{
    if (left->left) {
        net_message *message = &f->messages[left->sender_slot];
        TEST_REQUIRE(message->left == -1 && message->from == left->from, "left twice");
        message->left = f->loop.now;
        if (f->on_left != NULL) {
            f->on_left(f, left->sender_slot);
        }
    }
}

static inline void net_event(net_fixture *f, const gs_sim_event *event)
{
    gs_sim_left left;
    uint32_t part;
    switch (event->kind) {
    case GS_SIM_PART:
        (void)gs_sim_net_delivered(&f->net, event->index, &part);
        gs_sim_net_take(&f->net, event->index);
        net_came(f, part);
        return;
    case GS_SIM_NOTE:
        net_came(f, event->index);
        return;
    case GS_SIM_CHANNEL:
        left = gs_sim_net_channel_event(&f->net, event->index, event->handle);
        net_left(f, &left);
        return;
    case GS_SIM_SOCKET:
        gs_sim_net_socket_event(&f->net, event->index, event->handle);
        while (gs_sim_net_told(&f->net, event->index, &left)) {
            net_left(f, &left);
        }
        return;
    case GS_SIM_DESK:
        gs_sim_net_desk_event(&f->net, event->index);
        return;
    case GS_SIM_LINK:
        gs_sim_net_link_event(&f->net, event->index, event->handle);
        return;
    case GS_SIM_CALL:
        net_ask(f, event->index);
        if (f->on_ask != NULL) {
            f->on_ask(f, event->index);
        }
        return;
    case GS_SIM_WORKER:
    case GS_SIM_KIND_COUNT:
        break;
    }
    GS_ASSERT(false && "no such event");
}

/* Until everything has come. */
static inline void net_run(net_fixture *f)
{
    gs_sim_event event;
    if (f->net.fairshare == NULL) {
        cr_assert(gs_sim_net_seal(&f->net, false, 1));
    }
    while (f->came_count < f->count && gs_sim_loop_next(&f->loop, &event)) {
        net_event(f, &event);
    }
    TEST_REQUIRE(f->came_count == f->count, "%u of %u messages came", f->came_count, f->count);
}

#endif
