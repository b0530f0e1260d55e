#include "tests/small_job.h"

#include "base/assert.h"
#include "strategies/registry.h"
#include "traces/compose.h"
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <string.h>

enum { BATCH = 8 };

small_job_config small_job_default(void)
{
    return (small_job_config){
        .ranks = 4,
        .nic_bps = 10 * INT64_C(1000000000),
        .intra_bps = 100 * INT64_C(1000000000),
        .nic_latency_ns = 10 * GS_NS_PER_US,
        .intra_latency_ns = 2 * GS_NS_PER_US,
        .units = 4,
        .unit_elements = 65536,
        .optimizer_ns = -1,
        .steps = 1,
    };
}

/* Forward, then per unit from the last one: backward, gradient. */
static gs_profile_step program_of(const small_job_config *config, gs_time_ns extra_ns,
                                  gs_arena *arena)
{
    gs_segment *segments = GS_TAKE(arena, gs_segment, 2 * config->units + 2);
    GS_ASSERT(segments != NULL);
    uint32_t count = 0;
    segments[count++] = (gs_segment){GS_SEGMENT_FORWARD, 0, config->forward_ns + extra_ns};
    for (uint32_t unit = config->units; unit-- > 0;) {
        segments[count++] = (gs_segment){GS_SEGMENT_BACKWARD, 0, config->backward_ns};
        segments[count++] = (gs_segment){GS_SEGMENT_GRADIENT, unit, 0};
    }
    if (config->optimizer_ns >= 0) {
        segments[count++] = (gs_segment){GS_SEGMENT_OPTIMIZER, 0, config->optimizer_ns};
    }
    return (gs_profile_step){.segments = segments, .segment_count = count};
}

static void make_profile(small_job *job, const small_job_config *config)
{
    gs_arena *arena = &job->arena;
    gs_profile_unit *units = GS_TAKE(arena, gs_profile_unit, config->units);
    uint32_t recorded = config->skew_ns > 0 ? config->ranks : 1;
    gs_profile_rank *ranks = GS_TAKE(arena, gs_profile_rank, recorded);
    gs_profile_step *steps = GS_TAKE(arena, gs_profile_step, recorded);
    GS_ASSERT(units != NULL && ranks != NULL && steps != NULL);
    for (uint32_t unit = 0; unit < config->units; unit++) {
        units[unit] = (gs_profile_unit){.name = "unit", .elements = config->unit_elements};
        if (config->unit_rows > 0) {
            units[unit].shape =
                (gs_unit_shape){config->unit_rows, config->unit_elements / config->unit_rows};
        }
    }
    for (uint32_t rank = 0; rank < recorded; rank++) {
        /* Multiples of the golden ratio spread evenly and look like nothing. */
        double share = (double)rank * 0.6180339887498949;
        share -= (double)(int64_t)share;
        steps[rank] = program_of(config, (gs_time_ns)(share * (double)config->skew_ns), arena);
        ranks[rank] = (gs_profile_rank){(int32_t)rank, &steps[rank], 1};
    }
    job->profile = (gs_profile){.source = "small job",
                                .units = units,
                                .unit_count = config->units,
                                .ranks = ranks,
                                .rank_count = recorded,
                                .element_bytes = 4};
}

static void make_cluster(small_job *job, const small_job_config *config)
{
    uint32_t per_node = config->ranks_per_node == 0 ? 1 : config->ranks_per_node;
    gs_node_group *group = GS_TAKE(&job->arena, gs_node_group, 1);
    GS_ASSERT(group != NULL && config->ranks % per_node == 0);
    *group = (gs_node_group){.name = "node",
                             .count = config->ranks / per_node,
                             .ranks = per_node,
                             .compute_scale = 1.0,
                             .nic_scale = 1.0,
                             .overlap_slowdown = 1.0,
                             .vector_bandwidth_bps = INT64_C(8000000000000000)};
    job->scenario.ranks = config->ranks;
    job->scenario.nodes = config->ranks / per_node;
    job->scenario.cluster = (gs_cluster){
        .topology.kind = config->ranks_per_node == 0 ? GS_TOPOLOGY_SWITCH : GS_TOPOLOGY_NODES,
        .groups = group,
        .group_count = 1,
        .nic = {.bandwidth_bps = config->nic_bps,
                .latency_ns = config->nic_latency_ns,
                .efficiency = 1.0},
        .intra = {.bandwidth_bps = config->intra_bps,
                  .latency_ns = config->intra_latency_ns,
                  .efficiency = 1.0},
        .servers = config->servers,
    };
}

static void set_parameters(small_job *job, const char *text)
{
    char copy[256];
    GS_ASSERT(strlen(text) < sizeof copy);
    strcpy(copy, text);
    unsigned char *config =
        GS_TAKE(&job->arena, unsigned char, job->choice.strategy->config->struct_bytes);
    GS_ASSERT(config != NULL);
    gs_config_defaults(job->choice.strategy->config, config);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        GS_ASSERT(value != NULL);
        *value++ = '\0';
        gs_error err;
        if (gs_config_set_text(job->choice.strategy->config, config, word, value, &err) != GS_OK) {
            fprintf(stderr, "%s\n", err.text);
            GS_ASSERT(false && "parameters of a test");
        }
    }
    job->choice.config = config;
}

