#include "sim/fairshare_parts.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- memory */

/* What grows with the flows; old content is copied. */
static bool take_flows(gs_fairshare *fairshare, gs_fairshare_work *work, gs_arena *arena)
{
    size_t flows = fairshare->flow_capacity;
    /* A link has a chunk once it holds more than fit into it. */
    size_t places = flows * fairshare->route_max;
    size_t chunks = places / GS_FAIRSHARE_CHUNK + places / GS_FAIRSHARE_INLINE + 1;
    uint32_t none = 2 * fairshare->link_count;
    fairshare->codes = GS_TAKE(arena, uint32_t, flows);
    fairshare->route_counts = GS_TAKE(arena, uint8_t, flows);
    fairshare->hops = GS_TAKE(arena, gs_fairshare_hop, flows << fairshare->route_shift);
    fairshare->moved = GS_TAKE(arena, gs_fairshare_move, flows);
    work->in_set = GS_TAKE(arena, bool, flows);
    work->chunks = GS_TAKE(arena, gs_fairshare_chunk, chunks);
    if (fairshare->codes == NULL || fairshare->route_counts == NULL || fairshare->hops == NULL ||
        fairshare->moved == NULL || work->in_set == NULL || work->chunks == NULL) {
        return false;
    }
    for (size_t flow = 0; flow < flows; flow++) {
        fairshare->codes[flow] = none;
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        work->chunks[chunk].next = chunk + 1 < chunks ? (uint32_t)chunk + 1 : GS_FAIRSHARE_NO_CHUNK;
    }
    work->chunk_count = (uint32_t)chunks;
    work->free_chunk = 0;
    return true;
}

/* What grows with the links. */
static bool take_links(gs_fairshare *fairshare, gs_fairshare_work *work, gs_arena *arena)
{
    uint32_t link_count = fairshare->link_count;
    fairshare->links = GS_TAKE(arena, gs_fairshare_link, link_count);
    fairshare->levels = GS_TAKE(arena, double, 2 * ((size_t)link_count + 1));
    fairshare->levelled = GS_TAKE(arena, uint32_t, link_count);
    work->links = GS_TAKE(arena, gs_fairshare_repair, link_count);
    work->touched = GS_TAKE(arena, uint32_t, link_count);
    work->heap = GS_TAKE(arena, gs_fairshare_entry, link_count);
    work->elastic = GS_TAKE(arena, gs_fairshare_elastic, link_count);
    if (fairshare->links == NULL || fairshare->levels == NULL || fairshare->levelled == NULL ||
        work->links == NULL || work->touched == NULL || work->heap == NULL ||
        work->elastic == NULL) {
        return false;
    }
    for (uint32_t link = 0; link < link_count; link++) {
        fairshare->links[link].chunk = GS_FAIRSHARE_NO_CHUNK;
    }
    return true;
}

static uint32_t shift_of(uint32_t route_max)
{
    uint32_t shift = 0;
    while (UINT32_C(1) << shift < route_max) {
        shift++;
    }
    return shift;
}

static void expect_size(uint32_t flow_capacity, uint32_t route_max)
{
    GS_ASSERT(route_max >= 1 && route_max <= GS_FAIRSHARE_ROUTE_MAX);
    GS_ASSERT(flow_capacity < UINT32_MAX >> (shift_of(route_max) + 1));
}

gs_fairshare *gs_fairshare_create(uint32_t link_count, uint32_t flow_capacity, uint32_t route_max,
                                  gs_arena *arena)
{
    GS_ASSERT(link_count < UINT32_MAX / 2);
    expect_size(flow_capacity, route_max);
    gs_fairshare *fairshare = GS_TAKE(arena, gs_fairshare, 1);
    gs_fairshare_work *work = GS_TAKE(arena, gs_fairshare_work, 1);
    if (fairshare == NULL || work == NULL) {
        return NULL;
    }
    *fairshare = (gs_fairshare){
        .link_count = link_count,
        .flow_capacity = flow_capacity,
        .route_max = route_max,
        .route_shift = shift_of(route_max),
        .work = work,
    };
    return take_links(fairshare, work, arena) && take_flows(fairshare, work, arena) ? fairshare
                                                                                    : NULL;
}

static uint32_t *place_at(const gs_fairshare *fairshare, uint32_t link, uint32_t slot)
{
    return slot < GS_FAIRSHARE_CHUNK + 1
               ? &fairshare->links[link].places[slot]
               : &fairshare->work->chunks[slot / (GS_FAIRSHARE_CHUNK + 1) - 1]
                      .places[slot % (GS_FAIRSHARE_CHUNK + 1)];
}

