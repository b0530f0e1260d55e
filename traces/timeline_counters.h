/* What flowed through each NIC over the window of a timeline: means over equal parts of it. */
#ifndef GS_TRACES_TIMELINE_COUNTERS_H
#define GS_TRACES_TIMELINE_COUNTERS_H

#include "traces/timeline.h"

enum { GS_COUNTER_BINS = 1000 };

typedef struct gs_timeline_counters {
    gs_time_ns from_ns, to_ns; /* of the window: first start, last end of a step */
    gs_time_ns bin_ns;
    uint32_t nics, bins;
    double *sent_bps;     /* [nics][bins], bit/s that left */
    double *flight_bytes; /* [nics][bins], sent by this NIC and not yet there */
} gs_timeline_counters;

/* Messages that stay inside a node are left out. Without steps there are no bins. GS_ENOMEM. Owner:
 * caller, gs_timeline_counters_fini. */
GS_MUST_USE gs_status gs_timeline_count(const gs_timeline *timeline, gs_timeline_counters *out);
void gs_timeline_counters_fini(gs_timeline_counters *counters);

#endif
