/* Any bytes as IDX files of images and labels: parsed or refused with a text, and what is parsed
 * keeps its promises. The first byte says where the labels begin, in eighths of the rest; an odd
 * one tests with the same files that it trains with. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "models/dataset_idx.h"

static void check(const gs_dataset *parsed)
{
    GS_ASSERT(parsed->train_count > 0 && parsed->test_count > 0);
    GS_ASSERT(parsed->train_count + parsed->test_count == parsed->row_count);
    GS_ASSERT(gs_extent_count(parsed->shape.input) == parsed->input_stride);
    uint32_t sum = 0;
    for (int64_t i = 0; i < parsed->row_count; i++) {
        GS_ASSERT(parsed->labels[i] < parsed->shape.answer_width);
        GS_ASSERT(parsed->split[i] < parsed->row_count);
    }
    for (int64_t i = 0; i < parsed->row_count * parsed->input_stride; i++) {
        sum += parsed->pixels[i]; /* each byte can be read */
    }
    GS_ASSERT(sum <= UINT32_C(255) * (uint64_t)(parsed->row_count * parsed->input_stride));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *bytes = (const char *)data + 1;
    size_t cut = (size - 1) * (data[0] % 8U) / 8U;
    gs_idx_files files = {.images = {"images", bytes, cut},
                          .labels = {"labels", bytes + cut, size - 1 - cut},
                          .classes = 10};
    if (data[0] % 2U == 1) {
        files.test_images = files.images;
        files.test_labels = files.labels;
    }
    gs_arena arena;
    gs_arena_init(&arena);
    gs_dataset parsed;
    gs_error err = {.code = GS_OK};
    gs_status status = gs_idx_parse(&files, &arena, &parsed, &err);
    if (status == GS_OK) {
        check(&parsed);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
