/* workload.memory: what is traded for memory; and whether each rank's device holds the job. */
#include "traces/scenario/scenario_parts.h"

#include <stdarg.h>
#include <stdio.h>

#include "strategies/bucket.h"
#include "strategies/registry.h"
#include "traces/compose.h"

enum { MISFIT_BYTES = GS_ERROR_TEXT_BYTES, BATCH_MAX = 1000000 };

static const char *const checkpointings[] = {"none", "full", NULL};
static const char *const offloads[] = {"none", "optimizer", NULL};
static const char *const attentions[] = {"fused", "unfused", NULL};

/* clang-format off */
static const gs_field memory_fields[] = {
    {"checkpointing", GS_FIELD_CHOICE, GS_FIELD_AT(gs_memory_config, checkpointing), "none", 0, 0, checkpointings,
     "full: only outputs of blocks are kept, each block's forward pass runs again in backward"},
    {"offload", GS_FIELD_CHOICE, GS_FIELD_AT(gs_memory_config, offload), "none", 0, 0, offloads,
     "optimizer: its vectors and master weights lie in the host's memory and come for each update"},
    {"attention", GS_FIELD_CHOICE, GS_FIELD_AT(gs_memory_config, attention), "fused", 0, 0, attentions,
     "fused: its scores are never kept; unfused: those of every layer are, for backward"},
};
/* clang-format on */

const gs_field_table gs_scenario_memory_table =
    GS_SCENARIO_TABLE("workload.memory", gs_memory_config, memory_fields);

gs_status gs_scenario_read_memory(gs_scenario_reader *reader, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    GS_TRY(gs_scenario_read_object(reader, "workload.memory", &gs_scenario_memory_table,
                                   &reader->memory, err));
    reader->out->workload.checkpointing = reader->memory.checkpointing == 1;
    for (uint32_t i = 0; i < cluster->group_count && reader->memory.offload == 1; i++) {
        const gs_node_group *group = &cluster->groups[i];
        if (group->known == NULL || group->known->host_link_bps == 0) {
            return gs_scenario_fail(reader, GS_EINVAL, "workload.memory.offload", err,
                                    "optimizer needs a device whose link to the host is known, "
                                    "cluster.nodes[%u].device is \"%s\"; name one of gradsync list "
                                    "devices, or set it to none",
                                    i, group->device);
        }
    }
    return GS_OK;
}

/* --- counting -------------------------------------------------------------------------------- */

/* The weights are cut over the servers. A server computes nothing: there are no activations. */
static gs_memory_job server_of(const gs_memory_job *worker, const gs_layout *layout)
{
    int64_t servers = layout->servers;
    int64_t shard = (worker->elements + servers - 1) / servers;
    return (gs_memory_job){
        .elements = shard,
        .element_bytes = worker->element_bytes,
        .state_vectors = worker->state_vectors,
        .own_vectors = layout->own_vectors[GS_SERVER],
        .copies = layout->copies_max[GS_SERVER],
        .bucket_elements = worker->bucket_elements < shard ? worker->bucket_elements : shard,
    };
}

static gs_status count_one(gs_scenario_reader *reader, const gs_strategy_choice *choice,
                           const gs_job *job, const gs_relay *relay, gs_memory_job *out,
                           gs_error *err)
{
    const gs_workload *workload = &reader->out->workload;
    const gs_layout *layout = &relay->layout;
    gs_optimizer_config optimizer = gs_compose_rest(&choice->coding, &workload->task.optimizer);
    *out = (gs_memory_job){
        .elements = job->elements,
        .element_bytes = job->element_bytes,
        .state_vectors = (int64_t)gs_optimizer_state_vectors(&optimizer),
        .shards = layout->optimizer_shards,
        .own_vectors = layout->own_vectors[GS_WORKER] + relay->code_vectors,
        .copies = layout->copies_max[GS_WORKER],
        .checkpointing = workload->checkpointing,
        .offload = reader->memory.offload == 1,
        .fused_attention = reader->memory.attention == 0,
        .is_served = layout->servers > 0,
    };
    if (workload->layers != NULL) {
        out->activations = gs_layer_table_activations(workload->layers, out->fused_attention);
    }
    if (job->ranks == 1) {
        return GS_OK;
    }
    const gs_bucket_plan *plan = gs_bucket_plan_make(job, &layout->buckets, NULL, reader->arena);
    if (plan == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < plan->bucket_count; i++) {
        int64_t elements = plan->offsets[i + 1] - plan->offsets[i];
        out->bucket_elements = elements > out->bucket_elements ? elements : out->bucket_elements;
    }
    return GS_OK;
}

/* --- what does not fit ------------------------------------------------------------------------ */

typedef struct text_list {
    char text[MISFIT_BYTES];
    size_t used;
} text_list;

