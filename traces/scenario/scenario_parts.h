/* Between the files that make up the reader of scenarios: one file a part, each with its field
 * tables, its reader, its checks and its writer. Nobody else includes this. */
#ifndef GS_TRACES_SCENARIO_PARTS_H
#define GS_TRACES_SCENARIO_PARTS_H

#include "base/config.h"
#include "traces/scenario/scenario.h"
#include "traces/scenario/scenario_source.h"

enum { GS_FILE_BYTES = 256, GS_METRIC_BYTES = 64, GS_NOTES_MAX = 64 };

/* --- what a scenario says that gs_scenario does not carry ------------------------------------ */

typedef struct gs_root_config {
    int schema;
    int64_t seed;
} gs_root_config;

typedef struct gs_placement_config {
    int order;
    int64_t seed;
} gs_placement_config;

typedef struct gs_servers_config {
    int64_t count;
    char at[GS_FILE_BYTES];
    double usd_per_hour;
    double watts;
} gs_servers_config;

typedef struct gs_workload_config {
    int64_t batch_per_rank;
    int64_t accumulation;
    double fixed_share;
    int dtype;
    bool real_gradients;
    double flops_per_s;
} gs_workload_config;

typedef struct gs_memory_config {
    int checkpointing;
    int offload;
    int attention;
} gs_memory_config;

typedef struct gs_target_config {
    int metric;
    double value;
} gs_target_config;

typedef struct gs_budget_config {
    int64_t samples;
    int64_t steps;
} gs_budget_config;

typedef struct gs_bandwidth_config {
    int link; /* index: nic, intra */
    char trace[GS_FILE_BYTES];
    gs_rate_process process;
} gs_bandwidth_config;

typedef struct gs_phase_config {
    int64_t from_step;
    int phase; /* gs_phase */
} gs_phase_config;

typedef struct gs_fault_config {
    gs_time_ns at_ns;
    int kind;
    char node[GS_NAME_BYTES];
    int64_t index;
    int64_t rank;
    double factor;
    gs_time_ns for_ns;
} gs_fault_config;

typedef struct gs_evaluate_config {
    int64_t seeds;
    int64_t every;
    int stop;         /* stop_names */
    int network_mode; /* gs_network_mode */
    double alpha;
} gs_evaluate_config;

typedef struct gs_gate_config {
    char metric[GS_METRIC_BYTES];
    double max_regression;
    double max_drop;
} gs_gate_config;

/* cluster.collectives: as the file says them, and as rules. */
typedef struct gs_scenario_rules {
    const void *said;
    gs_selection selection;
    bool *is_met; /* [rules] some strategy asks for what it is of, and leaves the algorithm open */
} gs_scenario_rules;

typedef struct gs_scenario_reader {
    gs_scenario_source source;
    gs_arena *arena;
    gs_scenario *out;
    gs_root_config root;
    gs_placement_config placement;
    const gs_wan_link *wan; /* as written, [wan_count] */
    uint32_t wan_count;
    gs_servers_config servers;
    gs_workload_config workload;
    gs_memory_config memory;
    gs_target_config target;
    gs_budget_config budget;
    gs_bandwidth_config bandwidth;
    gs_evaluate_config evaluate;
    const char **profile_files; /* as written, [profile_file_count] */
    const char **profile_paths; /* to open */
    uint32_t profile_file_count;
    gs_phase_config *phases; /* workload.phases */
    uint32_t phase_count;
    gs_fault_config *faults;
    uint32_t fault_count;
    gs_gate_config *gates;
    uint32_t gate_count;
    gs_scenario_rules collectives;
    const void *measured; /* cluster.tuning.measured as the file says it */
    bool is_open;         /* some collective's algorithm is left to cluster.tuning */
    const char **metrics;
    uint32_t metric_count;
    const char *notes[GS_NOTES_MAX];
    uint32_t note_count;
} gs_scenario_reader;

/* --- one line a part ------------------------------------------------------------------------- */

