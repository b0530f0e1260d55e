/* Pooling of images: the largest or the mean value of windows without padding, or of each whole
 * channel. A window that does not fit at the right or lower edge is left out. */
#ifndef GS_MODELS_LAYERS_POOLING_H
#define GS_MODELS_LAYERS_POOLING_H

#include "models/network.h"

/* Of equal values the first gets the gradient; one that is not a number wins. */
extern const gs_layer_kind gs_layer_max_pool;

extern const gs_layer_kind gs_layer_average_pool;

/* Gives {1, 1, channels}. */
extern const gs_layer_kind gs_layer_global_average;

/* Puts max_pool or average_pool after the last layer, whose images must be as large as the window.
 * Returns the layer's number. */
int32_t gs_add_pool(gs_network *network, const gs_layer_kind *kind, int32_t kernel, int32_t stride);

int32_t gs_add_global_average(gs_network *network);

#endif
