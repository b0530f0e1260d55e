/* A scenario: one JSON file that says cluster, workload, noise, strategies and what to measure;
 * resolved here into plain structs with every default written out.
 *
 * Reading: extends, overrides ("cluster.links.nic.bandwidth=25Gbit/s"), field tables, cross checks,
 * files of profiles and curves. Sections whose engine does not exist yet parse and resolve, and are
 * refused with GS_EUNSUPPORTED by gs_scenario_runnable. Skeleton: docs/formats.md. Owner of
 * everything: the arena. */
#ifndef GS_TRACES_SCENARIO_H
#define GS_TRACES_SCENARIO_H

#include "base/arena.h"
#include "base/config.h"
#include "base/json.h"
#include "models/halves.h"
#include "models/task.h"
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/relay.h"
#include "strategies/selection.h"
#include "strategies/strategy.h"
#include "traces/curve.h"
#include "traces/device.h"
#include "traces/fabric.h"
#include "traces/layer_table.h"
#include "traces/memory.h"
#include "traces/profile.h"
#include "traces/rate_process.h"
#include "traces/rate_trace.h"
#include "traces/record.h"
#include "traces/stored_input.h"
#include "traces/tuning.h"

enum { GS_NAME_BYTES = 64, GS_CALIBRATION_KEY_BYTES = 96 };

/* Of nics: do they read and write the memory of devices, or are messages staged in the host's? */
typedef enum gs_gpudirect { GS_GPUDIRECT_ON, GS_GPUDIRECT_OFF } gs_gpudirect;

/* cluster.nodes[]: `count` equal nodes. Ranks are numbered node by node in file order. */
typedef struct gs_node_group {
    char name[GS_NAME_BYTES];
    int64_t count;                /* nodes */
    int64_t ranks;                /* per node */
    char device[GS_NAME_BYTES];   /* as the file says */
    const gs_device *known;       /* that device in the catalogue; NULL: the name is a label */
    double compute_scale;         /* compute time is multiplied by it; 1.6: slower */
    int64_t vector_bandwidth_bps; /* of the device memory: what vector operations cost */
    double usd_per_hour;          /* per node; 0: not stated */
    double watts;                 /* per node, under load; 0: not stated */
    double nic_scale;             /* the rate of their nic is that of links.nic, times it */
    double overlap_slowdown;      /* compute takes so many times as long beside communication */
    int gpudirect;                /* gs_gpudirect */
} gs_node_group;

/* cluster.codecs[]: what a codec was measured to take. */
typedef struct gs_codec_cost {
    char name[GS_NAME_BYTES]; /* "topk", or with parameters "topk:ratio=1%": of these only */
    int64_t encode_bps;       /* gradient of 32 bits an element, error feedback included */
    int64_t decode_bps;
} gs_codec_cost;

/* calibration: how the cluster was measured, for people; and within which sizes it is known. */
typedef struct gs_calibration_value {
    char key[GS_CALIBRATION_KEY_BYTES]; /* of the scenario */
    char value[32], low[32], high[32];  /* as a user would write them; the interval holds 99 % */
    int64_t count;                      /* of repeats, ranks or passes */
} gs_calibration_value;

typedef struct gs_calibration {
    char when[32]; /* UTC, ISO 8601; "": not calibrated */
    char transport[16];
    gs_int_list message_bytes; /* sizes of the messages that links were measured with, ascending */
    const char *const *hosts;
    uint32_t host_count;
    const gs_calibration_value *values;
    uint32_t value_count;
    const char *const *notes;
    uint32_t note_count;
} gs_calibration;

/* What is first-in first-out on a link: every channel of its own, or all that one process sends to
 * another, as over one connection. */
typedef enum gs_link_sockets { GS_SOCKETS_CHANNEL, GS_SOCKETS_PROCESS } gs_link_sockets;

/* cluster.links.NAME: `nic` joins nodes, one a node and direction; `intra` joins the ranks of a
 * node, one a rank and direction. */
