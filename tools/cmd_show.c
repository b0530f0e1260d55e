/* show: finds out what a name is, and prints its page. */
#include "base/nearest.h"
#include "strategies/codec.h"
#include "strategies/other_names.h"
#include "models/dataset_shards.h"
#include "models/dataset_source.h"
#include "tools/message.h"
#include "tools/scenario_list.h"
#include "tools/show.h"
#include "tools/verbs.h"
#include "traces/record.h"

#include <string.h>

enum { NAMES_MAX = 512 };

static int show_model(gs_page *page, const gs_model *model)
{
    gs_page_fact(page, "name", "model", model->name, NULL);
    gs_page_fact(page, "summary", "", model->summary, NULL);
    gs_page_fact(page, "source", "source", model->source, NULL);
    gs_show_parameters(page, model->config_table);
    return GS_EXIT_OK;
}

/* The keys of the source, and those that every source takes. */
static int show_data(gs_page *page, const gs_data_source *source)
{
    gs_page_fact(page, "name", "data", source->name, NULL);
    gs_page_fact(page, "summary", "", source->summary, NULL);
    gs_page_fact(page, "source", "source", source->source, NULL);
    gs_show_parameters(page, source->config_table);
    gs_show_more_parameters(page, &gs_shard_config_table);
    return GS_EXIT_OK;
}

static int show_importer(gs_page *page, const gs_importer *importer)
{
    gs_page_fact(page, "name", "format", importer->name, NULL);
    gs_page_fact(page, "summary", "", importer->summary, NULL);
    gs_page_fact(page, "source", "source", importer->source, NULL);
    return GS_EXIT_OK;
}

static int show_metric(gs_page *page, const gs_metric *metric)
{
    gs_page_fact(page, "name", "metric", metric->name, NULL);
    gs_page_fact(page, "summary", "", metric->help, NULL);
    gs_page_fact(page, "unit", "unit", metric->unit, NULL);
    gs_page_fact(page, "better", "better", metric->better, NULL);
    gs_page_fact(page, "exact", "exact",
                 metric->exact ? "yes: bit for bit from the seed, in the simulator"
                               : "no: depends on the BLAS kernel",
                 gs_json_new_bool(metric->exact));
    return GS_EXIT_OK;
}

/* Everything that has a name, for "did you mean". */
static const char *nearest(const char *name, gs_arena *arena)
{
    const char *names[NAMES_MAX] = {"matrix", "collective"};
    size_t count = 2;
    for (uint32_t i = 0; i < gs_strategy_count() && count < NAMES_MAX; i++) {
        names[count++] = gs_strategy_at(i)->name;
    }
    for (uint32_t i = 0; i < gs_collective_count() && count < NAMES_MAX; i++) {
        names[count++] = gs_collective_at(i)->name;
    }
    for (uint32_t i = 0; i < gs_codec_count() && count < NAMES_MAX; i++) {
        names[count++] = gs_codec_at(i)->name;
    }
    for (size_t i = 0; gs_model_at(i) != NULL && count < NAMES_MAX; i++) {
        names[count++] = gs_model_at(i)->name;
    }
    for (size_t i = 0; gs_data_source_at(i) != NULL && count < NAMES_MAX; i++) {
        names[count++] = gs_data_source_at(i)->name;
    }
    for (size_t i = 0; i < gs_importer_count() && count < NAMES_MAX; i++) {
        names[count++] = gs_importer_at(i)->name;
    }
    for (uint32_t i = 0; i < gs_metric_count() && count < NAMES_MAX; i++) {
        names[count++] = gs_metric_at(i)->name;
    }
    for (size_t i = 0; i < gs_device_count() && count < NAMES_MAX; i++) {
        names[count++] = gs_device_at(i)->name;
    }
    const gs_named_scenario *scenarios = NULL;
    size_t scenario_count = gs_scenario_list(arena, &scenarios);
    for (size_t i = 0; i < scenario_count && count < NAMES_MAX; i++) {
        names[count++] = scenarios[i].name;
    }
    const gs_named_scenario *profiles = NULL;
    size_t profile_count = gs_profile_list(arena, &profiles);
    for (size_t i = 0; i < profile_count && count < NAMES_MAX; i++) {
        names[count++] = profiles[i].name;
    }
    return gs_nearest_name(name, names, count);
}

