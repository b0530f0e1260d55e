/* Timed messages between the processes of a crew: what traces/link_fit.h makes links of.
 *
 * All processes call the same functions in the same order; process 0 gets the results. Messages are
 * frames such as live runs send, heads included. Errors of all: those of gs_crew, GS_ENOMEM. */
#ifndef GS_LIVE_MEASURE_LINK_H
#define GS_LIVE_MEASURE_LINK_H

#include "base/arena.h"
#include "base/status.h"
#include "live/crew.h"
#include "traces/link_fit.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_LINK_SIZES = 6, GS_LINK_POINTS = 2 * GS_LINK_SIZES, GS_ALL_PAIRS_MAX = 16 };

/* Bytes of the messages that links are calibrated with, ascending; none is a power of two or a part
 * of one, so that what is tested later is not what was fitted. */
extern const int64_t gs_link_sizes[GS_LINK_SIZES];
/* Of the longest stream. */
int64_t gs_link_stream_bytes(void);

/* One direction between two processes. */
typedef struct gs_link_times {
    uint32_t from, to;
    gs_link_point points[GS_LINK_POINTS];
    /* How long after the last byte of the longest stream had left its sender it was taken; as often
     * as the points were measured. */
    double *ahead_ns;
} gs_link_times;

typedef struct gs_link_survey {
    gs_link_times *links; /* [link_count], each direction of each pair that was measured */
    uint32_t link_count;
    bool all_pairs; /* else, in large parties, neighbours on a ring, and the first with others */
} gs_link_survey;

/* Whom a member of a party is measured with in a round; itself: nobody. Pairs of a round are
 * disjoint, and all are measured at the same time, first from the lower number to the higher. Up to
 * GS_ALL_PAIRS_MAX members all pairs have a round. Pure. */
uint32_t gs_survey_rounds(uint32_t members);
uint32_t gs_survey_peer(uint32_t members, uint32_t round, uint32_t self);

/* Members of a party are measured with each other; parties at the same time. party_of [size]:
 * number of each process's party, GS_NO_PARTY: of none. Owner of what out holds: the arena. */
#define GS_NO_PARTY UINT32_MAX
GS_MUST_USE gs_status gs_measure_links(gs_crew *crew, const uint32_t *party_of, gs_arena *arena,
                                       gs_link_survey *out, gs_error *err);

#endif