typedef struct gs_link {
    int class_index;           /* gs_link_class */
    int64_t bandwidth_bps;     /* nominal, per direction */
    gs_time_ns latency_ns;     /* one message, end to end */
    double efficiency;         /* share of the nominal rate that payload gets */
    int sockets;               /* gs_link_sockets */
    int64_t window_bytes;      /* per process: a sender may be so far ahead of what came; 0: any */
    int64_t queue_bytes;       /* with a window: a card is one queue, and has so much of a socket;
                                  0: it serves sockets in turn */
    gs_time_ns per_message_ns; /* of the sender, before a message begins */
    int64_t eager_bytes;       /* larger messages go by rendezvous; 0: none */
    double loss;               /* tcp: share of packets, below 1 */
    int64_t segment_bytes;     /* tcp: payload of a packet */
    int64_t initial_window;    /* tcp: segments; 0: no slow start */
    gs_time_ns idle_ns;        /* tcp: a connection is idle after so long */
    int64_t staging_bps;       /* nic: of copies between device and host; no GPUDirect */
    int64_t staging_chunk_bytes;
    const gs_curve *curve; /* measured; NULL: none */
    char curve_file[256];
    gs_rate_trace trace;     /* from noise.bandwidth */
    gs_rate_process process; /* likewise: of each link its own path, by the run's seed */
    char trace_file[256];
} gs_link;

typedef enum gs_link_class {
    GS_LINK_NVLINK,
    GS_LINK_PCIE,
    GS_LINK_INFINIBAND,
    GS_LINK_ROCE,
    GS_LINK_TCP
} gs_link_class;

extern const char *const gs_link_class_names[]; /* by gs_link_class, NULL-terminated */

typedef enum gs_tenant_pattern { GS_TENANT_PAIRS, GS_TENANT_INCAST } gs_tenant_pattern;

/* cluster.tenants[]: another job on the same fabric, as flows that are there and nothing else. */
typedef struct gs_tenant {
    int pattern;          /* gs_tenant_pattern */
    int64_t flows;        /* side by side */
    int64_t hosts;        /* nodes of its own, behind the servers; 0: its processes are on ours */
    int64_t bytes;        /* of a message */
    gs_time_ns period_ns; /* of a flow, from one message to the next; 0: one after the other */
    int64_t from, to;     /* hosts of its own, else ranks whose place it shares; -1: by chance */
    int64_t seed;         /* of pairs, and of when flows begin */
} gs_tenant;

typedef struct gs_cluster {
    gs_fabric topology;
    const gs_node_group *groups;
    uint32_t group_count;
    gs_link nic;
    gs_link intra;
    int64_t servers;                          /* parameter-server entities offered */
    double server_usd_per_hour, server_watts; /* of each of them; 0: not stated */
    const uint32_t *slot_of;    /* [ranks]: where ranks are; slots are numbered node by node in file
                                   order. NULL: rank r is in slot r */
    const uint32_t *ring_order; /* gs_job's; NULL: by number */
    const uint32_t *server_nodes; /* [servers]: where they are; NULL: each on a node of its own */
    const gs_tenant *tenants;
    uint32_t tenant_count;
    gs_tuning tuning;
    const gs_codec_cost *codecs;
    uint32_t codec_count;
} gs_cluster;

/* Do ranks share nodes, and a node's nics? Else each rank has its own. */
static inline bool gs_cluster_has_nodes(const gs_cluster *cluster)
{
    return cluster->topology.kind != GS_TOPOLOGY_SWITCH;
}

/* Nodes of tenants' own. */
static inline uint32_t gs_cluster_tenant_hosts(const gs_cluster *cluster)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < cluster->tenant_count; i++) {
        hosts += (uint32_t)cluster->tenants[i].hosts;
    }
    return hosts;
}

typedef struct gs_input_stage {
    gs_time_ns time_ns; /* cost of one batch in one loader worker; 0: no input stage */
    int64_t workers;
    int64_t prefetch; /* batches ready or in work per worker */
} gs_input_stage;

typedef struct gs_workload {
    const gs_profile *profile;    /* never NULL after resolving */
    const gs_layer_table *layers; /* that it was made from; NULL: recorded */
    bool timed_by_flops;          /* and by the rates of devices: the layers carry no times */
    int64_t batch_per_rank;
    int64_t accumulation;          /* micro-steps per step */
    double fixed_share;            /* of the time of a pass: what does not grow with its samples */
    int element_bytes;             /* dtype */
    const char *dtype;             /* "fp32" */
    bool checkpointing;            /* memory.checkpointing: full */
    int64_t offload_element_bytes; /* memory.offload: of each element, in the host; 0: none */
    gs_input_stage input;
    bool real_gradients;
    gs_number number; /* dtype: what gradients and payloads are made of */
    gs_task_config task;
    const gs_dataset *dataset;   /* what task.data names, read once for all runs; NULL: not read */
    double flops_per_s;          /* 0: the rate of the device */
    int64_t budget_steps;        /* optimizer steps; from budget.steps or budget.samples */
    gs_quality quality;          /* of evaluations: the target's, or the usual one of such data */
    double target_value;         /* 0: none */
    const gs_phase_from *phases; /* [phase_count], as gs_job's */
    uint32_t phase_count;
} gs_workload;

