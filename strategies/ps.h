/* The engine of parameter servers, for its presets: hooks of workers and servers, which differ
 * between published names in nothing but the rule (strategies/ps_rule.h). */
#ifndef GS_STRATEGIES_PS_H
#define GS_STRATEGIES_PS_H

#include "strategies/ps_rule.h"
#include "strategies/strategy.h"
#include "strategies/world.h"

typedef enum gs_ps_kind {
    GS_PS_BSP,
    GS_PS_ASP,
    GS_PS_SSP,
    GS_PS_DSSP,
    GS_PS_K_SYNC,
    GS_PS_K_BATCH_SYNC,
    GS_PS_K_ASYNC,
    GS_PS_K_BATCH_ASYNC,
    GS_PS_BACKUP,
    GS_PS_M_SYNC,
    GS_PS_RENNALA,
    GS_PS_RINGMASTER,
    GS_PS_DC_ASGD,
    GS_PS_STALENESS_AWARE
} gs_ps_kind;

#define GS_PS_RATE_MATCHED (-1.0) /* of gs_ps_config.rate: the word */

/* Parameters of all presets; each has fields for those that mean something for it. */
typedef struct gs_ps_config {
    int64_t servers;      /* 0: all that the cluster offers */
    int64_t bucket_bytes; /* of a push */
    bool overlap;
    double rate;   /* of an update, times the optimizer's; or GS_PS_RATE_MATCHED */
    int64_t count; /* k, backups, m, batches, bound: what the rule counts */
    int64_t staleness, staleness_max;
    double lambda;
} gs_ps_config;

/* The rule of a name for so many ranks; config has been checked by gs_ps_layout. */
gs_ps_rule gs_ps_rule_of(gs_ps_kind kind, const gs_ps_config *config, uint32_t ranks);

/* What a server exports first; a worker exports how many gradients it pushed, an int64_t. */
typedef struct gs_ps_account {
    int64_t version; /* updates */
    int64_t taken, dropped;
    int64_t staleness; /* summed over what was taken */
} gs_ps_account;

gs_status gs_ps_layout(gs_ps_kind kind, const char *name, const gs_ps_config *config,
                       const gs_job *job, gs_layout *out, gs_error *err);
int64_t gs_ps_wire_bytes(const void *config, const gs_job *job, const gs_coding *coding);
void gs_ps_init(gs_ps_kind kind, gs_world *world, void *state);
void gs_ps_import(gs_ps_kind kind, gs_world *world, void *state, const void *in, size_t in_bytes);

/* Hooks as they are in gs_strategy; those of steps are ps_worker.h's. */
void gs_ps_op_done(gs_world *world, void *state, const gs_event *event);
void gs_ps_message(gs_world *world, void *state, const gs_event *event);
void gs_ps_quiesce(gs_world *world, void *state, const gs_event *event);
size_t gs_ps_export(const void *state, void *out, size_t out_bytes);

#endif
