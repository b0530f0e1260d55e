#include "tools/memory_page.h"

#include "tools/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH_MAX = 1000000 }; /* of workload.batch_per_rank */

#define SAME_RATIO 0.02 /* what strategies may differ by and be told once */

/* text, longer by what is appended; takes both. */
static char *join(char *text, const char *between, char *more)
{
    char *longer = gs_text("%s%s%s", text, between, more);
    free(text);
    free(more);
    return longer;
}

/* "; V100-16GB (16 GB) holds a batch of 12" for each kind of device, once. */
static char *add_devices(char *text, const gs_scenario *scenario, const gs_memory_job *job)
{
    const gs_cluster *cluster = &scenario->cluster;
    bool any = false;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        const gs_device *device = cluster->groups[i].known;
        bool said = false;
        for (uint32_t k = 0; k < i; k++) {
            said = said || cluster->groups[k].known == device;
        }
        if (device == NULL || device->memory_bytes == 0 || said) {
            continue;
        }
        char bytes[GS_UNIT_TEXT_BYTES];
        int64_t batch = gs_memory_batch_max(job, device->memory_bytes, BATCH_MAX);
        char *part = batch == 0 ? gs_text("%s (%s) holds no batch", device->name,
                                          gs_format_bytes(device->memory_bytes, bytes))
                                : gs_text("%s (%s) holds a batch of %lld%s", device->name,
                                          gs_format_bytes(device->memory_bytes, bytes),
                                          (long long)batch, batch == BATCH_MAX ? " and more" : "");
        text = join(text, "; ", part);
        any = true;
    }
    return any ? text : join(text, "; ", gs_text("not checked: no memory of a device is known"));
}

/* ": parameters 102 MB + gradients 102 MB" */
static char *add_parts(char *text, const gs_memory *memory)
{
    char bytes[GS_UNIT_TEXT_BYTES];
    const char *between = ": ";
    for (int i = 0; i < GS_MEMORY_PARTS; i++) {
        if (memory->bytes[i] > 0) {
            text = join(text, between,
                        gs_text("%s %s", gs_memory_part_names[i],
                                gs_format_bytes(memory->bytes[i], bytes)));
            between = " + ";
        }
    }
    return text;
}

static gs_memory server_of(const gs_scenario *scenario, uint32_t strategy)
{
    return gs_memory_of(&scenario->server_memory[strategy], 0);
}

/* "; each of 2 servers 204 MB: parameters ..." where the strategy has servers. */
static char *add_servers(char *text, const gs_scenario *scenario, uint32_t strategy)
{
    uint32_t servers = scenario->servers[strategy];
    char bytes[GS_UNIT_TEXT_BYTES];
    if (servers == 0) {
        return text;
    }
    gs_memory memory = server_of(scenario, strategy);
    gs_format_bytes(memory.total_bytes, bytes);
    text = join(text, "; ",
                servers == 1 ? gs_text("the server %s", bytes)
                             : gs_text("each of %u servers %s", servers, bytes));
    return add_parts(text, &memory);
}

char *gs_memory_sentence(const gs_scenario *scenario, uint32_t strategy)
{
    const gs_memory_job *job = &scenario->memory[strategy];
    int64_t batch = scenario->workload.batch_per_rank;
    gs_memory memory = gs_memory_of(job, batch);
    char bytes[GS_UNIT_TEXT_BYTES];
    char *text =
        gs_text("%s a rank by %s at batch %lld", gs_format_bytes(memory.total_bytes, bytes),
                scenario->strategies[strategy].label, (long long)batch);
    text = add_parts(text, &memory);
    if (job->activations.all == 0) {
        text = join(text, "; ", gs_text("activations are not known and not counted"));
    }
    if (job->activations.scores > 0) {
        text = join(text, "; ",
                    gs_text(job->fused_attention ? "attention is taken to be fused, its scores are "
                                                   "not kept"
                                                 : "attention is not fused, the scores of every "
                                                   "layer are kept"));
    }
    if (memory.host_bytes > 0) {
        text = join(text, "; ",
                    gs_text("%s in the host's memory", gs_format_bytes(memory.host_bytes, bytes)));
    }
    return add_devices(add_servers(text, scenario, strategy), scenario, job);
}