typedef enum gs_law {
    GS_LAW_NONE,
    GS_LAW_LOGNORMAL,
    GS_LAW_GAMMA,
    GS_LAW_SHIFTED_EXPONENTIAL,
    GS_LAW_PARETO,
    GS_LAW_WEIBULL,
    GS_LAW_EMPIRICAL
} gs_law;

extern const char *const gs_law_names[]; /* by gs_law, NULL-terminated */

/* A factor with mean 1 unless said otherwise. */
typedef struct gs_noise_law {
    int law;      /* gs_law */
    double cv;    /* standard deviation over mean; > 0 unless none or empirical */
    double shift; /* shifted_exponential: the sure part of the mean, 0..1; its cv is 1 - shift */
    const double *samples; /* empirical: factors, scaled to mean 1 when read */
    uint32_t sample_count;
} gs_noise_law;

typedef enum gs_straggler_kind {
    GS_STRAGGLER_NONE,
    GS_STRAGGLER_PERSISTENT, /* rank `rank` is `factor` slower always */
    GS_STRAGGLER_DRIFT,      /* its factor grows by `drift_per_hour` */
    GS_STRAGGLER_MARKOV,     /* every rank alternates: normal for mean_up, slow for mean_down */
    GS_STRAGGLER_THROTTLE    /* rank heats while it computes: slow above `hot`, normal again below
                                `cool` */
} gs_straggler_kind;

extern const char *const gs_straggler_names[]; /* by gs_straggler_kind, NULL-terminated */

typedef struct gs_straggler {
    int kind;
    int64_t rank;  /* -1: every rank */
    double factor; /* compute time is multiplied by it */
    double drift_per_hour;
    gs_time_ns mean_up_ns, mean_down_ns;
    gs_time_ns heat_ns, cool_ns; /* throttle: time constants of heating and cooling */
    double hot, cool;            /* throttle: levels between 0 and 1 */
} gs_straggler;

typedef struct gs_noise {
    gs_noise_law compute; /* one draw a rank and step */
    gs_noise_law latency; /* one draw a message */
    gs_noise_law input;   /* one draw a batch */
    gs_straggler straggler;
} gs_noise;

typedef struct gs_strategy_choice {
    const gs_strategy *strategy;
    const void *config;
    const char *label;       /* as a user would write it: "allreduce:bucket=10MiB" */
    const char *params_json; /* every parameter, one line */
    const char *algorithm;   /* of all-reduce: "ring" */
    gs_coding coding;        /* of what it sends; codec NULL: none */
    gs_selection selection;  /* by which programs its collectives run */
    /* Of a run in legs: those behind the first, each with its own from_step, which is 0 or
     * GS_LEG_ON_REQUEST for those without a time (strategies/relay.h). */
    struct gs_strategy_choice *then; /* [then_count] */
    const char *first_label;         /* of the first leg alone */
    uint32_t then_count;
    int64_t from_step; /* of a leg */
    const char *from;  /* as a user would write it: "25%", "120", "request"; NULL: the first */
} gs_strategy_choice;

typedef enum gs_live_transport {
    GS_TRANSPORT_AUTO, /* loop without a launcher; else what fits it */
    GS_TRANSPORT_LOOP,
    GS_TRANSPORT_MPI,
    GS_TRANSPORT_TCP,
    GS_TRANSPORT_NCCL
} gs_live_transport;

extern const char *const gs_live_transport_names[]; /* by gs_live_transport, NULL-terminated */

