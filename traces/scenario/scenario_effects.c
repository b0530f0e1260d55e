/* Settings that are said and change nothing: each gets a note that names the key and why. Only what
 * a file or the command line says, and what differs from the default: a resolved file says all. */
#include "traces/scenario/scenario_parts.h"

#include "strategies/registry.h"

#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 128, LIST_BYTES = 256, KEYS_MAX = 32, ANYWHERE = GS_LAYERS_MAX + 1 };

static const char *const link_rates[] = {
    "bandwidth", "latency",           "efficiency",    "sockets", "window",
    "queue",     "per_message",       "eager",         "loss",    "initial_window",
    "idle",      "staging_bandwidth", "staging_chunk", NULL};
static const char *const link_keys[] = {
    "bandwidth", "latency",           "efficiency",    "sockets", "window",
    "queue",     "per_message",       "eager",         "loss",    "initial_window",
    "idle",      "staging_bandwidth", "staging_chunk", "curve",   NULL};

/* Who said it: 0 the command line, 1 the file, 2 what it extends, ...; beyond all: nobody. */
static uint32_t depth_of(const gs_scenario_reader *reader, const char *path)
{
    const gs_scenario_source *source = &reader->source;
    gs_json_at found;
    if (!gs_scenario_path_find(&source->merged, path, &found)) {
        return ANYWHERE + 1;
    }
    if (gs_scenario_source_is_override(source, path)) {
        return 0;
    }
    for (uint32_t i = 0; i < source->layer_count; i++) {
        if (gs_scenario_path_find(&source->layers[i].document, path, &found)) {
            return i + 1;
        }
    }
    return ANYWHERE;
}

typedef struct effect {
    const char *section; /* "cluster.links.nic" */
    const gs_field_table *table;
    const void *values;
    uint32_t depth; /* said by this layer or one over it; ANYWHERE: by anyone */
} effect;

/* Is the key said, on the command line or with another value than the default? */
static bool is_said(gs_scenario_reader *reader, const effect *of, const char *key)
{
    char path[GS_JSON_PATH_BYTES];
    char value[VALUE_BYTES];
    char usual[VALUE_BYTES];
    size_t index = gs_config_find(of->table, key);
    snprintf(path, sizeof path, "%s.%s", of->section, key);
    uint32_t depth = depth_of(reader, path);
    void *defaults = gs_arena_take(reader->arena, 1, of->table->struct_bytes);
    if (depth > of->depth || depth > ANYWHERE || defaults == NULL ||
        index == of->table->field_count) {
        return false;
    }
    gs_config_defaults(of->table, defaults);
    const gs_field *field = &of->table->fields[index];
    gs_config_value_text(field, of->values, value, sizeof value);
    gs_config_value_text(field, defaults, usual, sizeof usual);
    return depth == 0 || strcmp(value, usual) != 0;
}

/* One note for all keys of the list that are said: "noise.straggler: rank, factor: no effect: ..."
 */
static void note_unused(gs_scenario_reader *reader, const effect *of, const char *const *keys,
                        const char *why)
{
    char list[LIST_BYTES] = "";
    size_t used = 0;
    size_t count = 0;
    for (size_t i = 0; keys[i] != NULL; i++) {
        if (is_said(reader, of, keys[i]) && used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     count == 0 ? "" : ", ", keys[i]);
            count++;
        }
    }
    if (count > 0) {
        gs_scenario_note(reader, "%s: %s %s no effect: %s", of->section, list,
                         count == 1 ? "has" : "have", why);
    }
}

/* --- links ---------------------------------------------------------------------------------- */