/* Readers fill reader->out and their config, in this order; writers add to the resolved file. */
gs_status gs_scenario_check_keys(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_read_cluster(gs_scenario_reader *reader, gs_error *err);
/* Once nodes, links and servers are known: where ranks are; what is inside nodes and joins them. */
gs_status gs_scenario_read_placement(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_read_topology(gs_scenario_reader *reader, gs_error *err);
/* Other jobs; once places are known, before the topology that has room for them. */
gs_status gs_scenario_read_tenants(gs_scenario_reader *reader, gs_error *err);
/* Sets "k=v,k=v"; text is cut up. */
gs_status gs_scenario_set_words(const gs_field_table *table, void *config, char *text,
                                gs_error *err);
/* The codec of a strategy: of the word behind its "+", which is cut up; of its object; and back
 * into one. */
gs_status gs_scenario_parse_codec(char *text, gs_coding *out, gs_error *err);
gs_status gs_scenario_read_codec(const gs_json_at *strategy, gs_coding *out, gs_error *err);
bool gs_scenario_write_codec(const gs_coding *coding, gs_json *strategy);
gs_status gs_scenario_read_workload(gs_scenario_reader *reader, gs_error *err);
/* The catalogue's word on the nodes' devices. */
void gs_scenario_read_devices(gs_scenario_reader *reader, gs_node_group *groups, uint32_t count);
/* Where gradients are real: enough data for every rank, or why not; GS_EINVAL and as below. */
gs_status gs_scenario_check_data(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_read_profile(gs_scenario_reader *reader, gs_error *err);
/* workload.memory; before the profile. */
gs_status gs_scenario_read_memory(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_read_phases(gs_scenario_reader *reader, gs_error *err);
/* Fills the workload's layers and the profile that they give on the nodes' devices. Owner of the
 * table: the arena. */
gs_status gs_scenario_time_layers(gs_scenario_reader *reader, const gs_layer_table *table,
                                  gs_profile *out, gs_error *err);
/* cluster.codecs; once the codec of a strategy is known, what was measured of it; and how all was
 * measured. */
gs_status gs_scenario_read_codec_costs(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_apply_codec_cost(gs_scenario_reader *reader, gs_coding *coding,
                                       gs_error *err);
gs_status gs_scenario_read_calibration(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_read_curves(gs_scenario_reader *reader, gs_error *err);
/* cluster.collectives; once a strategy's layout is known, its selection; and what changes nothing.
 */
gs_status gs_scenario_read_collectives(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_choose_programs(gs_scenario_reader *reader, const gs_job *job,
                                      const gs_layout *layout, gs_strategy_choice *choice,
                                      gs_error *err);
void gs_scenario_check_collectives(gs_scenario_reader *reader);
/* cluster.tuning and cluster.nccl, once the links' curves are read: NCCL's model may take the place
 * of one. */
gs_status gs_scenario_read_tuning(gs_scenario_reader *reader, gs_error *err);
/* Adds rules behind those of the user for every communicator of a strategy. Errors: GS_ENOMEM. */
gs_status gs_scenario_tune(gs_scenario_reader *reader, const gs_job *job, const gs_layout *layout,
                           gs_selection *selection, gs_error *err);
gs_status gs_scenario_read_noise(gs_scenario_reader *reader, gs_error *err);
gs_status gs_scenario_read_later(gs_scenario_reader *reader, gs_error *err);
/* When a leg begins: a step of `budget_steps`, or GS_LEG_ON_REQUEST. */
gs_status gs_scenario_leg_from(const char *text, int64_t budget_steps, int64_t *out_step,
                               gs_error *err);
/* "allreduce>asp@25%", of the labels of the legs. NULL: no memory. */
char *gs_scenario_relay_label(const gs_strategy_choice *first, gs_arena *arena);
gs_status gs_scenario_read_strategies(gs_scenario_reader *reader, gs_error *err);
/* What each strategy needs of a rank's memory, and whether the devices have it. */
gs_status gs_scenario_count_memory(gs_scenario_reader *reader, gs_error *err);
/* A note for what is said and changes nothing. Errors: GS_ENOMEM. */
gs_status gs_scenario_check_effects(gs_scenario_reader *reader, gs_error *err);

bool gs_scenario_write_cluster(const gs_scenario_reader *reader, gs_json *root);
bool gs_scenario_write_placement(const gs_scenario_reader *reader, gs_json *cluster);
bool gs_scenario_write_tenants(const gs_scenario_reader *reader, gs_json *cluster);
bool gs_scenario_write_topology(const gs_scenario_reader *reader, gs_json *cluster);
bool gs_scenario_write_collectives(const gs_scenario_reader *reader, gs_json *cluster);
bool gs_scenario_write_tuning(const gs_scenario_reader *reader, gs_json *cluster);
bool gs_scenario_write_calibration(const gs_scenario_reader *reader, gs_json *root);
bool gs_scenario_write_workload(const gs_scenario_reader *reader, gs_json *root);
bool gs_scenario_write_phases(const gs_scenario_reader *reader, gs_json *workload);
bool gs_scenario_write_noise(const gs_scenario_reader *reader, gs_json *root);
bool gs_scenario_write_faults(const gs_scenario_reader *reader, gs_json *root);
bool gs_scenario_write_strategies(const gs_scenario_reader *reader, gs_json *root);
bool gs_scenario_write_later(const gs_scenario_reader *reader, gs_json *root);

/* Fills workload.dataset unless it is there. Errors: those of the data's source. */
gs_status gs_scenario_load_data(gs_scenario_reader *reader, gs_error *err);

/* --- tables that scenario_keys.c lists ------------------------------------------------------- */

extern const gs_field_table gs_scenario_root_table;
extern const gs_field_table gs_scenario_topology_table;
extern const gs_field_table gs_scenario_region_table;
extern const gs_field_table gs_scenario_wan_table;
extern const gs_field_table gs_scenario_tenant_table;
extern const gs_field_table gs_scenario_node_table;
extern const gs_field_table gs_scenario_nic_table;
extern const gs_field_table gs_scenario_intra_table;
extern const gs_field_table gs_scenario_placement_table;
extern const gs_field_table gs_scenario_servers_table;
extern const gs_field_table gs_scenario_collectives_table;
extern const gs_field_table gs_scenario_tuning_table;
extern const gs_field_table gs_scenario_measured_table;
extern const gs_field_table gs_scenario_nccl_table;
extern const gs_field_table gs_scenario_codec_cost_table;
extern const gs_field_table gs_scenario_calibration_table;
extern const gs_field_table gs_scenario_calibrated_table;
extern const gs_field_table gs_scenario_workload_table;
extern const gs_field_table gs_scenario_input_table;
extern const gs_field_table gs_scenario_memory_table;
extern const gs_field_table gs_scenario_target_table;
extern const gs_field_table gs_scenario_budget_table;
extern const gs_field_table gs_scenario_phase_table;
extern const gs_field_table gs_scenario_law_table;
extern const gs_field_table gs_scenario_straggler_table;
extern const gs_field_table gs_scenario_bandwidth_table;
extern const gs_field_table gs_scenario_fault_table;
extern const gs_field_table gs_scenario_live_table;
extern const gs_field_table gs_scenario_evaluate_table;
extern const gs_field_table gs_scenario_gate_table;

/* --- helpers, in scenario_keys.c and scenario_resolve.c --------------------------------------- */

/* Keys of the section at `path` that its table does not hold; NULL: none. */
const char *const *gs_scenario_other_keys(const char *path);

/* Defaults, then the object at path where there is one. */
gs_status gs_scenario_read_object(gs_scenario_reader *reader, const char *path,
                                  const gs_field_table *table, void *out, gs_error *err);

/* The list at path into an array of the table's structs; *out NULL and 0 where the key is absent.
 * Errors: GS_EINVAL (no list, more than count_max), GS_ENOMEM. */
gs_status gs_scenario_read_list(gs_scenario_reader *reader, const char *path,
                                const gs_field_table *table, uint32_t count_max, void **out,
                                uint32_t *out_count, gs_error *err);

/* "FILE: PATH: text". */
gs_status gs_scenario_fail(const gs_scenario_reader *reader, gs_status code, const char *path,
                           gs_error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

gs_status gs_scenario_no_memory(const gs_scenario_reader *reader, gs_error *err);

/* "NAME:key=value,..." with what differs from the defaults; NULL: no memory. Owner: the arena. */
char *gs_scenario_label(const char *name, const gs_field_table *table, const void *config,
                        gs_arena *arena);

/* The list of texts at path; *out NULL and 0 where the key is absent. Errors: GS_EINVAL, GS_ENOMEM.
 */
gs_status gs_scenario_read_texts(gs_scenario_reader *reader, const char *path, uint32_t count_max,
                                 const char ***out, uint32_t *out_count, gs_error *err);

/* A remark, and what stands in the way of a run; the first one stays. */
void gs_scenario_note(gs_scenario_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gs_scenario_unsupported(gs_scenario_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the table's fields as an object, or a list of such. false: no memory. */
bool gs_scenario_put_object(gs_json *parent, const char *key, const gs_field_table *table,
                            const void *in);
bool gs_scenario_put_list(gs_json *parent, const char *key, const gs_field_table *table,
                          const void *items, uint32_t count);
bool gs_scenario_put_texts(gs_json *parent, const char *key, const char *const *texts,
                           uint32_t count);

/* Writes the whole resolved file and its hash into reader->out. */
gs_status gs_scenario_resolve(gs_scenario_reader *reader, gs_error *err);

#define GS_SCENARIO_TABLE(label, type, list)                                                       \
    {                                                                                              \
        .name = (label), .struct_bytes = sizeof(type), .fields = (list),                           \
        .field_count = sizeof(list) / sizeof(list)[0]                                              \
    }

#endif
