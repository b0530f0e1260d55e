#include "tools/recommend/thumb.h"

#include "tools/explain_ranks.h"
#include "tools/recommend/contest.h"
#include "tools/recommend/rivals.h"

#include <math.h>
#include <string.h>

enum { FEW_RANKS = 8, SOME_RANKS = 32, MANY_RANKS = 64 };

/* What the rules call alike, fast and enough. */
#define ALIKE_CV    0.1
#define ALIKE_RATIO 1.1
#define FAST_BPS    100e9
#define ENOUGH      2.0 /* all-reduce takes at most so many times the time of computing */

static bool is_homogeneous(const gs_scenario *scenario)
{
    const gs_noise *noise = &scenario->noise;
    uint32_t rank;
    double factor = 1.0;
    bool differs = gs_variant_slowest(scenario, &rank, &factor) && factor > ALIKE_RATIO;
    bool varies = noise->compute.law != GS_LAW_NONE && noise->compute.cv > ALIKE_CV;
    return !differs && !varies && noise->straggler.kind == GS_STRAGGLER_NONE;
}

static const gs_arm *arm_of(const gs_recommend *all, const char *label)
{
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (strcmp(all->arms[i].label, label) == 0) {
            return &all->arms[i];
        }
    }
    return NULL;
}

/* Is plain all-reduce not much longer than what is computed meanwhile? */
static bool has_enough_bandwidth(const gs_recommend *all)
{
    const gs_arm *plain = arm_of(all, "allreduce");
    double compute = gs_variant_compute_ns(all->scenario, 0) / (double)all->scenario->ranks /
                     (double)all->scenario->workload.batch_per_rank;
    return plain != NULL && plain->sample_ns > 0.0 && plain->sample_ns <= ENOUGH * compute;
}

static void measure(const gs_recommend *all, const gs_arm *choice, gs_thumb *thumb)
{
    thumb->arm = thumb->says == NULL ? NULL : arm_of(all, thumb->says);
    thumb->regret = (double)NAN;
    if (thumb->arm == NULL || thumb->arm->scenario == NULL || thumb->arm->state == GS_ARM_FAILED) {
        return;
    }
    bool assumed;
    double ours = gs_arm_estimate(all, choice);
    double theirs =
        thumb->arm->rates[0].seeds > 0
            ? gs_arm_estimate(all, thumb->arm)
            : gs_trial_of_samples(all, thumb->arm, gs_rival_samples(all, thumb->arm, &assumed));
    thumb->is_least = thumb->arm->rates[0].seeds == 0 && thumb->arm->family == GS_FAMILY_LOSSY;
    thumb->regret = theirs / ours - 1.0;
}

void gs_thumbs_follow(const gs_recommend *all, const gs_arm *choice, gs_thumb out[GS_THUMBS])
{
    const gs_scenario *scenario = all->scenario;
    double rate = (double)gs_scenario_outer_link(scenario)->bandwidth_bps;
    out[0] = is_homogeneous(scenario)
                 ? (gs_thumb){.rule = "ranks are alike: synchronous", .says = "allreduce"}
             : has_enough_bandwidth(all)
                 ? (gs_thumb){.rule = "ranks differ, bandwidth is enough: hybrid", .says = "backup"}
                 : (gs_thumb){.rule = "ranks differ, bandwidth is short: asynchronous with "
                                      "compensation",
                              .says = "dc_asgd"};
    out[1] = scenario->ranks > MANY_RANKS
                 ? (gs_thumb){.rule = "more than 64 ranks: compress", .says = "allreduce+fp16"}
             : rate >= FAST_BPS && scenario->ranks >= FEW_RANKS && scenario->ranks <= SOME_RANKS
                 ? (gs_thumb){.rule = "8 to 32 ranks and 100 Gbit/s or more: synchronous",
                              .says = "allreduce"}
                 : (gs_thumb){.rule = "8 to 32 ranks and 100 Gbit/s: synchronous; more than 64: "
                                      "compress",
                              .says = NULL};
    for (int i = 0; i < GS_THUMBS; i++) {
        measure(all, choice, &out[i]);
    }
}
