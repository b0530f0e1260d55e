/* What the files of fair sharing have among themselves, and nobody else: lists, the notes of a
 * repair, elastic links. Meanings of code, level and place: sim/fairshare.h. */
#ifndef GS_SIM_FAIRSHARE_PARTS_H
#define GS_SIM_FAIRSHARE_PARTS_H

#include "sim/fairshare.h"

#define GS_FAIRSHARE_NO_CHUNK UINT32_MAX

/* A link is full, and a rate not below another, up to this share: rounding of sums over thousands
 * of flows stays below it. A flow has at least capacity ÷ flows of its bottleneck, so that its rate
 * is off by no more than flows times this. */
#define GS_FAIRSHARE_TOLERANCE 1e-12

enum { GS_FAIRSHARE_CHUNK = 15 };

/* Places of a link beyond those it holds itself: one cache line. A slot on a link's list is below
 * 16 in the link, else 16 times the chunk plus 1, and where in the chunk. */
typedef struct gs_fairshare_chunk {
    uint32_t places[GS_FAIRSHARE_CHUNK];
    uint32_t next; /* older, and full; of free ones the next */
} gs_fairshare_chunk;

/* A link during the repair of a set of flows. */
typedef struct gs_fairshare_repair {
    double spare;     /* capacity that flows outside the set leave */
    double left;      /* of it, not yet given to flows of the set */
    uint32_t members; /* flows of the set on it */
    uint32_t open;    /* of them, without a rate yet */
    bool filled;      /* left is that of the last filling */
    bool queued;      /* in the heap of this filling */
    bool followed;    /* the flows that it held before have joined */
} gs_fairshare_repair;

typedef struct gs_fairshare_entry {
    double level; /* never above the link's true level, which only rises while a set is filled */
    uint32_t link;
} gs_fairshare_entry;

/* An elastic link may hold its flows to any level from floor to ceiling and nobody else notices: on
 * every link that flows of elastic links cross there is room for all of them at their ceilings at
 * once, so that it is nobody's bottleneck; flows on it that it does not hold, which have `rest`
 * together, stay at or below the floor. */
typedef struct gs_fairshare_elastic {
    double floor, ceiling, rest;
    bool is_elastic;
} gs_fairshare_elastic;

typedef struct gs_fairshare_work {
    gs_fairshare_chunk *chunks;
    uint32_t chunk_count, free_chunk;
    gs_fairshare_repair *links; /* [link_count] */
    uint32_t *touched;          /* [touched_count] links with members */
    uint32_t touched_count;
    gs_fairshare_entry *heap; /* [heap_count], least level first */
    uint32_t heap_count;
    bool *in_set;                  /* [flow_capacity]; during a repair the set is fairshare.moved */
    gs_fairshare_elastic *elastic; /* [link_count] */
    uint32_t elastic_count;
} gs_fairshare_work;

/* A run of places of a link's list. */
typedef struct gs_fairshare_run {
    const uint32_t *places; /* [count] */
    uint32_t count;         /* 0: the end */
    uint32_t rest;          /* flows after it */
    uint32_t next;          /* chunk of those */
} gs_fairshare_run;

/* for (run = first_run(...); run.count > 0; run = next_run(..., run)): all flows of a link. */
static inline gs_fairshare_run gs_fairshare_first_run(const gs_fairshare *fairshare, uint32_t link)
{
    const gs_fairshare_link *at = &fairshare->links[link];
    uint32_t count = at->flow_count < GS_FAIRSHARE_INLINE ? at->flow_count : GS_FAIRSHARE_INLINE;
    return (gs_fairshare_run){at->places, count, at->flow_count - count, at->chunk};
}

/* Only the newest chunk, which comes first, may have room. */
static inline gs_fairshare_run gs_fairshare_next_run(const gs_fairshare *fairshare,
                                                     gs_fairshare_run run)
{
    if (run.rest == 0) {
        return (gs_fairshare_run){.count = 0};
    }
    const gs_fairshare_chunk *chunk = &fairshare->work->chunks[run.next];
    uint32_t count = (run.rest - 1) % GS_FAIRSHARE_CHUNK + 1;
    return (gs_fairshare_run){chunk->places, count, run.rest - count, chunk->next};
}

static inline const gs_fairshare_hop *gs_fairshare_route(const gs_fairshare *fairshare,
                                                         uint32_t flow)
{
    return &fairshare->hops[(size_t)flow << fairshare->route_shift];
}

static inline double gs_fairshare_rate_at(const gs_fairshare *fairshare, uint32_t place)
{
    return fairshare->levels[fairshare->codes[place >> fairshare->route_shift]];
}

/* ---- sim/fairshare_repair.c */

/* Puts a flow into the set to be repaired, unless it is in it. */
void gs_fairshare_join(gs_fairshare *fairshare, uint32_t flow);
/* Likewise all flows whose bottleneck the link is, unless that has been asked for. */
void gs_fairshare_join_held(gs_fairshare *fairshare, uint32_t link);
/* Gives the set its rates, and whoever joins. */
void gs_fairshare_repair_set(gs_fairshare *fairshare);

/* ---- sim/fairshare_elastic.c */

/* The event of one flow added, removed, or of a capacity, where an elastic link answers it. false:
 * repair. The removed flow is off the lists; the added one is on them and has no bottleneck. */
bool gs_fairshare_elastic_add(gs_fairshare *fairshare, uint32_t flow);
bool gs_fairshare_elastic_remove(gs_fairshare *fairshare, uint32_t flow, uint32_t bottleneck);
bool gs_fairshare_elastic_capacity(gs_fairshare *fairshare, uint32_t link);
/* A repair has touched the link: what is known of elastic links whose flows cross it is void. */
void gs_fairshare_elastic_forget(gs_fairshare *fairshare, uint32_t link);
/* For validate. */
bool gs_fairshare_elastic_validate(const gs_fairshare *fairshare);

#endif
