#include "tools/sweep/halving.h"

#include <stdlib.h>

uint32_t gs_halving_rungs(uint32_t points, uint32_t seeds, uint32_t out_seeds[GS_RUNGS_MAX])
{
    uint32_t rungs = 1;
    for (uint32_t left = points; left > 1 && rungs < GS_RUNGS_MAX && seeds >> rungs > 0;
         left -= left / 2) {
        rungs++;
    }
    for (uint32_t i = 0; i < rungs; i++) {
        uint32_t share = UINT32_C(1) << (rungs - 1 - i);
        out_seeds[i] = seeds / share + (seeds % share > 0 ? 1 : 0);
    }
    return rungs;
}

static int by_score(const void *left, const void *right)
{
    const gs_halved *a = left;
    const gs_halved *b = right;
    if (a->missing != b->missing) {
        return a->missing < b->missing ? -1 : 1;
    }
    if (a->score < b->score || a->score > b->score) {
        return a->score < b->score ? -1 : 1;
    }
    return (a->point > b->point) - (a->point < b->point);
}

uint32_t gs_halving_keep(gs_halved *points, uint32_t count)
{
    qsort(points, count, sizeof *points, by_score);
    return count - count / 2;
}
