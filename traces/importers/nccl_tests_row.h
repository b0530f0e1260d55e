/* One line of nccl-tests output: what kind of line it is and the numbers of a table row.
 *
 * Knows lines only; files, runs and collectives are import_nccl_tests.c's. */
#ifndef GS_TRACES_NCCL_TESTS_ROW_H
#define GS_TRACES_NCCL_TESTS_ROW_H

#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gs_nccl_line_kind {
    GS_NCCL_OTHER,
    GS_NCCL_ROW,        /* size, count, type, then 4 or 8 columns */
    GS_NCCL_BROKEN_ROW, /* starts like a row and is none: reason says why */
    GS_NCCL_RUN,        /* "# nThread ...": a run begins */
    GS_NCCL_NAMED,      /* "# Collective test starting: NAME" */
    GS_NCCL_RANK,       /* "#  Rank  0 ... Pid 1 on HOST device  0 [bus] DEVICE" */
    GS_NCCL_TABLE,      /* the table's head, which names algbw and busbw */
    GS_NCCL_FAILURE     /* "Test NCCL failure ..." */
} gs_nccl_line_kind;

/* A number as printed: the true value lies within half of its last digit. */
typedef struct gs_nccl_printed {
    double value;
    double half;
} gs_nccl_printed;

typedef struct gs_nccl_line {
    gs_nccl_line_kind kind;
    int64_t bytes;            /* of a row */
    gs_nccl_printed time_us;  /* out of place */
    gs_nccl_printed alg_gbps; /* 1e9 bytes a second */
    gs_nccl_printed bus_gbps;
    int64_t rank;      /* of a rank line */
    const char *text;  /* collective, host or failure; into the line */
    const char *extra; /* device of a rank line; reason of a broken row */
} gs_nccl_line;

/* Reads one line (terminated, without its newline), which is cut apart in place: launcher prefixes
 * ("[1,0]<stdout>:", "0: ", "node-1: ") and a carriage return are taken off first. */
void gs_nccl_line_read(char *line, gs_nccl_line *out);

/* Whether algbw is size over time as far as the printed digits tell. */
bool gs_nccl_row_holds(const gs_nccl_line *row);

#endif