/* What sockets alone have, and what TCP. */
static void check_sockets(gs_scenario_reader *reader, const effect *of)
{
    static const char *const of_sockets[] = {"window", "queue", NULL};
    static const char *const of_tcp[] = {"loss", "segment", "initial_window", "idle", NULL};
    static const char *const of_segments[] = {"segment", NULL};
    static const char *const of_slow_start[] = {"idle", NULL};
    static const char *const of_windows[] = {"queue", NULL};
    const gs_link *link = of->values;
    if (link->sockets != GS_SOCKETS_PROCESS) {
        note_unused(reader, of, of_sockets, "sockets is channel; say process");
    } else if (link->window_bytes == 0) {
        note_unused(reader, of, of_windows, "there is no window; say one");
    }
    if (link->class_index != GS_LINK_TCP) {
        note_unused(reader, of, of_tcp, "class is not tcp");
        return;
    }
    if (link->loss <= 0.0 && link->initial_window == 0) {
        note_unused(reader, of, of_segments, "there is neither loss nor an initial_window");
    }
    if (link->initial_window == 0) {
        note_unused(reader, of, of_slow_start, "there is no initial_window; say one");
    }
}

/* Copies are where some nodes have no GPUDirect. */
static void check_copies(gs_scenario_reader *reader, const effect *nic)
{
    static const char *const of_copies[] = {"staging_bandwidth", "staging_chunk", NULL};
    const gs_cluster *cluster = &reader->out->cluster;
    bool is_used = false;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        is_used |= cluster->groups[i].gpudirect == GS_GPUDIRECT_OFF;
    }
    if (!is_used) {
        note_unused(reader, nic, of_copies, "gpudirect is on in all of cluster.nodes");
    }
}

/* Does NCCL's model time the all-reduces of all ranks, where there is no measured curve? */
static bool is_modelled(const gs_cluster *cluster)
{
    return cluster->tuning.nccl.times == 1;
}

static void check_links(gs_scenario_reader *reader)
{
    static const char *const unmodelled[] = {
        "latency",       "sockets", "window",         "queue", "per_message",
        "eager",         "loss",    "initial_window", "idle",  "staging_bandwidth",
        "staging_chunk", NULL};
    const gs_scenario *out = reader->out;
    const gs_cluster *cluster = &out->cluster;
    const gs_link *outer = gs_scenario_outer_link(out);
    effect nic = {"cluster.links.nic", &gs_scenario_nic_table, &cluster->nic, ANYWHERE};
    effect intra = {"cluster.links.intra", &gs_scenario_intra_table, &cluster->intra, ANYWHERE};
    bool on_nic = outer == &cluster->nic;
    if (!on_nic) {
        note_unused(reader, &nic, link_keys, "all ranks are on one node, nothing leaves it");
    } else if (!gs_cluster_has_nodes(cluster)) {
        note_unused(reader, &intra, link_keys,
                    "topology kind \"switch\" has a nic for every rank and no links inside nodes");
    }
    bool has_inner = gs_cluster_has_nodes(cluster);
    if (on_nic && outer->curve == NULL) {
        check_sockets(reader, &nic);
        check_copies(reader, &nic);
    }
    if ((!on_nic || has_inner) && outer->curve == NULL) {
        check_sockets(reader, &intra);
    }
    effect *used = on_nic ? &nic : &intra;
    if (outer->curve != NULL) {
        used->depth =
            depth_of(reader, on_nic ? "cluster.links.nic.curve" : "cluster.links.intra.curve");
        if (is_modelled(cluster)) {
            note_unused(reader, used, unmodelled, "NCCL's model gives the times");
        } else {
            note_unused(reader, used, link_rates, "the curve of this link gives the times");
        }
    }
    if (on_nic && has_inner) {
        static const char *const curve[] = {"curve", NULL};
        note_unused(reader, &intra, curve,
                    "it is used where one node holds all ranks; measure over the nodes and say "
                    "cluster.links.nic.curve");
        if (outer->curve != NULL && !is_modelled(cluster)) {
            intra.depth = nic.depth;
            note_unused(reader, &intra, link_rates, "the curve of nic times the whole all-reduce");
        }
    }
}

/* --- topology ------------------------------------------------------------------------------- */

