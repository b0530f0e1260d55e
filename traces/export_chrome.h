/* A timeline as a trace that opens in Perfetto and chrome://tracing (the JSON of Trace Event
 * Format): for eyes, and for tools that read such traces.
 *
 * A process is a node (pid: node + 1, then servers), a thread a track of a rank (tid: 100 times
 * rank + 1, and 0 compute, 1 wait, 2 and on comm): slices of one track nest. Counters are the mean
 * rate of every NIC and the bytes on their way, over 1,000 parts of the window. Arrows lead from
 * the part that ended an op to the op, from the member that came last to those that waited for it,
 * and from sender to receiver of a message. Times are us with three digits: exact. */
#ifndef GS_TRACES_EXPORT_CHROME_H
#define GS_TRACES_EXPORT_CHROME_H

#include "traces/profile.h"
#include "traces/timeline.h"

#include <stdio.h>

typedef struct gs_chrome_facts {
    const char *scenario;
    const char *strategy; /* as a user writes it */
    uint64_t seed;
    const gs_profile *profile; /* names of units; NULL: numbers */
} gs_chrome_facts;

/* Writes the whole document; the same timeline gives the same bytes. Whether the stream took them
 * is for the caller to ask. Errors: GS_ENOMEM, with part of it written. */
GS_MUST_USE gs_status gs_export_chrome(const gs_timeline *timeline, const gs_chrome_facts *facts,
                                       FILE *out, gs_error *err);

#endif
