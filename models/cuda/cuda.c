/* The CUDA device as the table of models/accelerator.h. All calls of CUDA for numbers are here. */
#include "models/accelerator.h"
#include "models/cuda/kernels.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct allocation {
    struct allocation *next;
    float *floats;
} allocation;

typedef struct cuda {
    int number;
    cudaStream_t stream;
    cudaEvent_t marks[GS_ACCELERATOR_MARKS];
    bool is_marked[GS_ACCELERATOR_MARKS];
    uint32_t *largest; /* shared with the device */
    allocation *allocations;
    cudaError_t failed; /* the first that did */
    const char *failed_in;
} cuda;

/* The first failure is kept: those that follow are of its making. */
static bool check(cuda *device, cudaError_t code, const char *what)
{
    if (code != cudaSuccess && device->failed == cudaSuccess) {
        device->failed = code;
        device->failed_in = what;
    }
    return code == cudaSuccess;
}

/* A thread's device is its own affair, and an entity's threads come and go. false: nothing is
 * worked on any more. */
static bool can_work(cuda *device, size_t count)
{
    return device->failed == cudaSuccess &&
           check(device, cudaSetDevice(device->number), "cudaSetDevice") && count > 0;
}

/* ---------------------------------------------------------------- life */

static void cuda_close(void *context)
{
    cuda *device = context;
    (void)cudaSetDevice(device->number);
    if (device->stream != NULL) {
        (void)cudaStreamSynchronize(device->stream);
        (void)cudaStreamDestroy(device->stream);
    }
    for (int i = 0; i < GS_ACCELERATOR_MARKS; i++) {
        (void)(device->marks[i] != NULL && cudaEventDestroy(device->marks[i]) != cudaSuccess);
    }
    (void)(device->largest != NULL && cudaFree(device->largest) != cudaSuccess);
    while (device->allocations != NULL) {
        allocation *first = device->allocations;
        device->allocations = first->next;
        (void)cudaFree(first->floats);
        free(first);
    }
    free(device);
}

/* Processor and device may look at the same memory while kernels run. */
static gs_status check_shared(int number, gs_error *err)
{
    int shared = 0;
    cudaError_t code = cudaDeviceGetAttribute(&shared, cudaDevAttrConcurrentManagedAccess, number);
    if (code == cudaSuccess && shared != 0) {
        return GS_OK;
    }
    return gs_fail(err, GS_EUNSUPPORTED,
                   "device cuda: device %d cannot share memory with the processor while it works "
                   "(Pascal and later under Linux can)",
                   number);
}

static gs_status cuda_open(uint32_t number, void **out, gs_error *err)
{
    int devices = 0;
    cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || number >= (uint32_t)devices) {
        return gs_fail(err, GS_EUNSUPPORTED, "device cuda: no device %u, %d here (%s)", number,
                       code == cudaSuccess ? devices : 0, cudaGetErrorString(code));
    }
    GS_TRY(check_shared((int)number, err));
    cuda *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return gs_fail(err, GS_ENOMEM, "device cuda: no memory");
    }
    device->number = (int)number;
    void *largest = NULL;
    bool ok =
        check(device, cudaSetDevice(device->number), "cudaSetDevice") &&
        check(device, cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags") &&
        check(device, cudaMallocManaged(&largest, sizeof *device->largest, cudaMemAttachGlobal),
              "cudaMallocManaged");
    device->largest = largest;
    for (int i = 0; ok && i < GS_ACCELERATOR_MARKS; i++) {
        ok = check(device, cudaEventCreateWithFlags(&device->marks[i], cudaEventDefault),
                   "cudaEventCreateWithFlags");
    }
    if (!ok) {
        gs_status status = gs_fail(err, GS_EUNSUPPORTED, "device cuda: %s: %s", device->failed_in,
                                   cudaGetErrorString(device->failed));
        cuda_close(device);
        return status;
    }
    *out = device;
    return GS_OK;
}

static float *cuda_allocate(void *context, size_t count)
{
    cuda *device = context;
    void *floats = NULL;
    allocation *made = malloc(sizeof *made);
    bool ok = made != NULL && can_work(device, count) &&
              cudaMallocManaged(&floats, count * sizeof(float), cudaMemAttachGlobal) == cudaSuccess;
    if (!ok) {
        (void)cudaGetLastError(); /* the caller is told */
        free(made);
        return NULL;
    }
    memset(floats, 0, count * sizeof(float));
    *made = (allocation){device->allocations, floats};
    device->allocations = made;
    return floats;
}

