/* Functions applied to each value on its own: ReLU, tanh and GELU. */
#ifndef GS_MODELS_LAYERS_ACTIVATION_H
#define GS_MODELS_LAYERS_ACTIVATION_H

#include "models/network.h"

/* max(x, 0). */
extern const gs_layer_kind gs_layer_relu;

extern const gs_layer_kind gs_layer_tanh;

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2: the form with tanh, as GPT-2 has it. */
extern const gs_layer_kind gs_layer_gelu;

/* Puts an activation of that kind after the last layer. Returns the layer's number. */
int32_t gs_add_activation(gs_network *network, const gs_layer_kind *kind);

#endif
