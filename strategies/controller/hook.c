/* A controller is made, taken up again, and told of a step. */
#include "strategies/controller/hook_state.h"

#include <math.h>
#include <string.h>

/* "gradsync" and the version of the state. */
static const uint64_t magic = 0x6772616473796e01U;

/* ---------------------------------------------------------------- making one */

gradsync_hook_config gradsync_hook_defaults(uint32_t rank, uint32_t ranks)
{
    return (gradsync_hook_config){
        .struct_bytes = sizeof(gradsync_hook_config),
        .rank = rank,
        .ranks = ranks,
        .offered = 1U << GRADSYNC_HOOK_DENSE | 1U << GRADSYNC_HOOK_LOCAL,
        .period_max = 64,
        .warm_up_steps = 1,
        .look_steps = 8,
        .dwell = 2,
        .margin = 0.1,
        .codec_share = 0.5,
        .staleness_max = 3.0,
        .change = 0.03,
    };
}

size_t gradsync_hook_bytes(void)
{
    return sizeof(gradsync_hook);
}

static const char *refuse(const gradsync_hook_config *config)
{
    uint32_t all = (1U << GRADSYNC_HOOK_RUNGS) - 1;
    if (config->struct_bytes != sizeof *config) {
        return "struct_bytes: of another version; begin with gradsync_hook_defaults";
    }
    if (config->ranks < 1 || config->ranks > 65535 || config->rank >= config->ranks) {
        return "rank, ranks: allowed are 0 to ranks - 1, and 1 to 65535";
    }
    if (config->node_ranks > 0 && config->ranks % config->node_ranks != 0) {
        return "node_ranks: does not divide ranks; 0 where nodes are not alike";
    }
    if (config->offered == 0 || (config->offered & ~all) != 0) {
        return "offered: allowed are sums of 1 << gradsync_hook_rung, at least one";
    }
    if ((config->offered & 1U << GRADSYNC_HOOK_LOCAL_NODES) != 0 && config->node_ranks < 2) {
        return "offered: local by nodes needs node_ranks of 2 or more";
    }
    if (config->period_max < 1 || config->look_steps < 1 || config->dwell < 1 ||
        config->warm_up_steps < 0) {
        return "period_max, look_steps, dwell: at least 1, and warm_up_steps 0";
    }
    if (!(config->margin >= 0.0 && config->margin <= 1.0)) {
        return "margin: allowed is 0 to 1";
    }
    if (!(config->codec_share > 0.0 && config->codec_share <= 1.0)) {
        return "codec_share: allowed is more than 0, and at most 1";
    }
    if (!(config->staleness_max >= 0.0) || !(config->change > 0.0 && config->change <= 1.0)) {
        return "staleness_max, change: allowed are 0 or more, and more than 0 to 1";
    }
    return NULL;
}

static gradsync_hook *place(void *memory, size_t bytes, const gradsync_hook_config *config,
                            const char **out_why)
{
    *out_why = refuse(config);
    if (*out_why == NULL && bytes < sizeof(gradsync_hook)) {
        *out_why = "bytes: fewer than gradsync_hook_bytes";
    }
    return *out_why == NULL ? memory : NULL;
}

gradsync_hook *gradsync_hook_create(void *memory, size_t bytes, const gradsync_hook_config *config,
                                    const char **out_why)
{
    gradsync_hook *hook = place(memory, bytes, config, out_why);
    if (hook == NULL) {
        return NULL;
    }
    memset(hook, 0, sizeof *hook);
    hook->magic = magic;
    hook->bytes = sizeof *hook;
    hook->config = *config;
    hook->local.spread = (double)NAN;
    hook->local.drift_sq = (double)NAN;
    hook->agreed.rung = hook->agreed.wanted = gs_hook_safest(config->offered);
    hook->agreed.period = hook->agreed.node_period = 1;
    hook->agreed.look_at = 1;
    hook->agreed.measured = gs_hook_cost_of_rung(gs_hook_safest(config->offered));
    hook->agreed.paused_rank = hook->agreed.slowest_rank = -1;
    hook->agreed.change = config->change;
    hook->agreed.link = 1.0;
    hook->agreed.measured_before = GS_HOOK_COSTS;
    /* Half of a rank's step is noise, until it is seen. */
    hook->agreed.spread.noise = (config->ranks - 1.0) / 2.0;
    return hook;
}

static bool is_alike(const gradsync_hook_config *a, const gradsync_hook_config *b)
{
    return a->ranks == b->ranks && a->node_ranks == b->node_ranks && a->offered == b->offered &&
           a->period_max == b->period_max && a->warm_up_steps == b->warm_up_steps &&
           a->look_steps == b->look_steps && a->dwell == b->dwell && a->margin == b->margin &&
           a->codec_share == b->codec_share && a->staleness_max == b->staleness_max &&
           a->change == b->change;
}

gradsync_hook *gradsync_hook_restore(void *memory, size_t bytes, const gradsync_hook_config *config,
                                     const char **out_why)
{
    gradsync_hook *hook = place(memory, bytes, config, out_why);
    if (hook == NULL) {
        return NULL;
    }
    if (hook->magic != magic || hook->bytes != sizeof *hook) {
        *out_why = "memory: holds no controller of this version; create one";
        return NULL;
    }
    if (!is_alike(&hook->config, config)) {
        *out_why = "config: not that of the checkpoint, beside rank; create a new one";
        return NULL;
    }
    hook->config.rank = config->rank;
    return hook;
}

/* ---------------------------------------------------------------- a step */

gradsync_hook_signals gradsync_hook_unknown(void)
{
    double none = (double)NAN;
    return (gradsync_hook_signals){.struct_bytes = sizeof(gradsync_hook_signals),
                                   .loss = none,
                                   .gradient_sq = none,
                                   .mean_gradient_sq = none,
                                   .drift_sq = none,
                                   .mean_drift_sq = none,
                                   .residual_sq = none,
                                   .step_s = none,
                                   .sync_s = none};
}

bool gradsync_hook_step(gradsync_hook *hook, const gradsync_hook_signals *signals,
                        gradsync_hook_values *out)
{
    gradsync_hook_signals unknown = gradsync_hook_unknown();
    bool averages_each = (GS_HOOK_EVERY_STEP >> hook->agreed.rung & 1U) != 0;
    hook->agreed.steps++;
    hook->agreed.since = averages_each ? 1 : hook->agreed.since + 1;
    hook->agreed.node_since = averages_each ? 1 : hook->agreed.node_since + 1;
    gs_hook_hear(hook, signals->struct_bytes == sizeof *signals ? signals : &unknown);
    if (hook->agreed.steps < hook->agreed.look_at) {
        return false;
    }
    gs_hook_tell(hook, out);
    return true;
}

void gradsync_hook_withdraw(gradsync_hook *hook, int32_t rung)
{
    hook->agreed.withdrawn |= rung != hook->agreed.rung ? 1U << rung : 0U;
}