static void append(text_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(text_list *list, const char *format, ...)
{
    va_list arguments;
    if (list->used >= sizeof list->text) {
        return;
    }
    va_start(arguments, format);
    int length =
        vsnprintf(list->text + list->used, sizeof list->text - list->used, format, arguments);
    va_end(arguments);
    list->used += length > 0 ? (size_t)length : 0;
}

static void append_parts(text_list *list, const gs_memory *memory)
{
    char bytes[GS_UNIT_TEXT_BYTES];
    bool first = true;
    for (int i = 0; i < GS_MEMORY_PARTS; i++) {
        if (memory->bytes[i] > 0) {
            append(list, "%s%s %s", first ? "" : " + ", gs_memory_part_names[i],
                   gs_format_bytes(memory->bytes[i], bytes));
            first = false;
        }
    }
}

/* "fp16 (174 GB), ": what the job would need then. */
static void append_help(text_list *list, const char *what, const gs_memory_job *job, int64_t batch)
{
    char bytes[GS_UNIT_TEXT_BYTES];
    append(list, "%s (%s), ", what, gs_format_bytes(gs_memory_of(job, batch).total_bytes, bytes));
}

/* What would help, each with what is needed then; together where there are several. */
static void append_cures(text_list *list, const gs_memory_job *job, int64_t ranks, int64_t batch)
{
    gs_memory_job all = *job;
    gs_memory_job one = *job;
    int count = 0;
    append(list, "; what helps: ");
    const size_t begun = list->used;
    one.element_bytes = all.element_bytes = job->element_bytes > 2 ? 2 : job->element_bytes;
    if (gs_memory_of(&one, batch).total_bytes < gs_memory_of(job, batch).total_bytes) {
        append_help(list, "dtype=fp16", &one, batch);
        count++;
    } else {
        all.element_bytes = job->element_bytes;
    }
    if (!job->checkpointing && job->activations.kept > 0) {
        one = *job;
        one.checkpointing = all.checkpointing = true;
        append_help(list, "memory.checkpointing=full", &one, batch);
        count++;
    }
    one = *job;
    one.offload = true;
    if (gs_memory_of(&one, batch).host_bytes > gs_memory_of(job, batch).host_bytes) {
        all.offload = true;
        append_help(list, "memory.offload=optimizer", &one, batch);
        count++;
    }
    if (count > 1) {
        append_help(list, "all of these", &all, batch);
    }
    const gs_device *larger = gs_device_holding(gs_memory_of(job, batch).total_bytes);
    if (larger != NULL) {
        append(list, "a larger device (%s), ", larger->name);
    }
    one = *job;
    one.shards = ranks;
    one.own_vectors = one.copies = 0;
    one.is_served = false;
    if (job->shards <= 1 &&
        gs_memory_of(&one, batch).total_bytes < gs_memory_of(job, batch).total_bytes) {
        append_help(list, "strategy sharded", &one, batch);
    }
    if (list->used == begun) {
        append(list, "a smaller model");
    } else if (list->used < sizeof list->text) {
        list->text[list->used -= 2] = '\0'; /* the last comma */
    }
}

static void tell_misfit(gs_scenario_reader *reader, const gs_node_group *group,
                        const gs_strategy_choice *choice, const gs_memory_job *job)
{
    const gs_workload *workload = &reader->out->workload;
    int64_t batch = workload->batch_per_rank;
    int64_t most = gs_memory_batch_max(job, group->known->memory_bytes, BATCH_MAX);
    gs_memory memory = gs_memory_of(job, batch);
    char needed[GS_UNIT_TEXT_BYTES];
    char there[GS_UNIT_TEXT_BYTES];
    text_list list = {.used = 0};
    append(&list, "%s does not fit: %s needs %s a rank, %s has %s: ", workload->profile->source,
           choice->label, gs_format_bytes(memory.total_bytes, needed), group->known->name,
           gs_format_bytes(group->known->memory_bytes, there));
    append_parts(&list, &memory);
    if (most > 0) {
        append(&list, "; largest batch that fits: %lld, not %lld", (long long)most,
               (long long)batch);
    } else {
        append(&list, "; no batch fits");
    }
    append_cures(&list, job, reader->out->ranks, batch);
    const char *copy = gs_arena_text(reader->arena, list.text);
    /* Without memory for the reason a run must still be refused. */
    reader->out->misfit = copy == NULL ? "a device has too little memory" : copy;
}

/* Of every strategy: its servers, and what a rank and a server hold. */
static gs_status count_all(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    gs_job job;
    GS_TRY(gs_scenario_job(out, reader->arena, &job, err));
    gs_memory_job *memory = GS_TAKE(reader->arena, gs_memory_job, out->strategy_count);
    gs_memory_job *server_memory = GS_TAKE(reader->arena, gs_memory_job, out->strategy_count);
    uint32_t *servers = GS_TAKE(reader->arena, uint32_t, out->strategy_count);
    if (memory == NULL || server_memory == NULL || servers == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    out->memory = memory;
    out->server_memory = server_memory;
    out->servers = servers;
    for (uint32_t i = 0; i < out->strategy_count; i++) {
        const gs_strategy_choice *choice = &out->strategies[i];
        gs_relay relay;
        GS_TRY(gs_scenario_relay(choice, &job, &relay, err));
        GS_TRY(count_one(reader, choice, &job, &relay, &memory[i], err));
        servers[i] = relay.layout.servers;
        if (servers[i] > 0) {
            server_memory[i] = server_of(&memory[i], &relay.layout);
        }
    }
    return GS_OK;
}

gs_status gs_scenario_count_memory(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    const gs_cluster *cluster = &out->cluster;
    GS_TRY(count_all(reader, err));
    for (uint32_t i = 0; i < out->strategy_count; i++) {
        const gs_memory_job *memory = &out->memory[i];
        int64_t total = gs_memory_of(memory, out->workload.batch_per_rank).total_bytes;
        for (uint32_t g = 0; g < cluster->group_count && out->misfit == NULL; g++) {
            const gs_device *device = cluster->groups[g].known;
            if (device != NULL && device->memory_bytes > 0 && total > device->memory_bytes) {
                tell_misfit(reader, &cluster->groups[g], &out->strategies[i], memory);
            }
        }
    }
    gs_memory_job element = out->memory[0];
    element.elements = 1;
    element.shards = 1;        /* who updates a shard names its elements */
    element.is_served = false; /* of the strategies whose ranks make the updates */
    out->workload.offload_element_bytes = gs_memory_of(&element, 1).host_bytes;
    return GS_OK;
}
