/* What the ranks of a live run did and when, until the run has ended: then it becomes the rows that
 * the simulator would have written.
 *
 * Each process keeps its own; process 0 reads all, in order of time, and cuts every rank's timeline
 * as traces/step_account.h says. Times are those of the run, which all processes share. */
#ifndef GS_LIVE_LIVE_LOG_H
#define GS_LIVE_LIVE_LOG_H

#include "base/arena.h"
#include "strategies/strategy.h"
#include "traces/record.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gs_live_act {
    GS_ACT_STEP, /* begins, and its row then or at from_ns, the later; amount: bytes sent so far */
    GS_ACT_COMPUTE,    /* ran from from_ns to to_ns, which is not after at_ns */
    GS_ACT_INPUT,      /* was waited for likewise */
    GS_ACT_KERNEL,     /* the optimizer, likewise, but from at_ns on */
    GS_ACT_CODE,       /* encoding or decoding, likewise */
    GS_ACT_OP_START,   /* amount: its number on the communicator `which` */
    GS_ACT_OP_END,     /* likewise */
    GS_ACT_SEND_START, /* which: the slot of the request */
    GS_ACT_SEND_END,
    GS_ACT_DRAINED /* the last row ends likewise; amount: bytes sent */
} gs_live_act;

typedef struct gs_live_entry {
    gs_time_ns at_ns; /* of writing it down: the order of all */
    gs_time_ns from_ns, to_ns;
    int64_t amount;
    uint32_t which;
    uint16_t rank;
    uint8_t act; /* gs_live_act */
    uint8_t reserved;
} gs_live_entry;

typedef struct gs_live_log {
    gs_live_entry *entries; /* [count]; owner: the log */
    size_t count, capacity;
} gs_live_log;

/* {0} is an empty one. Not thread safe. false: no memory; the log is as before. */
bool gs_live_log_add(gs_live_log *log, const gs_live_entry *entry);
bool gs_live_log_append(gs_live_log *log, const gs_live_entry *entries, size_t count);
void gs_live_log_fini(gs_live_log *log);

/* Sorts it by time, and writes the rows of all workers. *out_end_ns: the last drained. Errors:
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_live_log_rows(gs_live_log *log, const gs_layout *layout, uint32_t ranks,
                                       gs_record *record, gs_time_ns *out_end_ns, gs_error *err);

#endif
