/* Convolution of images with square kernels: [channels][height][width] in and out. Weights are
 * [channels out][channels in][kernel][kernel], one bias per channel follows them. */
#ifndef GS_MODELS_LAYERS_CONVOLUTION_H
#define GS_MODELS_LAYERS_CONVOLUTION_H

#include "models/network.h"

/* Weights start uniform in +-sqrt(6 / inputs of an output), which keeps the variance behind a ReLU;
 * biases at 0. Source: He et al., ICCV 2015, eq. 10. */
extern const gs_layer_kind gs_layer_convolution;

typedef struct gs_convolution {
    int64_t channels;                /* that it gives */
    int32_t kernel, stride, padding; /* pixels; the padding is zeros on all sides */
} gs_convolution;

/* Puts it after the last layer; the padded image must be as large as the kernel. Returns the
 * layer's number. */
int32_t gs_add_convolution(gs_network *network, const gs_convolution *convolution);

/* Values along one side of what a window gives that moves by stride over size + 2 padding. */
static inline int64_t gs_window_count(int64_t size, int32_t kernel, int32_t stride, int32_t padding)
{
    return (size + 2 * (int64_t)padding - kernel) / stride + 1;
}

#endif
