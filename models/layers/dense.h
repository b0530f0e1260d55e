/* An affine layer: y = W x + b at every position; W is [outputs][inputs] in row-major order, b
 * follows it. */
#ifndef GS_MODELS_LAYERS_DENSE_H
#define GS_MODELS_LAYERS_DENSE_H

#include "models/network.h"

/* Weights start uniform in +-sqrt(6 / (inputs + outputs)), biases at 0. Source: Glorot and Bengio,
 * AISTATS 2010, eq. 16. */
extern const gs_layer_kind gs_layer_dense;

/* Reads the last layer's outputs as `positions` vectors of equal length (1: the whole sample is one
 * vector) and gives {1, positions, outputs}. Returns the layer's number. */
int32_t gs_add_dense(gs_network *network, int64_t positions, int64_t outputs);

/* The same, with weights that start normal around 0 with that deviation (> 0). */
int32_t gs_add_dense_normal(gs_network *network, int64_t positions, int64_t outputs,
                            double deviation);

#endif
