/* A live run whole, between the files that make, run, end and tell it: live.c, live_end.c,
 * live_result.c. For these alone. */
#ifndef GS_LIVE_LIVE_PARTS_H
#define GS_LIVE_LIVE_PARTS_H

#include "live/live_final.h"

struct gs_live {
    gs_live_shared shared;
    gs_live_entity *entities; /* [shared.entity_count]: workers, then servers; those of other
                                 processes are empty */
    gs_live_final *finals;    /* [shared.entity_count] */
    gs_live_shelf *shelves; /* [ranks]: those of other processes that process 0 has found; NULL: of
                               others, or no crew */
    gs_time_ns end_ns;
    gs_arena arena;
};

/* Has this process that entity? */
bool gs_live_is_here(const gs_live_shared *shared, uint32_t entity);

/* After the run, here and in all processes: everybody's end becomes known, and process 0 adds its
 * rows. live_end.c */
void gs_live_end(gs_live *live);

#endif
