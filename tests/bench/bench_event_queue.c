/* Holds per second of the pending-event set: pop, draw, push back later. One JSON line a
 * measurement.
 *
 * The best of several rounds counts: on a shared machine only the fastest one says what code can
 * do. */
#include "base/event_heap.h"
#include "base/event_queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HOLDS = 2000000, ROUNDS = 5, MEAN_NS = 1000000 };

typedef enum law { EXPONENTIAL, EQUAL_TIMES, TWO_CLUSTERS, LAW_COUNT } law;

static const char *const law_names[] = {"exponential", "equal_times", "two_clusters"};

typedef struct draws {
    uint64_t state;
    law law;
} draws;

static uint64_t next_bits(draws *d)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return d->state;
}

static int64_t next_delay_ns(draws *d)
{
    uint64_t bits = next_bits(d);
    double uniform = ((double)(bits >> 12) + 0.5) * 0x1p-52;
    switch (d->law) {
    case EXPONENTIAL:
        return (int64_t)(-log(uniform) * 1000.0 * MEAN_NS);
    case TWO_CLUSTERS: /* 94 % at 10 ms, 6 % short */
        return bits % 100 < 94 ? 10000000 + (int64_t)(bits >> 54) : (int64_t)(bits >> 54);
    case EQUAL_TIMES:
    case LAW_COUNT:
        break;
    }
    return MEAN_NS;
}

/* Of this process, so that neighbours cost caches but not time. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(bool is_done)
{
    if (!is_done) {
        fprintf(stderr, "bench_event_queue: out of memory\n");
        exit(EXIT_FAILURE);
    }
}

/* Seconds of HOLDS holds on the ladder at a steady number of pending events. */
static double hold_ladder(size_t pending, law kind)
{
    draws d = {UINT64_C(88172645463325252), kind};
    gs_event_queue *queue = gs_event_queue_create();
    must(queue != NULL);
    for (size_t i = 0; i < pending; i++) {
        must(gs_event_queue_push(queue, (gs_queued_event){next_delay_ns(&d), next_bits(&d)}) ==
             GS_OK);
    }
    double start = seconds();
    for (int i = 0; i < HOLDS; i++) {
        gs_queued_event event = {0};
        must(gs_event_queue_pop(queue, &event));
        event.time += next_delay_ns(&d);
        must(gs_event_queue_push(queue, event) == GS_OK);
    }
    double elapsed = seconds() - start;
    gs_event_queue_destroy(queue);
    return elapsed;
}

static double hold_heap(size_t pending, law kind)
{
    draws d = {UINT64_C(88172645463325252), kind};
    gs_event_heap heap;
    gs_event_heap_init(&heap);
    for (size_t i = 0; i < pending; i++) {
        must(gs_event_heap_push(&heap, (gs_queued_event){next_delay_ns(&d), next_bits(&d)}) ==
             GS_OK);
    }
    double start = seconds();
    for (int i = 0; i < HOLDS; i++) {
        gs_queued_event event = {0};
        must(gs_event_heap_pop(&heap, &event));
        event.time += next_delay_ns(&d);
        must(gs_event_heap_push(&heap, event) == GS_OK);
    }
    double elapsed = seconds() - start;
    gs_event_heap_fini(&heap);
    return elapsed;
}

static void measure(const char *name, double (*hold)(size_t, law), size_t pending, law kind)
{
    double best = HUGE_VAL;
    for (int round = 0; round < ROUNDS; round++) {
        best = fmin(best, hold(pending, kind));
    }
    printf("{\"bench\": \"event_queue\", \"queue\": \"%s\", \"law\": \"%s\", \"pending\": %zu, "
           "\"holds_per_second\": %.0f}\n",
           name, law_names[kind], pending, HOLDS / best);
}

int main(void)
{
    static const size_t pending[] = {64, 1000, 100000};
    for (law kind = 0; kind < LAW_COUNT; kind++) {
        for (size_t i = 0; i < sizeof pending / sizeof pending[0]; i++) {
            measure("ladder", hold_ladder, pending[i], kind);
            measure("heap", hold_heap, pending[i], kind);
        }
    }
    return EXIT_SUCCESS;
}
