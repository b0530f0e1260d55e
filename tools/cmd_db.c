/* db: databases of runs put together, cleared, written out and looked at. */
#include "tools/message.h"
#include "tools/page.h"
#include "tools/verbs.h"
#include "traces/store/store_check.h"
#include "traces/store/store_flat.h"
#include "traces/store/store_gc.h"
#include "traces/store/store_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int open_store(const gs_cli *cli, gs_store_mode mode, gs_store **out)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    if (status == GS_OK) {
        status = gs_store_open(
            path, mode == GS_STORE_WRITE && is_default ? GS_STORE_WRITE_MAKE_FOLDERS : mode, out,
            &err);
    }
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}

/* What the database refused: nothing was done. */
static int complain(const gs_error *err)
{
    gs_complain("%s", err->text);
    return err->code == GS_EIO || err->code == GS_EBUSY || err->code == GS_ENOMEM ? GS_EXIT_FAILED
                                                                                  : GS_EXIT_USAGE;
}

static int print_page(gs_page *page, const gs_cli *cli)
{
    int code = gs_page_print(page, cli);
    gs_page_fini(page);
    return code;
}

static void add_count(gs_page *page, int64_t count)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, count);
    gs_table_add(&page->table, text, NULL);
}

static int want_words(const gs_cli *cli, size_t least, size_t most, const char *what)
{
    if (cli->word_count - 1 >= least && cli->word_count - 1 <= most) {
        return GS_EXIT_OK;
    }
    gs_complain("db %s: %s", cli->words[0], what);
    return GS_EXIT_USAGE;
}

/* --- merge ------------------------------------------------------------------------------------ */

static int merge(const gs_cli *cli)
{
    gs_store *store = NULL;
    int code = want_words(cli, 1, SIZE_MAX, "which databases? they are merged into that of --db");
    code = code == GS_EXIT_OK ? open_store(cli, GS_STORE_WRITE, &store) : code;
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_page page;
    gs_page_init(&page, "merge", "files");
    gs_table_add_column(&page.table, (gs_table_column){"file", "file", false});
    gs_table_add_column(&page.table, (gs_table_column){"added", "added", true});
    gs_table_add_column(&page.table, (gs_table_column){"there already", "same", true});
    gs_table_add_column(&page.table, (gs_table_column){"completed", "completed", true});
    gs_merged all = {0};
    for (size_t i = 1; i < cli->word_count && code == GS_EXIT_OK; i++) {
        gs_merged one;
        gs_error err = {0};
        if (gs_store_merge(store, cli->words[i], &one, &err) != GS_OK) {
            code = complain(&err);
            break;
        }
        gs_table_add(&page.table, cli->words[i], NULL);
        add_count(&page, one.added);
        add_count(&page, one.same);
        add_count(&page, one.completed);
        all.added += one.added;
        all.same += one.same;
        all.completed += one.completed;
        all.renumbered += one.renumbered;
    }
    if (all.renumbered > 0) {
        gs_page_note(&page, "Measurements that got the next free number of their key: %" PRId64 ".",
                     all.renumbered);
    }
    gs_page_note(&page,
                 "%" PRId64 " run%s added, %" PRId64 " there already, %" PRId64
                 " took the place of interrupted ones.",
                 all.added, all.added == 1 ? "" : "s", all.same, all.completed);
    gs_store_close(store);
    int written = print_page(&page, cli);
    return code == GS_EXIT_OK ? written : code;
}

/* --- gc --------------------------------------------------------------------------------------- */

