/* Loss scaling: gradients in half precision are multiplied by a scale before they are rounded, so
 * that small ones do not become 0, and divided by it when they are applied.
 *
 * The dynamic scale follows PyTorch's GradScaler: it starts at 65536, doubles after 2000 good
 * updates in a row, and where a gradient is infinite or not a number it halves and the update is
 * left out. Its state is floats that all start at 0, so that it lies with the optimizer's state and
 * moves with it. Source: Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv
 * 1710.03740); constants of torch.amp.GradScaler. */
#ifndef GS_MODELS_LOSS_SCALE_H
#define GS_MODELS_LOSS_SCALE_H

#include <stdbool.h>

enum {
    GS_LOSS_SCALE_FLOATS = 2,     /* log2(scale / 65536); good updates since the last change */
    GS_LOSS_SCALE_INTERVAL = 2000 /* good updates until it doubles */
};

#define GS_LOSS_SCALE_START 65536.0

/* The scale that the state[GS_LOSS_SCALE_FLOATS] stands for. */
double gs_loss_scale(const float *state);

/* After a gradient with this scale: is_finite says whether it may be applied. */
void gs_loss_scale_update(float *state, bool is_finite);

#endif
