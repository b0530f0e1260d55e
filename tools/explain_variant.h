/* Scenarios that differ in one thing from the one that is explained: copies in memory, from which a
 * cause of lost time is taken away.
 *
 * Nothing is simulated here. A copy shares what it does not change; what it changes lies in the
 * arena. Out of memory ends the program. */
#ifndef GS_TOOLS_EXPLAIN_VARIANT_H
#define GS_TOOLS_EXPLAIN_VARIANT_H

#include "base/arena.h"
#include "traces/scenario/scenario.h"

/* What a cause says about the job where it is the largest. */
typedef enum gs_limit {
    GS_LIMIT_COMPUTE,
    GS_LIMIT_RANK,
    GS_LIMIT_INPUT,
    GS_LIMIT_NIC,
    GS_LIMIT_INTRA,
    GS_LIMIT_LATENCY,
    GS_LIMIT_NOISE,
    GS_LIMIT_OVERLAP,
    GS_LIMIT_BLOCKING,
    GS_LIMIT_OVERHEAD
} gs_limit;

/* A cause of lost time. */
typedef struct gs_cause {
    const char *key;     /* for programs: "nic_bandwidth" */
    const char *name;    /* for people: "nic bandwidth" */
    const char *without; /* "a step would take less if ..." */
    gs_limit limit;
    /* Changes the copy to one without the cause; false: the scenario does not have it. */
    bool (*remove)(gs_scenario *copy, gs_arena *arena);
} gs_cause;

enum { GS_CAUSES_MAX = 16 };

uint32_t gs_cause_count(void);
const gs_cause *gs_cause_at(uint32_t index);

/* The scenario with one of its strategies only, gradients without numbers, and `steps` steps: what
 * is simulated to explain it. Owner: the arena. */
gs_scenario *gs_variant_base(const gs_scenario *scenario, uint32_t strategy, int64_t steps,
                             gs_arena *arena);

/* A copy without the causes whose bits are set (1 << index). Owner: the arena. */
gs_scenario *gs_variant_without(const gs_scenario *base, unsigned causes, gs_arena *arena);

/* A copy in which nothing is computed and nobody is late: its step is how long communication takes
 * by itself. Owner: the arena. */
gs_scenario *gs_variant_communication(const gs_scenario *base, gs_arena *arena);

/* A copy whose outer link carries `factor` times as much. Of a measured curve what lies above its
 * least time is divided. Owner: the arena. */
gs_scenario *gs_variant_link(const gs_scenario *base, double factor, gs_arena *arena);

/* Has the copy run for that many steps of its strategy: one that accumulates by itself makes more
 * passes a step than the workload says, and a budget counts the workload's. */
void gs_variant_set_steps(gs_scenario *copy, int64_t steps);

/* A copy that can be changed; and memory for `count` objects that is there. */
gs_scenario *gs_variant_copy(const gs_scenario *from, gs_arena *arena);
gs_node_group *gs_variant_groups(gs_scenario *copy, gs_arena *arena);

/* What a rank computes in a step, mean over its recorded steps, with the factor of its node. */
double gs_variant_compute_ns(const gs_scenario *scenario, uint32_t rank);

#endif