static void check_inside(gs_scenario_reader *reader, const effect *of)
{
    static const char *const of_tree[] = {"sockets", "bridge_ranks", NULL};
    static const char *const of_rule[] = {"inside", "sockets", "bridge_ranks", NULL};
    static const char *const of_file[] = {"nvlink_bandwidth", "pcie_bandwidth", NULL};
    static const char *const of_both[] = {"sockets_bandwidth", NULL};
    static const char *const rate[] = {"bandwidth", NULL};
    const gs_cluster *cluster = &reader->out->cluster;
    if (cluster->topology.node_file[0] != '\0') {
        effect intra = {"cluster.links.intra", &gs_scenario_intra_table, &cluster->intra, ANYWHERE};
        note_unused(reader, of, of_rule, "node_file says what is inside a node");
        note_unused(reader, &intra, rate, "cluster.topology.node_file gives the rates inside");
        return;
    }
    note_unused(reader, of, of_file, "there is no node_file");
    if (cluster->topology.inside != GS_INSIDE_PCIE) {
        note_unused(reader, of, of_tree, "inside is not pcie");
        note_unused(reader, of, of_both, "inside is not pcie, and there is no node_file");
    }
}

static void check_fat_tree(gs_scenario_reader *reader, const effect *of)
{
    static const char *const of_tree[] = {"leaf_nodes", "rails", "oversubscription",      "spines",
                                          "pod_nodes",  "cores", "core_oversubscription", "routing",
                                          NULL};
    static const char *const of_pods[] = {"cores", "core_oversubscription", NULL};
    static const char *const rails[] = {"rails", NULL};
    const gs_fabric *fabric = &reader->out->cluster.topology;
    if (fabric->kind != GS_TOPOLOGY_FAT_TREE) {
        note_unused(reader, of, of_tree, "kind is not fat_tree");
        return;
    }
    if (fabric->pod_nodes == 0) {
        note_unused(reader, of, of_pods, "pod_nodes is 0: there are two levels");
    }
    if (fabric->nics == 1) {
        note_unused(reader, of, rails, "a node has one nic");
    }
}

static void check_topology(gs_scenario_reader *reader)
{
    static const char *const of_nodes[] = {"inside",
                                           "node_file",
                                           "nics",
                                           "nic_of_rank",
                                           "sockets",
                                           "bridge_ranks",
                                           "nvlink_bandwidth",
                                           "pcie_bandwidth",
                                           "sockets_bandwidth",
                                           "hop_latency",
                                           "leaf_nodes",
                                           "rails",
                                           "oversubscription",
                                           "spines",
                                           "pod_nodes",
                                           "cores",
                                           "core_oversubscription",
                                           "routing",
                                           "dims",
                                           "graph_file",
                                           NULL};
    static const char *const dims[] = {"dims", NULL};
    static const char *const graph[] = {"graph_file", NULL};
    static const char *const hops[] = {"hop_latency", NULL};
    const gs_fabric *fabric = &reader->out->cluster.topology;
    effect of = {"cluster.topology", &gs_scenario_topology_table, fabric, ANYWHERE};
    bool has_hops = fabric->kind == GS_TOPOLOGY_FAT_TREE || fabric->kind == GS_TOPOLOGY_TORUS;
    if (!gs_cluster_has_nodes(&reader->out->cluster)) {
        note_unused(reader, &of, of_nodes, "kind \"switch\" has no nodes, a nic for every rank");
    } else {
        check_inside(reader, &of);
        check_fat_tree(reader, &of);
        if (fabric->kind != GS_TOPOLOGY_TORUS) {
            note_unused(reader, &of, dims, "kind is not torus");
        }
        if (fabric->kind != GS_TOPOLOGY_GRAPH) {
            note_unused(reader, &of, graph, "kind is not graph");
        }
        if (!has_hops) {
            note_unused(reader, &of, hops, "kind is neither fat_tree nor torus");
        }
    }
    if (fabric->kind != GS_TOPOLOGY_REGIONS && fabric->region_count + reader->wan_count > 0) {
        gs_scenario_note(reader, "cluster: regions and wan have no effect: topology.kind is not "
                                 "regions");
    }
}