/* live: how real ranks run; the simulator does not look at it. */
typedef struct gs_live_settings {
    int transport; /* gs_live_transport */
    int compute;   /* 0: train really; 1: replay the profile's durations */
    int pace;      /* of replayed ones; 0: sleep; 1: spin */
    int allreduce; /* 0: our program of sends; 1: the network's own */
    gs_time_ns deadline_ns;
    gs_time_ns latency_ns, jitter_ns; /* added on purpose where a parcel comes */
    int64_t chunk_bytes;              /* bodies travel in pieces of at most so many */
    gs_time_ns poll_ns;               /* the longest sleep between looks at the network */
} gs_live_settings;

gs_live_settings gs_live_settings_default(void);

/* evaluate.network_mode: how the simulator times collectives (sim/op_mode.h). All but the last give
 * the same results, and differ in what they cost. */
typedef enum gs_network_mode {
    GS_NETWORK_AUTO,       /* whatever costs least */
    GS_NETWORK_MESSAGE,    /* message by message */
    GS_NETWORK_RECURRENCE, /* as auto, without closed forms */
    GS_NETWORK_CLOSED,     /* in closed form or message by message */
    GS_NETWORK_SURROGATE   /* as auto; rings with jitter by its mean effect and spread */
} gs_network_mode;

extern const char *const gs_network_mode_names[]; /* by gs_network_mode, NULL-terminated */

/* A value {"sweep": [4, 8]} of the file. */
typedef struct gs_scenario_dimension {
    const char *path;          /* "cluster.nodes[0].count" */
    const char *const *values; /* [count], as JSON on one line */
    uint32_t count;
} gs_scenario_dimension;

typedef struct gs_scenario {
    const char *name; /* file name without folder and ending, or the bundled name */
    const char *file;
    uint64_t seed;
    gs_cluster cluster;
    gs_calibration calibration;
    gs_workload workload;
    gs_noise noise;
    gs_live_settings live;
    const gs_strategy_choice *strategies;
    uint32_t strategy_count;
    int64_t seeds;          /* evaluate.seeds */
    int64_t evaluate_every; /* steps between evaluations of the model; 0: 20 in the budget */
    double alpha;           /* evaluate.alpha: chance of a wrong difference that is accepted */
    bool stops_at_target;   /* a simulated run ends where an evaluation reaches the target */
    int network_mode;       /* gs_network_mode */
    uint32_t ranks;         /* total */
    uint32_t nodes;         /* total */
    gs_json *resolved;      /* the whole file with every default, as `check` prints it; owner:
                               gs_scenario_free */
    /* Of what a run depends on beside strategy and seed: cluster, workload, noise and faults, with
     * the contents of files in the place of their names. */
    uint64_t config_hash;
    const gs_memory_job *memory; /* [strategy_count], of a rank */
    /* Likewise: servers that a strategy uses, and what each of them must hold. */
    const uint32_t *servers;
    const gs_memory_job *server_memory;
    const char *misfit; /* "llama2_7b needs 161 GB a rank ...": a device is too small; or NULL */
    const char *unsupported; /* "faults: not supported yet; remove it": the first such; or NULL */
    const gs_stored_input *inputs; /* [input_count]: files of data, where the data was read */
    uint32_t input_count;
    const gs_scenario_dimension *dimensions; /* [dimension_count]: of these values the first counts,
                                                and `unsupported` says so */
    uint32_t dimension_count;
    const char *const *notes; /* [note_count], what is odd but allowed, a line each */
    uint32_t note_count;
    const char *data_dir; /* where bundled data lies, as the options said */
} gs_scenario;

/* The legs of a run of that strategy, the first and only one too; borrows the choice. Errors: as
 * gs_relay_make. */
GS_MUST_USE gs_status gs_scenario_relay(const gs_strategy_choice *choice, const gs_job *job,
                                        gs_relay *out, gs_error *err);

/* The field that a path of a scenario's own sections names, such as "cluster.nodes.0.count"; NULL:
 * a key of a part's (models, data, strategies), or none. */
const gs_field *gs_scenario_field(const char *path);

/* A section of a scenario file, for its documentation. */
typedef struct gs_scenario_section {
    const char *path; /* "cluster.links.nic"; "": the file itself; "a.b[]": each element of
                         the list a.b */
    const gs_field_table *table; /* NULL: it has no keys but `others` */
    const char *const *others;   /* keys with objects, lists or parts of their own, NULL-terminated;
                                    NULL: none */
} gs_scenario_section;

size_t gs_scenario_section_count(void);
gs_scenario_section gs_scenario_section_at(size_t index);

