/* plot heatmap: which strategy is best over two keys that a sweep has varied, bandwidth and jitter
 * first. */
#include "tools/message.h"
#include "tools/output.h"
#include "tools/plot.h"
#include "tools/sim_stats.h"
#include "tools/stored_set.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_WITH_TEXT = 80, CELL_PIXELS = 62 };

typedef struct cell {
    uint32_t best;   /* label; GS_NOT_SWEPT: none has a value */
    double score;    /* mean over its seeds */
    bool is_tie;     /* with the next one: the 95 % interval of their paired ratio holds 1 */
    uint32_t second; /* label; GS_NOT_SWEPT: there is no other */
    double behind;   /* times the best; NAN: there is no other */
} cell;

typedef struct map {
    gs_stored_set *set;
    const gs_swept_key *x, *y;
    gs_set_measure measure;
    const uint32_t *held;  /* [key_count] value of every other key; GS_NOT_SWEPT: any */
    const char *held_text; /* ", noise.compute.cv=0.1"; "": there are no others */
    uint64_t *seeds;       /* [seed_count] */
    uint32_t seed_count;
    cell *cells;         /* [y->count * x->count] */
    double own_x, own_y; /* where the scenario itself lies, in columns and rows from 0; NAN: it is
                            not known, or off the map */
} map;

/* ---------------------------------------------------------------- axes */

/* How much a key is one of those that a reader asks about first; 0: a choice of whoever runs the
 * job, which has a best value and no axis. */
static int rank_of_key(const gs_swept_key *key)
{
    static const char *const choices[] = {"strategy", "workload.optimizer", "workload.batch",
                                          "workload.accumulation", "cluster.collectives"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strncmp(key->key, choices[i], strlen(choices[i])) == 0) {
            return 0;
        }
    }
    return strstr(key->key, "bandwidth") != NULL ? 4
           : strncmp(key->key, "noise.", 6) == 0 ? 3
           : strstr(key->key, "latency") != NULL ? 2
                                                 : 1;
}

/* The key that comes first, leaving one out; NULL: none. */
static const gs_swept_key *axis_of(const gs_stored_set *set, const gs_swept_key *without)
{
    const gs_swept_key *best = NULL;
    for (uint32_t i = 0; i < set->key_count; i++) {
        const gs_swept_key *key = &set->keys[i];
        int rank = rank_of_key(key);
        if (key != without && key->count > 1 && rank > 0 &&
            (best == NULL || rank > rank_of_key(best))) {
            best = key;
        }
    }
    return best;
}

/* Further keys of the sweep are held at their first value; KEY=VALUE holds them at another. */
static void hold_others(map *of)
{
    gs_stored_set *set = of->set;
    uint32_t *held = gs_need(gs_arena_take(&set->arena, (size_t)set->key_count + 1, sizeof *held));
    char *text = gs_text("%s", "");
    for (uint32_t i = 0; i < set->key_count; i++) {
        const gs_swept_key *key = &set->keys[i];
        bool is_held = key != of->x && key != of->y && key->count > 1 && rank_of_key(key) > 0;
        held[i] = is_held ? 0 : GS_NOT_SWEPT;
        if (is_held) {
            char *longer = gs_text("%s, %s=%s", text, key->key, key->values[0]);
            free(text);
            text = longer;
        }
    }
    of->held = held;
    of->held_text = gs_need(gs_arena_text(&set->arena, text));
    free(text);
}

/* ---------------------------------------------------------------- cells */

static bool is_in_cell(const map *of, const gs_set_run *run, uint32_t x, uint32_t y)
{
    bool is_in = run->values[of->x - of->set->keys] == x && run->values[of->y - of->set->keys] == y;
    for (uint32_t i = 0; i < of->set->key_count && is_in; i++) {
        is_in = of->held[i] == GS_NOT_SWEPT || run->values[i] == of->held[i];
    }
    return is_in;
}

