#include "traces/consensus.h"

#include "base/assert.h"

#include <math.h>

double gs_consensus_distance(const float *const *models, const double *weights, uint32_t ranks,
                             size_t count)
{
    GS_ASSERT(ranks > 0);
    double total = 0.0;
    double square = 0.0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        total += weights[rank];
    }
    for (size_t i = 0; i < count; i++) {
        /* From the first one on, so that equal models are 0 apart and not a rounding error. */
        double base = (double)models[0][i];
        double mean = 0.0;
        for (uint32_t rank = 1; rank < ranks; rank++) {
            mean += weights[rank] / total * ((double)models[rank][i] - base);
        }
        for (uint32_t rank = 0; rank < ranks; rank++) {
            double apart = (double)models[rank][i] - base - mean;
            square += weights[rank] / total * apart * apart;
        }
    }
    return isfinite(square) ? sqrt(square) : (double)NAN;
}
