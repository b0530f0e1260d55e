/* cluster.tuning and cluster.nccl: what `algorithm=auto` follows, and NCCL's settings. */
#include "traces/scenario/scenario_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "strategies/group.h"
#include "traces/importers/importer.h"

enum {
    TABLES_MAX = 64,
    NAMES_MAX = 64,
    WARP = 32,
    THREADS_MIN = 64,
    CHANNELS_MAX = 64,
    BUFFER_MIN_BYTES = 32 << 10
};

static const char *const sources[] = {"fixed", "nccl", "mpich", "measured", NULL};
static const char *const times[] = {"links", "model", NULL};
static const char *const generations[] = {"auto", "volta", "ampere", "hopper", "blackwell", NULL};
static const char *const processors[] = {"intel", "amd", "other", NULL};
static const char *const maybe[] = {"auto", "no", "yes", NULL};
static const char *const nic_paths[] = {"near", "far", NULL};
static const char *const trees[] = {"whole", "split", NULL};
static const char *const pats[] = {"no", "yes", "auto", NULL};

/* cluster.tuning.measured[] as the file says it. */
typedef struct table_config {
    char algorithm[GS_NAME_BYTES];
    int64_t rings;
    int64_t piece_bytes;
    char curve[GS_FILE_BYTES];
} table_config;

/* clang-format off */
static const gs_field tuning_fields[] = {
    {"follow", GS_FIELD_CHOICE, GS_FIELD_AT(gs_tuning, follow), "fixed", 0, 0, sources,
     "what algorithm=auto follows: one algorithm, NCCL's tuning model (cluster.nccl), MPICH's defaults, or the tables in measured"},
};
static const gs_field measured_fields[] = {
    {"algorithm", GS_FIELD_TEXT, GS_FIELD_AT(table_config, algorithm), NULL, 0, 0, NULL,
     "of all-reduce, that the table was measured with"},
    {"rings", GS_FIELD_INT, GS_FIELD_AT(table_config, rings), "1", 1, CHANNELS_MAX, NULL,
     "channels side by side that it runs with here"},
    {"piece", GS_FIELD_BYTES, GS_FIELD_AT(table_config, piece_bytes), "0B", 0, 1e12, NULL,
     "of a pipelined algorithm; 0B: the whole"},
    {"curve", GS_FIELD_TEXT, GS_FIELD_AT(table_config, curve), NULL, 0, 0, NULL,
     "output of all_reduce_perf on as many ranks"},
};
static const gs_field nccl_fields[] = {
    {"times", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, times), "links", 0, 0, times,
     "how long all-reduces of all ranks take: what their sends take over the links, or what NCCL's model says"},
    {"generation", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, generation), "auto", 0, 0, generations,
     "of the GPUs; auto: of the first nodes' device, else ampere"},
    {"cpu", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, cpu), "intel", 0, 0, processors,
     "of the nodes: what posting to the network takes, and how fast LL is over it"},
    {"nvls", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, nvls), "auto", 0, 0, maybe,
     "a switch in the node sums and copies; auto: from hopper on, over nvlink, with more than 2 ranks a node"},
    {"nic_path", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, nic_path), "near", 0, 0, nic_paths,
     "from GPU to nic: over PCIe switches only, or through the processor, which rules LL128 out"},
    {"tree", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, tree), "whole", 0, 0, trees,
     "pattern of trees that NCCL's search found in a channel"},
    {"channels", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, channels), "0", 0, CHANNELS_MAX, NULL,
     "that NCCL's search found; 0: as many links of the generation as the links' rate holds"},
    {"channel_rate", GS_FIELD_RATE, GS_FIELD_AT(gs_nccl_config, channel_rate_bps), "0bit/s", 0, 1e15, NULL,
     "of one channel; 0bit/s: its share of what leaves a node, or a rank of one node"},
    {"net_latency", GS_FIELD_DURATION, GS_FIELD_AT(gs_nccl_config, net_latency_ns), "0s", 0, 1e9, NULL,
     "that the network's plug-in reports; NCCL's own report 0s"},
    {"algo", GS_FIELD_TEXT, GS_FIELD_AT(gs_nccl_config, algo), "", 0, 0, NULL,
     "NCCL_ALGO: algorithms allowed, such as ring,tree or allreduce:^nvls; empty: all"},
    {"proto", GS_FIELD_TEXT, GS_FIELD_AT(gs_nccl_config, proto), "", 0, 0, NULL,
     "NCCL_PROTO: protocols allowed, such as ^LL128; empty: all, LL128 where it is safe"},
    {"min_ctas", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, min_ctas), "0", 0, CHANNELS_MAX, NULL,
     "NCCL_MIN_CTAS, once NCCL_MIN_NCHANNELS: least channels that ops are spread over; 0: NCCL's"},
    {"max_ctas", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, max_ctas), "0", 0, CHANNELS_MAX, NULL,
     "NCCL_MAX_CTAS, once NCCL_MAX_NCHANNELS: most of them; 0: NCCL's"},
    {"nthreads", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, nthreads), "0", 0, 512, NULL,
     "NCCL_NTHREADS: of a channel with LL and Simple, a multiple of 32 from 64; fewer feed more channels; 0: NCCL's"},
    {"ll128_nthreads", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, ll128_nthreads), "0", 0, 640, NULL,
     "NCCL_LL128_NTHREADS: likewise with LL128, from 160"},
    {"buffsize", GS_FIELD_BYTES, GS_FIELD_AT(gs_nccl_config, buffsize_bytes), "0B", 0, 1e10, NULL,
     "NCCL_BUFFSIZE: of a channel with Simple; a tree's pieces are at most an 8th of it; 0B: NCCL's, 4MiB"},
    {"net_overhead", GS_FIELD_DURATION, GS_FIELD_AT(gs_nccl_config, net_overhead_ns), "0s", 0, 1e9, NULL,
     "NCCL_NET_OVERHEAD: of posting to the network; 0s: by the processor"},
    {"pat", GS_FIELD_CHOICE, GS_FIELD_AT(gs_nccl_config, pat), "auto", 0, 0, pats,
     "NCCL_PAT_ENABLE: the algorithm pat; auto: with one rank a node"},
    {"socket_nthreads", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, socket_nthreads), "0", 0, 16, NULL,
     "NCCL_SOCKET_NTHREADS; not modelled: links.nic says what TCP gives"},
    {"nsocks_perthread", GS_FIELD_INT, GS_FIELD_AT(gs_nccl_config, nsocks_perthread), "0", 0, 64, NULL,
     "NCCL_NSOCKS_PERTHREAD; not modelled: links.nic says what TCP gives"},
};
/* clang-format on */

