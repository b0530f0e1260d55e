/* plot timeline: what each rank did, and which ops were under way, over a few steps. */
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/timeline_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, RANKS_MAX = 128, ROW_PIXELS = 40, FRAME_PIXELS = 120, HEIGHT_MAX = 4000 };

/* How a kind looks: compute and what blocks it in the upper part of a row, ops in the lower. */
typedef struct look {
    const char *name; /* in the data and in the key */
    int part;         /* its colour */
    bool light;
    bool upper;
} look;

static const look looks[] = {
    {"forward", GS_PART_COMPUTE, true, true},
    {"backward", GS_PART_COMPUTE, false, true},
    {"optimizer", GS_PART_COMM, false, true},
    {"load", GS_PART_INPUT, true, true},
    {"input", GS_PART_INPUT, false, true},
    {"exposed communication", GS_PART_EXPOSED, false, true},
    {"wait for ranks", GS_PART_WAIT, false, true},
    {"overhead", GS_PART_OVERHEAD, false, true},
    {"op waits for members", GS_PART_WAIT, true, false},
    {"op on the wire", GS_PART_EXPOSED, true, false},
};
enum { LOOKS = sizeof looks / sizeof *looks };

typedef struct picture {
    FILE *csv;
    gs_time_ns start_ns; /* of the first step of the window */
    bool used[LOOKS];
    uint32_t ranks; /* drawn */
} picture;

static void put_row(picture *to, uint32_t rank, const char *kind, int64_t step, gs_time_ns from,
                    gs_time_ns until)
{
    for (size_t i = 0; i < LOOKS; i++) {
        to->used[i] = to->used[i] || strcmp(looks[i].name, kind) == 0;
    }
    fprintf(to->csv, "%" PRIu32 ",%s,%" PRId64 ",%.6f,%.6f\n", rank, kind, step,
            (double)(from - to->start_ns) / 1e6, (double)(until - to->start_ns) / 1e6);
}

static int by_rank_and_time(const void *a, const void *b)
{
    const gs_timeline_span *one = a;
    const gs_timeline_span *other = b;
    if (one->rank != other->rank) {
        return one->rank < other->rank ? -1 : 1;
    }
    return (one->from_ns > other->from_ns) - (one->from_ns < other->from_ns);
}

/* Neighbours of one kind are one box: a picture needs no border between two layers. */
static void put_spans(picture *to, gs_timeline *timeline)
{
    qsort(timeline->spans, (size_t)timeline->span_count, sizeof *timeline->spans, by_rank_and_time);
    for (int64_t i = 0; i < timeline->span_count;) {
        const gs_timeline_span *first = &timeline->spans[i];
        gs_time_ns until = first->to_ns;
        int64_t next = i + 1;
        while (next < timeline->span_count && timeline->spans[next].rank == first->rank &&
               timeline->spans[next].kind == first->kind &&
               timeline->spans[next].step == first->step &&
               timeline->spans[next].from_ns == until) {
            until = timeline->spans[next++].to_ns;
        }
        if (first->rank < to->ranks) {
            put_row(to, first->rank, gs_timeline_kind_text(first->kind), first->step,
                    first->from_ns, until);
        }
        i = next;
    }
}

static void put_data(picture *to, gs_timeline *timeline)
{
    fputs("rank,kind,step,start_ms,end_ms\n", to->csv);
    to->start_ns = GS_TIME_NEVER;
    for (int64_t i = 0; i < timeline->step_count; i++) {
        gs_time_ns start = timeline->steps[i].start_ns;
        to->start_ns = start < to->start_ns ? start : to->start_ns;
    }
    put_spans(to, timeline);
    for (int64_t i = 0; i < timeline->op_count; i++) {
        const gs_timeline_op *op = &timeline->ops[i];
        /* An op of the step before may still be under way when the window opens. */
        gs_time_ns from = op->from_ns > to->start_ns ? op->from_ns : to->start_ns;
        gs_time_ns wire = op->last_start_ns > from ? op->last_start_ns : from;
        if (op->rank < to->ranks && wire > from) {
            put_row(to, op->rank, "op waits for members", op->step, from, wire);
        }
        if (op->rank < to->ranks && op->to_ns > wire) {
            put_row(to, op->rank, "op on the wire", op->step, wire, op->to_ns);
        }
    }
    for (int64_t i = 0; i < timeline->step_count; i++) {
        const gs_step_row *row = &timeline->steps[i];
        if ((uint32_t)row->rank < to->ranks) {
            put_row(to, (uint32_t)row->rank, "step", row->step, row->start_ns,
                    row->start_ns + row->duration_ns);
        }
    }
}

