#include "traces/importers/kineto_steps.h"

#include "traces/importers/kineto_timeline.h"

#include <stdlib.h>
#include <string.h>

/* A collective while its step is worked out. */
typedef struct pending_op {
    gs_kineto_message message;
    gs_time_ns start_ns;
    gs_time_ns end_ns;
    gs_time_ns launch_ns; /* GS_TIME_NEVER: not known */
    gs_time_ns blocked_from_ns;
    int64_t thread;
    int32_t step;
} pending_op;

typedef struct maker {
    const gs_kineto_events *events;
    const char *file;
    gs_import_notes *notes;
    gs_arena *arena;
    gs_kineto_timeline line;
    pending_op *ops;
    uint32_t op_count;
    gs_kineto_step *steps;
} maker;

static gs_time_ns later(gs_time_ns a, gs_time_ns b)
{
    return a > b ? a : b;
}

static gs_time_ns earlier(gs_time_ns a, gs_time_ns b)
{
    return a < b ? a : b;
}

/* Fills what the kernel did not say from annotations around its launch on the same thread. */
static void ask_annotations(const maker *in, gs_kineto_message *message, gs_time_ns at_ns,
                            int64_t thread)
{
    /* Two layers are known (record_param_comms around nccl:NAME); a few more cost nothing. */
    enum { LAYERS = 4 };
    const gs_kineto_span *spans = in->line.messages;
    uint32_t at = gs_kineto_spans_until(spans, in->line.message_count, thread, at_ns);
    for (uint32_t i = 0; i < LAYERS && i < at; i++) {
        const gs_kineto_span *span = &spans[at - 1 - i];
        if (span->thread != thread || span->end_ns < at_ns) {
            continue;
        }
        const gs_kineto_message *said = &in->events->messages[span->number];
        if (!message->named && said->collective != NULL) {
            message->collective = said->collective;
            message->named = true;
        }
        if (message->elements < 0) {
            message->elements = said->elements;
        }
        if (message->element_bytes == 0) {
            message->element_bytes = said->element_bytes;
            message->is_float = said->is_float;
        }
    }
}

static gs_status collect_device_ops(maker *in, gs_error *err)
{
    const gs_kineto_events *events = in->events;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < events->kernel_count; i++) {
        capacity += events->kernels[i].message_index >= 0 ? 1 : 0;
    }
    in->ops = calloc((size_t)capacity + 1, sizeof *in->ops);
    if (in->ops == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for %u collectives", in->file, capacity);
    }
    for (uint32_t i = 0; i < events->kernel_count; i++) {
        const gs_kineto_kernel *kernel = &events->kernels[i];
        int32_t step = in->line.kernel_steps[i];
        if (kernel->message_index < 0 || step < 0) {
            continue;
        }
        const gs_kineto_launch *launch = gs_kineto_launch_of(&in->line, kernel->correlation);
        pending_op op = {.message = events->messages[kernel->message_index],
                         .start_ns = kernel->start_ns,
                         .end_ns = kernel->end_ns,
                         .launch_ns = launch == NULL ? GS_TIME_NEVER : launch->at_ns,
                         .thread = launch == NULL ? -1 : launch->thread,
                         .step = step};
        if (launch != NULL) {
            ask_annotations(in, &op.message, launch->at_ns, launch->thread);
        }
        in->ops[in->op_count++] = op;
    }
    return GS_OK;
}

/* Without kernels the outermost annotations are the collectives: an instant each, no time known. */
static gs_status collect_host_ops(maker *in, gs_error *err)
{
    const gs_kineto_span *spans = in->line.messages;
    in->ops = calloc((size_t)in->line.message_count + 1, sizeof *in->ops);
    if (in->ops == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for %u collectives", in->file,
                       in->line.message_count);
    }
    const gs_kineto_span *outer = NULL;
    for (uint32_t i = 0; i < in->line.message_count; i++) {
        const gs_kineto_span *span = &spans[i];
        bool inside =
            outer != NULL && span->thread == outer->thread && span->end_ns <= outer->end_ns;
        int32_t step = gs_kineto_step_at(&in->line, span->start_ns);
        if (inside || step < 0) {
            continue;
        }
        outer = span;
        pending_op op = {.message = in->events->messages[span->number],
                         .start_ns = span->start_ns,
                         .end_ns = span->start_ns,
                         .launch_ns = span->start_ns,
                         .thread = span->thread,
                         .step = step};
        in->ops[in->op_count++] = op;
    }
    return GS_OK;
}

