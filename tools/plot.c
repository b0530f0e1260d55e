#include "tools/plot.h"

#include "base/assert.h"
#include "strategies/registry.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DUMB_COLUMNS = 100, DUMB_LINES = 32 };

/* ---------------------------------------------------------------- colours and texts */

/* Blue, orange, green, vermilion, purple, sky blue, grey, black: yellow is lost on white. */
static const char *const palette[GS_PLOT_COLORS] = {"#0072B2", "#E69F00", "#009E73", "#D55E00",
                                                    "#CC79A7", "#56B4E9", "#7F7F7F", "#000000"};

const char *gs_plot_color(size_t index)
{
    return palette[index % GS_PLOT_COLORS];
}

const char *gs_plot_part_color(int part)
{
    static const char *const colors[GS_PART_COUNT] = {
        [GS_PART_COMPUTE] = "#0072B2", [GS_PART_EXPOSED] = "#D55E00",  [GS_PART_WAIT] = "#E69F00",
        [GS_PART_INPUT] = "#009E73",   [GS_PART_OVERHEAD] = "#7F7F7F", [GS_PART_COMM] = "#56B4E9"};
    GS_ASSERT(part >= 0 && part < GS_PART_COUNT);
    return colors[part];
}

/* Place in the registry of the strategy that a label begins with. */
static size_t place_of(const char *label)
{
    size_t length = strcspn(label, ":+ ");
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        const char *name = gs_strategy_at(i)->name;
        if (strlen(name) == length && strncmp(name, label, length) == 0) {
            return i;
        }
    }
    return gs_strategy_count();
}

void gs_plot_strategy_colors(const char *const *labels, size_t count, const char **colors)
{
    bool taken[GS_PLOT_COLORS] = {false};
    for (size_t i = 0; i < count; i++) {
        size_t place = place_of(labels[i]);
        size_t own = place % GS_PLOT_COLORS;
        bool has_own = place < gs_strategy_count() && !taken[own];
        colors[i] = has_own ? palette[own] : NULL;
        taken[own] = taken[own] || has_own;
    }
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (colors[i] == NULL) {
            while (next < GS_PLOT_COLORS && taken[next]) {
                next++;
            }
            colors[i] = gs_plot_color(next < GS_PLOT_COLORS ? next++ : i);
        }
    }
}

void gs_plot_quote(const char *text, FILE *out)
{
    fputc('\'', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            fputs("''", out);
        } else {
            fputc((unsigned char)*c < ' ' ? '?' : *c, out);
        }
    }
    fputc('\'', out);
}

void gs_plot_field(const char *text, FILE *out)
{
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        fputs(*c == '"' ? "\"" : "", out);
        fputc((unsigned char)*c < ' ' ? '?' : *c, out);
    }
    fputc('"', out);
}

/* ---------------------------------------------------------------- open and close */

static const char *ending_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *dot = strrchr(slash == NULL ? file : slash, '.');
    return dot == NULL ? "" : dot;
}

static const char *base_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL ? file : slash + 1;
}

static bool is_drawable(const char *ending)
{
    return strcmp(ending, ".svg") == 0 || strcmp(ending, ".png") == 0 ||
           strcmp(ending, ".pdf") == 0;
}

static void open_streams(gs_plot *out)
{
    out->csv = gs_need(open_memstream(&out->csv_text, &out->csv_bytes));
    out->script = gs_need(open_memstream(&out->script_text, &out->script_bytes));
}

int gs_plot_open(const gs_cli *cli, gs_plot *out)
{
    *out = (gs_plot){.cli = cli, .width = 960, .height = 480, .data = "$data"};
    const char *file = cli->flags.output;
    if (file[0] != '\0' && strcmp(file, "-") != 0) {
        gs_output check;
        if (!is_drawable(ending_of(file))) {
            gs_complain("%s: no picture has this ending; allowed is .svg, .png, .pdf, or - for a "
                        "preview in characters",
                        file);
            return GS_EXIT_USAGE;
        }
        int code = gs_output_open(&check, file);
        gs_output_drop(&check);
        if (code != GS_EXIT_OK) {
            return code;
        }
        out->file = file;
        size_t bytes = 0;
        out->data_file = gs_text("%s.csv", file);
        out->script_file = gs_text("%s.gp", file);
        FILE *quoted = gs_need(open_memstream(&out->data_text, &bytes));
        gs_plot_quote(base_of(out->data_file), quoted);
        fclose(quoted);
        out->data = gs_need(out->data_text);
    }
    open_streams(out);
    return GS_EXIT_OK;
}

