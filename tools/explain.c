#include "tools/explain.h"

#include "base/assert.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/run_pool.h"

#include <math.h>
#include <stdlib.h>

enum {
    EDGE_STEPS = 2, /* the first and the last, which are not measured */
    PROBE_STEPS = 1 + EDGE_STEPS,
    VARIANTS_MAX = 3 + 2 * GS_CAUSES_MAX + GS_CHANGES_MAX + GS_SCALES_MAX,
    SCALE_TIMES = 4 /* today's ranks */
};

/* So many events take some ten seconds of one processor. A larger job gets fewer steps; a row of
 * the scaling table that would need more by itself in one run is left out. */
static const double EVENTS_MAX = 50e6;
static const double ROW_EVENTS_MAX = 10e6;
static const double TIE = 0.005;
static const double LINK_LEAST = 1e-4;
static const double LINK_GREATEST = 1e4;

/* Where the measures of a variant go once it has been simulated. */
typedef struct plan {
    const gs_scenario *variants[VARIANTS_MAX];
    uint32_t count;
    uint32_t added[GS_CAUSES_MAX], removed[GS_CAUSES_MAX];
    uint32_t changes[GS_CHANGES_MAX], scales[GS_SCALES_MAX];
    gs_measure measures[VARIANTS_MAX];
} plan;

enum { ACTUAL, IDEAL, COMMUNICATION };

static uint32_t put(plan *all, const gs_scenario *variant)
{
    GS_ASSERT(all->count < VARIANTS_MAX);
    all->variants[all->count] = variant;
    return all->count++;
}

/* --- what is simulated ------------------------------------------------------------------------ */

static void plan_causes(plan *all, gs_explain *out)
{
    unsigned every = (1U << gs_cause_count()) - 1U;
    put(all, out->base);
    put(all, gs_variant_without(out->base, every, &out->arena));
    put(all, gs_variant_communication(out->base, &out->arena));
    for (uint32_t i = 0; i < gs_cause_count(); i++) {
        gs_scenario *scratch = gs_variant_copy(out->base, &out->arena);
        if (gs_cause_at(i)->remove(scratch, &out->arena)) {
            unsigned bit = 1U << i;
            all->removed[out->cause_count] = put(all, scratch);
            all->added[out->cause_count] =
                put(all, gs_variant_without(out->base, every & ~bit, &out->arena));
            out->causes[out->cause_count++].cause = gs_cause_at(i);
        }
    }
}

static void plan_changes(plan *all, gs_explain *out)
{
    gs_change changes[GS_CHANGES_MAX];
    out->change_count = gs_changes_make(out->base, &out->arena, changes);
    for (uint32_t i = 0; i < out->change_count; i++) {
        out->changes[i].change = changes[i];
        all->changes[i] = put(all, changes[i].scenario);
    }
}

static void plan_scale(plan *all, gs_explain *out, uint32_t ranks)
{
    gs_scenario *copy = gs_variant_ranks(out->base, ranks, &out->arena);
    gs_explain_scale *row = &out->scales[out->scale_count];
    *row = (gs_explain_scale){.ranks = ranks, .nodes = copy->nodes};
    row->extrapolated = ranks > out->base->ranks;
    all->scales[out->scale_count++] = put(all, copy);
}

/* Powers of two and today's count. A ring's messages grow with the square of its ranks. */
static void plan_scales(plan *all, gs_explain *out, double events_per_step)
{
    uint32_t today = out->base->ranks;
    if (gs_variant_has_curve(out->base) || gs_variant_is_placed(out->base)) {
        return;
    }
    bool had_today = false;
    for (uint64_t ranks = 1; ranks <= (uint64_t)SCALE_TIMES * today; ranks *= 2) {
        double growth = (double)ranks / today;
        double events = events_per_step * growth * growth * (GS_EXPLAIN_STEPS_MIN + EDGE_STEPS);
        if (!had_today && ranks > today) {
            plan_scale(all, out, today);
            had_today = true;
        }
        had_today = had_today || ranks == today;
        if (ranks > today && (events > ROW_EVENTS_MAX || ranks > GS_ENTITIES_MAX ||
                              out->scale_count == GS_SCALES_MAX)) {
            out->scale_left_out = (uint32_t)ranks;
            break;
        }
        if (out->scale_count < GS_SCALES_MAX - 1) {
            plan_scale(all, out, (uint32_t)ranks);
        }
    }
}

/* --- simulating ------------------------------------------------------------------------------- */

