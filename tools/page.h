/* A page of answers: facts, one table and closing sentences, printed as text, CSV, Markdown or JSON
 * from the same data. Texts are copied. Out of memory ends the program. */
#ifndef GS_TOOLS_PAGE_H
#define GS_TOOLS_PAGE_H

#include "base/json.h"
#include "tools/cli.h"

typedef struct gs_page {
    const char *kind;      /* "strategy", for JSON */
    const char *table_key; /* "parameters", for JSON; NULL: no table */
    gs_table table;
    gs_table facts; /* label, text */
    gs_table notes; /* sentences */
    gs_json *document;
    gs_json *note_list;
} gs_page;

void gs_page_init(gs_page *page, const char *kind, const char *table_key);
void gs_page_fini(gs_page *page);

/* key: for programs; label: for people. value: for JSON, taken; NULL: the text. */
void gs_page_fact(gs_page *page, const char *key, const char *label, const char *text,
                  gs_json *value);
void gs_page_note(gs_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints to where the flags say; an exit code. JSON: facts, the rows of the table as objects (cells
 * of right-aligned columns as numbers, empty ones as null), notes. CSV: the table, or the facts
 * where there is none. */
int gs_page_print(gs_page *page, const gs_cli *cli);

/* The rows of a table as a list of objects, as gs_page_print writes them. Owner: caller. */
gs_json *gs_page_rows(const gs_table *table);

#endif
