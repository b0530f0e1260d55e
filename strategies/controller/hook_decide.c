/* From what all ranks agree on to the decision: what it teaches, which rung that speaks for, and
 * whether an average pays now. */
#include "strategies/controller/hook_state.h"

#include <math.h>

/* Weight of a new value: of times, which change, and of the gradient's change, which is noisy. */
static const double of_times = 0.5, of_change = 0.3;

/* Below this share of its largest square there is no gradient to speak of. */
static const double inactive = 1e-6;

/* How far a drift under way may move what was foretold. */
static const double factor_max = 4.0;

/* Of what an average took, without the wait for the slowest: at least. */
static const double least_share = 1.0 / 16.0;

/* Looks in a planned period, so that a change is seen within a part of it. */
enum { LOOKS = 4 };

/* ---------------------------------------------------------------- what is known by all */

static double mixed(double before, double now, double weight)
{
    return before > 0.0 ? before + weight * (now - before) : now;
}

static void learn_costs(gs_hook_agreed *agreed, const gs_hook_seen *seen)
{
    if (seen->step_s > 0.0) {
        agreed->step_s = mixed(agreed->step_s, seen->step_s, of_times);
        agreed->slowest_s = mixed(agreed->slowest_s, seen->slowest_s, of_times);
    }
    if (agreed->measured == GS_HOOK_COSTS || seen->sync_s <= 0.0) {
        return;
    }
    /* Who is there first waits for the slowest, which is no cost of the average. */
    double waited_s = (seen->slowest_s - seen->step_s) * agreed->averaged_steps;
    double own_s = seen->sync_s - waited_s;
    double least_s = least_share * seen->sync_s;
    gs_hook_cost *cost = &agreed->costs[agreed->measured];
    bool is_new = agreed->measured != agreed->measured_before;
    cost->now_s = mixed(is_new ? 0.0 : cost->now_s, own_s > least_s ? own_s : least_s, of_times);
    cost->best_s = cost->best_s > 0.0 && cost->best_s < cost->now_s ? cost->best_s : cost->now_s;
    if (agreed->measured == GS_HOOK_COST_NODE) {
        return; /* links inside nodes tell nothing of those between them */
    }
    if (is_new) {
        cost->unit_s = cost->now_s / agreed->link;
    }
    agreed->link = cost->now_s / cost->unit_s;
    agreed->measured_before = agreed->measured;
}

/* Returns by how much a drift under way is more than foretold. */
static double learn(gs_hook_agreed *agreed, const gs_hook_seen *seen)
{
    double factor = 1.0;
    learn_costs(agreed, seen);
    agreed->slowest_rank = seen->slowest_rank;
    if (seen->known.loss || seen->known.gradient) {
        agreed->change += of_change * (seen->change - agreed->change);
        agreed->change = agreed->change > 1.0 ? 1.0 : agreed->change;
    }
    if (!seen->known.spread) {
        return factor;
    }
    if (agreed->has_rank_spread) {
        double disagreement = seen->spread > 1.0 ? seen->spread - 1.0 : 0.0;
        gs_hook_spread_see(&agreed->spread, agreed->averaged_steps, disagreement);
        agreed->has_pace = agreed->has_pace || gs_hook_is_local(agreed->rung);
    } else {
        factor = seen->spread > factor_max ? factor_max : seen->spread;
        factor = factor < 1.0 / factor_max ? 1.0 / factor_max : factor;
    }
    return factor;
}

/* A cost that was never seen is guessed from what was, and one of long ago moves with the link. */
static double cost_now(const gradsync_hook *hook, int32_t which)
{
    const gs_hook_cost *costs = hook->agreed.costs;
    const gs_hook_cost *cost = &costs[which];
    double now_s = which == GS_HOOK_COST_NODE ? cost->now_s : cost->unit_s * hook->agreed.link;
    double dense_s = costs[GS_HOOK_COST_DENSE].unit_s * hook->agreed.link;
    double all_s = costs[GS_HOOK_COST_ALL].unit_s * hook->agreed.link;
    double coded_s = costs[GS_HOOK_COST_COMPRESSED].unit_s * hook->agreed.link;
    switch (which) {
    case GS_HOOK_COST_ALL:
        now_s = now_s > 0.0 ? now_s : dense_s;
        return now_s > 0.0 ? now_s : coded_s;
    case GS_HOOK_COST_DENSE:
        now_s = now_s > 0.0 ? now_s : coded_s / hook->config.codec_share;
        /* The same bytes, of which some may hide behind the backward pass. */
        return all_s > 0.0 && (now_s == 0.0 || all_s < now_s) ? all_s : now_s;
    case GS_HOOK_COST_COMPRESSED:
        return now_s > 0.0 ? now_s : cost_now(hook, GS_HOOK_COST_DENSE) * hook->config.codec_share;
    default:
        return now_s > 0.0 ? now_s : cost_now(hook, GS_HOOK_COST_ALL) / hook->config.ranks;
    }
}

