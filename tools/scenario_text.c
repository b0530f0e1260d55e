/* What a job is, and where its numbers come from: the lines above every report. */
#include "tools/scenario_load.h"

#include "base/assert.h"
#include "tools/message.h"

#include <stdio.h>
#include <stdlib.h>

/* "2 nodes x 4 ranks", or where groups differ "2 x 4 + 1 x 8 ranks". */
static char *nodes_text(const gs_cluster *cluster)
{
    if (cluster->group_count == 1) {
        const gs_node_group *group = &cluster->groups[0];
        return gs_text("%lld node%s x %lld rank%s", (long long)group->count,
                       group->count == 1 ? "" : "s", (long long)group->ranks,
                       group->ranks == 1 ? "" : "s");
    }
    char *text = gs_text("nodes x ranks:");
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        const gs_node_group *group = &cluster->groups[i];
        char *longer = gs_text("%s%s %lld x %lld (%s)", text, i == 0 ? "" : " +",
                               (long long)group->count, (long long)group->ranks, group->name);
        free(text);
        text = longer;
    }
    return text;
}

/* What the resolved file says under workload: "dtype", or in an object of it: "optimizer", "name".
 */
static const char *word_of(const gs_scenario *scenario, const char *object, const char *key)
{
    gs_json_at root = {.value = scenario->resolved, .file = scenario->file};
    gs_json_at workload;
    gs_json_at part;
    gs_json_at word;
    const char *text = "";
    bool found = gs_json_find(&root, "workload", &workload);
    part = workload;
    found = found && (object == NULL || gs_json_find(&workload, object, &part)) &&
            gs_json_find(&part, key, &word) && gs_json_text(&word, &text, NULL) == GS_OK;
    GS_ASSERT(found);
    return text;
}

/* "measured curve x.log (8 ranks on 2 hosts)", or who else times all-reduces, which is assumed. */
static char *curve_text(const gs_link *link)
{
    const gs_curve *curve = link->curve;
    char rate[GS_UNIT_TEXT_BYTES];
    if (link->curve_file[0] == '\0') {
        return gs_text("%s %s, all-reduces timed by %s (assumed, not measured)",
                       gs_link_class_names[link->class_index],
                       gs_format_rate(link->bandwidth_bps, rate), curve->source);
    }
    char *ranks = curve->ranks > 0 ? gs_text("%d ranks", curve->ranks) : gs_text("ranks not known");
    char *hosts = curve->hosts > 0
                      ? gs_text(" on %d host%s", curve->hosts, curve->hosts == 1 ? "" : "s")
                      : gs_text(", hosts not known");
    char *text = gs_text("measured curve %s (%s%s)", link->curve_file, ranks, hosts);
    free(ranks);
    free(hosts);
    return text;
}

int64_t gs_scenario_budget_samples(const gs_scenario *scenario)
{
    const gs_workload *workload = &scenario->workload;
    return workload->budget_steps * workload->accumulation * workload->batch_per_rank *
           (int64_t)scenario->ranks;
}

/* ", 2 servers on their own network cards" where a strategy uses servers. */
static char *servers_text(const gs_scenario *scenario)
{
    uint32_t servers = 0;
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        servers = scenario->servers[i] > servers ? scenario->servers[i] : servers;
    }
    bool is_placed = scenario->cluster.server_nodes != NULL;
    return servers == 0 ? gs_text("%s", "")
           : is_placed
               ? gs_text(", %u server%s on nodes of ranks", servers, servers == 1 ? "" : "s")
           : servers == 1 ? gs_text(", a server on its own network card")
                          : gs_text(", %u servers on their own network cards", servers);
}

