/* How the processes of a run find each other over TCP and are connected, each with each.
 *
 * Process 0 listens at the address that all were told, on the first free port of
 * GS_TCP_PORTS_TRIED; everybody else finds it there, greets it, and learns where the others listen.
 * Of two others the one with the higher number connects. Who cannot greet as a process of this run
 * does is refused, and everybody who waits for the others waits no longer than the deadline. */
#ifndef GS_LIVE_CARRIERS_TCP_MEET_H
#define GS_LIVE_CARRIERS_TCP_MEET_H

#include "live/carrier.h"

enum { GS_TCP_PORTS_TRIED = 8 };

typedef struct gs_tcp_other {
    int socket; /* -1: this process itself */
    char host[GS_CARRIER_HOST_BYTES];
} gs_tcp_other;

/* out [config->processes]: connected, non-blocking sockets. Errors: GS_EINVAL (the address),
 * GS_EIO, GS_ENOMEM, GS_EDEADLOCK (who has not come), GS_EMISMATCH (a process of this run has been
 * started with other counts or another version); then all sockets are closed. Owner: caller,
 * close(2) of each. */
GS_MUST_USE gs_status gs_tcp_meet(const gs_carrier_config *config, gs_tcp_other *out,
                                  gs_error *err);

#endif
