/* NCCL's own estimate of how long a collective takes, by algorithm and protocol, and what it
 * therefore chooses: its tuning model as pure arithmetic.
 *
 * Version 2.30.7, src/graph/tuning.cc; constants in nccl_model.def. What NCCL finds out by a search
 * of the machine (channels and their rates) is input here. Of the algorithms those over SHARP
 * switches (CollNet) are left out: they need a plug-in that says it has them. It is an estimate for
 * choosing, not a measurement: NCCL itself says of some factors that they only work quite well.
 * Rates in GB/s (10^9 bytes), which is bytes a ns. */
#ifndef GS_TRACES_NCCL_MODEL_H
#define GS_TRACES_NCCL_MODEL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_nccl_function {
    GS_NCCL_BROADCAST,
    GS_NCCL_REDUCE,
    GS_NCCL_ALL_GATHER,
    GS_NCCL_REDUCE_SCATTER,
    GS_NCCL_ALL_REDUCE,
    GS_NCCL_FUNCTION_COUNT
} gs_nccl_function;

typedef enum gs_nccl_algorithm {
#define GS_NCCL_ALGORITHM(stem, ...) GS_NCCL_##stem,
#include "traces/nccl_model.def"
    GS_NCCL_ALGORITHM_COUNT
} gs_nccl_algorithm;

typedef enum gs_nccl_protocol {
#define GS_NCCL_PROTOCOL(stem, ...) GS_NCCL_##stem,
#include "traces/nccl_model.def"
    GS_NCCL_PROTOCOL_COUNT
} gs_nccl_protocol;

typedef enum gs_nccl_generation {
#define GS_NCCL_GENERATION(stem, ...) GS_NCCL_##stem,
#include "traces/nccl_model.def"
    GS_NCCL_GENERATION_COUNT
} gs_nccl_generation;

typedef enum gs_nccl_cpu { GS_NCCL_INTEL, GS_NCCL_AMD, GS_NCCL_OTHER_CPU } gs_nccl_cpu;

extern const char *const gs_nccl_function_names[];   /* "AllReduce", NULL-terminated */
extern const char *const gs_nccl_algorithm_names[];  /* "ring", NULL-terminated */
extern const char *const gs_nccl_protocol_names[];   /* "LL128", NULL-terminated */
extern const char *const gs_nccl_generation_names[]; /* "hopper", NULL-terminated */

/* What NCCL's search found for one algorithm: channels side by side, and what each of them gets
 * inside a node and between nodes. */
typedef struct gs_nccl_graph {
    uint32_t channels;
    double intra_gbps; /* GB/s of one channel */
    double inter_gbps; /* likewise; not used on one node */
} gs_nccl_graph;

/* A communicator on its machine. */
typedef struct gs_nccl_machine {
    uint32_t ranks;  /* >= 2 */
    uint32_t nodes;  /* each with ranks / nodes of them */
    int generation;  /* gs_nccl_generation */
    bool pcie;       /* inside a node: PCIe, not NVLink */
    int cpu;         /* gs_nccl_cpu, all x86 but the last */
    bool nvls;       /* the node's switch sums and copies */
    bool far_nic;    /* a GPU reaches its NIC only through the host bridge: no LL128 over it */
    bool split_tree; /* the trees are not whole ones in each channel (NCCL: pattern other than
                        TREE), which frees them of a factor */
    double net_latency_us; /* what the network's plug-in reports; NCCL's own report 0 */
    uint32_t channels;     /* that ops are spread over */
    gs_nccl_graph graphs[GS_NCCL_ALGORITHM_COUNT];
} gs_nccl_machine;

/* What users set (variables of the environment). */
typedef struct gs_nccl_settings {
    bool algorithms[GS_NCCL_FUNCTION_COUNT][GS_NCCL_ALGORITHM_COUNT]; /* allowed: NCCL_ALGO */
    /* NCCL_PROTO: 0 no, 1 yes, 2 where NCCL thinks it safe (LL128) */
    int protocols[GS_NCCL_FUNCTION_COUNT][GS_NCCL_PROTOCOL_COUNT];
    int64_t net_overhead_ns; /* NCCL_NET_OVERHEAD; -1: by the processor */
    int pat;                 /* NCCL_PAT_ENABLE; 0, 1, or 2: with one rank a node */
    uint32_t threads;        /* NCCL_NTHREADS; 0: NCCL's */
    uint32_t ll128_threads;  /* NCCL_LL128_NTHREADS; 0: NCCL's */
    int64_t buffer_bytes;    /* NCCL_BUFFSIZE; 0: NCCL's */
} gs_nccl_settings;

/* The model of one communicator. rate 0: NCCL does not use that combination there. */
typedef struct gs_nccl_model {
    double latency_us[GS_NCCL_FUNCTION_COUNT][GS_NCCL_ALGORITHM_COUNT][GS_NCCL_PROTOCOL_COUNT];
    /* Of the algorithm: size over time without latency. */
    double rate_gbps[GS_NCCL_FUNCTION_COUNT][GS_NCCL_ALGORITHM_COUNT][GS_NCCL_PROTOCOL_COUNT];
    uint32_t threads[GS_NCCL_ALGORITHM_COUNT][GS_NCCL_PROTOCOL_COUNT];
    uint32_t ranks, nodes, channels;
    int64_t buffer_bytes; /* of Simple, a channel */
    int generation;
    bool is_x86;
} gs_nccl_model;

gs_nccl_settings gs_nccl_settings_default(void);

/* Read a list as NCCL_ALGO and NCCL_PROTO have it over what is in out: "ring,tree", "^LL128",
 * "allreduce:tree;broadcast:ring"; a leading ^ takes all others; case does not matter. "": nothing
 * changes. Errors: GS_EINVAL with the word and what may stand there; out is half changed then. */
GS_MUST_USE gs_status gs_nccl_algorithms_read(const char *text, gs_nccl_settings *out,
                                              gs_error *err);
GS_MUST_USE gs_status gs_nccl_protocols_read(const char *text, gs_nccl_settings *out,
                                             gs_error *err);

void gs_nccl_model_init(gs_nccl_model *model, const gs_nccl_machine *machine,
                        const gs_nccl_settings *settings);

/* Microseconds for `bytes` (the whole buffer, as nccl-tests counts it); negative: that combination
 * is not used. */
double gs_nccl_time_us(const gs_nccl_model *model, gs_nccl_function function,
                       gs_nccl_algorithm algorithm, gs_nccl_protocol protocol, int64_t bytes);

/* The combination with the least time; the first of equal ones. false: the settings leave none. */
bool gs_nccl_choose(const gs_nccl_model *model, gs_nccl_function function, int64_t bytes,
                    gs_nccl_algorithm *out_algorithm, gs_nccl_protocol *out_protocol);

/* Channels that an op of that size is spread over: fewer than there are where a channel's threads
 * would have too little each. */
uint32_t gs_nccl_channels(const gs_nccl_model *model, gs_nccl_algorithm algorithm,
                          gs_nccl_protocol protocol, int64_t bytes);

/* Payload that a tree passes on as one piece; 0: the algorithm is no tree, whose pieces matter. */
int64_t gs_nccl_piece_bytes(const gs_nccl_model *model, gs_nccl_algorithm algorithm,
                            gs_nccl_protocol protocol, int64_t bytes);

/* Volta, Ampere, ... of a device by its name ("A100-80GB"); -1: not known. */
int gs_nccl_generation_of(const char *device);

#endif
