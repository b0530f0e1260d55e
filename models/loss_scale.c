#include "models/loss_scale.h"

#include <math.h>

double gs_loss_scale(const float *state)
{
    return ldexp(GS_LOSS_SCALE_START, (int)state[0]);
}

void gs_loss_scale_update(float *state, bool is_finite)
{
    if (!is_finite) {
        state[0] -= 1.0F;
        state[1] = 0.0F;
        return;
    }
    state[1] += 1.0F;
    if (state[1] >= (float)GS_LOSS_SCALE_INTERVAL) {
        state[0] += 1.0F;
        state[1] = 0.0F;
    }
}
