/* One line of a ByteDance straggler trace (CSV): which column is what, and a row's numbers.
 *
 * Knows lines only; files are import_bytedance.c's. */
#ifndef GS_TRACES_BYTEDANCE_ROW_H
#define GS_TRACES_BYTEDANCE_ROW_H

#include "traces/op_trace.h"

enum { GS_BYTEDANCE_COLUMNS_MAX = 32 };

/* What each column of this file holds, told from its first line. */
typedef struct gs_bytedance_head {
    uint8_t fields[GS_BYTEDANCE_COLUMNS_MAX];
    uint32_t column_count;
} gs_bytedance_head;

/* Reads the first line, text [length] without its line end. Columns may stand in any order;
 * unknown ones are skipped. Errors: GS_EPARSE naming the column that is missing or twice there. */
GS_MUST_USE gs_status gs_bytedance_head_read(const char *text, size_t length,
                                             gs_bytedance_head *out, gs_error *err);

/* Reads a row; its type goes into `gather`. Errors: GS_EPARSE naming column, value and what is
 * allowed (the caller adds file and line), GS_ELIMIT, GS_ENOMEM. */
GS_MUST_USE gs_status gs_bytedance_row_read(const gs_bytedance_head *head, const char *text,
                                            size_t length, gs_op_gather *gather, gs_traced_op *out,
                                            gs_error *err);

#endif
