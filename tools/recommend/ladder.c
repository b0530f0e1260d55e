#include "tools/recommend/ladder.h"

#include "tools/recommend/contest.h"

#include <math.h>
#include <string.h>

const char *const gs_rung_names[GS_RUNGS] = {"dense", "compressed", "local", "hierarchical local"};

static gs_rung rung_of(const gs_arm *arm)
{
    static const char *const rare[] = {"hier_avg", "diloco", "streaming_diloco"};
    const gs_strategy_choice *choice = &arm->scenario->strategies[0];
    if (arm->family == GS_FAMILY_EXACT) {
        return GS_RUNG_DENSE;
    }
    if (arm->family == GS_FAMILY_LOSSY) {
        return choice->coding.codec == NULL ? GS_RUNGS : GS_RUNG_COMPRESSED;
    }
    for (size_t i = 0; i < sizeof rare / sizeof *rare; i++) {
        if (strcmp(choice->strategy->name, rare[i]) == 0) {
            return GS_RUNG_HIERARCHICAL;
        }
    }
    return arm->family == GS_FAMILY_LOCAL ? GS_RUNG_LOCAL : GS_RUNGS;
}

gs_ladder gs_ladder_of(const gs_recommend *all)
{
    gs_ladder ladder = {0};
    double bytes = (double)INFINITY;
    for (int rung = 0; rung < GS_RUNGS; rung++) {
        double least = (double)INFINITY;
        for (uint32_t i = 0; i < all->arm_count; i++) {
            const gs_arm *arm = &all->arms[i];
            bool has_learned = arm->state == GS_ARM_IN || arm->state == GS_ARM_OUT;
            if (!has_learned || !gs_arm_is_sure(all, arm) || rung_of(arm) != (gs_rung)rung ||
                arm->wire_bytes >= bytes) {
                continue;
            }
            double own = gs_arm_estimate(all, arm);
            if (own < least) {
                ladder.arms[rung] = arm;
                least = own;
            }
        }
        if (ladder.arms[rung] != NULL) {
            bytes = ladder.arms[rung]->wire_bytes;
        }
    }
    return ladder;
}
