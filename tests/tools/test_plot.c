/* What figures share: colours, and texts that no program may take for commands. */
#include "tests/support.h"
#include "tools/plot.h"

#include <stdlib.h>
#include <string.h>

static char *written(void (*put)(const char *text, FILE *out), const char *text)
{
    char *got = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&got, &bytes);
    put(text, out);
    fclose(out);
    return got;
}

static void expect_written(void (*put)(const char *text, FILE *out), const char *text,
                           const char *expected)
{
    char *got = written(put, text);
    cr_expect_str_eq(got, expected);
    free(got);
}

Test(plot, texts_are_no_commands_of_gnuplot)
{
    expect_written(gs_plot_quote, "it's `date` @x \"%s\"", "'it''s `date` @x \"%s\"'");
    expect_written(gs_plot_quote, "two\nlines", "'two?lines'");
}

Test(plot, fields_keep_commas_and_quotes)
{
    expect_written(gs_plot_field, "a,\"b\"", "\"a,\"\"b\"\"\"");
}

Test(plot, the_first_of_a_strategy_has_its_colour_wherever_it_stands)
{
    const char *both[] = {"allreduce:bucket=1MiB", "allreduce"};
    const char *mixed[] = {"not_known", "allreduce"};
    const char *alone[] = {"allreduce"};
    const char *colors[2];
    const char *own[1];
    gs_plot_strategy_colors(alone, 1, own);
    gs_plot_strategy_colors(both, 2, colors);
    cr_expect_str_eq(colors[0], own[0]);
    cr_expect_str_neq(colors[1], own[0]);
    gs_plot_strategy_colors(mixed, 2, colors);
    cr_expect_str_eq(colors[1], own[0]);
    cr_expect_str_neq(colors[0], own[0]);
}
