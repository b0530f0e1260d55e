/* CSV files with a row for each step of each rank: a table of durations, for finding slow ranks.
 *
 * The header is step_csv_header.c's; here rows are read and put into a table. A value that is no
 * number is refused with its line and column, never taken as 0; an empty cell is a missing value.
 */
#include "traces/importers/importer.h"

#include "traces/importers/gzip_stream.h"
#include "traces/importers/import_notes.h"
#include "traces/importers/step_csv_header.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 64 * 1024,
    ROWS_MAX = 20 * 1000 * 1000,
    CELLS_MAX = 64 * 1000 * 1000, /* of the table; a sparse file must not fill the memory */
    FIRST_CAPACITY = 1024,
    RELATIVE_UNIT = 1000 /* gs_step_table.is_relative */
};

/* Ten days: what comes beyond is no duration of a step, and sums of such would overflow. */
static const double VALUE_MAX = 864e12;

typedef struct row {
    int64_t step;
    int32_t rank;
    uint32_t line;
    uint32_t file;
    int64_t parts[GS_STEP_PARTS];
} row;

typedef struct reader {
    const char *const *files;
    uint32_t file; /* index */
    const gs_import_options *options;
    gs_arena *arena;
    gs_import_notes notes;
    gs_error *err;
    gs_step_csv_header header;
    bool has_header;
    bool is_relative;
    unsigned recorded; /* parts of any file */
    row *rows;
    size_t row_count;
    size_t row_capacity;
    uint32_t line;
} reader;

static const char *file_of(const reader *in)
{
    return in->files[in->file];
}

static gs_status no_memory(const reader *in)
{
    return gs_fail(in->err, GS_ENOMEM, "%s: no memory to read it", in->files[0]);
}

/* Units of columns that carry none are those of the option. */
static gs_status settle_units(reader *in)
{
    gs_step_csv_header *header = &in->header;
    const char *word = in->options->time_unit;
    int64_t unit_ns = word == NULL ? 0 : gs_step_csv_unit(word);
    if (word != NULL && unit_ns == 0) {
        return gs_fail(in->err, GS_EINVAL,
                       "--time-unit: \"%s\" is no unit; allowed are ns, us, ms and s", word);
    }
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        if (header->part_columns[p] < 0) {
            continue;
        }
        in->recorded |= 1u << p;
        if (header->is_relative) {
            header->unit_ns[p] = RELATIVE_UNIT;
        } else if (header->unit_ns[p] == 0 && unit_ns == 0) {
            const char *name = gs_step_part_name((gs_step_part)p);
            return gs_fail(in->err, GS_EINVAL,
                           "%s: line %u: the column %s has no unit; call it %s_ms (ns, us, ms, s) "
                           "or say --time-unit ms",
                           file_of(in), in->line, name, name);
        } else if (header->unit_ns[p] == 0) {
            header->unit_ns[p] = unit_ns;
        }
    }
    if (in->file > 0 && header->is_relative != in->is_relative) {
        return gs_fail(in->err, GS_EMISMATCH, "%s has %s times, and %s has not: read them apart",
                       file_of(in), header->is_relative ? "relative" : "absolute", in->files[0]);
    }
    in->is_relative = header->is_relative;
    if (header->ignored[0] != '\0') {
        gs_import_notes_add(&in->notes, "%s: columns that are not used: %s", file_of(in),
                            header->ignored);
    }
    return GS_OK;
}

static gs_status bad_cell(const reader *in, const char *column, const char *cell,
                          const char *allowed)
{
    return gs_fail(in->err, GS_EPARSE, "%s: line %u: column %s: \"%.40s\" is not allowed; give %s",
                   file_of(in), in->line, column, cell, allowed);
}

static gs_status take_number(const reader *in, const char *column, const char *cell, int64_t most,
                             int64_t *out)
{
    char *end = NULL;
    double value = strtod(cell, &end);
    if (cell[0] == '\0' || *end != '\0' || !(value >= 0.0 && value <= (double)most) ||
        value != floor(value)) {
        return bad_cell(in, column, cell, "a whole number from 0 on");
    }
    *out = (int64_t)value;
    return GS_OK;
}

