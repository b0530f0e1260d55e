#include "sim/op_what_if.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

/* Of all ranks, rounded up; the share that ByteDance's paper calls slowest. */
enum { SLOWEST_PERCENT = 3 };

typedef struct asker {
    gs_op_replay *replay;
    gs_op_what_if *answer;
    gs_op_blame *blames;
    gs_time_ns *scratch;
} asker;

static gs_op_blame ask(const asker *who, gs_op_group group, uint32_t first, uint32_t second,
                       gs_op_select select)
{
    const gs_op_what_if *answer = who->answer;
    double lost = answer->replayed_ns - answer->ideal_ns;
    gs_op_blame blame = {.group = group, .first = first, .second = second};
    blame.added_ns = gs_op_replay_mean_ns(who->replay, select, who->scratch);
    select.others = true;
    blame.removed_ns = gs_op_replay_mean_ns(who->replay, select, who->scratch);
    blame.slowdown = answer->ideal_ns > 0.0 ? blame.added_ns / answer->ideal_ns : 1.0;
    if (lost > 0.0) {
        blame.add_share = (blame.added_ns - answer->ideal_ns) / lost;
        blame.remove_share = (answer->replayed_ns - blame.removed_ns) / lost;
    }
    return blame;
}

static int by_group_and_cost(const void *left, const void *right)
{
    const gs_op_blame *a = left;
    const gs_op_blame *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->added_ns != b->added_ns) {
        return a->added_ns > b->added_ns ? -1 : 1;
    }
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return (a->second > b->second) - (a->second < b->second);
}

static void ask_all(asker *who)
{
    const gs_op_graph *graph = &who->replay->graph;
    uint32_t count = 0;
    for (uint32_t k = 0; k < GS_OP_KIND_COUNT; k++) {
        bool is_share = gs_op_kind_share((gs_op_kind)k) == (gs_op_kind)k;
        if (is_share && who->replay->kind_counts[k] > 0) {
            gs_op_select select = {.share = (int32_t)k, .dp_rank = -1, .stage = -1};
            who->blames[count++] = ask(who, GS_OP_GROUP_TYPE, k, 0, select);
        }
    }
    for (uint32_t s = 0; s < graph->stage_count; s++) {
        gs_op_select select = {.share = -1, .dp_rank = -1, .stage = (int32_t)s};
        who->blames[count++] = ask(who, GS_OP_GROUP_STAGE, s, 0, select);
    }
    who->answer->last_stage = who->blames[count - 1];
    for (uint32_t d = 0; d < graph->dp_count; d++) {
        gs_op_select select = {.share = -1, .dp_rank = (int32_t)d, .stage = -1};
        who->blames[count++] = ask(who, GS_OP_GROUP_DP_RANK, d, 0, select);
    }
    for (uint32_t w = 0; w < graph->dp_count * graph->stage_count; w++) {
        uint32_t dp_rank = w / graph->stage_count;
        uint32_t stage = w % graph->stage_count;
        gs_op_select select = {.share = -1, .dp_rank = (int32_t)dp_rank, .stage = (int32_t)stage};
        who->blames[count++] = ask(who, GS_OP_GROUP_WORKER, dp_rank, stage, select);
    }
    qsort(who->blames, count, sizeof *who->blames, by_group_and_cost);
    who->answer->blame_count = count;
}

/* workers: scratch [dp_count * stage_count], all false. */
static void ask_slowest(const asker *who, bool *workers)
{
    const gs_op_graph *graph = &who->replay->graph;
    uint32_t all = graph->dp_count * graph->stage_count;
    uint32_t slowest = (all * SLOWEST_PERCENT + 99) / 100;
    const gs_op_blame *ranked = who->blames + who->answer->blame_count - all;
    for (uint32_t i = 0; i < slowest; i++) {
        GS_ASSERT(ranked[i].group == GS_OP_GROUP_WORKER);
        workers[ranked[i].first * graph->stage_count + ranked[i].second] = true;
    }
    gs_op_select select = {.share = -1, .dp_rank = -1, .stage = -1, .workers = workers};
    who->answer->slowest_workers = ask(who, GS_OP_GROUP_WORKER, slowest, 0, select);
}

gs_status gs_op_what_if_make(gs_op_replay *replay, gs_arena *arena, gs_op_what_if *out,
                             gs_error *err)
{
    const gs_op_graph *graph = &replay->graph;
    uint32_t workers = graph->dp_count * graph->stage_count;
    gs_op_what_if answer = {.step_count = graph->step_count};
    gs_time_ns *replayed_ns = GS_TAKE(arena, gs_time_ns, graph->step_count);
    gs_time_ns *ideal_ns = GS_TAKE(arena, gs_time_ns, graph->step_count);
    bool *slow = GS_TAKE(arena, bool, workers);
    asker who = {.replay = replay,
                 .answer = &answer,
                 .scratch = GS_TAKE(arena, gs_time_ns, graph->step_count),
                 .blames = GS_TAKE(arena, gs_op_blame,
                                   (size_t)GS_OP_KIND_COUNT + graph->stage_count + graph->dp_count +
                                       workers)};
    if (replayed_ns == NULL || ideal_ns == NULL || slow == NULL || who.scratch == NULL ||
        who.blames == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for what-if replays of %u ranks", workers);
    }
    answer.replayed_ns = gs_op_replay_mean_ns(replay, GS_OP_SELECT_ALL, replayed_ns);
    answer.ideal_ns = gs_op_replay_mean_ns(replay, GS_OP_SELECT_NONE, ideal_ns);
    for (uint32_t s = 0; s < graph->step_count; s++) {
        answer.recorded_ns += (double)replay->recorded_ns[s] / (double)graph->step_count;
    }
    answer.slowdown = answer.ideal_ns > 0.0 ? answer.replayed_ns / answer.ideal_ns : 1.0;
    answer.launch_slowdown =
        answer.replayed_ns > 0.0 ? answer.recorded_ns / answer.replayed_ns : 1.0;
    ask_all(&who);
    ask_slowest(&who, slow);
    answer.step_replayed_ns = replayed_ns;
    answer.step_ideal_ns = ideal_ns;
    answer.blames = who.blames;
    *out = answer;
    return GS_OK;
}

char *gs_op_blame_name(const gs_op_blame *blame, char out[GS_OP_BLAME_NAME_BYTES])
{
    switch (blame->group) {
    case GS_OP_GROUP_TYPE:
        if (blame->first == GS_OP_FORWARD_SEND || blame->first == GS_OP_BACKWARD_SEND) {
            snprintf(out, GS_OP_BLAME_NAME_BYTES, "%s-pp-comm",
                     blame->first == GS_OP_FORWARD_SEND ? "forward" : "backward");
        } else {
            snprintf(out, GS_OP_BLAME_NAME_BYTES, "%s", gs_op_kind_name((gs_op_kind)blame->first));
        }
        break;
    case GS_OP_GROUP_STAGE:
        snprintf(out, GS_OP_BLAME_NAME_BYTES, "stage %u", blame->first);
        break;
    case GS_OP_GROUP_DP_RANK:
        snprintf(out, GS_OP_BLAME_NAME_BYTES, "dp_rank %u", blame->first);
        break;
    case GS_OP_GROUP_WORKER:
        snprintf(out, GS_OP_BLAME_NAME_BYTES, "dp_rank %u stage %u", blame->first, blame->second);
        break;
    }
    return out;
}
