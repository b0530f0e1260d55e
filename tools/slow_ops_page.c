#include "tools/slow_ops_page.h"

#include "base/assert.h"
#include "sim/op_what_if.h"
#include "tools/message.h"
#include "tools/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Ranks shown to people; programs get all. */
enum { WORKERS_SHOWN = 8, TEXT_BYTES = 64 };

/* Less than this is called no slow-down; a group that explains less of it is not named alone. */
#define SLOWDOWN_MIN 1.01
#define SHARE_MIN    0.5

static const char *const groups[] = {
    [GS_OP_GROUP_TYPE] = "type",
    [GS_OP_GROUP_STAGE] = "stage",
    [GS_OP_GROUP_DP_RANK] = "dp_rank",
    [GS_OP_GROUP_WORKER] = "rank",
};

static char *duration(double ns, char out[GS_UNIT_TEXT_BYTES])
{
    return gs_format_duration((gs_time_ns)llround(ns), out);
}

/* --- facts ----------------------------------------------------------------------------------- */

static void time_fact(gs_page *page, const char *key, const char *label, double ns,
                      const char *meaning)
{
    char time[GS_UNIT_TEXT_BYTES];
    char text[2 * TEXT_BYTES];
    snprintf(text, sizeof text, "%s%s", duration(ns, time), meaning);
    gs_page_fact(page, key, label, text, gs_json_new_real(ns));
}

static void ratio_fact(gs_page *page, const char *key, const char *label, double ratio,
                       const char *text)
{
    gs_page_fact(page, key, label, text, gs_json_new_real(ratio));
}

/* The step that stragglers slow most and least; equal on all steps means persistent. */
static void spread_fact(gs_page *page, const gs_op_replay *replay, const gs_op_what_if *answer)
{
    double least = HUGE_VAL;
    double most = 0.0;
    int32_t worst = 0;
    for (uint32_t s = 0; s < answer->step_count; s++) {
        double ideal = (double)answer->step_ideal_ns[s];
        double ratio = ideal > 0.0 ? (double)answer->step_replayed_ns[s] / ideal : 1.0;
        worst = ratio > most ? replay->graph.steps[s] : worst;
        most = fmax(most, ratio);
        least = fmin(least, ratio);
    }
    char text[2 * TEXT_BYTES];
    snprintf(text, sizeof text, "%.4f to %.4f, most in step %d", least, most, (int)worst);
    gs_page_fact(page, "slowdown_of_steps", "of single steps", text, NULL);
}