static gs_status take_time(const reader *in, gs_step_part part, const char *cell, int64_t *out)
{
    if (cell[0] == '\0') {
        return GS_OK;
    }
    char *end = NULL;
    double value = strtod(cell, &end) * (double)in->header.unit_ns[part];
    if (*end != '\0' || !(value >= 0.0 && value < VALUE_MAX)) {
        return bad_cell(in, gs_step_part_name(part), cell,
                        "a time of 0 to 10 days, or leave it empty");
    }
    *out = llround(value);
    return GS_OK;
}

static gs_status take_cell(const reader *in, int column, const char *cell, row *out)
{
    const gs_step_csv_header *header = &in->header;
    if (column == header->step_column) {
        return take_number(in, "step", cell, INT64_C(1) << 53, &out->step);
    }
    if (column == header->rank_column) {
        int64_t rank = 0;
        GS_TRY(take_number(in, "rank", cell, INT32_MAX, &rank));
        out->rank = (int32_t)rank;
        return GS_OK;
    }
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        if (column == header->part_columns[p]) {
            return take_time(in, (gs_step_part)p, cell, &out->parts[p]);
        }
    }
    return GS_OK;
}

static gs_status take_row(reader *in, char *text)
{
    row read = {.line = in->line, .file = in->file};
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        read.parts[p] = GS_STEP_MISSING;
    }
    int column = 0;
    char *at = text;
    for (char *cell = NULL; (cell = gs_step_csv_cell(&at, in->header.separator)) != NULL;) {
        GS_TRY(take_cell(in, column++, cell, &read));
    }
    if (column != in->header.column_count) {
        return gs_fail(in->err, GS_EPARSE, "%s: line %u: %d cells, but the header has %d",
                       file_of(in), in->line, column, in->header.column_count);
    }
    if (in->row_count == ROWS_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: line %u: more than %d rows", file_of(in), in->line,
                       ROWS_MAX);
    }
    if (in->row_count == in->row_capacity) {
        size_t wanted = in->row_capacity == 0 ? FIRST_CAPACITY : in->row_capacity * 2;
        row *grown = realloc(in->rows, wanted * sizeof *grown);
        if (grown == NULL) {
            return no_memory(in);
        }
        in->rows = grown;
        in->row_capacity = wanted;
    }
    in->rows[in->row_count++] = read;
    return GS_OK;
}

static gs_status take_line(reader *in, char *text)
{
    in->line++;
    size_t blank = strspn(text, " \t\r");
    if (text[blank] == '\0' || text[blank] == '#') {
        return GS_OK;
    }
    if (in->has_header) {
        return take_row(in, text);
    }
    in->has_header = true;
    if (!gs_step_csv_header_read(text, &in->header)) {
        return gs_fail(in->err, GS_EPARSE,
                       "%s: line %u: a header with columns such as step,rank,time_ms is wanted "
                       "(then also compute, input, wait, wire)",
                       file_of(in), in->line);
    }
    return settle_units(in);
}

static gs_status take_lines(reader *in, char *buffer, size_t *have)
{
    char *start = buffer;
    char *newline = NULL;
    while ((newline = memchr(start, '\n', *have - (size_t)(start - buffer))) != NULL) {
        *newline = '\0';
        GS_TRY(take_line(in, start));
        start = newline + 1;
    }
    *have -= (size_t)(start - buffer);
    memmove(buffer, start, *have);
    if (*have == LINE_BYTES) {
        return gs_fail(in->err, GS_ELIMIT, "%s: line %u is longer than %d KiB", file_of(in),
                       in->line + 1, LINE_BYTES / 1024);
    }
    return GS_OK;
}

static gs_status read_lines(reader *in, gs_gzip_stream *stream, char *buffer)
{
    size_t have = 0;
    for (bool at_end = false; !at_end;) {
        size_t got = 0;
        GS_TRY(gs_gzip_stream_read(stream, buffer + have, LINE_BYTES - have, &got, in->err));
        at_end = got == 0;
        if (memchr(buffer + have, '\0', got) != NULL) {
            return gs_fail(in->err, GS_EPARSE, "%s: line %u holds a zero byte: a binary file",
                           file_of(in), in->line + 1);
        }
        have += got;
        GS_TRY(take_lines(in, buffer, &have));
    }
    buffer[have] = '\0';
    return have == 0 ? GS_OK : take_line(in, buffer);
}

