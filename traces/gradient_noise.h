/* The gradient noise scale: how many samples a batch needs until the noise of its gradient is as
 * long as the gradient itself. Below it, twice the batch is worth nearly twice the steps; far above
 * it, more samples a step are wasted.
 *
 * From gradients of two batch sizes at the same weights: with g of B samples the mean of |g|^2 is
 * G2 + S / B, where G2 is the squared length of the true gradient and S the trace of the covariance
 * of one sample's. Ranks give the small batches, their mean the big one. S and G2 are averaged
 * apart and then divided: the mean of their ratios is not the ratio, and has no finite mean.
 * Source: McCandlish, Kaplan, Amodei et al., arXiv 1812.06162, appendix A.1. */
#ifndef GS_TRACES_GRADIENT_NOISE_H
#define GS_TRACES_GRADIENT_NOISE_H

#include <stdint.h>

/* {0} is an empty one. */
typedef struct gs_gradient_noise {
    int64_t looks;
    double signal, noise;               /* sums of the estimates of G2 and S */
    double recent_signal, recent_noise; /* averages in which each look counts 0.9 of the next */
} gs_gradient_noise;

/* Gradients of one step at the same weights, of ranks >= 2 with samples samples in all.
 * rank_square: mean over ranks of |gradient|^2, each counting by its samples; mean_square: of the
 * mean over all samples. */
void gs_gradient_noise_add(gs_gradient_noise *noise, uint32_t ranks, double samples,
                           double rank_square, double mean_square);

/* S / G2 in samples over all looks, and over the recent ones; NAN: none yet, or so much noise that
 * the gradient's own length was not seen. */
double gs_gradient_noise_scale(const gs_gradient_noise *noise);
double gs_gradient_noise_recent(const gs_gradient_noise *noise);

#endif
