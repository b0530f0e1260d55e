/* Links of many pairs as one class and its exceptions: how fast each end is, and which ends are
 * alike. Pure functions. */
#ifndef GS_TRACES_LINK_MERGE_H
#define GS_TRACES_LINK_MERGE_H

#include <stdint.h>

typedef struct gs_pair_rate {
    uint32_t from, to; /* members */
    double rate_bps;
} gs_pair_rate;

/* Ends that differ by less are alike: intervals of a rate are narrower, and what is left is how
 * evenly a network shares. */
#define GS_ALIKE_RATIO 0.05

/* The rate of each member's own link: a pair is as fast as the slower of its two ends, so an end is
 * as fast as its fastest pair, in the slower of both directions. out_bps [members]; 0: in no pair.
 */
void gs_end_rates(const gs_pair_rate *pairs, uint32_t count, uint32_t members, double *out_bps);

/* The usual rate (the median) and each member's as a multiple of it: exactly 1 where it is alike,
 * and equal among those that are alike. rates_bps [members], 0: 1 is assumed. scratch [members].
 * Returns the usual rate; 0: no member has one. */
double gs_end_scales(const double *rates_bps, uint32_t members, double *out_scales,
                     double *scratch);

#endif
