#include "tools/stored_config.h"

#include "base/json.h"
#include "tools/message.h"

#include <string.h>

static gs_status add_strategy(gs_json *list, const gs_stored_run *run, gs_error *err)
{
    gs_json_at choice = {0};
    const char *params = run->strategy.params_json;
    GS_TRY(gs_json_parse(params, strlen(params), run->strategy.name, &choice, err));
    gs_json *strategy = gs_need(gs_json_copy(choice.value));
    (void)gs_json_set(strategy, "name", gs_need(gs_json_new_text(run->strategy.name)));
    (void)gs_json_add(list, strategy);
    gs_json_free(choice.value);
    return GS_OK;
}

gs_status gs_stored_config_of(const gs_stored_run *const *runs, uint32_t count, char **out,
                              gs_error *err)
{
    gs_json_at config = {0};
    const gs_stored_scenario *scenario = &runs[0]->scenario;
    GS_TRY(gs_json_parse(scenario->config_json, strlen(scenario->config_json), scenario->name,
                         &config, err));
    gs_json *list = gs_need(gs_json_new_list());
    gs_status status = GS_OK;
    for (uint32_t i = 0; status == GS_OK && i < count; i++) {
        status = add_strategy(list, runs[i], err);
    }
    (void)gs_json_set(config.value, "strategies", list);
    if (status == GS_OK) {
        *out = gs_need(gs_json_write(config.value, false));
    }
    gs_json_free(config.value);
    return status;
}

gs_status gs_stored_config(const gs_stored_run *run, char **out, gs_error *err)
{
    return gs_stored_config_of(&run, 1, out, err);
}
