#include "tools/report/report_html.h"

#include "tools/message.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_BYTES = 40 };

void gs_html_text(const char *text, FILE *out)
{
    for (const char *c = text; *c != '\0'; c++) {
        switch (*c) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc((unsigned char)*c < ' ' && *c != '\n' && *c != '\t' ? '?' : *c, out);
        }
    }
}

void gs_html_printf(FILE *out, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = gs_need(open_memstream(&text, &bytes));
    va_start(arguments, format);
    vfprintf(memory, format, arguments);
    va_end(arguments);
    fclose(memory);
    gs_html_text(gs_need(text), out);
    free(text);
}

/* ---------------------------------------------------------------- tables */

/* Sentences may wrap; a value that does is hard to read. */
static const char *class_of(const gs_table *table, size_t index, int column)
{
    return table->columns[column].right                           ? " class=\"number\""
           : strlen(gs_table_text(table, index)) > SENTENCE_BYTES ? " class=\"sentence\""
                                                                  : "";
}

static void put_cell(const gs_table *table, size_t index, int column, bool heads_row, FILE *out)
{
    fprintf(out, "<%s%s>", heads_row ? "th scope=\"row\"" : "td", class_of(table, index, column));
    gs_html_text(gs_table_text(table, index), out);
    fputs(heads_row ? "</th>" : "</td>", out);
}

void gs_html_table(const gs_table *table, const char *caption, FILE *out)
{
    fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
    gs_html_text(caption, out);
    fputs("\">\n<table>\n<caption>", out);
    gs_html_text(caption, out);
    fputs("</caption>\n<thead><tr>", out);
    for (int column = 0; column < table->column_count; column++) {
        if (table->columns[column].title != NULL) {
            fprintf(out, "<th scope=\"col\"%s>",
                    table->columns[column].right ? " class=\"number\"" : "");
            gs_html_text(table->columns[column].title, out);
            fputs("</th>", out);
        }
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    size_t columns = (size_t)table->column_count;
    for (size_t row = 0; row + columns <= table->cell_count; row += columns) {
        bool heads_row = true;
        fputs("<tr>", out);
        for (int column = 0; column < table->column_count; column++) {
            if (table->columns[column].title != NULL) {
                put_cell(table, row + (size_t)column, column, heads_row, out);
                heads_row = false;
            }
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
}

/* ---------------------------------------------------------------- figures */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Length of what names an element in a tag: id='x', href='#x', url(#x); 0: nothing does. */
static size_t name_at(const char *text)
{
    static const char *const openings[] = {"id='", "id=\"", "href='#", "href=\"#", "url(#"};
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        if (starts(text, openings[i])) {
            return strlen(openings[i]);
        }
    }
    return 0;
}

/* Titles of gnuplot's own would show up as tips and be read aloud. */
static const char *skip_title(const char *text)
{
    const char *end = starts(text, "<title>") ? strstr(text, "</title>") : NULL;
    return end == NULL ? text : end + strlen("</title>");
}

void gs_html_svg(const char *svg, unsigned number, const char *title, FILE *out)
{
    const char *start = strstr(svg, "<svg");
    const char *box = start == NULL ? NULL : strstr(start, "viewBox=\"");
    const char *at = start == NULL ? NULL : strchr(start, '>');
    if (box == NULL || at == NULL) {
        gs_complain("report: gnuplot has drawn no SVG; install another version of it");
        return;
    }
    box += strlen("viewBox=\"");
    int width = 0;
    int height = 0;
    if (sscanf(box, "0 0 %d %d", &width, &height) != 2) {
        width = height = 0;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\""
            " viewBox=\"%.*s\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"",
            (int)strcspn(box, "\""), box, width, height);
    gs_html_text(title, out);
    fputs("\">", out);
    bool is_in_tag = false;
    for (at++; *at != '\0'; at++) {
        at = is_in_tag ? at : skip_title(at);
        size_t length = is_in_tag ? name_at(at) : 0;
        if (length > 0) {
            fprintf(out, "%.*sf%u-", (int)length, at, number);
            at += length - 1;
            continue;
        }
        is_in_tag = *at == '<' || (is_in_tag && *at != '>');
        fputc(*at, out);
    }
    fputc('\n', out);
}

void gs_html_details(const char *summary, const char *text, FILE *out)
{
    fputs("<details><summary>", out);
    gs_html_text(summary, out);
    fputs("</summary>\n<pre tabindex=\"0\">", out);
    gs_html_text(text, out);
    fputs("</pre></details>\n", out);
}

/* ---------------------------------------------------------------- page */

void gs_html_begin(const char *title, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; img-src data:\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    gs_html_text(title, out);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", gs_report_style);
    fputs("<a class=\"skip\" href=\"#main\">Skip to the answer</a>\n", out);
}

void gs_html_end(FILE *out)
{
    fputs("</body>\n</html>\n", out);
}
