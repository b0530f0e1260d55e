#include "tools/sweep/sweep_page.h"

#include "tools/message.h"
#include "tools/sim_report.h"
#include "tools/sim_stats.h"
#include "tools/sweep/sweep_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 256 };

static const char *const marks[] = {
    [GS_MARK_NONE] = "",     [GS_MARK_BEST] = "*",   [GS_MARK_TIE] = "~",    [GS_MARK_PRUNED] = "-",
    [GS_MARK_REFUSED] = "x", [GS_MARK_MISSED] = "x", [GS_MARK_UNKNOWN] = "?"};

static const char *const states[] = {
    [GS_MARK_NONE] = "behind",    [GS_MARK_BEST] = "best",       [GS_MARK_TIE] = "tie",
    [GS_MARK_PRUNED] = "pruned",  [GS_MARK_REFUSED] = "refused", [GS_MARK_MISSED] = "missed",
    [GS_MARK_UNKNOWN] = "unknown"};

static void set(gs_page *page, const char *key, gs_json *value)
{
    if (!gs_json_set(page->document, key, value)) {
        gs_need(NULL);
    }
}

/* --- columns ---------------------------------------------------------------------------------- */

/* People see values of keys and the strategy with its parameters; programs every dimension. */
static void add_dimension_columns(const gs_sweep *sweep, gs_page *page)
{
    for (uint32_t i = 0; i < sweep->grid.dimensions.count; i++) {
        const gs_dimension *dimension = &sweep->grid.dimensions.list[i];
        bool is_strategy = dimension->kind == GS_DIMENSION_STRATEGY;
        bool is_shown = dimension->kind != GS_DIMENSION_PARAMETER;
        bool is_number = gs_dimension_is_numeric(dimension, 1);
        const char *title = gs_sweep_short_key(&sweep->grid.dimensions, i);
        gs_table_add_column(&page->table, (gs_table_column){is_shown ? title : NULL, dimension->key,
                                                            is_number && !is_strategy});
    }
}

static void add_dimension_cells(const gs_sweep *sweep, uint32_t point, gs_page *page)
{
    for (uint32_t i = 0; i < sweep->grid.dimensions.count; i++) {
        const gs_dimension *dimension = &sweep->grid.dimensions.list[i];
        uint32_t value = sweep->grid.points[point].values[i];
        if (dimension->kind == GS_DIMENSION_STRATEGY) {
            gs_table_add(&page->table, sweep->points[point].label, NULL);
        } else if (value == GS_NO_VALUE) {
            gs_table_add(&page->table, "-", "");
        } else {
            char exact[GS_UNIT_TEXT_BYTES];
            const gs_dimension_value *at = &dimension->values[value];
            gs_table_add(&page->table, at->text,
                         isfinite(at->number) ? gs_exact_real(at->number, exact) : NULL);
        }
    }
}

/* --- results ---------------------------------------------------------------------------------- */

/* What values of a column are written in: one unit for all of them. */
typedef enum measure { OF_TIME, OF_BYTES, OF_SHARE, OF_NUMBER, MEASURES } measure;

typedef struct step {
    double size;
    const char *name;
} step;

enum { STEPS = 5, DIGITS_MAX = 4 };

static const step steps_of[MEASURES][STEPS] = {
    [OF_TIME] = {{1.0, " ns"}, {1e3, " us"}, {1e6, " ms"}, {1e9, " s"}, {3.6e12, " h"}},
    [OF_BYTES] = {{1.0, " B"}, {1e3, " KB"}, {1e6, " MB"}, {1e9, " GB"}, {1e12, " TB"}},
};

typedef struct scale {
    measure of;
    step unit;
    int digits; /* after the point */
} scale;

/* Sizes of what is not 0; most 0: nothing is. */
typedef struct span {
    double least, most;
} span;

static void widen(span *all, double value)
{
    double size = fabs(value);
    if (isfinite(value) && size > 0.0) {
        all->least = all->least > 0.0 ? fmin(all->least, size) : size;
        all->most = fmax(all->most, size);
    }
}