const gs_field_table gs_scenario_tuning_table =
    GS_SCENARIO_TABLE("cluster.tuning", gs_tuning, tuning_fields);
const gs_field_table gs_scenario_measured_table =
    GS_SCENARIO_TABLE("cluster.tuning.measured[]", table_config, measured_fields);
const gs_field_table gs_scenario_nccl_table =
    GS_SCENARIO_TABLE("cluster.nccl", gs_nccl_config, nccl_fields);

/* ---------------------------------------------------------------- NCCL's settings */

static gs_status check_threads(const gs_scenario_reader *reader, const char *path, int64_t threads,
                               int64_t least, gs_error *err)
{
    if (threads == 0 || (threads >= least && threads % WARP == 0)) {
        return GS_OK;
    }
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "%lld: NCCL would take its most instead; write a multiple of %d from "
                            "%lld on, or 0",
                            (long long)threads, WARP, (long long)least);
}

/* What the keys say, as the model takes it. */
static gs_status make_settings(const gs_scenario_reader *reader, gs_nccl_config *nccl,
                               gs_error *err)
{
    gs_error inner = {0};
    nccl->settings = gs_nccl_settings_default();
    nccl->settings.pat = nccl->pat;
    nccl->settings.threads = (uint32_t)nccl->nthreads;
    nccl->settings.ll128_threads = (uint32_t)nccl->ll128_nthreads;
    nccl->settings.buffer_bytes = nccl->buffsize_bytes;
    nccl->settings.net_overhead_ns = nccl->net_overhead_ns > 0 ? nccl->net_overhead_ns : -1;
    gs_status status = gs_nccl_algorithms_read(nccl->algo, &nccl->settings, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, "cluster.nccl.algo", err, "%s", inner.text);
    }
    status = gs_nccl_protocols_read(nccl->proto, &nccl->settings, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, "cluster.nccl.proto", err, "%s", inner.text);
    }
    GS_TRY(check_threads(reader, "cluster.nccl.nthreads", nccl->nthreads, THREADS_MIN, err));
    GS_TRY(check_threads(reader, "cluster.nccl.ll128_nthreads", nccl->ll128_nthreads, 160, err));
    if (nccl->buffsize_bytes > 0 && nccl->buffsize_bytes < BUFFER_MIN_BYTES) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.nccl.buffsize", err,
                                "%lldB leaves no room for the 8 steps of a channel; write 32KiB or "
                                "more, or 0B",
                                (long long)nccl->buffsize_bytes);
    }
    if (nccl->max_ctas > 0 && nccl->min_ctas > nccl->max_ctas) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.nccl.min_ctas", err,
                                "%lld is over max_ctas, %lld; lower it", (long long)nccl->min_ctas,
                                (long long)nccl->max_ctas);
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- the machine */

