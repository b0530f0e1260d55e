#include "traces/importers/kineto_keep.h"

#include "traces/importers/collective_name.h"
#include "traces/importers/kineto_number.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_CAPACITY = 256 };

gs_kineto_key gs_kineto_key_of(const char *text, size_t length)
{
    static const struct {
        const char *text;
        size_t length;
        gs_kineto_key key;
    } KEYS[] = {
#define KEY_ROW(name, word) {word, sizeof(word) - 1, GS_KINETO_KEY_##name},
        GS_KINETO_KEY_LIST(KEY_ROW)
#undef KEY_ROW
    };
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        if (KEYS[i].length == length && memcmp(KEYS[i].text, text, length) == 0) {
            return KEYS[i].key;
        }
    }
    return GS_KINETO_KEY_OTHER;
}

void gs_kineto_event_reset(gs_kineto_event *event)
{
    *event = (gs_kineto_event){.correlation = -1, .elements = -1, .shape_elements = -1};
}

static gs_status bad_number(gs_error *err, const char *key, const char *text, size_t length)
{
    return gs_fail(err, GS_EPARSE, "%s %.*s is no time in microseconds; record the trace again",
                   key, (int)(length > 40 ? 40 : length), text);
}

gs_status gs_kineto_event_number(gs_kineto_event *event, gs_kineto_key key, const char *text,
                                 size_t length, gs_error *err)
{
    int64_t whole = 0;
    if (key == GS_KINETO_KEY_TIME) {
        event->has_time = gs_kineto_us(text, length, &event->start_ns);
        return event->has_time ? GS_OK : bad_number(err, "ts", text, length);
    }
    if (key == GS_KINETO_KEY_DURATION) {
        event->has_duration = gs_kineto_us(text, length, &event->duration_ns);
        bool fine = event->has_duration && event->duration_ns >= 0;
        return fine ? GS_OK : bad_number(err, "dur", text, length);
    }
    if (key == GS_KINETO_KEY_OTHER || !gs_kineto_whole(text, length, &whole)) {
        return GS_OK;
    }
    if (key == GS_KINETO_KEY_THREAD) {
        event->thread = whole;
    } else if (key == GS_KINETO_KEY_CORRELATION) {
        event->correlation = whole;
    } else if (key == GS_KINETO_KEY_ELEMENTS && whole >= 0) {
        event->elements = whole;
    }
    return GS_OK;
}

static void copy_text(char *out, size_t out_bytes, const char *text, size_t length)
{
    size_t kept = length < out_bytes ? length : out_bytes - 1;
    memcpy(out, text, kept);
    out[kept] = '\0';
}

void gs_kineto_event_text(gs_kineto_event *event, gs_kineto_key key, const char *text,
                          size_t length)
{
    if (key == GS_KINETO_KEY_NAME) {
        copy_text(event->name, sizeof event->name, text, length);
    } else if (key == GS_KINETO_KEY_CATEGORY) {
        copy_text(event->category, sizeof event->category, text, length);
    } else if (key == GS_KINETO_KEY_PHASE) {
        event->phase = length == 1 ? text[0] : '\0';
    } else if (key == GS_KINETO_KEY_COLLECTIVE) {
        copy_text(event->collective, sizeof event->collective, text, length);
    } else if (key == GS_KINETO_KEY_TYPE ||
               (key == GS_KINETO_KEY_TYPES && event->type[0] == '\0')) {
        copy_text(event->type, sizeof event->type, text, length);
    }
}

void gs_kineto_event_add_elements(gs_kineto_event *event, int64_t elements)
{
    int64_t before = event->shape_elements < 0 ? 0 : event->shape_elements;
    if (elements > INT64_MAX - before) {
        event->shapes_unknown = true;
        return;
    }
    event->shape_elements = before + elements;
}

