/* Scenarios made in memory, for tests and benchmarks of the simulator: equal ranks, a handful of
 * numbers. */
#ifndef GS_TESTS_SMALL_JOB_H
#define GS_TESTS_SMALL_JOB_H

#include "sim/sim.h"

enum { SMALL_JOB_UNITS_MAX = 256 };

typedef struct small_job_config {
    uint32_t ranks;
    uint32_t ranks_per_node; /* 0: one switch, every rank on its own nic */
    int64_t nic_bps, intra_bps;
    gs_time_ns nic_latency_ns, intra_latency_ns;
    uint32_t units;
    int64_t unit_elements;
    int64_t unit_rows;                  /* of each as a matrix; 0: not known */
    gs_time_ns forward_ns, backward_ns; /* backward: of each unit */
    gs_time_ns optimizer_ns;            /* < 0: none in the profile */
    gs_time_ns skew_ns; /* rank r starts its first gradient up to this much later, spread evenly */
    int64_t steps;
    bool learns; /* the mlp of models/ on digits, batch 8 */
    int64_t servers;
} small_job_config;

/* 1 MiB of gradient in 4 units, 10 Gbit/s, 10 us, no compute, 1 step, timing only. */
small_job_config small_job_default(void);

typedef struct small_job {
    gs_arena arena;
    gs_scenario scenario;
    gs_strategy_choice choice;
    gs_profile profile;
} small_job;

/* Aborts where memory is short. strategy_text: parameters of allreduce as on the command line, such
 * as "bucket=tensor,overlap=false", or NULL. */
void small_job_init(small_job *job, const small_job_config *config, const char *strategy_text);
void small_job_fini(small_job *job);

/* Another strategy, with parameters likewise. */
void small_job_use(small_job *job, const gs_strategy *strategy, const char *strategy_text);

/* Parameters for small_job_use with which all that a strategy does happens in a few steps; NULL:
 * its own do. */
const char *small_job_short(const gs_strategy *strategy);

/* Another strategy follows at that step (strategies/relay.h), with parameters and codec likewise.
 */
void small_job_then(small_job *job, const gs_strategy *strategy, const char *strategy_text,
                    const char *codec_text, int64_t from_step);

/* All-reduces run by that program, with what it takes of rings (2), nodes (of 2, where ranks are
 * even) and pieces (of 1 KiB). */
void small_job_choose(small_job *job, const gs_collective *program);

/* What it sends is coded, as on the command line: "topk:ratio=0.1"; NULL: no more. */
void small_job_code(small_job *job, const char *codec_text);

/* Runs to the end. record may be NULL. */
gs_sim_result small_job_run(const gs_sim_config *config);

#endif
