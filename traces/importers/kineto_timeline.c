#include "traces/importers/kineto_timeline.h"

#include <stdlib.h>
#include <string.h>

static gs_time_ns later(gs_time_ns a, gs_time_ns b)
{
    return a > b ? a : b;
}

static gs_time_ns earlier(gs_time_ns a, gs_time_ns b)
{
    return a < b ? a : b;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int launches_by_correlation(const void *left, const void *right)
{
    const gs_kineto_launch *a = left;
    const gs_kineto_launch *b = right;
    int order = compare(a->correlation, b->correlation);
    return order != 0 ? order : compare(a->at_ns, b->at_ns);
}

static int windows_by_start(const void *left, const void *right)
{
    const gs_kineto_window *a = left;
    const gs_kineto_window *b = right;
    int order = compare(a->host_start_ns, b->host_start_ns);
    return order != 0 ? order : compare(a->number, b->number);
}

static int spans_by_thread(const void *left, const void *right)
{
    const gs_kineto_span *a = left;
    const gs_kineto_span *b = right;
    int order = compare(a->thread, b->thread);
    order = order != 0 ? order : compare(a->start_ns, b->start_ns);
    order = order != 0 ? order : compare(b->end_ns, a->end_ns);
    return order != 0 ? order : compare(a->number, b->number);
}

static int spans_by_start(const void *left, const void *right)
{
    const gs_kineto_span *a = left;
    const gs_kineto_span *b = right;
    int order = compare(a->start_ns, b->start_ns);
    return order != 0 ? order : compare(a->end_ns, b->end_ns);
}

static int stretches_by_start(const void *left, const void *right)
{
    const gs_kineto_stretch *a = left;
    const gs_kineto_stretch *b = right;
    int order = compare(a->start_ns, b->start_ns);
    order = order != 0 ? order : compare(a->end_ns, b->end_ns);
    return order != 0 ? order : compare(a->launch_ns, b->launch_ns);
}

static int stretches_by_launch(const void *left, const void *right)
{
    const gs_kineto_stretch *a = left;
    const gs_kineto_stretch *b = right;
    int order = compare(a->launch_ns, b->launch_ns);
    return order != 0 ? order : compare(a->end_ns, b->end_ns);
}

const gs_kineto_launch *gs_kineto_launch_of(const gs_kineto_timeline *line, int64_t correlation)
{
    uint32_t low = 0;
    uint32_t high = line->launch_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (line->launches[middle].correlation < correlation) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < line->launch_count && line->launches[low].correlation == correlation;
    return found && correlation >= 0 ? &line->launches[low] : NULL;
}

int32_t gs_kineto_step_at(const gs_kineto_timeline *line, gs_time_ns at_ns)
{
    uint32_t low = 0;
    uint32_t high = line->window_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (line->windows[middle].host_end_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == line->window_count || at_ns < line->windows[0].host_start_ns) {
        return -1;
    }
    return (int32_t)low;
}

uint32_t gs_kineto_spans_until(const gs_kineto_span *spans, uint32_t count, int64_t thread,
                               gs_time_ns at_ns)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const gs_kineto_span *span = &spans[middle];
        if (span->thread < thread || (span->thread == thread && span->start_ns <= at_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How many stretches start (or were launched) before at_ns. */
static uint32_t stretches_before(const gs_kineto_stretch *stretches, uint32_t count, bool by_launch,
                                 gs_time_ns at_ns)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const gs_kineto_stretch *stretch = &stretches[middle];
        if ((by_launch ? stretch->launch_ns : stretch->start_ns) < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

gs_time_ns gs_kineto_busy_until(const gs_kineto_timeline *line, gs_time_ns at_ns)
{
    uint32_t before = stretches_before(line->by_start, line->stretch_count, false, at_ns);
    return before == 0 ? -GS_TIME_NEVER : line->by_start[before - 1].busy_until_ns;
}

/* Index of the first of disjoint spans that ends at or after at_ns. */
static uint32_t first_ending_at(const gs_kineto_span *spans, uint32_t count, gs_time_ns at_ns)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans[middle].end_ns < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

gs_time_ns gs_kineto_waiting_since(const gs_kineto_timeline *line, gs_time_ns at_ns)
{
    gs_time_ns since_ns = GS_TIME_NEVER;
    uint32_t next = stretches_before(line->by_start, line->stretch_count, false, at_ns);
    if (next < line->stretch_count) {
        since_ns = line->by_start[next].launch_ns;
    }
    uint32_t blocked = first_ending_at(line->blocked, line->blocked_count, at_ns);
    if (blocked < line->blocked_count) {
        since_ns = earlier(since_ns, line->blocked[blocked].start_ns);
    }
    return since_ns < at_ns ? since_ns : GS_TIME_NEVER;
}

gs_time_ns gs_kineto_ready(const gs_kineto_timeline *line, gs_time_ns launch_ns,
                           gs_time_ns start_ns)
{
    if (launch_ns >= start_ns) {
        return start_ns;
    }
    uint32_t before = stretches_before(line->by_launch, line->stretch_count, true, launch_ns);
    gs_time_ns done_ns = before == 0 ? launch_ns : line->by_launch[before - 1].busy_until_ns;
    return earlier(later(done_ns, launch_ns), start_ns);
}

gs_time_ns gs_kineto_loader_gap(const gs_kineto_timeline *line, gs_time_ns from_ns,
                                gs_time_ns to_ns)
{
    gs_time_ns sum_ns = 0;
    for (uint32_t i = first_ending_at(line->loading, line->loading_count, from_ns);
         i < line->loading_count && line->loading[i].start_ns < to_ns; i++) {
        gs_time_ns at_ns = later(line->loading[i].start_ns, from_ns);
        gs_time_ns end_ns = earlier(line->loading[i].end_ns, to_ns);
        at_ns = later(at_ns, gs_kineto_busy_until(line, at_ns));
        uint32_t next = stretches_before(line->by_start, line->stretch_count, false, at_ns);
        for (; next < line->stretch_count && line->by_start[next].start_ns < end_ns; next++) {
            sum_ns += later(line->by_start[next].start_ns - at_ns, 0);
            at_ns = later(at_ns, line->by_start[next].end_ns);
        }
        sum_ns += later(end_ns - at_ns, 0);
    }
    return sum_ns;
}

static gs_status no_memory(const char *file, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory for its events", file);
}

static gs_status make_windows(const gs_kineto_events *events, const char *file,
                              gs_import_notes *notes, gs_kineto_timeline *out, gs_error *err)
{
    out->windows = calloc((size_t)events->span_count + 1, sizeof *out->windows);
    if (out->windows == NULL) {
        return no_memory(file, err);
    }
    for (uint32_t i = 0; i < events->span_count; i++) {
        const gs_kineto_span *span = &events->spans[i];
        if (span->kind == GS_KINETO_STEP) {
            out->windows[out->window_count++] = (gs_kineto_window){.host_start_ns = span->start_ns,
                                                                   .host_end_ns = span->end_ns,
                                                                   .thread = span->thread,
                                                                   .number = span->number};
        }
    }
    if (out->window_count == 0) {
        gs_import_notes_add(notes, "%s: no ProfilerStep: the whole trace is taken as one step",
                            file);
        out->windows[0] = (gs_kineto_window){
            .host_start_ns = events->first_ns, .host_end_ns = events->last_ns, .thread = -1};
        out->window_count = 1;
    }
    qsort(out->windows, out->window_count, sizeof *out->windows, windows_by_start);
    for (uint32_t i = 1; i < out->window_count; i++) {
        if (out->windows[i].number <= out->windows[i - 1].number) {
            return gs_fail(
                err, GS_EPARSE,
                "%s: ProfilerStep#%lld comes after ProfilerStep#%lld: several recordings "
                "in one file; give each its own",
                file, (long long)out->windows[i].number, (long long)out->windows[i - 1].number);
        }
    }
    return GS_OK;
}

/* Copies of the spans of one kind, sorted. */
static gs_status pick_spans(const gs_kineto_events *events, gs_kineto_span_kind kind,
                            int (*order)(const void *, const void *), gs_kineto_span **out,
                            uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < events->span_count; i++) {
        count += events->spans[i].kind == kind ? 1 : 0;
    }
    *out = calloc((size_t)count + 1, sizeof **out);
    if (*out == NULL) {
        return GS_ENOMEM;
    }
    for (uint32_t i = 0; i < events->span_count; i++) {
        if (events->spans[i].kind == kind) {
            (*out)[(*out_count)++] = events->spans[i];
        }
    }
    qsort(*out, *out_count, sizeof **out, order);
    return GS_OK;
}

/* Sorted spans become their union; returns how many are left. */
static uint32_t unite(gs_kineto_span *spans, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && spans[i].start_ns <= spans[kept - 1].end_ns) {
            spans[kept - 1].end_ns = later(spans[kept - 1].end_ns, spans[i].end_ns);
        } else {
            spans[kept++] = spans[i];
        }
    }
    return kept;
}

static gs_status pick_all_spans(const gs_kineto_events *events, const char *file,
                                gs_kineto_timeline *out, gs_error *err)
{
    if (pick_spans(events, GS_KINETO_MESSAGE, spans_by_thread, &out->messages,
                   &out->message_count) != GS_OK ||
        pick_spans(events, GS_KINETO_BLOCKED, spans_by_start, &out->blocked, &out->blocked_count) !=
            GS_OK ||
        pick_spans(events, GS_KINETO_LOADER, spans_by_start, &out->loading, &out->loading_count) !=
            GS_OK) {
        return no_memory(file, err);
    }
    out->blocked_count = unite(out->blocked, out->blocked_count);
    out->loading_count = unite(out->loading, out->loading_count);
    return GS_OK;
}

/* Index of the first window whose number is not below; numbers rise with time. */
static uint32_t first_numbered(const gs_kineto_timeline *line, int64_t number)
{
    uint32_t low = 0;
    uint32_t high = line->window_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (line->windows[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The step of a kernel whose launching call was not recorded: by the device's own annotation, else
 * by when it ran. Where the call is there it decides: the device's annotations have been seen to
 * end long before the step's last kernel (AMD). */
static int32_t step_by_device(const gs_kineto_timeline *line, const gs_kineto_span *device_steps,
                              uint32_t device_step_count, gs_time_ns start_ns)
{
    uint32_t at = first_ending_at(device_steps, device_step_count, start_ns);
    if (at < device_step_count && device_steps[at].start_ns <= start_ns) {
        uint32_t step = first_numbered(line, device_steps[at].number);
        if (step < line->window_count && line->windows[step].number == device_steps[at].number) {
            return (int32_t)step;
        }
    }
    return gs_kineto_step_at(line, start_ns);
}

static gs_status assign_kernels(const gs_kineto_events *events, const char *file,
                                gs_kineto_timeline *out, gs_error *err)
{
    gs_kineto_span *device_steps = NULL;
    uint32_t device_step_count = 0;
    out->launches = malloc(((size_t)events->launch_count + 1) * sizeof *out->launches);
    out->kernel_steps = calloc((size_t)events->kernel_count + 1, sizeof *out->kernel_steps);
    if (out->launches == NULL || out->kernel_steps == NULL ||
        pick_spans(events, GS_KINETO_DEVICE_STEP, spans_by_start, &device_steps,
                   &device_step_count) != GS_OK) {
        free(device_steps);
        return no_memory(file, err);
    }
    if (events->launch_count > 0) {
        memcpy(out->launches, events->launches, events->launch_count * sizeof *out->launches);
    }
    out->launch_count = events->launch_count;
    qsort(out->launches, out->launch_count, sizeof *out->launches, launches_by_correlation);
    for (uint32_t i = 0; i < events->kernel_count; i++) {
        const gs_kineto_kernel *kernel = &events->kernels[i];
        const gs_kineto_launch *launch = gs_kineto_launch_of(out, kernel->correlation);
        out->kernel_steps[i] =
            launch != NULL ? gs_kineto_step_at(out, launch->at_ns)
                           : step_by_device(out, device_steps, device_step_count, kernel->start_ns);
        if (out->kernel_steps[i] >= 0) {
            out->windows[out->kernel_steps[i]].kernel_count++;
        }
    }
    free(device_steps);
    return GS_OK;
}

static void collect_stretches(const gs_kineto_events *events, gs_kineto_timeline *out)
{
    for (uint32_t i = 0; i < events->kernel_count; i++) {
        const gs_kineto_kernel *kernel = &events->kernels[i];
        if (kernel->message_index >= 0 || out->kernel_steps[i] < 0) {
            continue;
        }
        const gs_kineto_launch *launch = gs_kineto_launch_of(out, kernel->correlation);
        out->by_start[out->stretch_count++] =
            (gs_kineto_stretch){.start_ns = kernel->start_ns,
                                .end_ns = kernel->end_ns,
                                .launch_ns = launch == NULL ? kernel->start_ns : launch->at_ns,
                                .step = out->kernel_steps[i]};
    }
    for (uint32_t i = 0; i < events->span_count && events->kernel_count == 0; i++) {
        const gs_kineto_span *span = &events->spans[i];
        int32_t step = gs_kineto_step_at(out, span->start_ns);
        if (span->kind == GS_KINETO_HOST_WORK && step >= 0) {
            out->by_start[out->stretch_count++] = (gs_kineto_stretch){.start_ns = span->start_ns,
                                                                      .end_ns = span->end_ns,
                                                                      .launch_ns = span->start_ns,
                                                                      .step = step};
            out->windows[step].kernel_count++;
        }
    }
}

static void sort_stretches(gs_kineto_stretch *stretches, uint32_t count,
                           int (*order)(const void *, const void *))
{
    qsort(stretches, count, sizeof *stretches, order);
    gs_time_ns until_ns = -GS_TIME_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        until_ns = later(until_ns, stretches[i].end_ns);
        stretches[i].busy_until_ns = until_ns;
    }
}

static gs_status make_stretches(const gs_kineto_events *events, const char *file,
                                gs_kineto_timeline *out, gs_error *err)
{
    size_t capacity =
        (size_t)(events->kernel_count > 0 ? events->kernel_count : events->span_count);
    out->by_start = calloc(capacity + 1, sizeof *out->by_start);
    out->by_launch = calloc(capacity + 1, sizeof *out->by_launch);
    if (out->by_start == NULL || out->by_launch == NULL) {
        return no_memory(file, err);
    }
    collect_stretches(events, out);
    memcpy(out->by_launch, out->by_start, out->stretch_count * sizeof *out->by_start);
    sort_stretches(out->by_start, out->stretch_count, stretches_by_start);
    sort_stretches(out->by_launch, out->stretch_count, stretches_by_launch);
    return GS_OK;
}

/* Start and end of each step on the device, and the union of its compute between them. */
static gs_status measure_windows(gs_kineto_timeline *out)
{
    gs_time_ns *last_ns = calloc(out->window_count, sizeof *last_ns);
    if (last_ns == NULL) {
        return GS_ENOMEM;
    }
    for (uint32_t i = 0; i < out->window_count; i++) {
        out->windows[i].end_ns = out->windows[i].host_end_ns;
    }
    for (uint32_t i = 0; i < out->stretch_count; i++) {
        gs_kineto_window *window = &out->windows[out->by_start[i].step];
        window->end_ns = later(window->end_ns, out->by_start[i].end_ns);
    }
    gs_time_ns before_ns = -GS_TIME_NEVER;
    for (uint32_t i = 0; i < out->window_count; i++) {
        gs_kineto_window *window = &out->windows[i];
        window->start_ns = later(window->host_start_ns, before_ns);
        window->end_ns = later(window->end_ns, window->start_ns);
        before_ns = window->end_ns;
        last_ns[i] = window->start_ns;
    }
    for (uint32_t i = 0; i < out->stretch_count; i++) {
        const gs_kineto_stretch *stretch = &out->by_start[i];
        gs_kineto_window *window = &out->windows[stretch->step];
        gs_time_ns from_ns = later(stretch->start_ns, last_ns[stretch->step]);
        gs_time_ns to_ns = earlier(stretch->end_ns, window->end_ns);
        window->compute_ns += later(to_ns - from_ns, 0);
        last_ns[stretch->step] = later(last_ns[stretch->step], to_ns);
    }
    free(last_ns);
    return GS_OK;
}

gs_status gs_kineto_timeline_make(const gs_kineto_events *events, const char *file,
                                  gs_import_notes *notes, gs_kineto_timeline *out, gs_error *err)
{
    *out = (gs_kineto_timeline){0};
    if (events->last_ns < events->first_ns) {
        return gs_fail(err, GS_EPARSE,
                       "%s: %llu events, but no kernel and no operator: nothing to play", file,
                       (unsigned long long)events->event_count);
    }
    GS_TRY(make_windows(events, file, notes, out, err));
    GS_TRY(pick_all_spans(events, file, out, err));
    GS_TRY(assign_kernels(events, file, out, err));
    GS_TRY(make_stretches(events, file, out, err));
    return measure_windows(out) == GS_OK ? GS_OK : no_memory(file, err);
}

void gs_kineto_timeline_fini(gs_kineto_timeline *line)
{
    free(line->windows);
    free(line->by_start);
    free(line->by_launch);
    free(line->launches);
    free(line->kernel_steps);
    free(line->messages);
    free(line->blocked);
    free(line->loading);
    *line = (gs_kineto_timeline){0};
}
