#include <criterion/criterion.h>

#include "tools/table.h"

#include <stdlib.h>
#include <string.h>

static void fill(gs_table *table)
{
    gs_table_init(table);
    gs_table_add_column(table, (gs_table_column){"name", "name", false});
    gs_table_add_column(table, (gs_table_column){"time", "time_ns", true});
    gs_table_add_column(table, (gs_table_column){NULL, "sd_ns", true});
    gs_table_add_column(table, (gs_table_column){"note", NULL, false});
    gs_table_add(table, "plain", NULL);
    gs_table_add(table, "1 ms", "1000000");
    gs_table_add(table, "", "12.5");
    gs_table_add(table, "", NULL);
    gs_table_add(table, "a,\"b\"|c", NULL);
    gs_table_add(table, "10 ms", "10000000");
    gs_table_add(table, "", "");
    gs_table_add(table, "odd", NULL);
}

static void expect(gs_table_format format, bool bold, const char *wanted)
{
    gs_table table;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_not_null(out);
    fill(&table);
    gs_table_print(&table, format, bold, out);
    fclose(out);
    gs_table_fini(&table);
    cr_assert_str_eq(text, wanted);
    free(text);
}

Test(table, text_aligns_numbers_right_and_leaves_no_space_at_the_end)
{
    expect(GS_TABLE_TEXT, false,
           "name       time   note\n"
           "plain      1 ms\n"
           "a,\"b\"|c   10 ms   odd\n");
}

Test(table, bold_is_for_the_titles_only)
{
    expect(GS_TABLE_TEXT, true,
           "\033[1mname       time   note\033[0m\n"
           "plain      1 ms\n"
           "a,\"b\"|c   10 ms   odd\n");
}

Test(table, csv_has_machine_names_exact_texts_and_quotes)
{
    expect(GS_TABLE_CSV, false,
           "name,time_ns,sd_ns\n"
           "plain,1000000,12.5\n"
           "\"a,\"\"b\"\"|c\",10000000,\n");
}

Test(table, markdown_escapes_what_markdown_would_read)
{
    expect(GS_TABLE_MARKDOWN, false,
           "| name | time | note |\n"
           "|---|---:|---|\n"
           "| plain | 1 ms |  |\n"
           "| a,\"b\"\\|c | 10 ms | odd |\n");
}

Test(table, width_counts_columns_of_a_terminal)
{
    cr_assert_eq(gs_display_width(""), 0);
    cr_assert_eq(gs_display_width("abc"), 3);
    cr_assert_eq(gs_display_width("\xc3\xa4"), 1);         /* a with two dots */
    cr_assert_eq(gs_display_width("a\xcc\x88"), 1);        /* a and combining dots */
    cr_assert_eq(gs_display_width("\xe6\xbc\xa2"), 2);     /* a Chinese character */
    cr_assert_eq(gs_display_width("\xf0\x9f\x94\xb4"), 2); /* a red circle */
    cr_assert_eq(gs_display_width("\xff\xc3"), 2);         /* no UTF-8: one column a byte */
}

Test(table, control_characters_do_not_reach_a_terminal)
{
    gs_table table;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_not_null(out);
    gs_table_init(&table);
    gs_table_add_column(&table, (gs_table_column){"x", "x", false});
    gs_table_add(&table, "a\033[2Jb\nc", NULL);
    gs_table_print(&table, GS_TABLE_TEXT, false, out);
    fclose(out);
    gs_table_fini(&table);
    cr_assert_str_eq(text, "x\na?[2Jb?c\n");
    free(text);
}