/* The bundled profile of that name, or NULL. */
static const gs_named_scenario *find_profile(const char *name, gs_arena *arena)
{
    const gs_named_scenario *profiles = NULL;
    size_t count = gs_profile_list(arena, &profiles);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

static bool is_scenario(const char *name, gs_arena *arena)
{
    size_t length = strlen(name);
    const gs_named_scenario *scenarios = NULL;
    size_t count = gs_scenario_list(arena, &scenarios);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(scenarios[i].name, name) == 0) {
            return true;
        }
    }
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

/* What is left over is a run, or a name that nobody knows. */
static int show_run(gs_page *page, const gs_cli *cli, gs_arena *arena)
{
    const char *name = cli->words[0];
    bool is_selector = name[0] == '@' || strspn(name, "0123456789") == strlen(name);
    const char *near = is_selector ? NULL : nearest(name, arena);
    const char *here = gs_other_name(name);
    page->kind = "run";
    if (here != NULL) {
        gs_complain("show: no %s: that is %s", name, here);
        return GS_EXIT_USAGE;
    }
    if (near != NULL) {
        gs_complain("show: unknown name %s; did you mean %s?", name, near);
        return GS_EXIT_USAGE;
    }
    return gs_show_run(page, cli);
}

static int fill(gs_page *page, const gs_cli *cli, gs_arena *arena)
{
    const char *name = cli->words[0];
    if (strcmp(name, "matrix") == 0) {
        return gs_show_matrix(page);
    }
    if (strcmp(name, "collective") == 0) {
        return gs_show_tuning(page, cli);
    }
    if (gs_strategy_find(name) != NULL) {
        return gs_show_strategy(page, cli, gs_strategy_find(name));
    }
    if (gs_collective_find(name) != NULL) {
        return gs_show_collective(page, cli, gs_collective_find(name));
    }
    if (gs_codec_find(name) != NULL) {
        return gs_show_codec(page, cli, gs_codec_find(name));
    }
    if (gs_model_find(name) != NULL) {
        return show_model(page, gs_model_find(name));
    }
    if (gs_data_source_find(name) != NULL) {
        return show_data(page, gs_data_source_find(name));
    }
    if (gs_importer_find(name) != NULL) {
        return show_importer(page, gs_importer_find(name));
    }
    uint32_t metric = gs_metric_find(name);
    if (metric < gs_metric_count()) {
        return show_metric(page, gs_metric_at(metric));
    }
    if (is_scenario(name, arena)) {
        return gs_show_scenario(page, cli);
    }
    const gs_named_scenario *profile = find_profile(name, arena);
    if (profile != NULL) {
        return gs_show_profile(page, profile, arena);
    }
    if (gs_device_find(name) != NULL) {
        return gs_show_device(page, gs_device_find(name));
    }
    return show_run(page, cli, arena);
}

/* Words after the name that the kind does not read would be lost in silence. */
static int check_words(const gs_cli *cli, gs_arena *arena)
{
    if (cli->word_count == 0) {
        gs_complain("show: what? name something that gradsync list prints, or a run such as "
                    "@last");
        return GS_EXIT_USAGE;
    }
    bool costs = gs_strategy_find(cli->words[0]) != NULL && cli->flags.scenario[0] != '\0';
    if (cli->word_count > 1 && !costs && strcmp(cli->words[0], "collective") != 0 &&
        gs_collective_find(cli->words[0]) == NULL && !is_scenario(cli->words[0], arena)) {
        gs_complain("show %s: takes no more words, not %s", cli->words[0], cli->words[1]);
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

int gs_cmd_show(const gs_cli *cli)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_page page;
    gs_page_init(&page, "show", NULL);
    int code = check_words(cli, &arena);
    if (code == GS_EXIT_OK) {
        code = fill(&page, cli, &arena);
    }
    if (code == GS_EXIT_OK) {
        code = gs_page_print(&page, cli);
    }
    gs_page_fini(&page);
    gs_arena_fini(&arena);
    return code;
}
