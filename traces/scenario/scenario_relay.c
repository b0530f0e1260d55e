/* Strategies that follow one another in one run: when each begins, and their names together. */
#include "traces/scenario/scenario_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 1024 };

static const char request[] = "request";

gs_status gs_scenario_leg_from(const char *text, int64_t budget_steps, int64_t *out_step,
                               gs_error *err)
{
    char *end;
    double number = strtod(text, &end);
    bool is_share = end != text && strcmp(end, "%") == 0;
    bool is_step =
        end != text && *end == '\0' && number >= floor(number) && number <= floor(number);
    if (strcmp(text, request) == 0) {
        *out_step = GS_LEG_ON_REQUEST;
        return GS_OK;
    }
    if (!(is_share || is_step) || !(number >= 0.0 && number < 0x1p53)) {
        return gs_fail(err, GS_EINVAL,
                       "\"%.40s\" is not when a leg begins: a step, such as 120, a share of the "
                       "steps, such as 25%%, or request",
                       text);
    }
    if (is_share && budget_steps <= 0) {
        return gs_fail(err, GS_EINVAL,
                       "%.40s of the steps, and workload.budget does not say how many there are; "
                       "write a step",
                       text);
    }
    double step = is_share ? floor(number / 100.0 * (double)budget_steps + 0.5) : number;
    if (step < 1.0 || (budget_steps > 0 && step >= (double)budget_steps)) {
        return gs_fail(err, GS_EINVAL,
                       "%.40s is step %.0f, and a leg begins after the first step and before the "
                       "last: 1 to %lld of %lld",
                       text, step, (long long)budget_steps - 1, (long long)budget_steps);
    }
    *out_step = (int64_t)step;
    return GS_OK;
}

char *gs_scenario_relay_label(const gs_strategy_choice *first, gs_arena *arena)
{
    char label[LABEL_BYTES];
    size_t used = (size_t)snprintf(label, sizeof label, "%s", first->label);
    for (uint32_t i = 0; i < first->then_count && used < sizeof label; i++) {
        const gs_strategy_choice *leg = &first->then[i];
        used +=
            (size_t)snprintf(label + used, sizeof label - used, ">%s@%s", leg->label, leg->from);
    }
    return gs_arena_text(arena, label);
}

gs_status gs_scenario_relay(const gs_strategy_choice *choice, const gs_job *job, gs_relay *out,
                            gs_error *err)
{
    if (choice->then_count >= GS_LEGS_MAX) {
        return gs_fail(err, GS_ELIMIT, "%u legs follow one another; at most %d may be",
                       choice->then_count + 1, GS_LEGS_MAX);
    }
    out->count = choice->then_count + 1;
    for (uint32_t i = 0; i < out->count; i++) {
        const gs_strategy_choice *of = i == 0 ? choice : &choice->then[i - 1];
        out->list[i] = (gs_leg){.strategy = of->strategy,
                                .config = of->config,
                                .coding = &of->coding,
                                .selection = &of->selection,
                                .from_step = i == 0 ? 0 : of->from_step};
    }
    return gs_relay_make(out, job, err);
}