/* GB/s of payload. */
static double gbps(const gs_link *link)
{
    return (double)link->bandwidth_bps * link->efficiency / 8e9;
}

static int generation_of(const gs_scenario *scenario)
{
    int said = scenario->cluster.tuning.nccl.generation;
    int known = gs_nccl_generation_of(scenario->cluster.groups[0].device);
    return said > 0 ? said - 1 : known >= 0 ? known : GS_NCCL_AMPERE;
}

/* GB/s of one link of the generation, in one direction: NCCL 2.30.7, src/graph/topo.h. */
static double link_gbps(int generation, bool pcie)
{
    static const double NVLINK_GBPS[] = {20.0, 20.0, 20.6, 40.1};
    static const double PCIE3_GBPS = 12.0;
    return pcie ? PCIE3_GBPS : NVLINK_GBPS[generation];
}

static uint32_t clip(int64_t value, int64_t least, int64_t most)
{
    return (uint32_t)(value < least ? least : value > most ? most : value);
}

/* Channels of the search that share `total` GB/s, each of one link's rate or so. */
static gs_nccl_graph graph_of(const gs_nccl_config *nccl, double total, double link)
{
    gs_nccl_graph graph = {.channels = (uint32_t)nccl->channels};
    if (graph.channels == 0) {
        graph.channels = clip(llround(total / link), 1, CHANNELS_MAX / 2);
    }
    graph.intra_gbps =
        nccl->channel_rate_bps > 0 ? (double)nccl->channel_rate_bps / 8e9 : total / graph.channels;
    graph.inter_gbps = graph.intra_gbps;
    return graph;
}

uint32_t gs_scenario_node_nics(const gs_scenario *scenario)
{
    const gs_cluster *cluster = &scenario->cluster;
    return gs_cluster_has_nodes(cluster) ? (uint32_t)cluster->topology.nics : 1;
}

