/* list: what there is of a kind. */
#include "live/live_net.h"
#include "models/dataset_source.h"
#include "models/model.h"
#include "strategies/codec.h"
#include "strategies/registry.h"
#include "tools/message.h"
#include "tools/page.h"
#include "tools/scenario_list.h"
#include "tools/show.h"
#include "tools/strategy_facts.h"
#include "tools/verbs.h"
#include "traces/importers/importer.h"
#include "traces/record.h"

#include <stdlib.h>
#include <string.h>

static void add_columns(gs_page *page, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        gs_table_add_column(&page->table, (gs_table_column){.title = names[i], .name = names[i]});
    }
}

static void add_row(gs_page *page, const char *name, const char *summary, const char *source)
{
    gs_table_add(&page->table, name, NULL);
    gs_table_add(&page->table, summary, NULL);
    gs_table_add(&page->table, source, NULL);
}

static const char *const sourced[] = {"name", "summary", "source", NULL};

static void list_strategies(gs_page *page)
{
    uint32_t count = 0;
    const gs_strategy **strategies = gs_sorted_strategies(&count);
    gs_table_add_column(&page->table, (gs_table_column){"name", "name", false});
    gs_table_add_column(&page->table, (gs_table_column){"through", "through", false});
    gs_table_add_column(&page->table, (gs_table_column){"summary", "summary", false});
    gs_table_add_column(&page->table, (gs_table_column){"source", "source", false});
    for (uint32_t i = 0; i < count; i++) {
        void *config = NULL;
        gs_layout layout;
        gs_error err;
        bool has = gs_usual_layout(strategies[i], &config, &layout, &err) == GS_OK;
        free(config);
        gs_table_add(&page->table, strategies[i]->name, NULL);
        gs_table_add(&page->table, has ? gs_through_names[gs_layout_through(&layout)] : "", NULL);
        gs_table_add(&page->table, strategies[i]->summary, NULL);
        gs_table_add(&page->table, strategies[i]->source, NULL);
    }
    free(strategies);
}

static void list_collectives(gs_page *page)
{
    add_columns(page, sourced);
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        const gs_collective *collective = gs_collective_at(i);
        add_row(page, collective->name, collective->summary, collective->source);
    }
}

static void list_codecs(gs_page *page)
{
    add_columns(page, sourced);
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        const gs_codec *codec = gs_codec_at(i);
        add_row(page, codec->name, codec->summary, codec->source);
    }
}

static void list_models(gs_page *page)
{
    add_columns(page, sourced);
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        const gs_model *model = gs_model_at(i);
        add_row(page, model->name, model->summary, model->source);
    }
}

static void list_datasets(gs_page *page)
{
    add_columns(page, sourced);
    for (size_t i = 0; gs_data_source_at(i) != NULL; i++) {
        const gs_data_source *source = gs_data_source_at(i);
        add_row(page, source->name, source->summary, source->source);
    }
}

static void list_formats(gs_page *page)
{
    add_columns(page, sourced);
    for (size_t i = 0; i < gs_importer_count(); i++) {
        const gs_importer *importer = gs_importer_at(i);
        add_row(page, importer->name, importer->summary, importer->source);
    }
}

/* What can be named without a path, in one of two folders. */
static void list_named(gs_page *page, size_t list(gs_arena *arena, const gs_named_scenario **out))
{
    static const char *const names[] = {"name", "summary", NULL};
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_named_scenario *items = NULL;
    size_t count = list(&arena, &items);
    add_columns(page, names);
    for (size_t i = 0; i < count; i++) {
        gs_table_add(&page->table, items[i].name, NULL);
        gs_table_add(&page->table, items[i].summary, NULL);
    }
    gs_arena_fini(&arena);
}

static void list_metrics(gs_page *page)
{
    static const char *const names[] = {"name", "unit", "better", "exact", "summary", NULL};
    add_columns(page, names);
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        const gs_metric *metric = gs_metric_at(i);
        gs_table_add(&page->table, metric->name, NULL);
        gs_table_add(&page->table, metric->unit, NULL);
        gs_table_add(&page->table, metric->better, NULL);
        gs_table_add(&page->table, metric->exact ? "yes" : "no", NULL);
        gs_table_add(&page->table, metric->help, NULL);
    }
}

static void list_transports(gs_page *page)
{
    static const char *const columns[] = {"name", "summary", "launcher", NULL};
    add_columns(page, columns);
    for (uint32_t i = 0; i < gs_transport_count(); i++) {
        const gs_transport *transport = gs_transport_at(i);
        add_row(page, transport->name, transport->summary, transport->launcher);
    }
}

static void fill(gs_page *page, const char *kind)
{
    if (strcmp(kind, "strategies") == 0) {
        list_strategies(page);
    } else if (strcmp(kind, "collectives") == 0) {
        list_collectives(page);
    } else if (strcmp(kind, "models") == 0) {
        list_models(page);
    } else if (strcmp(kind, "datasets") == 0) {
        list_datasets(page);
    } else if (strcmp(kind, "formats") == 0) {
        list_formats(page);
    } else if (strcmp(kind, "scenarios") == 0) {
        list_named(page, gs_scenario_list);
    } else if (strcmp(kind, "profiles") == 0) {
        list_named(page, gs_profile_list);
    } else if (strcmp(kind, "metrics") == 0) {
        list_metrics(page);
    } else if (strcmp(kind, "codecs") == 0) {
        list_codecs(page);
    } else if (strcmp(kind, "transports") == 0) {
        list_transports(page);
    } else {
        gs_list_devices(page);
    }
}

int gs_cmd_list(const gs_cli *cli)
{
    if (cli->word_count != 1) {
        gs_complain("list: what? allowed is one of strategies, codecs, collectives, models, "
                    "datasets, formats, scenarios, profiles, metrics, transports, devices");
        return GS_EXIT_USAGE;
    }
    gs_page page;
    gs_page_init(&page, "list", "items");
    fill(&page, cli->words[0]);
    int code = gs_page_print(&page, cli);
    gs_page_fini(&page);
    return code;
}
