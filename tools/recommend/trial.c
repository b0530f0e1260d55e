#include "tools/recommend/trial.h"

#include "base/assert.h"
#include "tools/explain_variant.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/recommend/keep.h"
#include "tools/run_pool.h"
#include "tools/scenario_load.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { CUT_RUNS = 4 }; /* of each process between two looks at the clock */

const char *const gs_objective_names[] = {"time", "cost", "energy", "samples", NULL};
const char *const gs_objective_words[] = {"time", "cost", "energy", "count"};

gs_time_ns gs_wall_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (gs_time_ns)now.tv_sec * GS_NS_PER_S + now.tv_nsec;
}

void gs_trial_begin_stage(gs_recommend *all, double from, double to, uint64_t runs)
{
    all->stage_from = from;
    all->stage_to = to;
    all->stage_runs = runs;
    all->stage_done = 0;
}

/* --- runs ------------------------------------------------------------------------------------- */

static void run_part(gs_recommend *all, const gs_scenario *const *variants, uint32_t count,
                     const gs_scenario *seeded, uint32_t seeds, gs_outcome *outcomes)
{
    double width = all->stage_to - all->stage_from;
    double most = fmax(1.0, (double)all->stage_runs);
    int told = all->progress.told;
    gs_progress_start(&all->progress, all->cli, (uint32_t)all->runs + count * seeds);
    all->progress.told = all->runs == 0 ? -1 : told;
    all->progress.before = (uint32_t)all->runs;
    all->progress.from = all->stage_from + width * fmin(1.0, (double)all->stage_done / most);
    all->stage_done += (uint64_t)count * seeds;
    all->progress.to = all->stage_from + width * fmin(1.0, (double)all->stage_done / most);
    gs_pool_config pool = {
        .scenario = seeded,
        .variants = variants,
        .variant_count = count,
        .seeds = seeds,
        .jobs = all->own_jobs,
        .threads = all->threads,
        .ended = all->keeps ? gs_keep_ended : NULL,
        .context = all->keep,
        .progress = &all->progress,
        .troupe = all->troupe,
    };
    gs_pool_run(&pool, outcomes);
    for (uint32_t i = 0; i < count * seeds; i++) {
        all->runs += outcomes[i].started ? 1 : 0;
        all->wall_ns += (double)outcomes[i].wall_ns;
    }
    all->interrupted = gs_interrupt_signal() != 0;
}

static bool is_time_over(gs_recommend *all, bool is_last, double more_ns)
{
    double budget = (double)all->cli->flags.budget * (is_last ? 1.0 : 1.0 - GS_BUDGET_KEPT);
    if (!(budget > 0.0)) {
        return false;
    }
    return gs_troupe_agree(all->troupe, (double)(gs_wall_ns() - all->began_ns) + more_ns > budget);
}

bool gs_trial_run(gs_recommend *all, const gs_scenario *const *variants, uint32_t count,
                  uint64_t moved, uint32_t seeds, gs_outcome *outcomes)
{
    gs_scenario seeded = *all->scenario;
    seeded.seed += moved;
    uint32_t part = count;
    if (all->may_cut && all->cli->flags.budget > 0) {
        uint32_t few = (uint32_t)all->jobs * CUT_RUNS / seeds;
        part = few < 1 ? 1 : few;
    }
    memset(outcomes, 0, (size_t)count * seeds * sizeof *outcomes);
    for (uint32_t at = 0; at < count && gs_interrupt_signal() == 0; at += part) {
        if (all->may_cut && is_time_over(all, false, 0.0)) {
            break;
        }
        uint32_t own = part < count - at ? part : count - at;
        run_part(all, &variants[at], own, &seeded, seeds, &outcomes[(size_t)at * seeds]);
    }
    return gs_interrupt_signal() == 0;
}

bool gs_trial_affords(gs_recommend *all, uint64_t runs, bool is_last, const char *what)
{
    double each = all->runs == 0 ? 0.0 : all->wall_ns / (double)all->runs;
    bool is_over = is_time_over(all, is_last, each * (double)runs / (double)all->jobs);
    if (is_over && all->left_out == NULL) {
        all->left_out = what;
    }
    return !is_over;
}

const gs_scenario *gs_trial_learning(gs_recommend *all, const gs_arm *arm, double factor)
{
    gs_scenario *copy = gs_variant_copy(arm->scenario, &all->arena);
    copy->workload.task.optimizer.rate *= factor;
    copy->stops_at_target = true;
    return copy;
}

gs_scenario *gs_trial_timing(const gs_arm *arm, int64_t steps, gs_arena *arena)
{
    gs_scenario *copy = gs_variant_copy(arm->scenario, arena);
    int64_t budget = copy->workload.budget_steps;
    copy->workload.real_gradients = false;
    copy->workload.target_value = 0.0;
    copy->workload.budget_steps = budget < steps ? budget : steps;
    copy->stops_at_target = false;
    return copy;
}

/* --- what they say ---------------------------------------------------------------------------- */

bool gs_trial_is_good(const gs_outcome *outcome)
{
    return outcome->started &&
           (outcome->status == GS_RUN_OK || outcome->status == GS_RUN_RECOVERED);
}

double gs_trial_metric(const gs_outcome *outcome, const char *name)
{
    uint32_t index = gs_metric_find(name);
    GS_ASSERT(index < gs_metric_count());
    return outcome->started ? outcome->values[index] : (double)NAN;
}

static bool has_reached(const gs_outcome *outcome)
{
    return gs_trial_is_good(outcome) && !outcome->target_censored &&
           isfinite(gs_trial_metric(outcome, "time_to_target_ns"));
}

double gs_trial_samples(const gs_outcome *outcome)
{
    return has_reached(outcome) ? gs_trial_metric(outcome, "samples_to_target") : (double)INFINITY;
}

double gs_trial_value(const gs_recommend *all, const gs_arm *arm, const gs_outcome *outcome)
{
    if (!all->learns) {
        double rate = gs_trial_metric(outcome, "samples_per_s");
        return gs_trial_is_good(outcome) && rate > 0.0 ? arm->price * 1e9 / rate : (double)INFINITY;
    }
    if (!has_reached(outcome)) {
        return (double)INFINITY;
    }
    return all->objective == GS_OBJECTIVE_SAMPLES
               ? gs_trial_samples(outcome)
               : arm->price * gs_trial_metric(outcome, "time_to_target_ns");
}

void gs_trial_check_fidelity(gs_recommend *all, gs_arm *arm, double fidelity)
{
    if (isnan(all->min_fidelity)) {
        return;
    }
    if (isnan(fidelity)) {
        gs_arm_drop(
            arm, GS_ARM_LIMIT, &all->arena,
            "has no fidelity to hold against --min-fidelity %g: its ranks step on their own",
            all->min_fidelity);
    } else if (fidelity < all->min_fidelity) {
        gs_arm_drop(arm, GS_ARM_LIMIT, &all->arena,
                    "fidelity %.3f (cosine of its updates to the exact ones) is below %g", fidelity,
                    all->min_fidelity);
    }
}

double gs_trial_of_samples(const gs_recommend *all, const gs_arm *arm, double samples)
{
    return all->objective == GS_OBJECTIVE_SAMPLES ? samples : arm->price * arm->sample_ns * samples;
}

double gs_trial_score(const gs_recommend *all, const gs_arm *arm, const double *values,
                      uint32_t count)
{
    double budget = (double)gs_scenario_budget_samples(arm->scenario);
    double missed = log(2.0 * gs_trial_of_samples(all, arm, budget));
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += isfinite(values[i]) ? log(values[i]) : missed;
    }
    return sum / (double)count;
}