bool gs_scenario_nccl_machine(const gs_scenario *scenario, uint32_t members, uint32_t inner,
                              gs_nccl_machine *out)
{
    const gs_cluster *cluster = &scenario->cluster;
    const gs_nccl_config *nccl = &cluster->tuning.nccl;
    bool alone = !gs_cluster_has_nodes(cluster);
    if (members < 2 || members % inner != 0) {
        return false;
    }
    gs_nccl_machine machine = {.ranks = members,
                               .nodes = alone ? members : members / inner,
                               .generation = generation_of(scenario),
                               .pcie = cluster->intra.class_index != 0,
                               .cpu = nccl->cpu,
                               .far_nic = nccl->nic_path == 1,
                               .split_tree = nccl->tree == 1,
                               .net_latency_us = (double)nccl->net_latency_ns * 1e-3};
    double nics = gs_scenario_node_nics(scenario);
    double inside = gbps(&cluster->intra);
    double outside = gbps(&cluster->nic) * nics;
    double ring = machine.nodes == 1 ? inside : alone ? outside : fmin(inside, outside);
    double link = link_gbps(machine.generation, machine.pcie);
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        machine.graphs[a] = graph_of(nccl, ring, link);
    }
    /* Through the switch each rank of a node is the head of a channel. */
    gs_nccl_graph heads = {alone ? 1 : inner, inside / inner, outside / inner};
    machine.graphs[GS_NCCL_NVLS] = heads;
    machine.graphs[GS_NCCL_NVLS_TREE] = heads;
    bool sums = machine.generation >= GS_NCCL_HOPPER && !machine.pcie && !alone && inner > 2;
    machine.nvls = nccl->nvls == 0 ? sums : nccl->nvls == 2;
    /* Rings and trees of the search are laid twice (src/graph/connect.cc). */
    uint32_t channels = clip(2 * (int64_t)machine.graphs[GS_NCCL_RING].channels, 1, CHANNELS_MAX);
    channels = clip(channels, 1, nccl->max_ctas > 0 ? nccl->max_ctas : CHANNELS_MAX);
    machine.channels = clip(channels, nccl->min_ctas, CHANNELS_MAX);
    *out = machine;
    return true;
}

/* ---------------------------------------------------------------- measured tables */

static gs_status find_program(const gs_scenario_reader *reader, const char *path, const char *name,
                              const gs_collective **out, gs_error *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < gs_collective_count() && count < NAMES_MAX; i++) {
        if (gs_collective_at(i)->kind == GS_ALL_REDUCE) {
            names[count++] = gs_collective_at(i)->name;
        }
    }
    *out = gs_collective_find(name);
    if (*out != NULL && (*out)->kind == GS_ALL_REDUCE) {
        return GS_OK;
    }
    const char *near = gs_nearest_name(name, names, count);
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "\"%s\" is no algorithm of all-reduce; %s%s%s", name,
                            near == NULL ? "see `gradsync list collectives`" : "did you mean ",
                            near == NULL ? "" : near, near == NULL ? "" : "?");
}

/* The all-reduce of all ranks in the table's file. */
static gs_status read_table_curve(gs_scenario_reader *reader, const char *path, const char *file,
                                  const gs_curve **out, gs_error *err)
{
    gs_error inner = {0};
    gs_imported imported = {0};
    const char *files[] = {file};
    gs_status status = gs_import(files, 1, NULL, reader->arena, &imported, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, path, err, "%s", inner.text);
    }
    for (uint32_t i = 0; i < imported.curve_count; i++) {
        const gs_curve *curve = &imported.curves[i];
        if (strcmp(curve->collective, "all_reduce") == 0 &&
            (curve->ranks == 0 || (uint32_t)curve->ranks == reader->out->ranks)) {
            *out = curve;
            return GS_OK;
        }
    }
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "\"%s\" holds no all_reduce on %u ranks; measure it on as many", file,
                            reader->out->ranks);
}

static gs_status read_tables(gs_scenario_reader *reader, gs_error *err)
{
    void *items = NULL;
    uint32_t count = 0;
    gs_tuning *tuning = &reader->out->cluster.tuning;
    GS_TRY(gs_scenario_read_list(reader, "cluster.tuning.measured", &gs_scenario_measured_table,
                                 TABLES_MAX, &items, &count, err));
    const table_config *said = items;
    gs_tuning_table *tables = GS_TAKE(reader->arena, gs_tuning_table, count);
    const char **files = GS_TAKE(reader->arena, const char *, count);
    if (tables == NULL || files == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < count; i++) {
        char path[GS_JSON_PATH_BYTES];
        snprintf(path, sizeof path, "cluster.tuning.measured[%u].algorithm", i);
        GS_TRY(find_program(reader, path, said[i].algorithm, &tables[i].choice.program, err));
        tables[i].choice.rings = (uint32_t)said[i].rings;
        tables[i].choice.piece_bytes = said[i].piece_bytes;
        snprintf(path, sizeof path, "cluster.tuning.measured[%u].curve", i);
        GS_TRY(read_table_curve(reader, path, said[i].curve, &tables[i].curve, err));
        files[i] = said[i].curve;
    }
    tuning->tables = tables;
    tuning->table_files = files;
    tuning->table_count = count;
    reader->measured = items;
    if (tuning->follow == GS_TUNE_MEASURED && count == 0) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.tuning.measured", err,
                                "is empty, and algorithm=auto is to follow it; list {algorithm, "
                                "curve} for each algorithm measured");
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- all together */

