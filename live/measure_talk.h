/* How two processes of a crew talk while they are timed; for the files of live/measure_*.c. */
#ifndef GS_LIVE_MEASURE_TALK_H
#define GS_LIVE_MEASURE_TALK_H

#include "live/crew.h"
#include "live/live_net.h"

typedef enum gs_probe_kind {
    GS_PROBE_PING,   /* is answered by as many bytes */
    GS_PROBE_ANSWER, /* of a ping, or of the last of a stream */
    GS_PROBE_STREAM, /* `left` more follow; the last is answered by an empty message */
    GS_PROBE_FILL,   /* is answered by nothing */
    GS_PROBE_END     /* no more probes come */
} gs_probe_kind;

/* As long as the heads of live runs are. */
typedef struct gs_probe {
    uint32_t kind;
    uint32_t left;
    uint8_t filled[216];
} gs_probe;

_Static_assert(sizeof(gs_probe) <= GS_CREW_HEAD_BYTES, "a probe fits into a head");

typedef struct gs_talk {
    gs_crew *crew;
    void *body;         /* what is sent; only read */
    uint32_t unsent;    /* probes that have not left */
    gs_time_ns left_ns; /* of gs_live_clock: when the last one was seen to have left */
} gs_talk;

/* Errors of all: GS_EDEADLOCK (nothing came within the deadline, or a process is gone), GS_ENOMEM.
 */
GS_MUST_USE gs_status gs_talk_send(gs_talk *talk, uint32_t to, gs_probe_kind kind, uint32_t left,
                                   size_t bytes, gs_error *err);
/* The next frame; whoever waits for `whom` names it in the error. Owner: caller,
 * gs_crew_give_back. */
GS_MUST_USE gs_status gs_talk_hear(gs_talk *talk, uint32_t whom, gs_carried *out, gs_error *err);
/* All that was sent has left. */
GS_MUST_USE gs_status gs_talk_flush(gs_talk *talk, gs_error *err);
/* Waits until that moment, which all have in common. */
GS_MUST_USE gs_status gs_talk_until(gs_talk *talk, gs_time_ns at_ns, gs_error *err);
/* Does one thing if there is one to do. *out_frame: a frame came. */
GS_MUST_USE gs_status gs_talk_turn(gs_talk *talk, gs_carried *out, bool *out_frame, gs_error *err);

gs_probe gs_probe_of(const gs_carried *frame);

#endif
