#include "strategies/local_rule.h"

#include "base/assert.h"
#include "strategies/collective.h"

#include <math.h>

gs_local_rule gs_local_rule_of(gs_local_kind kind, const gs_local_config *config, uint32_t ranks)
{
    gs_local_rule rule = {.merge = GS_LOCAL_REPLACE,
                          .period = config->period,
                          .fragments = 1,
                          .rate = 1.0,
                          .weight = 1.0 / ranks};
    switch (kind) {
    case GS_LOCAL_SGD:
        break;
    case GS_LOCAL_POST:
        rule.every_step = config->start;
        break;
    case GS_LOCAL_ADACOMM:
        rule.interval = config->interval;
        break;
    case GS_LOCAL_STREAMING_DILOCO:
        rule.fragments = (uint32_t)config->fragments;
        rule.period = config->period / config->fragments;
        rule.delay = config->delay;
        rule.keep = config->alpha;
        /* fall through */
    case GS_LOCAL_SLOWMO:
    case GS_LOCAL_BMUF:
    case GS_LOCAL_DILOCO:
        rule.rate = config->rate;
        rule.momentum = config->momentum;
        rule.nesterov = config->nesterov;
        break;
    case GS_LOCAL_EASGD:
        /* The centre is not needed before the next pull: its sum has a whole period. */
        rule.merge = GS_LOCAL_ELASTIC;
        rule.delay = config->period;
        rule.pull = config->alpha > 0.0 ? config->alpha : 0.9 / ranks;
        rule.weight = rule.pull;
        rule.centre = true;
        break;
    case GS_LOCAL_OVERLAP: /* the mean of what is left of x after the pull */
        rule.merge = GS_LOCAL_ELASTIC;
        rule.delay = config->period;
        rule.pull = config->alpha;
        rule.weight *= 1.0 - config->alpha;
        rule.momentum = config->momentum;
        break;
    case GS_LOCAL_COCOD:
        rule.merge = GS_LOCAL_CORRECT;
        rule.delay = config->period;
        break;
    case GS_LOCAL_DASGD:
        rule.merge = GS_LOCAL_CORRECT;
        rule.delay = config->delay;
        break;
    case GS_LOCAL_CO2:
        rule.merge = GS_LOCAL_LATE;
        rule.delay = config->period;
        rule.rate = config->rate;
        rule.momentum = config->momentum;
        rule.weight /= config->penalty;
        break;
    }
    return rule;
}

/* ---------------------------------------------------------------- what does not work */

/* The nearest that fits into the run and, of fragments, into a period. */
static gs_local_config nearest(gs_local_kind kind, const gs_local_config *config, const gs_job *job)
{
    gs_local_config near = *config;
    int64_t budget = job->budget_steps;
    if (budget > 0 && near.period > budget) {
        near.period = budget;
    }
    if (budget > 0 && near.start > budget - near.period) {
        near.start = budget - near.period;
    }
    if (kind == GS_LOCAL_STREAMING_DILOCO) {
        near.fragments = near.fragments < job->elements ? near.fragments : job->elements;
        near.fragments = near.fragments < near.period ? near.fragments : near.period;
        near.period -= near.period % near.fragments;
        int64_t between = near.period / near.fragments;
        near.delay = near.delay < between ? near.delay : between - 1;
    }
    return near;
}

static gs_status check_period(gs_local_kind kind, const char *name, const gs_local_config *config,
                              const gs_job *job, gs_error *err)
{
    int64_t budget = job->budget_steps;
    gs_local_config near = nearest(kind, config, job);
    if (budget <= 0 || config->period + config->start <= budget) {
        return GS_OK;
    }
    if (config->period <= budget) {
        return gs_fail(err, GS_EINVAL,
                       "%s.start: %lld steps, and then periods of %lld, but the run has %lld; use "
                       "start=%lld, or raise workload.budget.steps",
                       name, (long long)config->start, (long long)config->period, (long long)budget,
                       (long long)near.start);
    }
    const char *reason = "so that ranks would never average";
    if (kind == GS_LOCAL_STREAMING_DILOCO) {
        return gs_fail(err, GS_EINVAL,
                       "%s.period: %lld steps, but the run has %lld, %s; use "
                       "period=%lld,fragments=%lld,delay=%lld, or raise workload.budget.steps",
                       name, (long long)config->period, (long long)budget, reason,
                       (long long)near.period, (long long)near.fragments, (long long)near.delay);
    }
    return gs_fail(err, GS_EINVAL,
                   "%s.period: %lld steps, but the run has %lld, %s; use period=%lld%s, or raise "
                   "workload.budget.steps",
                   name, (long long)config->period, (long long)budget, reason,
                   (long long)near.period, config->start > 0 ? ",start=0" : "");
}