/* "; learns digits, sgd at rate 0.1" where gradients are real. */
static char *learns_text(const gs_scenario *scenario)
{
    const gs_task_config *task = &scenario->workload.task;
    if (!scenario->workload.real_gradients) {
        return gs_text("%s", "");
    }
    bool is_iid = task->data.shards.kind == GS_SHARDS_IID;
    return gs_text("; learns %s%s%s, %s at rate %g", task->data.source->name,
                   is_iid ? "" : ", shards by ", is_iid ? "" : word_of(scenario, "data", "shards"),
                   word_of(scenario, "optimizer", "name"), task->optimizer.rate);
}

char *gs_scenario_headline(const gs_scenario *scenario)
{
    const gs_link *outer = gs_scenario_outer_link(scenario);
    char rate[GS_UNIT_TEXT_BYTES];
    char bytes[GS_UNIT_TEXT_BYTES];
    char *nodes = nodes_text(&scenario->cluster);
    char *link = outer->curve != NULL ? curve_text(outer)
                                      : gs_text("%s %s", gs_link_class_names[outer->class_index],
                                                gs_format_rate(outer->bandwidth_bps, rate));
    char *seeds =
        scenario->seeds == 1
            ? gs_text("seed %llu", (unsigned long long)scenario->seed)
            : gs_text("seeds %llu..%llu", (unsigned long long)scenario->seed,
                      (unsigned long long)scenario->seed + (unsigned long long)scenario->seeds - 1);
    char *servers = servers_text(scenario);
    char *learns = learns_text(scenario);
    char *text = gs_text(
        "%s: %s, %s%s; gradients %s %s, compute of %s%s; %s", scenario->name, nodes, link, servers,
        gs_format_bytes(gs_scenario_gradient_bytes(scenario), bytes),
        word_of(scenario, NULL, "dtype"), scenario->workload.profile->source, learns, seeds);
    free(servers);
    free(learns);
    free(nodes);
    free(link);
    free(seeds);
    return text;
}

/* --- the lines below it ----------------------------------------------------------------------- */

static void put_link(const char *name, const gs_link *link, FILE *out)
{
    char rate[GS_UNIT_TEXT_BYTES];
    char latency[GS_UNIT_TEXT_BYTES];
    fprintf(out, "%s %s %s, latency %s, efficiency %.3g", name,
            gs_link_class_names[link->class_index], gs_format_rate(link->bandwidth_bps, rate),
            gs_format_duration(link->latency_ns, latency), link->efficiency);
}

/* Whether an earlier strategy has that codec, whatever its parameters. */
static bool was_named(const gs_scenario *scenario, uint32_t before)
{
    bool was = false;
    for (uint32_t i = 0; i < before && !was; i++) {
        was = scenario->strategies[i].coding.codec == scenario->strategies[before].coding.codec;
    }
    return was;
}

/* Codecs whose time nobody measured; `between` in front of the first. false: there are none. */
static bool put_codecs(const gs_scenario *scenario, const char *between, FILE *out)
{
    bool has_any = false;
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        const gs_coding *coding = &scenario->strategies[i].coding;
        if (gs_coding_is_assumed(coding) && !was_named(scenario, i)) {
            fprintf(out, "%s%s", has_any ? ", " : between, coding->codec->name);
            has_any = true;
        }
    }
    return has_any;
}

/* What links and codecs are assumed to do; a measured curve stands in the headline. */
static void put_costs(const gs_scenario *scenario, FILE *out)
{
    static const char assumed[] = "assumed, not measured: ";
    const gs_cluster *cluster = &scenario->cluster;
    const gs_link *outer = gs_scenario_outer_link(scenario);
    bool is_measured = scenario->calibration.message_bytes.count > 0;
    bool has_inner = outer == &cluster->nic && gs_cluster_has_nodes(cluster) &&
                     scenario->ranks > scenario->nodes;
    if (outer->curve == NULL) {
        if (is_measured) {
            fprintf(out, "measured %s over %s: ", scenario->calibration.when,
                    scenario->calibration.transport);
        } else {
            fputs(assumed, out);
        }
        put_link(outer == &cluster->nic ? "nic" : "intra", outer, out);
        if (has_inner) {
            fputs("; ", out);
            put_link("intra", &cluster->intra, out);
        }
    }
    bool goes_on = outer->curve == NULL && !is_measured;
    if (outer->curve == NULL && is_measured) {
        fputc('\n', out);
    }
    bool has_codecs = put_codecs(
        scenario, goes_on ? "; time of codec " : "assumed, not measured: time of codec ", out);
    fputs(goes_on || has_codecs ? "\n" : "", out);
}

