#include "models/dataset_text.h"

#include "models/dataset_file.h"
#include "models/dataset_random.h"
#include "models/dataset_source.h"

enum { BYTES = 256, TEST_SHARE = 10 /* one window in that many */ };

_Static_assert(sizeof((gs_text_config){.context = 0}.file) == GS_DATA_FILE_BYTES,
               "names of files have one length");

/* clang-format off */
static const gs_field fields[] = {
    {"file", GS_FIELD_TEXT, GS_FIELD_AT(gs_text_config, file), "", 0, 0, NULL,
     "file of text, any bytes; empty: the bundled one"},
    {"context", GS_FIELD_INT, GS_FIELD_AT(gs_text_config, context), "32", 1, 4096, NULL,
     "characters of a sample; each is asked for what follows it"},
    {"vocabulary", GS_FIELD_INT, GS_FIELD_AT(gs_text_config, vocabulary), "0", 0, 256, NULL,
     "0: the distinct bytes of the training part; else bytes below it (128: ASCII, 256: all)"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "text",
    .struct_bytes = sizeof(gs_text_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

/* Which byte is which token, and back. */
typedef struct alphabet {
    int16_t token_of[BYTES]; /* -1: none */
    uint8_t byte_of[BYTES];
    int count;
} alphabet;

static void make_alphabet(const unsigned char *train, size_t length, int64_t vocabulary,
                          alphabet *out)
{
    bool is_there[BYTES] = {false};
    for (size_t i = 0; i < length; i++) {
        is_there[train[i]] = true;
    }
    out->count = 0;
    for (int byte = 0; byte < BYTES; byte++) {
        bool is_in = vocabulary > 0 ? byte < vocabulary : is_there[byte];
        out->token_of[byte] = (int16_t)(is_in ? out->count : -1);
        if (is_in) {
            out->byte_of[out->count++] = (uint8_t)byte;
        }
    }
}

static gs_status refuse_byte(const char *file, size_t offset, unsigned char byte,
                             int64_t vocabulary, gs_error *err)
{
    if (vocabulary > 0) {
        return gs_fail(err, GS_EPARSE,
                       "%s: offset %zu: byte 0x%02x; expected below %lld, the vocabulary that is "
                       "set; say vocabulary 256 for all bytes",
                       file, offset, byte, (long long)vocabulary);
    }
    return gs_fail(err, GS_EPARSE,
                   "%s: offset %zu: byte 0x%02x is only in the last tenth, which is for testing; "
                   "take it out or say vocabulary 256",
                   file, offset, byte);
}

static gs_status check(const char *file, size_t length, const gs_text_config *config, gs_error *err)
{
    if (config->vocabulary == 1) {
        return gs_fail(err, GS_EINVAL, "vocabulary 1 is no choice; say 0, or 2 to 256");
    }
    size_t least = 2 * (size_t)config->context + 1;
    if (length < least) {
        return gs_fail(err, GS_EPARSE,
                       "%s: %zu bytes; expected at least %zu, two windows of %lld characters and "
                       "one more; lower context or take a longer text",
                       file, length, least, (long long)config->context);
    }
    return GS_OK;
}

gs_status gs_text_parse(const char *text, size_t length, const char *file,
                        const gs_text_config *config, gs_arena *arena, gs_dataset *out,
                        gs_error *err)
{
    GS_TRY(check(file, length, config, err));
    const unsigned char *bytes = (const unsigned char *)text;
    int64_t rows = ((int64_t)length - 1) / config->context;
    int64_t test_count = (rows + TEST_SHARE - 1) / TEST_SHARE;
    alphabet letters;
    make_alphabet(bytes, (size_t)((rows - test_count) * config->context + 1), config->vocabulary,
                  &letters);
    if (letters.count < 2) {
        return gs_fail(err, GS_EPARSE,
                       "%s: offset 0: a single distinct byte; expected two, or there is nothing to "
                       "predict",
                       file);
    }
    uint8_t *tokens = GS_TAKE(arena, uint8_t, length);
    uint8_t *vocabulary = GS_TAKE(arena, uint8_t, (size_t)letters.count);
    const uint32_t *split = gs_data_in_order(rows, arena);
    if (tokens == NULL || vocabulary == NULL || split == NULL) {
        return gs_data_no_memory(file, err);
    }
    for (size_t i = 0; i < length; i++) {
        int token = letters.token_of[bytes[i]];
        if (token < 0) {
            return refuse_byte(file, i, bytes[i], config->vocabulary, err);
        }
        tokens[i] = (uint8_t)token;
    }
    for (int i = 0; i < letters.count; i++) {
        vocabulary[i] = letters.byte_of[i];
    }
    *out = (gs_dataset){.shape = {.input = {1, 1, config->context},
                                  .is_tokens = true,
                                  .kind = GS_ANSWER_CLASS,
                                  .answer_count = config->context,
                                  .answer_width = letters.count},
                        .row_count = rows,
                        .train_count = rows - test_count,
                        .test_count = test_count,
                        .tokens = tokens,
                        .input_stride = config->context,
                        .labels = tokens + 1,
                        .answer_stride = config->context,
                        .split = split,
                        .vocabulary = vocabulary};
    return GS_OK;
}

static gs_status read_all(const gs_text_config *config, const char *data_dir, gs_arena *file_arena,
                          gs_arena *arena, gs_dataset *out, gs_error *err)
{
    const char *file = config->file;
    const char *hint = "; paths are relative to the scenario that says them";
    const char *text = NULL;
    size_t length = 0;
    if (file[0] == '\0') {
        hint = "; the data directory holds models/data";
        GS_TRY(gs_data_file_bundled(data_dir, "text.txt", file_arena, &file, err));
    }
    GS_TRY(gs_data_file_read(file, hint, file_arena, &text, &length, err));
    return gs_text_parse(text, length, file, config, arena, out, err);
}

static gs_status read(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err)
{
    gs_arena file_arena;
    gs_arena_init(&file_arena);
    gs_status status = read_all(config, data_dir, &file_arena, arena, out, err);
    gs_arena_fini(&file_arena);
    return status;
}

static const char *const file_keys[] = {"file", NULL};

const gs_data_source gs_data_source_text = {
    .name = "text",
    .summary = "windows of a text, to predict the next character; one is bundled",
    .source = "bundled: King James Version of the Bible, 1611, public domain",
    .config_table = &table,
    .files = file_keys,
    .read = read,
};
