/* explain: simulates variants of a scenario, or of a stored run's, and says where its step goes and
 * what would change that. Nothing is stored. */
#include "tools/explain.h"
#include "tools/explain_page.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/scenario_list.h"
#include "tools/scenario_load.h"
#include "tools/stored_config.h"
#include "tools/verbs.h"
#include "traces/store/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a scenario or a run ---------------------------------------------------------------------- */

static bool is_scenario(const char *word)
{
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_named_scenario *list = NULL;
    size_t count = gs_scenario_list(&arena, &list);
    bool found = strcmp(word, "-") == 0 || strpbrk(word, "/.") != NULL;
    for (size_t i = 0; i < count && !found; i++) {
        found = strcmp(list[i].name, word) == 0;
    }
    gs_arena_fini(&arena);
    return found;
}

/* The newest run that ended well of those that the word names, else the newest. */
static gs_status pick_run(gs_store *store, const char *word, gs_arena *arena, gs_stored_run *out,
                          int64_t *out_id, int64_t *out_newest, gs_error *err)
{
    const int64_t *ids = NULL;
    uint32_t count = 0;
    GS_TRY(gs_store_find_runs(store, word, arena, &ids, &count, err));
    *out_newest = ids[count - 1];
    for (uint32_t i = count; i-- > 0;) {
        GS_TRY(gs_store_read_run(store, ids[i], arena, out, err));
        *out_id = ids[i];
        if (out->status == GS_RUN_OK || out->status == GS_RUN_RECOVERED) {
            return GS_OK;
        }
    }
    *out_id = *out_newest;
    return gs_store_read_run(store, *out_id, arena, out, err);
}

/* GS_ENOTFOUND also where there is no database. */
static gs_status find_run(const gs_cli *cli, gs_arena *arena, gs_stored_run *out, int64_t *out_id,
                          int64_t *out_newest, gs_error *err)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_store *store = NULL;
    GS_TRY(gs_cli_database(cli, path, sizeof path, &is_default, err));
    GS_TRY(gs_store_open(path, GS_STORE_READ, &store, err));
    gs_status status = pick_run(store, cli->words[0], arena, out, out_id, out_newest, err);
    gs_store_close(store);
    return status;
}

static int load_run(const gs_cli *cli, gs_loaded *out)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_stored_run run;
    gs_error err = {0};
    int64_t id = 0, newest = 0;
    char *config = NULL;
    if (find_run(cli, &arena, &run, &id, &newest, &err) != GS_OK ||
        gs_stored_config(&run, &config, &err) != GS_OK) {
        gs_arena_fini(&arena);
        return gs_complain_error(&err);
    }
    int code = gs_scenario_load_text(cli, run.scenario.name, config, out);
    free(config);
    if (code == GS_EXIT_OK && cli->word_count == 1 &&
        out->scenario.config_hash != run.scenario.config_hash && !cli->flags.quiet) {
        gs_complain("run %" PRId64
                    ": note: its profile or curve, or how they are read, has changed "
                    "since; what follows is of today's",
                    id);
    }
    if (code == GS_EXIT_OK && !cli->flags.quiet) {
        gs_complain("run %" PRId64 " of %s, %s, is simulated again without its numbers", id,
                    run.scenario.name, out->scenario.strategies[0].label);
    }
    if (code == GS_EXIT_OK && id != newest && !cli->flags.quiet) {
        gs_complain("note: %s names newer runs too, up to %" PRId64 ", which did not end well",
                    cli->words[0], newest);
    }
    gs_arena_fini(&arena);
    return code;
}

static int load(const gs_cli *cli, gs_loaded *out)
{
    if (cli->word_count > 0) {
        const char *word = cli->words[0];
        bool is_number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
        if (word[0] == '@' || is_number) {
            return load_run(cli, out);
        }
        gs_arena arena;
        gs_arena_init(&arena);
        gs_stored_run run;
        gs_error err = {0};
        int64_t id = 0, newest = 0;
        bool is_label =
            !is_scenario(word) && find_run(cli, &arena, &run, &id, &newest, &err) == GS_OK;
        gs_arena_fini(&arena);
        if (is_label) {
            return load_run(cli, out);
        }
    }
    int code = gs_scenario_load(cli, out);
    if (code == GS_EXIT_OK && out->scenario.strategy_count > 1 && !cli->flags.quiet) {
        gs_complain("%s: explains %s, the first of %u strategies; -s names another",
                    out->scenario.name, out->scenario.strategies[0].label,
                    out->scenario.strategy_count);
    }
    return code;
}

/* --- running and printing --------------------------------------------------------------------- */

/* The command that prints the same again. Owner: caller, free(). */
static char *command_text(const gs_cli *cli, const gs_loaded *loaded)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    gs_scenario_put_command(cli, loaded, out);
    fclose(out);
    return gs_need(text);
}

static int code_of(const gs_cli *cli, const gs_loaded *loaded, const gs_explain *explain)
{
    if (explain->interrupted) {
        return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
    }
    if (explain->error != NULL) {
        gs_complain("%s: %s", loaded->scenario.name, explain->error);
        return GS_EXIT_FAILED;
    }
    if (cli->flags.strict && explain->actual.outside_curve) {
        gs_complain("%s: sizes outside the measured curve; measure larger ones, or leave out "
                    "--strict",
                    loaded->scenario.name);
        return GS_EXIT_OUTSIDE;
    }
    return GS_EXIT_OK;
}

static void put(const gs_cli *cli, const gs_loaded *loaded, const gs_explain *explain, int code,
                FILE *out)
{
    char *command = command_text(cli, loaded);
    if (cli->flags.json) {
        gs_json *document = gs_explain_document(explain, command, code);
        char *text = gs_need(gs_json_write(document, true));
        fprintf(out, "%s\n", text);
        free(text);
        gs_json_free(document);
    } else {
        char *headline = gs_scenario_headline(&loaded->scenario);
        gs_explain_print(explain, cli, headline, command, out);
        free(headline);
    }
    free(command);
}

static int explain_it(const gs_cli *cli, const gs_loaded *loaded)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_progress progress;
    gs_progress_start(&progress, cli, 1);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gs_explain_config config = {
        .scenario = &loaded->scenario,
        .seeds = (uint32_t)loaded->scenario.seeds,
        .jobs = cli->flags.jobs > 0 ? cli->flags.jobs
                : processors < 1    ? 1
                                    : processors,
        .threads = cli->flags.threads,
        .progress = &progress,
    };
    gs_interrupt_watch();
    gs_explain explain;
    gs_explain_make(&config, &explain);
    code = code_of(cli, loaded, &explain);
    if (explain.interrupted || explain.error != NULL) {
        gs_output_drop(&output);
    } else {
        put(cli, loaded, &explain, code, output.text);
        int written = gs_output_close(&output);
        code = code == GS_EXIT_OK ? written : code;
    }
    gs_explain_free(&explain);
    return code;
}

int gs_cmd_explain(const gs_cli *cli)
{
    gs_loaded loaded = {0};
    gs_arena_init(&loaded.arena);
    gs_error err = {0};
    int code = load(cli, &loaded);
    if (code == GS_EXIT_OK && gs_scenario_runnable(&loaded.scenario, &err) != GS_OK) {
        code = gs_complain_error(&err);
    }
    if (code == GS_EXIT_OK) {
        code = explain_it(cli, &loaded);
    }
    gs_scenario_unload(&loaded);
    return code;
}
