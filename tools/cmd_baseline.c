/* baseline: names for runs that later ones are compared with, and changes that are accepted. */
#include "base/nearest.h"
#include "tools/compare/ack_file.h"
#include "tools/compare/gate.h"
#include "tools/message.h"
#include "tools/page.h"
#include "tools/verbs.h"
#include "traces/scenario/scenario.h"
#include "traces/store/store_ack.h"
#include "traces/store/store_baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *why_of(const gs_cli *cli)
{
    return cli->flags.why[0] == '\0' ? NULL : cli->flags.why;
}

/* The answer, in words. text: taken. */
static int say(const gs_cli *cli, char *text)
{
    gs_page page;
    gs_page_init(&page, "baseline", NULL);
    gs_page_note(&page, "%s", text);
    int code = gs_page_print(&page, cli);
    gs_page_fini(&page);
    free(text);
    return code;
}

static int set(const gs_cli *cli, gs_store *store, gs_arena *arena)
{
    if (cli->word_count < 2 || cli->word_count > 3) {
        gs_complain("baseline set: a NAME is wanted, and the runs that it stands for, if not those "
                    "of the last command: gradsync baseline set main [RUN]");
        return GS_EXIT_USAGE;
    }
    const char *name = cli->words[1];
    const char *selector = cli->word_count == 3 ? cli->words[2] : "@last";
    const int64_t *ids = NULL;
    uint32_t count = 0;
    gs_error err = {0};
    if (gs_store_find_runs(store, selector, arena, &ids, &count, &err) != GS_OK ||
        gs_store_set_baseline(store, name, ids, count, why_of(cli), &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    return say(cli, gs_text("%s stands for %" PRIu32 " run%s of %s.", name, count,
                            count == 1 ? "" : "s", selector));
}

static int remove_one(const gs_cli *cli, gs_store *store, gs_arena *arena)
{
    (void)arena;
    gs_error err = {0};
    if (cli->word_count != 2) {
        gs_complain("baseline rm: one NAME is wanted; gradsync baseline list shows them");
        return GS_EXIT_USAGE;
    }
    if (gs_store_remove_baseline(store, cli->words[1], &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    return say(cli, gs_text("%s is no baseline any more; its runs stay.", cli->words[1]));
}

/* ---------------------------------------------------------------- list */

static void add_baseline(gs_table *table, const gs_baseline *row)
{
    char runs[GS_UNIT_TEXT_BYTES];
    snprintf(runs, sizeof runs, "%" PRId64, row->runs);
    gs_table_add(table, row->name, NULL);
    gs_table_add(table, runs, NULL);
    gs_table_add(table, row->runs_left == row->runs ? "there" : "GONE",
                 row->runs_left == row->runs ? "there" : "gone");
    gs_table_add(table, row->commit, NULL);
    gs_table_add(table, row->set_utc, NULL);
    gs_table_add(table, row->note == NULL ? "" : row->note, NULL);
}

static void add_acks(const gs_ack *acks, uint32_t count, gs_arena *arena, gs_page *page)
{
    for (uint32_t i = 0; i < count; i++) {
        gs_page_note(page, "Accepted: %s / %s, %s, by %s at %s: %s", acks[i].scenario,
                     (const char *)gs_need(
                         gs_strategy_stored_label(acks[i].strategy, acks[i].params_json, arena)),
                     acks[i].metric, acks[i].who, acks[i].made_utc, acks[i].why);
    }
}

static int list(const gs_cli *cli, gs_store *store, gs_arena *arena)
{
    static const gs_table_column columns[] = {
        {"baseline", "name", false}, {"runs", "runs", true},    {"state", "state", false},
        {"commit", "commit", false}, {"set", "set_utc", false}, {"why", "note", false}};
    const gs_baseline *rows = NULL;
    const gs_ack *acks = NULL;
    uint32_t count = 0;
    uint32_t ack_count = 0;
    gs_error err = {0};
    if (cli->word_count != 1) {
        gs_complain("baseline list: takes no word");
        return GS_EXIT_USAGE;
    }
    if (gs_store_read_baselines(store, arena, &rows, &count, &err) != GS_OK ||
        gs_store_read_acks(store, arena, &acks, &ack_count, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    gs_page page;
    gs_page_init(&page, "baselines", "baselines");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        gs_table_add_column(&page.table, columns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        add_baseline(&page.table, &rows[i]);
    }
    add_acks(acks, ack_count, arena, &page);
    if (count == 0) {
        gs_page_note(&page, "No baseline yet; gradsync baseline set main names the last runs.");
    }
    int code = gs_page_print(&page, cli);
    gs_page_fini(&page);
    return code;
}

/* ---------------------------------------------------------------- ack */

/* "SCENARIO/STRATEGY" of a row, as the user writes it. Owner: caller, free(). */
static char *name_of(const gs_worse *row, gs_arena *arena)
{
    return gs_text(
        "%s/%s", row->scenario,
        (const char *)gs_need(gs_strategy_stored_label(row->strategy, row->params_json, arena)));
}

/* What there is to accept, in the words of the command. */
static int complain_unknown(const gs_cli *cli, const gs_worse *rows, uint32_t count,
                            gs_arena *arena)
{
    if (count == 0) {
        gs_complain("baseline ack: no comparison in this database has found anything worse; "
                    "gradsync compare makes one");
        return GS_EXIT_REFUSED;
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (uint32_t i = 0; i < count; i++) {
        char *name = name_of(&rows[i], arena);
        fprintf(out, "%s'%s' %s", i == 0 ? "" : ", ", name, rows[i].metric);
        free(name);
    }
    fclose(out);
    gs_complain("baseline ack: %s %s was not found worse; what was: %s", cli->words[1],
                cli->words[2], (const char *)gs_need(text));
    free(text);
    return GS_EXIT_REFUSED;
}

/* Who accepts, for those who read it later. */
static const char *who_accepts(void)
{
    static const char *const variables[] = {"GITHUB_ACTOR", "USER", "LOGNAME"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && value[0] != '\0') {
            return value;
        }
    }
    return "unknown";
}

/* Into the file of --acks, else into the database. strategy: as compare names it. */
static gs_status accept(const gs_cli *cli, gs_store *store, const gs_worse *row,
                        const char *strategy, gs_error *err)
{
    if (cli->flags.acks[0] == '\0') {
        return gs_store_write_ack(store, row, who_accepts(), cli->flags.why, err);
    }
    char now[GS_UTC_BYTES];
    gs_ack fresh = {.scenario = row->scenario,
                    .strategy = strategy,
                    .metric = row->metric,
                    .base = row->base,
                    .worst = row->worst,
                    .who = who_accepts(),
                    .why = cli->flags.why,
                    .made_utc = gs_utc_now(now)};
    return gs_ack_file_add(cli->flags.acks, &fresh, err);
}

static int ack(const gs_cli *cli, gs_store *store, gs_arena *arena)
{
    if (cli->word_count != 3 || cli->flags.why[0] == '\0') {
        gs_complain("baseline ack: wanted are SCENARIO/STRATEGY, METRIC and --why TEXT, as compare "
                    "names them");
        return GS_EXIT_USAGE;
    }
    const gs_worse *rows = NULL;
    uint32_t count = 0;
    gs_error err = {0};
    if (gs_store_read_worse(store, arena, &rows, &count, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    uint32_t metric = gs_metric_find(cli->words[2]);
    const char *wanted = metric < gs_metric_count() ? gs_metric_at(metric)->name : cli->words[2];
    for (uint32_t i = 0; i < count; i++) {
        char *name = name_of(&rows[i], arena);
        bool found = strcmp(name, cli->words[1]) == 0 && strcmp(rows[i].metric, wanted) == 0;
        free(name);
        if (!found) {
            continue;
        }
        const char *strategy = cli->words[1] + strlen(rows[i].scenario) + 1;
        if (accept(cli, store, &rows[i], strategy, &err) != GS_OK) {
            return gs_complain_error(&err);
        }
        return say(cli, gs_text("%s, %s: accepted.", cli->words[1], wanted));
    }
    return complain_unknown(cli, rows, count, arena);
}

/* ---------------------------------------------------------------- the verb */

static const struct {
    const char *name;
    int (*run)(const gs_cli *cli, gs_store *store, gs_arena *arena);
} actions[] = {{"set", set}, {"list", list}, {"rm", remove_one}, {"ack", ack}};

enum { ACTIONS = sizeof actions / sizeof actions[0] };

static int find_action(const gs_cli *cli)
{
    const char *names[ACTIONS];
    for (int i = 0; i < ACTIONS; i++) {
        names[i] = actions[i].name;
        if (cli->word_count > 0 && strcmp(cli->words[0], names[i]) == 0) {
            return i;
        }
    }
    const char *near = cli->word_count == 0 ? NULL : gs_nearest_name(cli->words[0], names, ACTIONS);
    if (near != NULL) {
        gs_complain("baseline: unknown action %s; did you mean %s?", cli->words[0], near);
    } else {
        gs_complain("baseline: which action? allowed is set, list, rm or ack");
    }
    return ACTIONS;
}

int gs_cmd_baseline(const gs_cli *cli)
{
    int action = find_action(cli);
    if (action == ACTIONS) {
        return GS_EXIT_USAGE;
    }
    char path[GS_FLAG_TEXT_BYTES];
    gs_store *store = NULL;
    int code = gs_cli_open_store(cli, path, &store);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_arena arena;
    gs_arena_init(&arena);
    code = actions[action].run(cli, store, &arena);
    gs_arena_fini(&arena);
    gs_store_close(store);
    return code;
}
