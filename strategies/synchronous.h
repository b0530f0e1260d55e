/* What strategies have alike that update on the mean gradient of all ranks: one step at a time, in
 * buckets, and a step that has begun is ended before the entity drains. */
#ifndef GS_STRATEGIES_SYNCHRONOUS_H
#define GS_STRATEGIES_SYNCHRONOUS_H

#include "strategies/world.h"

/* A rank's step. Zeros: none is under way. */
typedef struct gs_sync_step {
    uint32_t pending; /* buckets that are not reduced yet */
    bool backward;    /* the gradient is being computed */
    bool quiescing;
} gs_sync_step;

static inline bool gs_sync_is_busy(const gs_sync_step *step)
{
    return step->backward || step->pending > 0;
}

/* Begins a step at the weights, all buckets pending; while one is under way the plan is a hold. */
gs_plan gs_sync_begin(gs_world *world, gs_sync_step *step);
/* Updates the weights by GRAD once nothing is awaited, which ends the step. */
void gs_sync_finish(gs_world *world, const gs_sync_step *step);
/* A step has ended: asks for the next one, or drains. */
void gs_sync_go_on(gs_world *world, const gs_sync_step *step);
void gs_sync_quiesce(gs_world *world, gs_sync_step *step);

/* This rank's share of the mean. DDP divides before the sum: one of n gradients could overflow in
 * half precision. */
void gs_sync_divide(gs_world *world, gs_slice gradient);

/* The same note to all other workers, in the order of ranks. */
void gs_sync_tell(gs_world *world, uint16_t tag, const int64_t meta[4]);

/* A hook: bytes where a gradient, however it is cut, is summed and comes back over a ring without a
 * codec: 2 (n - 1) sends of a whole one by all n ranks together. */
int64_t gs_sync_ring_bytes(const void *config, const gs_job *job, const gs_coding *coding);

/* Fields of a config with bucket_bytes and first_bucket_bytes, the two of DDP's rule. */
/* clang-format off */
#define GS_SYNC_FIRST_BUCKET_FIELD(config)                                                         \
    {.name = "first_bucket", .kind = GS_FIELD_BYTES, GS_FIELD_AT(config, first_bucket_bytes),      \
     .default_text = "1MiB", .minimum = 1, .maximum = 0x1p40,                                      \
     .help = "the same for the first bucket, small so that communication starts early"}
#define GS_SYNC_BUCKET_FIELDS(config)                                                              \
    {.name = "bucket", .kind = GS_FIELD_BYTES, GS_FIELD_AT(config, bucket_bytes),                  \
     .default_text = "25MiB", .minimum = 1, .maximum = 0x1p40,                                     \
     .help = "a bucket closes once it holds this much gradient"},                                  \
    GS_SYNC_FIRST_BUCKET_FIELD(config)
/* The rule that they say. */
#define GS_SYNC_BUCKETS(config)                                                                    \
    ((gs_bucket_rule){.first_bytes = (config)->first_bucket_bytes, .cap_bytes = (config)->bucket_bytes})
/* clang-format on */

#endif