/* Between events only levels, lists and what is known of elastic links last. */
static bool grow_links(const gs_fairshare *fairshare, gs_fairshare *grown, gs_fairshare_work *work,
                       gs_arena *arena)
{
    const gs_fairshare_work *old = fairshare->work;
    uint32_t count = fairshare->link_count;
    if (!take_links(grown, work, arena)) {
        return false;
    }
    memcpy(grown->links, fairshare->links, count * sizeof *grown->links);
    memcpy(grown->levels, fairshare->levels, 2 * (size_t)count * sizeof *grown->levels);
    memcpy(work->links, old->links, count * sizeof *work->links);
    memcpy(work->elastic, old->elastic, count * sizeof *work->elastic);
    return true;
}

/* Places are numbered anew where routes become longer; chunks keep their numbers, and lists their
 * slots. */
bool gs_fairshare_reserve(gs_fairshare *fairshare, uint32_t link_count, uint32_t flow_capacity,
                          uint32_t route_max, gs_arena *arena)
{
    GS_ASSERT(flow_capacity >= fairshare->flow_capacity && route_max >= fairshare->route_max);
    GS_ASSERT(link_count >= fairshare->link_count && link_count < UINT32_MAX / 2);
    expect_size(flow_capacity, route_max);
    gs_fairshare grown = *fairshare;
    gs_fairshare_work *work = fairshare->work;
    gs_fairshare_work grown_work = *work;
    grown.link_count = link_count;
    if (link_count > fairshare->link_count && !grow_links(fairshare, &grown, &grown_work, arena)) {
        return false;
    }
    grown.flow_capacity = flow_capacity;
    grown.route_max = route_max;
    grown.route_shift = shift_of(route_max);
    if (!take_flows(&grown, &grown_work, arena)) {
        return false;
    }
    uint32_t old_chunks = work->chunk_count;
    memcpy(grown_work.chunks, work->chunks, old_chunks * sizeof *work->chunks);
    /* The new ones are free, and before the old ones that are. */
    grown_work.chunks[grown_work.chunk_count - 1].next = work->free_chunk;
    grown_work.free_chunk = old_chunks;
    *work = grown_work;
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        bool is_held = fairshare->codes[flow] < 2 * fairshare->link_count;
        grown.codes[flow] = is_held ? fairshare->codes[flow] : 2 * link_count;
    }
    memcpy(grown.route_counts, fairshare->route_counts, fairshare->flow_capacity);
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
        for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
            uint32_t place = flow << grown.route_shift | hop;
            grown.hops[place] = hops[hop];
            *place_at(&grown, hops[hop].link, hops[hop].slot) = place;
        }
    }
    *fairshare = grown;
    return true;
}

/* ---------------------------------------------------------------- lists */

uint32_t gs_fairshare_append(gs_fairshare *fairshare, uint32_t link, uint32_t place)
{
    gs_fairshare_link *at = &fairshare->links[link];
    gs_fairshare_work *work = fairshare->work;
    uint32_t slot = (at->flow_count - GS_FAIRSHARE_INLINE) % GS_FAIRSHARE_CHUNK;
    if (slot == 0) {
        uint32_t chunk = work->free_chunk;
        GS_ASSERT(chunk != GS_FAIRSHARE_NO_CHUNK);
        work->free_chunk = work->chunks[chunk].next;
        work->chunks[chunk].next = at->chunk;
        at->chunk = chunk;
    }
    work->chunks[at->chunk].places[slot] = place;
    return (at->chunk + 1) * (GS_FAIRSHARE_CHUNK + 1) + slot;
}

/* Takes the newest place off a link. */
static uint32_t pop_place(gs_fairshare *fairshare, gs_fairshare_link *link)
{
    gs_fairshare_work *work = fairshare->work;
    uint32_t index = --link->flow_count;
    if (index < GS_FAIRSHARE_INLINE) {
        return link->places[index];
    }
    uint32_t slot = (index - GS_FAIRSHARE_INLINE) % GS_FAIRSHARE_CHUNK;
    uint32_t chunk = link->chunk;
    uint32_t place = work->chunks[chunk].places[slot];
    if (slot == 0) {
        link->chunk = work->chunks[chunk].next;
        work->chunks[chunk].next = work->free_chunk;
        work->free_chunk = chunk;
    }
    return place;
}

/* The newest place of each link takes the flow's. */
static void unlink_flow(gs_fairshare *fairshare, uint32_t flow)
{
    uint32_t place = flow << fairshare->route_shift;
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++, place++) {
        gs_fairshare_hop at = fairshare->hops[place];
        uint32_t newest = pop_place(fairshare, &fairshare->links[at.link]);
        if (newest != place) {
            *place_at(fairshare, at.link, at.slot) = newest;
            fairshare->hops[newest].slot = at.slot;
        }
    }
}

