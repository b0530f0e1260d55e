/* How many samples each rank takes so that all compute equally long: times are taken as affine in
 * the samples, t0 + c b, because a pass costs something however small it is.
 *
 * Pure arithmetic in one order: who holds the same times works out the same shares. */
#ifndef GS_STRATEGIES_SHARES_H
#define GS_STRATEGIES_SHARES_H

#include <stdint.h>

/* What is known of a rank. All 0 but samples, before its first time. */
typedef struct gs_share {
    int64_t samples; /* that it takes now, >= 0 */
    int64_t
        took_ns[2]; /* kept for the owner: times it has not handed over, by parity of the step */
    /* Weighted sums over the times so far, of 1, b, t, b b and b t, */
    double weight, samples_sum, time_sum, square_sum, product_sum;
    /* and the affine time by least squares: per_sample_ns > 0, fixed_ns >= 0. Where samples have
     * hardly varied, or noise would have it otherwise, the fixed part is 0, or nine tenths at most.
     */
    double fixed_ns, per_sample_ns;
    double next_ns; /* of gs_share_out */
} gs_share;

/* The rank took so long for its samples; older times count `keep` (0..1) as much as before. Without
 * samples nothing is learned. */
void gs_share_timed(gs_share *share, int64_t took_ns, double keep);

typedef struct gs_share_bounds {
    int64_t total;       /* count x least <= total <= count x most */
    int64_t least, most; /* of each rank */
} gs_share_bounds;

/* Sets samples of all ranks: their sum is total, and the longest time is the least that whole
 * samples allow. Ranks without a time keep what they have. Cost O(count log count). */
void gs_share_out(gs_share *shares, uint32_t count, const gs_share_bounds *bounds);

#endif
