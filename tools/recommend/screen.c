#include "tools/recommend/screen.h"

#include "tools/message.h"

#include <math.h>
#include <stdlib.h>

/* What is gained must be worth another strategy. */
#define WORTH_RATIO 0.995

/* --- measuring -------------------------------------------------------------------------------- */

static void take(gs_recommend *all, gs_arm *arm, const gs_outcome *outcomes, uint32_t seeds)
{
    double sum = 0.0;
    double bytes = 0.0;
    for (uint32_t i = 0; i < seeds; i++) {
        double rate = gs_trial_metric(&outcomes[i], "samples_per_s");
        if (!gs_trial_is_good(&outcomes[i]) || !(rate > 0.0)) {
            gs_arm_drop(arm, GS_ARM_FAILED, &all->arena, "does not run: %s",
                        outcomes[i].result.error.text);
            return;
        }
        sum += 1e9 / rate;
        bytes += gs_trial_metric(&outcomes[i], "wire_bytes_per_step");
    }
    arm->sample_ns = sum / (double)seeds;
    arm->wire_bytes = bytes / (double)seeds;
}

static bool measure(gs_recommend *all)
{
    uint32_t seeds = gs_scenario_is_random(all->scenario) ? 2 : 1;
    gs_arm **in = gs_need(calloc(all->arm_count, sizeof *in));
    const gs_scenario **variants = gs_need(calloc(all->arm_count, sizeof *variants));
    gs_outcome *outcomes = gs_need(calloc((size_t)all->arm_count * seeds, sizeof *outcomes));
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (all->arms[i].state == GS_ARM_IN) {
            variants[count] = gs_trial_timing(&all->arms[i], GS_SCREEN_STEPS, &all->arena);
            in[count++] = &all->arms[i];
        }
    }
    bool done = gs_trial_run(all, variants, count, GS_TUNING_SEEDS, seeds, outcomes);
    for (uint32_t i = 0; i < count; i++) {
        if (done) {
            take(all, in[i], &outcomes[(size_t)i * seeds], seeds);
        }
        for (uint32_t seed = 0; seed < seeds; seed++) {
            gs_outcome_fini(&outcomes[(size_t)i * seeds + seed]);
        }
    }
    free(in);
    free(variants);
    free(outcomes);
    return done;
}

/* --- judging ---------------------------------------------------------------------------------- */

/* What a sample of one costs, over that of another. */
static double ratio_of(const gs_recommend *all, const gs_arm *arm, const gs_arm *other)
{
    return gs_trial_of_samples(all, arm, 1.0) / gs_trial_of_samples(all, other, 1.0);
}

/* The exact arm with the least time per sample that runs, dominated or not; NULL: there is none. */
static const gs_arm *fastest_exact(const gs_recommend *all)
{
    const gs_arm *best = NULL;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *arm = &all->arms[i];
        bool runs = arm->state != GS_ARM_REFUSED && arm->state != GS_ARM_FAILED;
        if (!runs || arm->family != GS_FAMILY_EXACT) {
            continue;
        }
        /* Plain all-reduce is the first: another one must be worth it. */
        if (best == NULL ||
            ratio_of(all, arm, best) < (gs_arm_is_plain(best) ? WORTH_RATIO : 1.0)) {
            best = arm;
        }
    }
    return best;
}

static void judge(gs_recommend *all, gs_arm *arm, const gs_arm *best)
{
    double ratio = ratio_of(all, arm, best);
    const char *what = gs_objective_words[all->objective];
    if (arm == best || arm->state != GS_ARM_IN) {
        return;
    }
    if (arm->family == GS_FAMILY_EXACT && !gs_arm_is_plain(arm)) {
        gs_arm_drop(arm, GS_ARM_DOMINATED, &all->arena,
                    "the same updates as %s at %.2fx its %s per sample", best->label, ratio, what);
    } else if (arm->family == GS_FAMILY_LOSSY && ratio >= WORTH_RATIO) {
        gs_arm_drop(arm, GS_ARM_DOMINATED, &all->arena,
                    "cannot need fewer samples than %s, and takes %.2fx its %s for each",
                    best->label, ratio, what);
    }
}

bool gs_screen(gs_recommend *all)
{
    if (!measure(all)) {
        return false;
    }
    const gs_arm *best = fastest_exact(all);
    for (uint32_t i = 0; best != NULL && i < all->arm_count; i++) {
        judge(all, &all->arms[i], best);
    }
    return true;
}