/* ---------------------------------------------------------------- events */

static void begin_event(gs_fairshare *fairshare)
{
    fairshare->moved_count = fairshare->levelled_count = 0;
}

void gs_fairshare_set_capacity(gs_fairshare *fairshare, uint32_t link, double capacity)
{
    GS_ASSERT(link < fairshare->link_count);
    GS_ASSERT(isfinite(capacity) && capacity >= 0.0);
    begin_event(fairshare);
    bool is_same = !(capacity < fairshare->links[link].capacity) &&
                   !(capacity > fairshare->links[link].capacity);
    fairshare->links[link].capacity = capacity;
    if (is_same || fairshare->links[link].flow_count == 0 ||
        gs_fairshare_elastic_capacity(fairshare, link)) {
        return;
    }
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            gs_fairshare_join(fairshare, run.places[i] >> fairshare->route_shift);
        }
    }
    gs_fairshare_repair_set(fairshare);
}

void gs_fairshare_repair_added(gs_fairshare *fairshare, uint32_t flow)
{
    begin_event(fairshare);
    if (!gs_fairshare_elastic_add(fairshare, flow)) {
        gs_fairshare_join(fairshare, flow);
        gs_fairshare_repair_set(fairshare);
    }
}

void gs_fairshare_repair_removed(gs_fairshare *fairshare, uint32_t flow)
{
    begin_event(fairshare);
    unlink_flow(fairshare, flow);
    uint32_t bottleneck = fairshare->codes[flow] / 2;
    fairshare->links[bottleneck].held_count--;
    fairshare->codes[flow] = 2 * fairshare->link_count;
    if (!gs_fairshare_elastic_remove(fairshare, flow, bottleneck)) {
        const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
        for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
            gs_fairshare_join_held(fairshare, hops[hop].link);
        }
        gs_fairshare_repair_set(fairshare);
    }
    fairshare->route_counts[flow] = 0;
}

/* ---------------------------------------------------------------- checks */

double gs_fairshare_load(const gs_fairshare *fairshare, uint32_t link)
{
    GS_ASSERT(link < fairshare->link_count);
    double sum = 0.0;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            sum += gs_fairshare_rate_at(fairshare, run.places[i]);
        }
    }
    return sum;
}

/* Full, and nobody on it is faster than its level. Flows of a bottleneck have its level up to the
 * tolerance, so that loads may be off by that too. */
static bool is_bottleneck(const gs_fairshare *fairshare, uint32_t link)
{
    const double tolerance = 2 * GS_FAIRSHARE_TOLERANCE;
    double largest = 0.0;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            double rate = gs_fairshare_rate_at(fairshare, run.places[i]);
            largest = rate > largest ? rate : largest;
        }
    }
    double capacity = fairshare->links[link].capacity;
    return gs_fairshare_level(fairshare, link) * (1.0 + tolerance) >= largest &&
           capacity - gs_fairshare_load(fairshare, link) <= capacity * tolerance;
}

static bool validate_flow(const gs_fairshare *fairshare, uint32_t flow)
{
    uint32_t bottleneck = fairshare->codes[flow] / 2;
    if (fairshare->work->in_set[flow] || fairshare->codes[flow] % 2 != 0) {
        return false;
    }
    if (fairshare->route_counts[flow] == 0) {
        return bottleneck == fairshare->link_count;
    }
    const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
    bool on_route = false;
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
        on_route = on_route || hops[hop].link == bottleneck;
    }
    return on_route && is_bottleneck(fairshare, bottleneck);
}

static bool validate_link(const gs_fairshare *fairshare, uint32_t link)
{
    const gs_fairshare_link *at = &fairshare->links[link];
    uint32_t flow_count = 0;
    uint32_t held_count = 0;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            gs_fairshare_hop hop = fairshare->hops[run.places[i]];
            if (hop.link != link || place_at(fairshare, link, hop.slot) != &run.places[i]) {
                return false;
            }
            flow_count++;
            held_count += fairshare->codes[run.places[i] >> fairshare->route_shift] == 2 * link;
        }
    }
    return flow_count == at->flow_count && held_count == at->held_count &&
           gs_fairshare_load(fairshare, link) <= at->capacity * (1.0 + 2 * GS_FAIRSHARE_TOLERANCE);
}

bool gs_fairshare_validate(const gs_fairshare *fairshare)
{
    for (uint32_t link = 0; link < fairshare->link_count; link++) {
        if (!validate_link(fairshare, link)) {
            return false;
        }
    }
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        if (!validate_flow(fairshare, flow)) {
            return false;
        }
    }
    return gs_fairshare_elastic_validate(fairshare);
}
