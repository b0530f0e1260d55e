/* What packets do, for tests of the simulator's sockets, and nothing of its code: messages are cut
 * into packets; each host sends its sockets' packets in turn through a token bucket, each host
 * takes them in turn through another, and a socket has no more under way than its window, from the
 * moment a packet goes out until the news that it came is back. Steps from one moment at which
 * anything can happen to the next. */
#ifndef GS_TESTS_PACKET_ORACLE_H
#define GS_TESTS_PACKET_ORACLE_H

#include "base/assert.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ORACLE_HOSTS = 8, ORACLE_MESSAGES = 64, ORACLE_PACKETS = 4096 };

typedef struct oracle_message {
    uint32_t from, to;
    double bytes, ready_s;
    double came_s; /* out: the last packet */
} oracle_message;

typedef struct oracle_packet {
    double bytes;
    double at_s;      /* to the receiver's side; then, when the news is back */
    uint32_t message; /* whose last packet it is; ORACLE_MESSAGES: of none */
} oracle_packet;

/* A first-in first-out of packets. */
typedef struct oracle_queue {
    oracle_packet packets[ORACLE_PACKETS];
    uint32_t first, count;
} oracle_queue;

typedef struct oracle_socket {
    uint32_t messages[ORACLE_MESSAGES]; /* in the order in which they are ready */
    uint32_t first, count;
    double left;      /* bytes of the first message that have not gone out */
    double under_way; /* bytes of which no news is back */
    oracle_queue came, news;
} oracle_socket;

typedef struct oracle_bucket {
    double bytes_per_s;
    double full_s; /* when it will be full again */
    uint32_t turn; /* whose packet comes next */
} oracle_bucket;

typedef struct oracle {
    uint32_t hosts;
    oracle_bucket out[ORACLE_HOSTS], in[ORACLE_HOSTS];
    double packet_bytes; /* a full bucket lets one through */
    double window_bytes, latency_s;
    oracle_socket sockets[ORACLE_HOSTS][ORACLE_HOSTS]; /* [from][to] */
    oracle_message *messages;
    uint32_t left; /* messages */
} oracle;

static inline oracle_packet *oracle_put(oracle_queue *queue, oracle_packet packet)
{
    GS_ASSERT(queue->count < ORACLE_PACKETS);
    oracle_packet *place = &queue->packets[(queue->first + queue->count++) % ORACLE_PACKETS];
    *place = packet;
    return place;
}

static inline oracle_packet oracle_take(oracle_queue *queue)
{
    oracle_packet packet = queue->packets[queue->first];
    queue->first = (queue->first + 1) % ORACLE_PACKETS;
    queue->count--;
    return packet;
}

/* A bucket holds one packet: it is full, or closed. */
static inline bool oracle_is_full(const oracle_bucket *bucket, double now_s)
{
    return bucket->full_s <= now_s + 1e-12;
}

static inline void oracle_pay(oracle_bucket *bucket, double bytes, double now_s)
{
    bucket->full_s = fmax(bucket->full_s, now_s) + bytes / bucket->bytes_per_s;
}

/* The next packet of a socket, 0: nothing is ready, or the window is full. */
static inline double oracle_next_bytes(const oracle *net, const oracle_socket *socket, double now_s)
{
    if (socket->count == 0 ||
        net->messages[socket->messages[socket->first]].ready_s > now_s + 1e-12) {
        return 0.0;
    }
    double bytes = fmin(socket->left, net->packet_bytes);
    return socket->under_way + bytes <= net->window_bytes ? bytes : 0.0;
}