/* From when on an op holds the rank up; its end where it does not. */
static gs_time_ns blocked_from(const maker *in, const pending_op *op)
{
    const gs_kineto_window *window = &in->line.windows[op->step];
    gs_time_ns end_ns = earlier(op->end_ns, window->end_ns);
    gs_time_ns from_ns =
        later(later(op->start_ns, window->start_ns), gs_kineto_busy_until(&in->line, op->end_ns));
    gs_time_ns waiting_ns = gs_kineto_waiting_since(&in->line, op->end_ns);
    return earlier(later(from_ns, waiting_ns), end_ns);
}

static int by_end(const void *left, const void *right)
{
    const pending_op *a = left;
    const pending_op *b = right;
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_step_and_launch(const void *left, const void *right)
{
    const pending_op *a = left;
    const pending_op *b = right;
    gs_time_ns a_ns = a->launch_ns == GS_TIME_NEVER ? a->start_ns : a->launch_ns;
    gs_time_ns b_ns = b->launch_ns == GS_TIME_NEVER ? b->start_ns : b->launch_ns;
    if (a->step != b->step) {
        return a->step < b->step ? -1 : 1;
    }
    if (a_ns != b_ns) {
        return a_ns < b_ns ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The instants at which ops hold the rank up, made disjoint: the op that ends first counts first.
 */
static void find_blocked(maker *in)
{
    gs_time_ns until_ns = -GS_TIME_NEVER;
    qsort(in->ops, in->op_count, sizeof *in->ops, by_end);
    for (uint32_t i = 0; i < in->op_count; i++) {
        pending_op *op = &in->ops[i];
        gs_time_ns end_ns = earlier(op->end_ns, in->line.windows[op->step].end_ns);
        op->blocked_from_ns = later(blocked_from(in, op), until_ns);
        if (op->blocked_from_ns < end_ns) {
            until_ns = end_ns;
        }
    }
}

static gs_time_ns blocked_ns(const maker *in, const pending_op *op)
{
    gs_time_ns end_ns = earlier(op->end_ns, in->line.windows[op->step].end_ns);
    return later(end_ns - op->blocked_from_ns, 0);
}

/* Whether the all-reduces of ops [first, end) that carry gradients are those off the step's own
 * thread: autograd runs in a thread of its own. What the main thread reduces beside it (a loss, a
 * metric) is no gradient; where everything is on the main thread there is no telling, and all are.
 */
static bool gradients_are_off_thread(const maker *in, uint32_t first, uint32_t end, int64_t thread)
{
    for (uint32_t i = first; i < end; i++) {
        const pending_op *op = &in->ops[i];
        if (op->message.collective != NULL && strcmp(op->message.collective, "all_reduce") == 0 &&
            op->message.is_float && op->thread != thread) {
            return true;
        }
    }
    return false;
}

static gs_kineto_op finished_op(const maker *in, const pending_op *op, bool off_thread)
{
    const gs_kineto_message *message = &op->message;
    const gs_kineto_window *window = &in->line.windows[op->step];
    const char *name = message->collective == NULL ? "collective" : message->collective;
    bool on_main = off_thread && op->thread == window->thread;
    return (gs_kineto_op){
        .collective = name,
        .elements = message->elements,
        .element_bytes = message->element_bytes,
        .is_gradient = strcmp(name, "all_reduce") == 0 && message->is_float &&
                       message->elements > 0 && !on_main,
        .start_ns = op->start_ns,
        .duration_ns = op->end_ns - op->start_ns,
        .blocked_ns = blocked_ns(in, op),
    };
}

static void remark_unknown(maker *in, const gs_kineto_op *op)
{
    if (op->elements < 0) {
        gs_import_notes_add(in->notes, "%s: the size of some %s is not in the trace", in->file,
                            op->collective);
    }
}

/* Intervals in which ops hold the rank up, by time, and how far a walk along them has come. */
typedef struct held_walk {
    pending_op *ops;
    uint32_t count;
    uint32_t passed;
    gs_time_ns passed_ns;
} held_walk;

/* How long ops held the rank up before at_ns, which must not go back. */
static gs_time_ns held_before(const maker *in, held_walk *walk, gs_time_ns at_ns)
{
    while (walk->passed < walk->count && walk->ops[walk->passed].end_ns <= at_ns) {
        walk->passed_ns += blocked_ns(in, &walk->ops[walk->passed++]);
    }
    if (walk->passed == walk->count) {
        return walk->passed_ns;
    }
    const pending_op *op = &walk->ops[walk->passed];
    gs_time_ns part_ns = later(at_ns - op->blocked_from_ns, 0);
    return walk->passed_ns + earlier(part_ns, blocked_ns(in, op));
}

/* Ops [first, end), in launch order, are those of one step. */
static gs_status finish_step_ops(maker *in, uint32_t first, uint32_t end, held_walk *walk,
                                 gs_error *err)
{
    gs_kineto_step *step = &in->steps[in->ops[first].step];
    const gs_kineto_window *window = &in->line.windows[in->ops[first].step];
    bool off_thread = gradients_are_off_thread(in, first, end, window->thread);
    gs_kineto_op *ops = GS_TAKE(in->arena, gs_kineto_op, end - first);
    if (ops == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for %u collectives", in->file, end - first);
    }
    gs_time_ns ready_ns = window->start_ns;
    for (uint32_t i = first; i < end; i++) {
        const pending_op *op = &in->ops[i];
        gs_time_ns own_ns = gs_kineto_ready(&in->line, op->launch_ns, op->start_ns);
        ready_ns = earlier(later(ready_ns, own_ns), window->end_ns);
        gs_kineto_op *out = &ops[i - first];
        *out = finished_op(in, op, off_thread);
        out->at_ns = ready_ns - window->start_ns - held_before(in, walk, ready_ns);
        remark_unknown(in, out);
    }
    step->ops = ops;
    step->op_count = end - first;
    return GS_OK;
}

static gs_status finish_ops(maker *in, gs_error *err)
{
    find_blocked(in);
    held_walk walk = {.ops = calloc((size_t)in->op_count + 1, sizeof *walk.ops)};
    if (walk.ops == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for %u collectives", in->file, in->op_count);
    }
    qsort(in->ops, in->op_count, sizeof *in->ops, by_step_and_launch);
    gs_status status = GS_OK;
    for (uint32_t first = 0; first < in->op_count && status == GS_OK;) {
        uint32_t end = first;
        walk.count = walk.passed = 0;
        walk.passed_ns = 0;
        for (; end < in->op_count && in->ops[end].step == in->ops[first].step; end++) {
            if (blocked_ns(in, &in->ops[end]) > 0) {
                walk.ops[walk.count++] = in->ops[end];
            }
        }
        qsort(walk.ops, walk.count, sizeof *walk.ops, by_end);
        status = finish_step_ops(in, first, end, &walk, err);
        first = end;
    }
    free(walk.ops);
    return status;
}

static void fill_steps(maker *in)
{
    const gs_kineto_timeline *line = &in->line;
    for (uint32_t i = 0; i < line->window_count; i++) {
        const gs_kineto_window *window = &line->windows[i];
        gs_kineto_step *step = &in->steps[i];
        step->number = window->number;
        step->length_ns = window->end_ns - window->start_ns;
        step->compute_ns = window->compute_ns;
        step->kernel_count = window->kernel_count;
        gs_time_ns first_op_ns =
            step->op_count == 0 ? window->end_ns : window->start_ns + step->ops[0].at_ns;
        step->loader_ns = gs_kineto_loader_gap(line, window->start_ns, first_op_ns);
    }
}

gs_status gs_kineto_steps_make(const gs_kineto_events *events, gs_arena *arena,
                               gs_import_notes *notes, gs_kineto_rank *out, gs_error *err)
{
    maker in = {.events = events, .file = out->file, .notes = notes, .arena = arena};
    gs_status status = gs_kineto_timeline_make(events, out->file, notes, &in.line, err);
    if (status == GS_OK) {
        status =
            events->kernel_count > 0 ? collect_device_ops(&in, err) : collect_host_ops(&in, err);
    }
    if (status == GS_OK) {
        in.steps = GS_TAKE(arena, gs_kineto_step, in.line.window_count);
        status = in.steps != NULL
                     ? finish_ops(&in, err)
                     : gs_fail(err, GS_ENOMEM, "%s: no memory for its steps", out->file);
    }
    if (status == GS_OK) {
        fill_steps(&in);
        out->steps = in.steps;
        out->step_count = in.line.window_count;
        out->has_kernels = events->kernel_count > 0;
    }
    free(in.ops);
    gs_kineto_timeline_fini(&in.line);
    return status;
}