static gs_status cuda_synchronise(void *context, gs_error *err)
{
    cuda *device = context;
    if (can_work(device, 1)) {
        /* Launches that were refused say so here, kernels that failed by the second. */
        (void)(check(device, cudaGetLastError(), "a launch") &&
               check(device, cudaStreamSynchronize(device->stream), "a kernel"));
    }
    return device->failed == cudaSuccess
               ? GS_OK
               : gs_fail(err, GS_EIO, "device cuda: %s: %s", device->failed_in,
                         cudaGetErrorString(device->failed));
}

/* ---------------------------------------------------------------- numbers */

typedef void launcher(struct CUstream_st *stream, float *dst, const float *a, const float *b,
                      size_t count, float k);

static launcher *const launchers[GS_KERNEL_COUNT] = {
#define LAUNCHER(name, formula) [GS_KERNEL_##name] = gs_cuda_##name,
    GS_KERNEL_LIST(LAUNCHER)
#undef LAUNCHER
};

static void cuda_work(void *context, gs_kernel kernel, float *dst, const float *a, const float *b,
                      size_t count, float k)
{
    cuda *device = context;
    if (can_work(device, count)) {
        launchers[kernel](device->stream, dst, a, b, count, k);
    }
}

static void cuda_round(void *context, gs_number number, float *floats, size_t count)
{
    cuda *device = context;
    if ((number == GS_FP16 || number == GS_BF16) && can_work(device, count)) {
        gs_cuda_half_round(device->stream, number, floats, count);
    }
}

static void cuda_update(void *context, const gs_element_update *update)
{
    cuda *device = context;
    if (can_work(device, update->count)) {
        gs_cuda_update(device->stream, update);
    }
}

static float cuda_largest(void *context, const float *a, size_t count)
{
    cuda *device = context;
    const uint32_t infinite = 0x7f800000;
    if (cuda_synchronise(device, NULL) == GS_OK && can_work(device, count)) {
        *device->largest = 0;
        gs_cuda_largest(device->stream, a, count, device->largest);
    } else if (count == 0) {
        return 0.0F;
    }
    bool ok = cuda_synchronise(device, NULL) == GS_OK && *device->largest < infinite;
    return ok ? gs_float_of(*device->largest) : INFINITY;
}

/* ---------------------------------------------------------------- time */

static void cuda_spin(void *context, int64_t ns)
{
    cuda *device = context;
    if (ns > 0 && can_work(device, 1)) {
        gs_cuda_spin(device->stream, ns);
    }
}

static void cuda_mark(void *context, uint32_t mark)
{
    cuda *device = context;
    device->is_marked[mark] =
        can_work(device, 1) &&
        check(device, cudaEventRecord(device->marks[mark], device->stream), "cudaEventRecord");
}

static int64_t cuda_elapsed_ns(void *context, uint32_t from, uint32_t to)
{
    cuda *device = context;
    float milliseconds = 0.0F;
    bool passed =
        device->is_marked[from] && device->is_marked[to] &&
        cudaEventQuery(device->marks[from]) == cudaSuccess &&
        cudaEventQuery(device->marks[to]) == cudaSuccess &&
        check(device, cudaEventElapsedTime(&milliseconds, device->marks[from], device->marks[to]),
              "cudaEventElapsedTime");
    return passed ? (int64_t)((double)milliseconds * 1e6) : -1;
}

static const gs_accelerator device_cuda = {
    .version = GS_ACCELERATOR_VERSION,
    .name = "cuda",
    .summary = "a CUDA device; gradients, norms and codecs on the processor, in shared memory",
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .synchronise = cuda_synchronise,
    .work = cuda_work,
    .round = cuda_round,
    .update = cuda_update,
    .largest = cuda_largest,
    .spin = cuda_spin,
    .mark = cuda_mark,
    .elapsed_ns = cuda_elapsed_ns,
};

__attribute__((visibility("default"))) const gs_accelerator *gs_accelerator_module(void);

const gs_accelerator *gs_accelerator_module(void)
{
    return &device_cuda;
}