/* Layers without times: at which rate, and where it comes from. */
static void put_rates(const gs_scenario *scenario, FILE *out)
{
    const gs_workload *workload = &scenario->workload;
    const char *between = "compute by FLOPs: ";
    for (uint32_t i = 0; i < scenario->cluster.group_count && workload->timed_by_flops; i++) {
        const gs_node_group *group = &scenario->cluster.groups[i];
        double rate = gs_scenario_flops_per_s(scenario, group) / 1e12;
        if (workload->flops_per_s > 0.0) {
            fprintf(out, "%s%.4g TFLOP/s (workload.flops_per_s)", between, rate);
            break;
        }
        if (group->known == NULL) {
            fprintf(out, "%s%.4g TFLOP/s (assumed)", between, rate);
        } else {
            fprintf(out, "%s%s %.4g TFLOP/s (%.3g of its peak, assumed)", between,
                    group->known->name, rate, group->known->achievable_ratio);
        }
        between = "; ";
    }
    fputs(workload->timed_by_flops ? "\n" : "", out);
}

typedef struct separated {
    FILE *out;
    const char *first; /* in front of the first part */
    bool has_any;
} separated;

static void begin_part(separated *list)
{
    fputs(list->has_any ? "; " : list->first, list->out);
    list->has_any = true;
}

static void put_law(separated *list, const char *name, const gs_noise_law *law)
{
    if (law->law != GS_LAW_NONE) {
        begin_part(list);
        fprintf(list->out, "%s %s cv %.3g", name, gs_law_names[law->law], law->cv);
    }
}

static void put_straggler(separated *list, const gs_straggler *straggler)
{
    if (straggler->kind == GS_STRAGGLER_NONE) {
        return;
    }
    begin_part(list);
    fprintf(list->out, "straggler %s", gs_straggler_names[straggler->kind]);
    if (straggler->rank < 0) {
        fputs(" on every rank", list->out);
    } else {
        fprintf(list->out, " rank %lld", (long long)straggler->rank);
    }
    fprintf(list->out, " x%.3g", straggler->factor);
}

/* What varies; nothing where a job is the same every time. */
static void put_noise(const gs_scenario *scenario, FILE *out)
{
    const gs_noise *noise = &scenario->noise;
    const gs_link *outer = gs_scenario_outer_link(scenario);
    separated list = {.out = out, .first = "noise: "};
    put_law(&list, "compute", &noise->compute);
    put_straggler(&list, &noise->straggler);
    if (outer->curve == NULL) {
        put_law(&list, "latency", &noise->latency);
        if (outer->trace.point_count > 0) {
            begin_part(&list);
            fprintf(out, "bandwidth from %s", outer->trace_file);
        } else if (outer->process.kind != GS_RATE_TRACE) {
            begin_part(&list);
            fprintf(out, "bandwidth %s, %.3g of it in the mean",
                    gs_rate_kind_names[outer->process.kind], gs_rate_process_mean(&outer->process));
        }
    }
    if (scenario->workload.input.time_ns > 0) {
        put_law(&list, "input", &noise->input);
    }
    fputs(list.has_any ? "\n" : "", out);
}

static void put_loader(const gs_input_stage *input, FILE *out)
{
    char time[GS_UNIT_TEXT_BYTES];
    if (input->time_ns > 0) {
        fprintf(out, "loader: %s a batch, %lld worker%s a rank, prefetch %lld\n",
                gs_format_duration(input->time_ns, time), (long long)input->workers,
                input->workers == 1 ? "" : "s", (long long)input->prefetch);
    }
}

