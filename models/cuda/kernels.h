/* Launchers of the CUDA kernels: each gives its work to a stream and returns.
 *
 * kernels.cu has the kernels; the fake runtime of the tests has the same launchers in C. They give
 * the bits of the functions of the same name without cuda_. */
#ifndef GS_MODELS_CUDA_KERNELS_H
#define GS_MODELS_CUDA_KERNELS_H

#include "models/element.h"
#include "models/halves.h"
#include "models/kernels.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a cudaStream_t points to it */

#define GS_CUDA_DECLARE(name, formula)                                                             \
    void gs_cuda_##name(struct CUstream_st *stream, float *dst, const float *a, const float *b,    \
                        size_t count, float k);
GS_KERNEL_LIST(GS_CUDA_DECLARE)
#undef GS_CUDA_DECLARE

/* number: GS_FP16 or GS_BF16. */
void gs_cuda_half_round(struct CUstream_st *stream, gs_number number, float *floats, size_t count);
void gs_cuda_update(struct CUstream_st *stream, const gs_element_update *update);
/* *largest becomes the bits of the largest magnitude where they are larger than what it holds: of
 * floats that are not negative they order as the floats do. */
void gs_cuda_largest(struct CUstream_st *stream, const float *a, size_t count, uint32_t *largest);
/* Keeps one thread of the device for ns. */
void gs_cuda_spin(struct CUstream_st *stream, int64_t ns);

#ifdef __cplusplus
}
#endif

#endif
