#include "tools/op_time.h"

#include <string.h>

#include "sim/sim.h"
#include "strategies/registry.h"

/* A step of a job that is one unit of gradient and nothing else. */
typedef struct lone_op {
    gs_scenario scenario;
    gs_strategy_choice choice;
    gs_profile profile;
    gs_profile_unit unit;
    gs_profile_rank rank;
    gs_profile_step step;
    gs_segment segments[2];
} lone_op;

static void make_job(lone_op *op, const gs_scenario *scenario, int64_t bytes)
{
    enum { ELEMENT_BYTES = 4 };
    op->segments[0] = (gs_segment){.kind = GS_SEGMENT_FORWARD};
    op->segments[1] = (gs_segment){.kind = GS_SEGMENT_GRADIENT};
    op->step = (gs_profile_step){.segments = op->segments, .segment_count = 2};
    op->rank = (gs_profile_rank){0, &op->step, 1};
    op->unit =
        (gs_profile_unit){.name = "op", .elements = (bytes + ELEMENT_BYTES - 1) / ELEMENT_BYTES};
    op->profile = (gs_profile){.source = "one op",
                               .units = &op->unit,
                               .unit_count = 1,
                               .ranks = &op->rank,
                               .rank_count = 1,
                               .element_bytes = ELEMENT_BYTES};
    op->scenario = *scenario;
    op->scenario.noise = (gs_noise){.straggler.factor = 1.0};
    op->scenario.workload = (gs_workload){.profile = &op->profile,
                                          .batch_per_rank = 1,
                                          .accumulation = 1,
                                          .element_bytes = ELEMENT_BYTES,
                                          .dtype = "fp32",
                                          .task = scenario->workload.task,
                                          .budget_steps = 1};
}

static gs_status make_choice(lone_op *op, const char *algorithm, gs_arena *arena, gs_error *err)
{
    const gs_strategy *strategy = gs_strategy_find("allreduce");
    void *config = gs_arena_take(arena, 1, strategy->config->struct_bytes);
    if (config == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to time an op", op->scenario.file);
    }
    gs_config_defaults(strategy->config, config);
    GS_TRY(gs_config_set_text(strategy->config, config, "algorithm", algorithm, err));
    op->choice = (gs_strategy_choice){.strategy = strategy,
                                      .config = config,
                                      .label = "allreduce",
                                      .params_json = "{}",
                                      .algorithm = algorithm};
    return GS_OK;
}

static gs_time_ns last_end(const gs_record *record)
{
    gs_time_ns end = 0;
    for (int64_t i = 0; i < gs_record_step_count(record); i++) {
        gs_step_row row = gs_record_step_at(record, i);
        gs_time_ns blocked = row.exposed_comm_ns + row.wait_ns;
        end = blocked > end ? blocked : end;
    }
    return end;
}

gs_status gs_op_time(const gs_scenario *scenario, const char *algorithm, int64_t bytes,
                     gs_time_ns *out_ns, int64_t *out_nic_bytes, gs_error *err)
{
    lone_op op = {.unit = {.elements = 0}};
    gs_arena arena;
    gs_arena_init(&arena);
    make_job(&op, scenario, bytes);
    gs_status status = make_choice(&op, algorithm, &arena, err);
    gs_record *record = gs_record_create(scenario->ranks, true);
    gs_sim_config config = {
        .scenario = &op.scenario, .strategy = &op.choice, .seed = 1, .record = record};
    gs_sim *sim = status != GS_OK || record == NULL ? NULL : gs_sim_create(&config, err);
    if (status == GS_OK && sim == NULL) {
        status = record == NULL
                     ? gs_fail(err, GS_ENOMEM, "%s: no memory to time an op", scenario->file)
                     : (err == NULL ? GS_EINVAL : err->code);
    }
    if (sim != NULL) {
        gs_sim_result result;
        while (gs_sim_run(sim, UINT64_MAX)) {
        }
        gs_sim_result_get(sim, &result);
        status = result.status;
        if (status != GS_OK && err != NULL) {
            *err = result.error;
        }
        *out_ns = last_end(record);
        *out_nic_bytes = result.facts.nic_bytes_sent;
    }
    gs_sim_destroy(sim);
    gs_record_destroy(record);
    gs_arena_fini(&arena);
    return status;
}
