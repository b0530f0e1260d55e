#include "tests/strategies/probes.h"

#include "base/assert.h"

static const int64_t layers[] = {64 * 32, 32, 32 * 10, 10}; /* of an mlp 64-32-10 */

void probe_job_init_sized(probe_job *made, uint32_t ranks, const int64_t *unit_elements,
                          uint32_t unit_count)
{
    gs_error err;
    gs_arena_init(&made->arena);
    gs_task_config config = gs_task_config_default();
    gs_status status =
        gs_config_set_text(config.model->config_table, config.model_config, "hidden", "32", &err);
    GS_ASSERT(status == GS_OK);
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = ranks, .seed = 7};
    status = gs_task_create(&config, &setup, &made->arena, &made->task, &err);
    GS_ASSERT(status == GS_OK);
    made->count = gs_task_parameter_count(made->task);
    made->job = (gs_job){.ranks = ranks,
                         .servers = 1,
                         .element_bytes = 4,
                         .unit_count = unit_count,
                         .unit_elements = unit_elements,
                         .accumulation = 1,
                         .batch = PROBE_BATCH,
                         .seed = 7};
    for (uint32_t i = 0; i < unit_count; i++) {
        made->job.elements += unit_elements[i];
    }
}

void probe_job_init(probe_job *made, uint32_t ranks)
{
    probe_job_init_sized(made, ranks, layers, sizeof layers / sizeof *layers);
    GS_ASSERT((size_t)made->job.elements == made->count);
}

void probe_job_fini(probe_job *made)
{
    gs_arena_fini(&made->arena);
}

const gs_strategy_choice *probe_choose(probe_job *made, const gs_strategy *strategy)
{
    gs_strategy_choice *choice = GS_TAKE(&made->arena, gs_strategy_choice, 1);
    GS_ASSERT(choice != NULL);
    choice->strategy = strategy;
    choice->label = strategy->name;
    choice->params_json = "{}";
    choice->algorithm = "ring";
    if (strategy->config != NULL) {
        void *config = gs_arena_take(&made->arena, 1, strategy->config->struct_bytes);
        GS_ASSERT(config != NULL);
        gs_config_defaults(strategy->config, config);
        choice->config = config;
    }
    return choice;
}
