/* The header of a CSV file of steps: which column is what, and in which unit. Knows no rows. */
#ifndef GS_TRACES_STEP_CSV_HEADER_H
#define GS_TRACES_STEP_CSV_HEADER_H

#include "base/status.h"
#include "traces/step_table.h"

#include <stddef.h>

enum { GS_STEP_CSV_COLUMNS_MAX = 64 };

typedef struct gs_step_csv_header {
    char separator;
    int column_count;
    int step_column; /* -1: none */
    int rank_column;
    int part_columns[GS_STEP_PARTS]; /* -1: none */
    int64_t unit_ns[GS_STEP_PARTS];  /* 0: the name carries no unit */
    bool is_relative;                /* batch_time_norm: times without a unit */
    char ignored[128];               /* names of other columns, "" where there are none */
} gs_step_csv_header;

/* ns of "ns", "us", "ms" or "s"; 0: another word. */
int64_t gs_step_csv_unit(const char *word);

/* Reads a terminated line; text is cut into cells. false: no columns of steps, ranks and times, or
 * rows of single operations (a column optype), or too many columns. */
bool gs_step_csv_header_read(char *text, gs_step_csv_header *out);

/* Cuts the next cell off *at at the separator; blanks and double quotes around it are dropped. NULL
 * at the end of the line. */
char *gs_step_csv_cell(char **at, char separator);

#endif