static gs_measure measure_one(gs_explain *out, const gs_scenario *scenario)
{
    gs_run_plan one = {.scenario = scenario};
    gs_outcome outcome;
    gs_measure measure;
    gs_run_one(&one, 0, scenario->seed, &outcome);
    gs_measure_make(&outcome, 1, &out->arena, &measure);
    gs_outcome_fini(&outcome);
    out->runs++;
    return measure;
}

/* Larger clusters get fewer steps. */
static void choose_steps(plan *all, gs_explain *out, double events_per_step)
{
    double per_step = 0.0;
    for (uint32_t i = 0; i < all->count; i++) {
        double growth = (double)all->variants[i]->ranks / out->base->ranks;
        per_step += events_per_step * growth * growth * out->seeds;
    }
    double steps = floor(EVENTS_MAX / per_step);
    out->steps = steps >= GS_EXPLAIN_STEPS      ? GS_EXPLAIN_STEPS
                 : steps < GS_EXPLAIN_STEPS_MIN ? GS_EXPLAIN_STEPS_MIN
                                                : (int64_t)steps;
}

static void run(plan *all, const gs_explain_config *config, gs_explain *out)
{
    size_t count = (size_t)all->count * out->seeds;
    gs_outcome *outcomes = gs_need(calloc(count, sizeof *outcomes));
    gs_pool_config pool = {
        .scenario = out->base,
        .variants = all->variants,
        .variant_count = all->count,
        .seeds = out->seeds,
        .jobs = config->jobs,
        .threads = config->threads,
        .progress = config->progress,
    };
    config->progress->runs = (uint32_t)count;
    gs_pool_run(&pool, outcomes);
    for (uint32_t i = 0; i < all->count; i++) {
        gs_measure_make(&outcomes[(size_t)i * out->seeds], out->seeds, &out->arena,
                        &all->measures[i]);
    }
    for (size_t i = 0; i < count; i++) {
        gs_outcome_fini(&outcomes[i]);
    }
    free(outcomes);
    out->runs += count;
}

/* --- what comes of it ------------------------------------------------------------------------- */

static void take_causes(const plan *all, gs_explain *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->cause_count; i++) {
        const gs_measure *added = &all->measures[all->added[i]];
        const gs_measure *removed = &all->measures[all->removed[i]];
        if (added->error == NULL && removed->error == NULL) {
            out->causes[kept++] = (gs_explain_cause){
                .cause = out->causes[i].cause,
                .added_ns = added->mean_ns - out->ideal.mean_ns,
                .removed_ns = out->actual.mean_ns - removed->mean_ns,
            };
        }
    }
    out->cause_count = kept;
}

double gs_explain_together_ns(const gs_explain *explain, bool added)
{
    double left = explain->actual.mean_ns - explain->ideal.mean_ns;
    for (uint32_t i = 0; i < explain->cause_count; i++) {
        left -= added ? explain->causes[i].added_ns : explain->causes[i].removed_ns;
    }
    return left;
}

static int by_gain(const void *left, const void *right)
{
    const gs_explain_change *a = left;
    const gs_explain_change *b = right;
    return (b->gain.value > a->gain.value) - (b->gain.value < a->gain.value);
}

static void take_changes(const plan *all, gs_explain *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->change_count; i++) {
        const gs_measure *measure = &all->measures[all->changes[i]];
        if (measure->error != NULL) {
            continue;
        }
        gs_explain_change *change = &out->changes[kept++];
        change->change = out->changes[i].change;
        change->gain = gs_ratio_of(out->actual.sample_ns, measure->sample_ns, out->seeds);
        change->same_ns = out->actual.mean_ns / change->gain.value;
        change->tie = gs_ratio_is_tie(&change->gain) || fabs(change->gain.value - 1.0) < TIE;
    }
    out->change_count = kept;
    qsort(out->changes, kept, sizeof *out->changes, by_gain);
}

/* What the row has more than the one before, per rank and per dollar. */
static void take_margin(gs_explain_scale *row, const gs_explain_scale *before, double one_rank,
                        double more_usd_per_hour)
{
    double more = row->samples_per_s - before->samples_per_s;
    row->added_rank = more / (row->ranks - before->ranks) / one_rank;
    if (more_usd_per_hour > 0.0) {
        row->added_usd = more > 0.0 ? more_usd_per_hour / 3600.0 / more * 1e6 : (double)INFINITY;
    }
}

