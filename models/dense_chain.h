/* Affine layers with ReLU between them and a softmax at the end: the engine of mlp and softmax.
 *
 * Layer l maps x to W x + b; W is [outputs][inputs] in row-major order, b follows it. */
#ifndef GS_MODELS_DENSE_CHAIN_H
#define GS_MODELS_DENSE_CHAIN_H

#include "models/model.h"

/* The shape with the given widths between input and output; hidden may be empty. Errors: GS_ELIMIT.
 */
GS_MUST_USE gs_status gs_dense_chain_describe(const gs_int_list *hidden, int64_t input_count,
                                              int64_t class_count, gs_model_shape *out,
                                              gs_error *err);

/* The slots of gs_model, for shapes of gs_dense_chain_describe. Weights start uniform in
 * +-sqrt(6 / (inputs + outputs)), biases at 0. Source: Glorot and Bengio, AISTATS 2010, eq. 16. */
void gs_dense_chain_init(const gs_model_shape *shape, uint64_t seed, float *parameters);
size_t gs_dense_chain_workspace_bytes(const gs_model_shape *shape, int64_t batch_max);
double gs_dense_chain_gradient(const gs_model_shape *shape, const gs_model_pass *pass,
                               float *gradient);
double gs_dense_chain_evaluate(const gs_model_shape *shape, const gs_model_pass *pass,
                               int64_t *out_correct);

#endif
