/* What packets do on hosts whose cards are queues, for tests of the simulator's sockets, and
 * nothing of its code. The card takes packets of a socket, a window of which may not be
 * acknowledged, until it holds so many bytes of it, and lets them out first-in first-out through a
 * token bucket; so does the switch, into the receiver. Each packet that comes is acknowledged at
 * once by one of no size, which waits in the same queues on its way back. Steps from one moment at
 * which anything can happen to the next. */
#ifndef GS_TESTS_QUEUE_ORACLE_H
#define GS_TESTS_QUEUE_ORACLE_H

#include "base/assert.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { QUEUE_HOSTS = 6, QUEUE_MESSAGES = 64, QUEUE_PACKETS = 8192 };

typedef struct queue_message {
    uint32_t from, to;
    double bytes, ready_s;
    double came_s; /* out: its last byte; below 0: not yet */
    double until;  /* bytes of the socket with this message */
} queue_message;

typedef struct queue_packet {
    uint32_t from, to; /* of the socket; an acknowledgement goes the other way */
    bool is_news;
    double bytes, until;
} queue_packet;

typedef struct queue_card {
    double bytes_per_s;
    double open_s; /* when its bucket is full again, which lets one packet out */
    queue_packet packets[QUEUE_PACKETS];
    uint32_t first, count;
} queue_card;

typedef struct queue_socket {
    double asked, in_card, sent, acknowledged; /* bytes since the start */
} queue_socket;

typedef struct queue_oracle {
    uint32_t hosts;
    queue_card out[QUEUE_HOSTS], in[QUEUE_HOSTS];
    double packet_bytes, window_bytes, card_bytes;
    queue_socket sockets[QUEUE_HOSTS][QUEUE_HOSTS]; /* [from][to] */
    queue_message *messages;
    uint32_t count, left;
} queue_oracle;

static inline void queue_put(queue_card *card, queue_packet packet)
{
    GS_ASSERT(card->count < QUEUE_PACKETS);
    card->packets[(card->first + card->count++) % QUEUE_PACKETS] = packet;
}

static inline void queue_fill(queue_oracle *net, uint32_t from, uint32_t to)
{
    queue_socket *socket = &net->sockets[from][to];
    double most = fmin(socket->asked, socket->acknowledged + net->window_bytes);
    while (socket->in_card < most && socket->in_card - socket->sent < net->card_bytes) {
        double bytes = fmin(most - socket->in_card, net->packet_bytes);
        socket->in_card += bytes;
        queue_put(&net->out[from], (queue_packet){from, to, false, bytes, socket->in_card});
    }
}

/* The first packet, if the bucket lets it out. */
static inline bool queue_let_out(queue_card *card, double now_s, queue_packet *out)
{
    if (card->count == 0) {
        return false;
    }
    *out = card->packets[card->first];
    if (out->bytes > 0.0) {
        if (card->open_s > now_s + 1e-12) {
            return false;
        }
        card->open_s = fmax(card->open_s, now_s) + out->bytes / card->bytes_per_s;
    }
    card->first = (card->first + 1) % QUEUE_PACKETS;
    card->count--;
    return true;
}

static inline bool queue_send(queue_oracle *net, uint32_t host, double now_s)
{
    queue_packet packet;
    if (!queue_let_out(&net->out[host], now_s, &packet)) {
        return false;
    }
    if (packet.is_news) {
        queue_put(&net->in[packet.from], packet);
        return true;
    }
    net->sockets[packet.from][packet.to].sent = packet.until;
    queue_put(&net->in[packet.to], packet);
    queue_fill(net, packet.from, packet.to);
    return true;
}

static inline bool queue_receive(queue_oracle *net, uint32_t host, double now_s)
{
    queue_packet packet;
    if (!queue_let_out(&net->in[host], now_s, &packet)) {
        return false;
    }
    if (packet.is_news) {
        net->sockets[packet.from][packet.to].acknowledged = packet.until;
        queue_fill(net, packet.from, packet.to);
        return true;
    }
    for (uint32_t i = 0; i < net->count; i++) {
        queue_message *message = &net->messages[i];
        if (message->from == packet.from && message->to == packet.to && message->came_s < 0.0 &&
            message->ready_s <= now_s && message->until <= packet.until) {
            message->came_s = now_s;
            net->left--;
        }
    }
    queue_put(&net->out[host], (queue_packet){packet.from, packet.to, true, 0.0, packet.until});
    return true;
}

static inline void queue_ask(queue_oracle *net, double now_s)
{
    for (uint32_t i = 0; i < net->count; i++) {
        queue_message *message = &net->messages[i];
        if (message->until == 0.0 && message->ready_s <= now_s + 1e-12) {
            queue_socket *socket = &net->sockets[message->from][message->to];
            message->ready_s = now_s;
            message->until = socket->asked += message->bytes;
            queue_fill(net, message->from, message->to);
        }
    }
}

/* Does all that can be done now; then the next moment worth looking at. */
static inline double queue_step(queue_oracle *net, double now_s)
{
    queue_ask(net, now_s);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t host = 0; host < net->hosts; host++) {
            moved |= queue_send(net, host, now_s);
            moved |= queue_receive(net, host, now_s);
        }
    }
    double next_s = HUGE_VAL;
    for (uint32_t host = 0; host < net->hosts; host++) {
        next_s = net->out[host].count > 0 ? fmin(next_s, net->out[host].open_s) : next_s;
        next_s = net->in[host].count > 0 ? fmin(next_s, net->in[host].open_s) : next_s;
    }
    for (uint32_t i = 0; i < net->count; i++) {
        const queue_message *message = &net->messages[i];
        next_s = message->until == 0.0 ? fmin(next_s, message->ready_s) : next_s;
    }
    return next_s;
}

/* messages [count]. Rates, packets, window and cards of `net` are set, everything else is 0. */
static inline void queue_run(queue_oracle *net, queue_message *messages, uint32_t count)
{
    net->messages = messages;
    net->count = net->left = count;
    for (uint32_t i = 0; i < count; i++) {
        messages[i].came_s = -1.0;
        messages[i].until = 0.0;
    }
    double now_s = 0.0;
    while (net->left > 0) {
        now_s = queue_step(net, now_s);
        GS_ASSERT(isfinite(now_s) || net->left == 0);
    }
}

#endif
