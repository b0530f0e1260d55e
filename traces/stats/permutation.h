/* Is the mean of paired differences other than 0? The sign-flip permutation test.
 *
 * Where a pair's two sides are exchangeable, each difference is as likely as its negative. p is the
 * share of all 2^n patterns of signs whose mean is at least as far from 0: exact for up to 20
 * differences, whatever their law; from 100,000 drawn patterns above, counting the one that was
 * seen (Phipson and Smyth 2010). Source: Fisher, The Design of Experiments (1935), section 21. */
#ifndef GS_TRACES_STATS_PERMUTATION_H
#define GS_TRACES_STATS_PERMUTATION_H

#include <stdint.h>

enum { GS_SIGN_FLIP_EXACT_MAX = 20, GS_SIGN_FLIP_ROUNDS = 100000 };

/* Two-sided p of differences [count], all finite; 1 of none. Never below gs_sign_flip_least. */
double gs_sign_flip(const double *differences, uint32_t count);

/* The least p that count differences can have: 2 / 2^count, or 1 / (rounds + 1). */
double gs_sign_flip_least(uint32_t count);
/* How many differences it takes for a least p of at most `level` > 0. */
uint32_t gs_sign_flip_needs(double level);

#endif
