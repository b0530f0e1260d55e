/* check: the scenario with every default, as it is hashed and stored; nothing is simulated. */
#include "tools/memory_page.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/scenario_load.h"
#include "tools/verbs.h"

#include <stdlib.h>

static int print_resolved(const gs_cli *cli, const gs_scenario *scenario)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    char *text = gs_need(gs_json_write(scenario->resolved, true));
    fprintf(output.text, "%s\n", text);
    free(text);
    return gs_output_close(&output);
}

static void tell_memory(const gs_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        if (!gs_memory_is_repeated(scenario, i)) {
            char *sentence = gs_memory_sentence(scenario, i);
            gs_complain("memory: %s", sentence);
            free(sentence);
        }
    }
}

int gs_cmd_check(const gs_cli *cli)
{
    gs_loaded loaded;
    int code = gs_scenario_load(cli, &loaded);
    if (code == GS_EXIT_OK) {
        gs_error err = {0};
        gs_status status = gs_scenario_runnable(&loaded.scenario, &err);
        if (status == GS_ELIMIT) {
            code = gs_complain_error(&err);
        } else if (status != GS_OK && !cli->flags.quiet) {
            /* Worth knowing, and no fault of the file: it resolves, this version cannot run it. */
            gs_complain("note: %s", err.text);
        }
        code = code == GS_EXIT_OK ? print_resolved(cli, &loaded.scenario) : code;
    }
    if (code == GS_EXIT_OK && !cli->flags.quiet) {
        char *headline = gs_scenario_headline(&loaded.scenario);
        gs_complain("%s", headline);
        free(headline);
        tell_memory(&loaded.scenario);
        if (loaded.launcher.variable != NULL) {
            gs_complain("%lld ranks, as %s says", (long long)loaded.launcher.ranks,
                        loaded.launcher.variable);
        }
        if (cli->environment[0] != '\0') {
            gs_complain("from the environment: %s", cli->environment);
        }
    }
    gs_scenario_unload(&loaded);
    return code;
}
