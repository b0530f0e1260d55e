/* Reads one Kineto trace as a stream and keeps the few facts of each event that a profile needs.
 *
 * Everything else (operators, python frames, arrows, shapes) passes by. Knows events, not what they
 * mean for a step: that is kineto_steps.h. Memory: the kept events, at most GS_KINETO_EVENTS_MAX.
 */
#ifndef GS_TRACES_KINETO_EVENTS_H
#define GS_TRACES_KINETO_EVENTS_H

#include "base/status.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

/* Kept events of one file; about 300 MB. Tests lower it. */
enum { GS_KINETO_EVENTS_MAX = 4 * 1000 * 1000 };

/* What a collective moves, from a kernel's arguments or from a host-side annotation. */
typedef struct gs_kineto_message {
    const char *collective; /* as gs_collective_name says; NULL: not said */
    int64_t elements;       /* of this rank's input; -1: not said */
    int32_t element_bytes;  /* 0: not said */
    bool is_float;
    bool named; /* said in words, not deduced from the name of a kernel */
} gs_kineto_message;

typedef struct gs_kineto_kernel {
    gs_time_ns start_ns;
    gs_time_ns end_ns;
    int64_t correlation;   /* of the launching call; -1: none */
    int32_t message_index; /* collectives: of messages; compute: -1 */
} gs_kineto_kernel;

/* A call of the runtime or driver that launches a kernel. */
typedef struct gs_kineto_launch {
    int64_t correlation;
    gs_time_ns at_ns;
    int64_t thread;
} gs_kineto_launch;

typedef enum gs_kineto_span_kind {
    GS_KINETO_STEP,        /* ProfilerStep#N on the host; number: N */
    GS_KINETO_DEVICE_STEP, /* the same on the device */
    GS_KINETO_LOADER,      /* the data loader's next batch */
    GS_KINETO_BLOCKED,     /* a call in which the host waits for the device */
    GS_KINETO_MESSAGE,     /* a collective on the host; number: index of messages */
    GS_KINETO_HOST_WORK    /* an operator on the host; kept only while no kernel has been seen */
} gs_kineto_span_kind;

typedef struct gs_kineto_span {
    gs_time_ns start_ns;
    gs_time_ns end_ns;
    int64_t thread;
    int64_t number;
    gs_kineto_span_kind kind;
} gs_kineto_span;

typedef struct gs_kineto_events {
    int32_t rank;       /* -1: not said */
    int32_t world_size; /* 0: not said */
    gs_kineto_kernel *kernels;
    gs_kineto_launch *launches;
    gs_kineto_span *spans;
    gs_kineto_message *messages;
    uint32_t kernel_count;
    uint32_t launch_count;
    uint32_t span_count;
    uint32_t message_count;
    uint64_t event_count; /* in the file, kept or not */
    gs_time_ns first_ns;  /* of all complete events with a time */
    gs_time_ns last_ns;
} gs_kineto_events;

/* Reads a plain or gzipped file. Times are ns from the file's own base (baseTimeNanoseconds is not
 * added: every use is a difference inside one file). events_max: kept events at most. Errors:
 * GS_EPARSE with byte and reason, GS_ELIMIT, GS_EIO, GS_ENOTFOUND, GS_ENOMEM. Owner: caller,
 * gs_kineto_events_fini, also after an error. */
GS_MUST_USE gs_status gs_kineto_events_read(const char *file, uint32_t events_max,
                                            gs_kineto_events *out, gs_error *err);
void gs_kineto_events_fini(gs_kineto_events *events);

#endif