typedef struct gs_scenario_options {
    const char *const *overrides; /* "key=value" words */
    size_t override_count;
    const char *const *strategies; /* "allreduce:bucket=10MiB"; replace the file's, if any */
    size_t strategy_count;
    int64_t ranks;        /* > 0: the launcher's count overrides the scenario's */
    bool with_servers;    /* which counts ranks and cluster.servers.count together */
    const char *data_dir; /* never NULL; holds traces/scenarios, traces/profiles and models/data */
    const char *user_dir; /* more scenarios, or NULL */
    const char *text;     /* the document itself, such as the store keeps; `file` is only its name
                             then. NULL: the file is read */
} gs_scenario_options;

/* file: a path, "-", or a bundled name. Errors: GS_EINVAL, GS_EPARSE, GS_ENOTFOUND, GS_EIO with
 * file, key path, value and cure. */
GS_MUST_USE gs_status gs_scenario_read(const char *file, const gs_scenario_options *options,
                                       gs_arena *arena, gs_scenario *out, gs_error *err);
void gs_scenario_free(gs_scenario *scenario); /* what the arena does not hold */

/* "allreduce:bucket=10MiB,overlap=false+topk:ratio=0.1%": what differs from the defaults, in table
 * order. NULL: no memory. Owner: the arena. */
char *gs_strategy_label(const gs_strategy *strategy, const void *config, const gs_coding *coding,
                        gs_arena *arena);

/* The same of a stored strategy with its params_json; the name alone where this version does not
 * know it or its parameters; NULL: no memory. */
char *gs_strategy_stored_label(const char *name, const char *params_json, gs_arena *arena);

/* GS_OK, GS_EUNSUPPORTED naming the section, or GS_ELIMIT naming what does not fit into which
 * device. */
GS_MUST_USE gs_status gs_scenario_runnable(const gs_scenario *scenario, gs_error *err);

/* The job that strategies see. unit_elements comes from the arena. */
GS_MUST_USE gs_status gs_scenario_job(const gs_scenario *scenario, gs_arena *arena, gs_job *out,
                                      gs_error *err);

/* Where a rank is. */
typedef struct gs_place {
    uint32_t group; /* of cluster.groups */
    uint32_t node;  /* of all */
    uint32_t local; /* slot of the node */
} gs_place;

gs_place gs_scenario_place_of(const gs_scenario *scenario, uint32_t rank);

/* Of a node; 1 where every rank has its own. */
uint32_t gs_scenario_node_nics(const gs_scenario *scenario);

/* How NCCL's model sees a communicator of `members` ranks, `inner` of them on each node. false: it
 * has one rank, or its nodes are not whole. */
bool gs_scenario_nccl_machine(const gs_scenario *scenario, uint32_t members, uint32_t inner,
                              gs_nccl_machine *out);

/* Node of a rank, and its group. */
uint32_t gs_scenario_node_of(const gs_scenario *scenario, uint32_t rank);
const gs_node_group *gs_scenario_group_of(const gs_scenario *scenario, uint32_t rank);

/* FLOP/s that the layers of a group's ranks are timed by: workload.flops_per_s, or what the
 * catalogue says of its device, or what is assumed. */
double gs_scenario_flops_per_s(const gs_scenario *scenario, const gs_node_group *group);

/* What an update of so many elements takes longer on this rank where its state lies in the host's
 * memory: it comes and goes back at the same time, at the rate of the device's link. */
gs_time_ns gs_scenario_offload_ns(const gs_scenario *scenario, uint32_t rank, int64_t elements);

/* The buckets after the first step, as DDP rebuilds them: in the order in which rank 0's gradients
 * come, which it takes for all. NULL: no memory. Owner: the arena. */
const gs_bucket_plan *gs_scenario_ready_buckets(const gs_scenario *scenario, const gs_job *job,
                                                const gs_bucket_rule *rule, gs_arena *arena);

/* Steps of a strategy between two evaluations of the model: evaluate.every, or 20 evaluations in
 * the scenario's budget. Times to a target are known to so many steps. */
int64_t gs_scenario_evaluation_steps(const gs_scenario *scenario);

/* Can two seeds give different runs? */
bool gs_scenario_is_random(const gs_scenario *scenario);

/* The link that the farthest ranks meet on: nic, or intra where one node holds them all. */
const gs_link *gs_scenario_outer_link(const gs_scenario *scenario);

#endif
