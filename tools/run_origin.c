#include "tools/run_origin.h"

#include "tools/config_difference.h"
#include "tools/message.h"
#include "tools/version.h"

#include <stdlib.h>
#include <string.h>

static void set(gs_json *object, const char *key, gs_json *value)
{
    if (!gs_json_set(object, key, value)) {
        gs_need(NULL);
    }
}

char *gs_run_origin_text(const gs_scenario *scenario, const gs_strategy_choice *choice)
{
    gs_json *origin = gs_json_new_object();
    set(origin, "build", gs_json_new_text(gs_version_line()));
    set(origin, "strategy", gs_json_new_text(choice->label));
    set(origin, "parameters", gs_json_new_text(choice->params_json));
    set(origin, "scenario", gs_need(gs_json_copy(scenario->resolved)));
    char *text = gs_need(gs_json_write(origin, false));
    gs_json_free(origin);
    return text;
}

static void tell_text(const char *file, const gs_json_at *root, const char *key, const char *here)
{
    gs_json_at at;
    const char *there = NULL;
    if (gs_json_find(root, key, &at) && gs_json_text(&at, &there, NULL) == GS_OK &&
        strcmp(there, here) != 0) {
        gs_complain("%s: %s when it was recorded: %s; here: %s", file, key, there, here);
    }
}

void gs_run_origin_tell(const char *file, const char *origin, const gs_scenario *scenario,
                        const gs_strategy_choice *choice)
{
    gs_json_at root;
    gs_json_at at;
    gs_error err;
    if (origin == NULL || gs_json_parse(origin, strlen(origin), file, &root, &err) != GS_OK) {
        return;
    }
    tell_text(file, &root, "build", gs_version_line());
    tell_text(file, &root, "parameters", choice->params_json);
    if (gs_json_find(&root, "scenario", &at)) {
        char *there = gs_need(gs_json_write(at.value, false));
        char *here = gs_need(gs_json_write(scenario->resolved, false));
        char *difference = gs_config_difference(there, here);
        if (difference != NULL) {
            gs_complain("%s: scenario when it was recorded against here: %s", file, difference);
        }
        free(there);
        free(here);
        free(difference);
    }
    gs_json_free(root.value);
}