/* --- noise ---------------------------------------------------------------------------------- */

static void check_straggler(gs_scenario_reader *reader)
{
    static const char *const all[] = {"rank",      "factor", "drift_per_hour", "mean_up",
                                      "mean_down", "heat",   "cool_down",      "hot",
                                      "cool",      NULL};
    static const char *const drift[] = {"drift_per_hour", NULL};
    static const char *const markov[] = {"mean_up", "mean_down", NULL};
    static const char *const throttle[] = {"heat", "cool_down", "hot", "cool", NULL};
    const gs_straggler *straggler = &reader->out->noise.straggler;
    effect of = {"noise.straggler", &gs_scenario_straggler_table, straggler, ANYWHERE};
    if (straggler->kind == GS_STRAGGLER_NONE) {
        note_unused(reader, &of, all, "kind is none; say persistent, drift, markov or throttle");
        return;
    }
    if (straggler->kind != GS_STRAGGLER_DRIFT) {
        note_unused(reader, &of, drift, "kind is not drift");
    }
    if (straggler->kind != GS_STRAGGLER_MARKOV) {
        note_unused(reader, &of, markov, "kind is not markov");
    }
    if (straggler->kind != GS_STRAGGLER_THROTTLE) {
        note_unused(reader, &of, throttle, "kind is not throttle");
    }
    if (straggler->factor < 1.0) {
        gs_scenario_note(reader, "noise.straggler.factor: %g makes a rank faster, not slower",
                         straggler->factor);
    }
}

/* Keys that the kind of the law does not look at. */
static void check_law(gs_scenario_reader *reader, const char *section, const gs_noise_law *law)
{
    static const char *const spreads[] = {"cv", "shift", NULL};
    static const char *const shift[] = {"shift", NULL};
    effect of = {section, &gs_scenario_law_table, law, ANYWHERE};
    char samples[GS_JSON_PATH_BYTES];
    gs_json_at list;
    snprintf(samples, sizeof samples, "%s.samples", section);
    if (law->law == GS_LAW_NONE) {
        note_unused(reader, &of, spreads, "kind is none; say lognormal or another law");
    } else if (law->law != GS_LAW_SHIFTED_EXPONENTIAL) {
        note_unused(reader, &of, shift, "kind is not shifted_exponential");
    }
    if (law->law != GS_LAW_EMPIRICAL &&
        gs_scenario_path_find(&reader->source.merged, samples, &list) &&
        gs_json_count(list.value) > 0) {
        gs_scenario_note(reader, "%s: samples has no effect: kind is not empirical", section);
    }
}

/* A law that is there, over something that is not. */
static void check_law_used(gs_scenario_reader *reader, const char *section, const gs_noise_law *law,
                           uint32_t depth, const char *why)
{
    static const char *const kind[] = {"kind", NULL};
    effect of = {section, &gs_scenario_law_table, law, depth};
    note_unused(reader, &of, kind, why);
}

/* Which keys of noise.bandwidth each kind of it has. */
static void check_bandwidth_kind(gs_scenario_reader *reader, const effect *of, int kind)
{
    static const char *const trace[] = {"trace", NULL};
    static const char *const low[] = {"factor", NULL};
    static const char *const phases[] = {"mean_up", "mean_down", NULL};
    static const char *const levels[] = {"mean", "sd", "interval", "memory", NULL};
    static const char *const sources[] = {"sources", "share", NULL};
    const struct {
        const char *const *keys;
        bool used;
    } parts[] = {
        {trace, kind == GS_RATE_TRACE},
        {low, kind == GS_RATE_MARKOV},
        {phases, kind == GS_RATE_MARKOV || kind == GS_RATE_FLAP || kind == GS_RATE_ON_OFF},
        {levels, kind == GS_RATE_AR1},
        {sources, kind == GS_RATE_ON_OFF},
    };
    char why[64];
    snprintf(why, sizeof why, "kind is %s, which has no such part", gs_rate_kind_names[kind]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].used) {
            note_unused(reader, of, parts[i].keys, why);
        }
    }
}