void small_job_init(small_job *job, const small_job_config *config, const char *strategy_text)
{
    memset(job, 0, sizeof *job);
    gs_arena_init(&job->arena);
    GS_ASSERT(config->units <= SMALL_JOB_UNITS_MAX);
    make_profile(job, config);
    make_cluster(job, config);
    job->scenario.name = "small job";
    job->scenario.seed = 1;
    job->scenario.data_dir = GS_TEST_SOURCE_DIR;
    job->scenario.workload = (gs_workload){.profile = &job->profile,
                                           .batch_per_rank = BATCH,
                                           .accumulation = 1,
                                           .element_bytes = 4,
                                           .real_gradients = config->learns,
                                           .task = gs_task_config_default(),
                                           .budget_steps = config->steps};
    job->choice = (gs_strategy_choice){.strategy = gs_strategy_find("allreduce"),
                                       .label = "allreduce",
                                       .params_json = "{}",
                                       .algorithm = "ring"};
    set_parameters(job, strategy_text == NULL ? "" : strategy_text);
}

void small_job_fini(small_job *job)
{
    gs_arena_fini(&job->arena);
}

void small_job_use(small_job *job, const gs_strategy *strategy, const char *text)
{
    job->choice =
        (gs_strategy_choice){.strategy = strategy, .label = strategy->name, .params_json = "{}"};
    if (strategy->config != NULL) {
        set_parameters(job, text == NULL ? "" : text);
    }
}

/* What has periods longer than the run is given shorter ones, of which some end inside the run and
 * one does not; what cuts the gradient cuts this small one too. */
static const char *const shorter[][2] = {
    {"accordion", "interval=2"},
    {"adacomm", "period=2,interval=1"},
    {"bmuf", "period=2"},
    {"co2", "period=2"},
    {"cocod", "period=2"},
    {"cross_barrier", "bucket=3000B,credit=5000B"},
    {"dasgd", "period=2,delay=1"},
    {"diloco", "period=3"},
    {"easgd", "period=2"},
    {"every", "steps=3"},
    {"gravac", "window=2,looks=1"},
    {"hier_avg", "inside=2,between=2,delay=1"},
    {"horovod", "fusion=17000B,cycle=150us"},
    {"local_sgd", "period=3"},
    {"post_local", "period=2,start=1"},
    {"selsync", "threshold=0.1,window=2"},
    {"slowmo", "period=3"},
    {"streaming_diloco", "period=4,fragments=2,delay=1"},
};

const char *small_job_short(const gs_strategy *strategy)
{
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        if (strcmp(shorter[i][0], strategy->name) == 0) {
            return shorter[i][1];
        }
    }
    return NULL;
}

void small_job_choose(small_job *job, const gs_collective *program)
{
    gs_selection_rule *rule = GS_TAKE(&job->arena, gs_selection_rule, 1);
    bool has_nodes = (program->takes & GS_TAKES_NODES) != 0 && job->scenario.ranks % 2 == 0;
    GS_ASSERT(rule != NULL && program->kind == GS_ALL_REDUCE);
    *rule = (gs_selection_rule){
        .communicator = GS_ANY_COMMUNICATOR,
        .kind = GS_ALL_REDUCE,
        .up_to_bytes = INT64_MAX,
        .choice = {.program = program,
                   .rings = (program->takes & GS_TAKES_RINGS) != 0 ? 2 : 1,
                   .inner = has_nodes ? 2 : 1,
                   .piece_bytes = (program->takes & GS_TAKES_PIECES) != 0 ? 1024 : 0}};
    job->choice.selection = (gs_selection){rule, 1};
}

void small_job_code(small_job *job, const char *codec_text)
{
    char copy[256] = "none";
    gs_error err;
    if (codec_text != NULL) {
        GS_ASSERT(strlen(codec_text) < sizeof copy);
        strcpy(copy, codec_text);
    }
    if (gs_scenario_parse_codec(copy, &job->choice.coding, &err) != GS_OK) {
        fprintf(stderr, "%s\n", err.text);
        GS_ASSERT(false && "the codec of a test");
    }
    job->choice.coding.momentum =
        gs_compose_momentum(&job->choice.coding, &job->scenario.workload.task.optimizer);
}

void small_job_then(small_job *job, const gs_strategy *strategy, const char *text,
                    const char *codec_text, int64_t from_step)
{
    gs_strategy_choice first = job->choice;
    if (first.then == NULL) {
        first.first_label = first.label;
        first.then = GS_TAKE(&job->arena, gs_strategy_choice, GS_LEGS_MAX);
        GS_ASSERT(first.then != NULL);
    }
    small_job_use(job, strategy, text);
    small_job_code(job, codec_text);
    job->choice.from_step = from_step;
    job->choice.from = "a step";
    first.then[first.then_count++] = job->choice;
    job->choice = first;
}

gs_sim_result small_job_run(const gs_sim_config *config)
{
    gs_error err = {.text = ""};
    gs_sim *sim = gs_sim_create(config, &err);
    if (sim == NULL) {
        return (gs_sim_result){.status = err.code, .error = err};
    }
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    gs_sim_destroy(sim);
    return result;
}