void gs_kineto_keeper_init(gs_kineto_keeper *keeper, uint32_t events_max, gs_kineto_events *out)
{
    *keeper = (gs_kineto_keeper){.out = out, .events_max = events_max};
    *out = (gs_kineto_events){.rank = -1, .first_ns = GS_TIME_NEVER, .last_ns = -GS_TIME_NEVER};
}

void gs_kineto_events_fini(gs_kineto_events *events)
{
    free(events->kernels);
    free(events->launches);
    free(events->spans);
    free(events->messages);
    *events = (gs_kineto_events){.rank = -1};
}

static bool has_room(const gs_kineto_keeper *keeper)
{
    const gs_kineto_events *out = keeper->out;
    uint64_t kept = (uint64_t)out->kernel_count + out->launch_count + out->span_count;
    return kept < keeper->events_max;
}

static gs_status too_many(const gs_kineto_keeper *keeper, gs_error *err)
{
    return gs_fail(err, GS_ELIMIT,
                   "more than %u kernels, launches and steps: record fewer steps, or cut the file",
                   keeper->events_max);
}

/* Room for one more item of item_bytes in *items. */
static gs_status make_room(void **items, uint32_t count, uint32_t *capacity, size_t item_bytes,
                           gs_error *err)
{
    if (count < *capacity) {
        return GS_OK;
    }
    uint32_t wanted = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;
    void *grown = realloc(*items, wanted * item_bytes);
    if (grown == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u events", wanted);
    }
    *items = grown;
    *capacity = wanted;
    return GS_OK;
}

static gs_status add_message(gs_kineto_keeper *keeper, const gs_kineto_event *event,
                             const char *collective, int64_t *out_index, gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    void *items = out->messages;
    gs_status status = make_room(&items, out->message_count, &keeper->message_capacity,
                                 sizeof *out->messages, err);
    out->messages = items;
    GS_TRY(status);
    gs_kineto_message message = {.collective = collective, .elements = event->elements};
    message.named = true;
    if (message.elements < 0 && !event->shapes_unknown) {
        message.elements = event->shape_elements;
    }
    message.element_bytes = gs_kineto_element_bytes(event->type, &message.is_float);
    *out_index = out->message_count;
    out->messages[out->message_count++] = message;
    return GS_OK;
}

static gs_status add_span(gs_kineto_keeper *keeper, const gs_kineto_event *event,
                          gs_kineto_span_kind kind, int64_t number, gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    if (!has_room(keeper)) {
        return too_many(keeper, err);
    }
    void *items = out->spans;
    gs_status status =
        make_room(&items, out->span_count, &keeper->span_capacity, sizeof *out->spans, err);
    out->spans = items;
    GS_TRY(status);
    out->spans[out->span_count++] = (gs_kineto_span){
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .thread = event->thread,
        .number = number,
        .kind = kind,
    };
    return GS_OK;
}

