/* plot busbw: measured bus bandwidth against size, and the line of latency and rate through it; or
 * that of a scenario (tools/plot_tuning.c). */
#include "tools/message.h"
#include "tools/output.h"
#include "tools/plot.h"
#include "strategies/collective.h"
#include "tools/scenario_list.h"
#include "traces/importers/importer.h"
#include "traces/whole_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
    double latency_ns;
    double ns_per_byte;
} model;

/* The line t = a + b s: b is what trace stat tells as the rate, so that large sizes are right, and
 * a has the least squares of relative errors, so that small sizes count as much; not below 0. */
static model fit(const gs_curve *curve)
{
    double rate_bps = (double)gs_curve_rate_bps(curve);
    double b = rate_bps > 0.0 ? 8.0e9 / rate_bps : 0.0;
    double sum = 0.0;
    double weights = 0.0;
    for (uint32_t i = 0; i < curve->point_count; i++) {
        double t = (double)curve->points[i].time_ns;
        sum += t > 0.0 ? (t - b * (double)curve->points[i].bytes) / (t * t) : 0.0;
        weights += t > 0.0 ? 1.0 / (t * t) : 0.0;
    }
    return (model){sum > 0.0 ? sum / weights : 0.0, b};
}

/* Bytes on the busiest link over bytes of the buffer, as nccl-tests counts them; 1 where the number
 * of ranks is not known. */
static double bus_factor(const gs_curve *curve)
{
    double n = curve->ranks;
    if (curve->ranks < 2) {
        return 1.0;
    }
    if (strcmp(curve->collective, "all_reduce") == 0) {
        return 2.0 * (n - 1.0) / n;
    }
    bool scatters = strcmp(curve->collective, "all_gather") == 0 ||
                    strcmp(curve->collective, "reduce_scatter") == 0 ||
                    strcmp(curve->collective, "all_to_all") == 0;
    return scatters ? (n - 1.0) / n : 1.0;
}

static char *name_of(const gs_curve *curve)
{
    char ranks[32] = "ranks unknown";
    if (curve->ranks > 0) {
        snprintf(ranks, sizeof ranks, "%" PRId32 " ranks", curve->ranks);
    }
    const char *slash = strrchr(curve->source, '/');
    return gs_text("%s %s, %s", slash == NULL ? curve->source : slash + 1, curve->collective,
                   ranks);
}

/* GB/s. */
static double rate(double factor, double bytes, double time_ns)
{
    return factor * bytes / time_ns;
}

static void put_curve(const gs_curve *curve, uint32_t index, gs_plot *plot, gs_table *table)
{
    model line = fit(curve);
    double factor = bus_factor(curve);
    char *name = name_of(curve);
    for (uint32_t i = 0; i < curve->point_count; i++) {
        double bytes = (double)curve->points[i].bytes;
        double time = (double)curve->points[i].time_ns;
        double modelled = line.latency_ns + line.ns_per_byte * bytes;
        char text[64];
        char unit[GS_UNIT_TEXT_BYTES];
        fprintf(plot->csv, "%" PRIu32 ",", index);
        gs_plot_field(name, plot->csv);
        fprintf(plot->csv, ",%" PRId64 ",%" PRId64 ",%.6g,%.6g\n", curve->points[i].bytes,
                curve->points[i].time_ns, rate(factor, bytes, time), rate(factor, bytes, modelled));
        gs_table_add(table, i == 0 ? name : "", NULL);
        gs_table_add(table, gs_format_bytes(curve->points[i].bytes, unit), NULL);
        gs_table_add(table, gs_format_duration(curve->points[i].time_ns, unit), NULL);
        snprintf(text, sizeof text, "%.3g GB/s", rate(factor, bytes, time));
        gs_table_add(table, text, NULL);
        snprintf(text, sizeof text, "%.3g GB/s", rate(factor, bytes, modelled));
        gs_table_add(table, text, NULL);
        snprintf(text, sizeof text, "%+.0f %%", 100.0 * (time / modelled - 1.0));
        gs_table_add(table, text, NULL);
    }
    fprintf(plot->script, "model%" PRIu32 "(bytes) = %.9g * bytes / (%.9g + %.9g * bytes)\n", index,
            factor, line.latency_ns, line.ns_per_byte);
    free(name);
}

/* How a curve looks: the point changes when the colours begin again. */
static int point_of(uint32_t index)
{
    static const int points[] = {7, 5, 9, 13, 11, 6, 4, 8, 12, 10};
    return points[index / GS_PLOT_COLORS % (sizeof points / sizeof *points)];
}

/* What the key calls a curve: in characters there is room for little, and the table has the rest.
 */
static char *title_of(const gs_curve *curve, uint32_t index, const gs_plot *plot)
{
    char *name = name_of(curve);
    char latency[GS_UNIT_TEXT_BYTES];
    model line = fit(curve);
    gs_format_duration(llround(line.latency_ns), latency);
    double factor = bus_factor(curve);
    char *title = plot->file == NULL       ? gs_text("%" PRIu32 " %.12s", index + 1, name)
                  : line.ns_per_byte > 0.0 ? gs_text("%s: %s + %.4g size / %.3g GB/s", name,
                                                     latency, factor, factor / line.ns_per_byte)
                                           : gs_text("%s: %s", name, latency);
    free(name);
    return title;
}

