#include "traces/memory.h"

#include "base/assert.h"

enum { FLOAT_BYTES = 4 };

#define BYTES_MAX (INT64_C(1) << 60)

const char *const gs_memory_part_names[GS_MEMORY_PARTS] = {
    "parameters",  "master weights", "gradients",  "optimizer",
    "own vectors", "buckets",        "activations"};

const char *const gs_memory_part_keys[GS_MEMORY_PARTS] = {
    "parameters_bytes",  "master_weights_bytes", "gradients_bytes",  "optimizer_bytes",
    "own_vectors_bytes", "buckets_bytes",        "activations_bytes"};

/* a x b >= 0, at most BYTES_MAX. */
static int64_t times(int64_t a, int64_t b)
{
    GS_ASSERT(a >= 0 && b >= 0);
    return b != 0 && a > BYTES_MAX / b ? BYTES_MAX : a * b;
}

/* Elements of `batch` samples that lie there when backward has most of them. */
static int64_t activation_elements(const gs_memory_job *job, int64_t batch)
{
    const gs_layer_activations *sample = &job->activations;
    int64_t elements = job->checkpointing ? sample->kept + sample->block_max : sample->all;
    return times(elements, batch);
}

/* Sums and states of narrow types are kept in fp32. */
int64_t gs_memory_own_vector_bytes(int64_t elements, int element_bytes)
{
    return times(elements, element_bytes > FLOAT_BYTES ? element_bytes : FLOAT_BYTES);
}

gs_memory gs_memory_of(const gs_memory_job *job, int64_t batch)
{
    int64_t vector = times(job->elements, job->element_bytes);
    int64_t wide_vector = gs_memory_own_vector_bytes(job->elements, job->element_bytes);
    gs_memory memory = {0};
    int64_t *bytes = memory.bytes;
    bytes[GS_MEMORY_PARAMETERS] = vector;
    int64_t shards = job->shards > 1 ? job->shards : 1;
    int64_t wide_shard = wide_vector / shards + (wide_vector % shards > 0 ? 1 : 0);
    bytes[GS_MEMORY_GRADIENTS] = vector;
    if (!job->is_served) {
        bytes[GS_MEMORY_MASTER_WEIGHTS] = job->element_bytes < FLOAT_BYTES ? wide_shard : 0;
        bytes[GS_MEMORY_OPTIMIZER] = times(wide_shard, job->state_vectors);
    }
    bytes[GS_MEMORY_OWN_VECTORS] = times(wide_vector, job->own_vectors);
    bytes[GS_MEMORY_BUCKETS] =
        times(times(job->elements, job->copies) + job->bucket_elements, job->element_bytes);
    bytes[GS_MEMORY_ACTIVATIONS] = times(activation_elements(job, batch), job->element_bytes);
    if (job->offload) {
        memory.host_bytes = bytes[GS_MEMORY_MASTER_WEIGHTS] + bytes[GS_MEMORY_OPTIMIZER];
        bytes[GS_MEMORY_MASTER_WEIGHTS] = 0;
        bytes[GS_MEMORY_OPTIMIZER] = 0;
    }
    for (int i = 0; i < GS_MEMORY_PARTS; i++) {
        memory.total_bytes += bytes[i];
    }
    return memory;
}

int64_t gs_memory_batch_max(const gs_memory_job *job, int64_t memory_bytes, int64_t batch_max)
{
    /* The total grows with the batch, or not at all. */
    int64_t fits = 0;
    int64_t above = batch_max + 1;
    while (above - fits > 1) {
        int64_t middle = fits + (above - fits) / 2;
        if (gs_memory_of(job, middle).total_bytes <= memory_bytes) {
            fits = middle;
        } else {
            above = middle;
        }
    }
    return fits;
}
