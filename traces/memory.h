/* What a rank or a server must hold in its memory, part by part: a pure function of the job.
 *
 * The count is that of what training cannot do without; the framework's own memory, workspaces of
 * libraries and fragmentation come on top and are not counted. Parameters and gradients have the
 * job's type; where that is narrower than fp32, fp32 master weights are kept beside them, and so
 * are the optimizer's vectors and those of a strategy. Source of the 16 bytes a parameter of Adam
 * in mixed precision: Rajbhandari et al., "ZeRO", SC 2020, section 3.1. */
#ifndef GS_TRACES_MEMORY_H
#define GS_TRACES_MEMORY_H

#include "traces/layer_table.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_memory_part {
    GS_MEMORY_PARAMETERS,     /* what computes */
    GS_MEMORY_MASTER_WEIGHTS, /* fp32, where the type is narrower */
    GS_MEMORY_GRADIENTS,
    GS_MEMORY_OPTIMIZER,   /* its vectors */
    GS_MEMORY_OWN_VECTORS, /* of the strategy: residuals, anchors, old weights */
    GS_MEMORY_BUCKETS,     /* one bucket that arrives, and copies that are on their way */
    GS_MEMORY_ACTIVATIONS, /* of one pass */
    GS_MEMORY_PARTS
} gs_memory_part;

extern const char *const gs_memory_part_names[GS_MEMORY_PARTS]; /* "master weights" */
extern const char *const gs_memory_part_keys[GS_MEMORY_PARTS];  /* "master_weights_bytes" */

typedef struct gs_memory_job {
    int64_t elements;
    int element_bytes;       /* of the job's type: 2, 4 or 8 */
    int64_t state_vectors;   /* of the optimizer */
    int64_t shards;          /* ranks that its state and the master weights are spread over; 0: 1 */
    int64_t own_vectors;     /* of the strategy and its codec */
    int64_t copies;          /* that the strategy may have on their way, each of a whole vector */
    int64_t bucket_elements; /* of the largest bucket; 0: nothing arrives */
    gs_layer_activations activations; /* of one sample; all 0: not known, counted as nothing */
    bool fused_attention;             /* activations have no scores */
    bool checkpointing;               /* full: outputs of blocks, and one block at a time */
    bool offload;                     /* master weights and optimizer lie in the host's memory */
    bool is_served; /* master weights and optimizer are on servers, which make the updates */
} gs_memory_job;

typedef struct gs_memory {
    int64_t bytes[GS_MEMORY_PARTS];
    int64_t total_bytes;
    int64_t host_bytes; /* moved to the host; an update fetches and writes back as many */
} gs_memory;

/* Sizes that 2^60 bytes cannot count stay there. */
gs_memory gs_memory_of(const gs_memory_job *job, int64_t batch);

/* Of each vector of a strategy. */
int64_t gs_memory_own_vector_bytes(int64_t elements, int element_bytes);

/* The largest batch of at most batch_max whose total is not above memory_bytes; 0: not even 1. */
int64_t gs_memory_batch_max(const gs_memory_job *job, int64_t memory_bytes, int64_t batch_max);

#endif
