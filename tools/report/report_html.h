/* HTML of a report: escaped texts, accessible tables, figures within the page. */
#ifndef GS_TOOLS_REPORT_REPORT_HTML_H
#define GS_TOOLS_REPORT_REPORT_HTML_H

#include "tools/table.h"

#include <stdio.h>

/* A text as content or attribute value: nothing in it is markup. Control characters become '?'. */
void gs_html_text(const char *text, FILE *out);
/* Likewise, made by a printf. */
void gs_html_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* With a caption, headers that say what they are of, and room to scroll sideways. */
void gs_html_table(const gs_table *table, const char *caption, FILE *out);

/* An SVG that gnuplot has drawn, without its prologue; `number` keeps its names apart from those of
 * other figures of the page. */
void gs_html_svg(const char *svg, unsigned number, const char *title, FILE *out);

/* A text that opens on demand, without scripts: data of a figure, a file. */
void gs_html_details(const char *summary, const char *text, FILE *out);

/* Head of the page up to its main part, and its end. Everything is in it: the page asks no server
 * for anything, and its policy forbids it. */
void gs_html_begin(const char *title, FILE *out);
void gs_html_end(FILE *out);

/* The style sheet. */
extern const char gs_report_style[];

#endif
