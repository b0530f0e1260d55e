#include "models/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"

enum {
    SIDE = 8,
    PIXEL_COUNT = SIDE * SIDE,
    PIXEL_MAX = 16,
    CLASS_COUNT = 10,
    TEST_SHARE = 5, /* one row in that many */
    ENTITY_EPOCH = 0,
    ENTITY_SPLIT = 1,
    PATH_BYTES = 4096
};

const char *const gs_dataset_names[] = {"digits", NULL};

/* Fisher and Yates. The draw maps 32 random bits to 0..i by multiplication; no row is favoured by
 * more than count / 2^32, which no experiment sees. */
static void shuffle(gs_rng_key key, uint64_t step, uint32_t *rows, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        uint64_t bits = gs_rng_bits(key, step, (uint32_t)i) >> 32;
        uint64_t j = (bits * ((uint64_t)i + 1)) >> 32;
        uint32_t kept = rows[i];
        rows[i] = rows[j];
        rows[j] = kept;
    }
}

static gs_status no_memory(const char *file, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: out of memory for its rows", file);
}

/* Where parsing stands; line counts from 1. */
typedef struct cursor {
    const char *at, *end; /* end: of the text */
    const char *file;
    int64_t line;
} cursor;

/* One row, to its line end. Counts columns first: a shifted row says so, instead of blaming a
 * value. */
static gs_status check_columns(const cursor *in, const char *line_end, gs_error *err)
{
    int columns = 1;
    for (const char *c = in->at; c < line_end; c++) {
        columns += *c == ',';
    }
    if (columns != PIXEL_COUNT + 1) {
        return gs_fail(err, GS_EPARSE,
                       "%s: line %lld: %d columns; a row is %d pixels and a label, with commas "
                       "between them",
                       in->file, (long long)in->line, columns, (int)PIXEL_COUNT);
    }
    return GS_OK;
}

static gs_status refuse_cell(const cursor *in, int column, const char *cell, int length,
                             gs_error *err)
{
    bool is_label = column > PIXEL_COUNT;
    char shown[24];
    int used = 0;
    for (; used < length && used < (int)sizeof shown - 1; used++) {
        bool is_printable = cell[used] >= ' ' && cell[used] <= '~';
        shown[used] = (char)(is_printable ? cell[used] : '?');
    }
    shown[used] = '\0';
    return gs_fail(err, GS_EPARSE,
                   "%s: line %lld: column %d: %s \"%s\" is no whole number in 0..%d", in->file,
                   (long long)in->line, column, is_label ? "label" : "pixel", shown,
                   is_label ? CLASS_COUNT - 1 : PIXEL_MAX);
}

/* Reads the cell [cell, cell_end) of 1-based column. */
static gs_status read_cell(const cursor *in, int column, const char *cell, const char *cell_end,
                           int *out, gs_error *err)
{
    int maximum = column > PIXEL_COUNT ? CLASS_COUNT - 1 : PIXEL_MAX;
    int value = 0;
    bool is_good = cell < cell_end;
    for (const char *c = cell; c < cell_end && is_good; c++) {
        is_good = *c >= '0' && *c <= '9';
        value = is_good ? value * 10 + (*c - '0') : value;
        is_good = is_good && value <= maximum;
    }
    if (!is_good) {
        ptrdiff_t length = cell_end - cell;
        return refuse_cell(in, column, cell, length < 100 ? (int)length : 100, err);
    }
    *out = value;
    return GS_OK;
}

/* Reads one row into inputs and label, and moves past its line end. */
static gs_status read_row(cursor *in, float *inputs, uint8_t *label, gs_error *err)
{
    const char *line_end = memchr(in->at, '\n', (size_t)(in->end - in->at));
    if (line_end == NULL) {
        line_end = in->end;
    }
    GS_TRY(check_columns(in, line_end, err));
    const char *cell = in->at;
    for (int column = 1; column <= PIXEL_COUNT + 1; column++) {
        const char *cell_end = memchr(cell, ',', (size_t)(line_end - cell));
        if (cell_end == NULL) {
            cell_end = line_end;
        }
        int value = 0;
        GS_TRY(read_cell(in, column, cell, cell_end, &value, err));
        if (column <= PIXEL_COUNT) {
            inputs[column - 1] = (float)value / (float)PIXEL_MAX;
        } else {
            *label = (uint8_t)value;
        }
        cell = cell_end < line_end ? cell_end + 1 : line_end;
    }
    in->at = line_end < in->end ? line_end + 1 : in->end;
    in->line++;
    return GS_OK;
}

static int64_t count_lines(const char *text, size_t length)
{
    int64_t lines = 0;
    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
    }
    return lines + (length > 0 && text[length - 1] != '\n');
}