static void list_seeds(map *of)
{
    of->seeds =
        gs_need(gs_arena_take(&of->set->arena, (size_t)of->set->count + 1, sizeof *of->seeds));
    for (uint32_t i = 0; i < of->set->count; i++) {
        uint32_t place = 0;
        while (place < of->seed_count && of->seeds[place] != of->set->runs[i].run.seed) {
            place++;
        }
        of->seeds[place] = of->set->runs[i].run.seed;
        of->seed_count += place == of->seed_count ? 1 : 0;
    }
}

/* values [seed_count]: scores of a label in a cell; NAN: the seed has none. */
static gs_spread scores_of(const map *of, uint32_t x, uint32_t y, uint32_t label, double *values)
{
    for (uint32_t seed = 0; seed < of->seed_count; seed++) {
        values[seed] = (double)NAN;
    }
    for (uint32_t i = 0; i < of->set->count; i++) {
        const gs_set_run *run = &of->set->runs[i];
        if (run->label == label && is_in_cell(of, run, x, y)) {
            for (uint32_t seed = 0; seed < of->seed_count; seed++) {
                if (of->seeds[seed] == run->run.seed) {
                    values[seed] = gs_set_score(of->measure, run);
                }
            }
        }
    }
    return gs_spread_of(values, of->seed_count);
}

/* scratch [2 * seed_count]. A strategy some of whose seeds have no value comes after all that have
 * one for each. */
static cell judge(const map *of, uint32_t x, uint32_t y, double *scratch)
{
    cell out = {.best = GS_NOT_SWEPT, .second = GS_NOT_SWEPT, .behind = (double)NAN};
    double second = (double)INFINITY;
    size_t most = 0;
    for (uint32_t label = 0; label < of->set->label_count; label++) {
        gs_spread spread = scores_of(of, x, y, label, scratch);
        most = spread.count > most ? spread.count : most;
    }
    for (uint32_t label = 0; most > 0 && label < of->set->label_count; label++) {
        gs_spread spread = scores_of(of, x, y, label, scratch);
        if (spread.count < most) {
            continue;
        }
        if (out.best == GS_NOT_SWEPT || spread.mean < out.score) {
            out.second = out.best;
            second = out.best == GS_NOT_SWEPT ? second : out.score;
            out.best = label;
            out.score = spread.mean;
        } else if (spread.mean < second) {
            out.second = label;
            second = spread.mean;
        }
    }
    if (out.second != GS_NOT_SWEPT) {
        double *other = scratch + of->seed_count;
        scores_of(of, x, y, out.best, scratch);
        scores_of(of, x, y, out.second, other);
        gs_ratio ratio = gs_ratio_of(other, scratch, of->seed_count);
        out.behind = second / out.score;
        out.is_tie = isfinite(ratio.value) && gs_ratio_is_tie(&ratio);
    }
    return out;
}

static void fill_cells(map *of)
{
    uint32_t count = of->x->count * of->y->count;
    of->cells = gs_need(gs_arena_take(&of->set->arena, (size_t)count, sizeof *of->cells));
    double *scratch =
        gs_need(gs_arena_take(&of->set->arena, 2 * (size_t)of->seed_count + 1, sizeof *scratch));
    for (uint32_t y = 0; y < of->y->count; y++) {
        for (uint32_t x = 0; x < of->x->count; x++) {
            of->cells[y * of->x->count + x] = judge(of, x, y, scratch);
        }
    }
}

/* ---------------------------------------------------------------- the scenario's own place */

/* In steps of the axis, between two of its values as far as their logarithms say where both have
 * one. NAN: not known, or beyond its ends. */
static double own_place(const gs_swept_key *key)
{
    for (uint32_t i = 0; key->own != NULL && i < key->count; i++) {
        double low = key->numbers[i];
        double own = key->own_number;
        if (strcmp(key->own, key->values[i]) == 0 || own == low) {
            return i;
        }
        double high = i + 1 < key->count ? key->numbers[i + 1] : low;
        if (key->is_numeric && own > low && own < high) {
            return i + (low > 0.0 ? log(own / low) / log(high / low) : (own - low) / (high - low));
        }
    }
    return (double)NAN;
}

static bool has_own(const map *of)
{
    return isfinite(of->own_x) && isfinite(of->own_y);
}