static bool holds_folded(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text != '\0'; text++) {
        if (strncasecmp(text, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* "ncclKernel_...", "ncclDevKernel_...": a collective; other kernels of the library (none is known
 * to run in a step) count as compute. */
static bool is_collective_kernel(const char *name)
{
    return holds_folded(name, "ncclKernel") || holds_folded(name, "ncclDevKernel");
}

static gs_status keep_kernel(gs_kineto_keeper *keeper, const gs_kineto_event *event, gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    int64_t message = -1;
    if (!has_room(keeper)) {
        return too_many(keeper, err);
    }
    if (is_collective_kernel(event->name)) {
        const char *said = event->collective[0] != '\0' ? event->collective : event->name;
        GS_TRY(add_message(keeper, event, gs_collective_name(said), &message, err));
        out->messages[message].named = said == event->collective;
    }
    void *items = out->kernels;
    gs_status status =
        make_room(&items, out->kernel_count, &keeper->kernel_capacity, sizeof *out->kernels, err);
    out->kernels = items;
    GS_TRY(status);
    out->kernels[out->kernel_count++] = (gs_kineto_kernel){
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .correlation = event->correlation,
        .message_index = (int32_t)message,
    };
    return GS_OK;
}

static gs_status keep_runtime(gs_kineto_keeper *keeper, const gs_kineto_event *event, gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    if (holds_folded(event->name, "Synchronize")) {
        return add_span(keeper, event, GS_KINETO_BLOCKED, 0, err);
    }
    if (event->correlation < 0 || !holds_folded(event->name, "Launch")) {
        return GS_OK;
    }
    if (!has_room(keeper)) {
        return too_many(keeper, err);
    }
    void *items = out->launches;
    gs_status status =
        make_room(&items, out->launch_count, &keeper->launch_capacity, sizeof *out->launches, err);
    out->launches = items;
    GS_TRY(status);
    out->launches[out->launch_count++] = (gs_kineto_launch){
        .correlation = event->correlation, .at_ns = event->start_ns, .thread = event->thread};
    return GS_OK;
}

static gs_status keep_annotation(gs_kineto_keeper *keeper, const gs_kineto_event *event,
                                 gs_error *err)
{
    static const char STEP[] = "ProfilerStep#";
    int64_t number = 0;
    if (strncmp(event->name, STEP, sizeof STEP - 1) == 0) {
        const char *digits = event->name + sizeof STEP - 1;
        bool on_device = strcmp(event->category, "gpu_user_annotation") == 0;
        return gs_kineto_whole(digits, strlen(digits), &number)
                   ? add_span(keeper, event, on_device ? GS_KINETO_DEVICE_STEP : GS_KINETO_STEP,
                              number, err)
                   : GS_OK;
    }
    if (strcmp(event->category, "user_annotation") != 0) {
        return GS_OK; /* the device's copies of host annotations: never count both */
    }
    if (strncmp(event->name, "enumerate(DataLoader)", 21) == 0) {
        return add_span(keeper, event, GS_KINETO_LOADER, 0, err);
    }
    if (strncmp(event->name, "nccl:", 5) == 0 || strncmp(event->name, "gloo:", 5) == 0) {
        const char *collective = gs_collective_name(event->name);
        GS_TRY(add_message(keeper, event, collective, &number, err));
        return add_span(keeper, event, GS_KINETO_MESSAGE, number, err);
    }
    return GS_OK;
}

/* A total order, so that the outcome does not hang on how the library sorts. */
static int by_kind_and_start(const void *left, const void *right)
{
    const gs_kineto_span *a = left;
    const gs_kineto_span *b = right;
    bool a_work = a->kind == GS_KINETO_HOST_WORK;
    bool b_work = b->kind == GS_KINETO_HOST_WORK;
    if (a_work != b_work) {
        return a_work ? 1 : -1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Spans of host work become their union and move to the end of the spans. */
static void merge_host_work(gs_kineto_events *out)
{
    if (out->span_count == 0) {
        return;
    }
    qsort(out->spans, out->span_count, sizeof *out->spans, by_kind_and_start);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->span_count; i++) {
        gs_kineto_span *last = kept == 0 ? NULL : &out->spans[kept - 1];
        const gs_kineto_span *span = &out->spans[i];
        if (span->kind == GS_KINETO_HOST_WORK && last != NULL && last->kind == span->kind &&
            span->start_ns <= last->end_ns) {
            last->end_ns = span->end_ns > last->end_ns ? span->end_ns : last->end_ns;
        } else {
            out->spans[kept++] = *span;
        }
    }
    out->span_count = kept;
}

static gs_status keep_operator(gs_kineto_keeper *keeper, const gs_kineto_event *event,
                               gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    if (strcmp(event->name, "record_param_comms") == 0) {
        int64_t number = 0;
        const char *said = event->collective;
        if (said[0] == '\0' || gs_collective_name(said) == NULL) {
            return GS_OK; /* a wait, or an old form whose sizes are on the annotation inside */
        }
        GS_TRY(add_message(keeper, event, gs_collective_name(said), &number, err));
        return add_span(keeper, event, GS_KINETO_MESSAGE, number, err);
    }
    if (out->kernel_count > 0 || keeper->host_work_lost) {
        return GS_OK;
    }
    gs_kineto_span *last = out->span_count == 0 ? NULL : &out->spans[out->span_count - 1];
    gs_time_ns end_ns = event->start_ns + event->duration_ns;
    if (last != NULL && last->kind == GS_KINETO_HOST_WORK && event->start_ns >= last->start_ns &&
        event->start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return GS_OK;
    }
    /* Half of the room at most: kernels may still come, and then none of this is needed. */
    if (out->span_count >= keeper->events_max / 2) {
        merge_host_work(out);
        keeper->host_work_lost = out->span_count >= keeper->events_max / 4;
    }
    return keeper->host_work_lost ? GS_OK : add_span(keeper, event, GS_KINETO_HOST_WORK, 0, err);
}

gs_status gs_kineto_keep(gs_kineto_keeper *keeper, const gs_kineto_event *event, gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    out->event_count++;
    if (event->phase != 'X') {
        return GS_OK;
    }
    const char *category = event->category;
    bool kernel = strcmp(category, "kernel") == 0;
    bool operation = strcmp(category, "cpu_op") == 0;
    bool runtime = strcmp(category, "cuda_runtime") == 0 || strcmp(category, "cuda_driver") == 0 ||
                   strcmp(category, "hip_runtime") == 0;
    bool annotation =
        strcmp(category, "user_annotation") == 0 || strcmp(category, "gpu_user_annotation") == 0;
    if (!kernel && !operation && !runtime && !annotation) {
        return GS_OK;
    }
    if (!event->has_time || !event->has_duration) {
        return gs_fail(err, GS_EPARSE, "event \"%.80s\" (%s) has no %s; record the trace again",
                       event->name, category, event->has_time ? "dur" : "ts");
    }
    gs_time_ns end_ns = event->start_ns + event->duration_ns;
    out->first_ns = event->start_ns < out->first_ns ? event->start_ns : out->first_ns;
    out->last_ns = end_ns > out->last_ns ? end_ns : out->last_ns;
    if (kernel) {
        return keep_kernel(keeper, event, err);
    }
    if (operation) {
        return keep_operator(keeper, event, err);
    }
    return runtime ? keep_runtime(keeper, event, err) : keep_annotation(keeper, event, err);
}

gs_status gs_kineto_keep_distributed(gs_kineto_keeper *keeper, gs_kineto_key key, const char *text,
                                     size_t length, gs_error *err)
{
    int64_t value = 0;
    if (key != GS_KINETO_KEY_RANK && key != GS_KINETO_KEY_WORLD) {
        return GS_OK;
    }
    if (!gs_kineto_whole(text, length, &value) || value < 0 || value > INT32_MAX) {
        return gs_fail(err, GS_EPARSE, "distributedInfo: %s %.*s; allowed are whole numbers from 0",
                       key == GS_KINETO_KEY_RANK ? "rank" : "world_size",
                       (int)(length > 40 ? 40 : length), text);
    }
    if (key == GS_KINETO_KEY_RANK) {
        keeper->out->rank = (int32_t)value;
    } else {
        keeper->out->world_size = (int32_t)value;
    }
    return GS_OK;
}

gs_status gs_kineto_keeper_finish(gs_kineto_keeper *keeper, gs_error *err)
{
    gs_kineto_events *out = keeper->out;
    if (out->kernel_count == 0 && keeper->host_work_lost) {
        return too_many(keeper, err);
    }
    merge_host_work(out);
    if (out->kernel_count > 0) {
        while (out->span_count > 0 && out->spans[out->span_count - 1].kind == GS_KINETO_HOST_WORK) {
            out->span_count--;
        }
    }
    return GS_OK;
}
