#include "tools/recommend/page.h"

#include "tools/message.h"
#include "tools/page.h"
#include "tools/recommend/rates.h"
#include "tools/sim_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the table of finalists, for people ------------------------------------------------------- */

static const char *mark_of(const gs_findings *findings, const gs_arm *arm)
{
    if (arm == findings->verdict.winner) {
        return "*";
    }
    bool is_tie = arm == findings->verdict.leader;
    for (uint32_t i = 0; i < findings->verdict.tie_count; i++) {
        is_tie = is_tie || arm == findings->verdict.ties[i];
    }
    return is_tie ? "~" : arm->state == GS_ARM_IN ? "" : "-";
}

static gs_spread spread_of_metric(const gs_recommend *all, const gs_arm *arm, const char *metric)
{
    double values[GS_CONFIRM_SEEDS_MAX];
    for (uint32_t i = 0; i < all->confirm_seeds; i++) {
        values[i] = gs_trial_is_good(&arm->outcomes[i]) ? gs_trial_metric(&arm->outcomes[i], metric)
                                                        : (double)NAN;
    }
    return gs_spread_of(values, all->confirm_seeds);
}

static void add_text(gs_table *table, char *text)
{
    gs_table_add(table, text, NULL);
    free(text);
}

static void add_percent(gs_table *table, double share)
{
    add_text(table, isfinite(share) ? gs_text("%.0f %%", 100.0 * share) : gs_text("-"));
}

/* "3.61 s [3.5 s, 3.7 s]". */
static void add_value(const gs_recommend *all, const gs_arm *arm, gs_table *table)
{
    char mean[GS_UNIT_TEXT_BYTES];
    char low[GS_UNIT_TEXT_BYTES];
    char high[GS_UNIT_TEXT_BYTES];
    gs_spread spread = gs_spread_of(arm->confirm, all->confirm_seeds);
    gs_findings_value(all, spread.mean, mean);
    bool has_interval = spread.count > 1 && !spread.same;
    add_text(table, has_interval
                        ? gs_text("%s [%s, %s]", mean, gs_findings_value(all, spread.low, low),
                                  gs_findings_value(all, spread.high, high))
                        : gs_text("%s", mean));
}

static void add_common(const gs_recommend *all, const gs_arm *arm, gs_table *table)
{
    char text[GS_UNIT_TEXT_BYTES];
    double sum = 0.0;
    uint32_t reached = 0;
    for (uint32_t i = 0; i < arm->rates[0].seeds; i++) {
        sum += isfinite(arm->rates[0].values[i]) ? arm->rates[0].values[i] : 0.0;
        reached += isfinite(arm->rates[0].values[i]) ? 1 : 0;
    }
    gs_findings_value(all, reached == 0 ? (double)NAN : sum / reached, text);
    add_text(table, reached == arm->rates[0].seeds
                        ? gs_text("%s", text)
                        : gs_text("%s (%u/%u)", text, reached, arm->rates[0].seeds));
}

static void add_finalist(const gs_findings *findings, const gs_arm *arm, gs_table *table)
{
    const gs_recommend *all = findings->all;
    char text[GS_UNIT_TEXT_BYTES];
    gs_table_add(table, mark_of(findings, arm), NULL);
    gs_table_add(table, arm->label, NULL);
    add_value(all, arm, table);
    if (all->learns) {
        add_text(table, gs_text("%g", gs_findings_rate(arm)));
        add_common(all, arm, table);
        add_text(table, gs_text("%u/%u", gs_confirmed_reached(all, arm), all->confirm_seeds));
        gs_spread learned =
            spread_of_metric(all, arm, gs_quality_metric(all->scenario->workload.quality));
        add_text(table, learned.count > 1    ? gs_text("%.4f +- %.4f", learned.mean, learned.sd)
                        : learned.count == 1 ? gs_text("%.4f", learned.mean)
                                             : gs_text("-"));
    }
    add_percent(table, spread_of_metric(all, arm, "overlap_efficiency_ratio").mean);
    double fidelity = spread_of_metric(all, arm, "fidelity_cosine_ratio").mean;
    add_text(table, isfinite(fidelity) ? gs_text("%.3f", fidelity) : gs_text("-"));
    double recovery = spread_of_metric(all, arm, "recovery_cost_ns").mean;
    add_text(table, isfinite(recovery)
                        ? gs_text("%s", gs_format_duration((gs_time_ns)llround(recovery), text))
                        : gs_text("-"));
}

