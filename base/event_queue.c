/* The ladder: events far ahead lie unsorted (top), nearer ones in buckets of a few rungs, each rung
 * finer than the one above it, and the next few in a heap (bottom).
 *
 * Whatever is in the bottom is earlier than all rungs, a rung earlier than the rest of the rung
 * above, and all of them earlier than the top. A bucket that is reached goes to the bottom if it is
 * small, and becomes a finer rung if not. Widths are powers of two. Pop never allocates: what it
 * may need is reserved by push. After Tang, Goh & Thng, "Ladder queue", ACM TOMACS 15(3), 2005. */
#include "base/event_queue.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/event_heap.h"
#include "base/prefetch.h"

enum {
    THRESHOLD = 48, /* events that a heap sorts faster than a further rung would (docs/adr) */
    BOTTOM_MAX = 4 * THRESHOLD,
    RUNG_MAX = 12,
    BUCKET_BITS_MAX = 12,
    BUCKET_MAX = 1 << BUCKET_BITS_MAX,
    CAPACITY_MIN = 256,
    AHEAD_MIN = 8, /* that the bottom gets at once where a rung has them: they are known ahead */
};

#define NONE UINT32_MAX

typedef struct pool_node {
    gs_queued_event event;
    uint32_t next;
} pool_node;

typedef struct rung {
    uint64_t start; /* time of bucket 0 */
    uint64_t next;  /* time of the first bucket that was not reached yet */
    size_t bucket_index;
    size_t bucket_count;
    size_t event_count;
    int shift; /* a bucket spans 2^shift ns */
    uint32_t heads[BUCKET_MAX];
} rung;

struct gs_event_queue {
    gs_event_heap bottom;
    gs_queued_event *top;
    pool_node *nodes;
    size_t top_count;
    size_t capacity; /* of bottom, top and nodes each */
    size_t count;
    uint64_t top_start; /* the top holds times from here on */
    uint64_t top_min;
    uint64_t top_max;
    size_t bottom_limit; /* a larger bottom is worth a try at another rung */
    int64_t now;         /* time of the last pop */
    uint64_t refills;
    uint32_t free_head;
    uint32_t rung_count;
    rung rungs[RUNG_MAX];
};

gs_event_queue *gs_event_queue_create(void)
{
    gs_event_queue *queue = calloc(1, sizeof *queue);
    if (queue != NULL) {
        queue->free_head = NONE;
        queue->top_min = UINT64_MAX;
        queue->bottom_limit = BOTTOM_MAX;
    }
    return queue;
}

void gs_event_queue_destroy(gs_event_queue *queue)
{
    if (queue != NULL) {
        gs_event_heap_fini(&queue->bottom);
        free(queue->top);
        free(queue->nodes);
        free(queue);
    }
}

size_t gs_event_queue_count(const gs_event_queue *queue)
{
    return queue->count;
}

size_t gs_event_queue_bytes(const gs_event_queue *queue)
{
    return sizeof *queue + queue->bottom.capacity * sizeof *queue->bottom.items +
           queue->capacity * (sizeof *queue->top + sizeof *queue->nodes);
}

/* Room for twice the events everywhere: any of the three places may have to hold them all. */
static gs_status grow(gs_event_queue *queue)
{
    size_t capacity = queue->capacity == 0 ? CAPACITY_MIN : 2 * queue->capacity;
    if (capacity >= NONE) {
        return GS_ENOMEM;
    }
    GS_TRY(gs_event_heap_reserve(&queue->bottom, capacity));
    gs_queued_event *top = realloc(queue->top, capacity * sizeof *top);
    if (top == NULL) {
        return GS_ENOMEM;
    }
    queue->top = top;
    pool_node *nodes = realloc(queue->nodes, capacity * sizeof *nodes);
    if (nodes == NULL) {
        return GS_ENOMEM;
    }
    queue->nodes = nodes;
    for (size_t i = capacity; i > queue->capacity; i--) {
        nodes[i - 1].next = queue->free_head;
        queue->free_head = (uint32_t)(i - 1);
    }
    queue->capacity = capacity;
    return GS_OK;
}