static void put_script_end(const gs_curve *curves, uint32_t count, gs_plot *plot)
{
    enum { PIXELS = 480, KEY_PIXELS = 24 };
    FILE *out = plot->script;
    fputs("set title 'bus bandwidth against size; lines: latency + bus factor x size / rate'\n"
          "set logscale x 2\n"
          "set format x '%.0b %BB'\n"
          "set xlabel 'size'\n"
          "set ylabel 'bus bandwidth, GB/s'\n"
          "set yrange [0:*]\n"
          "set samples 400\n"
          "set xtics rotate by -35\n",
          out);
    if (plot->file != NULL) {
        plot->height = PIXELS + KEY_PIXELS * (int)count;
        fputs("set key below vertical maxcols 1 Left reverse\nset rmargin 9\n", out);
    }
    fputs("plot ", out);
    for (uint32_t i = 0; i < count; i++) {
        const gs_curve *curve = &curves[i];
        char *title = title_of(curve, i, plot);
        fprintf(out,
                "%s skip 1 using ($1 == %" PRIu32
                " ? $3 : NaN):5 with points pt %d ps 0.7 lc rgb '%s' title ",
                plot->data, i, point_of(i), gs_plot_color(i));
        gs_plot_quote(title, out);
        fprintf(out,
                ", \\\n     [%" PRId64 ":%" PRId64 "] model%" PRIu32
                "(x) with lines lw 2 dt %" PRIu32 " lc rgb '%s' notitle%s",
                curve->points[0].bytes, curve->points[curve->point_count - 1].bytes, i,
                1 + i / GS_PLOT_COLORS, gs_plot_color(i), i + 1 < count ? ", \\\n     " : "\n");
        free(title);
    }
}

static int print_table(const gs_cli *cli, const gs_table *table)
{
    gs_output output;
    int code = gs_output_open(&output, "-");
    if (code == GS_EXIT_OK) {
        gs_table_print(table, GS_TABLE_TEXT, cli->bold, output.text);
        code = gs_output_close(&output);
    }
    return code;
}

static int fill(const gs_cli *cli, const gs_imported *imported, gs_plot *plot)
{
    static const gs_table_column columns[] = {
        {"curve", NULL, false},        {"size", NULL, true},  {"time", NULL, true},
        {"bus bandwidth", NULL, true}, {"model", NULL, true}, {"time vs model", NULL, true},
    };
    if (imported->curve_count == 0) {
        gs_complain("plot busbw: %s holds no curve of size against time; give output of nccl-tests",
                    cli->words[1]);
        return GS_EXIT_USAGE;
    }
    gs_table table;
    gs_table_init(&table);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(&table, columns[i]);
    }
    fputs("curve,name,bytes,time_ns,busbw_gbyte_per_s,model_gbyte_per_s\n", plot->csv);
    for (uint32_t i = 0; i < imported->curve_count; i++) {
        put_curve(&imported->curves[i], i, plot, &table);
    }
    put_script_end(imported->curves, imported->curve_count, plot);
    plot->width = 1280;
    int code = print_table(cli, &table);
    gs_table_fini(&table);
    return code;
}

/* Is it a bundled scenario, or a file that says that it is one, or what show collective takes
 * before it? */
static bool names_scenario(const char *word)
{
    enum { FILE_BYTES_MAX = 1 << 24 };
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_named_scenario *list = NULL;
    size_t count = gs_scenario_list(&arena, &list);
    bool is_named = false;
    for (size_t i = 0; i < count; i++) {
        is_named = is_named || strcmp(list[i].name, word) == 0;
    }
    gs_arena_fini(&arena);
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        is_named = is_named || strcmp(gs_collective_kind_name((gs_collective_kind)kind), word) == 0;
    }
    char *text = NULL;
    size_t bytes;
    gs_error err;
    if (!is_named && gs_whole_file_read(word, FILE_BYTES_MAX, &text, &bytes, &err) == GS_OK) {
        is_named = strstr(text, "gradsync.scenario/") != NULL;
        free(text);
    }
    return is_named;
}

int gs_plot_busbw(const gs_cli *cli, gs_plot *plot)
{
    if (cli->word_count < 2) {
        gs_complain("plot busbw: of what? give output of nccl-tests, or a scenario");
        return GS_EXIT_USAGE;
    }
    if (names_scenario(cli->words[1])) {
        return gs_plot_tuning(cli, plot);
    }
    gs_import_options options = {
        .format = cli->flags.format[0] == '\0' ? NULL : cli->flags.format,
        .collective = cli->flags.collective[0] == '\0' ? NULL : cli->flags.collective,
    };
    gs_arena arena;
    gs_arena_init(&arena);
    gs_imported imported = {0};
    gs_error err = {0};
    int code = GS_EXIT_OK;
    if (gs_import(cli->words + 1, cli->word_count - 1, &options, &arena, &imported, &err) !=
        GS_OK) {
        code = gs_complain_error(&err);
    }
    code = code == GS_EXIT_OK ? fill(cli, &imported, plot) : code;
    gs_arena_fini(&arena);
    return code;
}
