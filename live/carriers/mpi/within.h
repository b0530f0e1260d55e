/* Something that may never end, done within a time: MPI has no deadlines for its beginning and end.
 */
#ifndef GS_LIVE_CARRIERS_MPI_WITHIN_H
#define GS_LIVE_CARRIERS_MPI_WITHIN_H

#include "base/units.h"

typedef enum gs_within {
    GS_WITHIN_DONE,
    GS_WITHIN_LATE,   /* a thread is still at it: it calls forget(of) if it ever ends */
    GS_WITHIN_NO_ROOM /* for a thread: nothing was done */
} gs_within;

/* Calls act(of) in a thread of its own and waits for its end, limit_ns at most. */
gs_within gs_do_within(gs_time_ns limit_ns, void (*act)(void *of), void (*forget)(void *of),
                       void *of);

#endif