bool gs_memory_is_repeated(const gs_scenario *scenario, uint32_t strategy)
{
    int64_t batch = scenario->workload.batch_per_rank;
    double own = (double)gs_memory_of(&scenario->memory[strategy], batch).total_bytes;
    double own_server = (double)server_of(scenario, strategy).total_bytes;
    for (uint32_t i = 0; i < strategy; i++) {
        double other = (double)gs_memory_of(&scenario->memory[i], batch).total_bytes;
        double other_server = (double)server_of(scenario, i).total_bytes;
        if (fabs(own - other) <= SAME_RATIO * other &&
            fabs(own_server - other_server) <= SAME_RATIO * other_server) {
            return true;
        }
    }
    return false;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void set(gs_json *object, const char *key, gs_json *value)
{
    static char something;
    gs_need(gs_json_set(object, key, value) ? &something : NULL);
}

static void add(gs_json *list, gs_json *value)
{
    static char something;
    gs_need(gs_json_add(list, value) ? &something : NULL);
}

static gs_json *device_json(const gs_node_group *group, const gs_memory_job *job)
{
    gs_json *object = gs_need(gs_json_new_object());
    set(object, "nodes", gs_json_new_text(group->name));
    set(object, "device", gs_json_new_text(group->known->name));
    set(object, "memory_bytes", gs_json_new_int(group->known->memory_bytes));
    set(object, "batch_max",
        gs_json_new_int(gs_memory_batch_max(job, group->known->memory_bytes, BATCH_MAX)));
    return object;
}

static gs_json *server_json(const gs_scenario *scenario, uint32_t strategy)
{
    if (scenario->servers[strategy] == 0) {
        return gs_json_new_null();
    }
    gs_memory memory = server_of(scenario, strategy);
    gs_json *object = gs_need(gs_json_new_object());
    set(object, "count", gs_json_new_int(scenario->servers[strategy]));
    for (int i = 0; i < GS_MEMORY_PARTS; i++) {
        set(object, gs_memory_part_keys[i], gs_json_new_int(memory.bytes[i]));
    }
    set(object, "total_bytes", gs_json_new_int(memory.total_bytes));
    return object;
}

static gs_json *strategy_json(const gs_scenario *scenario, uint32_t strategy)
{
    const gs_memory_job *job = &scenario->memory[strategy];
    gs_memory memory = gs_memory_of(job, scenario->workload.batch_per_rank);
    gs_json *object = gs_need(gs_json_new_object());
    gs_json *devices = gs_need(gs_json_new_list());
    set(object, "strategy", gs_json_new_text(scenario->strategies[strategy].label));
    set(object, "batch", gs_json_new_int(scenario->workload.batch_per_rank));
    for (int i = 0; i < GS_MEMORY_PARTS; i++) {
        bool unknown = i == GS_MEMORY_ACTIVATIONS && job->activations.all == 0;
        set(object, gs_memory_part_keys[i],
            unknown ? gs_json_new_null() : gs_json_new_int(memory.bytes[i]));
    }
    set(object, "total_bytes", gs_json_new_int(memory.total_bytes));
    set(object, "host_bytes", gs_json_new_int(memory.host_bytes));
    for (uint32_t i = 0; i < scenario->cluster.group_count; i++) {
        const gs_node_group *group = &scenario->cluster.groups[i];
        if (group->known != NULL && group->known->memory_bytes > 0) {
            add(devices, device_json(group, job));
        }
    }
    set(object, "devices", devices);
    set(object, "server", server_json(scenario, strategy));
    return object;
}

void gs_memory_facts(gs_page *page, const gs_scenario *scenario)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        add(list, strategy_json(scenario, i));
    }
    char *first = gs_memory_sentence(scenario, 0);
    gs_page_fact(page, "memory", "memory", first, list);
    free(first);
    for (uint32_t i = 1; i < scenario->strategy_count; i++) {
        char *next = gs_memory_sentence(scenario, i);
        gs_table_add(&page->facts, "", "memory");
        gs_table_add(&page->facts, next, NULL);
        free(next);
    }
}
