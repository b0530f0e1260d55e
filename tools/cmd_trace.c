/* trace: what measured files are (probe), what they hold (stat), a profile of them (import), and
 * which rank is late (slow). */
#include "tools/message.h"
#include "tools/output.h"
#include "tools/page.h"
#include "tools/slow_ops_page.h"
#include "tools/slow_page.h"
#include "tools/trace_page.h"
#include "tools/verbs.h"
#include "traces/importers/importer.h"
#include "traces/importers/profile_json.h"
#include "traces/importers/trace_stat.h"
#include "traces/node_json.h"

#include <stdlib.h>
#include <string.h>

/* Reads the files after the first word. An exit code. */
static int read_files(const gs_cli *cli, gs_arena *arena, gs_imported *out)
{
    gs_import_options options = {
        .format = cli->flags.format[0] == '\0' ? NULL : cli->flags.format,
        .collective = cli->flags.collective[0] == '\0' ? NULL : cli->flags.collective,
        .time_unit = cli->flags.time_unit[0] == '\0' ? NULL : cli->flags.time_unit,
    };
    gs_error err = {0};
    if (gs_import(cli->words + 1, cli->word_count - 1, &options, arena, out, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    for (uint32_t i = 0; i < out->note_count && cli->flags.strict; i++) {
        gs_complain("%s: %s; --strict makes notes errors", cli->words[1], out->notes[i]);
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

static gs_json *statistics(const gs_imported *imported)
{
    gs_json *object = gs_need(gs_json_new_object());
    if (!gs_json_set(object, "schema", gs_json_new_text("gradsync.trace/1")) ||
        gs_trace_stat(imported, object) != GS_OK) {
        gs_need(NULL);
    }
    return object;
}

static int print_document(const gs_cli *cli, gs_json *document)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code == GS_EXIT_OK) {
        char *text = gs_need(gs_json_write(document, true));
        fprintf(output.text, "%s\n", text);
        free(text);
        code = gs_output_close(&output);
    }
    return code;
}

static int probe(const gs_cli *cli, const gs_imported *imported)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code == GS_EXIT_OK) {
        char *line = gs_trace_line(imported);
        fprintf(output.text, "%s\n", line);
        free(line);
        code = gs_output_close(&output);
    }
    return code;
}

static int stat_files(const gs_cli *cli, const gs_imported *imported)
{
    gs_page page;
    gs_page_init(&page, "trace", "rows");
    gs_trace_fill(&page, imported);
    int code = gs_page_print(&page, cli);
    gs_page_fini(&page);
    return code;
}

static int import_files(const gs_cli *cli, const gs_imported *imported)
{
    if (imported->profile == NULL && imported->curve_count == 0 && imported->node == NULL) {
        gs_complain("%s: %s holds nothing that a scenario could use; gradsync trace slow reads it",
                    cli->words[1], imported->format);
        return GS_EXIT_USAGE;
    }
    gs_json *document = gs_need(gs_json_new_object());
    bool fine = imported->node != NULL ? gs_node_json_write(imported->node, document)
                                       : gs_trace_import_json(imported, document) == GS_OK;
    if (!fine) {
        gs_need(NULL);
    }
    int code = print_document(cli, document);
    gs_json_free(document);
    if (code == GS_EXIT_OK && !cli->flags.quiet) {
        char *line = gs_trace_line(imported);
        gs_complain("%s", line);
        free(line);
    }
    return code;
}

static int slow_ranks(const gs_cli *cli, const gs_imported *imported)
{
    if (imported->ops != NULL) {
        return gs_slow_ops_print(cli, imported);
    }
    if (imported->step_table == NULL) {
        gs_complain("%s: %s holds no times by rank and step; give profiler traces of all ranks or "
                    "a CSV with step, rank and time_ms",
                    cli->words[1], imported->format);
        return GS_EXIT_USAGE;
    }
    gs_error err = {0};
    gs_page page;
    gs_page_init(&page, "slow", "ranks");
    int code = gs_slow_page_fill(&page, imported, &err) == GS_OK ? gs_page_print(&page, cli)
                                                                 : gs_complain_error(&err);
    gs_page_fini(&page);
    return code;
}

static int run(const gs_cli *cli, const gs_imported *imported)
{
    const char *what = cli->words[0];
    if (strcmp(what, "slow") == 0) {
        return slow_ranks(cli, imported);
    }
    if (strcmp(what, "import") == 0 && cli->flags.dry_run) {
        return probe(cli, imported);
    }
    if (strcmp(what, "import") == 0) {
        return import_files(cli, imported);
    }
    if (cli->flags.json) {
        gs_json *document = statistics(imported);
        int code = print_document(cli, document);
        gs_json_free(document);
        return code;
    }
    return strcmp(what, "probe") == 0 ? probe(cli, imported) : stat_files(cli, imported);
}

int gs_cmd_trace(const gs_cli *cli)
{
    if (cli->word_count == 0) {
        gs_complain("trace: what? allowed is probe, stat, import or slow, then files");
        return GS_EXIT_USAGE;
    }
    if (cli->word_count == 1) {
        gs_complain("trace %s: which files?", cli->words[0]);
        return GS_EXIT_USAGE;
    }
    gs_arena arena;
    gs_arena_init(&arena);
    gs_imported imported = {0};
    int code = read_files(cli, &arena, &imported);
    if (code == GS_EXIT_OK) {
        code = run(cli, &imported);
    }
    gs_arena_fini(&arena);
    return code;
}