static void take_scales(const plan *all, gs_explain *out)
{
    uint32_t kept = 0;
    double before_usd = 0.0;
    for (uint32_t i = 0; i < out->scale_count; i++) {
        const gs_measure *measure = &all->measures[all->scales[i]];
        if (measure->error != NULL) {
            continue;
        }
        gs_explain_scale row = out->scales[i];
        double usd = gs_variant_usd_per_hour(all->variants[all->scales[i]]);
        double sum_ns = 0.0;
        for (uint32_t seed = 0; seed < out->seeds; seed++) {
            sum_ns += measure->sample_ns[seed];
        }
        double rate = 1e9 * out->seeds / sum_ns; /* all samples over all time, as step says */
        row.step = gs_spread_of(measure->step_ns, out->seeds);
        row.samples_per_s = rate;
        row.efficiency = row.added_rank = row.added_usd = (double)NAN;
        const gs_explain_scale *first = kept == 0 ? &row : &out->scales[0];
        if (first->ranks == 1) {
            row.efficiency = rate / (row.ranks * first->samples_per_s);
        }
        if (kept > 0 && first->ranks == 1) {
            take_margin(&row, &out->scales[kept - 1], first->samples_per_s, usd - before_usd);
        }
        before_usd = usd;
        out->scales[kept++] = row;
    }
    out->scale_count = kept;
}

/* --- break-even ------------------------------------------------------------------------------- */

typedef struct even {
    gs_explain *explain;
    double unit_rate; /* samples per ns */
} even;

static double rate_of(const gs_measure *measure)
{
    return measure->error != NULL ? 0.0 : 1.0 / measure->sample_ns[0];
}

static double gain_at(void *context, double factor)
{
    even *pair = context;
    gs_explain *out = pair->explain;
    gs_measure measure = measure_one(out, gs_variant_link(out->base, factor, &out->arena));
    return rate_of(&measure) - pair->unit_rate;
}

static void find_even(gs_explain *out)
{
    out->unit_ranks = gs_variant_unit(out->base);
    if (out->unit_ranks >= out->base->ranks) {
        return;
    }
    gs_measure unit = measure_one(out, gs_variant_ranks(out->base, out->unit_ranks, &out->arena));
    even pair = {.explain = out, .unit_rate = rate_of(&unit)};
    if (unit.error == NULL) {
        out->has_even = true;
        out->even = gs_even_find(gain_at, &pair, LINK_LEAST, LINK_GREATEST, &out->even_factor);
        /* Below its least size a curve has the least time at any rate. */
        if (out->even == GS_EVEN_ALWAYS && gs_variant_has_curve(out->base) &&
            out->actual.outside_curve) {
            out->even = GS_EVEN_UNKNOWN;
        }
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void set_steps(plan *all, int64_t steps, gs_arena *arena)
{
    for (uint32_t i = 0; i < all->count; i++) {
        gs_scenario *copy = gs_variant_copy(all->variants[i], arena);
        gs_variant_set_steps(copy, steps);
        all->variants[i] = copy;
    }
}

void gs_explain_make(const gs_explain_config *config, gs_explain *out)
{
    *out = (gs_explain){.seeds = config->seeds};
    gs_arena_init(&out->arena);
    out->base = gs_variant_base(config->scenario, config->strategy, PROBE_STEPS, &out->arena);
    gs_measure probe = measure_one(out, out->base);
    out->interrupted = gs_interrupt_signal() != 0;
    out->error = probe.error;
    if (out->error != NULL || out->interrupted) {
        return;
    }
    plan *all = gs_need(calloc(1, sizeof *all));
    plan_causes(all, out);
    plan_changes(all, out);
    plan_scales(all, out, probe.events_per_step);
    choose_steps(all, out, probe.events_per_step);
    set_steps(all, out->steps + EDGE_STEPS, &out->arena);
    gs_variant_set_steps(out->base, out->steps + EDGE_STEPS);
    run(all, config, out);
    out->actual = all->measures[ACTUAL];
    out->ideal = all->measures[IDEAL];
    out->communication = all->measures[COMMUNICATION];
    out->error = out->actual.error != NULL ? out->actual.error : out->ideal.error;
    out->interrupted = gs_interrupt_signal() != 0;
    if (out->error == NULL && !out->interrupted) {
        take_causes(all, out);
        take_changes(all, out);
        take_scales(all, out);
        find_even(out);
        out->interrupted = gs_interrupt_signal() != 0;
    }
    free(all);
}

void gs_explain_free(gs_explain *explain)
{
    gs_arena_fini(&explain->arena);
    *explain = (gs_explain){0};
}
