/* The kernels of vectors, roundings and updates on a CUDA device. An element is worked on as on a
 * processor (models/element.h, the formulas of models/kernels.h), so the bits are the same;
 * cmake/cuda.cmake keeps nvcc from fusing operations. */
#include "models/cuda/kernels.h"

namespace {

enum { THREADS = 256, BLOCKS_MAX = 4096 };

int blocks_of(size_t count)
{
    size_t blocks = (count + THREADS - 1) / THREADS;
    return (int)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

__device__ size_t first_index()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ size_t stride()
{
    return (size_t)gridDim.x * blockDim.x;
}

/* Operands may be one another, so nothing is __restrict__. */
#define DEFINE_KERNEL(name, formula)                                                               \
    __global__ void kernel_##name(float *dst, const float *a, const float *b, size_t count,        \
                                  float k)                                                         \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        (void)k;                                                                                   \
        for (size_t i = first_index(); i < count; i += stride()) {                                 \
            dst[i] = formula;                                                                      \
        }                                                                                          \
    }
GS_KERNEL_LIST(DEFINE_KERNEL)
#undef DEFINE_KERNEL

__global__ void round_fp16(float *floats, size_t count)
{
    for (size_t i = first_index(); i < count; i += stride()) {
        floats[i] = gs_element_of_fp16(gs_element_fp16_of(floats[i]));
    }
}

__global__ void round_bf16(float *floats, size_t count)
{
    for (size_t i = first_index(); i < count; i += stride()) {
        floats[i] = gs_element_of_bf16(gs_element_bf16_of(floats[i]));
    }
}

__global__ void update_elements(gs_element_update by)
{
    for (size_t i = first_index(); i < by.count; i += stride()) {
        switch (by.form) {
        case GS_UPDATE_SGD:
            gs_element_sgd(by.sgd, &by.parameters[i], by.gradient[i]);
            break;
        case GS_UPDATE_HEAVY_BALL:
            gs_element_heavy_ball(by.sgd, &by.parameters[i], by.gradient[i], &by.state[i]);
            break;
        case GS_UPDATE_NESTEROV:
            gs_element_nesterov(by.sgd, &by.parameters[i], by.gradient[i], &by.state[i]);
            break;
        case GS_UPDATE_ADAM:
            gs_element_adam(by.adam, &by.parameters[i], by.gradient[i], &by.state[i],
                            &by.square[i]);
            break;
        }
    }
}

/* Each thread keeps its own, those of a warp come together, and the warps' meet in memory: a maximum
 * does not depend on the order. */
__global__ void find_largest(const float *a, size_t count, unsigned *largest)
{
    unsigned own = 0;
    for (size_t i = first_index(); i < count; i += stride()) {
        unsigned bits = gs_bits_of(a[i]) & 0x7fffffffU;
        own = bits > own ? bits : own;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned other = __shfl_down_sync(0xffffffffU, own, distance);
        own = other > own ? other : own;
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax(largest, own);
    }
}

__global__ void keep_busy(long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while ((long long)(now - start) < ns);
}

} // namespace

#define DEFINE_LAUNCHER(name, formula)                                                             \
    extern "C" void gs_cuda_##name(CUstream_st *stream, float *dst, const float *a,                \
                                   const float *b, size_t count, float k)                          \
    {                                                                                              \
        kernel_##name<<<blocks_of(count), THREADS, 0, stream>>>(dst, a, b, count, k);              \
    }
GS_KERNEL_LIST(DEFINE_LAUNCHER)
#undef DEFINE_LAUNCHER

extern "C" void gs_cuda_half_round(CUstream_st *stream, gs_number number, float *floats,
                                   size_t count)
{
    if (number == GS_FP16) {
        round_fp16<<<blocks_of(count), THREADS, 0, stream>>>(floats, count);
    } else {
        round_bf16<<<blocks_of(count), THREADS, 0, stream>>>(floats, count);
    }
}

extern "C" void gs_cuda_update(CUstream_st *stream, const gs_element_update *update)
{
    update_elements<<<blocks_of(update->count), THREADS, 0, stream>>>(*update);
}

extern "C" void gs_cuda_largest(CUstream_st *stream, const float *a, size_t count,
                                uint32_t *largest)
{
    find_largest<<<blocks_of(count), THREADS, 0, stream>>>(a, count, largest);
}

extern "C" void gs_cuda_spin(CUstream_st *stream, int64_t ns)
{
    keep_busy<<<1, 1, 0, stream>>>(ns);
}
