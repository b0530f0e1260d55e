/* What `algorithm=auto` follows: rules of strategies/selection.h made from NCCL's tuning model,
 * from measured tables, or from the defaults of MPICH; and NCCL's model as a curve of size against
 * time.
 *
 * A rule holds up to a size, so a list of them is where the answer changes. Programs are those that
 * ranks can run by sending: what a switch does (NVLS) is left out of rules. Owner: the arena. */
#ifndef GS_TRACES_TUNING_H
#define GS_TRACES_TUNING_H

#include "base/arena.h"
#include "strategies/selection.h"
#include "traces/curve.h"
#include "traces/nccl_model.h"

typedef enum gs_tuning_source {
    GS_TUNE_FIXED, /* nothing: the kind's own algorithm */
    GS_TUNE_NCCL,
    GS_TUNE_MPICH,
    GS_TUNE_MEASURED
} gs_tuning_source;

/* cluster.nccl: the machine as NCCL's model sees it, and what users set. */
typedef struct gs_nccl_config {
    int times;        /* 0: those of the links; 1: the model's, of all-reduces of all ranks */
    int generation;   /* 0: by the device; else 1 + gs_nccl_generation */
    int cpu;          /* gs_nccl_cpu */
    int nvls;         /* 0: by generation and link; 1: no; 2: yes */
    int nic_path;     /* 0: near; 1: far */
    int tree;         /* 0: whole; 1: split */
    int pat;          /* 0: no; 1: yes; 2: with one rank a node */
    int64_t channels; /* 0: by the rates */
    int64_t channel_rate_bps;                   /* 0: by the links */
    gs_time_ns net_latency_ns, net_overhead_ns; /* overhead 0: by the processor */
    char algo[128], proto[128];
    int64_t min_ctas, max_ctas;                /* 0: NCCL's */
    int64_t nthreads, ll128_nthreads;          /* 0: NCCL's */
    int64_t buffsize_bytes;                    /* 0: NCCL's */
    int64_t socket_nthreads, nsocks_perthread; /* 0: NCCL's; not modelled */
    gs_nccl_settings settings;                 /* made of these */
} gs_nccl_config;

/* An all-reduce by one algorithm, measured. */
typedef struct gs_tuning_table {
    gs_choice choice;
    const gs_curve *curve;
} gs_tuning_table;

/* cluster.tuning and cluster.nccl. */
typedef struct gs_tuning {
    int follow; /* gs_tuning_source */
    gs_nccl_config nccl;
    const gs_tuning_table *tables;
    const char *const *table_files; /* [table_count] as the scenario says */
    uint32_t table_count;
} gs_tuning;

/* Rules as they are added; zeroed but for the arena. */
typedef struct gs_rule_list {
    gs_selection_rule *items;
    uint32_t count, capacity;
    gs_arena *arena;
} gs_rule_list;

/* Adds one rule behind the others. false: no memory. */
bool gs_rule_list_add(gs_rule_list *list, const gs_selection_rule *rule);

/* Which function of NCCL does what the kind says; false: none does. */
bool gs_nccl_function_of(gs_collective_kind kind, gs_nccl_function *out);

/* The program that does as the algorithm does; NULL: ranks cannot by sending. */
const gs_collective *gs_nccl_program(gs_nccl_algorithm algorithm, gs_collective_kind kind);

/* The program with NCCL's channels and the pieces of each. Channels that pass the same links side
 * by side are one here: that takes as long, since they share what it has alone, and costs fewer
 * events. So there are as many rings as `ways` to leave a node, and one pair of trees, whose pieces
 * are those of all channels together. */
gs_choice gs_nccl_choice(const gs_collective *program, uint32_t ways, uint32_t channels,
                         int64_t piece_bytes);

/* Add rules for ops of a kind on one communicator of `members` ranks. false: no memory. */
bool gs_tuning_by_nccl(const gs_nccl_model *model, uint32_t ways, gs_collective_kind kind,
                       uint32_t communicator, gs_rule_list *list);
/* Source: MPICH 4.2, src/mpi/coll, defaults of its control variables. */
bool gs_tuning_by_mpich(uint32_t members, gs_collective_kind kind, uint32_t communicator,
                        gs_rule_list *list);
/* The fastest of the tables at each size; all-reduce. table_count >= 1. */
bool gs_tuning_by_tables(const gs_tuning_table *tables, uint32_t table_count, uint32_t communicator,
                         gs_rule_list *list);

/* All-reduce times as NCCL's model has them, whatever the algorithm: exact between its points.
 * NULL: no memory, or the settings leave NCCL no algorithm. */
const gs_curve *gs_tuning_nccl_curve(const gs_nccl_model *model, gs_arena *arena);

#endif
