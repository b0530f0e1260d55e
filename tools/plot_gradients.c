/* plot gradients: what a run tells of its gradients over time, one panel a measure. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/plot_runs.h"
#include "traces/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 16, PANEL_PIXELS = 260 };

typedef struct measure {
    const char *name; /* of the series; what follows a slash is the layer */
    const char *axis;
    bool log;
} measure;

static const measure measures[] = {
    {"gradient_norm", "norm", true},
    {"gradient_sparsity_ratio", "share near 0", false},
    {"gradient_change_ratio", "relative change", true},
    {"gradient_cosine_ratio", "cosine between ranks", false},
    {"noise_scale_samples", "noise scale, samples", true},
    {"consensus_distance", "distance of models", false},
};
enum { MEASURES = sizeof measures / sizeof *measures };

/* Points [first, first + count) of one series and rank. */
typedef struct line {
    int measure;
    int64_t first, count;
    char title[128];
} line;

static int measure_of(const char *name)
{
    for (int i = 0; i < MEASURES; i++) {
        size_t length = strlen(measures[i].name);
        if (strncmp(name, measures[i].name, length) == 0 &&
            (name[length] == '\0' || name[length] == '/')) {
            return i;
        }
    }
    return -1;
}

/* Models that never differ have a distance that says nothing. */
static bool is_worth_a_line(const gs_stored_point *points, int64_t count)
{
    bool differs = strcmp(points[0].name, "consensus_distance") != 0;
    for (int64_t i = 0; i < count; i++) {
        differs = differs || points[i].value > 0.0;
    }
    return differs;
}

/* Points come by name, then rank. */
static size_t find_lines(const gs_stored_point *points, int64_t count, line *lines)
{
    size_t found = 0;
    for (int64_t i = 0; i < count;) {
        int64_t next = i + 1;
        while (next < count && strcmp(points[next].name, points[i].name) == 0 &&
               points[next].rank == points[i].rank) {
            next++;
        }
        int of = measure_of(points[i].name);
        if (of >= 0 && is_worth_a_line(&points[i], next - i)) {
            line *one = &lines[found++];
            const char *layer = points[i].name + strlen(measures[of].name);
            *one = (line){.measure = of, .first = i, .count = next - i};
            const char *what = layer[0] == '/' ? layer + 1 : "all layers";
            if (points[i].rank == GS_ALL_RANKS) {
                snprintf(one->title, sizeof one->title, "%s", what);
            } else {
                snprintf(one->title, sizeof one->title, "%s, rank %" PRId32, what, points[i].rank);
            }
        }
        i = next;
    }
    return found;
}

static void put_panel(gs_plot *plot, int of, const line *lines, size_t count, bool last)
{
    size_t drawn = 0;
    fprintf(plot->script, "set ylabel '%s'\n%sset logscale y\n", measures[of].axis,
            measures[of].log ? "" : "un");
    fprintf(plot->script, "set xlabel '%s'\nplot ", last ? "time of the run, s" : "");
    for (size_t i = 0; i < count && drawn < LINES_MAX; i++) {
        if (lines[i].measure == of) {
            fprintf(plot->script,
                    "%s%s skip 1 using ($1 == %zu ? $5 : NaN):6 with lines lw 2 dt %zu lc rgb '%s' "
                    "title ",
                    drawn == 0 ? "" : ", \\\n     ", plot->data, i, 1 + drawn / 8,
                    gs_plot_color(drawn));
            gs_plot_quote(lines[i].title, plot->script);
            drawn++;
        }
    }
    fputc('\n', plot->script);
}

static void put_data(gs_plot *plot, const gs_stored_point *points, const line *lines, size_t count)
{
    fputs("line,name,layer,rank,time_s,value\n", plot->csv);
    for (size_t i = 0; i < count; i++) {
        for (int64_t at = lines[i].first; at < lines[i].first + lines[i].count; at++) {
            const gs_stored_point *point = &points[at];
            const char *layer = point->name + strlen(measures[lines[i].measure].name);
            fprintf(plot->csv, "%zu,%s,", i, measures[lines[i].measure].name);
            gs_plot_field(layer[0] == '/' ? layer + 1 : "", plot->csv);
            fprintf(plot->csv, ",%" PRId32 ",%.9f,", point->rank, (double)point->at_ns / 1e9);
            fprintf(plot->csv, isfinite(point->value) ? "%.9g\n" : "\n", point->value);
        }
    }
}

