#include "tools/stored_config.h"

#include "base/json.h"
#include "tools/message.h"

#include <string.h>

gs_status gs_stored_config(const gs_stored_run *run, char **out, gs_error *err)
{
    gs_json_at config = {0};
    gs_json_at choice = {0};
    const char *params = run->strategy.params_json;
    GS_TRY(gs_json_parse(run->scenario.config_json, strlen(run->scenario.config_json),
                         run->scenario.name, &config, err));
    gs_status status = gs_json_parse(params, strlen(params), run->strategy.name, &choice, err);
    if (status == GS_OK) {
        gs_json *list = gs_need(gs_json_new_list());
        gs_json *strategy = gs_need(gs_json_copy(choice.value));
        (void)gs_json_set(strategy, "name", gs_need(gs_json_new_text(run->strategy.name)));
        (void)gs_json_add(list, strategy);
        (void)gs_json_set(config.value, "strategies", list);
        *out = gs_need(gs_json_write(config.value, false));
        gs_json_free(choice.value);
    }
    gs_json_free(config.value);
    return status;
}
