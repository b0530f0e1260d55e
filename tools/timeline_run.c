#include "tools/timeline_run.h"

#include "sim/sim.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/output.h"
#include "traces/export_chrome.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Small: a run that has passed the window ends soon, and so does one that a signal ends. */
enum { SLICE_EVENTS = 64 };

/* Digits of a step into out; false: none, or too many. */
static bool read_step(const char **text, int64_t *out)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 15) {
        return false;
    }
    *out = strtoll(*text, NULL, 10);
    *text += digits;
    return true;
}

int gs_window_of(const gs_cli *cli, const gs_scenario *scenario, int64_t count, gs_window *out)
{
    int64_t steps = scenario->workload.budget_steps;
    const char *text = cli->flags.window;
    if (text[0] == '\0') {
        *out =
            steps > 1 ? (gs_window){1, steps - 1 < count ? steps - 1 : count} : (gs_window){0, 0};
        return GS_EXIT_OK;
    }
    bool good = read_step(&text, &out->first);
    out->last = out->first;
    if (good && strncmp(text, "..", 2) == 0) {
        text += 2;
        good = read_step(&text, &out->last);
    }
    if (!good || *text != '\0' || out->last < out->first) {
        gs_complain("--window: %s; allowed is FIRST..LAST, such as 10..19, or one step",
                    cli->flags.window);
        return GS_EXIT_USAGE;
    }
    if (out->first >= steps) {
        gs_complain("--window: %s; %s has steps 0 to %" PRId64, cli->flags.window, scenario->name,
                    steps - 1);
        return GS_EXIT_USAGE;
    }
    out->last = out->last < steps ? out->last : steps - 1;
    return GS_EXIT_OK;
}

static int tell_end(const gs_scenario *scenario, const gs_sim_result *result)
{
    if (gs_interrupt_signal() != 0) {
        return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
    }
    gs_complain("%s: no timeline: %s", scenario->name, result->error.text);
    return GS_EXIT_FAILED;
}

int gs_timeline_run(const gs_scenario *scenario, gs_window window, gs_timeline **out)
{
    gs_timeline *timeline = gs_need(gs_timeline_create(window.first, window.last));
    gs_sim_config config = {.scenario = scenario,
                            .strategy = &scenario->strategies[0],
                            .seed = scenario->seed,
                            .timeline = timeline};
    gs_error err = {0};
    gs_sim *sim = gs_sim_create(&config, &err);
    if (sim == NULL) {
        gs_timeline_destroy(timeline);
        return gs_complain_error(&err);
    }
    while (!gs_timeline_is_complete(timeline) && gs_sim_run(sim, SLICE_EVENTS)) {
        if (gs_interrupt_signal() != 0) {
            gs_sim_interrupt(sim);
        }
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    gs_sim_destroy(sim);
    if (result.status != GS_OK) {
        gs_timeline_destroy(timeline);
        return tell_end(scenario, &result);
    }
    *out = timeline;
    return GS_EXIT_OK;
}

char *gs_timeline_title(const gs_scenario *scenario, const gs_timeline *timeline)
{
    char steps[64];
    if (timeline->first_step == timeline->last_step) {
        snprintf(steps, sizeof steps, "step %" PRId64, timeline->first_step);
    } else {
        snprintf(steps, sizeof steps, "steps %" PRId64 " to %" PRId64, timeline->first_step,
                 timeline->last_step);
    }
    return gs_text("%s of %s, seed %" PRIu64, steps, scenario->strategies[0].label, scenario->seed);
}

int gs_timeline_save(const gs_cli *cli, const gs_scenario *scenario, gs_window window)
{
    gs_output output;
    gs_timeline *timeline = NULL;
    int code = gs_output_open(&output, cli->flags.timeline);
    if (code != GS_EXIT_OK) {
        return code;
    }
    code = gs_timeline_run(scenario, window, &timeline);
    if (code != GS_EXIT_OK) {
        gs_output_drop(&output);
        return code;
    }
    gs_chrome_facts facts = {.scenario = scenario->name,
                             .strategy = scenario->strategies[0].label,
                             .seed = scenario->seed,
                             .profile = scenario->workload.profile};
    if (gs_export_chrome(timeline, &facts, output.text, NULL) != GS_OK) {
        gs_need(NULL);
    }
    code = gs_output_close(&output);
    if (code == GS_EXIT_OK && !cli->flags.quiet) {
        char *title = gs_timeline_title(scenario, timeline);
        gs_complain("%s: %s; opens in ui.perfetto.dev", cli->flags.timeline, title);
        free(title);
    }
    gs_timeline_destroy(timeline);
    return code;
}
