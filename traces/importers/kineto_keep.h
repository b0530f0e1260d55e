/* One event of a Kineto trace while it is read, and what is kept of it when it ends.
 *
 * kineto_events.c drives this from the JSON parser; no JSON is seen here. */
#ifndef GS_TRACES_KINETO_KEEP_H
#define GS_TRACES_KINETO_KEEP_H

#include "traces/importers/kineto_events.h"

#include <stddef.h>

/* Keys that are wanted somewhere in the document; equal names at different depths share one. */
#define GS_KINETO_KEY_LIST(X)                                                                      \
    X(EVENTS, "traceEvents")                                                                       \
    X(DISTRIBUTED, "distributedInfo")                                                              \
    X(RANK, "rank")                                                                                \
    X(WORLD, "world_size")                                                                         \
    X(PHASE, "ph")                                                                                 \
    X(CATEGORY, "cat")                                                                             \
    X(NAME, "name")                                                                                \
    X(THREAD, "tid")                                                                               \
    X(TIME, "ts")                                                                                  \
    X(DURATION, "dur")                                                                             \
    X(ARGS, "args")                                                                                \
    X(CORRELATION, "correlation")                                                                  \
    X(SHAPES, "Input Dims")                                                                        \
    X(TYPES, "Input type")                                                                         \
    X(COLLECTIVE, "Collective name")                                                               \
    X(ELEMENTS, "In msg nelems")                                                                   \
    X(TYPE, "dtype")

typedef enum gs_kineto_key {
    GS_KINETO_KEY_OTHER,
#define GS_KINETO_KEY_ENUM(name, text) GS_KINETO_KEY_##name,
    GS_KINETO_KEY_LIST(GS_KINETO_KEY_ENUM)
#undef GS_KINETO_KEY_ENUM
} gs_kineto_key;

enum { GS_KINETO_NAME_BYTES = 192, GS_KINETO_WORD_BYTES = 32 };

/* An event so far. Texts are cut at their array. */
typedef struct gs_kineto_event {
    char name[GS_KINETO_NAME_BYTES];
    char category[GS_KINETO_WORD_BYTES];
    char collective[GS_KINETO_WORD_BYTES];
    char type[GS_KINETO_WORD_BYTES];
    char phase;
    bool has_time;
    bool has_duration;
    bool shapes_unknown;
    gs_time_ns start_ns;
    gs_time_ns duration_ns;
    int64_t thread;
    int64_t correlation;    /* -1: none */
    int64_t elements;       /* "In msg nelems"; -1: none */
    int64_t shape_elements; /* of all shapes of "Input Dims"; -1: none */
} gs_kineto_event;

typedef struct gs_kineto_keeper {
    gs_kineto_events *out;
    uint32_t events_max;
    uint32_t kernel_capacity;
    uint32_t launch_capacity;
    uint32_t span_capacity;
    uint32_t message_capacity;
    bool host_work_lost; /* more host spans than fit; matters only if no kernel comes */
} gs_kineto_keeper;

gs_kineto_key gs_kineto_key_of(const char *text, size_t length);

void gs_kineto_event_reset(gs_kineto_event *event);
/* A number or text under key. Errors: GS_EPARSE for a time that is none. */
GS_MUST_USE gs_status gs_kineto_event_number(gs_kineto_event *event, gs_kineto_key key,
                                             const char *text, size_t length, gs_error *err);
void gs_kineto_event_text(gs_kineto_event *event, gs_kineto_key key, const char *text,
                          size_t length);
void gs_kineto_event_add_elements(gs_kineto_event *event, int64_t elements);

/* out is reset; it keeps the arrays. */
void gs_kineto_keeper_init(gs_kineto_keeper *keeper, uint32_t events_max, gs_kineto_events *out);
/* Keeps what is wanted of an event that is complete. Errors: GS_EPARSE, GS_ELIMIT, GS_ENOMEM. */
GS_MUST_USE gs_status gs_kineto_keep(gs_kineto_keeper *keeper, const gs_kineto_event *event,
                                     gs_error *err);
GS_MUST_USE gs_status gs_kineto_keep_distributed(gs_kineto_keeper *keeper, gs_kineto_key key,
                                                 const char *text, size_t length, gs_error *err);
/* To be called once at the end of the file. */
GS_MUST_USE gs_status gs_kineto_keeper_finish(gs_kineto_keeper *keeper, gs_error *err);

#endif