static void add_facts(gs_page *page, const gs_op_replay *replay, const gs_op_what_if *answer)
{
    char text[2 * TEXT_BYTES];
    snprintf(text, sizeof text, "dp_ranks: %u, stages: %u, steps: %u, operations: %u",
             replay->graph.dp_count, replay->graph.stage_count, answer->step_count,
             replay->graph.node_count);
    gs_page_fact(page, "job", "job", text, NULL);
    time_fact(page, "recorded_ns", "step recorded", answer->recorded_ns, " (mean)");
    time_fact(page, "replayed_ns", "step replayed", answer->replayed_ns, " without launch delay");
    time_fact(page, "ideal_ns", "step ideal", answer->ideal_ns, " if every op took its usual time");
    snprintf(text, sizeof text, "%.4f: replayed over ideal", answer->slowdown);
    ratio_fact(page, "slowdown_ratio", "slow-down", answer->slowdown, text);
    spread_fact(page, replay, answer);
    snprintf(text, sizeof text, "%.4f: recorded over replayed, launch delay",
             answer->launch_slowdown);
    ratio_fact(page, "launch_slowdown_ratio", "not explained", answer->launch_slowdown, text);
    if (replay->graph.stage_count > 1) {
        double share = answer->last_stage.remove_share;
        snprintf(text, sizeof text, "%.1f %% of what is lost", share * 100);
        ratio_fact(page, "last_stage_share_ratio", "last stage", share, text);
    }
    snprintf(text, sizeof text, "%.1f %% of what is lost by %u rank%s",
             answer->slowest_workers.remove_share * 100, answer->slowest_workers.first,
             answer->slowest_workers.first == 1 ? "" : "s");
    ratio_fact(page, "slowest_ranks_share_ratio", "slowest 3 %",
               answer->slowest_workers.remove_share, text);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void add_time(gs_table *table, double ns)
{
    char shown[GS_UNIT_TEXT_BYTES];
    char exact[GS_UNIT_TEXT_BYTES];
    gs_table_add(table, duration(ns, shown), gs_exact_real(ns, exact));
}

static void add_share(gs_table *table, double ratio)
{
    char shown[TEXT_BYTES];
    char exact[GS_UNIT_TEXT_BYTES];
    /* Adding 0 turns the -0.0 of a rounded share into 0.0. */
    snprintf(shown, sizeof shown, "%.1f %%", round(ratio * 1000) / 10 + 0.0);
    gs_table_add(table, shown, gs_exact_real(ratio, exact));
}

static void add_row(gs_table *table, const gs_op_blame *blame)
{
    char name[GS_OP_BLAME_NAME_BYTES];
    char shown[TEXT_BYTES];
    char exact[GS_UNIT_TEXT_BYTES];
    gs_table_add(table, groups[blame->group], NULL);
    gs_table_add(table, gs_op_blame_name(blame, name), NULL);
    snprintf(shown, sizeof shown, "%.4f", blame->slowdown);
    gs_table_add(table, shown, gs_exact_real(blame->slowdown, exact));
    add_time(table, blame->added_ns);
    add_time(table, blame->removed_ns);
    add_share(table, blame->add_share);
    add_share(table, blame->remove_share);
    add_share(table, blame->remove_share - blame->add_share);
}

static void add_rows(gs_page *page, const gs_op_what_if *answer, uint32_t workers_max)
{
    gs_table *table = &page->table;
    uint32_t workers = 0;
    gs_table_add_column(table, (gs_table_column){"by", "group", false});
    gs_table_add_column(table, (gs_table_column){"slow", "name", false});
    gs_table_add_column(table, (gs_table_column){"slow-down alone", "slowdown_ratio", true});
    gs_table_add_column(table, (gs_table_column){"ideal with it", "added_ns", true});
    gs_table_add_column(table, (gs_table_column){"step without it", "removed_ns", true});
    gs_table_add_column(table, (gs_table_column){"share added", "add_share_ratio", true});
    gs_table_add_column(table, (gs_table_column){"share removed", "remove_share_ratio", true});
    gs_table_add_column(table, (gs_table_column){"interaction", "interaction_ratio", true});
    for (uint32_t i = 0; i < answer->blame_count; i++) {
        const gs_op_blame *blame = &answer->blames[i];
        workers += blame->group == GS_OP_GROUP_WORKER ? 1 : 0;
        if (blame->group != GS_OP_GROUP_WORKER || workers <= workers_max) {
            add_row(table, blame);
        }
    }
    if (workers > workers_max) {
        gs_page_note(page, "%u more ranks: --csv and --json show all", workers - workers_max);
    }
}

/* --- the sentence ---------------------------------------------------------------------------- */

/* The group of a kind whose removal gains most. */
static const gs_op_blame *worst_of(const gs_op_what_if *answer, gs_op_group group)
{
    const gs_op_blame *worst = NULL;
    for (uint32_t i = 0; i < answer->blame_count; i++) {
        const gs_op_blame *blame = &answer->blames[i];
        if (blame->group == group && (worst == NULL || blame->remove_share > worst->remove_share)) {
            worst = blame;
        }
    }
    GS_ASSERT(worst != NULL);
    return worst;
}

/* The narrowest group that explains most of what is lost; NULL: none does. In a job of one copy or
 * of one stage a rank is the same as its stage or copy, and a single rank explains nothing. */
static const gs_op_blame *culprit(const gs_op_replay *replay, const gs_op_what_if *answer)
{
    static const gs_op_group narrow_first[] = {GS_OP_GROUP_WORKER, GS_OP_GROUP_STAGE,
                                               GS_OP_GROUP_DP_RANK};
    if (replay->graph.dp_count * replay->graph.stage_count == 1) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof narrow_first / sizeof *narrow_first; i++) {
        const gs_op_blame *worst = worst_of(answer, narrow_first[i]);
        if (worst->remove_share >= SHARE_MIN) {
            return worst;
        }
    }
    return NULL;
}

/* Why it is a group and no single rank, and why the step without it can beat the ideal. */
static void explain_group(gs_page *page, const gs_op_blame *who, const gs_op_what_if *answer)
{
    char name[GS_OP_BLAME_NAME_BYTES];
    if (who->group == GS_OP_GROUP_WORKER) {
        return;
    }
    gs_op_blame_name(who, name);
    gs_page_note(page,
                 "All ranks of %s are slow alike: %s; no single machine is to blame (the worst "
                 "rank alone explains %.1f %%).",
                 name,
                 who->group == GS_OP_GROUP_STAGE ? "the stages are uneven"
                                                 : "one copy of the model is behind",
                 worst_of(answer, GS_OP_GROUP_WORKER)->remove_share * 100);
    if (who->removed_ns < answer->ideal_ns) {
        gs_page_note(page,
                     "Without %s the step is below the ideal: the ideal gives every rank the mean "
                     "of all, %s included, and the others are faster than that.",
                     name, name);
    }
}

