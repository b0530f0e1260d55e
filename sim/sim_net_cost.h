/* What a message costs beside its bytes at the rate of its links. Behind sim_net.c,
 * sim_net_socket.c and the plans of ops (sim/op_mode.h).
 *
 * In the order in which a message on one channel meets it:
 *   rendezvous   a message larger than the eager limit asks first: it begins a round trip after it
 *                was asked for, and half of one after its receiver has come to it, whichever is
 *                later. Neither waits for what is on the wire before it, and their latency has no
 *                jitter. Messages that no collective waits for have a receiver at all times
 *   per message  of its sender, one message after the other
 *   slow start   a connection that was idle has a window of w bytes and sends one a round trip R,
 *                each twice the one before as every byte that was acknowledged widens it by one,
 *                until a window fills the round trip at the rate B that the connection has alone.
 *                So S bytes wait, beside S / B, for
 *                    k R - w (2^k - 1) / B,
 *                k the whole windows that go before the last byte and do not fill R (RFC 5681).
 *                The wait comes before the bytes; of links that others use B is what they have for
 *                one alone
 *   loss         a connection gets MSS / R x sqrt(3/2) / sqrt(p) at most where a share p of packets
 *                is lost (Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of the TCP
 *                congestion avoidance algorithm, CCR 27(3), 1997; an acknowledgement a packet)
 *   staging      without GPUDirect bytes are copied through the memory of the host, chunk by chunk:
 *                the copies are links of the route, so that the slowest one gives the rate; and the
 *                first chunk passes one stage after the other, which is latency: with stages of
 *                rates r_i a chunk of c bytes adds c (sum of 1 / r_i - 1 / least r_i), so that S
 *                bytes in n whole chunks take what n chunks take in a pipeline (NCCL copies in
 *                eighths of a buffer of 4 MiB). What the memory of the host itself can carry is not
 *                modelled
 * R is two latencies of the route. */
#ifndef GS_SIM_SIM_NET_COST_H
#define GS_SIM_SIM_NET_COST_H

#include "base/arena.h"
#include "sim/tick.h"
#include "sim/topology.h"

#include <math.h>

/* Do connections of that class lose packets? */
static inline bool gs_link_has_loss(const gs_link *link)
{
    return link->class_index == GS_LINK_TCP && link->loss > 0.0;
}

/* Of a channel, or of a socket. */
typedef struct gs_sim_cost {
    gs_tick overhead;       /* per message; of a socket 0: it is the desk's */
    gs_tick round_trip;     /* of latencies */
    double connection_rate; /* bytes per tick that loss leaves at most; 0: any */
    double alone_rate;      /* bytes per tick of the route for one connection */
    double copy_ticks;      /* of a byte of the first chunk */
    int64_t chunk_bytes;    /* of copies */
    int64_t eager_bytes;    /* larger messages go by rendezvous; INT64_MAX: none do */
    double first_window;    /* bytes; 0: no slow start */
    gs_tick idle_after;     /* its last byte has left so long ago */
    /* of the run */
    double window;      /* bytes */
    gs_tick last_left;  /* -1: nothing has */
    uint64_t awaited;   /* messages that the receiver has come to, in all */
    gs_tick awaited_at; /* the newest of them */
} gs_sim_cost;

/* out: NULL where a message costs nothing more. false: no memory. */
bool gs_sim_cost_create(const gs_topology *topology, const gs_route *route, gs_arena *arena,
                        gs_sim_cost **out);

/* What it costs depends on what went before, or on the receiver: not known when it is asked for. */
static inline bool gs_sim_cost_waits(const gs_sim_cost *cost)
{
    return cost->first_window > 0.0 || cost->eager_bytes < INT64_MAX;
}

/* Bytes per tick of the connection, whatever its links have; HUGE_VAL: any. cost may be NULL. */
static inline double gs_sim_cost_rate(const gs_sim_cost *cost)
{
    return cost != NULL && cost->connection_rate > 0.0 ? cost->connection_rate : HUGE_VAL;
}

/* Latency of copies, of a message of so many bytes. */
gs_tick gs_sim_cost_copies(const gs_sim_cost *cost, int64_t bytes);

/* A message is about to begin at `at`, after all before it: how long its slow start waits. It is
 * taken as sent. */
gs_tick gs_sim_cost_slow_start(gs_sim_cost *cost, gs_tick at, int64_t bytes);

#endif
