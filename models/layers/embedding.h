/* From tokens to vectors and back: the embedding, learned positions, and the output that uses the
 * embedding's weights once more. */
#ifndef GS_MODELS_LAYERS_EMBEDDING_H
#define GS_MODELS_LAYERS_EMBEDDING_H

#include "models/network.h"

/* Token t becomes row t of the weights [tokens][width]: {1, positions, width}. */
extern const gs_layer_kind gs_layer_embedding;

/* Adds row p of the weights [positions][width] to the vector at position p. */
extern const gs_layer_kind gs_layer_positions;

/* The product of each vector with every row of the embedding: {1, positions, tokens}. */
extern const gs_layer_kind gs_layer_tied_output;

/* All three return the layer's number. The embedding must come first. Weights start normal around 0
 * with that deviation. */
int32_t gs_add_embedding(gs_network *network, int64_t width, double deviation);
int32_t gs_add_positions(gs_network *network, double deviation);
int32_t gs_add_tied_output(gs_network *network, int32_t embedding);

#endif
