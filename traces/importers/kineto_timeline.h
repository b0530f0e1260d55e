/* The events of one rank, put in order and cut into the windows of its steps; answers questions
 * such as "until when is the device busy" in logarithmic time. What the answers mean is
 * kineto_steps.c's. */
#ifndef GS_TRACES_KINETO_TIMELINE_H
#define GS_TRACES_KINETO_TIMELINE_H

#include "traces/importers/import_notes.h"
#include "traces/importers/kineto_events.h"

/* A step as the device lived it: kineto_steps.h says what start and end are. */
typedef struct gs_kineto_window {
    gs_time_ns start_ns;
    gs_time_ns end_ns;
    gs_time_ns host_start_ns; /* of the annotation */
    gs_time_ns host_end_ns;
    gs_time_ns compute_ns;
    int64_t thread; /* that runs the step; -1: not known */
    int64_t number;
    uint32_t kernel_count;
} gs_kineto_window;

/* A stretch of compute, and the latest end of it and all before it in its array. */
typedef struct gs_kineto_stretch {
    gs_time_ns start_ns;
    gs_time_ns end_ns;
    gs_time_ns launch_ns;
    gs_time_ns busy_until_ns;
    int32_t step;
} gs_kineto_stretch;

typedef struct gs_kineto_timeline {
    gs_kineto_window *windows; /* by start */
    gs_kineto_stretch *by_start;
    gs_kineto_stretch *by_launch;
    gs_kineto_launch *launches; /* by correlation */
    int32_t *kernel_steps;      /* of each kernel of the events; -1: of no step */
    gs_kineto_span *messages;   /* by thread, start, longest first */
    gs_kineto_span *blocked;    /* disjoint, by start */
    gs_kineto_span *loading;    /* disjoint, by start */
    uint32_t window_count;
    uint32_t stretch_count;
    uint32_t launch_count;
    uint32_t message_count;
    uint32_t blocked_count;
    uint32_t loading_count;
} gs_kineto_timeline;

/* Errors: GS_EPARSE (a step twice, or nothing ran), GS_ENOMEM. Owner: caller,
 * gs_kineto_timeline_fini, also after an error. */
GS_MUST_USE gs_status gs_kineto_timeline_make(const gs_kineto_events *events, const char *file,
                                              gs_import_notes *notes, gs_kineto_timeline *out,
                                              gs_error *err);
void gs_kineto_timeline_fini(gs_kineto_timeline *line);

/* NULL: the launching call is not in the trace. */
const gs_kineto_launch *gs_kineto_launch_of(const gs_kineto_timeline *line, int64_t correlation);
/* The step that work given to the device by the host at at_ns belongs to; between two steps it is
 * the later one. -1: before the first or after the last. */
int32_t gs_kineto_step_at(const gs_kineto_timeline *line, gs_time_ns at_ns);
/* How many spans of (thread, start) order stand at or before (thread, at_ns). */
uint32_t gs_kineto_spans_until(const gs_kineto_span *spans, uint32_t count, int64_t thread,
                               gs_time_ns at_ns);
/* The latest end of compute that starts before at_ns. */
gs_time_ns gs_kineto_busy_until(const gs_kineto_timeline *line, gs_time_ns at_ns);
/* Since when something waits for at_ns: the launch of the compute that starts next, or the start of
 * a call in which the host is blocked at that time. GS_TIME_NEVER: nothing does. */
gs_time_ns gs_kineto_waiting_since(const gs_kineto_timeline *line, gs_time_ns at_ns);
/* When the data of a collective launched at launch_ns were ready: after all compute launched before
 * it, and never after it started. */
gs_time_ns gs_kineto_ready(const gs_kineto_timeline *line, gs_time_ns launch_ns,
                           gs_time_ns start_ns);
/* How long within [from_ns, to_ns) the loader worked while no compute ran. */
gs_time_ns gs_kineto_loader_gap(const gs_kineto_timeline *line, gs_time_ns from_ns,
                                gs_time_ns to_ns);

#endif