/* A row of a rank is 1 high, upside down: rank 0 is on top. */
static void put_script(const picture *from, const char *title, gs_plot *plot)
{
    FILE *out = plot->script;
    fputs("set title ", out);
    gs_plot_quote(title, out);
    fprintf(out,
            "\nset xlabel 'ms since the first step shown began'\n"
            "set yrange [%g:-0.6]\n"
            "set autoscale xfix\n"
            "set ytics scale 0\n"
            "set style fill solid noborder\n"
            "is(wanted) = strcol(2) eq wanted\n"
            "set ytics (",
            (double)from->ranks - 0.4);
    for (uint32_t rank = 0; rank < from->ranks; rank++) {
        fprintf(out, "%s'rank %" PRIu32 "' %" PRIu32, rank == 0 ? "" : ", ", rank, rank);
    }
    fputs(")\n", out);
    fputs("plot ", out);
    for (size_t i = 0; i < LOOKS; i++) {
        if (!from->used[i]) {
            continue;
        }
        const char *color = gs_plot_part_color(looks[i].part);
        fprintf(out,
                "%s skip 1 using 4:(is('%s') ? $1 : NaN):4:5:($1 %+g):($1 %+g) with boxxyerror "
                "fs %s lc rgb '%s' title '%s', \\\n     ",
                plot->data, looks[i].name, looks[i].upper ? -0.4 : 0.12,
                looks[i].upper ? 0.08 : 0.34,
                looks[i].light ? "solid 0.45 noborder" : "solid noborder", color, looks[i].name);
    }
    fprintf(out,
            "%s skip 1 using 4:(is('step') ? $1 - 0.45 : NaN):(0):(0.84) with vectors nohead "
            "lw 1.5 lc rgb '#202020' title 'step begins'\n",
            plot->data);
}

int gs_plot_timeline_of(const gs_cli *cli, const gs_scenario *scenario, gs_plot *plot)
{
    gs_window window;
    gs_timeline *timeline = NULL;
    int code = gs_window_of(cli, scenario, STEPS, &window);
    gs_interrupt_watch();
    code = code == GS_EXIT_OK ? gs_timeline_run(scenario, window, &timeline) : code;
    if (code == GS_EXIT_OK) {
        uint32_t ranks = scenario->ranks;
        picture drawn = {.csv = plot->csv, .ranks = ranks < RANKS_MAX ? ranks : RANKS_MAX};
        char *what = gs_timeline_title(scenario, timeline);
        char *title = gs_text("%s: %s", scenario->name, what);
        put_data(&drawn, timeline);
        put_script(&drawn, title, plot);
        int height = FRAME_PIXELS + ROW_PIXELS * (int)drawn.ranks;
        plot->height = height < HEIGHT_MAX ? height : HEIGHT_MAX;
        plot->width = 1200;
        plot->lies = true;
        if (drawn.ranks < ranks && !cli->flags.quiet) {
            gs_complain("%s: draws ranks 0 to %d of %u; gradsync sim --timeline FILE has all",
                        scenario->name, RANKS_MAX - 1, ranks);
        }
        free(what);
        free(title);
    }
    gs_timeline_destroy(timeline);
    return code;
}

int gs_plot_timeline(const gs_cli *cli, gs_plot *plot)
{
    gs_cli rest = *cli;
    rest.words++;
    rest.word_count--;
    gs_loaded loaded;
    gs_error err = {0};
    int code = gs_scenario_load(&rest, &loaded);
    if (code == GS_EXIT_OK && gs_scenario_runnable(&loaded.scenario, &err) != GS_OK) {
        code = gs_complain_error(&err);
    }
    code = code == GS_EXIT_OK ? gs_plot_timeline_of(cli, &loaded.scenario, plot) : code;
    gs_scenario_unload(&loaded);
    return code;
}
