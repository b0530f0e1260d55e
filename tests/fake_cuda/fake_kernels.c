/* The launchers of models/cuda/kernels.h over the fake runtime: a stream's thread does what the
 * kernel would, by the functions that run where there is no device. */
#include "models/cuda/kernels.h"
#include "tests/fake_cuda/fake.h"

typedef void kernel_function(float *dst, const float *a, const float *b, size_t count, float k);

typedef struct vector_work {
    kernel_function *kernel;
    float *dst;
    const float *a, *b;
    size_t count;
    float k;
} vector_work;

static void do_vector(void *argument)
{
    const vector_work *work = argument;
    fake_delay();
    work->kernel(work->dst, work->a, work->b, work->count, work->k);
}

#define LAUNCHER(name, formula)                                                                    \
    void gs_cuda_##name(struct CUstream_st *stream, float *dst, const float *a, const float *b,    \
                        size_t count, float k)                                                     \
    {                                                                                              \
        vector_work work = {gs_kernel_##name, dst, a, b, count, k};                                \
        fake_stream_give(stream, do_vector, &work, sizeof work);                                   \
    }
GS_KERNEL_LIST(LAUNCHER)
#undef LAUNCHER

typedef struct rounding_work {
    gs_number number;
    float *floats;
    size_t count;
} rounding_work;

static void do_rounding(void *argument)
{
    const rounding_work *work = argument;
    fake_delay();
    gs_half_round(work->number, work->floats, work->count);
}

void gs_cuda_half_round(struct CUstream_st *stream, gs_number number, float *floats, size_t count)
{
    rounding_work work = {number, floats, count};
    fake_stream_give(stream, do_rounding, &work, sizeof work);
}

static void do_update(void *argument)
{
    const gs_element_update *by = argument;
    fake_delay();
    for (size_t i = 0; i < by->count; i++) {
        switch (by->form) {
        case GS_UPDATE_SGD:
            gs_element_sgd(by->sgd, &by->parameters[i], by->gradient[i]);
            break;
        case GS_UPDATE_HEAVY_BALL:
            gs_element_heavy_ball(by->sgd, &by->parameters[i], by->gradient[i], &by->state[i]);
            break;
        case GS_UPDATE_NESTEROV:
            gs_element_nesterov(by->sgd, &by->parameters[i], by->gradient[i], &by->state[i]);
            break;
        case GS_UPDATE_ADAM:
            gs_element_adam(by->adam, &by->parameters[i], by->gradient[i], &by->state[i],
                            &by->square[i]);
            break;
        }
    }
}

void gs_cuda_update(struct CUstream_st *stream, const gs_element_update *update)
{
    fake_stream_give(stream, do_update, update, sizeof *update);
}

typedef struct largest_work {
    const float *a;
    size_t count;
    uint32_t *largest;
} largest_work;

static void do_largest(void *argument)
{
    const largest_work *work = argument;
    fake_delay();
    uint32_t bits = gs_bits_of(gs_kernel_largest(work->a, work->count));
    *work->largest = bits > *work->largest ? bits : *work->largest;
}

void gs_cuda_largest(struct CUstream_st *stream, const float *a, size_t count, uint32_t *largest)
{
    largest_work work = {a, count, largest};
    fake_stream_give(stream, do_largest, &work, sizeof work);
}

static void do_spin(void *argument)
{
    fake_sleep_us(*(const int64_t *)argument / 1000);
}

void gs_cuda_spin(struct CUstream_st *stream, int64_t ns)
{
    fake_stream_give(stream, do_spin, &ns, sizeof ns);
}