/* --- rungs ---------------------------------------------------------------------------------- */

static void put_in_rung(gs_event_queue *queue, rung *r, gs_queued_event event)
{
    uint32_t index = queue->free_head;
    pool_node *node = &queue->nodes[index];
    queue->free_head = node->next;
    uint32_t *head = &r->heads[((uint64_t)event.time - r->start) >> r->shift];
    node->event = event;
    node->next = *head;
    *head = index;
    r->event_count++;
}

/* A new finest rung over [start, start + span], with one or two buckets per event. */
static rung *add_rung(gs_event_queue *queue, uint64_t start, uint64_t span, size_t event_count)
{
    GS_ASSERT(queue->rung_count < RUNG_MAX);
    rung *r = &queue->rungs[queue->rung_count++];
    uint64_t bucket_max = 2 * event_count < BUCKET_MAX ? 2 * event_count : BUCKET_MAX;
    r->shift = 0;
    while (span >> r->shift >= bucket_max) {
        r->shift++;
    }
    r->start = start;
    r->next = start;
    r->bucket_index = 0;
    r->bucket_count = (size_t)(span >> r->shift) + 1;
    r->event_count = 0;
    for (size_t i = 0; i < r->bucket_count; i++) {
        r->heads[i] = NONE;
    }
    return r;
}

/* --- towards the bottom --------------------------------------------------------------------- */

static void settle_bottom(gs_event_queue *queue)
{
    gs_event_heap_build(&queue->bottom);
    size_t limit = 2 * queue->bottom.count;
    queue->bottom_limit = limit > BOTTOM_MAX ? limit : BOTTOM_MAX;
}

/* The top becomes the first rung, or the bottom where it is small or all of one time. */
static void take_top(gs_event_queue *queue)
{
    uint64_t span = queue->top_max - queue->top_min;
    if (queue->top_count <= THRESHOLD || span == 0) {
        for (size_t i = 0; i < queue->top_count; i++) {
            queue->bottom.items[i] = queue->top[i];
        }
        queue->bottom.count = queue->top_count;
        queue->top_start = queue->top_max + 1;
        settle_bottom(queue);
    } else {
        rung *r = add_rung(queue, queue->top_min, span, queue->top_count);
        for (size_t i = 0; i < queue->top_count; i++) {
            put_in_rung(queue, r, queue->top[i]);
        }
        queue->top_start = r->start + ((uint64_t)r->bucket_count << r->shift);
    }
    queue->top_count = 0;
    queue->top_min = UINT64_MAX;
    queue->top_max = 0;
}

/* Events of a rung's next bucket that has any are appended to items, of which there are `count`;
 * returns how many there are then. */
static size_t empty_bucket(gs_event_queue *queue, rung *r, gs_queued_event *items, size_t count)
{
    while (r->heads[r->bucket_index] == NONE) {
        r->bucket_index++;
    }
    uint32_t head = r->heads[r->bucket_index++];
    uint32_t last = head;
    for (uint32_t i = head; i != NONE; i = queue->nodes[i].next) {
        items[count++] = queue->nodes[i].event;
        last = i;
    }
    queue->nodes[last].next = queue->free_head;
    queue->free_head = head;
    return count;
}

/* A large bucket is looked at alone: it may become a rung. */
static bool is_next_small(const gs_event_queue *queue, const rung *r)
{
    size_t bucket = r->bucket_index;
    while (r->heads[bucket] == NONE) {
        bucket++;
    }
    size_t count = 0;
    for (uint32_t i = r->heads[bucket]; i != NONE && count <= AHEAD_MIN; i = queue->nodes[i].next) {
        count++;
    }
    return count <= AHEAD_MIN;
}

/* The nodes of the buckets from here on, which lie anywhere. */
static void fetch_nodes(const gs_event_queue *queue, const rung *r)
{
    size_t end = r->bucket_index + 2 * AHEAD_MIN;
    end = end < r->bucket_count ? end : r->bucket_count;
    for (size_t i = r->bucket_index; i < end; i++) {
        if (r->heads[i] != NONE) {
            gs_prefetch(&queue->nodes[r->heads[i]], sizeof *queue->nodes);
        }
    }
}

