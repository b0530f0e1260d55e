#include "sim/op_graph.h"

#include "base/assert.h"
#include "sim/op_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    gs_op_lane lane;
    gs_op_kind share;
} KINDS[] = {
#define GS_OP_KIND(name, text, lane, peers, share) {text, GS_OP_LANE_##lane, GS_OP_##share},
#include "sim/op_kinds.def"
#undef GS_OP_KIND
};

const char *gs_op_kind_name(gs_op_kind kind)
{
    GS_ASSERT(kind < GS_OP_KIND_COUNT);
    return KINDS[kind].name;
}

bool gs_op_kind_computes(gs_op_kind kind)
{
    GS_ASSERT(kind < GS_OP_KIND_COUNT);
    return KINDS[kind].lane == GS_OP_LANE_COMPUTE;
}

gs_op_kind gs_op_kind_share(gs_op_kind kind)
{
    GS_ASSERT(kind < GS_OP_KIND_COUNT);
    return KINDS[kind].share;
}

static gs_status no_memory(const gs_op_trace *trace, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory to replay %u operations", trace->file,
                   trace->op_count);
}

/* kinds [type_count]: of the types of the trace. */
static gs_status find_kinds(const gs_op_trace *trace, uint8_t *kinds, gs_error *err)
{
    for (uint32_t t = 0; t < trace->type_count; t++) {
        kinds[t] = GS_OP_KIND_COUNT;
        for (uint8_t k = 0; k < GS_OP_KIND_COUNT; k++) {
            kinds[t] = strcmp(KINDS[k].name, trace->types[t]) == 0 ? k : kinds[t];
        }
        if (kinds[t] == GS_OP_KIND_COUNT) {
            char known[320] = "";
            size_t used = 0;
            for (int k = 0; k < GS_OP_KIND_COUNT; k++) {
                used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                         k == 0 ? "" : ", ", KINDS[k].name);
            }
            return gs_fail(err, GS_EUNSUPPORTED,
                           "%s: operations of type \"%s\": nothing is known of what they wait "
                           "for; known are %s: leave its rows out",
                           trace->file, trace->types[t], known);
        }
    }
    return GS_OK;
}

/* How many copies and stages there are, and whether the trace has them all. */
static gs_status find_workers(const gs_op_trace *trace, gs_op_graph *out, gs_error *err)
{
    int64_t copies = trace->dp_size;
    int64_t stages = trace->pp_size;
    if (trace->dsp_size > 1) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "%s: dsp_size %d: how ranks that share a sequence wait for each other is "
                       "not known; only dsp_size 1 can be replayed",
                       trace->file, (int)trace->dsp_size);
    }
    for (uint32_t i = 0; i < trace->op_count; i++) {
        copies = trace->dp_rank[i] >= copies ? (int64_t)trace->dp_rank[i] + 1 : copies;
        stages = trace->stage[i] >= stages ? (int64_t)trace->stage[i] + 1 : stages;
        if (trace->chunk[i] > 0) {
            return gs_fail(err, GS_EUNSUPPORTED,
                           "%s: step %d: model chunk %d: pipelines that interleave several chunks "
                           "in a stage cannot be replayed yet",
                           trace->file, (int)trace->step[i], (int)trace->chunk[i]);
        }
    }
    bool fits = copies <= trace->op_count && stages <= trace->op_count / copies;
    uint32_t worker_count = fits ? (uint32_t)(copies * stages) : 0;
    bool *seen = calloc(worker_count + 1, sizeof *seen);
    if (seen == NULL) {
        return no_memory(trace, err);
    }
    int64_t seen_count = 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; fits && i < trace->op_count; i++) {
        int64_t worker = trace->dp_rank[i] * stages + trace->stage[i];
        seen_count += seen[worker] ? 0 : 1;
        seen[worker] = true;
    }
    while (missing < worker_count && seen[missing]) {
        missing++;
    }
    free(seen);
    if (!fits || seen_count < worker_count) {
        return gs_fail(err, GS_EMISMATCH,
                       "%s: ranks are missing, among them dp_rank %d stage %d of %lld dp_ranks "
                       "and %lld stages: without all ranks of the job waiting cannot be told from "
                       "transfer, so no slow-down can be said; export all of them",
                       trace->file, fits ? (int)(missing / stages) : 0,
                       fits ? (int)(missing % stages) : 0, (long long)copies, (long long)stages);
    }
    out->dp_count = (uint32_t)copies;
    out->stage_count = (uint32_t)stages;
    return GS_OK;
}

static int by_place_and_time(const void *left, const void *right)
{
    const gs_op_entry *a = left;
    const gs_op_entry *b = right;
    if (a->step != b->step) {
        return a->step < b->step ? -1 : 1;
    }
    if (a->worker != b->worker) {
        return a->worker < b->worker ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return (a->op > b->op) - (a->op < b->op);
}

static void list_entries(const gs_op_trace *trace, const uint8_t *kinds, uint32_t stage_count,
                         gs_op_entry *entries)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        uint8_t kind = kinds[trace->type[i]];
        entries[i] = (gs_op_entry){
            .step = trace->step[i],
            .worker = (uint32_t)trace->dp_rank[i] * stage_count + (uint32_t)trace->stage[i],
            .stage = (uint32_t)trace->stage[i],
            .sequence = trace->sequence[i] < 0 ? 0 : (uint32_t)trace->sequence[i],
            .op = i,
            .kind = kind,
            .lane = (uint8_t)KINDS[kind].lane,
            .start_ns = trace->start_ns[i],
            .end_ns = trace->start_ns[i] + trace->duration_ns[i]};
    }
    qsort(entries, trace->op_count, sizeof *entries, by_place_and_time);
}