static void check_bandwidth(gs_scenario_reader *reader)
{
    static const char *const varied[] = {"kind", "trace", NULL};
    const gs_scenario *out = reader->out;
    const gs_bandwidth_config *config = &reader->bandwidth;
    bool on_nic = config->link == 0;
    const gs_link *outer = gs_scenario_outer_link(out);
    effect of = {"noise.bandwidth", &gs_scenario_bandwidth_table, config, ANYWHERE};
    check_bandwidth_kind(reader, &of, config->process.kind);
    if (on_nic && outer != &out->cluster.nic) {
        note_unused(reader, &of, varied, "all ranks are on one node, nothing goes over nic");
    } else if (outer->curve != NULL) {
        of.depth = depth_of(reader, outer == &out->cluster.nic ? "cluster.links.nic.curve"
                                                               : "cluster.links.intra.curve");
        note_unused(reader, &of, varied,
                    is_modelled(&out->cluster)
                        ? "NCCL's model gives the times, at the nominal rate"
                        : "a measured curve gives the times, whatever the rate");
    }
}

static void check_noise(gs_scenario_reader *reader)
{
    const gs_scenario *out = reader->out;
    const gs_noise *noise = &out->noise;
    const gs_link *outer = gs_scenario_outer_link(out);
    bool is_of_run = out->workload.profile->is_of_run; /* which noise was in already: it is told */
    if (!is_of_run) {
        check_law(reader, "noise.compute", &noise->compute);
        check_straggler(reader);
    }
    check_law(reader, "noise.latency", &noise->latency);
    if (outer->curve != NULL) {
        uint32_t depth = depth_of(reader, outer == &out->cluster.nic ? "cluster.links.nic.curve"
                                                                     : "cluster.links.intra.curve");
        check_law_used(reader, "noise.latency", &noise->latency, depth,
                       is_modelled(&out->cluster)
                           ? "NCCL's model gives the times, no single message is sent"
                           : "a measured curve gives the times, no single message is sent");
    }
    if (!is_of_run) {
        check_law(reader, "noise.input", &noise->input);
    }
    if (out->cluster.servers == 0) {
        static const char *const at[] = {"at", NULL};
        effect servers = {"cluster.servers", &gs_scenario_servers_table, &reader->servers,
                          ANYWHERE};
        note_unused(reader, &servers, at, "count is 0, there are no servers");
    }
    if (out->workload.input.time_ns == 0 && !is_of_run) {
        check_law_used(reader, "noise.input", &noise->input, ANYWHERE,
                       "there is no loader; say workload.input.time");
    }
    check_bandwidth(reader);
}

/* --- the optimizer -------------------------------------------------------------------------- */

/* Keys that the rule of the optimizer does not look at. */
static void check_optimizer(gs_scenario_reader *reader)
{
    static const char *const of_sgd[] = {"nesterov", NULL};
    static const char *const of_momentum[] = {"momentum", NULL};
    static const char *const of_adam[] = {"beta1", "beta2", "epsilon", NULL};
    static const char *const of_lars[] = {"trust", NULL};
    const gs_optimizer_config *optimizer = &reader->out->workload.task.optimizer;
    effect of = {"workload.optimizer", &gs_optimizer_config_table, optimizer, ANYWHERE};
    bool is_adam = optimizer->kind == GS_ADAM || optimizer->kind == GS_ADAMW;
    if (optimizer->kind != GS_SGD) {
        note_unused(reader, &of, of_sgd, "only sgd looks ahead");
    } else if (!(optimizer->momentum > 0.0)) {
        note_unused(reader, &of, of_sgd, "momentum is 0");
    }
    if (is_adam) {
        note_unused(reader, &of, of_momentum, "adam has beta1 in its place");
    } else {
        note_unused(reader, &of, of_adam, "they are of adam and adamw");
    }
    if (optimizer->kind != GS_LARS) {
        note_unused(reader, &of, of_lars, "it is of lars");
    }
}