/* ---------------------------------------------------------------- telling */

static char *score_text(const map *of, double score, char out[GS_UNIT_TEXT_BYTES])
{
    if (of->measure == GS_SET_LOSS) {
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.4g", score);
        return out;
    }
    return gs_format_duration((gs_time_ns)llround(score), out);
}

static char *title_of(const map *of)
{
    return gs_text("%s: least %s%s", of->set->runs[0].run.scenario.name,
                   gs_set_measure_title(of->measure), of->held_text);
}

static void put_data(const map *of, gs_plot *plot)
{
    fputs("x,y,x_value,y_value,strategy,label,score,second,ratio,tie,text\n", plot->csv);
    for (uint32_t y = 0; y < of->y->count; y++) {
        for (uint32_t x = 0; x < of->x->count; x++) {
            const cell *at = &of->cells[y * of->x->count + x];
            char text[GS_UNIT_TEXT_BYTES];
            if (at->best == GS_NOT_SWEPT) {
                continue;
            }
            fprintf(plot->csv, "%" PRIu32 ",%" PRIu32 ",", x, y);
            gs_plot_field(of->x->values[x], plot->csv);
            fputc(',', plot->csv);
            gs_plot_field(of->y->values[y], plot->csv);
            fprintf(plot->csv, ",%" PRIu32 ",", at->best);
            gs_plot_field(of->set->labels[at->best], plot->csv);
            fprintf(plot->csv, ",%.9g,", at->score);
            gs_plot_field(at->second == GS_NOT_SWEPT ? "" : of->set->labels[at->second], plot->csv);
            fprintf(plot->csv, isfinite(at->behind) ? ",%.6g" : ",", at->behind);
            fprintf(plot->csv, ",%d,", at->is_tie ? 1 : 0);
            gs_plot_field(score_text(of, at->score, text), plot->csv);
            fputc('\n', plot->csv);
        }
    }
}

static void put_axis(FILE *out, char axis, const gs_swept_key *key)
{
    fprintf(out, "set %clabel ", axis);
    gs_plot_quote(key->key, out);
    fprintf(out, "\nset %ctics scale 0 (", axis);
    for (uint32_t i = 0; i < key->count; i++) {
        fputs(i == 0 ? "" : ", ", out);
        gs_plot_quote(key->values[i], out);
        fprintf(out, " %" PRIu32, i);
    }
    fprintf(out, ")\nset %crange [-0.5:%" PRIu32 ".5]\n", axis, key->count - 1);
}

static void fill(const map *of, gs_plot *plot)
{
    gs_stored_set *set = of->set;
    FILE *out = plot->script;
    uint32_t cells = of->x->count * of->y->count;
    const char **colors =
        gs_need(gs_arena_take(&set->arena, (size_t)set->label_count + 1, sizeof *colors));
    gs_plot_strategy_colors(set->labels, set->label_count, colors);
    char *title = title_of(of);
    fputs("set title ", out);
    gs_plot_quote(title, out);
    fputs("\nunset grid\n", out);
    free(title);
    put_axis(out, 'x', of->x);
    put_axis(out, 'y', of->y);
    fputs("plot ", out);
    bool is_first = true;
    for (uint32_t label = 0; label < set->label_count; label++) {
        bool is_best = false;
        for (uint32_t i = 0; i < cells; i++) {
            is_best = is_best || of->cells[i].best == label;
        }
        if (is_best) {
            fprintf(out,
                    "%s%s skip 1 using ($5 == %" PRIu32 " ? $1 : NaN):2:(0.48):(0.48) with "
                    "boxxyerror fs solid 0.6 noborder lc rgb '%s' title ",
                    is_first ? "" : ", \\\n     ", plot->data, label, colors[label]);
            gs_plot_quote(set->labels[label], out);
            is_first = false;
        }
    }
    fprintf(
        out,
        ", \\\n     %s skip 1 using ($10 == 1 ? $1 : NaN):2:(0.48):(0.48) with boxxyerror "
        "fs transparent pattern 4 noborder lc rgb '#101010' title 'hatched: ties with the next'",
        plot->data);
    if (cells <= CELLS_WITH_TEXT) {
        fprintf(
            out,
            ", \\\n     %s skip 1 using 1:2:(strcol(11)) with labels %stc rgb '#101010' notitle",
            plot->data, has_own(of) ? "offset 0,-0.9 " : "");
    }
    if (has_own(of)) {
        fprintf(out,
                ", \\\n     '+' using (%.6g):(%.6g) every ::0::0 with points pt 3 ps 2 lw 2.5 "
                "lc rgb '#101010' title 'the scenario itself'",
                of->own_x, of->own_y);
    }
    fputc('\n', out);
    plot->width = 420 + (int)of->x->count * 110;
    plot->height = 160 + (int)of->y->count * CELL_PIXELS;
}

