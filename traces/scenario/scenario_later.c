/* faults, live, evaluate and gates: read, checked and kept; what no engine runs yet is refused when
 * a run is asked for. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "traces/record.h"

enum { FAULTS_MAX = 100000, GATES_MAX = 256, METRICS_MAX = 256, NAMES_MAX = 128 };

static const char *const fault_kinds[] = {"slow", "crash", "hang", "link_down", "node_down", NULL};
const char *const gs_network_mode_names[] = {"auto",   "message",   "recurrence",
                                             "closed", "surrogate", NULL};
const char *const gs_live_transport_names[] = {"auto", "loop", "mpi", "tcp", "nccl", NULL};
static const char *const live_computes[] = {"train", "replay", NULL};
static const char *const live_paces[] = {"sleep", "spin", NULL};
static const char *const live_allreduces[] = {"program", "native", NULL};

/* clang-format off */
static const gs_field fault_fields[] = {
    {"at", GS_FIELD_DURATION, GS_FIELD_AT(gs_fault_config, at_ns), NULL, 0, 3.2e16, NULL,
     "when it happens, from the start of the run"},
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(gs_fault_config, kind), NULL, 0, 0, fault_kinds,
     "what happens"},
    {"node", GS_FIELD_TEXT, GS_FIELD_AT(gs_fault_config, node), "", 0, 0, NULL,
     "name of the kind of node it hits; empty: rank says it"},
    {"index", GS_FIELD_INT, GS_FIELD_AT(gs_fault_config, index), "0", 0, GS_ENTITIES_MAX, NULL,
     "which of these nodes"},
    {"rank", GS_FIELD_INT, GS_FIELD_AT(gs_fault_config, rank), "-1", -1, GS_ENTITIES_MAX, NULL,
     "the rank it hits; -1: node says it"},
    {"factor", GS_FIELD_REAL, GS_FIELD_AT(gs_fault_config, factor), "2", 1e-3, 1e6, NULL,
     "slow: compute time is multiplied by it"},
    {"for", GS_FIELD_DURATION, GS_FIELD_AT(gs_fault_config, for_ns), "0s", 0, 3.2e16, NULL,
     "how long it lasts; 0s: to the end"},
};
static const gs_field live_fields[] = {
    {"transport", GS_FIELD_CHOICE, GS_FIELD_AT(gs_live_settings, transport), "auto", 0, 0,
     gs_live_transport_names,
     "how real ranks talk; loop: threads of one process; auto: loop without a launcher, else what fits it"},
    {"compute", GS_FIELD_CHOICE, GS_FIELD_AT(gs_live_settings, compute), "train", 0, 0, live_computes,
     "train really, or replay the profile's durations with the scenario's noise"},
    {"pace", GS_FIELD_CHOICE, GS_FIELD_AT(gs_live_settings, pace), "sleep", 0, 0, live_paces,
     "how replayed durations pass: asleep, or keeping a core busy"},
    {"allreduce", GS_FIELD_CHOICE, GS_FIELD_AT(gs_live_settings, allreduce), "program", 0, 0, live_allreduces,
     "dense all-reduces by the strategy's own schedule, or by MPI's or NCCL's"},
    {"deadline", GS_FIELD_DURATION, GS_FIELD_AT(gs_live_settings, deadline_ns), "30s", 1e8, 3.6e12, NULL,
     "a rank that is not heard of for so long is gone; longer than any pause of a rank"},
    {"latency", GS_FIELD_DURATION, GS_FIELD_AT(gs_live_settings, latency_ns), "0s", 0, 6e10, NULL,
     "added to each message on purpose, where it comes"},
    {"jitter", GS_FIELD_DURATION, GS_FIELD_AT(gs_live_settings, jitter_ns), "0s", 0, 6e10, NULL,
     "likewise at random, up to so much"},
    {"chunk", GS_FIELD_BYTES, GS_FIELD_AT(gs_live_settings, chunk_bytes), "65000B", 1024, 1e9, NULL,
     "largest piece that is handed to the network; MPI over TCP is best just below 64 KiB, and within a host has at least 1 MiB"},
    {"poll", GS_FIELD_DURATION, GS_FIELD_AT(gs_live_settings, poll_ns), "50us", 1000, 1e9, NULL,
     "longest sleep between two looks at the network"},
};
/* The second ends a run where its target is reached. */
static const char *const stop_names[] = {"budget", "target", NULL};
static const gs_field evaluate_fields[] = {
    {"seeds", GS_FIELD_INT, GS_FIELD_AT(gs_evaluate_config, seeds), "10", 1, 10000, NULL,
     "runs of each strategy, from seed on"},
    {"every", GS_FIELD_INT, GS_FIELD_AT(gs_evaluate_config, every), "0", 0, 1e9, NULL,
     "steps between evaluations of the model; 0: 20 in the budget"},
    {"stop", GS_FIELD_CHOICE, GS_FIELD_AT(gs_evaluate_config, stop), "budget", 0, 0, stop_names,
     "where a simulated run ends: at its budget, or at the evaluation that reaches the target"},
    {"network_mode", GS_FIELD_CHOICE, GS_FIELD_AT(gs_evaluate_config, network_mode), "auto", 0, 0, gs_network_mode_names,
     "how collectives are timed; all give the same times but surrogate, which draws the effect of jitter on a ring"},
    {"alpha", GS_FIELD_RATIO, GS_FIELD_AT(gs_evaluate_config, alpha), "0.05", 1e-6, 0.5, NULL,
     "chance of a wrong difference that is accepted"},
};
static const gs_field gate_fields[] = {
    {"metric", GS_FIELD_TEXT, GS_FIELD_AT(gs_gate_config, metric), NULL, 0, 0, NULL,
     "name of a metric"},
    {"max_regression", GS_FIELD_RATIO, GS_FIELD_AT(gs_gate_config, max_regression), "0", 0, 100, NULL,
     "share by which it may get worse"},
    {"max_drop", GS_FIELD_REAL, GS_FIELD_AT(gs_gate_config, max_drop), "0", 0, 1e18, NULL,
     "amount by which it may get worse"},
};
/* clang-format on */