static void fill(gs_plot *plot, const char *title, const gs_stored_point *points, const line *lines,
                 size_t count)
{
    int panels = 0;
    int last = 0;
    bool has[MEASURES] = {false};
    for (size_t i = 0; i < count; i++) {
        panels += has[lines[i].measure] ? 0 : 1;
        has[lines[i].measure] = true;
        last = lines[i].measure > last ? lines[i].measure : last;
    }
    put_data(plot, points, lines, count);
    fprintf(plot->script, "set multiplot layout %d,1 title ", panels);
    gs_plot_quote(title, plot->script);
    fputs("\nset lmargin 12\nset rmargin 22\nset key width -2\n", plot->script);
    for (int of = 0; of < MEASURES; of++) {
        if (has[of]) {
            put_panel(plot, of, lines, count, of == last);
        }
    }
    fputs("unset multiplot\n", plot->script);
    plot->height = 60 + PANEL_PIXELS * panels;
}

/* The newest of the runs that a selector names. */
typedef struct chosen {
    const int64_t *ids; /* [id_count] all of them */
    uint32_t id_count;
    int64_t id;
    gs_stored_run run;
    const gs_stored_point *points; /* [point_count] */
    int64_t point_count;
} chosen;

static gs_status read_run(const char *path, const char *selector, gs_arena *arena, chosen *out,
                          gs_error *err)
{
    gs_store *store = NULL;
    GS_TRY(gs_store_open(path, GS_STORE_READ, &store, err));
    gs_status status = gs_store_find_runs(store, selector, arena, &out->ids, &out->id_count, err);
    if (status == GS_OK) {
        out->id = out->ids[out->id_count - 1];
        status = gs_store_read_run(store, out->id, arena, &out->run, err);
    }
    if (status == GS_OK) {
        status = gs_store_read_series(store, out->id, arena, &out->points, &out->point_count, err);
    }
    gs_store_close(store);
    return status;
}

static void draw(const gs_cli *cli, gs_plot *plot, const chosen *of, const line *lines,
                 size_t count, gs_arena *arena)
{
    char *label = gs_plot_run_label(&of->run, arena);
    char *which =
        of->id_count > 1 ? gs_text(" (the last of %" PRIu32 ")", of->id_count) : gs_text("%s", "");
    char *title = gs_text("run %" PRId64 "%s: %s on %s, seed %" PRIu64, of->id, which, label,
                          of->run.scenario.name, of->run.seed);
    if (of->id_count > 1 && !cli->flags.quiet) {
        gs_complain("plot gradients: %s names %" PRIu32 " runs; drawn is run %" PRId64
                    ", %s, seed %" PRIu64 "; name another by its id, the first is %" PRId64,
                    cli->words[1], of->id_count, of->id, label, of->run.seed, of->ids[0]);
    }
    fill(plot, title, of->points, lines, count);
    free(title);
    free(which);
    free(label);
}

int gs_plot_gradients(const gs_cli *cli, gs_plot *plot)
{
    if (cli->word_count != 2 || !gs_plot_names_run(cli)) {
        gs_complain("plot gradients: of which run? name one stored run, such as @last");
        return GS_EXIT_USAGE;
    }
    gs_arena arena;
    gs_arena_init(&arena);
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    chosen of = {0};
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    status = status == GS_OK ? read_run(path, cli->words[1], &arena, &of, &err) : status;
    int code = status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
    line *lines = gs_need(calloc((size_t)of.point_count + 1, sizeof *lines));
    size_t found = code == GS_EXIT_OK ? find_lines(of.points, of.point_count, lines) : 0;
    if (code == GS_EXIT_OK && found == 0) {
        gs_complain("run %" PRId64 " tells nothing of its gradients (the same run stored again "
                    "without --gradients replaces them); simulate its scenario with "
                    "--gradients 10, which needs workload.real_gradients",
                    of.id);
        code = GS_EXIT_FAILED;
    } else if (code == GS_EXIT_OK) {
        draw(cli, plot, &of, lines, found, &arena);
    }
    free(lines);
    gs_arena_fini(&arena);
    return code;
}