static gs_hook_model model_of(const gradsync_hook *hook, double residual)
{
    const gs_hook_agreed *agreed = &hook->agreed;
    gs_hook_model model = {
        .ranks = hook->config.ranks,
        .node_ranks = hook->config.node_ranks,
        .period_max = (double)hook->config.period_max,
        .change = agreed->change,
        .step_s = agreed->step_s,
        .wait_s = agreed->slowest_s - agreed->step_s,
        .residual = residual,
        .staleness_max = hook->config.staleness_max,
        .spread = agreed->spread,
    };
    for (int32_t i = 0; i < GS_HOOK_COSTS; i++) {
        model.cost_s[i] = cost_now(hook, i);
    }
    return model;
}

/* ---------------------------------------------------------------- what follows */

/* The rung of the highest rate; the safer of equal ones. A pause needs a rank to pause. */
static int32_t best_of(const gradsync_hook *hook, const gs_hook_model *model, uint32_t offered,
                       gs_hook_rate *out)
{
    int32_t best = gs_hook_safest(gs_hook_offered(hook));
    *out = gs_hook_rate_of(model, best);
    for (int32_t rung = best + 1; rung < GRADSYNC_HOOK_RUNGS; rung++) {
        bool can = (offered >> rung & 1U) != 0 &&
                   (rung != GRADSYNC_HOOK_PAUSE || hook->agreed.slowest_rank >= 0);
        gs_hook_rate rate = can ? gs_hook_rate_of(model, rung) : (gs_hook_rate){0};
        if (rate.rate > out->rate) {
            best = rung;
            *out = rate;
        }
    }
    return best;
}

static void move(gradsync_hook *hook, int32_t rung)
{
    gs_hook_agreed *agreed = &hook->agreed;
    agreed->rung = agreed->wanted = rung;
    agreed->dwelt = 0;
    agreed->paused_rank = rung == GRADSYNC_HOOK_PAUSE ? agreed->slowest_rank : -1;
}

/* Another rung must be better by the margin, or as good and safer, for as many decisions as it
 * takes to believe it. */
static void choose_rung(gradsync_hook *hook, const gs_hook_model *model, int32_t phase,
                        gradsync_hook_decision *out)
{
    gs_hook_agreed *agreed = &hook->agreed;
    gs_hook_rate own = gs_hook_rate_of(model, agreed->rung);
    gs_hook_rate best;
    bool is_told = phase == GRADSYNC_HOOK_WARMUP || phase == GRADSYNC_HOOK_CRITICAL;
    uint32_t offered = gs_hook_offered(hook);
    uint32_t allowed =
        is_told && (offered & GS_HOOK_EVERY_STEP) != 0 ? offered & GS_HOOK_EVERY_STEP : offered;
    int32_t wanted = best_of(hook, model, allowed, &best);
    bool is_allowed = (allowed >> agreed->rung & 1U) != 0;
    out->rate = own.rate;
    out->best_rate = best.rate;
    if (!is_allowed) {
        move(hook, wanted);
        own = best;
    } else if (wanted == agreed->rung ||
               (wanted > agreed->rung && best.rate <= own.rate * (1.0 + hook->config.margin))) {
        agreed->wanted = agreed->rung;
        agreed->dwelt = 0;
    } else {
        agreed->dwelt = wanted == agreed->wanted ? agreed->dwelt + 1 : 1;
        agreed->wanted = wanted;
        /* What the warm-up says is all that is known: nothing is gained by waiting. */
        bool is_first = agreed->looked <= hook->config.warm_up_steps;
        if (is_first || agreed->dwelt >= hook->config.dwell) {
            move(hook, wanted);
            own = best;
        }
    }
    agreed->period = (int64_t)own.period;
    agreed->node_period = (int64_t)own.node_period;
}

