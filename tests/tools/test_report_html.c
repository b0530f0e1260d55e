/* HTML of reports: nothing that a name holds becomes markup, tables are accessible, and figures
 * keep their names apart. */
#include "tests/support.h"
#include "tools/report/report_html.h"

#include <stdlib.h>
#include <string.h>

typedef struct written {
    FILE *out;
    char *text;
    size_t bytes;
} written;

static void begin(written *to)
{
    to->out = open_memstream(&to->text, &to->bytes);
}

static void expect(written *got, const char *expected)
{
    fclose(got->out);
    cr_expect_str_eq(got->text, expected);
    free(got->text);
}

Test(report_html, names_are_no_markup)
{
    written got;
    begin(&got);
    gs_html_text("<script>\"'&\x01", got.out);
    expect(&got, "&lt;script&gt;&quot;&#39;&amp;?");
}

Test(report_html, what_a_printf_makes_is_no_markup)
{
    written got;
    begin(&got);
    gs_html_printf(got.out, "%s<%d>", "&", 1);
    expect(&got, "&amp;&lt;1&gt;");
}

Test(report_html, a_table_has_a_caption_and_scopes)
{
    written got;
    gs_table table;
    gs_table_init(&table);
    gs_table_add_column(&table, (gs_table_column){"who", NULL, false});
    gs_table_add_column(&table, (gs_table_column){NULL, "exact", true}); /* for programs only */
    gs_table_add_column(&table, (gs_table_column){"a<b", NULL, true});
    gs_table_add(&table, "x&y", NULL);
    gs_table_add(&table, "1", NULL);
    gs_table_add(&table, "2 ms", NULL);
    begin(&got);
    gs_html_table(&table, "\"rows\"", got.out);
    gs_table_fini(&table);
    expect(&got,
           "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"&quot;rows&quot;\">\n"
           "<table>\n<caption>&quot;rows&quot;</caption>\n"
           "<thead><tr><th scope=\"col\">who</th><th scope=\"col\" class=\"number\">a&lt;b</th>"
           "</tr></thead>\n<tbody>\n"
           "<tr><th scope=\"row\">x&amp;y</th><td class=\"number\">2 ms</td></tr>\n"
           "</tbody>\n</table>\n</div>\n");
}

/* Names within tags get a prefix, texts that look like names do not; gnuplot's titles go. */
Test(report_html, a_figure_keeps_its_names_apart_from_others)
{
    written got;
    begin(&got);
    gs_html_svg("<?xml version=\"1.0\"?>\n<svg width=\"30\" viewBox=\"0 0 30 20\" xmlns=\"x\">"
                "<title>Gnuplot</title><circle id='gpDot'/><use xlink:href='#gpDot'/>"
                "<g id=\"a\" fill=\"url(#b)\"><title>gnuplot_plot_1</title></g>"
                "<text>id='c' &gt;</text></svg>",
                7, "a \"b\"", got.out);
    expect(&got, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                 "xmlns:xlink=\"http://www.w3.org/1999/xlink\" viewBox=\"0 0 30 20\" width=\"30\" "
                 "height=\"20\" role=\"img\" aria-label=\"a &quot;b&quot;\">"
                 "<circle id='f7-gpDot'/><use xlink:href='#f7-gpDot'/>"
                 "<g id=\"f7-a\" fill=\"url(#f7-b)\"></g><text>id='c' &gt;</text></svg>\n");
}
