/* A comparison on paper: text, CSV and JSON through gs_page; Markdown for a pull request; the list
 * that github-action-benchmark reads. */
#ifndef GS_TOOLS_COMPARE_COMPARE_PAGE_H
#define GS_TOOLS_COMPARE_COMPARE_PAGE_H

#include "tools/compare/compare.h"
#include "tools/page.h"

#include <stdio.h>

/* A metric that is the same bit for bit and that no gate is about. */
bool gs_compare_is_quiet(const gs_compare_row *row);

/* all_rows: quiet ones too. comparison_id 0: not stored. */
void gs_compare_page(const gs_compare *compare, bool all_rows, int64_t comparison_id,
                     gs_page *page);

void gs_compare_markdown(const gs_compare *compare, FILE *out);

/* Values of the candidate as a list of {name, unit, value, range, extra}, of metrics that are
 * better when lower ("customSmallerIsBetter"). */
void gs_compare_benchmark(const gs_compare *compare, FILE *out);

/* Cells of a row, for people. Each returns out. */
enum { GS_COMPARE_CELL_BYTES = 160 };
char *gs_compare_side_text(const gs_compare_row *row, int side, char out[GS_COMPARE_CELL_BYTES]);
/* "+7.0 % [+5.2, +8.8]". */
char *gs_compare_change_text(const gs_compare_row *row, char out[GS_COMPARE_CELL_BYTES]);
char *gs_compare_p_text(double p, char out[GS_COMPARE_CELL_BYTES]);

/* "baseline:main (the baseline set last): 20 runs, commit 3f2a91c". Owner: caller, free(). */
char *gs_compare_side_words(const gs_compare_side *side);
/* "step_p50 <= +3 %, final_accuracy >= -0.002 (built in)". Owner: caller, free(). */
char *gs_compare_gate_words(const gs_compare *compare);
/* The gates for programs: a list of {metric, share or amount, from}. Owner: caller. */
gs_json *gs_compare_gate_json(const gs_compare *compare);
/* What configurations differ in, with "; " between; "same". Owner: caller, free(). */
char *gs_compare_difference_words(const gs_compare *compare);

#endif