/* The largest unit in which the largest value is above 1 and the least one keeps three digits. */
static scale scale_of(measure of, span all)
{
    scale out = {.of = of, .unit = steps_of[of][0]};
    if (of == OF_SHARE || of == OF_NUMBER || !(all.most > 0.0)) {
        return out;
    }
    for (int i = 0; i < STEPS && steps_of[of][i].size <= all.most; i++) {
        int digits = 2 - (int)floor(log10(all.least / steps_of[of][i].size));
        if (i > 0 && digits > DIGITS_MAX) {
            break;
        }
        out.unit = steps_of[of][i];
        out.digits = digits < 0 ? 0 : digits;
    }
    return out;
}

static void put_value(const scale *in, double value, char out[CELL_BYTES])
{
    if (in->of == OF_NUMBER) {
        (void)snprintf(out, CELL_BYTES, "%.4g", value);
    } else if (in->of == OF_SHARE) {
        (void)snprintf(out, CELL_BYTES, "%.1f %%", 100.0 * value);
    } else {
        (void)snprintf(out, CELL_BYTES, "%.*f%s", in->digits, value / in->unit.size, in->unit.name);
    }
}

typedef struct column {
    const char *title;
    const char *metric;
    measure of;
    bool is_learned; /* of gradients with numbers */
} column;

static const column columns[] = {
    {"step mean", "step_mean_ns", OF_TIME, false},
    {"exposed comm", "exposed_comm_ns", OF_TIME, false},
    {"wire/step/NIC", "wire_bytes_per_step", OF_BYTES, false},
    {"final accuracy", "final_accuracy", OF_SHARE, true},
    {"final loss", "final_loss", OF_NUMBER, true},
    {"drift", "consensus_distance", OF_NUMBER, true},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static double metric_mean(const gs_sweep *sweep, uint32_t point, const char *name)
{
    uint32_t metric = gs_metric_find(name);
    double sum = 0.0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < sweep->seeds; i++) {
        double value = gs_sweep_value(sweep, point, i, metric);
        sum += isfinite(value) ? value : 0.0;
        count += isfinite(value) ? 1 : 0;
    }
    return count == 0 ? (double)NAN : sum / count;
}

static bool is_column_used(const gs_sweep *sweep, const column *one)
{
    bool used = !one->is_learned || sweep->objective != GS_SWEEP_SAMPLE_TIME;
    bool has_value = false;
    for (uint32_t p = 0; p < sweep->grid.count && used && !has_value; p++) {
        has_value = isfinite(metric_mean(sweep, p, one->metric));
    }
    return used && (has_value || !one->is_learned);
}

static void add_value(gs_page *page, double value, const scale *in)
{
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES] = "";
    if (isfinite(value)) {
        put_value(in, value, shown);
        gs_exact_real(value, exact);
    }
    gs_table_add(&page->table, shown, exact);
}

static scale scale_of_scores(const gs_sweep *sweep, const gs_sweep_verdict *verdict)
{
    span all = {0};
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        widen(&all, verdict->scores[p]);
    }
    return scale_of(sweep->objective == GS_SWEEP_LOSS ? OF_NUMBER : OF_TIME, all);
}

static scale scale_of_column(const gs_sweep *sweep, const column *one)
{
    span all = {0};
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        widen(&all, metric_mean(sweep, p, one->metric));
    }
    return scale_of(one->of, all);
}

static void add_behind(double value, gs_sweep_mark mark, gs_page *page)
{
    char ratio[GS_UNIT_TEXT_BYTES];
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES] = "";
    if (isfinite(value)) {
        (void)snprintf(shown, sizeof shown, "%sx%s", gs_sim_ratio_text(value, ratio),
                       mark == GS_MARK_TIE ? " tie" : "");
        gs_exact_real(value, exact);
    }
    gs_table_add(&page->table, shown, exact);
}

