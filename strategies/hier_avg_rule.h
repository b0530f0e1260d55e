/* The parameters of hier_avg: what cannot work, when ranks differ, and what they send. */
#ifndef GS_STRATEGIES_HIER_AVG_RULE_H
#define GS_STRATEGIES_HIER_AVG_RULE_H

#include "strategies/strategy.h"

typedef struct gs_hier_avg_config {
    int64_t inside;
    int64_t between;
    int64_t delay;
} gs_hier_avg_config;

extern const gs_field_table gs_hier_avg_fields;

/* GS_OK, or GS_EINVAL with the reason and the nearest that works. */
GS_MUST_USE gs_status gs_hier_avg_check(const gs_hier_avg_config *config, const gs_job *job,
                                        gs_error *err);

/* Do ranks differ after so many steps? */
bool gs_hier_avg_differ(const gs_hier_avg_config *config, int64_t steps);

/* A hook: that of gs_strategy. */
int64_t gs_hier_avg_wire_bytes(const void *config, const gs_job *job, const gs_coding *coding);

#endif
