#include "tools/recommend/rivals.h"

#include "tools/recommend/contest.h"

#include <math.h>
#include <string.h>

double gs_rival_samples(const gs_recommend *all, const gs_arm *arm, bool *out_assumed)
{
    const gs_arm *exact = gs_standings_exact(all);
    *out_assumed = arm->family == GS_FAMILY_TIMED;
    if (!all->learns) {
        return arm->family == GS_FAMILY_EXACT ? 1.0 : (double)INFINITY;
    }
    if (arm->rates[0].seeds > 0) {
        return gs_arm_is_sure(all, arm) ? gs_arm_samples(all, arm) : (double)INFINITY;
    }
    if (arm->state != GS_ARM_DOMINATED || exact == NULL) {
        return (double)INFINITY;
    }
    *out_assumed = arm->family != GS_FAMILY_EXACT;
    return gs_arm_samples(all, exact);
}

enum { OF_FAMILY = 2 }; /* each is simulated at every place */

typedef struct list {
    const gs_recommend *all;
    const gs_arm *arms[GS_STANDINGS_MAX];
    uint32_t count;
} list;

static bool has(const list *of, const gs_arm *arm)
{
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->arms[i] == arm) {
            return true;
        }
    }
    return false;
}

static bool may_win(const gs_recommend *all, const gs_arm *arm)
{
    bool assumed;
    bool is_there =
        arm->state == GS_ARM_IN || arm->state == GS_ARM_OUT || arm->state == GS_ARM_DOMINATED;
    return is_there && isfinite(gs_rival_samples(all, arm, &assumed));
}

static void add(list *to, const gs_arm *arm)
{
    if (to->count < GS_STANDINGS_MAX && !has(to, arm) && may_win(to->all, arm)) {
        to->arms[to->count++] = arm;
    }
}

/* Does another one of the family need no more samples, and send no more? Of two that are alike the
 * first in the list stays. Exact ones all need the same, and what they send says little. */
static bool is_behind(const gs_recommend *all, const gs_arm *arm)
{
    bool assumed;
    double samples = gs_rival_samples(all, arm, &assumed);
    for (uint32_t i = 0; i < all->arm_count && arm->family != GS_FAMILY_EXACT; i++) {
        const gs_arm *other = &all->arms[i];
        if (other == arm || other->family != arm->family || !may_win(all, other)) {
            continue;
        }
        double its = gs_rival_samples(all, other, &assumed);
        bool is_less = its < samples || other->wire_bytes < arm->wire_bytes || other < arm;
        if (its <= samples && other->wire_bytes <= arm->wire_bytes && is_less) {
            return true;
        }
    }
    return false;
}

/* Of those that are not in the list, the best by the objective; NULL: there is none. */
static const gs_arm *next_of(const list *of, gs_arm_family family)
{
    const gs_arm *best = NULL;
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < of->all->arm_count; i++) {
        const gs_arm *arm = &of->all->arms[i];
        bool assumed;
        if (arm->family != family || has(of, arm) || !may_win(of->all, arm) ||
            is_behind(of->all, arm)) {
            continue;
        }
        double own = gs_trial_of_samples(of->all, arm, gs_rival_samples(of->all, arm, &assumed));
        if (own < least) {
            best = arm;
            least = own;
        }
    }
    return best;
}

void gs_rivals_find(const gs_recommend *all, const gs_arm *choice, gs_rivals *out)
{
    static const double today[GS_STANDINGS_MAX];
    list who = {.all = all};
    add(&who, choice);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (gs_arm_is_plain(&all->arms[i])) {
            add(&who, &all->arms[i]);
        }
    }
    for (int family = 0; family < GS_FAMILY_COUNT; family++) {
        const gs_arm *next = next_of(&who, (gs_arm_family)family);
        for (int i = 0; i < OF_FAMILY && next != NULL; i++) {
            add(&who, next);
            next = next_of(&who, (gs_arm_family)family);
        }
    }
    gs_standings_make(all, who.arms, who.count, &out->standings);
    for (uint32_t winner = gs_standings_judge(&out->standings, today).winner; winner > 0;
         winner = gs_standings_judge(&out->standings, today).winner) {
        who.count--;
        memmove(&who.arms[winner], &who.arms[winner + 1],
                (who.count - winner) * sizeof(const gs_arm *));
        gs_standings_make(all, who.arms, who.count, &out->standings);
    }
    for (uint32_t i = 0; i < who.count; i++) {
        (void)gs_rival_samples(all, who.arms[i], &out->assumed[i]);
    }
}