/* What another number than fp32 means for bytes and for what is learned. */
static void put_dtype(const gs_scenario *scenario, FILE *out)
{
    int64_t bytes = scenario->workload.element_bytes;
    if (scenario->workload.real_gradients && bytes != 4) {
        fprintf(out, "workload.dtype: %s %s the bytes; %s\n", word_of(scenario, NULL, "dtype"),
                bytes < 4 ? "halves" : "doubles",
                bytes < 4 ? "gradients and what is sent are rounded to it, weights stay fp32"
                          : "all numbers stay fp32");
    }
}

/* Between nodes: what is beyond one switch. */
static void put_fabric(const gs_scenario *scenario, FILE *out)
{
    const gs_fabric *fabric = &scenario->cluster.topology;
    uint32_t places = scenario->nodes + (uint32_t)scenario->cluster.servers;
    gs_fat_tree tree;
    switch ((gs_topology_kind)fabric->kind) {
    case GS_TOPOLOGY_SWITCH:
    case GS_TOPOLOGY_NODES:
        fputs("one switch", out);
        break;
    case GS_TOPOLOGY_FAT_TREE:
        tree = gs_fabric_fat_tree(fabric, places);
        fprintf(out, "fat tree of %u leaves, %u spine%s", tree.leaves, tree.spines,
                tree.spines == 1 ? "" : "s");
        if (tree.pods > 1) {
            fprintf(out, " in each of %u pods, %u core%s a spine", tree.pods, tree.cores,
                    tree.cores == 1 ? "" : "s");
        }
        fprintf(out, ", %s, oversubscribed %.4g%s",
                fabric->routing == GS_ROUTING_ECMP ? "ECMP by hash" : "d-mod-k",
                fabric->oversubscription, fabric->rails ? ", a rail a nic" : "");
        break;
    case GS_TOPOLOGY_TORUS:
        for (int64_t i = 0; i < fabric->dims.count; i++) {
            fprintf(out, "%s%lld", i == 0 ? "torus " : " x ", (long long)fabric->dims.values[i]);
        }
        break;
    case GS_TOPOLOGY_REGIONS:
        fprintf(out, "%u regions", fabric->region_count);
        break;
    case GS_TOPOLOGY_GRAPH:
        fprintf(out, "graph of %u hosts and %u switches (%s)", fabric->graph->hosts,
                fabric->graph->vertices - fabric->graph->hosts, fabric->graph_file);
        break;
    }
}

/* Nothing of what every cluster is that says no more. */
static void put_topology(const gs_scenario *scenario, FILE *out)
{
    const gs_cluster *cluster = &scenario->cluster;
    const gs_fabric *fabric = &cluster->topology;
    if (fabric->kind <= GS_TOPOLOGY_NODES && fabric->insides == NULL && fabric->nics <= 1 &&
        cluster->slot_of == NULL) {
        return;
    }
    fputs("topology: ", out);
    put_fabric(scenario, out);
    if (fabric->nics > 1) {
        fprintf(out, "; %lld nics a node", (long long)fabric->nics);
    }
    if (fabric->insides != NULL) {
        const gs_node_graph *node = fabric->insides[0];
        fprintf(out, "; inside of a node by %s: %u links", node->source, node->edge_count);
    }
    fprintf(out, "; ranks are %s\n",
            cluster->slot_of == NULL ? "numbered node by node" : "placed by cluster.placement");
}

void gs_scenario_put_details(const gs_scenario *scenario, FILE *out)
{
    const gs_workload *workload = &scenario->workload;
    put_costs(scenario, out);
    put_topology(scenario, out);
    put_rates(scenario, out);
    put_noise(scenario, out);
    put_loader(&workload->input, out);
    put_dtype(scenario, out);
    if (workload->profile->batch == 0) {
        fprintf(out, "batch of the timed step: not known; samples/s counts %lld a rank and pass\n",
                (long long)workload->batch_per_rank);
    }
}
