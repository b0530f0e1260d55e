/* The crew: the processes of live runs, over one carrier, from the first run to the last.
 *
 * Between runs all processes call the same functions in the same order, and each waits for the
 * others, never longer than the deadline; process 0 is who answers. During a run frames go both
 * ways (live/live_net_carried.c). A frame says of which run it is: what comes early waits for its
 * run, what comes late is dropped. A process that is gone is named by number and host; then the
 * crew is broken, and its runs have ended. Used from one thread, but for wake. */
#ifndef GS_LIVE_CREW_H
#define GS_LIVE_CREW_H

#include "base/units.h"
#include "live/carrier.h"

#include <stdatomic.h>

typedef struct gs_crew gs_crew;

typedef struct gs_crew_config {
    const gs_carrier *carrier;
    gs_carrier_config carried;
    bool (*interrupted)(void); /* this process was told to end; NULL: never */
} gs_crew_config;

enum { GS_CREW_HEAD_BYTES = GS_FRAME_HEAD_BYTES - 16 };

/* Meets the other processes and learns who they are. Errors: as of gs_carrier.open. Owner of *out:
 * caller, gs_crew_close. */
GS_MUST_USE gs_status gs_crew_open(const gs_crew_config *config, gs_crew **out, gs_error *err);
/* All close together; a broken crew is left at once. NULL is accepted. */
void gs_crew_close(gs_crew *crew);

uint32_t gs_crew_size(const gs_crew *crew);
uint32_t gs_crew_self(const gs_crew *crew);
gs_time_ns gs_crew_deadline_ns(const gs_crew *crew);
/* Until it is called with GS_TIME_NEVER nothing waits beyond that time (of CLOCK_MONOTONIC). */
void gs_crew_hurry(gs_crew *crew, gs_time_ns until_ns);
/* "process 3 (host gpu7, pid 4242)"; good until the next call. */
const char *gs_crew_name(gs_crew *crew, uint32_t process);
/* How many of them this host has. */
uint32_t gs_crew_on_host(const gs_crew *crew);
/* Of a process of this host; 0: of another one. */
int64_t gs_crew_pid_here(const gs_crew *crew, uint32_t process);
/* This process, or one that waits for it between runs, was told to end. */
bool gs_crew_is_urged(const gs_crew *crew);
/* A process is gone: the error says which; NULL: none is. */
const gs_error *gs_crew_broken(const gs_crew *crew);
/* Which one; GS_NOT_HERE: none is, or nobody knows. */
uint32_t gs_crew_lost(const gs_crew *crew);
void gs_crew_break(gs_crew *crew, uint32_t lost, const gs_error *err);

/* ---------------------------------------------------------------- between runs */

/* Errors of all of these: GS_EDEADLOCK (somebody did not come within the deadline, or is gone),
 * GS_EMISMATCH (somebody called another one), GS_ENOMEM. */

/* All must have the same text; else GS_EMISMATCH on every process, naming the first that differs,
 * `what` it is, and both texts. */
GS_MUST_USE gs_status gs_crew_same(gs_crew *crew, const char *what, const char *mine,
                                   gs_error *err);
/* Everybody has come; *out_start_ns is one moment for all, a little later, on each one's own clock
 * (CLOCK_MONOTONIC; the difference of clocks is measured anew each time). A new run begins. */
GS_MUST_USE gs_status gs_crew_meet(gs_crew *crew, gs_time_ns *out_start_ns, gs_error *err);

typedef struct gs_crew_bytes {
    void *data; /* owner: caller, free(); NULL: none came */
    size_t count;
} gs_crew_bytes;

/* Bytes of every process to process 0: out [size], written there; of who is gone nothing. Calls of
 * the others end when theirs have left. */
GS_MUST_USE gs_status gs_crew_gather(gs_crew *crew, const void *bytes, size_t count,
                                     gs_crew_bytes *out, gs_error *err);
/* Bytes of process 0 to all; each knows how many. */
GS_MUST_USE gs_status gs_crew_share(gs_crew *crew, void *bytes, size_t count, gs_error *err);
/* Of process 0, while another thread of it works on something long: whoever waits for it hears that
 * it lives, and waits on. Ends soon after *is_over, or when the crew breaks. */
void gs_crew_live_on(gs_crew *crew, const atomic_bool *is_over);

/* ---------------------------------------------------------------- during a run */

/* head: at most GS_CREW_HEAD_BYTES. Otherwise as of gs_carrier. */
bool gs_crew_send(gs_crew *crew, uint32_t to, const gs_frame *frame, uint64_t cookie);
/* Frames of this run only, without what the crew put before their heads. LOST breaks the crew. */
void gs_crew_poll(gs_crew *crew, gs_carried *out);
void gs_crew_give_back(gs_crew *crew, const gs_carried *frame);
void gs_crew_wait(gs_crew *crew, gs_time_ns until_ns);
void gs_crew_wake(gs_crew *crew);
/* NULL where the carrier has no collectives of its own. */
const gs_carrier *gs_crew_native(const gs_crew *crew, void **out_carrier);

#endif