/* Over whom to average on a local rung, by what has been lost since the last time. */
static int32_t choose_scope(const gradsync_hook *hook, const gs_hook_model *model,
                            const gs_hook_seen *seen, double factor, gradsync_hook_decision *out)
{
    const gs_hook_agreed *agreed = &hook->agreed;
    double since = (double)agreed->since;
    double node_since = (double)agreed->node_since;
    bool by_nodes = agreed->rung == GRADSYNC_HOOK_LOCAL_NODES;
    double share = by_nodes ? gs_hook_node_share(model) : 0.0;
    double lost = (1.0 - share) * gs_hook_lost_in_step(model, since, factor);
    double node_lost = share * gs_hook_lost_in_step(model, node_since, factor);
    double regret = gs_hook_regret_s(model->step_s, since, lost,
                                     (1.0 - share) * gs_hook_lost_since(model, since, factor));
    double node_regret = gs_hook_regret_s(model->step_s, node_since, node_lost,
                                          share * gs_hook_lost_since(model, node_since, factor));
    out->progress = 1.0 - lost - node_lost;
    out->lost_s = regret;
    if (agreed->since >= hook->config.period_max) {
        out->reason = GRADSYNC_HOOK_PERIOD_IS_MAX;
        return GRADSYNC_HOOK_ALL;
    }
    if (seen->phase == GRADSYNC_HOOK_WARMUP || seen->phase == GRADSYNC_HOOK_CRITICAL) {
        out->reason = GRADSYNC_HOOK_TOLD;
        return GRADSYNC_HOOK_ALL;
    }
    if (seen->phase == GRADSYNC_HOOK_SPARSE) {
        out->reason = GRADSYNC_HOOK_TOLD;
        return GRADSYNC_HOOK_NONE;
    }
    if (seen->known.gradient && seen->activity < inactive) {
        out->reason = GRADSYNC_HOOK_NO_GRADIENT;
        return GRADSYNC_HOOK_NONE;
    }
    out->reason = GRADSYNC_HOOK_PAYS;
    if (regret >= model->cost_s[GS_HOOK_COST_ALL]) {
        return GRADSYNC_HOOK_ALL;
    }
    if (node_regret >= model->cost_s[GS_HOOK_COST_NODE] && share > 0.0) {
        return GRADSYNC_HOOK_NODE;
    }
    out->reason = GRADSYNC_HOOK_NOT_YET;
    return GRADSYNC_HOOK_NONE;
}

