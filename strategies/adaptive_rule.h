/* What `adaptive` can be told, and the controller that it makes of that. */
#ifndef GS_STRATEGIES_ADAPTIVE_RULE_H
#define GS_STRATEGIES_ADAPTIVE_RULE_H

#include "strategies/controller/gradsync_hook.h"
#include "strategies/strategy.h"

typedef struct gs_adaptive_config {
    int64_t period_max;
    int64_t look;
    double change;
    double margin;
    int64_t bucket_bytes;
    int64_t first_bucket_bytes;
} gs_adaptive_config;

extern const gs_field_table gs_adaptive_fields;

/* Ranks of a node average among themselves too: nodes of one size, of two or more, and several. */
bool gs_adaptive_has_nodes(const gs_job *job);

gradsync_hook_config gs_adaptive_hook(const gs_adaptive_config *config, const gs_job *job,
                                      uint32_t rank);

int32_t gs_adaptive_phase(gs_phase phase);

#endif