/* Before others in the table: the recommended one, those that are in, then by what they take. */
static bool is_before(const gs_findings *findings, const gs_arm *a, const gs_arm *b)
{
    const gs_recommend *all = findings->all;
    if (a == findings->verdict.winner || b == findings->verdict.winner) {
        return a == findings->verdict.winner;
    }
    if (a->state != b->state && (a->state == GS_ARM_IN || b->state == GS_ARM_IN)) {
        return a->state == GS_ARM_IN;
    }
    return gs_trial_score(all, a, a->confirm, all->confirm_seeds) <
           gs_trial_score(all, b, b->confirm, all->confirm_seeds);
}

static uint32_t sort_rows(const gs_findings *findings, const gs_arm *out[GS_FINALISTS_MAX + 1])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < findings->all->arm_count; i++) {
        const gs_arm *arm = &findings->all->arms[i];
        uint32_t at = count;
        if (arm->outcomes == NULL) {
            continue;
        }
        for (; at > 0 && is_before(findings, arm, out[at - 1]); at--) {
            out[at] = out[at - 1];
        }
        out[at] = arm;
        count++;
    }
    return count;
}

/* A rate at the end of the grid says that one beyond it may be better. */
static void put_edges(const gs_recommend *all, FILE *out)
{
    for (uint32_t i = 0; all->learns && i < all->arm_count; i++) {
        const gs_arm *arm = &all->arms[i];
        int edge = arm->outcomes == NULL ? 0 : gs_rates_edge(arm);
        if (edge != 0) {
            fprintf(out,
                    "note: rate %g of %s is %s of those tried; set workload.optimizer.rate to "
                    "it to look beyond\n",
                    gs_findings_rate(arm), arm->label, edge > 0 ? "the largest" : "the least");
        }
    }
}

static void put_finalists(const gs_findings *findings, FILE *out)
{
    const gs_recommend *all = findings->all;
    gs_table table;
    gs_table_init(&table);
    char *title = gs_findings_title(all);
    char *head = gs_text("%s [95 %% CI]", title);
    char *learned = gs_text("final %s", gs_quality_words(all->scenario->workload.quality));
    const struct {
        const char *title;
        bool learns;
    } columns[] = {{" ", false},       {"strategy", false},      {head, false},
                   {"rate", true},     {"at common rate", true}, {"reached", true},
                   {learned, true},    {"overlap", false},       {"fidelity", false},
                   {"recovery", false}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (all->learns || !columns[i].learns) {
            gs_table_add_column(&table, (gs_table_column){columns[i].title, NULL, i > 1});
        }
    }
    const gs_arm *rows[GS_FINALISTS_MAX + 1];
    uint32_t count = sort_rows(findings, rows);
    for (uint32_t i = 0; i < count; i++) {
        add_finalist(findings, rows[i], &table);
    }
    if (table.cell_count > 0) {
        gs_table_print(&table, gs_cli_table_format(all->cli), all->cli->bold, out);
    }
    free(title);
    free(head);
    free(learned);
    gs_table_fini(&table);
}

/* --- what lies below it ----------------------------------------------------------------------- */

