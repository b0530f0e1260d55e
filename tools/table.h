/* One table, printed for a terminal, as CSV or as Markdown.
 *
 * A cell has a text for people ("41.8 ms") and may have an exact one for programs ("41812345");
 * CSV prints the exact texts under machine names. Cells are filled row by row, from left to right.
 * Text columns align by display width. Out of memory ends the program. */
#ifndef GS_TOOLS_TABLE_H
#define GS_TOOLS_TABLE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

enum { GS_TABLE_COLUMNS_MAX = 48 };

typedef enum gs_table_format { GS_TABLE_TEXT, GS_TABLE_CSV, GS_TABLE_MARKDOWN } gs_table_format;

typedef struct gs_table_column {
    const char *title; /* for people; NULL: only in CSV */
    const char *name;  /* for programs, with its unit: "step_mean_ns"; NULL: not in CSV */
    bool right;        /* aligned; numbers are */
} gs_table_column;

typedef struct gs_table_cell gs_table_cell;

typedef struct gs_table {
    gs_table_column columns[GS_TABLE_COLUMNS_MAX];
    int column_count;
    gs_table_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
    gs_arena texts;
} gs_table;

void gs_table_init(gs_table *table);
void gs_table_fini(gs_table *table);
void gs_table_add_column(gs_table *table, gs_table_column column); /* texts are borrowed */
/* The next cell; texts are copied. exact NULL: as text. */
void gs_table_add(gs_table *table, const char *text, const char *exact);
/* A cell by its number; row r, column c is r * column_count + c. */
const char *gs_table_text(const gs_table *table, size_t index);
const char *gs_table_exact(const gs_table *table, size_t index);
/* bold: the titles of a text table. */
void gs_table_print(const gs_table *table, gs_table_format format, bool bold, FILE *out);

/* Columns that a terminal takes for a UTF-8 text; a byte that is no UTF-8 takes one. */
size_t gs_display_width(const char *text);

#endif
