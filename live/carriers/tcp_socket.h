/* Sockets as the meeting of processes needs them: addresses, listening, connecting, and whole
 * messages within a deadline. Times are of gs_frames_clock; sockets are non-blocking. */
#ifndef GS_LIVE_CARRIERS_TCP_SOCKET_H
#define GS_LIVE_CARRIERS_TCP_SOCKET_H

#include "base/status.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GS_TCP_HOST_BYTES = 256 };

typedef struct gs_tcp_address {
    char host[GS_TCP_HOST_BYTES]; /* a name, an IPv4 or an IPv6 address */
    uint32_t port;                /* 1..65535 */
    bool is_loopback;             /* says by itself that it is reached from this machine only */
} gs_tcp_address;

/* HOST:PORT or [IPv6]:PORT. Errors: GS_EINVAL. */
GS_MUST_USE gs_status gs_tcp_address_read(const char *text, gs_tcp_address *out, gs_error *err);

/* A listening socket; loopback: the numeric address to listen at, NULL: all of this machine. port
 * 0: any free one. -1: errno says why. Owner: caller, close(2). */
int gs_tcp_listen(const char *loopback, uint32_t port);
uint32_t gs_tcp_port(int socket);

/* Tries all addresses of a name in turn. -1: errno says why (EHOSTUNREACH: no such name). */
int gs_tcp_connect(const char *host, uint32_t port, gs_time_ns until_ns);

/* A socket that has been accepted or connected: not blocking, small messages go at once. */
bool gs_tcp_prepare(int socket);

/* All of it; false: the other side is gone, or the time is over. */
bool gs_tcp_put(int socket, const void *bytes, size_t length, gs_time_ns until_ns);
bool gs_tcp_get(int socket, void *bytes, size_t length, gs_time_ns until_ns);

/* The other side has closed, or the connection has failed. */
bool gs_tcp_is_closed(int socket);

/* Numeric address of the other side; is it reached from this machine only? */
bool gs_tcp_peer(int socket, char out[GS_TCP_HOST_BYTES], bool *is_loopback);

/* Milliseconds for poll(2) until then, rounded up; 0 once it is over. */
int gs_tcp_wait_ms(gs_time_ns until_ns);

#endif
