#include "strategies/controller/hook_model.h"

#include <math.h>

/* Of what is known, after each new value. */
static const double forget = 0.8;
/* Weight of b = 0, as a share of what was seen: with one period only, all is noise. */
static const double to_zero = 0.1;

void gs_hook_spread_see(gs_hook_spread *spread, double steps, double disagreement)
{
    double inverse = 1.0 / steps;
    spread->weight = forget * spread->weight + 1.0;
    spread->inverse = forget * spread->inverse + inverse;
    spread->inverse_sq = forget * spread->inverse_sq + inverse * inverse;
    spread->value = forget * spread->value + disagreement;
    spread->product = forget * spread->product + inverse * disagreement;
    double corner = spread->weight * (1.0 + to_zero);
    double determinant = spread->inverse_sq * corner - spread->inverse * spread->inverse;
    spread->noise = (spread->product * corner - spread->inverse * spread->value) / determinant;
    spread->apart =
        (spread->inverse_sq * spread->value - spread->inverse * spread->product) / determinant;
    if (spread->apart < 0.0) {
        spread->apart = 0.0;
        spread->noise = spread->product / spread->inverse_sq;
    } else if (spread->noise < 0.0) {
        spread->noise = 0.0;
        spread->apart = spread->value / spread->weight;
    }
}

double gs_hook_lost_in_step(const gs_hook_model *model, double steps, double factor)
{
    double turned = model->change * steps;
    double lost = factor * turned * turned * gs_hook_spread_at(&model->spread, steps);
    return lost < 1.0 ? lost : 1.0;
}

/* The sum over h = 1..steps of change^2 (a h + b h^2), by its integral from 0 to `steps`. */
double gs_hook_lost_since(const gs_hook_model *model, double steps, double factor)
{
    double square = model->change * model->change * steps * steps;
    double lost = factor * square * (model->spread.noise / 2.0 + model->spread.apart * steps / 3.0);
    return lost < steps ? lost : steps;
}

double gs_hook_node_share(const gs_hook_model *model)
{
    if (model->node_ranks < 2.0 || model->node_ranks >= model->ranks) {
        return 0.0;
    }
    return (1.0 - 1.0 / model->node_ranks) / (1.0 - 1.0 / model->ranks);
}

double gs_hook_regret_s(double step_s, double steps, double lost_in_step, double lost_since)
{
    if (lost_in_step >= 1.0) {
        return (double)INFINITY;
    }
    double regret = step_s * (steps * lost_in_step - lost_since) / (1.0 - lost_in_step);
    return regret > 0.0 ? regret : 0.0;
}

/* The next period to try: each, and later every quarter more. */
static double next_period(double period)
{
    double quarter = floor(period / 4.0);
    return period + (quarter > 1.0 ? quarter : 1.0);
}

/* A step of ranks that wait for each other now and then. */
static double together_s(const gs_hook_model *model)
{
    return model->step_s + model->wait_s;
}

static gs_hook_rate local(const gs_hook_model *model)
{
    gs_hook_rate best = {0.0, 1.0, 1.0};
    for (double period = 1.0; period <= model->period_max; period = next_period(period)) {
        double seconds = period * together_s(model) + model->cost_s[GS_HOOK_COST_ALL];
        double rate = (period - gs_hook_lost_since(model, period, 1.0)) / seconds;
        if (rate > best.rate) {
            best = (gs_hook_rate){rate, period, period};
        }
    }
    return best;
}

/* The progress of a period of all with one of nodes that divides it or not: what is lost inside of
 * nodes since they averaged, and what is lost between them since all did. */
static double two_levels(const gs_hook_model *model, double period, double node_period)
{
    double share = gs_hook_node_share(model);
    double inside = period / node_period;
    double lost = share * inside * gs_hook_lost_since(model, node_period, 1.0) +
                  (1.0 - share) * gs_hook_lost_since(model, period, 1.0);
    double seconds = period * together_s(model) + model->cost_s[GS_HOOK_COST_ALL] +
                     (inside - 1.0) * model->cost_s[GS_HOOK_COST_NODE];
    return (period - lost) / seconds;
}

/* Best period of nodes for the best one of all, and the other way round, once: the two hardly
 * depend on each other. */
static gs_hook_rate local_nodes(const gs_hook_model *model)
{
    gs_hook_rate best = local(model);
    double period = best.period;
    for (double node = 1.0; node <= period; node = next_period(node)) {
        double rate = two_levels(model, period, node);
        if (rate > best.rate) {
            best = (gs_hook_rate){rate, period, node};
        }
    }
    for (period = best.node_period; period <= model->period_max; period = next_period(period)) {
        double rate = two_levels(model, period, best.node_period);
        if (rate > best.rate) {
            best = (gs_hook_rate){rate, period, best.node_period};
        }
    }
    return best;
}

/* An update that is `updates` late is on a gradient that has changed since. */
static double late(const gs_hook_model *model, double updates)
{
    return 1.0 / (1.0 + model->change * updates);
}

gs_hook_rate gs_hook_rate_of(const gs_hook_model *model, int32_t rung)
{
    double step = together_s(model);
    double alone = model->step_s + model->cost_s[GS_HOOK_COST_DENSE];
    double others = model->ranks - 1.0;
    double bound = model->staleness_max < others ? model->staleness_max : others;
    double rate = 0.0;
    switch (rung) {
    case GRADSYNC_HOOK_DENSE:
        rate = 1.0 / (step + model->cost_s[GS_HOOK_COST_DENSE]);
        break;
    case GRADSYNC_HOOK_COMPRESSED:
        rate = late(model, model->residual) / (step + model->cost_s[GS_HOOK_COST_COMPRESSED]);
        break;
    case GRADSYNC_HOOK_LOCAL:
        return local(model);
    case GRADSYNC_HOOK_LOCAL_NODES:
        return local_nodes(model);
    case GRADSYNC_HOOK_PAUSE:
        rate = others / model->ranks / alone;
        break;
    case GRADSYNC_HOOK_STALE:
        rate = late(model, bound) / (alone + model->wait_s / (1.0 + bound));
        break;
    case GRADSYNC_HOOK_ASYNC:
        rate = late(model, others) / alone;
        break;
    default:
        break;
    }
    return (gs_hook_rate){rate, 1.0, 1.0};
}
