/* What a process that makes runs tells the one that deals them, through a pipe or a socket: frames
 * of a head and bytes; and which run it is given. */
#ifndef GS_TOOLS_RUN_WIRE_H
#define GS_TOOLS_RUN_WIRE_H

#include "tools/run_one.h"

typedef enum gs_frame_kind {
    GS_FRAME_PROGRESS,
    GS_FRAME_OUTCOME,
    /* To guests, each with a number: */
    GS_FRAME_RUN,    /* make this run */
    GS_FRAME_KNOWN,  /* the outcome of this run follows */
    GS_FRAME_ANSWER, /* yes or no, 1 or 0 */
    GS_FRAME_END     /* all outcomes are known */
} gs_frame_kind;

/* Child's side. false: the parent has gone. */
bool gs_wire_send_progress(int fd, double share);
bool gs_wire_send_outcome(int fd, const gs_outcome *outcome);

/* What a guest is told. false: the other side has gone. */
bool gs_wire_send_order(int fd, gs_frame_kind kind, uint64_t value);
bool gs_wire_read_order(int fd, gs_frame_kind *out_kind, uint64_t *out_value); /* waits for one */
bool gs_wire_read_outcome(int fd, gs_outcome *out);                            /* likewise */

/* Parent's side: bytes as they come. */
typedef struct gs_wire {
    char *bytes;
    size_t count, capacity;
    double share;
    bool has_outcome;
} gs_wire;

/* Reads what there is; false at the end of the pipe. Whole frames are taken: the newest share, and
 * the outcome into *out. Out of memory ends the program. */
bool gs_wire_receive(gs_wire *wire, int fd, gs_outcome *out);
void gs_wire_fini(gs_wire *wire);

#endif