/* The model of all ranks; false: one rank, or nodes of different sizes. */
static bool model_of_all(const gs_scenario *scenario, gs_nccl_model *out)
{
    gs_nccl_machine machine;
    uint32_t inner = (uint32_t)scenario->cluster.groups[0].ranks;
    for (uint32_t i = 1; i < scenario->cluster.group_count; i++) {
        if (scenario->cluster.groups[i].ranks != inner) {
            return false;
        }
    }
    if (!gs_scenario_nccl_machine(scenario, scenario->ranks, inner, &machine)) {
        return false;
    }
    gs_nccl_model_init(out, &machine, &scenario->cluster.tuning.nccl.settings);
    return true;
}

/* NCCL's times in the place of a measured curve. */
static gs_status use_model_times(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    bool on_nic = gs_scenario_outer_link(reader->out) == &cluster->nic;
    gs_link *outer = on_nic ? &cluster->nic : &cluster->intra;
    gs_nccl_model model;
    if (cluster->tuning.nccl.times == 0) {
        return GS_OK;
    }
    if (outer->curve != NULL) {
        gs_scenario_note(
            reader,
            "cluster.nccl.times: model has no effect: the curve of cluster.links.%s is "
            "measured, which counts more",
            on_nic ? "nic" : "intra");
        return GS_OK;
    }
    if (!model_of_all(reader->out, &model)) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.nccl.times", err,
                                "NCCL's model needs 2 ranks or more, as many on each node; say "
                                "links");
    }
    outer->curve = gs_tuning_nccl_curve(&model, reader->arena);
    return outer->curve != NULL
               ? GS_OK
               : gs_scenario_fail(reader, GS_EINVAL, "cluster.nccl", err,
                                  "algo and proto leave NCCL nothing to do an all-reduce by on "
                                  "this machine; allow ring or tree");
}

/* One ring leaves a node by one rank, whatever the node has. */
static void tell_idle_nics(gs_scenario_reader *reader)
{
    uint32_t nics = gs_scenario_node_nics(reader->out);
    bool has_outside = gs_scenario_outer_link(reader->out) == &reader->out->cluster.nic;
    if (nics > 1 && has_outside && reader->out->cluster.tuning.follow == GS_TUNE_FIXED &&
        reader->collectives.selection.rule_count == 0) {
        gs_scenario_note(reader,
                         "cluster.topology.nics: a ring leaves a node by 1 of its %u nics; "
                         "cluster.tuning.follow=nccl uses them all, as NCCL does",
                         nics);
    }
}

gs_status gs_scenario_read_tuning(gs_scenario_reader *reader, gs_error *err)
{
    gs_tuning *tuning = &reader->out->cluster.tuning;
    GS_TRY(
        gs_scenario_read_object(reader, "cluster.tuning", &gs_scenario_tuning_table, tuning, err));
    GS_TRY(gs_scenario_read_object(reader, "cluster.nccl", &gs_scenario_nccl_table, &tuning->nccl,
                                   err));
    GS_TRY(make_settings(reader, &tuning->nccl, err));
    GS_TRY(read_tables(reader, err));
    tell_idle_nics(reader);
    return use_model_times(reader, err);
}

