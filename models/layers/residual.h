/* A residual connection: what an earlier layer gave is added to what the last one gives. */
#ifndef GS_MODELS_LAYERS_RESIDUAL_H
#define GS_MODELS_LAYERS_RESIDUAL_H

#include "models/network.h"

extern const gs_layer_kind gs_layer_residual;

/* Puts it after the last layer; `other` is an earlier one whose outputs have the same extent.
 * Returns the layer's number. */
int32_t gs_add_residual(gs_network *network, int32_t other);

#endif
