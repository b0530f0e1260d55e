/* Flows with bytes to carry, at max-min fair rates: when does each of them end?
 *
 * All flows of one bottleneck have one rate (sim/fairshare.h). So each bottleneck has a clock that
 * counts the bytes that a flow carries there, and a flow ends when that clock shows what it had to
 * carry when it came: a rate that changes moves no flow, only the clock. The flow of a bottleneck
 * that ends first is its head; after every event the heads whose end is another than before are in
 * `news`. Whoever runs the time waits for these ends only.
 *
 * Times are ticks (sim/tick.h) and never go back. */
#ifndef GS_SIM_FLUID_H
#define GS_SIM_FLUID_H

#include "sim/fairshare.h"
#include "sim/tick.h"

/* A flow of a bottleneck's heap: a pairing heap, least finish first. */
typedef struct gs_fluid_flow {
    double finish;     /* bytes on the clock of its bottleneck */
    uint64_t order;    /* among equal ones */
    uint32_t link;     /* bottleneck */
    uint32_t child;    /* first one */
    uint32_t next;     /* sibling */
    uint32_t previous; /* sibling, or the parent of a first child */
} gs_fluid_flow;

typedef struct gs_fluid_clock {
    double bytes; /* at `updated` */
    double rate;  /* bytes per tick since then */
    gs_tick updated;
    gs_tick end;   /* of the head */
    uint32_t head; /* whose end was told; GS_FLUID_NONE: nobody's */
    uint32_t root; /* of its heap: the head as it is; GS_FLUID_NONE: no flow */
    bool is_touched;
} gs_fluid_clock;

#define GS_FLUID_NONE UINT32_MAX

/* A flow ends then; GS_TICK_NEVER: it was told to, and is not waited for any more. */
typedef struct gs_fluid_news {
    uint32_t flow;
    gs_tick end;
} gs_fluid_news;

typedef struct gs_fluid {
    gs_fairshare *fairshare;
    gs_fluid_flow *flows;
    gs_fluid_clock *clocks; /* [links] */
    uint32_t *touched;      /* [touched_count] links, in an event */
    gs_fluid_news *news;    /* [news_count], of the last event */
    uint32_t touched_count, news_count;
} gs_fluid;

/* As gs_fairshare_create and _reserve; memory: about 85 bytes a link and 32 a flow more. */
gs_fluid *gs_fluid_create(uint32_t link_count, uint32_t flow_capacity, uint32_t route_max,
                          gs_arena *arena);
bool gs_fluid_reserve(gs_fluid *fluid, uint32_t link_count, uint32_t flow_capacity,
                      uint32_t route_max, gs_arena *arena);

/* Events, at `now`. Nobody waits any more for the flow that the event is about; the other ends that
 * have changed are in news: those that are off, then those that are told. The order depends on
 * nothing but the events. */

/* bytes per tick, as in gs_fairshare_set_capacity. */
void gs_fluid_set_capacity(gs_fluid *fluid, gs_tick now, uint32_t link, double capacity);
/* Opens a flow; route as in gs_fairshare_add. order: among flows of a bottleneck that end at one
 * instant. bytes >= 0. */
void gs_fluid_begin(gs_fluid *fluid, gs_tick now, uint32_t flow, const uint32_t *route,
                    uint32_t route_count, double bytes, uint64_t order);
/* The flow, whatever it had, now has so many bytes to carry. */
void gs_fluid_next(gs_fluid *fluid, gs_tick now, uint32_t flow, double bytes, uint64_t order);
/* Closes a flow, whatever it has left. */
void gs_fluid_end(gs_fluid *fluid, gs_tick now, uint32_t flow);

#endif
