#include "tests/fake_cuda/fake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES_MAX = 64 };

typedef struct task {
    struct task *next;
    fake_work *work;
    max_align_t argument[];
} task;

struct CUstream_st {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    task *first, *last;
    int64_t left; /* given and not done */
    bool must_end;
    int device; /* -1: a worker */
    struct CUstream_st *next;
};

struct CUevent_st {
    atomic_llong recorded, reached;
    atomic_llong at_ns;
};

typedef struct allocation {
    struct allocation *next;
    int device; /* -1: of the host, pinned */
    size_t bytes;
    max_align_t memory[];
} allocation;

static pthread_mutex_t world = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st *streams;
static allocation *allocations;
static int blocks_taken[DEVICES_MAX];
static fake_settings settings = {.devices = 4, .blocks = 16, .fail_after = -1};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint_least64_t draws;
static atomic_int hazards;
static _Thread_local int current_device;

/* ---------------------------------------------------------------- settings and chance */

static void read_setting(const char *name, int *out)
{
    const char *text = getenv(name);
    if (text != NULL) {
        *out = (int)strtol(text, NULL, 10);
    }
}

static void read_settings(void)
{
    read_setting("FAKE_CUDA_DEVICES", &settings.devices);
    read_setting("FAKE_CUDA_BLOCKS", &settings.blocks);
    read_setting("FAKE_CUDA_DELAY_US", &settings.delay_us);
    int fail_after = -1;
    read_setting("FAKE_NCCL_FAIL_AFTER", &fail_after);
    atomic_store(&settings.fail_after, fail_after);
}

fake_settings *fake_settings_get(void)
{
    (void)pthread_once(&once, read_settings);
    return &settings;
}

/* The finaliser of SplitMix64. */
static uint64_t draw(void)
{
    uint64_t value = (atomic_fetch_add(&draws, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

void fake_sleep_us(int64_t us)
{
    (void)nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

void fake_delay(void)
{
    int64_t most = fake_settings_get()->delay_us;
    if (most > 0) {
        fake_sleep_us((int64_t)(draw() % (uint64_t)most));
    }
}

bool fake_chance(void)
{
    return (draw() & 1) != 0;
}

static int64_t clock_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---------------------------------------------------------------- streams */

static void *stream_main(void *argument)
{
    cudaStream_t stream = argument;
    (void)pthread_mutex_lock(&stream->mutex);
    for (;;) {
        while (stream->first == NULL && !stream->must_end) {
            (void)pthread_cond_wait(&stream->changed, &stream->mutex);
        }
        task *next = stream->first;
        if (next == NULL) {
            break;
        }
        stream->first = next->next;
        (void)pthread_mutex_unlock(&stream->mutex);
        next->work(next->argument);
        free(next);
        (void)pthread_mutex_lock(&stream->mutex);
        stream->left--;
        (void)pthread_cond_broadcast(&stream->changed);
    }
    (void)pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

static cudaStream_t stream_create(int device)
{
    cudaStream_t stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        abort();
    }
    stream->device = device;
    (void)pthread_mutex_init(&stream->mutex, NULL);
    (void)pthread_cond_init(&stream->changed, NULL);
    if (pthread_create(&stream->thread, NULL, stream_main, stream) != 0) {
        abort();
    }
    return stream;
}

static void stream_free(cudaStream_t stream)
{
    (void)pthread_mutex_lock(&stream->mutex);
    stream->must_end = true;
    (void)pthread_cond_broadcast(&stream->changed);
    (void)pthread_mutex_unlock(&stream->mutex);
    (void)pthread_join(stream->thread, NULL);
    (void)pthread_mutex_destroy(&stream->mutex);
    (void)pthread_cond_destroy(&stream->changed);
    free(stream);
}

void fake_stream_give(cudaStream_t stream, fake_work *work, const void *argument, size_t bytes)
{
    task *made = malloc(sizeof *made + bytes);
    if (made == NULL) {
        abort();
    }
    made->next = NULL;
    made->work = work;
    memcpy(made->argument, argument, bytes);
    (void)pthread_mutex_lock(&stream->mutex);
    if (stream->first == NULL) {
        stream->first = made;
    } else {
        stream->last->next = made;
    }
    stream->last = made;
    stream->left++;
    (void)pthread_cond_broadcast(&stream->changed);
    (void)pthread_mutex_unlock(&stream->mutex);
}

void fake_stream_drain(cudaStream_t stream)
{
    (void)pthread_mutex_lock(&stream->mutex);
    while (stream->left > 0) {
        (void)pthread_cond_wait(&stream->changed, &stream->mutex);
    }
    (void)pthread_mutex_unlock(&stream->mutex);
}

int fake_stream_device(cudaStream_t stream)
{
    return stream->device;
}

cudaStream_t fake_worker_create(void)
{
    return stream_create(-1);
}

void fake_worker_destroy(cudaStream_t worker)
{
    stream_free(worker);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    (void)flags;
    cudaStream_t stream = stream_create(current_device);
    (void)pthread_mutex_lock(&world);
    stream->next = streams;
    streams = stream;
    (void)pthread_mutex_unlock(&world);
    *out = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)pthread_mutex_lock(&world);
    cudaStream_t *at = &streams;
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    (void)pthread_mutex_unlock(&world);
    stream_free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    fake_stream_drain(stream);
    return cudaSuccess;
}

static bool is_device_busy(int device)
{
    bool busy = false;
    for (cudaStream_t stream = streams; stream != NULL; stream = stream->next) {
        if (stream->device == device) {
            (void)pthread_mutex_lock(&stream->mutex);
            busy |= stream->left > 0;
            (void)pthread_mutex_unlock(&stream->mutex);
        }
    }
    return busy;
}

int fake_hazards(void)
{
    return atomic_load(&hazards);
}

static void wait_for_device(int device)
{
    (void)pthread_mutex_lock(&world);
    atomic_fetch_add(&hazards, blocks_taken[device] > 0 ? 1 : 0);
    (void)pthread_mutex_unlock(&world);
    for (;;) {
        (void)pthread_mutex_lock(&world);
        bool busy = is_device_busy(device);
        (void)pthread_mutex_unlock(&world);
        if (!busy) {
            return;
        }
        fake_sleep_us(50);
    }
}

/* ---------------------------------------------------------------- device */

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorInvalidValue:
        break;
    }
    return "invalid argument";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = fake_settings_get()->devices;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= fake_settings_get()->devices || device >= DEVICES_MAX) {
        return cudaErrorInvalidDevice;
    }
    current_device = device;
    return cudaSuccess;
}

