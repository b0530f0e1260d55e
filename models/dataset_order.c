#include "models/dataset_order.h"

#include <string.h>

#include "base/assert.h"
#include "models/dataset_random.h"

gs_status gs_sample_order_init(gs_sample_order *order, const gs_shards *shards, uint64_t seed,
                               gs_arena *arena)
{
    size_t slots = (size_t)shards->stream_count * GS_SAMPLE_ORDER_EPOCHS;
    order->shards = shards;
    order->seed = seed;
    order->epochs = GS_TAKE(arena, int64_t, slots);
    order->rows = GS_TAKE(arena, uint32_t, (size_t)shards->row_count * GS_SAMPLE_ORDER_EPOCHS);
    if (order->epochs == NULL || order->rows == NULL) {
        return GS_ENOMEM;
    }
    for (size_t i = 0; i < slots; i++) {
        order->epochs[i] = -1;
    }
    return GS_OK;
}

uint32_t gs_sample_order_row(gs_sample_order *order, uint32_t rank, int64_t position)
{
    const gs_shards *shards = order->shards;
    GS_ASSERT(position >= 0 && rank < shards->ranks);
    uint32_t stream = gs_shards_are_own(shards) ? rank : 0;
    int64_t early = shards->early[stream];
    int64_t count = gs_shards_size(shards, stream);
    int64_t epoch = position / early;
    int64_t place = position % early;
    if (epoch >= shards->late_epoch) {
        int64_t after = position - shards->late_epoch * early;
        epoch = shards->late_epoch + after / count;
        place = after % count;
    }
    int64_t slot = epoch % GS_SAMPLE_ORDER_EPOCHS;
    int64_t *held = &order->epochs[slot * shards->stream_count + stream];
    uint32_t *rows = order->rows + slot * shards->row_count + shards->first[stream];
    if (*held != epoch) {
        gs_rng_key key = {order->seed, GS_RNG_DATA,
                          gs_shards_are_own(shards) ? GS_DATA_STREAM + rank : GS_DATA_EPOCH};
        int64_t length = epoch < shards->late_epoch ? early : count;
        memcpy(rows, shards->rows + shards->first[stream], (size_t)length * sizeof *rows);
        gs_data_shuffle(key, (uint64_t)epoch, rows, length);
        *held = epoch;
    }
    return rows[place];
}