/* "refused: asp, ssp, ...: reason", those with the same reason together. */
static void put_dropped(const gs_recommend *all, gs_arm_state state, const char *word, FILE *out)
{
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *arm = &all->arms[i];
        bool is_told = arm->state != state;
        for (uint32_t k = 0; k < i && !is_told; k++) {
            is_told = all->arms[k].state == state && strcmp(all->arms[k].reason, arm->reason) == 0;
        }
        if (is_told) {
            continue;
        }
        fprintf(out, "%s: %s", word, arm->label);
        for (uint32_t k = i + 1; k < all->arm_count; k++) {
            if (all->arms[k].state == state && strcmp(all->arms[k].reason, arm->reason) == 0) {
                fprintf(out, ", %s", all->arms[k].label);
            }
        }
        fprintf(out, ": %s\n", arm->reason);
    }
}

static void put_ladder(const gs_findings *findings, FILE *out)
{
    uint32_t rungs = 0;
    for (int i = 0; i < GS_RUNGS; i++) {
        rungs += findings->ladder.arms[i] != NULL ? 1 : 0;
    }
    if (rungs < 2) {
        return;
    }
    fputs("ladder where links get worse: ", out);
    uint32_t told = 0;
    for (int i = 0; i < GS_RUNGS; i++) {
        const gs_arm *arm = findings->ladder.arms[i];
        char bytes[GS_UNIT_TEXT_BYTES];
        if (arm != NULL) {
            fprintf(out, "%s%s (%s, %s/step/NIC)", told++ == 0 ? "" : " -> ", arm->label,
                    gs_rung_names[i], gs_format_bytes(llround(arm->wire_bytes), bytes));
        }
    }
    fputc('\n', out);
}

static void put_thumbs(const gs_findings *findings, FILE *out)
{
    for (int i = 0; i < GS_THUMBS && findings->thumbs[i].rule != NULL; i++) {
        const gs_thumb *thumb = &findings->thumbs[i];
        if (thumb->says == NULL) {
            fprintf(out, "rule of thumb (%s): says nothing here\n", thumb->rule);
        } else if (isnan(thumb->regret)) {
            fprintf(out, "rule of thumb (%s): %s, which does not run here\n", thumb->rule,
                    thumb->says);
        } else if (isinf(thumb->regret)) {
            fprintf(out, "rule of thumb (%s): %s, which does not reach the target\n", thumb->rule,
                    thumb->says);
        } else {
            fprintf(out, "rule of thumb (%s): %s, regret %s%.1f %%\n", thumb->rule, thumb->says,
                    thumb->is_least ? "at least " : "",
                    100.0 * (thumb->regret > 0.0 ? thumb->regret : 0.0));
        }
    }
}

static void put_pastes(const gs_findings *findings, FILE *out)
{
    bool markdown = findings->all->cli->flags.markdown;
    if (findings->verdict.winner != NULL && findings->stage == NULL && findings->paste_count == 0) {
        fprintf(out,
                "settings: PyTorch DDP, DeepSpeed, Horovod and torchft have no setting for %s\n",
                findings->verdict.winner->label);
    }
    for (uint32_t i = 0; i < findings->paste_count; i++) {
        const gs_paste *paste = &findings->pastes[i];
        fprintf(out, "settings for %s:\n", paste->framework);
        if (markdown) {
            fprintf(out, "\n```%s\n", gs_paste_kind_names[paste->kind]);
        }
        for (const char *line = paste->text; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            fprintf(out, "%s%.*s\n", markdown ? "" : "    ", (int)length, line);
            line += length + (line[length] == '\n' ? 1 : 0);
        }
        fputs(markdown ? "```\n\n" : "", out);
    }
}

/* --- every arm, for programs ------------------------------------------------------------------ */

static void add_number(gs_table *table, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    gs_table_add(table, "", isfinite(value) ? text : "");
}

