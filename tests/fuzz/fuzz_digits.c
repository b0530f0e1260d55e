/* Any bytes as a digits file: parsed or refused with a text, and what is parsed keeps its promises.
 */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "models/dataset_digits.h"
#include "models/dataset_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_dataset parsed;
    gs_error err = {.code = GS_OK};
    gs_status status = gs_digits_parse((const char *)data, size, "fuzz.csv", &arena, &parsed, &err);
    if (status == GS_OK) {
        GS_ASSERT(parsed.train_count > 0 && parsed.test_count > 0);
        GS_ASSERT(parsed.train_count + parsed.test_count == parsed.row_count);
        for (int64_t i = 0; i < parsed.row_count; i++) {
            GS_ASSERT(parsed.labels[i] < parsed.shape.answer_width);
            GS_ASSERT(parsed.split[i] < parsed.row_count);
        }
        for (int64_t i = 0; i < parsed.row_count * gs_extent_count(parsed.shape.input); i++) {
            GS_ASSERT(parsed.inputs[i] >= 0.0F && parsed.inputs[i] <= 1.0F);
        }
        gs_shard_config config;
        gs_shards shards;
        gs_sample_order order;
        gs_config_defaults(&gs_shard_config_table, &config);
        GS_ASSERT(gs_shards_create(&parsed, &config, 1, &arena, &shards, &err) == GS_OK);
        GS_ASSERT(gs_sample_order_init(&order, &shards, 1, &arena) == GS_OK);
        GS_ASSERT(gs_sample_order_row(&order, 0, 7 * parsed.train_count) < parsed.row_count);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
