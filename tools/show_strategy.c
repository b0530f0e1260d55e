/* show STRATEGY and show SCENARIO: what may be said, and what it costs on a given job. */
#include "tools/memory_page.h"
#include "tools/message.h"
#include "tools/scenario_load.h"
#include "tools/show.h"
#include "tools/strategy_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gs_show_parameters(gs_page *page, const gs_field_table *table)
{
    page->table_key = "parameters";
    gs_table_add_column(&page->table, (gs_table_column){"parameter", "name", false});
    gs_table_add_column(&page->table, (gs_table_column){"default", "default", false});
    gs_table_add_column(&page->table, (gs_table_column){"allowed", "allowed", false});
    gs_table_add_column(&page->table, (gs_table_column){"what", "help", false});
    gs_show_more_parameters(page, table);
}

void gs_show_more_parameters(gs_page *page, const gs_field_table *table)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const gs_field *field = &table->fields[i];
        char allowed[320];
        gs_table_add(&page->table, field->name, NULL);
        gs_table_add(&page->table, field->default_text == NULL ? "(required)" : field->default_text,
                     NULL);
        gs_table_add(&page->table, gs_config_allowed_text(field, allowed, sizeof allowed), NULL);
        gs_table_add(&page->table, field->help, NULL);
    }
}

/* The scenario of --scenario, changed as the words after the name say, with the strategy as it is
 * named, or as -s has it. */
static int add_costs(gs_page *page, const gs_cli *cli, const gs_strategy *strategy)
{
    gs_cli asked = *cli;
    const char **words = gs_need(calloc(cli->word_count, sizeof *words));
    memcpy(words, cli->words, cli->word_count * sizeof *words);
    words[0] = cli->flags.scenario;
    asked.words = words;
    if (cli->strategy_count == 0) {
        asked.strategies[0] = strategy->name;
        asked.strategy_count = 1;
    }
    gs_loaded loaded;
    gs_error err = {0};
    int code = gs_scenario_load(&asked, &loaded);
    if (code == GS_EXIT_OK &&
        gs_strategy_costs(page, &loaded.scenario, &loaded.arena, &err) != GS_OK) {
        code = gs_complain_error(&err);
    }
    if (code == GS_EXIT_OK) {
        gs_memory_facts(page, &loaded.scenario);
    }
    gs_scenario_unload(&loaded);
    free(words);
    return code;
}

int gs_show_strategy(gs_page *page, const gs_cli *cli, const gs_strategy *strategy)
{
    gs_page_fact(page, "name", "strategy", strategy->name, NULL);
    gs_page_fact(page, "summary", "", strategy->summary, NULL);
    gs_page_fact(page, "source", "source", strategy->source, NULL);
    gs_strategy_facts(page, strategy);
    gs_show_parameters(page, strategy->config);
    return cli->flags.scenario[0] == '\0' ? GS_EXIT_OK : add_costs(page, cli, strategy);
}

int gs_show_scenario(gs_page *page, const gs_cli *cli)
{
    gs_loaded loaded;
    int code = gs_scenario_load(cli, &loaded);
    if (code == GS_EXIT_OK) {
        const gs_scenario *scenario = &loaded.scenario;
        char *headline = gs_scenario_headline(scenario);
        char *model = gs_scenario_model_name(scenario);
        char number[64];
        gs_page_fact(page, "name", "scenario", scenario->name, NULL);
        gs_page_fact(page, "file", "file", scenario->file, NULL);
        gs_page_fact(page, "headline", "job", headline, NULL);
        gs_page_fact(page, "model", "model", model, NULL);
        snprintf(number, sizeof number, "%lld", (long long)scenario->workload.budget_steps);
        gs_page_fact(page, "steps", "steps", number,
                     gs_json_new_int(scenario->workload.budget_steps));
        snprintf(number, sizeof number, "%016llx", (unsigned long long)scenario->config_hash);
        gs_page_fact(page, "config_hash", "config", number, NULL);
        gs_memory_facts(page, scenario);
        page->table_key = "strategies";
        gs_table_add_column(&page->table, (gs_table_column){"strategy", "strategy", false});
        gs_table_add_column(&page->table, (gs_table_column){"parameters", "parameters", false});
        for (uint32_t i = 0; i < scenario->strategy_count; i++) {
            gs_table_add(&page->table, scenario->strategies[i].label, NULL);
            gs_table_add(&page->table, scenario->strategies[i].params_json, NULL);
        }
        free(headline);
        free(model);
    }
    gs_scenario_unload(&loaded);
    return code;
}