/* A warm-up that something ends before its own end: the rate that is said is never used. */
static void check_warmup(gs_scenario_reader *reader, const gs_optimizer_config *optimizer)
{
    const gs_schedule *schedule = &optimizer->schedule;
    bool has_end = (schedule->kind == GS_SCHEDULE_LINEAR || schedule->kind == GS_SCHEDULE_COSINE) &&
                   schedule->end_samples > 0;
    bool ends_first = has_end && schedule->end_samples < schedule->budget_samples;
    int64_t end = ends_first ? schedule->end_samples : schedule->budget_samples;
    if (reader->out->workload.real_gradients && end > 0 && schedule->warmup_samples >= end) {
        gs_scenario_note(reader,
                         "workload.optimizer: warmup_samples: the rate never reaches %g: the "
                         "warm-up takes %lld samples, %s ends after %lld",
                         optimizer->rate, (long long)schedule->warmup_samples,
                         ends_first ? "schedule_samples" : "the budget", (long long)end);
    }
}

static void check_schedule(gs_scenario_reader *reader)
{
    static const char *const drops[] = {"drop_samples", "drop_factor", NULL};
    static const char *const end[] = {"schedule_samples", NULL};
    const gs_optimizer_config *optimizer = &reader->out->workload.task.optimizer;
    const gs_schedule *schedule = &optimizer->schedule;
    effect of = {"workload.optimizer", &gs_optimizer_config_table, optimizer, ANYWHERE};
    if (schedule->kind != GS_SCHEDULE_STEP) {
        note_unused(reader, &of, drops, "schedule is not step");
    } else if (schedule->drops.count > 0) {
        note_unused(reader, &of, end, "drop_samples says where the rate drops");
    }
    if (schedule->kind == GS_SCHEDULE_CONSTANT) {
        note_unused(reader, &of, end, "schedule is constant");
    }
    check_warmup(reader, optimizer);
}

/* --- the rest ------------------------------------------------------------------------------- */

static void check_kept(gs_scenario_reader *reader)
{
    static const char *const loader[] = {"workers", "prefetch", NULL};
    static const char *const rate[] = {"flops_per_s", NULL};
    static const char *const alpha[] = {"alpha", NULL};
    const gs_scenario *out = reader->out;
    if (out->workload.input.time_ns == 0 && !out->workload.profile->is_of_run) {
        effect input = {"workload.input", &gs_scenario_input_table, &out->workload.input, ANYWHERE};
        note_unused(reader, &input, loader, "time is 0s, there is no loader");
    }
    if (!out->workload.timed_by_flops) {
        effect workload = {"workload", &gs_scenario_workload_table, &reader->workload, ANYWHERE};
        note_unused(reader, &workload, rate, "the profile gives the times");
    }
    effect evaluate = {"evaluate", &gs_scenario_evaluate_table, &reader->evaluate, ANYWHERE};
    note_unused(reader, &evaluate, alpha, "it is kept and not used yet; intervals are of 95 %");
    if (reader->metric_count > 0) {
        gs_scenario_note(reader, "evaluate: metrics has no effect: it is kept and not used yet; "
                                 "all metrics are stored");
    }
}

/* --- strategies ----------------------------------------------------------------------------- */

static void check_algorithm(gs_scenario_reader *reader, const gs_strategy_choice *choice)
{
    char value[VALUE_BYTES];
    const gs_field_table *table = choice->strategy->config;
    size_t index = gs_config_find(table, "algorithm");
    void *defaults = gs_arena_take(reader->arena, 1, table->struct_bytes);
    if (index == table->field_count || defaults == NULL) {
        return;
    }
    char usual[VALUE_BYTES];
    gs_config_defaults(table, defaults);
    gs_config_value_text(&table->fields[index], choice->config, value, sizeof value);
    gs_config_value_text(&table->fields[index], defaults, usual, sizeof usual);
    if (strcmp(value, usual) != 0) {
        gs_scenario_note(reader,
                         "strategy %s: algorithm has no effect: the curve gives the time of an "
                         "all-reduce, whatever its algorithm",
                         choice->label);
    }
}