/* Rows of y and columns of x: characters have no colours. */
static int print(const gs_cli *cli, const map *of, gs_plot *plot)
{
    gs_table table;
    gs_output output;
    uint32_t columns =
        of->x->count + 1 < GS_TABLE_COLUMNS_MAX ? of->x->count : GS_TABLE_COLUMNS_MAX - 1;
    gs_table_init(&table);
    gs_table_add_column(&table, (gs_table_column){of->y->key, NULL, true});
    for (uint32_t x = 0; x < columns; x++) {
        gs_table_add_column(&table, (gs_table_column){of->x->values[x], NULL, false});
    }
    for (uint32_t y = 0; y < of->y->count; y++) {
        gs_table_add(&table, of->y->values[y], NULL);
        for (uint32_t x = 0; x < columns; x++) {
            const cell *at = &of->cells[y * of->x->count + x];
            char text[GS_UNIT_TEXT_BYTES];
            char *words = at->best == GS_NOT_SWEPT
                              ? gs_text("-")
                              : gs_text("%s%s %s", at->is_tie ? "~ " : "",
                                        of->set->labels[at->best], score_text(of, at->score, text));
            gs_table_add(&table, words, NULL);
            free(words);
        }
    }
    int code = gs_output_open(&output, "-");
    if (code == GS_EXIT_OK) {
        char *title = title_of(of);
        fprintf(output.text, "%s, by %s (across) and %s (down); ~ ties with the next\n\n", title,
                of->x->key, of->y->key);
        free(title);
        gs_table_print(&table, GS_TABLE_TEXT, cli->bold, output.text);
        if (has_own(of)) {
            fprintf(output.text, "\nthe scenario itself: %s=%s, %s=%s\n", of->x->key, of->x->own,
                    of->y->key, of->y->own);
        }
        code = gs_output_close(&output);
    }
    gs_table_fini(&table);
    plot->is_told = true;
    return code;
}

int gs_plot_heatmap(const gs_cli *cli, gs_plot *plot)
{
    gs_stored_set set;
    int code = gs_stored_set_open(cli, "plot heatmap", 1, cli->word_count - 1, &set);
    map of = {.set = &set};
    of.x = code == GS_EXIT_OK ? axis_of(&set, NULL) : NULL;
    of.y = of.x == NULL ? NULL : axis_of(&set, of.x);
    if (code == GS_EXIT_OK && of.y == NULL) {
        gs_complain("plot heatmap: two swept keys of the job are wanted, and these runs have %s; "
                    "sweep two, such as cluster.links.nic.bandwidth=1..100Gbit/s:5:log "
                    "noise.compute.cv=0,0.1,0.3",
                    of.x == NULL ? "none" : of.x->key);
        code = GS_EXIT_FAILED;
    } else if (code == GS_EXIT_OK) {
        of.measure = gs_stored_set_measure(&set);
        hold_others(&of);
        list_seeds(&of);
        fill_cells(&of);
        of.own_x = own_place(of.x);
        of.own_y = own_place(of.y);
        if (gs_plot_is_preview(plot)) {
            code = print(cli, &of, plot);
        } else {
            put_data(&of, plot);
            fill(&of, plot);
        }
    }
    gs_stored_set_close(&set);
    return code;
}