void gs_plot_open_page(const gs_cli *cli, gs_plot *out)
{
    *out = (gs_plot){.cli = cli, .width = 960, .height = 480, .data = "$data", .is_in_page = true};
    open_streams(out);
}

bool gs_plot_is_preview(const gs_plot *plot)
{
    return plot->file == NULL && !plot->is_in_page;
}

static void end_stream(FILE **stream)
{
    if (*stream != NULL && (ferror(*stream) != 0 || fclose(*stream) != 0)) {
        gs_need(NULL);
    }
    *stream = NULL;
}

void gs_plot_drop(gs_plot *plot)
{
    end_stream(&plot->csv);
    end_stream(&plot->script);
    free(plot->csv_text);
    free(plot->script_text);
    free(plot->data_text);
    free(plot->data_file);
    free(plot->script_file);
    *plot = (gs_plot){0};
}

static void put_terminal(const gs_plot *plot, FILE *out)
{
    const char *ending = plot->file == NULL ? "" : ending_of(plot->file);
    if (strcmp(ending, ".svg") == 0 || plot->is_in_page) {
        fprintf(out, "set terminal svg size %d,%d noenhanced font 'Sans,14' background '#FFFFFF'\n",
                plot->width, plot->height);
    } else if (strcmp(ending, ".png") == 0) {
        fprintf(out,
                "set terminal pngcairo size %d,%d noenhanced font 'Sans,11' background '#FFFFFF'\n",
                plot->width, plot->height);
    } else if (strcmp(ending, ".pdf") == 0) {
        fprintf(out, "set terminal pdfcairo size %.3fin,%.3fin noenhanced font 'Sans,11'\n",
                plot->width / 96.0, plot->height / 96.0);
    } else {
        fprintf(out, "set terminal dumb size %d,%d noenhanced\n", DUMB_COLUMNS, DUMB_LINES);
    }
}

/* What all figures share: file, separator, a quiet frame, the key beside the drawing. */
static void put_script(const gs_plot *plot, FILE *out)
{
    fprintf(out, "# gradsync plot %s; to draw it again, run gnuplot with this file in its folder\n",
            plot->cli->words[0]);
    put_terminal(plot, out);
    if (plot->file != NULL) {
        fputs("set output ", out);
        gs_plot_quote(base_of(plot->file), out);
        fputc('\n', out);
    } else {
        fprintf(out, "$data << END_OF_DATA\n%sEND_OF_DATA\n", plot->csv_text);
    }
    fputs("set encoding utf8\n"
          "set datafile separator comma\n"
          "set border 3 lc rgb '#606060'\n"
          "set tics nomirror textcolor rgb '#303030'\n"
          "set key outside right top Left reverse samplen 2 spacing 1.2\n",
          out);
    if (!gs_plot_is_preview(plot)) { /* characters have no faint lines */
        fprintf(out, "set grid %stics lc rgb '#D9D9D9' lw 1 lt 1\n", plot->lies ? "x" : "y");
    }
    fputs(plot->script_text, out);
}

static int save(const char *file, const char *text, size_t bytes)
{
    gs_output output;
    int code = gs_output_open(&output, file);
    if (code == GS_EXIT_OK) {
        fwrite(text, 1, bytes, output.text);
        code = gs_output_close(&output);
    }
    return code;
}

/* ---------------------------------------------------------------- gnuplot */

/* What gnuplot reads: the script, in the folder of the picture. NULL: cannot be written. */
static FILE *make_input(const gs_plot *plot, const char *script, size_t bytes)
{
    FILE *input = tmpfile();
    if (input == NULL) {
        return NULL;
    }
    const char *slash = plot->file == NULL ? NULL : strrchr(plot->file, '/');
    if (slash != NULL) {
        char *folder = gs_text("%.*s/", (int)(slash - plot->file), plot->file);
        fputs("cd ", input);
        gs_plot_quote(folder, input);
        fputc('\n', input);
        free(folder);
    }
    if (fwrite(script, 1, bytes, input) != bytes || fflush(input) != 0) {
        fclose(input);
        return NULL;
    }
    rewind(input);
    return input;
}

