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

static gs_status check_period(const char *name, const gs_local_config *config, const gs_job *job,
                              gs_error *err)
{
    int64_t budget = job->budget_steps;
    if (budget <= 0) {
        return GS_OK;
    }
    if (config->period > budget) {
        return gs_fail(err, GS_EINVAL,
                       "%s.period: %lld steps, but the run has %lld, so that ranks would never "
                       "average; use period=%lld, or raise workload.budget.steps",
                       name, (long long)config->period, (long long)budget, (long long)budget);
    }
    if (config->start > budget - config->period) {
        return gs_fail(err, GS_EINVAL,
                       "%s.start: %lld steps, and then periods of %lld, but the run has %lld; use "
                       "start=%lld, or raise workload.budget.steps",
                       name, (long long)config->start, (long long)config->period, (long long)budget,
                       (long long)(budget - config->period));
    }
    return GS_OK;
}

static gs_status check_fragments(const char *name, const gs_local_config *config, const gs_job *job,
                                 gs_error *err)
{
    int64_t fragments = config->fragments;
    if (fragments > job->elements) {
        return gs_fail(err, GS_EINVAL,
                       "%s.fragments: %lld of a model with %lld elements leave some empty; use "
                       "fragments=%lld",
                       name, (long long)fragments, (long long)job->elements,
                       (long long)job->elements);
    }
    if (fragments > config->period) {
        return gs_fail(err, GS_EINVAL,
                       "%s.fragments: %lld, of which one is sent at a time, do not fit into a "
                       "period of %lld steps; use fragments=%lld, or period=%lld",
                       name, (long long)fragments, (long long)config->period,
                       (long long)config->period, (long long)fragments);
    }
    if (config->period % fragments != 0) {
        return gs_fail(err, GS_EINVAL,
                       "%s.period: %lld steps are not a multiple of the %lld fragments; use "
                       "period=%lld",
                       name, (long long)config->period, (long long)fragments,
                       (long long)(config->period - config->period % fragments));
    }
    return GS_OK;
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
    GS_TRY(check_period(name, config, job, err));
    if (kind == GS_LOCAL_STREAMING_DILOCO) {
        GS_TRY(check_fragments(name, config, job, err));
    }
    GS_TRY(check_delay(kind, name, config, err));
    if (kind == GS_LOCAL_EASGD && config->alpha * job->ranks > 1.0) {
        return gs_fail(err, GS_EINVAL,
                       "%s.alpha: %g for each of %u ranks moves the centre beyond their mean; use "
                       "alpha=%.3g, or alpha=0 for 0.9 / ranks",
                       name, config->alpha, job->ranks, 1.0 / job->ranks);
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
