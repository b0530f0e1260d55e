#include "models/dataset_digits.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "models/dataset_file.h"
#include "models/dataset_random.h"
#include "models/dataset_source.h"

enum { SIDE = 8, PIXEL_COUNT = SIDE * SIDE, PIXEL_MAX = 16, CLASS_COUNT = 10 };

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
    int64_t rows = count_lines(text, length);
    if (rows < 2) {
        return gs_fail(err, GS_EPARSE,
                       "%s: %s; at least two rows are needed, one to train and one to test with",
                       file, rows == 0 ? "empty" : "a single row");
    }
    int64_t test_count = 0;
    float *inputs = GS_TAKE(arena, float, (size_t)rows *PIXEL_COUNT);
    uint8_t *labels = GS_TAKE(arena, uint8_t, (size_t)rows);
    const uint32_t *split = gs_data_split(rows, arena, &test_count);
    if (inputs == NULL || labels == NULL || split == NULL) {
        return gs_data_no_memory(file, err);
    }
    cursor in = {.at = text, .end = text + length, .file = file, .line = 1};
    for (int64_t i = 0; i < rows; i++) {
        GS_TRY(read_row(&in, inputs + i * PIXEL_COUNT, &labels[i], err));
    }
    *out = (gs_dataset){.shape = {.input = {1, SIDE, SIDE},
                                  .kind = GS_ANSWER_CLASS,
                                  .answer_count = 1,
                                  .answer_width = CLASS_COUNT},
                        .row_count = rows,
                        .train_count = rows - test_count,
                        .test_count = test_count,
                        .inputs = inputs,
                        .input_stride = PIXEL_COUNT,
                        .labels = labels,
                        .answer_stride = 1,
                        .split = split};
    return GS_OK;
}

static gs_status read(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err)
{
    (void)config;
    /* The text is needed only until it is parsed, so it does not stay in the caller's arena. */
    gs_arena text_arena;
    gs_arena_init(&text_arena);
    const char *file = NULL;
    const char *text = NULL;
    size_t length = 0;
    gs_status status = gs_data_file_bundled(data_dir, "digits.csv", &text_arena, &file, err);
    if (status == GS_OK) {
        status = gs_data_file_read(file, "; the data directory holds models/data", &text_arena,
                                   &text, &length, err);
    }
    if (status == GS_OK) {
        status = gs_digits_parse(text, length, file, arena, out, err);
    }
    gs_arena_fini(&text_arena);
    return status;
}

static const gs_field_table table = {.name = "digits"};

const gs_data_source gs_data_source_digits = {
    .name = "digits",
    .summary = "1,797 handwritten digits of 8 x 8 pixels, bundled",
    .source = "Alpaydin and Kaynak, UCI Machine Learning Repository, 1998",
    .config_table = &table,
    .read = read,
};