/* Recorded buckets are not split: what wants smaller ones gets these. */
static void check_units(gs_scenario_reader *reader, const gs_strategy_choice *choice,
                        const gs_job *job)
{
    const gs_profile *profile = reader->out->workload.profile;
    gs_layout wanted = {0};
    gs_layout usual = {0};
    void *defaults = gs_arena_take(reader->arena, 1, choice->strategy->config->struct_bytes);
    int64_t least = INT64_MAX;
    int64_t most = 0;
    bool recorded = defaults != NULL;
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        int64_t bytes = job->unit_elements[i] * job->element_bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
        recorded = recorded && profile->units[i].wire_ns > 0;
    }
    if (!recorded) {
        return;
    }
    gs_config_defaults(choice->strategy->config, defaults);
    if (gs_strategy_layout(choice->strategy, choice->config, job, &wanted, NULL) != GS_OK ||
        gs_strategy_layout(choice->strategy, defaults, job, &usual, NULL) != GS_OK) {
        return;
    }
    bool smaller =
        wanted.buckets.cap_bytes != usual.buckets.cap_bytes && wanted.buckets.cap_bytes < most;
    bool smaller_first = wanted.buckets.first_bytes != usual.buckets.first_bytes &&
                         wanted.buckets.first_bytes < least;
    if (smaller || smaller_first) {
        char from[GS_UNIT_TEXT_BYTES];
        char to[GS_UNIT_TEXT_BYTES];
        gs_scenario_note(reader,
                         "strategy %s: the profile has %u recorded buckets of %s to %s: smaller "
                         "ones cannot be tried",
                         choice->label, profile->unit_count, gs_format_bytes(least, from),
                         gs_format_bytes(most, to));
    }
}

static gs_status check_strategies(gs_scenario_reader *reader, gs_error *err)
{
    const gs_scenario *out = reader->out;
    gs_job job;
    GS_TRY(gs_scenario_job(out, reader->arena, &job, err));
    for (uint32_t i = 0; i < out->strategy_count; i++) {
        if (gs_scenario_outer_link(out)->curve != NULL) {
            check_algorithm(reader, &out->strategies[i]);
        }
        check_units(reader, &out->strategies[i], &job);
    }
    return GS_OK;
}

/* --- data ----------------------------------------------------------------------------------- */

static void check_shards(gs_scenario_reader *reader)
{
    static const char *const alpha[] = {"alpha", "shard_seed", NULL};
    static const char *const ratio[] = {"size_ratio", NULL};
    static const char *const late[] = {"late", NULL};
    const gs_shard_config *shards = &reader->out->workload.task.data.shards;
    effect of = {"workload.data", &gs_shard_config_table, shards, ANYWHERE};
    if (shards->kind != GS_SHARDS_DIRICHLET) {
        note_unused(reader, &of, alpha, "shards is not dirichlet");
    }
    if (shards->kind != GS_SHARDS_UNEQUAL) {
        note_unused(reader, &of, ratio, "shards is not unequal");
    }
    if (shards->late_epoch == 0) {
        note_unused(reader, &of, late, "late_epoch is 0, all samples come from the start");
    }
}

/* --- the profile ---------------------------------------------------------------------------- */

/* Ops that block a step keep the time of the network that they were recorded on. */
static void check_blocking(gs_scenario_reader *reader)
{
    const gs_profile *profile = reader->out->workload.profile;
    const gs_profile_step *step = &profile->ranks[0].steps[0];
    uint32_t count = 0;
    double sum = 0.0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        if (step->segments[i].kind == GS_SEGMENT_BLOCKING) {
            int64_t bytes = profile->blocking[step->segments[i].index].bytes;
            sum += bytes > 0 ? (double)bytes : 0.0;
            count++;
        }
    }
    if (count > 0) {
        char bytes[GS_UNIT_TEXT_BYTES];
        gs_format_bytes(sum < 0x1p62 ? (int64_t)sum : INT64_MAX, bytes);
        gs_scenario_note(reader,
                         "workload.profile: %u blocking op%s a step (%s%s) keep%s the recorded "
                         "wire time, whatever the network",
                         count, count == 1 ? "" : "s", sum > 0.0 ? bytes : "size not known",
                         sum > 0.0 ? " in all" : "", count == 1 ? "s" : "");
    }
}

