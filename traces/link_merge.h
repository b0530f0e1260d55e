/* Links of many pairs as one class and its exceptions: how fast each end is, and which ends are
 * alike. Pure functions. */
#ifndef GS_TRACES_LINK_MERGE_H
#define GS_TRACES_LINK_MERGE_H

#include "traces/robust.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_pair_rate {
    uint32_t from, to; /* members */
    gs_estimate bps;
} gs_pair_rate;

/* Rates that differ by less are alike, and so are those whose intervals overlap: what is left is
 * how evenly a network shares, and noise. */
#define GS_ALIKE_RATIO 0.05
bool gs_rates_are_alike(gs_estimate a, gs_estimate b);

/* The rate of each member's own link: a pair is as fast as the slower of its two ends, so an end is
 * as fast as its fastest pair, in the slower of both directions. out_bps [members]; all 0: in no
 * pair. */
void gs_end_rates(const gs_pair_rate *pairs, uint32_t count, uint32_t members,
                  gs_estimate *out_bps);

/* The usual rate (of the member in the middle) and each member's as a multiple of it: exactly 1
 * where both are alike, and equal to that of a member before it where they are alike.
 * rates_bps [members], 0: 1 is assumed. Returns the usual rate; 0: no member has one. */
double gs_end_scales(const gs_estimate *rates_bps, uint32_t members, double *out_scales);

#endif
