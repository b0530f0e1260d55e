#include "tools/table.h"

#include "base/assert.h"
#include "tools/message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct gs_table_cell {
    const char *text;
    const char *exact;
};

/* Code points that take two columns; the blocks of East Asian Width W and F that names use. */
static const uint32_t wide[][2] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

static size_t width_of(uint32_t point)
{
    bool combines = (point >= 0x300 && point <= 0x36f) || (point >= 0x200b && point <= 0x200f) ||
                    (point >= 0xfe00 && point <= 0xfe0f);
    if (combines) {
        return 0;
    }
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        if (point >= wide[i][0] && point <= wide[i][1]) {
            return 2;
        }
    }
    return 1;
}

/* Length of the UTF-8 sequence at text, 1 where there is none; *out_point is what it means. */
static size_t sequence_at(const unsigned char *text, uint32_t *out_point)
{
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc0 ? 2 : 1;
    *out_point = length == 1 ? text[0] : text[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            *out_point = text[0];
            return 1;
        }
        *out_point = *out_point << 6 | (text[i] & 0x3fU);
    }
    return length;
}

size_t gs_display_width(const char *text)
{
    size_t width = 0;
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        uint32_t point = 0;
        at += sequence_at(at, &point);
        width += width_of(point);
    }
    return width;
}

void gs_table_init(gs_table *table)
{
    memset(table, 0, sizeof *table);
    gs_arena_init(&table->texts);
}

void gs_table_fini(gs_table *table)
{
    free(table->cells);
    gs_arena_fini(&table->texts);
    memset(table, 0, sizeof *table);
}

void gs_table_add_column(gs_table *table, gs_table_column column)
{
    GS_ASSERT(table->column_count < GS_TABLE_COLUMNS_MAX);
    GS_ASSERT(table->cell_count == 0);
    table->columns[table->column_count++] = column;
}

void gs_table_add(gs_table *table, const char *text, const char *exact)
{
    if (table->cell_count == table->cell_capacity) {
        table->cell_capacity = table->cell_capacity == 0 ? 64 : 2 * table->cell_capacity;
        table->cells = gs_need(realloc(table->cells, table->cell_capacity * sizeof *table->cells));
    }
    gs_table_cell cell = {.text = gs_need(gs_arena_text(&table->texts, text))};
    cell.exact = exact == NULL ? cell.text : gs_need(gs_arena_text(&table->texts, exact));
    table->cells[table->cell_count++] = cell;
}

const char *gs_table_text(const gs_table *table, size_t index)
{
    GS_ASSERT(index < table->cell_count);
    return table->cells[index].text;
}

const char *gs_table_exact(const gs_table *table, size_t index)
{
    GS_ASSERT(index < table->cell_count);
    return table->cells[index].exact;
}

static void put_times(char what, size_t times, FILE *out)
{
    for (size_t i = 0; i < times; i++) {
        fputc(what, out);
    }
}

/* Control characters would break the lines of a terminal. */
static void put_visible(const char *text, FILE *out)
{
    for (const char *c = text; *c != '\0'; c++) {
        fputc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, out);
    }
}

/* One line of a text table without its end; texts [column_count]. */
static void put_row(const gs_table *table, const char *const *texts, const size_t *widths,
                    FILE *out)
{
    size_t owed = 0; /* spaces before the next text, so that no line ends in one */
    for (int c = 0; c < table->column_count; c++) {
        if (table->columns[c].title == NULL) {
            continue;
        }
        size_t gap = widths[c] - gs_display_width(texts[c]);
        owed += table->columns[c].right ? gap : 0;
        if (texts[c][0] != '\0') {
            put_times(' ', owed, out);
            put_visible(texts[c], out);
            owed = 0;
        }
        owed += (table->columns[c].right ? 0 : gap) + 3;
    }
}

static void print_text(const gs_table *table, bool bold, FILE *out)
{
    const size_t columns = (size_t)table->column_count;
    size_t widths[GS_TABLE_COLUMNS_MAX] = {0};
    const char *texts[GS_TABLE_COLUMNS_MAX] = {0};
    for (size_t c = 0; c < columns; c++) {
        texts[c] = table->columns[c].title == NULL ? "" : table->columns[c].title;
        widths[c] = gs_display_width(texts[c]);
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = gs_display_width(table->cells[i].text);
        widths[i % columns] = width > widths[i % columns] ? width : widths[i % columns];
    }
    fputs(bold ? "\033[1m" : "", out);
    put_row(table, texts, widths, out);
    fputs(bold ? "\033[0m\n" : "\n", out);
    for (size_t row = 0; row < table->cell_count; row += columns) {
        for (size_t c = 0; c < columns; c++) {
            texts[c] = table->cells[row + c].text;
        }
        put_row(table, texts, widths, out);
        fputc('\n', out);
    }
}

/* RFC 4180: quoted where it must be, quotes doubled. */
static void put_csv(const char *text, FILE *out)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        fputs(*c == '"' ? "\"" : "", out);
        fputc(*c, out);
    }
    fputc('"', out);
}

static void print_csv(const gs_table *table, FILE *out)
{
    const size_t columns = (size_t)table->column_count;
    for (size_t i = 0; i < columns + table->cell_count; i++) {
        const gs_table_column *column = &table->columns[i % columns];
        if (i % columns == 0) {
            fputs(i == 0 ? "" : "\n", out);
        }
        if (column->name != NULL) {
            fputs(i % columns == 0 ? "" : ",", out);
            put_csv(i < columns ? column->name : table->cells[i - columns].exact, out);
        }
    }
    fputc('\n', out);
}

static void put_markdown(const char *text, FILE *out)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '|' || *c == '\\' || *c == '<' || *c == '*' || *c == '_' || *c == '`') {
            fputc('\\', out);
        }
        fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    }
}

static void print_markdown(const gs_table *table, FILE *out)
{
    const size_t columns = (size_t)table->column_count;
    for (size_t i = 0; i < columns + table->cell_count; i++) {
        if (i == columns) {
            for (size_t c = 0; c < columns; c++) {
                const gs_table_column *column = &table->columns[c];
                fputs(column->title == NULL ? "" : column->right ? "|---:" : "|---", out);
            }
            fputs("|\n", out);
        }
        if (table->columns[i % columns].title != NULL) {
            fputs("| ", out);
            put_markdown(i < columns ? table->columns[i].title : table->cells[i - columns].text,
                         out);
            fputc(' ', out);
        }
        fputs(i % columns == columns - 1 ? "|\n" : "", out);
    }
}

void gs_table_print(const gs_table *table, gs_table_format format, bool bold, FILE *out)
{
    GS_ASSERT(table->column_count > 0);
    GS_ASSERT(table->cell_count % (size_t)table->column_count == 0);
    switch (format) {
    case GS_TABLE_TEXT:
        print_text(table, bold, out);
        break;
    case GS_TABLE_CSV:
        print_csv(table, out);
        break;
    case GS_TABLE_MARKDOWN:
        print_markdown(table, out);
        break;
    }
}