static gs_status check_fragments(const char *name, const gs_local_config *config, const gs_job *job,
                                 gs_error *err)
{
    int64_t fragments = config->fragments;
    gs_local_config near = nearest(GS_LOCAL_STREAMING_DILOCO, config, job);
    const char *reason = fragments > job->elements    ? "leave some of the model empty"
                         : fragments > config->period ? "do not fit into a period, one at a time"
                         : config->period % fragments != 0 ? "do not divide the period"
                                                           : NULL;
    if (reason == NULL) {
        return GS_OK;
    }
    return gs_fail(err, GS_EINVAL,
                   "%s.fragments: %lld of %lld elements in %lld steps %s; use "
                   "period=%lld,fragments=%lld,delay=%lld",
                   name, (long long)fragments, (long long)job->elements, (long long)config->period,
                   reason, (long long)near.period, (long long)near.fragments,
                   (long long)near.delay);
}

/* The loss is looked at with averages: the first one measures it, a later one compares. */
static gs_status check_interval(const char *name, const gs_local_config *config, const gs_job *job,
                                gs_error *err)
{
    int64_t budget = job->budget_steps;
    int64_t last = budget > 0 ? budget / config->period * config->period : 0;
    if (budget <= 0 || config->period == 1 || config->interval <= last - config->period) {
        return GS_OK;
    }
    if (last <= config->period) {
        return gs_fail(
            err, GS_EINVAL,
            "%s.period: %lld steps, but the run has %lld, in which the loss is looked at "
            "once and the period never changes; use local_sgd, or raise "
            "workload.budget.steps",
            name, (long long)config->period, (long long)budget);
    }
    return gs_fail(err, GS_EINVAL,
                   "%s.interval: %lld steps after the first average at %lld, but the run has %lld, "
                   "so that the period would never change; use interval=%lld, or raise "
                   "workload.budget.steps",
                   name, (long long)config->interval, (long long)config->period, (long long)budget,
                   (long long)(last - config->period));
}

static gs_status check_delay(gs_local_kind kind, const char *name, const gs_local_config *config,
                             gs_error *err)
{
    int64_t between = config->period;
    if (kind == GS_LOCAL_STREAMING_DILOCO) {
        between /= config->fragments;
    } else if (kind != GS_LOCAL_DASGD) {
        return GS_OK;
    }
    if (config->delay < between) {
        return GS_OK;
    }
    return gs_fail(err, GS_EINVAL,
                   "%s.delay: %lld steps, but the next average begins after %lld; use delay=%lld%s",
                   name, (long long)config->delay, (long long)between, (long long)(between - 1),
                   kind == GS_LOCAL_DASGD ? ", or cocod, which is a whole period late" : "");
}

gs_status gs_local_check(gs_local_kind kind, const char *name, const gs_local_config *config,
                         const gs_job *job, gs_error *err)
{
    GS_TRY(check_period(kind, name, config, job, err));
    if (kind == GS_LOCAL_STREAMING_DILOCO) {
        GS_TRY(check_fragments(name, config, job, err));
    }
    if (kind == GS_LOCAL_ADACOMM) {
        GS_TRY(check_interval(name, config, job, err));
    }
    GS_TRY(check_delay(kind, name, config, err));
    if (kind == GS_LOCAL_EASGD && config->alpha * job->ranks > 1.0) {
        /* Rounded down: what is said must work. */
        return gs_fail(err, GS_EINVAL,
                       "%s.alpha: %g for each of %u ranks moves the centre beyond their mean; use "
                       "alpha=%g, or alpha=0 for 0.9 / ranks",
                       name, config->alpha, job->ranks, floor(1e5 / job->ranks) / 1e5);
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- when, and what */

int64_t gs_local_period_at(const gs_local_rule *rule, int64_t steps, int64_t adapted)
{
    if (steps < rule->every_step) {
        return 1;
    }
    return rule->interval > 0 ? adapted : rule->period;
}

gs_slice gs_local_fragment(const gs_local_rule *rule, const gs_job *job, int64_t round,
                           uint32_t vector)
{
    gs_slice part = {.vector = vector};
    gs_part_of(job->elements, rule->fragments, (uint32_t)(round % rule->fragments), &part.offset,
               &part.length);
    return part;
}

bool gs_local_ends_equal(const gs_local_rule *rule)
{
    return rule->merge == GS_LOCAL_REPLACE && rule->delay == 0 && rule->fragments == 1;
}

int64_t gs_local_rounds(const gs_local_rule *rule, int64_t steps, bool *out_differ)
{
    int64_t single = steps < rule->every_step ? steps : rule->every_step;
    int64_t rest = steps - single;
    bool at_end = rest % rule->period == 0 && gs_local_ends_equal(rule);
    *out_differ = !rule->centre && !at_end;
    return single + rest / rule->period;
}

int64_t gs_local_adapt(int64_t period_first, int64_t period_now, double first_loss, double loss)
{
    GS_ASSERT(first_loss > 0.0 && loss > 0.0);
    double wanted = ceil(sqrt(loss / first_loss) * (double)period_first);
    if (wanted < (double)period_now) {
        return (int64_t)wanted;
    }
    return (period_now + 1) / 2;
}