static void add_arm(const gs_findings *findings, const gs_arm *arm, gs_table *table)
{
    const gs_recommend *all = findings->all;
    const double unknown = (double)NAN;
    bool is_timed = arm->sample_ns > 0.0;
    bool is_tuned = arm->rates[0].seeds > 0;
    bool is_confirmed = arm->outcomes != NULL;
    bool is_winner = arm == findings->verdict.winner;
    gs_spread spread = gs_spread_of(arm->confirm, is_confirmed ? all->confirm_seeds : 0);
    gs_table_add(table, "", arm->label);
    gs_table_add(table, "", is_winner ? "recommended" : gs_arm_state_keys[arm->state]);
    gs_table_add(table, "", arm->reason == NULL ? "" : arm->reason);
    gs_table_add(table, "", arm->scenario == NULL ? "" : gs_arm_family_keys[arm->family]);
    add_number(table, is_tuned ? gs_findings_rate(arm) : unknown);
    add_number(table, is_confirmed ? spread.mean : is_tuned ? gs_arm_estimate(all, arm) : unknown);
    add_number(table, spread.low);
    add_number(table, spread.high);
    add_number(table, is_confirmed ? gs_confirmed_reached(all, arm) : unknown);
    add_number(table, is_confirmed ? all->confirm_seeds : unknown);
    add_number(table, is_tuned ? gs_arm_samples(all, arm) : unknown);
    add_number(table, is_timed ? arm->sample_ns : unknown);
    add_number(table, is_timed ? arm->wire_bytes : unknown);
    add_number(table, is_tuned ? exp(arm->rates[0].score) : unknown);
}

static void fill_arms(const gs_findings *findings, gs_table *table)
{
    static const struct {
        const char *name;
        bool is_number;
    } columns[] = {{"strategy", false},
                   {"state", false},
                   {"reason", false},
                   {"family", false},
                   {"rate", true},
                   {"value", true},
                   {"value_low", true},
                   {"value_high", true},
                   {"reached", true},
                   {"runs", true},
                   {"samples_to_target", true},
                   {"sample_ns", true},
                   {"wire_bytes_per_step", true},
                   {"common_rate_value", true}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(table, (gs_table_column){NULL, columns[i].name, columns[i].is_number});
    }
    for (uint32_t i = 0; i < findings->all->arm_count; i++) {
        add_arm(findings, &findings->all->arms[i], table);
    }
}

void gs_recommend_print(const gs_findings *findings, const char *header, const char *command,
                        FILE *out)
{
    const gs_recommend *all = findings->all;
    const gs_cli *cli = all->cli;
    bool markdown = cli->flags.markdown;
    if (cli->flags.csv) {
        gs_table table;
        gs_table_init(&table);
        fill_arms(findings, &table);
        gs_table_print(&table, GS_TABLE_CSV, false, out);
        gs_table_fini(&table);
        return;
    }
    fputs(header, out);
    fputs(markdown ? "\n" : "", out);
    put_finalists(findings, out);
    fputs(markdown ? "\n" : "", out);
    put_edges(all, out);
    put_dropped(all, GS_ARM_LIMIT, "outside the limits", out);
    put_dropped(all, GS_ARM_OUT, "lost", out);
    put_dropped(all, GS_ARM_DOMINATED, "dominated", out);
    put_dropped(all, GS_ARM_UNTRIED, "not tried", out);
    put_dropped(all, GS_ARM_FAILED, "failed", out);
    put_dropped(all, GS_ARM_REFUSED, "refused", out);
    if (all->left_out != NULL) {
        fprintf(out, "--budget had no time for %s\n", all->left_out);
    }
    if (all->interrupted && findings->stage == NULL) {
        fputs("interrupted: the search for flips is not complete\n", out);
    }
    for (uint32_t i = 0; i < findings->flips.count; i++) {
        char *text = gs_findings_flip_text(all, &findings->flips.flips[i]);
        fprintf(out, "flips: %s\n", text);
        free(text);
    }
    put_ladder(findings, out);
    put_thumbs(findings, out);
    put_pastes(findings, out);
    fprintf(out, "Reproduce: %s\n", command);
    fprintf(out, "%s%s%s\n", cli->bold ? "\033[1m" : "", findings->answer,
            cli->bold ? "\033[0m" : "");
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void need(bool done)
{
    if (!done) {
        gs_need(NULL);
    }
}

static void set_text(gs_json *object, const char *key, const char *text)
{
    need(gs_json_set(object, key, text == NULL ? gs_json_new_null() : gs_json_new_text(text)));
}

static void set_number(gs_json *object, const char *key, double value)
{
    need(gs_json_set(object, key, isfinite(value) ? gs_json_new_real(value) : gs_json_new_null()));
}

static gs_json *flips_json(const gs_flips *flips)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < flips->count; i++) {
        const gs_flip *flip = &flips->flips[i];
        gs_json *object = gs_need(gs_json_new_object());
        set_text(object, "axis", gs_flip_axis_keys[flip->axis]);
        set_text(object, "direction", flip->is_up ? "up" : "down");
        set_number(object, "today", flip->today);
        set_number(object, "holds_to", flip->holds_to);
        set_number(object, "flips_at", flip->flips_at);
        set_number(object, "flips_at_first", flip->first);
        set_number(object, "flips_at_last", flip->last);
        set_text(object, "to", flip->to == NULL ? NULL : flip->to->label);
        set_text(object, "tied_with", flip->tied == NULL ? NULL : flip->tied->label);
        need(gs_json_set(object, "assumed", gs_json_new_bool(flip->is_assumed)));
        need(gs_json_add(list, object));
    }
    return list;
}