const gs_field_table gs_scenario_fault_table =
    GS_SCENARIO_TABLE("faults[]", gs_fault_config, fault_fields);
const gs_field_table gs_scenario_live_table =
    GS_SCENARIO_TABLE("live", gs_live_settings, live_fields);
const gs_field_table gs_scenario_evaluate_table =
    GS_SCENARIO_TABLE("evaluate", gs_evaluate_config, evaluate_fields);
const gs_field_table gs_scenario_gate_table =
    GS_SCENARIO_TABLE("gates[]", gs_gate_config, gate_fields);

gs_live_settings gs_live_settings_default(void)
{
    gs_live_settings settings;
    gs_config_defaults(&gs_scenario_live_table, &settings);
    return settings;
}

/* --- faults --------------------------------------------------------------------------------- */

static gs_status check_fault(gs_scenario_reader *reader, const gs_fault_config *fault,
                             const char *path, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    if ((fault->node[0] == '\0') == (fault->rank < 0)) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err, "says %s; give one of node and rank",
                                fault->rank < 0 ? "neither node nor rank" : "both node and rank");
    }
    if (fault->rank >= (int64_t)reader->out->ranks) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "rank %lld is not in the cluster, which has 0 to %u",
                                (long long)fault->rank, reader->out->ranks - 1);
    }
    if (fault->rank >= 0) {
        return GS_OK;
    }
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        const gs_node_group *group = &cluster->groups[i];
        if (strcmp(group->name, fault->node) == 0) {
            return fault->index < group->count
                       ? GS_OK
                       : gs_scenario_fail(
                             reader, GS_EINVAL, path, err,
                             "index %lld of node \"%s\" is not there; it has 0 to %lld",
                             (long long)fault->index, fault->node, (long long)group->count - 1);
        }
    }
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "no node is called \"%s\"; the first ones are \"%s\"", fault->node,
                            cluster->groups[0].name);
}

static gs_status read_faults(gs_scenario_reader *reader, gs_error *err)
{
    void *items = NULL;
    GS_TRY(gs_scenario_read_list(reader, "faults", &gs_scenario_fault_table, FAULTS_MAX, &items,
                                 &reader->fault_count, err));
    reader->faults = items;
    for (uint32_t i = 0; i < reader->fault_count; i++) {
        char path[GS_JSON_PATH_BYTES];
        snprintf(path, sizeof path, "faults[%u]", i);
        GS_TRY(check_fault(reader, &reader->faults[i], path, err));
    }
    if (reader->fault_count > 0) {
        gs_scenario_unsupported(reader, "faults: not supported yet; remove it");
    }
    return GS_OK;
}

/* --- metrics -------------------------------------------------------------------------------- */

/* Names of all metrics, full and without their unit: "step_p50_ns" and "step_p50". Texts of the
 * short ones are in memory. Returns how many. */
static size_t metric_names(const char *names[NAMES_MAX], char memory[NAMES_MAX][GS_METRIC_BYTES])
{
    size_t count = 0;
    for (uint32_t i = 0; i < gs_metric_count() && count + 1 < NAMES_MAX; i++) {
        const gs_metric *metric = gs_metric_at(i);
        size_t length = strlen(metric->name);
        size_t unit = strlen(metric->unit);
        if (length > unit + 1 && length < GS_METRIC_BYTES &&
            metric->name[length - unit - 1] == '_' &&
            strcmp(metric->name + length - unit, metric->unit) == 0) {
            memcpy(memory[count], metric->name, length - unit - 1);
            memory[count][length - unit - 1] = '\0';
            names[count] = memory[count];
            count++;
        }
        names[count++] = metric->name;
    }
    return count;
}