/* samples/s counts batch_per_rank; the times are those of the profile's batch. */
static void check_batch(gs_scenario_reader *reader)
{
    const gs_workload *workload = &reader->out->workload;
    uint32_t depth = depth_of(reader, "workload.batch_per_rank");
    bool by_user =
        depth == 0 || (depth <= reader->source.layer_count &&
                       !gs_scenario_is_bundled_name(reader->source.layers[depth - 1].file));
    long long counted = (long long)workload->batch_per_rank;
    if (workload->profile->batch == 0 && by_user) {
        gs_scenario_note(reader,
                         "workload.batch_per_rank: the profile does not say the batch of the timed "
                         "step; its times stay, samples/s counts %lld",
                         counted);
    } else if (workload->profile->batch > 0 && workload->profile->batch != counted) {
        gs_scenario_note(reader,
                         "workload.batch_per_rank: the profile timed a batch of %lld; its times "
                         "stay, samples/s counts %lld",
                         (long long)workload->profile->batch, counted);
    }
}

/* What algorithm=auto follows, and NCCL's settings. */
static void check_tuning(gs_scenario_reader *reader)
{
    static const char *const follow[] = {"follow", NULL};
    static const char *const sockets[] = {"socket_nthreads", "nsocks_perthread", NULL};
    static const char *const shapes[] = {"nthreads", "ll128_nthreads", "buffsize", NULL};
    static const char *const network[] = {"cpu", "nic_path", "net_latency", "net_overhead", NULL};
    const char *all[KEYS_MAX] = {NULL};
    const gs_scenario *out = reader->out;
    const gs_tuning *tuning = &out->cluster.tuning;
    effect of = {"cluster.tuning", &gs_scenario_tuning_table, tuning, ANYWHERE};
    effect nccl = {"cluster.nccl", &gs_scenario_nccl_table, &tuning->nccl, ANYWHERE};
    if (tuning->follow != GS_TUNE_FIXED && !reader->is_open) {
        note_unused(reader, &of, follow, "no strategy leaves the algorithm open (algorithm=auto)");
    }
    if (tuning->follow != GS_TUNE_MEASURED && tuning->table_count > 0) {
        gs_scenario_note(reader, "cluster.tuning: measured has no effect: follow is not measured");
    }
    if (tuning->follow != GS_TUNE_NCCL && tuning->nccl.times == 0) {
        for (size_t i = 0; i < nccl.table->field_count && i + 1 < KEYS_MAX; i++) {
            all[i] = nccl.table->fields[i].name;
        }
        note_unused(reader, &nccl, all,
                    "nothing follows NCCL's model; say cluster.tuning.follow=nccl or "
                    "cluster.nccl.times=model");
        return;
    }
    note_unused(reader, &nccl, sockets, "not modelled; cluster.links.nic says what TCP gives");
    if (tuning->follow != GS_TUNE_NCCL) {
        note_unused(reader, &nccl, shapes, "NCCL's estimate of a time does not depend on it");
    }
    if (gs_cluster_has_nodes(&out->cluster) && out->nodes == 1) {
        note_unused(reader, &nccl, network, "all ranks are on one node");
    }
}

gs_status gs_scenario_check_effects(gs_scenario_reader *reader, gs_error *err)
{
    check_links(reader);
    check_topology(reader);
    gs_scenario_check_collectives(reader);
    check_tuning(reader);
    check_noise(reader);
    check_optimizer(reader);
    check_schedule(reader);
    check_shards(reader);
    check_kept(reader);
    check_blocking(reader);
    check_batch(reader);
    return check_strategies(reader, err);
}