/* UTC so long ago, as runs have it. */
static void utc_before(gs_time_ns age_ns, char out[GS_UTC_BYTES])
{
    time_t then = time(NULL) - (time_t)(age_ns / GS_NS_PER_S);
    struct tm parts = {0};
    (void)gmtime_r(&then, &parts);
    (void)strftime(out, GS_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static int collect(const gs_cli *cli)
{
    gs_store *store = NULL;
    int code = want_words(cli, 0, 0,
                          "takes no words; --older-than, --label and --interrupted say "
                          "which runs go");
    bool dry = cli->flags.dry_run;
    code = code == GS_EXIT_OK ? open_store(cli, GS_STORE_READ, &store) : code;
    if (code != GS_EXIT_OK) {
        return code;
    }
    char utc[GS_UTC_BYTES];
    utc_before(cli->flags.older_than, utc);
    gs_gc_rule rule = {
        .before_utc = cli->from[GS_FLAG_older_than] == GS_FROM_BUILT_IN ? NULL : utc,
        .label = cli->from[GS_FLAG_label] == GS_FROM_FLAG ? cli->flags.label : NULL,
        .interrupted = cli->flags.interrupted,
    };
    gs_collected collected;
    gs_error err = {0};
    gs_status status = gs_store_collect(store, &rule, dry, &collected, &err);
    gs_store_close(store);
    if (status != GS_OK) {
        return complain(&err);
    }
    char before[GS_UNIT_TEXT_BYTES];
    char after[GS_UNIT_TEXT_BYTES];
    gs_page page;
    gs_page_init(&page, "gc", NULL);
    char *runs = gs_text("%" PRId64, collected.runs);
    char *unused = gs_text("%" PRId64, collected.unused);
    char *size = dry ? gs_text("%s", gs_format_bytes(collected.bytes_before, before))
                     : gs_text("%s, was %s", gs_format_bytes(collected.bytes_after, after),
                               gs_format_bytes(collected.bytes_before, before));
    gs_page_fact(&page, "runs", "runs", runs, gs_json_new_int(collected.runs));
    gs_page_fact(&page, "unused", "unused", unused, gs_json_new_int(collected.unused));
    gs_page_fact(&page, "bytes", "size", size, gs_json_new_int(collected.bytes_after));
    if (collected.kept > 0) {
        gs_page_note(&page,
                     "%" PRId64 " more meet the rule and stay: a baseline holds them "
                     "(gradsync baseline rm).",
                     collected.kept);
    }
    gs_page_note(&page, "%s %" PRId64 " run%s, and %" PRId64 " unused row%s of other tables.",
                 dry ? "Would drop" : "Dropped", collected.runs, collected.runs == 1 ? "" : "s",
                 collected.unused, collected.unused == 1 ? "" : "s");
    free(runs);
    free(unused);
    free(size);
    return print_page(&page, cli);
}

/* --- export ----------------------------------------------------------------------------------- */

static void add_flat(void *context, const char *const values[GS_FLAT_COLUMNS])
{
    gs_page *page = context;
    for (int i = 0; i < GS_FLAT_COLUMNS; i++) {
        gs_table_add(&page->table, values[i] == NULL ? "" : values[i], NULL);
    }
}

static gs_status export_runs(gs_store *store, const char *selector, gs_page *page, gs_error *err)
{
    gs_arena arena;
    gs_arena_init(&arena);
    const int64_t *ids = NULL;
    uint32_t count = 0;
    gs_status status = selector == NULL
                           ? gs_store_all_runs(store, &arena, &ids, &count, err)
                           : gs_store_find_runs(store, selector, &arena, &ids, &count, err);
    for (uint32_t i = 0; i < count && status == GS_OK; i++) {
        status = gs_store_visit_flat(store, ids[i], add_flat, page, err);
    }
    gs_arena_fini(&arena);
    return status;
}

static int export_all(const gs_cli *cli)
{
    gs_store *store = NULL;
    int code = open_store(cli, GS_STORE_READ, &store);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_page page;
    gs_error err = {0};
    gs_page_init(&page, "export", "rows");
    for (int i = 0; i < GS_FLAT_COLUMNS; i++) {
        const gs_flat_column *column = &gs_flat_columns[i];
        gs_table_add_column(&page.table,
                            (gs_table_column){column->name, column->name, column->is_number});
    }
    gs_status status = cli->word_count == 1 ? export_runs(store, NULL, &page, &err) : GS_OK;
    for (size_t i = 1; i < cli->word_count && status == GS_OK; i++) {
        status = export_runs(store, cli->words[i], &page, &err);
    }
    gs_store_close(store);
    if (status != GS_OK) {
        gs_page_fini(&page);
        return complain(&err);
    }
    gs_cli as = *cli;
    as.flags.csv = !cli->flags.json && !cli->flags.markdown; /* rows are for programs */
    return print_page(&page, &as);
}

/* --- check ------------------------------------------------------------------------------------ */

static int look_at(const gs_cli *cli)
{
    gs_store *store = NULL;
    int code = want_words(cli, 0, 0, "takes no words; --db names the database");
    code = code == GS_EXIT_OK ? open_store(cli, GS_STORE_READ, &store) : code;
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_finding *findings = NULL;
    uint32_t count = 0;
    uint32_t damages = 0;
    gs_error err = {0};
    gs_status status = gs_store_check(store, &arena, &findings, &count, &err);
    gs_store_close(store);
    if (status != GS_OK) {
        gs_arena_fini(&arena);
        gs_complain("%s", err.text);
        return GS_EXIT_FAILED; /* it could be opened: what follows is damaged */
    }
    gs_page page;
    gs_page_init(&page, "check", "findings");
    gs_table_add_column(&page.table, (gs_table_column){"", "kind", false});
    gs_table_add_column(&page.table, (gs_table_column){"finding", "finding", false});
    for (uint32_t i = 0; i < count; i++) {
        gs_table_add(&page.table, findings[i].is_damage ? "x" : "-",
                     findings[i].is_damage ? "damage" : "remark");
        gs_table_add(&page.table, findings[i].text, NULL);
        damages += findings[i].is_damage ? 1 : 0;
    }
    gs_arena_fini(&arena);
    if (damages > 0) {
        gs_page_note(&page, "DAMAGED: restore a copy, or make the runs again with another --db.");
    } else {
        gs_page_note(&page, "The database is whole.");
    }
    int written = print_page(&page, cli);
    return damages > 0 ? GS_EXIT_FAILED : written;
}

/* ---------------------------------------------------------------------------------------------- */

int gs_cmd_db(const gs_cli *cli)
{
    static const struct {
        const char *name;
        int (*run)(const gs_cli *cli);
    } jobs[] = {{"merge", merge}, {"gc", collect}, {"export", export_all}, {"check", look_at}};
    bool is_gc = cli->word_count > 0 && strcmp(cli->words[0], "gc") == 0;
    if (!is_gc &&
        (cli->flags.interrupted || cli->flags.dry_run || cli->from[GS_FLAG_label] == GS_FROM_FLAG ||
         cli->from[GS_FLAG_older_than] != GS_FROM_BUILT_IN)) {
        gs_complain("db: --older-than, --label, --interrupted and --dry-run are of gc alone");
        return GS_EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if (cli->word_count > 0 && strcmp(cli->words[0], jobs[i].name) == 0) {
            return jobs[i].run(cli);
        }
    }
    gs_complain("db: %s%.40s%s; one of merge, gc, export, check",
                cli->word_count == 0 ? "what is to be done" : "unknown word \"",
                cli->word_count == 0 ? "?" : cli->words[0], cli->word_count == 0 ? "" : "\"");
    return GS_EXIT_USAGE;
}