static gs_json *ladder_json(const gs_ladder *ladder)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (int i = 0; i < GS_RUNGS; i++) {
        if (ladder->arms[i] != NULL) {
            gs_json *object = gs_need(gs_json_new_object());
            set_text(object, "rung", gs_rung_names[i]);
            set_text(object, "strategy", ladder->arms[i]->label);
            set_number(object, "wire_bytes_per_step", ladder->arms[i]->wire_bytes);
            need(gs_json_add(list, object));
        }
    }
    return list;
}

static gs_json *thumbs_json(const gs_findings *findings)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (int i = 0; i < GS_THUMBS && findings->thumbs[i].rule != NULL; i++) {
        gs_json *object = gs_need(gs_json_new_object());
        set_text(object, "rule", findings->thumbs[i].rule);
        set_text(object, "strategy", findings->thumbs[i].says);
        set_number(object, "regret", findings->thumbs[i].regret);
        need(gs_json_add(list, object));
    }
    return list;
}

static gs_json *pastes_json(const gs_findings *findings)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < findings->paste_count; i++) {
        gs_json *object = gs_need(gs_json_new_object());
        set_text(object, "framework", findings->pastes[i].framework);
        set_text(object, "kind", gs_paste_kind_names[findings->pastes[i].kind]);
        set_text(object, "text", findings->pastes[i].text);
        need(gs_json_add(list, object));
    }
    return list;
}

gs_json *gs_recommend_json(const gs_findings *findings)
{
    const gs_recommend *all = findings->all;
    const gs_arm *winner = findings->verdict.winner;
    gs_json *object = gs_need(gs_json_new_object());
    gs_table table;
    gs_table_init(&table);
    fill_arms(findings, &table);
    set_text(object, "objective", gs_objective_names[all->objective]);
    set_number(object, "target", all->learns ? all->target : (double)NAN);
    set_text(object, "recommended", winner == NULL ? NULL : winner->label);
    set_number(object, "rate",
               winner == NULL || !all->learns ? (double)NAN : gs_findings_rate(winner));
    set_number(object, "simulations", (double)all->runs);
    set_text(object, "left_out", all->left_out);
    need(gs_json_set(object, "arms", gs_page_rows(&table)));
    need(gs_json_set(object, "flips", flips_json(&findings->flips)));
    need(gs_json_set(object, "ladder", ladder_json(&findings->ladder)));
    need(gs_json_set(object, "rules_of_thumb", thumbs_json(findings)));
    need(gs_json_set(object, "settings", pastes_json(findings)));
    gs_table_fini(&table);
    return object;
}
