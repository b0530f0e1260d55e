#include "strategies/gossip_rule.h"

#include "strategies/coding.h"

gs_gossip_rule gs_gossip_rule_of(gs_gossip_kind kind, const gs_gossip_config *config)
{
    return (gs_gossip_rule){
        .graph = (gs_graph)config->graph,
        .overlap = kind == GS_GOSSIP_D_PSGD && config->overlap,
        .push_sum = kind == GS_GOSSIP_SGP || kind == GS_GOSSIP_OSGP,
        .differences = kind == GS_GOSSIP_CHOCO,
        .delay = kind == GS_GOSSIP_OSGP ? config->delay : 0,
        .gamma = config->gamma,
    };
}

uint32_t gs_gossip_inbox(const gs_gossip_rule *rule)
{
    if (rule->differences) {
        return GS_GOSSIP_HEARD + 1;
    }
    if (rule->push_sum) {
        return rule->delay > 0 ? GS_GOSSIP_OUTBOX + 1 : GS_GOSSIP_MODEL + 1;
    }
    return GS_OWN;
}

int64_t gs_gossip_period(const gs_gossip_rule *rule)
{
    return rule->delay > 0 ? rule->delay : 1;
}

gs_status gs_gossip_check(const gs_gossip_rule *rule, const char *name, const gs_job *job,
                          gs_error *err)
{
    GS_TRY(gs_mixing_check(name, rule->graph, job->ranks, err));
    if (job->budget_steps > 0 && rule->delay >= job->budget_steps && rule->delay > 0) {
        return gs_fail(err, GS_EINVAL,
                       "%s.delay: %lld steps, but the run has %lld: nothing would be used in time; "
                       "use delay=%lld",
                       name, (long long)rule->delay, (long long)job->budget_steps,
                       (long long)(job->budget_steps - 1));
    }
    return GS_OK;
}

int64_t gs_gossip_wire_bytes(gs_gossip_kind kind, const gs_gossip_config *config, const gs_job *job,
                             const gs_coding *coding)
{
    gs_gossip_rule rule = gs_gossip_rule_of(kind, config);
    int64_t degree = gs_mixing_of(rule.graph, job->ranks).degree;
    int64_t bytes = degree * gs_coding_send_bytes(coding, job->elements, job->element_bytes);
    int64_t period = gs_gossip_period(&rule);
    if (job->budget_steps == 0) {
        return bytes / period;
    }
    int64_t rounds = (job->budget_steps + period - 1) / period;
    return (int64_t)((double)bytes * (double)rounds / (double)job->budget_steps);
}