static gs_status check_metric(gs_scenario_reader *reader, const char *name, const char *path,
                              gs_error *err)
{
    if (gs_metric_find(name) < gs_metric_count()) {
        return GS_OK;
    }
    const char *names[NAMES_MAX];
    char memory[NAMES_MAX][GS_METRIC_BYTES];
    const char *near = gs_nearest_name(name, names, metric_names(names, memory));
    return gs_scenario_fail(reader, GS_EINVAL, path, err, "\"%.60s\" is no metric; %s%s%s", name,
                            near == NULL ? "see `gradsync list metrics`" : "did you mean \"",
                            near == NULL ? "" : near, near == NULL ? "" : "\"?");
}

static gs_status read_metrics(gs_scenario_reader *reader, gs_error *err)
{
    gs_json_at list;
    if (!gs_scenario_path_find(&reader->source.merged, "evaluate.metrics", &list)) {
        return GS_OK;
    }
    size_t count = gs_json_kind_of(list.value) == GS_JSON_LIST ? gs_json_count(list.value) : 0;
    if (gs_json_kind_of(list.value) != GS_JSON_LIST || count > METRICS_MAX) {
        return gs_json_fail(&list, GS_EINVAL, err,
                            "takes a list of names of metrics; empty: all of them");
    }
    reader->metrics = GS_TAKE(reader->arena, const char *, count);
    if (reader->metrics == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    gs_json_at at;
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        const char *text = NULL;
        GS_TRY(gs_json_text(&at, &text, err));
        GS_TRY(check_metric(reader, text, at.path, err));
        reader->metrics[i] = gs_arena_text(reader->arena, text);
        if (reader->metrics[i] == NULL) {
            return gs_scenario_no_memory(reader, err);
        }
        reader->metric_count++;
    }
    return GS_OK;
}

static gs_status read_gates(gs_scenario_reader *reader, gs_error *err)
{
    void *items = NULL;
    GS_TRY(gs_scenario_read_list(reader, "gates", &gs_scenario_gate_table, GATES_MAX, &items,
                                 &reader->gate_count, err));
    reader->gates = items;
    for (uint32_t i = 0; i < reader->gate_count; i++) {
        char path[GS_JSON_PATH_BYTES];
        snprintf(path, sizeof path, "gates[%u].metric", i);
        GS_TRY(check_metric(reader, reader->gates[i].metric, path, err));
    }
    return GS_OK;
}

gs_status gs_scenario_read_later(gs_scenario_reader *reader, gs_error *err)
{
    GS_TRY(read_faults(reader, err));
    GS_TRY(
        gs_scenario_read_object(reader, "live", &gs_scenario_live_table, &reader->out->live, err));
    GS_TRY(gs_scenario_read_object(reader, "evaluate", &gs_scenario_evaluate_table,
                                   &reader->evaluate, err));
    reader->out->seeds = reader->evaluate.seeds;
    reader->out->evaluate_every = reader->evaluate.every;
    reader->out->alpha = reader->evaluate.alpha;
    reader->out->stops_at_target = reader->evaluate.stop == 1;
    reader->out->network_mode = reader->evaluate.network_mode;
    if (reader->out->stops_at_target && !(reader->out->workload.target_value > 0.0)) {
        return gs_scenario_fail(reader, GS_EINVAL, "evaluate.stop", err,
                                "\"target\" has none to stop at; set workload.target.value, or "
                                "write \"budget\"");
    }
    GS_TRY(read_metrics(reader, err));
    return read_gates(reader, err);
}

/* --- writing -------------------------------------------------------------------------------- */

bool gs_scenario_write_faults(const gs_scenario_reader *reader, gs_json *root)
{
    return gs_scenario_put_list(root, "faults", &gs_scenario_fault_table, reader->faults,
                                reader->fault_count);
}

bool gs_scenario_write_later(const gs_scenario_reader *reader, gs_json *root)
{
    gs_json *evaluate = gs_json_new_object();
    bool ok = gs_scenario_put_object(root, "live", &gs_scenario_live_table, &reader->out->live);
    ok = gs_config_write(&gs_scenario_evaluate_table, &reader->evaluate, evaluate) && ok;
    ok = gs_scenario_put_texts(evaluate, "metrics", reader->metrics, reader->metric_count) && ok;
    ok = gs_json_set(root, "evaluate", evaluate) && ok;
    return gs_scenario_put_list(root, "gates", &gs_scenario_gate_table, reader->gates,
                                reader->gate_count) &&
           ok;
}