static bool add_rules(const gs_scenario *scenario, const gs_job *job, const gs_layout *layout,
                      uint32_t index, gs_rule_list *list)
{
    const gs_tuning *tuning = &scenario->cluster.tuning;
    const gs_communicator *communicator = &layout->communicators[index];
    uint32_t members = gs_group_size(communicator->group, job->ranks);
    uint32_t kinds = gs_communicator_kinds(communicator);
    gs_nccl_machine machine;
    gs_nccl_model model;
    bool ok = true;
    bool has_model = tuning->follow == GS_TUNE_NCCL &&
                     gs_scenario_nccl_machine(scenario, members,
                                              gs_group_inner(communicator->group, job), &machine);
    /* Of several nics a rank has one, so that rings which leave by all ranks use them all. */
    uint32_t ways = 1;
    if (has_model) {
        gs_nccl_model_init(&model, &machine, &tuning->nccl.settings);
        ways = gs_scenario_node_nics(scenario) > 1 ? machine.ranks / machine.nodes : 1;
    }
    for (int k = 0; k < GS_COLLECTIVE_KIND_COUNT && ok; k++) {
        gs_collective_kind kind = (gs_collective_kind)k;
        if ((kinds >> k & 1U) == 0) {
            continue;
        }
        if (has_model) {
            ok = gs_tuning_by_nccl(&model, ways, kind, index, list);
        } else if (tuning->follow == GS_TUNE_MPICH) {
            ok = gs_tuning_by_mpich(members, kind, index, list);
        } else if (tuning->follow == GS_TUNE_MEASURED && kind == GS_ALL_REDUCE &&
                   members == scenario->ranks) {
            ok = gs_tuning_by_tables(tuning->tables, tuning->table_count, index, list);
        }
    }
    return ok;
}

/* Where real 16-bit numbers travel, members of a pair that both add end with different last bits:
 * what halves and doubles instead goes the same ways. */
static void keep_bits_equal(const gs_workload *workload, gs_selection_rule *rules, uint32_t count)
{
    bool is_half = workload->number == GS_FP16 || workload->number == GS_BF16;
    for (uint32_t i = 0; i < count && is_half && workload->real_gradients; i++) {
        if (rules[i].choice.program->is_mutual) {
            rules[i].choice =
                (gs_choice){.program = gs_collective_find("halving_doubling"), .rings = 1};
        }
    }
}

gs_status gs_scenario_tune(gs_scenario_reader *reader, const gs_job *job, const gs_layout *layout,
                           gs_selection *selection, gs_error *err)
{
    if (reader->out->cluster.tuning.follow == GS_TUNE_FIXED) {
        return GS_OK;
    }
    gs_rule_list list = {.arena = reader->arena};
    bool ok = true;
    for (uint32_t i = 0; i < selection->rule_count && ok; i++) {
        ok = gs_rule_list_add(&list, &selection->rules[i]);
    }
    for (uint32_t i = 0; i < layout->communicator_count && ok; i++) {
        const gs_communicator *communicator = &layout->communicators[i];
        bool has_others = (gs_communicator_kinds(communicator) & ~(1U << GS_ALL_REDUCE)) != 0;
        reader->is_open = reader->is_open || communicator->all_reduce == NULL || has_others;
        ok = add_rules(reader->out, job, layout, i, &list);
    }
    keep_bits_equal(&reader->out->workload, list.items, list.count);
    *selection = (gs_selection){list.items, list.count};
    return ok ? GS_OK : gs_scenario_no_memory(reader, err);
}

bool gs_scenario_write_tuning(const gs_scenario_reader *reader, gs_json *cluster)
{
    const gs_tuning *tuning = &reader->out->cluster.tuning;
    gs_json *part = gs_json_new_object();
    bool ok = gs_config_write(&gs_scenario_tuning_table, tuning, part);
    ok = gs_scenario_put_list(part, "measured", &gs_scenario_measured_table, reader->measured,
                              tuning->table_count) &&
         ok;
    ok = gs_json_set(cluster, "tuning", part) && ok;
    return gs_scenario_put_object(cluster, "nccl", &gs_scenario_nccl_table, &tuning->nccl) && ok;
}