int fake_current_device(void)
{
    return current_device;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    if (device < 0 || device >= fake_settings_get()->devices) {
        return cudaErrorInvalidDevice;
    }
    *value = attribute == cudaDevAttrMultiProcessorCount ? fake_settings_get()->blocks : 1;
    return cudaSuccess;
}

bool fake_blocks_take(int device, int blocks, bool (*is_over)(void *), void *argument)
{
    int all = fake_settings_get()->blocks;
    while (!is_over(argument)) {
        (void)pthread_mutex_lock(&world);
        bool ok = blocks_taken[device] + blocks <= all;
        blocks_taken[device] += ok ? blocks : 0;
        (void)pthread_mutex_unlock(&world);
        if (ok) {
            return true;
        }
        fake_sleep_us(100);
    }
    return false;
}

void fake_blocks_give(int device, int blocks)
{
    (void)pthread_mutex_lock(&world);
    blocks_taken[device] -= blocks;
    (void)pthread_mutex_unlock(&world);
}

/* ---------------------------------------------------------------- memory */

static cudaError_t allocate(void **out, size_t bytes, int device)
{
    wait_for_device(current_device);
    allocation *made = malloc(sizeof *made + bytes);
    if (made == NULL) {
        return cudaErrorMemoryAllocation;
    }
    memset(made->memory, 0x7b, bytes); /* what was there before */
    made->device = device;
    made->bytes = bytes;
    (void)pthread_mutex_lock(&world);
    made->next = allocations;
    allocations = made;
    (void)pthread_mutex_unlock(&world);
    *out = made->memory;
    return cudaSuccess;
}

static cudaError_t release(const void *memory)
{
    wait_for_device(current_device);
    (void)pthread_mutex_lock(&world);
    allocation **at = &allocations;
    while (*at != NULL && (const void *)(*at)->memory != memory) {
        at = &(*at)->next;
    }
    allocation *found = *at;
    if (found != NULL) {
        *at = found->next;
    }
    (void)pthread_mutex_unlock(&world);
    free(found);
    return found != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

static bool is_within(const void *memory, size_t bytes, int device)
{
    const char *start = memory;
    bool found = false;
    (void)pthread_mutex_lock(&world);
    for (const allocation *i = allocations; i != NULL; i = i->next) {
        const char *from = (const char *)i->memory;
        found |= i->device == device && start >= from && start + bytes <= from + i->bytes;
    }
    (void)pthread_mutex_unlock(&world);
    return found;
}

bool fake_is_device_memory(const void *memory, size_t bytes, int device)
{
    return is_within(memory, bytes, device);
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    return allocate(out, bytes, current_device);
}

cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(out, bytes, current_device);
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    return allocate(out, bytes, -1);
}

cudaError_t cudaFree(void *memory)
{
    return release(memory);
}

cudaError_t cudaFreeHost(void *memory)
{
    return release(memory);
}

typedef struct copying {
    void *to;
    const void *from;
    size_t bytes;
} copying;

static void do_copy(void *argument)
{
    const copying *copy = argument;
    fake_delay();
    memcpy(copy->to, copy->from, copy->bytes);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    bool is_up = kind == cudaMemcpyHostToDevice;
    if (!is_within(is_up ? to : from, bytes, stream->device)) {
        return cudaErrorInvalidValue;
    }
    copying copy = {.to = to, .from = from, .bytes = bytes};
    fake_stream_give(stream, do_copy, &copy, sizeof copy);
    if (!is_within(is_up ? from : to, bytes, -1)) {
        fake_stream_drain(stream);
    }
    return cudaSuccess;
}

/* ---------------------------------------------------------------- events */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    (void)flags;
    *out = calloc(1, sizeof **out);
    return *out != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    while (cudaEventQuery(event) == cudaErrorNotReady) { /* its stream still holds it */
        fake_sleep_us(50);
    }
    free(event);
    return cudaSuccess;
}

typedef struct reaching {
    cudaEvent_t event;
    long long number;
} reaching;

static void reach(void *argument)
{
    const reaching *mark = argument;
    atomic_store(&mark->event->at_ns, clock_ns());
    atomic_store(&mark->event->reached, mark->number);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    reaching mark = {event, atomic_fetch_add(&event->recorded, 1) + 1};
    fake_stream_give(stream, reach, &mark, sizeof mark);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return atomic_load(&event->reached) == atomic_load(&event->recorded) ? cudaSuccess
                                                                         : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (cudaEventQuery(event) == cudaErrorNotReady) {
        fake_sleep_us(20);
    }
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    if (cudaEventQuery(start) != cudaSuccess || cudaEventQuery(end) != cudaSuccess) {
        return cudaErrorNotReady;
    }
    *milliseconds = (float)(atomic_load(&end->at_ns) - atomic_load(&start->at_ns)) / 1e6F;
    return cudaSuccess;
}
