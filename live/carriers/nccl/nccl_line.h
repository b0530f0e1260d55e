/* A line of the NCCL carrier: one communicator with a stream of its own, an event and a piece of
 * staging memory, on which at most one operation is under way.
 *
 * All calls of CUDA and NCCL are in nccl_line.c, and none of them waits: communicators are made
 * non-blocking, and what has been begun is asked after. Everything that may stop the device
 * (memory, streams, communicators) is taken when a line is opened, since such a call waits for
 * kernels that wait for other processes. */
#ifndef GS_LIVE_CARRIERS_NCCL_NCCL_LINE_H
#define GS_LIVE_CARRIERS_NCCL_NCCL_LINE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GS_NCCL_ID_BYTES = 128, GS_NCCL_TEXT_BYTES = 160 };

typedef enum gs_nccl_act { GS_NCCL_SEND, GS_NCCL_RECEIVE, GS_NCCL_SUM } gs_nccl_act;

typedef enum gs_nccl_state {
    GS_NCCL_FREE, /* nothing is under way: the staging memory is the caller's */
    GS_NCCL_BUSY,
    GS_NCCL_BROKEN /* gs_nccl_line_text says why; nothing but close is left */
} gs_nccl_state;

typedef struct gs_nccl_members {
    uint8_t id[GS_NCCL_ID_BYTES]; /* the same on all of them, of gs_nccl_new_id */
    uint32_t count, self;
    int blocks; /* thread blocks of the device that an operation may occupy; > 0 */
} gs_nccl_members;

typedef struct gs_nccl_line gs_nccl_line;

/* Makes the device of that number this thread's. *out_blocks: thread blocks that it surely runs at
 * once. Errors: GS_EUNSUPPORTED, saying what is missing. */
GS_MUST_USE gs_status gs_nccl_choose_device(uint32_t number, int *out_blocks, gs_error *err);
/* What the members of a new communicator find each other by. Errors: GS_EUNSUPPORTED. */
GS_MUST_USE gs_status gs_nccl_new_id(uint8_t out_id[GS_NCCL_ID_BYTES], gs_error *err);

/* A line without members yet, with `bytes` (> 0) of staging memory. Errors: GS_ENOMEM (of the host
 * or the device), GS_EUNSUPPORTED. Owner of *out: caller, gs_nccl_line_close. */
GS_MUST_USE gs_status gs_nccl_line_open(size_t bytes, gs_nccl_line **out, gs_error *err);
/* Makes its communicator, once: BUSY until all members have done so. */
void gs_nccl_line_join(gs_nccl_line *line, const gs_nccl_members *members);
/* Frees it; what is still under way is broken off. */
void gs_nccl_line_close(gs_nccl_line *line);

/* Host memory, 0 at first: what is sent or summed, and then what has come. */
void *gs_nccl_line_staging(const gs_nccl_line *line);
/* The line is FREE. Of the staging memory the first bytes (> 0, whole floats of a sum) are sent to
 * or received from member `peer`, or summed over all. Members begin matching operations in one
 * order. */
void gs_nccl_line_begin(gs_nccl_line *line, gs_nccl_act act, uint32_t peer, size_t bytes);
gs_nccl_state gs_nccl_line_poll(gs_nccl_line *line);
/* Why it is BROKEN. */
const char *gs_nccl_line_text(const gs_nccl_line *line);

/* The line is FREE: leaves the communicator together with its other members; BUSY until then. */
void gs_nccl_line_leave(gs_nccl_line *line);
/* Breaks off what is under way, without the others. */
void gs_nccl_line_abort(gs_nccl_line *line, const char *why);

#endif
