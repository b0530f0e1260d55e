#include "tools/page.h"

#include "tools/message.h"
#include "tools/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void need(bool done)
{
    static char something;
    gs_need(done ? &something : NULL);
}

void gs_page_init(gs_page *page, const char *kind, const char *table_key)
{
    *page = (gs_page){.kind = kind, .table_key = table_key};
    gs_table_init(&page->table);
    gs_table_init(&page->facts);
    gs_table_init(&page->notes);
    gs_table_add_column(&page->facts, (gs_table_column){.title = "", .name = "name"});
    gs_table_add_column(&page->facts, (gs_table_column){.title = "", .name = "value"});
    gs_table_add_column(&page->notes, (gs_table_column){.title = "", .name = "note"});
    page->document = gs_need(gs_json_new_object());
    page->note_list = gs_need(gs_json_new_list());
    char *schema = gs_text("gradsync.%s/1", kind);
    need(gs_json_set(page->document, "schema", gs_json_new_text(schema)));
    free(schema);
}

void gs_page_fini(gs_page *page)
{
    gs_table_fini(&page->table);
    gs_table_fini(&page->facts);
    gs_table_fini(&page->notes);
    gs_json_free(page->document);
    gs_json_free(page->note_list);
    *page = (gs_page){0};
}

void gs_page_fact(gs_page *page, const char *key, const char *label, const char *text,
                  gs_json *value)
{
    gs_table_add(&page->facts, label, key);
    gs_table_add(&page->facts, text, NULL);
    need(gs_json_set(page->document, key, value == NULL ? gs_json_new_text(text) : value));
}

void gs_page_note(gs_page *page, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    gs_table_add(&page->notes, text, NULL);
    need(gs_json_add(page->note_list, gs_json_new_text(text)));
}

static gs_json *cell_json(const gs_table *table, size_t index)
{
    const char *exact = gs_table_exact(table, index);
    if (!table->columns[index % (size_t)table->column_count].right) {
        return gs_json_new_text(exact);
    }
    char *end = NULL;
    double value = strtod(exact, &end);
    if (exact[0] == '\0' || *end != '\0') {
        return gs_json_new_null();
    }
    long long whole = strtoll(exact, &end, 10);
    return *end == '\0' ? gs_json_new_int(whole) : gs_json_new_real(value);
}

gs_json *gs_page_rows(const gs_table *table)
{
    gs_json *list = gs_need(gs_json_new_list());
    size_t columns = (size_t)table->column_count;
    for (size_t row = 0; row < table->cell_count; row += columns) {
        gs_json *object = gs_need(gs_json_new_object());
        for (size_t c = 0; c < columns; c++) {
            if (table->columns[c].name != NULL) {
                need(gs_json_set(object, table->columns[c].name, cell_json(table, row + c)));
            }
        }
        need(gs_json_add(list, object));
    }
    return list;
}

static void print_json(gs_page *page, FILE *out)
{
    if (page->table_key != NULL) {
        need(gs_json_set(page->document, page->table_key, gs_page_rows(&page->table)));
    }
    need(gs_json_set(page->document, "notes", page->note_list));
    page->note_list = NULL;
    char *text = gs_need(gs_json_write(page->document, true));
    fprintf(out, "%s\n", text);
    free(text);
}

/* "label  text" lines, labels in one width; a list in Markdown. */
static void print_facts(const gs_table *facts, bool markdown, FILE *out)
{
    size_t width = 0;
    for (size_t i = 0; i < facts->cell_count; i += 2) {
        size_t own = gs_display_width(gs_table_text(facts, i));
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < facts->cell_count; i += 2) {
        const char *label = gs_table_text(facts, i);
        int gap = (int)(width - gs_display_width(label));
        if (markdown) {
            fprintf(out, "- **%s**: %s\n", label, gs_table_text(facts, i + 1));
        } else {
            fprintf(out, "%s%*s  %s\n", label, gap, "", gs_table_text(facts, i + 1));
        }
    }
}

static void print_people(const gs_page *page, const gs_cli *cli, FILE *out)
{
    gs_table_format format = gs_cli_table_format(cli);
    bool markdown = format == GS_TABLE_MARKDOWN;
    bool parted = false;
    if (page->facts.cell_count > 0) {
        print_facts(&page->facts, markdown, out);
        parted = true;
    }
    if (page->table_key != NULL && page->table.cell_count > 0) {
        fputs(parted ? "\n" : "", out);
        gs_table_print(&page->table, format, cli->bold, out);
        parted = true;
    }
    for (size_t i = 0; i < page->notes.cell_count; i++) {
        fputs(parted && (i == 0 || markdown) ? "\n" : "", out);
        fprintf(out, "%s\n", gs_table_text(&page->notes, i));
        parted = true;
    }
}

int gs_page_print(gs_page *page, const gs_cli *cli)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    if (cli->flags.json) {
        print_json(page, output.text);
    } else if (cli->flags.csv) {
        bool rows = page->table_key != NULL && page->table.column_count > 0;
        gs_table_print(rows ? &page->table : &page->facts, GS_TABLE_CSV, false, output.text);
    } else {
        print_people(page, cli, output.text);
    }
    return gs_output_close(&output);
}
