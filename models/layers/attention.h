/* Causal attention with several heads. It reads queries, keys and values side by side, {1,
 * positions, 3 width}, and gives {1, positions, width}; the affine layers around it are dense. */
#ifndef GS_MODELS_LAYERS_ATTENTION_H
#define GS_MODELS_LAYERS_ATTENTION_H

#include "models/network.h"

/* Head h reads values [h, h + 1) * width / heads of each of the three. The probabilities of later
 * positions are exactly 0. */
extern const gs_layer_kind gs_layer_attention;

/* Puts it after the last layer, whose width must be a multiple of 3 heads. Returns the layer's
 * number. */
int32_t gs_add_attention(gs_network *network, int32_t heads);

#endif
