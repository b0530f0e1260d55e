/* Any bytes as a text: parsed or refused with a text, and what is parsed keeps its promises. The
 * first byte says how long windows are, the second which vocabulary is stated. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "models/dataset_text.h"

static void check(const gs_dataset *parsed, const uint8_t *text)
{
    int64_t context = parsed->shape.input.width;
    GS_ASSERT(parsed->train_count > 0 && parsed->test_count > 0);
    GS_ASSERT(parsed->train_count + parsed->test_count == parsed->row_count);
    GS_ASSERT(parsed->shape.answer_width >= 2 && parsed->shape.answer_width <= 256);
    for (int64_t r = 0; r < parsed->row_count; r++) {
        GS_ASSERT(parsed->split[r] < parsed->row_count);
        for (int64_t i = 0; i < context; i++) {
            uint8_t token = parsed->tokens[r * parsed->input_stride + i];
            uint8_t next = parsed->labels[r * parsed->answer_stride + i];
            GS_ASSERT(token < parsed->shape.answer_width && next < parsed->shape.answer_width);
            GS_ASSERT(parsed->vocabulary[token] == text[r * context + i]);
            GS_ASSERT(parsed->vocabulary[next] == text[r * context + i + 1]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    gs_text_config config = {.context = 1 + data[0], .vocabulary = data[1]};
    gs_arena arena;
    gs_arena_init(&arena);
    gs_dataset parsed;
    gs_error err = {.code = GS_OK};
    gs_status status =
        gs_text_parse((const char *)data + 2, size - 2, "fuzz.txt", &config, &arena, &parsed, &err);
    if (status == GS_OK) {
        check(&parsed, data + 2);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
