/* Functions applied to each value on its own: ReLU, tanh and GELU. */
#ifndef GS_MODELS_LAYERS_ACTIVATION_H
#define GS_MODELS_LAYERS_ACTIVATION_H

#include "models/network.h"

extern const gs_layer_kind gs_layer_relu;

/* Puts an activation of that kind after the last layer. Returns the layer's number. */
int32_t gs_add_activation(gs_network *network, const gs_layer_kind *kind);

#endif
