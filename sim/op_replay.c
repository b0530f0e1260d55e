#include "sim/op_replay.h"

#include "base/assert.h"

#include <stdlib.h>

/* Sums of times stay below this; half of int64 leaves room for one more of each. */
#define SUM_MAX_NS (INT64_MAX / 2)

static gs_time_ns later(gs_time_ns a, gs_time_ns b)
{
    return a > b ? a : b;
}

static gs_status no_memory(const gs_op_trace *trace, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory to replay %u operations", trace->file,
                   trace->op_count);
}

/* Own time of every node, and how far clocks disagree. */
static void split_waiting(const gs_op_trace *trace, gs_op_replay *replay, gs_time_ns *own_ns)
{
    const gs_op_graph *graph = &replay->graph;
    for (uint32_t g = 0; g < graph->group_count; g++) {
        gs_time_ns latest = INT64_MIN;
        for (uint32_t i = graph->group_first[g]; i < graph->group_first[g + 1]; i++) {
            latest = later(latest, trace->start_ns[graph->op[i]]);
        }
        for (uint32_t i = graph->group_first[g]; i < graph->group_first[g + 1]; i++) {
            uint32_t op = graph->op[i];
            gs_time_ns own = trace->start_ns[op] + trace->duration_ns[op] - latest;
            if (own < 0) {
                replay->clock_error_ns = later(replay->clock_error_ns, -own);
                replay->clock_error_count++;
            }
            own_ns[i] = later(own, 0);
        }
    }
}

/* How long the nodes of a step [first, end) took on the clock of one rank: the longest of ranks, as
 * a clock that is apart must not make the step longer. spans [2 * worker count]. */
static gs_time_ns length_on_one_clock(const gs_op_trace *trace, const gs_op_graph *graph,
                                      uint32_t first, uint32_t end, gs_time_ns *spans)
{
    uint32_t workers = graph->dp_count * graph->stage_count;
    for (uint32_t w = 0; w < workers; w++) {
        spans[2 * w] = INT64_MAX;
        spans[2 * w + 1] = INT64_MIN;
    }
    gs_time_ns longest = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t op = graph->op[i];
        gs_time_ns *span = &spans[2 * (graph->what[i] / GS_OP_KIND_COUNT)];
        span[0] = trace->start_ns[op] < span[0] ? trace->start_ns[op] : span[0];
        span[1] = later(span[1], trace->start_ns[op] + trace->duration_ns[op]);
        longest = later(longest, span[1] - span[0]);
    }
    return longest;
}

/* Recorded lengths of steps; whether times are such that they can be played. */
static gs_status measure_steps(const gs_op_trace *trace, gs_op_replay *replay,
                               gs_time_ns *recorded_ns, gs_time_ns *spans, gs_error *err)
{
    const gs_op_graph *graph = &replay->graph;
    gs_time_ns shortest = INT64_MAX;
    for (uint32_t s = 0; s < graph->step_count; s++) {
        uint32_t first = graph->group_first[graph->step_first[s]];
        uint32_t end = graph->group_first[graph->step_first[s + 1]];
        gs_time_ns begins = INT64_MAX;
        gs_time_ns ends = INT64_MIN;
        gs_time_ns longest = 0;
        for (uint32_t i = first; i < end; i++) {
            uint32_t op = graph->op[i];
            begins = trace->start_ns[op] < begins ? trace->start_ns[op] : begins;
            ends = later(ends, trace->start_ns[op] + trace->duration_ns[op]);
            longest = later(longest, trace->duration_ns[op]);
        }
        if (longest > SUM_MAX_NS / (end - first)) {
            return gs_fail(err, GS_ELIMIT,
                           "%s: step %d: an operation of %lld ns among %u: such times cannot be "
                           "added up; are they seconds?",
                           trace->file, (int)graph->steps[s], (long long)longest, end - first);
        }
        recorded_ns[s] = ends - begins;
        gs_time_ns length = length_on_one_clock(trace, graph, first, end, spans);
        shortest = length < shortest ? length : shortest;
    }
    if (replay->clock_error_ns > shortest) {
        return gs_fail(err, GS_EMISMATCH,
                       "%s: clocks of ranks differ by %.3f s or more, a step takes %.3f s: %u "
                       "operations end before their last peer starts; only each rank's own "
                       "compute could be told: align the clocks and export again",
                       trace->file, (double)replay->clock_error_ns * 1e-9, (double)shortest * 1e-9,
                       replay->clock_error_count);
    }
    return GS_OK;
}

static int by_time(const void *left, const void *right)
{
    gs_time_ns a = *(const gs_time_ns *)left;
    gs_time_ns b = *(const gs_time_ns *)right;
    return (a > b) - (a < b);
}

/* The usual time of a kind from its own times [count], which are sorted here. */
static gs_time_ns usual(gs_op_kind kind, gs_time_ns *times, uint32_t count)
{
    if (count == 0) {
        return 0;
    }
    if (gs_op_kind_computes(kind)) {
        /* Whole and rest apart: the sum of all times need not fit. */
        gs_time_ns whole = 0;
        gs_time_ns rest = 0;
        for (uint32_t i = 0; i < count; i++) {
            whole += times[i] / count;
            rest += times[i] % count;
        }
        return whole + (rest + count / 2) / count;
    }
    qsort(times, count, sizeof *times, by_time);
    gs_time_ns low = times[(count - 1) / 2];
    return low + (times[count / 2] - low) / 2;
}

