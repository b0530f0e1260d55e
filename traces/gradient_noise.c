#include "traces/gradient_noise.h"

#include "base/assert.h"

#include <math.h>

static const double kept_share = 0.9;

void gs_gradient_noise_add(gs_gradient_noise *noise, uint32_t ranks, double samples,
                           double rank_square, double mean_square)
{
    GS_ASSERT(ranks >= 2);
    GS_ASSERT(samples > 0.0);
    /* The mean over ranks by samples of S / B_r is ranks S / B, whatever each B_r is. */
    double s = (rank_square - mean_square) * samples / (double)(ranks - 1);
    double g2 = mean_square - s / samples;
    noise->looks++;
    noise->noise += s;
    noise->signal += g2;
    noise->recent_noise = kept_share * noise->recent_noise + (1.0 - kept_share) * s;
    noise->recent_signal = kept_share * noise->recent_signal + (1.0 - kept_share) * g2;
}

static double ratio(double noise, double signal)
{
    return signal > 0.0 && noise >= 0.0 ? noise / signal : (double)NAN;
}

double gs_gradient_noise_scale(const gs_gradient_noise *noise)
{
    return ratio(noise->noise, noise->signal);
}

double gs_gradient_noise_recent(const gs_gradient_noise *noise)
{
    return ratio(noise->recent_noise, noise->recent_signal);
}