/* The next buckets of the finest rung go to the bottom, or the next one to a finer rung where it is
 * large. */
static void take_buckets(gs_event_queue *queue)
{
    rung *r = &queue->rungs[queue->rung_count - 1];
    gs_queued_event *items = queue->bottom.items;
    uint64_t start = r->next;
    size_t count = 0;
    do {
        size_t before = count;
        count = empty_bucket(queue, r, items, count);
        r->event_count -= count - before;
    } while (count < AHEAD_MIN && r->event_count > 0 && is_next_small(queue, r));
    fetch_nodes(queue, r);
    r->next = r->start + ((uint64_t)r->bucket_index << r->shift);
    if (count > THRESHOLD && r->shift > 0 && queue->rung_count < RUNG_MAX) {
        rung *finer = add_rung(queue, start, r->next - start - 1, count);
        for (size_t i = 0; i < count; i++) {
            put_in_rung(queue, finer, items[i]);
        }
    } else {
        queue->bottom.count = count;
        settle_bottom(queue);
    }
}

/* An overgrown bottom becomes the finest rung, up to where the next later place begins; so an event
 * far ahead, taken early, does not turn the ladder into a heap. */
static void spill_bottom(gs_event_queue *queue)
{
    gs_event_heap *bottom = &queue->bottom;
    queue->bottom_limit = 2 * bottom->count;
    uint64_t start = (uint64_t)bottom->items[0].time;
    uint64_t end =
        queue->rung_count > 0 ? queue->rungs[queue->rung_count - 1].next : queue->top_start;
    if (end - start < 2 || queue->rung_count == RUNG_MAX) {
        return;
    }
    rung *r = add_rung(queue, start, end - start - 1, bottom->count);
    for (size_t i = 0; i < bottom->count; i++) {
        put_in_rung(queue, r, bottom->items[i]);
    }
    bottom->count = 0;
}

/* Fills the empty bottom of a queue that is not empty. */
static void refill(gs_event_queue *queue)
{
    queue->refills++;
    while (queue->bottom.count == 0) {
        if (queue->rung_count == 0) {
            take_top(queue);
        } else if (queue->rungs[queue->rung_count - 1].event_count == 0) {
            queue->rung_count--;
        } else {
            take_buckets(queue);
        }
    }
}

/* --- the queue ------------------------------------------------------------------------------ */

gs_status gs_event_queue_push(gs_event_queue *queue, gs_queued_event event)
{
    GS_ASSERT(event.time >= queue->now);
    if (queue->count == queue->capacity) {
        GS_TRY(grow(queue));
    }
    queue->count++;
    uint64_t time = (uint64_t)event.time;
    if (time >= queue->top_start) {
        queue->top[queue->top_count++] = event;
        queue->top_min = time < queue->top_min ? time : queue->top_min;
        queue->top_max = time > queue->top_max ? time : queue->top_max;
        return GS_OK;
    }
    for (uint32_t i = 0; i < queue->rung_count; i++) {
        if (time >= queue->rungs[i].next) {
            put_in_rung(queue, &queue->rungs[i], event);
            return GS_OK;
        }
    }
    gs_status status = gs_event_heap_push(&queue->bottom, event);
    GS_ASSERT(status == GS_OK);
    if (queue->bottom.count > queue->bottom_limit) {
        spill_bottom(queue);
    }
    return GS_OK;
}

bool gs_event_queue_pop(gs_event_queue *queue, gs_queued_event *out)
{
    if (queue->count == 0) {
        return false;
    }
    if (queue->bottom.count == 0) {
        refill(queue);
    }
    gs_event_heap_pop(&queue->bottom, out);
    queue->count--;
    queue->now = out->time;
    if (queue->bottom.count == 0 && queue->count > 0) {
        refill(queue); /* what comes next is known ahead */
    }
    return true;
}

uint64_t gs_event_queue_refills(const gs_event_queue *queue)
{
    return queue->refills;
}

const gs_queued_event *gs_event_queue_ahead(const gs_event_queue *queue, size_t *out_count)
{
    *out_count = queue->bottom.count;
    return queue->bottom.items;
}