static gs_status find_usual(const gs_op_trace *trace, gs_op_replay *replay, gs_error *err)
{
    const gs_op_graph *graph = &replay->graph;
    gs_time_ns *times = calloc(graph->node_count, sizeof *times);
    if (times == NULL) {
        return no_memory(trace, err);
    }
    for (uint32_t k = 0; k < GS_OP_KIND_COUNT; k++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < graph->node_count; i++) {
            if (graph->what[i] % GS_OP_KIND_COUNT == k) {
                times[count++] = replay->own_ns[i];
            }
        }
        replay->usual_ns[k] = usual((gs_op_kind)k, times, count);
        replay->kind_counts[k] = count;
    }
    free(times);
    return GS_OK;
}

gs_status gs_op_replay_make(const gs_op_trace *trace, gs_arena *arena, gs_op_replay *out,
                            gs_error *err)
{
    gs_op_replay replay = {0};
    GS_TRY(gs_op_graph_make(trace, arena, &replay.graph, err));
    const gs_op_graph *graph = &replay.graph;
    gs_time_ns *own_ns = GS_TAKE(arena, gs_time_ns, graph->node_count);
    gs_time_ns *recorded_ns = GS_TAKE(arena, gs_time_ns, graph->step_count);
    gs_time_ns *spans =
        GS_TAKE(arena, gs_time_ns, (size_t)graph->dp_count * graph->stage_count * 2);
    replay.end_ns = GS_TAKE(arena, gs_time_ns, (size_t)graph->node_count + 1);
    replay.when_ns =
        GS_TAKE(arena, gs_time_ns, (size_t)graph->dp_count * graph->stage_count * GS_OP_KIND_COUNT);
    if (own_ns == NULL || recorded_ns == NULL || spans == NULL || replay.end_ns == NULL ||
        replay.when_ns == NULL) {
        return no_memory(trace, err);
    }
    split_waiting(trace, &replay, own_ns);
    GS_TRY(measure_steps(trace, &replay, recorded_ns, spans, err));
    replay.own_ns = own_ns;
    replay.recorded_ns = recorded_ns;
    GS_TRY(find_usual(trace, &replay, err));
    *out = replay;
    return GS_OK;
}

/* Decides once for each rank and kind what its ops take. */
static void choose(gs_op_replay *replay, gs_op_select recorded)
{
    const gs_op_graph *graph = &replay->graph;
    for (uint32_t w = 0; w < graph->dp_count * graph->stage_count; w++) {
        bool is_there =
            (recorded.dp_rank < 0 || (uint32_t)recorded.dp_rank == w / graph->stage_count) &&
            (recorded.stage < 0 || (uint32_t)recorded.stage == w % graph->stage_count) &&
            (recorded.workers == NULL || recorded.workers[w]);
        for (uint32_t k = 0; k < GS_OP_KIND_COUNT; k++) {
            bool is_meant =
                is_there &&
                (recorded.share < 0 || (int32_t)gs_op_kind_share((gs_op_kind)k) == recorded.share);
            replay->when_ns[w * GS_OP_KIND_COUNT + k] =
                is_meant != recorded.others ? -1 : replay->usual_ns[k];
        }
    }
}

void gs_op_replay_run(gs_op_replay *replay, gs_op_select recorded, gs_time_ns *step_ns)
{
    const gs_op_graph *graph = &replay->graph;
    const gs_time_ns *when_ns = replay->when_ns;
    gs_time_ns *end_ns = replay->end_ns;
    choose(replay, recorded);
    for (uint32_t s = 0; s < graph->step_count; s++) {
        gs_time_ns last = 0;
        for (uint32_t g = graph->step_first[s]; g < graph->step_first[s + 1]; g++) {
            uint32_t first = graph->group_first[g];
            uint32_t end = graph->group_first[g + 1];
            gs_time_ns start = 0;
            for (uint32_t i = first; i < end; i++) {
                const uint32_t *before = graph->before[i];
                start = later(
                    start, later(end_ns[before[0]], later(end_ns[before[1]], end_ns[before[2]])));
            }
            for (uint32_t i = first; i < end; i++) {
                gs_time_ns chosen = when_ns[graph->what[i]];
                end_ns[i + 1] = start + (chosen < 0 ? replay->own_ns[i] : chosen);
                last = later(last, end_ns[i + 1]);
            }
        }
        step_ns[s] = last;
    }
}

double gs_op_replay_mean_ns(gs_op_replay *replay, gs_op_select recorded, gs_time_ns *step_ns)
{
    double sum = 0.0;
    gs_op_replay_run(replay, recorded, step_ns);
    for (uint32_t s = 0; s < replay->graph.step_count; s++) {
        sum += (double)step_ns[s];
    }
    return sum / (double)replay->graph.step_count;
}

gs_op_span gs_op_replay_span(const gs_op_replay *replay, uint32_t node)
{
    GS_ASSERT(node < replay->graph.node_count);
    gs_time_ns chosen = replay->when_ns[replay->graph.what[node]];
    gs_time_ns end = replay->end_ns[node + 1];
    return (gs_op_span){end - (chosen < 0 ? replay->own_ns[node] : chosen), end};
}