/* What is to be said of a point beside its numbers. */
static void add_remark(const gs_sweep *sweep, uint32_t point, gs_sweep_mark mark, gs_page *page)
{
    const gs_swept *swept = &sweep->points[point];
    char text[512] = "";
    if (mark == GS_MARK_REFUSED) {
        (void)snprintf(text, sizeof text, "%s", swept->refused);
    } else if (mark == GS_MARK_PRUNED) {
        (void)snprintf(text, sizeof text, "pruned after rung %" PRIu32, swept->rung + 1);
    } else if (swept->elsewhere) {
        (void)snprintf(text, sizeof text, "of another shard");
    } else if (swept->failed > 0) {
        (void)snprintf(text, sizeof text, "%" PRIu32 " failed: %.400s", swept->failed,
                       swept->error == NULL ? "?" : swept->error);
    } else if (swept->diverged > 0) {
        (void)snprintf(text, sizeof text, "%" PRIu32 " diverged", swept->diverged);
    }
    gs_table_add(&page->table, text, NULL);
}

static void add_result_columns(const gs_sweep *sweep, const bool used[COLUMN_COUNT], gs_page *page)
{
    gs_table *table = &page->table;
    gs_table_add_column(table, (gs_table_column){"runs", "runs", true});
    gs_table_add_column(table, (gs_table_column){gs_sweep_objective_title(sweep->objective),
                                                 gs_sweep_objective_name(sweep->objective), true});
    gs_table_add_column(table, (gs_table_column){"vs best", "ratio_to_best", true});
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (used[i]) {
            gs_table_add_column(table,
                                (gs_table_column){columns[i].title, columns[i].metric, true});
        }
    }
    gs_table_add_column(table, (gs_table_column){"", "remark", false});
}

static void add_rows(const gs_sweep *sweep, const gs_sweep_verdict *verdict, gs_page *page)
{
    bool used[COLUMN_COUNT];
    scale scales[COLUMN_COUNT];
    scale of_scores = scale_of_scores(sweep, verdict);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        used[i] = is_column_used(sweep, &columns[i]);
        scales[i] = scale_of_column(sweep, &columns[i]);
    }
    gs_table_add_column(&page->table, (gs_table_column){"", "state", false});
    add_dimension_columns(sweep, page);
    add_result_columns(sweep, used, page);
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        char runs[CELL_BYTES];
        char exact[GS_UNIT_TEXT_BYTES];
        gs_table_add(&page->table, marks[verdict->marks[p]], states[verdict->marks[p]]);
        add_dimension_cells(sweep, p, page);
        (void)snprintf(runs, sizeof runs, "%" PRIu32 "/%" PRIu32, sweep->points[p].known,
                       sweep->seeds);
        gs_table_add(&page->table, runs, gs_exact_real(sweep->points[p].known, exact));
        add_value(page, verdict->scores[p], &of_scores);
        add_behind(verdict->behind[p], verdict->marks[p], page);
        for (int i = 0; i < COLUMN_COUNT; i++) {
            if (used[i]) {
                add_value(page, metric_mean(sweep, p, columns[i].metric), &scales[i]);
            }
        }
        add_remark(sweep, p, verdict->marks[p], page);
    }
}

/* --- facts ------------------------------------------------------------------------------------ */

static gs_json *dimensions_json(const gs_sweep *sweep)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < sweep->grid.dimensions.count; i++) {
        const gs_dimension *dimension = &sweep->grid.dimensions.list[i];
        gs_json *object = gs_need(gs_json_new_object());
        gs_json *values = gs_need(gs_json_new_list());
        bool ok = true;
        for (uint32_t k = 0; k < dimension->count; k++) {
            ok = ok && gs_json_add(values, gs_json_new_text(dimension->values[k].text));
        }
        ok = gs_json_set(object, "key", gs_json_new_text(dimension->key)) && ok;
        ok = gs_json_set(object, "unit", gs_json_new_text(dimension->unit)) && ok;
        ok = gs_json_set(object, "values", values) && ok;
        if (!ok || !gs_json_add(list, object)) {
            gs_need(NULL);
        }
    }
    return list;
}

