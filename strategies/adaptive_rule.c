#include "strategies/adaptive_rule.h"

#include "strategies/synchronous.h"

/* clang-format off */
static const gs_field fields[] = {
    {.name = "period_max", .kind = GS_FIELD_INT, GS_FIELD_AT(gs_adaptive_config, period_max),
     .default_text = "64", .minimum = 1, .maximum = 1e9,
     .help = "steps from one average of all to the next, at most"},
    {.name = "look", .kind = GS_FIELD_INT, GS_FIELD_AT(gs_adaptive_config, look),
     .default_text = "8", .minimum = 1, .maximum = 1e9,
     .help = "steps from one decision to the next, at most"},
    {.name = "change", .kind = GS_FIELD_REAL, GS_FIELD_AT(gs_adaptive_config, change),
     .default_text = "0.03", .minimum = 1e-6, .maximum = 1.0,
     .help = "how much of its own size a gradient changes in a step, before it is measured"},
    {.name = "margin", .kind = GS_FIELD_REAL, GS_FIELD_AT(gs_adaptive_config, margin),
     .default_text = "0.1", .minimum = 0.0, .maximum = 1.0,
     .help = "by how much another way must be faster to be taken"},
    GS_SYNC_BUCKET_FIELDS(gs_adaptive_config),
};
/* clang-format on */

const gs_field_table gs_adaptive_fields = {
    .name = "adaptive",
    .struct_bytes = sizeof(gs_adaptive_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

bool gs_adaptive_has_nodes(const gs_job *job)
{
    return job->node_ranks > 1 && job->node_ranks < job->ranks;
}

gradsync_hook_config gs_adaptive_hook(const gs_adaptive_config *config, const gs_job *job,
                                      uint32_t rank)
{
    gradsync_hook_config hook = gradsync_hook_defaults(rank, job->ranks);
    hook.period_max = config->period_max;
    hook.look_steps = config->look;
    hook.change = config->change;
    hook.margin = config->margin;
    if (gs_adaptive_has_nodes(job)) {
        hook.node_ranks = job->node_ranks;
        hook.offered |= 1U << GRADSYNC_HOOK_LOCAL_NODES;
    }
    return hook;
}

int32_t gs_adaptive_phase(gs_phase phase)
{
    static const int32_t phases[GS_PHASE_COUNT] = {
        [GS_PHASE_NORMAL] = GRADSYNC_HOOK_NORMAL,
        [GS_PHASE_WARMUP] = GRADSYNC_HOOK_WARMUP,
        [GS_PHASE_SPARSE] = GRADSYNC_HOOK_SPARSE,
        [GS_PHASE_CRITICAL] = GRADSYNC_HOOK_CRITICAL,
    };
    return phases[phase];
}