static gs_status read_file(reader *in)
{
    char *buffer = malloc(LINE_BYTES + 1);
    gs_gzip_stream *stream = NULL;
    size_t before = in->row_count;
    in->line = 0;
    in->has_header = false;
    gs_status status =
        buffer == NULL ? no_memory(in) : gs_gzip_stream_open(file_of(in), &stream, in->err);
    if (status == GS_OK) {
        status = read_lines(in, stream, buffer);
    }
    gs_gzip_stream_close(stream);
    free(buffer);
    if (status == GS_OK && in->row_count == before) {
        status = gs_fail(in->err, GS_EPARSE, "%s: no row of a step", file_of(in));
    }
    return status;
}

static int by_step_and_rank(const void *left, const void *right)
{
    const row *a = left;
    const row *b = right;
    if (a->step != b->step) {
        return (a->step > b->step) - (a->step < b->step);
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_rank(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left;
    int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* The ranks and steps that occur, ascending; rows are sorted. Owner: the arena. */
static gs_status list_axes(reader *in, gs_step_table *axes)
{
    int32_t *ranks = malloc(in->row_count * sizeof *ranks);
    if (ranks == NULL) {
        return no_memory(in);
    }
    for (size_t i = 0; i < in->row_count; i++) {
        ranks[i] = in->rows[i].rank;
        axes->step_count += i == 0 || in->rows[i].step != in->rows[i - 1].step ? 1 : 0;
    }
    qsort(ranks, in->row_count, sizeof *ranks, by_rank);
    for (size_t i = 0; i < in->row_count; i++) {
        if (i == 0 || ranks[i] != ranks[i - 1]) {
            ranks[axes->rank_count++] = ranks[i];
        }
    }
    int32_t *kept = GS_TAKE(in->arena, int32_t, axes->rank_count);
    int64_t *steps = GS_TAKE(in->arena, int64_t, axes->step_count);
    if (kept == NULL || steps == NULL) {
        free(ranks);
        return no_memory(in);
    }
    memcpy(kept, ranks, axes->rank_count * sizeof *kept);
    uint32_t at = 0;
    for (size_t i = 0; i < in->row_count; i++) {
        if (i == 0 || in->rows[i].step != in->rows[i - 1].step) {
            steps[at++] = in->rows[i].step;
        }
    }
    free(ranks);
    axes->ranks = kept;
    axes->steps = steps;
    return GS_OK;
}

/* What the others left of a step is the network's, where all the others are there. */
static bool has_remainder(const reader *in)
{
    unsigned others =
        1u << GS_STEP_TIME | 1u << GS_STEP_COMPUTE | 1u << GS_STEP_INPUT | 1u << GS_STEP_WAIT;
    return (in->recorded & others) == others && (in->recorded & 1u << GS_STEP_WIRE) == 0;
}

static bool add_remainder(int64_t *parts)
{
    int64_t left = parts[GS_STEP_TIME];
    for (int p = GS_STEP_COMPUTE; p <= GS_STEP_WAIT; p++) {
        if (parts[p] == GS_STEP_MISSING || left == GS_STEP_MISSING) {
            return true;
        }
        left -= parts[p] < left ? parts[p] : left;
    }
    int64_t sum = parts[GS_STEP_COMPUTE] / 2 + parts[GS_STEP_INPUT] / 2 + parts[GS_STEP_WAIT] / 2;
    parts[GS_STEP_WIRE] = left;
    return sum <= parts[GS_STEP_TIME] / 2 + parts[GS_STEP_TIME] / 1000 + 2;
}

static gs_status fill(reader *in, gs_step_table *table)
{
    uint32_t step = 0;
    uint32_t rank = 0;
    size_t too_long = 0;
    bool remainder = has_remainder(in);
    for (size_t i = 0; i < in->row_count; i++) {
        row *from = &in->rows[i];
        const row *before = i == 0 ? NULL : &in->rows[i - 1];
        if (before != NULL && before->step == from->step && before->rank == from->rank) {
            return gs_fail(in->err, GS_EPARSE,
                           "%s: line %u and %s: line %u are both step %" PRId64 " of rank %" PRId32
                           ": give each once",
                           in->files[before->file], before->line, in->files[from->file], from->line,
                           from->step, from->rank);
        }
        if (before != NULL && before->step != from->step) {
            step++;
            rank = 0;
        }
        while (table->ranks[rank] != from->rank) {
            rank++;
        }
        too_long += remainder && !add_remainder(from->parts) ? 1 : 0;
        for (int p = 0; p < GS_STEP_PARTS; p++) {
            if (table->parts[p] != NULL) {
                table->parts[p][(size_t)step * table->rank_count + rank] = from->parts[p];
            }
        }
    }
    if (too_long > 0) {
        gs_import_notes_add(&in->notes, "%zu rows: compute, input and wait exceed the time",
                            too_long);
    }
    return GS_OK;
}

/* Ranks that lack steps are told: the others' steps are compared without them. */
static void remark_missing(reader *in, const gs_step_table *table)
{
    for (uint32_t r = 0; r < table->rank_count; r++) {
        uint32_t count = 0;
        uint32_t last = 0;
        for (uint32_t s = 0; s < table->step_count; s++) {
            if (gs_step_table_get(table, GS_STEP_TIME, r, s) != GS_STEP_MISSING) {
                count++;
                last = s;
            }
        }
        if (count < table->step_count) {
            gs_import_notes_add(&in->notes,
                                "rank %" PRId32 " has %u of %u steps, the last is step %" PRId64,
                                table->ranks[r], count, table->step_count, table->steps[last]);
        }
    }
}

static gs_status make_table(reader *in, gs_imported *out)
{
    qsort(in->rows, in->row_count, sizeof *in->rows, by_step_and_rank);
    gs_step_table axes = {0};
    GS_TRY(list_axes(in, &axes));
    if ((uint64_t)axes.rank_count * axes.step_count > CELLS_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: %u ranks x %u steps; allowed are %d together",
                       in->files[0], axes.rank_count, axes.step_count, CELLS_MAX);
    }
    gs_step_table *table = GS_TAKE(in->arena, gs_step_table, 1);
    if (table == NULL) {
        return no_memory(in);
    }
    unsigned parts = in->recorded | (has_remainder(in) ? 1u << GS_STEP_WIRE : 0);
    GS_TRY(gs_step_table_make(axes.ranks, axes.rank_count, axes.steps, axes.step_count, parts,
                              in->arena, table, in->err));
    table->is_relative = in->is_relative;
    GS_TRY(fill(in, table));
    remark_missing(in, table);
    if (in->is_relative) {
        gs_import_notes_add(&in->notes, "times are relative: ratios can be told, durations cannot");
    }
    if (in->notes.out_of_memory) {
        return no_memory(in);
    }
    *out = (gs_imported){.format = "step_csv",
                         .step_table = table,
                         .notes = in->notes.items,
                         .note_count = in->notes.count};
    return GS_OK;
}

static gs_status read_step_csv(const char *const *files, size_t file_count,
                               const gs_import_options *options, gs_arena *arena, gs_imported *out,
                               gs_error *err)
{
    if (file_count > UINT32_MAX) {
        return gs_fail(err, GS_ELIMIT, "%zu files are too many", file_count);
    }
    reader in = {
        .files = files, .options = options, .arena = arena, .notes.arena = arena, .err = err};
    gs_status status = GS_OK;
    for (in.file = 0; in.file < file_count && status == GS_OK; in.file++) {
        status = read_file(&in);
    }
    if (status == GS_OK) {
        status = make_table(&in, out);
    }
    free(in.rows);
    return status;
}

static int probe_step_csv(const char *head, size_t head_bytes, const char *file)
{
    (void)head_bytes;
    (void)file;
    while (*head != '\0' && head[strspn(head, " \t\r")] != '\0' &&
           strchr("#\n", head[strspn(head, " \t\r")]) != NULL) {
        const char *newline = strchr(head, '\n');
        if (newline == NULL) {
            return 0;
        }
        head = newline + 1;
    }
    char line[1024];
    size_t length = strcspn(head, "\n");
    if (length >= sizeof line) {
        return 0;
    }
    memcpy(line, head, length);
    line[length] = '\0';
    gs_step_csv_header header;
    return gs_step_csv_header_read(line, &header) ? 85 : 0;
}

const gs_importer gs_importer_step_csv = {
    .name = "step_csv",
    .summary = "CSV of steps: step, rank, time_ms and, where known, compute, input, wait, wire",
    .source = "gradsync; also mini-batch-time of alibaba/clusterdata cluster-trace-gpu-v2020",
    .probe = probe_step_csv,
    .read = read_step_csv,
};