static void add_facts(const gs_sweep *sweep, gs_page *page)
{
    char key[GS_UNIT_TEXT_BYTES];
    char *shape = gs_sweep_shape(sweep);
    gs_page_fact(page, "scenario", "scenario", sweep->grid.name, NULL);
    gs_page_fact(page, "shape", "sweep", shape, NULL);
    free(shape);
    set(page, "schema", gs_json_new_text("gradsync.sweep/1"));
    (void)snprintf(key, sizeof key, "%016" PRIx64, sweep->key);
    set(page, "sweep_key", gs_json_new_text(key));
    set(page, "seed", gs_json_new_int((int64_t)sweep->grid.seed));
    set(page, "seeds", gs_json_new_int(sweep->seeds));
    set(page, "dimensions", dimensions_json(sweep));
    if (sweep->rung_count > 1) {
        char text[CELL_BYTES] = "";
        size_t used = 0;
        for (uint32_t i = 0; i + 1 < sweep->rung_count; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu32,
                                     i == 0 ? "" : ", ", sweep->rung_seeds[i]);
        }
        char *rungs = gs_text("after %s of %" PRIu32 " seeds the worse half of each group is left",
                              text, sweep->seeds);
        gs_page_fact(page, "halving", "halving", rungs, NULL);
        free(rungs);
    }
}

static gs_json *knees_json(const gs_sweep *sweep, const gs_sweep_verdict *verdict)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < verdict->knee_count; i++) {
        const gs_sweep_knee *one = &verdict->knees[i];
        const gs_dimension *dimension = &sweep->grid.dimensions.list[one->dimension];
        gs_json *object = gs_need(gs_json_new_object());
        char *others = gs_sweep_others(sweep, one->point, one->dimension);
        bool ok = gs_json_set(object, "key", gs_json_new_text(dimension->key));
        ok = gs_json_set(object, "unit", gs_json_new_text(dimension->unit)) && ok;
        ok = gs_json_set(object, "at", gs_json_new_real(one->knee.at)) && ok;
        ok = gs_json_set(object, "low", gs_json_new_real(one->knee.low)) && ok;
        ok = gs_json_set(object, "high", gs_json_new_real(one->knee.high)) && ok;
        ok = gs_json_set(object, "slope_before", gs_json_new_real(one->knee.before)) && ok;
        ok = gs_json_set(object, "slope_after", gs_json_new_real(one->knee.after)) && ok;
        ok = gs_json_set(object, "of", gs_json_new_text(others)) && ok;
        free(others);
        if (!ok || !gs_json_add(list, object)) {
            gs_need(NULL);
        }
    }
    return list;
}

void gs_sweep_plan_page(const gs_sweep *sweep, gs_page *page)
{
    page->table_key = "points";
    add_facts(sweep, page);
    add_dimension_columns(sweep, page);
    gs_table_add_column(&page->table, (gs_table_column){"", "remark", false});
    uint32_t count = 0;
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        const char *refused = sweep->points[p].refused;
        bool is_ours = p % sweep->shards == sweep->shard;
        add_dimension_cells(sweep, p, page);
        gs_table_add(&page->table,
                     refused != NULL ? refused
                     : is_ours       ? ""
                                     : "of another shard",
                     NULL);
        count += refused == NULL && is_ours ? 1 : 0;
    }
    gs_page_note(page,
                 "Would run %" PRIu32 " of %" PRIu32 " points, %s%" PRIu32
                 " runs, less those that the database has.",
                 count, sweep->grid.count, sweep->rung_count > 1 ? "at most " : "",
                 count * sweep->seeds);
}

void gs_sweep_page(const gs_sweep *sweep, const gs_sweep_verdict *verdict, int exit_code,
                   gs_page *page)
{
    page->table_key = "points";
    add_facts(sweep, page);
    add_rows(sweep, verdict, page);
    set(page, "knees", knees_json(sweep, verdict));
    set(page, "exit_code", gs_json_new_int(exit_code));
    gs_sweep_tell(sweep, verdict, page);
}
