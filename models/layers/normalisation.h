/* Normalisation within a sample: y = gain (x - mean) / sqrt(variance + 1e-5) + shift. The gains,
 * which start at 1, are followed by the shifts, which start at 0. */
#ifndef GS_MODELS_LAYERS_NORMALISATION_H
#define GS_MODELS_LAYERS_NORMALISATION_H

#include "models/network.h"

/* Over each group of neighbouring channels of an image; a gain and a shift per channel. */
extern const gs_layer_kind gs_layer_group_norm;

/* Over each vector of {1, positions, width}; a gain and a shift per place in the vector. */
extern const gs_layer_kind gs_layer_layer_norm;

/* After the last layer. groups must divide its channels. Both return the layer's number. */
int32_t gs_add_group_norm(gs_network *network, int32_t groups);
int32_t gs_add_layer_norm(gs_network *network);

#endif