gs_status gs_digits_parse(const char *text, size_t length, const char *file, gs_arena *arena,
                          gs_dataset *out, gs_error *err)
{
    if (length > GS_DATASET_BYTES_MAX) {
        return gs_fail(err, GS_ELIMIT, "%s: larger than %d bytes", file, (int)GS_DATASET_BYTES_MAX);
    }
    int64_t rows = count_lines(text, length);
    if (rows < 2) {
        return gs_fail(err, GS_EPARSE,
                       "%s: %s; at least two rows are needed, one to train and one to test with",
                       file, rows == 0 ? "empty" : "a single row");
    }
    float *inputs = GS_TAKE(arena, float, (size_t)rows *PIXEL_COUNT);
    uint8_t *labels = GS_TAKE(arena, uint8_t, (size_t)rows);
    uint32_t *split = GS_TAKE(arena, uint32_t, (size_t)rows);
    if (inputs == NULL || labels == NULL || split == NULL) {
        return no_memory(file, err);
    }
    cursor in = {.at = text, .end = text + length, .file = file, .line = 1};
    for (int64_t i = 0; i < rows; i++) {
        GS_TRY(read_row(&in, inputs + i * PIXEL_COUNT, &labels[i], err));
        split[i] = (uint32_t)i;
    }
    gs_rng_key key = {.seed = 0, .purpose = GS_RNG_DATA, .entity = ENTITY_SPLIT};
    shuffle(key, 0, split, rows);
    int64_t test_count = (rows + TEST_SHARE - 1) / TEST_SHARE;
    *out = (gs_dataset){.shape = {.input = {1, SIDE, SIDE},
                                  .kind = GS_ANSWER_CLASS,
                                  .answer_count = 1,
                                  .answer_width = CLASS_COUNT},
                        .row_count = rows,
                        .train_count = rows - test_count,
                        .test_count = test_count,
                        .inputs = inputs,
                        .labels = labels,
                        .split = split};
    return GS_OK;
}

/* All of an open file in memory of the arena. */
static gs_status read_stream(FILE *stream, const char *file, gs_arena *arena, const char **out_text,
                             size_t *out_length, gs_error *err)
{
    long bytes = fseek(stream, 0, SEEK_END) == 0 ? ftell(stream) : -1;
    if (bytes > GS_DATASET_BYTES_MAX) {
        return gs_fail(err, GS_ELIMIT, "%s: larger than %d bytes", file, (int)GS_DATASET_BYTES_MAX);
    }
    size_t length = bytes > 0 ? (size_t)bytes : 0;
    char *text = gs_arena_take(arena, length, 1);
    if (text == NULL) {
        return no_memory(file, err);
    }
    if (bytes < 0 || fseek(stream, 0, SEEK_SET) != 0 || fread(text, 1, length, stream) != length) {
        return gs_fail(err, GS_EIO, "%s: cannot be read", file);
    }
    *out_text = text;
    *out_length = length;
    return GS_OK;
}

static gs_status read_text(const char *file, gs_arena *arena, const char **out_text,
                           size_t *out_length, gs_error *err)
{
    FILE *stream = fopen(file, "rb");
    if (stream == NULL) {
        return gs_fail(err, GS_ENOTFOUND,
                       "%s: cannot be opened; the data directory holds models/data", file);
    }
    gs_status status = read_stream(stream, file, arena, out_text, out_length, err);
    fclose(stream);
    return status;
}

gs_status gs_dataset_read(size_t index, const char *data_dir, gs_arena *arena, gs_dataset *out,
                          gs_error *err)
{
    GS_ASSERT(index + 1 < sizeof gs_dataset_names / sizeof gs_dataset_names[0]);
    char file[PATH_BYTES];
    int used =
        snprintf(file, sizeof file, "%s/models/data/%s.csv", data_dir, gs_dataset_names[index]);
    if (used < 0 || (size_t)used >= sizeof file) {
        return gs_fail(err, GS_ELIMIT, "%.80s...: path of the data directory is too long",
                       data_dir);
    }
    /* The text is needed only until it is parsed, so it does not stay in the caller's arena. */
    gs_arena text_arena;
    gs_arena_init(&text_arena);
    const char *text = NULL;
    size_t length = 0;
    gs_status status = read_text(file, &text_arena, &text, &length, err);
    if (status == GS_OK) {
        status = gs_digits_parse(text, length, file, arena, out, err);
    }
    gs_arena_fini(&text_arena);
    return status;
}

gs_status gs_sample_order_init(gs_sample_order *order, const gs_dataset *dataset, uint64_t seed,
                               gs_arena *arena)
{
    *order = (gs_sample_order){.dataset = dataset, .seed = seed};
    for (int i = 0; i < GS_SAMPLE_ORDER_EPOCHS; i++) {
        order->epochs[i] = -1;
    }
    order->rows = GS_TAKE(arena, uint32_t, (size_t)dataset->train_count * GS_SAMPLE_ORDER_EPOCHS);
    return order->rows == NULL ? GS_ENOMEM : GS_OK;
}

uint32_t gs_sample_order_row(gs_sample_order *order, int64_t position)
{
    GS_ASSERT(position >= 0);
    int64_t count = order->dataset->train_count;
    int64_t epoch = position / count;
    int64_t slot = epoch % GS_SAMPLE_ORDER_EPOCHS;
    uint32_t *rows = order->rows + slot * count;
    if (order->epochs[slot] != epoch) {
        gs_rng_key key = {.seed = order->seed, .purpose = GS_RNG_DATA, .entity = ENTITY_EPOCH};
        memcpy(rows, order->dataset->split, (size_t)count * sizeof *rows);
        shuffle(key, (uint64_t)epoch, rows, count);
        order->epochs[slot] = epoch;
    }
    return rows[position % count];
}
