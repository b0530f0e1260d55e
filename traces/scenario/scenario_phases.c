/* workload.phases: what the user says of training from a step on; strategies that pace themselves
 * are told it, the others do not look. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>

enum { PHASES_MAX = 4096 };

static const char *const phase_names[] = {[GS_PHASE_NORMAL] = "normal",
                                          [GS_PHASE_WARMUP] = "warmup",
                                          [GS_PHASE_SPARSE] = "sparse",
                                          [GS_PHASE_CRITICAL] = "critical",
                                          [GS_PHASE_COUNT] = NULL};

/* clang-format off */
static const gs_field phase_fields[] = {
    {"from_step", GS_FIELD_INT, GS_FIELD_AT(gs_phase_config, from_step), NULL, 0, 1e12, NULL,
     "optimizer step of a rank at which it begins, from 0; it lasts to the next one of the list"},
    {"phase", GS_FIELD_CHOICE, GS_FIELD_AT(gs_phase_config, phase), NULL, 0, 0, phase_names,
     "what it is for strategies that pace themselves; in sparse ones communication may wait, in critical ones not"},
};
/* clang-format on */

const gs_field_table gs_scenario_phase_table =
    GS_SCENARIO_TABLE("workload.phases[]", gs_phase_config, phase_fields);

gs_status gs_scenario_read_phases(gs_scenario_reader *reader, gs_error *err)
{
    gs_workload *out = &reader->out->workload;
    void *items = NULL;
    GS_TRY(gs_scenario_read_list(reader, "workload.phases", &gs_scenario_phase_table, PHASES_MAX,
                                 &items, &reader->phase_count, err));
    reader->phases = items;
    gs_phase_from *phases = GS_TAKE(reader->arena, gs_phase_from, reader->phase_count);
    if (phases == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < reader->phase_count; i++) {
        const gs_phase_config *config = &reader->phases[i];
        if (i > 0 && config->from_step <= config[-1].from_step) {
            char path[GS_JSON_PATH_BYTES];
            (void)snprintf(path, sizeof path, "workload.phases[%u].from_step", i);
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "%lld comes after %lld; list phases by ascending step",
                                    (long long)config->from_step, (long long)config[-1].from_step);
        }
        phases[i] = (gs_phase_from){config->from_step, (gs_phase)config->phase};
    }
    out->phases = phases;
    out->phase_count = reader->phase_count;
    return GS_OK;
}

bool gs_scenario_write_phases(const gs_scenario_reader *reader, gs_json *workload)
{
    return gs_scenario_put_list(workload, "phases", &gs_scenario_phase_table, reader->phases,
                                reader->phase_count);
}