/* Before costs are known on the first rung nothing can be weighed. */
static int32_t warm_up(gradsync_hook *hook, gradsync_hook_decision *out)
{
    out->reason = GRADSYNC_HOOK_WARMING_UP;
    hook->agreed.look_at = hook->agreed.steps + 1;
    return GRADSYNC_HOOK_ALL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Steps until the next decision: a part of the period that is planned, and at its end; what is
 * averaged every step is looked at now and then. */
static int64_t look_in(const gradsync_hook *hook, int32_t scope)
{
    const gs_hook_agreed *agreed = &hook->agreed;
    if (!gs_hook_is_local(agreed->rung)) {
        return agreed->dwelt > 0 ? 1 : hook->config.look_steps;
    }
    int64_t since = scope == GRADSYNC_HOOK_ALL ? 0 : agreed->since;
    int64_t node_since = scope == GRADSYNC_HOOK_NONE ? agreed->node_since : 0;
    int64_t part = (agreed->period + LOOKS - 1) / LOOKS;
    int64_t look = least(part, hook->config.look_steps);
    if (agreed->period > since) {
        look = least(look, agreed->period - since);
    }
    if (agreed->rung == GRADSYNC_HOOK_LOCAL_NODES && agreed->node_period > node_since) {
        look = least(look, agreed->node_period - node_since);
    }
    return least(look, hook->config.period_max - since);
}

static int32_t weigh(gradsync_hook *hook, const gs_hook_seen *seen, double factor,
                     gradsync_hook_decision *out)
{
    gs_hook_agreed *agreed = &hook->agreed;
    gs_hook_model model = model_of(hook, seen->residual);
    int32_t scope = GRADSYNC_HOOK_ALL;
    if (agreed->steps <= hook->config.warm_up_steps) {
        return warm_up(hook, out);
    }
    choose_rung(hook, &model, seen->phase, out);
    out->progress = 1.0;
    out->reason = GRADSYNC_HOOK_EVERY_STEP;
    /* A rung of models that has just been left still ends in an average of all. */
    if (gs_hook_is_local(out->from_rung) && gs_hook_is_local(agreed->rung)) {
        scope = choose_scope(hook, &model, seen, factor, out);
    } else if (agreed->rung == GRADSYNC_HOOK_PAUSE) {
        scope = GRADSYNC_HOOK_SUBSET;
    } else if (agreed->rung == out->from_rung && agreed->rung >= GRADSYNC_HOOK_STALE) {
        scope = GRADSYNC_HOOK_NONE;
    }
    out->cost_s = model.cost_s[gs_hook_cost_of_rung(agreed->rung)];
    agreed->look_at =
        agreed->steps + (out->reason == GRADSYNC_HOOK_TOLD ? 1 : look_in(hook, scope));
    return scope;
}

/* What nobody can make sense of: average all now, by what is safest, and look again. */
static int32_t fall_back(gradsync_hook *hook, int32_t why, gradsync_hook_decision *out)
{
    move(hook, gs_hook_safest(gs_hook_offered(hook)));
    hook->agreed.period = hook->agreed.node_period = 1;
    hook->agreed.look_at = hook->agreed.steps + 1;
    out->reason = why;
    return GRADSYNC_HOOK_ALL;
}

static void show(const gradsync_hook *hook, gradsync_hook_decision *out)
{
    const gs_hook_agreed *agreed = &hook->agreed;
    double ranks = hook->config.ranks;
    double disagreement = gs_hook_spread_at(&agreed->spread, (double)agreed->since);
    double rest = ranks - 1.0 - disagreement;
    const gs_hook_cost *cost = &agreed->costs[gs_hook_cost_of_rung(agreed->rung)];
    out->struct_bytes = sizeof *out;
    out->rung = agreed->rung;
    out->period = agreed->period;
    out->node_period = agreed->node_period;
    out->paused_rank = agreed->paused_rank;
    out->since = agreed->since;
    out->look_in = agreed->look_at - agreed->steps;
    out->step_s = agreed->step_s;
    out->disagreement = disagreement;
    out->noise_scale = rest > 0.0 ? disagreement * ranks / rest : (double)INFINITY;
    out->change = agreed->change;
    out->wait_s = agreed->slowest_s - agreed->step_s;
    out->link_ratio = cost->best_s > 0.0 ? cost->now_s / cost->best_s : 1.0;
}

/* What is measured until the next decision: the average that this one asks for, or those of a rung
 * that makes one every step; nothing where both are in it. */
static int32_t measured_next(int32_t from_rung, int32_t rung, int32_t scope)
{
    if (scope == GRADSYNC_HOOK_NONE || (gs_hook_is_local(from_rung) && !gs_hook_is_local(rung))) {
        return GS_HOOK_COSTS;
    }
    return scope == GRADSYNC_HOOK_NODE ? GS_HOOK_COST_NODE : gs_hook_cost_of_rung(from_rung);
}

/* The next decision hears of this one: what it cost, and how far apart it found ranks. */
static void remember(gradsync_hook *hook, int32_t from_rung, int32_t scope)
{
    gs_hook_agreed *agreed = &hook->agreed;
    gs_hook_local *local = &hook->local;
    bool stays_local = gs_hook_is_local(from_rung) && gs_hook_is_local(agreed->rung);
    double averaged = stays_local && scope == GRADSYNC_HOOK_ALL ? (double)agreed->since : 0.0;
    local->was_slowest = local->told_step_s > 0.0 && agreed->last_slowest_s > 0.0 &&
                         local->told_step_s >= agreed->last_slowest_s;
    local->averaged_drift_sq = local->drift_sq;
    local->averaged_steps = averaged;
    agreed->has_rank_spread = averaged > 0.0 || !gs_hook_is_local(agreed->rung);
    agreed->averaged_steps = averaged > 0.0 ? averaged : 1.0;
    agreed->measured = measured_next(from_rung, agreed->rung, scope);
    agreed->looked = agreed->steps;
    if (scope == GRADSYNC_HOOK_ALL || scope == GRADSYNC_HOOK_SUBSET) {
        agreed->since = agreed->node_since = 0;
    } else if (scope == GRADSYNC_HOOK_NODE) {
        agreed->node_since = 0;
    }
}

void gradsync_hook_decide(gradsync_hook *hook, const gradsync_hook_values *agreed,
                          gradsync_hook_decision *out)
{
    int32_t from_rung = hook->agreed.rung;
    gs_hook_seen seen;
    *out = (gradsync_hook_decision){.from_rung = from_rung};
    int32_t why = gs_hook_read(hook, agreed, &seen);
    if (why != GRADSYNC_HOOK_REASONS) {
        hook->agreed.last_slowest_s = 0.0;
        out->scope = fall_back(hook, why, out);
    } else {
        hook->agreed.last_slowest_s = seen.slowest_s;
        double factor = learn(&hook->agreed, &seen);
        out->scope = weigh(hook, &seen, factor, out);
    }
    show(hook, out);
    remember(hook, from_rung, out->scope);
}
