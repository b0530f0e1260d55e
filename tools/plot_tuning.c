/* plot busbw of a scenario: the bus bandwidth of every algorithm and protocol against size, by the
 * table of show collective. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/message.h"
#include "tools/output.h"
#include "tools/plot.h"
#include "tools/show.h"

enum { LINES_MAX = 64 };

/* Columns of the table by their names for programs. */
typedef struct columns {
    int bytes, algorithm, protocol, time, busbw;
} columns;

typedef struct lines {
    const gs_table *table;
    columns at;
    size_t row_count;
    char *names[LINES_MAX]; /* "ring ll128" */
    uint32_t count;
} lines;

static int column_of(const gs_table *table, const char *name)
{
    int column = 0;
    while (column + 1 < table->column_count && strcmp(table->columns[column].name, name) != 0) {
        column++;
    }
    return column;
}

static const char *cell(const lines *of, size_t row, int column)
{
    return gs_table_exact(of->table, row * (size_t)of->table->column_count + (size_t)column);
}

static char *name_of(const lines *of, size_t row)
{
    const char *protocol = cell(of, row, of->at.protocol);
    bool has_protocol = strcmp(protocol, "-") != 0;
    return gs_text("%s%s%s", cell(of, row, of->at.algorithm), has_protocol ? " " : "",
                   has_protocol ? protocol : "");
}

/* In the order in which the table names them; what comes after so many has none. */
static uint32_t line_of(lines *of, size_t row)
{
    char *name = name_of(of, row);
    uint32_t line = 0;
    while (line < of->count && strcmp(of->names[line], name) != 0) {
        line++;
    }
    if (line == of->count && of->count < LINES_MAX) {
        of->names[of->count++] = name;
    } else {
        free(name);
    }
    return line;
}

/* Line after line, so that each is drawn in one go. */
static void put_data(const lines *of, const uint32_t *line_of_row, FILE *csv)
{
    fputs("line,name,bytes,time_ns,busbw_gbyte_per_s\n", csv);
    for (uint32_t line = 0; line < of->count; line++) {
        for (size_t row = 0; row < of->row_count; row++) {
            if (line_of_row[row] != line) {
                continue;
            }
            fprintf(csv, "%" PRIu32 ",", line);
            gs_plot_field(of->names[line], csv);
            fprintf(csv, ",%s,%s,%.6g\n", cell(of, row, of->at.bytes), cell(of, row, of->at.time),
                    strtod(cell(of, row, of->at.busbw), NULL) / 8e9);
        }
    }
}

static void put_script(const lines *of, const gs_cli *cli, gs_plot *plot)
{
    enum { PIXELS = 480, KEY_PIXELS = 24 };
    FILE *out = plot->script;
    /* A kind, a scenario, or both. */
    bool has_two = cli->word_count > 2 && strchr(cli->words[2], '=') == NULL;
    char *title = gs_text("bus bandwidth against size, %s%s%s", cli->words[1],
                          has_two ? " of " : "", has_two ? cli->words[2] : "");
    fputs("set title ", out);
    gs_plot_quote(title, out);
    free(title);
    fputs("\nset logscale x 2\n"
          "set format x '%.0b %BB'\n"
          "set xlabel 'size'\n"
          "set ylabel 'bus bandwidth, GB/s'\n"
          "set yrange [0:*]\n"
          "set xtics rotate by -35\n",
          out);
    plot->width = 1280;
    if (plot->file != NULL) {
        plot->height = PIXELS + KEY_PIXELS * (int)of->count;
        fputs("set key below vertical maxcols 1 Left reverse\nset rmargin 9\n", out);
    }
    fputs("plot ", out);
    for (uint32_t i = 0; i < of->count; i++) {
        fprintf(out,
                "%s skip 1 using ($1 == %" PRIu32 " ? $3 : NaN):5 with linespoints lw 2 dt %" PRIu32
                " pt 7 ps 0.5 lc rgb '%s' title ",
                plot->data, i, 1 + i / GS_PLOT_COLORS, gs_plot_color(i));
        gs_plot_quote(of->names[i], out);
        fputs(i + 1 < of->count ? ", \\\n     " : "\n", out);
    }
}

static int print_table(const gs_cli *cli, const gs_table *table)
{
    gs_output output;
    int code = gs_output_open(&output, "-");
    if (code == GS_EXIT_OK) {
        gs_table_print(table, GS_TABLE_TEXT, cli->bold, output.text);
        code = gs_output_close(&output);
    }
    return code;
}

static bool has_bandwidth(const lines *of)
{
    for (size_t row = 0; row < of->row_count; row++) {
        if (cell(of, row, of->at.busbw)[0] != '\0') {
            return true;
        }
    }
    return false;
}

static int fill(const gs_cli *cli, const gs_page *page, gs_plot *plot)
{
    const gs_table *table = &page->table;
    lines of = {.table = table,
                .at = {.bytes = column_of(table, "bytes"),
                       .algorithm = column_of(table, "algorithm"),
                       .protocol = column_of(table, "protocol"),
                       .time = column_of(table, "time_ns"),
                       .busbw = column_of(table, "busbw_bps")},
                .row_count = table->cell_count / (size_t)table->column_count};
    if (!has_bandwidth(&of)) {
        gs_complain("plot busbw: one rank sends nothing and has no bandwidth; give two or more");
        return GS_EXIT_USAGE;
    }
    uint32_t *line_of_row = gs_need(calloc(of.row_count + 1, sizeof *line_of_row));
    for (size_t row = 0; row < of.row_count; row++) {
        line_of_row[row] = line_of(&of, row);
    }
    put_data(&of, line_of_row, plot->csv);
    put_script(&of, cli, plot);
    free(line_of_row);
    for (uint32_t i = 0; i < of.count; i++) {
        free(of.names[i]);
    }
    return print_table(cli, table);
}

int gs_plot_tuning(const gs_cli *cli, gs_plot *plot)
{
    gs_cli asked = *cli;
    if (asked.flags.size[0] == '\0') {
        snprintf(asked.flags.size, sizeof asked.flags.size, "1KiB..1GiB");
    }
    gs_page page;
    gs_page_init(&page, "collective", NULL);
    int code = gs_show_tuning(&page, &asked);
    code = code == GS_EXIT_OK ? fill(cli, &page, plot) : code;
    gs_page_fini(&page);
    return code;
}