static void add_sentence(gs_page *page, const gs_op_replay *replay, const gs_op_what_if *answer)
{
    char lost[GS_UNIT_TEXT_BYTES];
    char step[GS_UNIT_TEXT_BYTES];
    char without[GS_UNIT_TEXT_BYTES];
    char name[GS_OP_BLAME_NAME_BYTES];
    char type[GS_OP_BLAME_NAME_BYTES];
    duration(answer->replayed_ns - answer->ideal_ns, lost);
    duration(answer->replayed_ns, step);
    if (answer->slowdown < SLOWDOWN_MIN) {
        gs_page_note(page,
                     "No op, stage or rank holds the job up: all stragglers together cost "
                     "less than 1 %% of a step of %s.",
                     step);
        return;
    }
    const gs_op_blame *who = culprit(replay, answer);
    const gs_op_blame *what = worst_of(answer, GS_OP_GROUP_TYPE);
    gs_op_blame_name(what, type);
    if (who == NULL) {
        gs_page_note(page,
                     "Slow ops cost %s of a step of %s (%.1f %%), but no stage or rank alone "
                     "explains half of it; the type that costs most is %s (%.0f %%).",
                     lost, step, (answer->slowdown - 1) / answer->slowdown * 100, type,
                     what->remove_share * 100);
        return;
    }
    gs_page_note(page,
                 "%s%s hold%s the job up: slow ops cost %s of a step of %s (%.1f %%), and without "
                 "those of %s it takes %s; the type that costs most is %s (%.0f %%).",
                 who->group == GS_OP_GROUP_WORKER ? "" : "all ranks of ",
                 gs_op_blame_name(who, name), who->group == GS_OP_GROUP_WORKER ? "s" : "", lost,
                 step, (answer->slowdown - 1) / answer->slowdown * 100, name,
                 duration(who->removed_ns, without), type, what->remove_share * 100);
    explain_group(page, who, answer);
}

static void add_remarks(gs_page *page, const gs_imported *imported, const gs_op_replay *replay)
{
    const gs_op_graph *graph = &replay->graph;
    if (graph->left_out_count > 0) {
        gs_page_note(page, "note: %u of %u steps left out, the first is step %d: %s",
                     graph->left_out_count, graph->left_out_count + graph->step_count,
                     (int)graph->left_out_step, graph->left_out_reason);
    }
    if (replay->clock_error_count > 0) {
        char time[GS_UNIT_TEXT_BYTES];
        gs_page_note(page,
                     "note: clocks of ranks differ by %s or more: %u operations end before their "
                     "last peer starts; their transfer counts as 0",
                     gs_format_duration(replay->clock_error_ns, time), replay->clock_error_count);
    }
    if (graph->step_count == 1) {
        gs_page_note(page, "note: one step: a rank that is always slow cannot be told from one "
                           "that was slow once");
    }
    if (graph->dp_count * graph->stage_count == 1) {
        gs_page_note(page, "note: one rank: its ops can only be compared with each other");
    }
    for (uint32_t i = 0; i < imported->note_count; i++) {
        gs_page_note(page, "note: %s", imported->notes[i]);
    }
}

int gs_slow_ops_print(const gs_cli *cli, const gs_imported *imported)
{
    GS_ASSERT(imported->ops != NULL);
    gs_arena arena;
    gs_op_replay replay;
    gs_op_what_if answer;
    gs_error err = {0};
    int code = GS_EXIT_OK;
    gs_arena_init(&arena);
    if (gs_op_replay_make(imported->ops, &arena, &replay, &err) != GS_OK ||
        gs_op_what_if_make(&replay, &arena, &answer, &err) != GS_OK) {
        code = gs_complain_error(&err);
    } else {
        bool for_programs = cli->flags.json || cli->flags.csv;
        gs_page page;
        gs_page_init(&page, "slow_ops", "groups");
        add_facts(&page, &replay, &answer);
        add_sentence(&page, &replay, &answer);
        add_rows(&page, &answer, for_programs ? UINT32_MAX : WORKERS_SHOWN);
        add_remarks(&page, imported, &replay);
        code = gs_page_print(&page, cli);
        gs_page_fini(&page);
    }
    gs_arena_fini(&arena);
    return code;
}