/* The last line of what gnuplot said names the error; earlier ones point at it. */
static void complain(const gs_plot *plot, FILE *said)
{
    char line[256] = "";
    char last[256] = "it says nothing";
    if (said != NULL) {
        rewind(said);
    }
    while (said != NULL && fgets(line, sizeof line, said) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *text = line + strspn(line, " \t");
        if (text[0] != '\0') {
            memmove(last, text, strlen(text) + 1);
        }
    }
    gs_complain("plot %s: gnuplot failed: %s%s%s", plot->cli->words[0], last,
                plot->script_file == NULL ? "" : "; its script is ",
                plot->script_file == NULL ? "" : plot->script_file);
}

/* picture: what it writes to standard output goes there; NULL: to ours. */
static int draw(const gs_plot *plot, const char *gnuplot, const char *script, size_t bytes,
                FILE *picture)
{
    FILE *input = make_input(plot, script, bytes);
    fflush(stdout);
    FILE *said = tmpfile();
    pid_t child = input == NULL || said == NULL ? -1 : fork();
    if (child == 0) {
        if (dup2(fileno(input), STDIN_FILENO) >= 0 && dup2(fileno(said), STDERR_FILENO) >= 0 &&
            (picture == NULL || dup2(fileno(picture), STDOUT_FILENO) >= 0)) {
            execl(gnuplot, "gnuplot", "-d", "-", (char *)NULL);
        }
        _exit(127);
    }
    int state = 0;
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    bool drawn = child > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0;
    if (!drawn) {
        complain(plot, said);
    }
    if (input != NULL) {
        fclose(input);
    }
    if (said != NULL) {
        fclose(said);
    }
    return drawn ? GS_EXIT_OK : GS_EXIT_FAILED;
}

static int finish(const gs_plot *plot, const char *script, size_t bytes)
{
    char *gnuplot = gs_places_program("gnuplot");
    int code = GS_EXIT_OK;
    if (plot->file != NULL) {
        code = save(plot->data_file, plot->csv_text, plot->csv_bytes);
        code = code == GS_EXIT_OK ? save(plot->script_file, script, bytes) : code;
    }
    if (code == GS_EXIT_OK && gnuplot != NULL) {
        code = draw(plot, gnuplot, script, bytes, NULL);
        if (code == GS_EXIT_OK && plot->file != NULL && !plot->cli->flags.quiet) {
            gs_complain("%s, drawn by %s from %s", plot->file, plot->script_file, plot->data_file);
        }
    } else if (code == GS_EXIT_OK && plot->file == NULL) {
        gs_complain("no gnuplot in PATH: no preview; install it (Debian: gnuplot-nox), or give -o "
                    "FILE.svg to get data and script");
        code = GS_EXIT_FAILED;
    } else if (code == GS_EXIT_OK) {
        gs_complain("no gnuplot in PATH: no %s, but %s and %s; install it (Debian: gnuplot-nox) "
                    "and run: gnuplot %s",
                    plot->file, plot->data_file, plot->script_file, base_of(plot->script_file));
    }
    free(gnuplot);
    return code;
}

int gs_plot_close(gs_plot *plot)
{
    if (plot->is_told) {
        gs_plot_drop(plot);
        return GS_EXIT_OK;
    }
    end_stream(&plot->csv);
    end_stream(&plot->script);
    char *script = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&script, &bytes));
    put_script(plot, out);
    end_stream(&out);
    int code = finish(plot, script, bytes);
    free(script);
    gs_plot_drop(plot);
    return code;
}

/* ---------------------------------------------------------------- for a report */

/* All of a file from its start. Owner: caller, free(). */
static char *text_of(FILE *file)
{
    char *text = NULL;
    size_t bytes = 0;
    char part[4096];
    FILE *out = gs_need(open_memstream(&text, &bytes));
    rewind(file);
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) {
        fwrite(part, 1, got, out);
    }
    end_stream(&out);
    return text;
}

void gs_plot_take(gs_plot *plot, char **out_svg, char **out_csv)
{
    char *script = NULL;
    size_t bytes = 0;
    end_stream(&plot->csv);
    end_stream(&plot->script);
    FILE *out = gs_need(open_memstream(&script, &bytes));
    put_script(plot, out);
    end_stream(&out);
    char *gnuplot = gs_places_program("gnuplot");
    FILE *picture = gnuplot == NULL ? NULL : tmpfile();
    *out_svg = NULL;
    if (picture != NULL && draw(plot, gnuplot, script, bytes, picture) == GS_EXIT_OK) {
        *out_svg = text_of(picture);
    }
    if (picture != NULL) {
        fclose(picture);
    }
    *out_csv = plot->csv_text;
    plot->csv_text = NULL;
    free(gnuplot);
    free(script);
    gs_plot_drop(plot);
}