static inline bool oracle_send(oracle *net, uint32_t host, double now_s)
{
    oracle_bucket *bucket = &net->out[host];
    for (uint32_t i = 0; oracle_is_full(bucket, now_s) && i < net->hosts; i++) {
        uint32_t to = (bucket->turn + i) % net->hosts;
        oracle_socket *socket = &net->sockets[host][to];
        double bytes = oracle_next_bytes(net, socket, now_s);
        if (bytes == 0.0) {
            continue;
        }
        oracle_pay(bucket, bytes, now_s);
        bucket->turn = (to + 1) % net->hosts;
        socket->under_way += bytes;
        socket->left -= bytes;
        oracle_packet packet = {bytes, now_s, ORACLE_MESSAGES};
        if (socket->left <= 0.0) {
            packet.message = socket->messages[socket->first++];
            socket->left =
                --socket->count > 0 ? net->messages[socket->messages[socket->first]].bytes : 0.0;
        }
        oracle_put(&socket->came, packet);
        return true;
    }
    return false;
}

static inline bool oracle_receive(oracle *net, uint32_t host, double now_s)
{
    oracle_bucket *bucket = &net->in[host];
    for (uint32_t i = 0; oracle_is_full(bucket, now_s) && i < net->hosts; i++) {
        uint32_t from = (bucket->turn + i) % net->hosts;
        oracle_socket *socket = &net->sockets[from][host];
        if (socket->came.count == 0) {
            continue;
        }
        oracle_packet packet = oracle_take(&socket->came);
        oracle_pay(bucket, packet.bytes, now_s);
        bucket->turn = (from + 1) % net->hosts;
        if (packet.message < ORACLE_MESSAGES) {
            net->messages[packet.message].came_s = now_s + net->latency_s;
            net->left--;
        }
        packet.at_s = now_s + 2.0 * net->latency_s;
        oracle_put(&socket->news, packet);
        return true;
    }
    return false;
}

/* Does all that can be done now; then the next moment worth looking at. */
static inline double oracle_step(oracle *net, double now_s)
{
    double next_s = HUGE_VAL;
    for (uint32_t from = 0; from < net->hosts; from++) {
        for (uint32_t to = 0; to < net->hosts; to++) {
            oracle_socket *socket = &net->sockets[from][to];
            while (socket->news.count > 0 &&
                   socket->news.packets[socket->news.first].at_s <= now_s) {
                socket->under_way -= oracle_take(&socket->news).bytes;
            }
        }
    }
    for (uint32_t host = 0; host < net->hosts; host++) {
        while (oracle_send(net, host, now_s)) {
        }
    }
    for (uint32_t host = 0; host < net->hosts; host++) {
        while (oracle_receive(net, host, now_s)) {
        }
    }
    for (uint32_t from = 0; from < net->hosts; from++) {
        double out_s = net->out[from].full_s, in_s = net->in[from].full_s;
        next_s = out_s > now_s && out_s < next_s ? out_s : next_s;
        next_s = in_s > now_s && in_s < next_s ? in_s : next_s;
        for (uint32_t to = 0; to < net->hosts; to++) {
            const oracle_socket *socket = &net->sockets[from][to];
            if (socket->news.count > 0) {
                next_s = fmin(next_s, socket->news.packets[socket->news.first].at_s);
            }
            if (socket->count > 0) {
                double ready_s = net->messages[socket->messages[socket->first]].ready_s;
                next_s = ready_s > now_s && ready_s < next_s ? ready_s : next_s;
            }
        }
    }
    return next_s;
}

/* messages [count]: those of a pair in the order in which they are ready. Rates, packets, window
 * and latency of `net` are set, everything else is 0. */
static inline void oracle_run(oracle *net, oracle_message *messages, uint32_t count)
{
    net->messages = messages;
    net->left = count;
    for (uint32_t i = 0; i < count; i++) {
        oracle_socket *socket = &net->sockets[messages[i].from][messages[i].to];
        socket->left = socket->count == 0 ? messages[i].bytes : socket->left;
        socket->messages[socket->count++] = i;
    }
    double now_s = 0.0;
    while (net->left > 0) {
        now_s = oracle_step(net, now_s);
        GS_ASSERT(isfinite(now_s));
    }
}

#endif