/* The graph's arrays while they grow; the largest they can become is known. */
typedef struct growing {
    int32_t *steps;
    uint32_t *step_first;
    uint32_t *group_first;
    uint32_t *op;
    uint32_t *what;
    uint32_t (*before)[GS_OP_BEFORE_MAX];
} growing;

static bool take_arrays(gs_arena *arena, uint32_t ops, uint32_t steps, growing *out)
{
    out->steps = GS_TAKE(arena, int32_t, steps);
    out->step_first = GS_TAKE(arena, uint32_t, steps + 1);
    out->group_first = GS_TAKE(arena, uint32_t, ops + 1);
    out->op = GS_TAKE(arena, uint32_t, ops);
    out->what = GS_TAKE(arena, uint32_t, ops);
    out->before = gs_arena_take(arena, ops, sizeof *out->before);
    return out->steps != NULL && out->step_first != NULL && out->group_first != NULL &&
           out->op != NULL && out->what != NULL && out->before != NULL;
}

/* Adds a step whose nodes and groups are in playing order. */
static void append(const gs_op_step *step, growing *to, gs_op_graph *graph)
{
    uint32_t base = graph->node_count;
    for (uint32_t g = 0; g < step->group_count; g++) {
        to->group_first[graph->group_count + g] = base + step->group_first[g];
    }
    for (uint32_t i = 0; i < step->count; i++) {
        const gs_op_entry *entry = &step->entries[step->order[i]];
        to->op[base + i] = entry->op;
        to->what[base + i] = entry->worker * GS_OP_KIND_COUNT + entry->kind;
        for (int b = 0; b < GS_OP_BEFORE_MAX; b++) {
            uint32_t waited = step->before[step->order[i]][b];
            to->before[base + i][b] = waited == 0 ? 0 : base + step->place[waited - 1] + 1;
        }
    }
    to->step_first[graph->step_count] = graph->group_count;
    to->steps[graph->step_count++] = step->entries[0].step;
    graph->node_count += step->count;
    graph->group_count += step->group_count;
    to->group_first[graph->group_count] = graph->node_count;
    to->step_first[graph->step_count] = graph->group_count;
}

static gs_status make_steps(const gs_op_trace *trace, const gs_op_entry *entries, gs_arena *arena,
                            gs_arena *scratch, gs_op_graph *out, gs_error *err)
{
    uint32_t step_count = 1;
    uint32_t longest = 0;
    for (uint32_t i = 1, first = 0; i <= trace->op_count; i++) {
        bool ends = i == trace->op_count || entries[i].step != entries[i - 1].step;
        step_count += ends ? 1 : 0;
        longest = ends && i - first > longest ? i - first : longest;
        first = ends ? i : first;
    }
    growing to;
    gs_op_step step = {.dp_count = out->dp_count, .stage_count = out->stage_count};
    if (!take_arrays(arena, trace->op_count, step_count, &to) ||
        !gs_op_step_take(&step, longest, scratch)) {
        return no_memory(trace, err);
    }
    for (uint32_t first = 0, end = 0; first < trace->op_count; first = end) {
        while (end < trace->op_count && entries[end].step == entries[first].step) {
            end++;
        }
        step.entries = entries + first;
        step.count = end - first;
        if (gs_op_step_make(&step)) {
            append(&step, &to, out);
        } else if (out->left_out_count++ == 0) {
            out->left_out_step = entries[first].step;
            snprintf(out->left_out_reason, sizeof out->left_out_reason, "%s", step.reason);
        }
    }
    out->steps = to.steps;
    out->step_first = to.step_first;
    out->group_first = to.group_first;
    out->op = to.op;
    out->what = to.what;
    out->before = (const uint32_t(*)[GS_OP_BEFORE_MAX])to.before;
    if (out->step_count == 0) {
        return gs_fail(err, GS_EMISMATCH,
                       "%s: none of %u steps can be replayed: step %d: %s; export whole steps of "
                       "all ranks",
                       trace->file, out->left_out_count, (int)out->left_out_step,
                       out->left_out_reason);
    }
    return GS_OK;
}

gs_status gs_op_graph_make(const gs_op_trace *trace, gs_arena *arena, gs_op_graph *out,
                           gs_error *err)
{
    GS_ASSERT(trace->op_count > 0);
    uint8_t kinds[GS_OP_TYPES_MAX];
    gs_op_graph graph = {0};
    GS_TRY(find_kinds(trace, kinds, err));
    GS_TRY(find_workers(trace, &graph, err));
    gs_arena scratch;
    gs_arena_init(&scratch);
    gs_op_entry *entries = GS_TAKE(&scratch, gs_op_entry, trace->op_count);
    gs_status status = GS_OK;
    if (entries == NULL) {
        status = no_memory(trace, err);
    } else {
        list_entries(trace, kinds, graph.stage_count, entries);
        status = make_steps(trace, entries, arena, &scratch, &graph, err);
    }
    gs_arena_fini(&scratch);
    if (status == GS_OK) {
        *out = graph;
    }
    return status;
}
