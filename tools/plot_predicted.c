/* plot predicted: the step that was foretold against the one that was measured, a point for each
 * strategy on each scenario, with the line where they are equal and the band of the tolerance. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double ms(double ns)
{
    return ns / 1e6;
}

static void put_interval(const gs_estimate *estimate, FILE *out)
{
    if (isnan(estimate->low)) {
        fputs(",,", out);
    } else {
        fprintf(out, ",%.6f,%.6f", ms(estimate->low), ms(estimate->high));
    }
}

/* Strategies over all scenarios, each once. */
static uint32_t list_labels(const gs_validate *validate, const char **labels, uint32_t *label_of)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        uint32_t place = 0;
        while (place < count && strcmp(labels[place], validate->pairs[i].label) != 0) {
            place++;
        }
        labels[place] = validate->pairs[i].label;
        label_of[i] = place;
        count += place == count ? 1 : 0;
    }
    return count;
}

static void put_data(const gs_validate *validate, const uint32_t *label_of, gs_plot *plot)
{
    fputs("strategy,label,scenario,measured_ms,measured_low_ms,measured_high_ms,predicted_ms,"
          "predicted_low_ms,predicted_high_ms,error_ratio\n",
          plot->csv);
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        const gs_validate_pair *pair = &validate->pairs[i];
        const gs_validate_row *row = gs_validate_row_of(pair, "step_mean_ns");
        if (row == NULL) {
            continue;
        }
        fprintf(plot->csv, "%u,", label_of[i]);
        gs_plot_field(pair->label, plot->csv);
        fputc(',', plot->csv);
        gs_plot_field(pair->scenario, plot->csv);
        fprintf(plot->csv, ",%.6f", ms(row->measured.value));
        put_interval(&row->measured, plot->csv);
        fprintf(plot->csv, ",%.6f", ms(row->predicted.value));
        put_interval(&row->predicted, plot->csv);
        fprintf(plot->csv, ",%.6f\n", row->judgement.error);
    }
}

/* The range of both axes, with room at its ends; true: wide enough for a logarithmic one. */
static bool range_of(const gs_validate *validate, double *out_low, double *out_high)
{
    double low = (double)INFINITY;
    double high = 0.0;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        const gs_validate_row *row = gs_validate_row_of(&validate->pairs[i], "step_mean_ns");
        if (row == NULL) {
            continue;
        }
        low = fmin(low, fmin(row->measured.value, row->predicted.value));
        high = fmax(high, fmax(row->measured.value, row->predicted.value));
    }
    bool wide = high > 10.0 * low;
    *out_low = ms(wide ? low / 1.3 : fmax(0.0, low - 0.1 * (high - low) - 0.05 * low));
    *out_high = ms(wide ? high * 1.3 : high + 0.1 * (high - low) + 0.05 * high);
    return wide;
}

static void put_script(const gs_validate *validate, const char *const *labels, uint32_t count,
                       gs_plot *plot)
{
    double low = 0.0;
    double high = 0.0;
    double tolerance = validate->tolerances[gs_judged_find("step_mean_ns")];
    bool wide = range_of(validate, &low, &high);
    const char **colors = gs_need(calloc((size_t)count + 1, sizeof *colors));
    gs_plot_strategy_colors(labels, count, colors);
    char *title = gs_text("predicted step against measured step, band of %g %%", 100.0 * tolerance);
    fputs("set title ", plot->script);
    gs_plot_quote(title, plot->script);
    free(title);
    fprintf(
        plot->script,
        "\nset xlabel 'measured mean step, ms'\n"
        "set ylabel 'predicted mean step, ms'\n"
        "%s"
        "set xrange [%.6g:%.6g]\n"
        "set yrange [%.6g:%.6g]\n"
        "set samples 400\n"
        "set style fill solid 0.25 noborder\n"
        "%s"
        "plot '+' using 1:($1 * %.9g):($1 * %.9g) with filledcurves lc rgb '#7F7F7F' notitle, \\\n"
        "     x with lines lw 1 lc rgb '#202020' notitle",
        wide ? "set logscale xy\n" : "", low, high, low, high,
        gs_plot_is_preview(plot) ? "" : "set size square\n", 1.0 - tolerance, 1.0 + tolerance);
    for (uint32_t i = 0; i < count; i++) {
        /* Points without intervals are points all the same: a missing one is the value itself. */
        fprintf(plot->script,
                ", \\\n     %s skip 1 using ($1 == %u ? $4 : NaN):7:"
                "(valid(5) ? $5 : $4):(valid(6) ? $6 : $4):(valid(8) ? $8 : $7):"
                "(valid(9) ? $9 : $7) with xyerrorbars pt %u ps 0.9 lc rgb '%s' title ",
                plot->data, i, 7 + 2 * (i / GS_PLOT_COLORS % 4), colors[i]);
        gs_plot_quote(labels[i], plot->script);
    }
    fputc('\n', plot->script);
    free(colors);
}

static bool has_steps(const gs_validate *validate)
{
    bool has_any = false;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        has_any = has_any || gs_validate_row_of(&validate->pairs[i], "step_mean_ns") != NULL;
    }
    return has_any;
}

static void fill(const gs_validate *validate, gs_plot *plot)
{
    const char **labels = gs_need(calloc((size_t)validate->pair_count + 1, sizeof *labels));
    uint32_t *label_of = gs_need(calloc((size_t)validate->pair_count + 1, sizeof *label_of));
    uint32_t count = list_labels(validate, labels, label_of);
    put_data(validate, label_of, plot);
    put_script(validate, labels, count, plot);
    plot->width = 900;
    plot->height = 640;
    free(labels);
    free(label_of);
}

int gs_plot_predicted(const gs_cli *cli, gs_plot *plot)
{
    if (cli->word_count != 3 || cli->strategy_count > 0) {
        gs_complain("plot predicted: two words are wanted and no -s: the simulated runs and the "
                    "measured ones, as validate takes them");
        return GS_EXIT_USAGE;
    }
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    gs_store *store = NULL;
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    status = status == GS_OK ? gs_store_open(path, GS_STORE_READ, &store, &err) : status;
    if (status != GS_OK) {
        return gs_complain_error(&err);
    }
    gs_validate validate;
    int code = gs_validate_make(cli, 1, store, &validate);
    bool was_made = code == GS_EXIT_OK;
    if (was_made && has_steps(&validate)) {
        fill(&validate, plot);
    } else if (was_made) {
        gs_complain("plot predicted: no strategy has steps that can be compared");
        code = GS_EXIT_REFUSED;
    }
    for (uint32_t i = 0; i < validate.remark_count && was_made; i++) {
        gs_complain("%s", validate.remarks[i]);
    }
    gs_validate_free(&validate);
    gs_store_close(store);
    return code;
}
