#include "tools/sweep/verdict.h"

#include "tools/message.h"
#include "tools/sim_stats.h"
#include "tools/simpler.h"

#include <math.h>
#include <stdlib.h>

/* --- the best of a group ---------------------------------------------------------------------- */

static uint32_t missing_of(const gs_sweep *sweep, uint32_t point)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < sweep->seeds; i++) {
        missing += isfinite(gs_sweep_score(sweep, point, i)) ? 0 : 1;
    }
    return missing;
}

static double mean_of(const gs_sweep *sweep, uint32_t point)
{
    double sum = 0.0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < sweep->seeds; i++) {
        double score = gs_sweep_score(sweep, point, i);
        if (isfinite(score)) {
            sum += score;
            count++;
        }
    }
    return count == 0 ? (double)NAN : sum / count;
}

static gs_sweep_mark first_mark(const gs_sweep *sweep, uint32_t point, double score)
{
    const gs_swept *swept = &sweep->points[point];
    if (swept->refused != NULL) {
        return GS_MARK_REFUSED;
    }
    if (swept->is_pruned) {
        return GS_MARK_PRUNED;
    }
    if (swept->known < sweep->seeds) {
        return GS_MARK_UNKNOWN;
    }
    return isfinite(score) ? GS_MARK_NONE : GS_MARK_MISSED;
}

static bool is_better(const gs_sweep *sweep, const gs_sweep_verdict *verdict, uint32_t a,
                      uint32_t b)
{
    uint32_t missing_a = missing_of(sweep, a);
    uint32_t missing_b = missing_of(sweep, b);
    return missing_a != missing_b ? missing_a < missing_b : verdict->scores[a] < verdict->scores[b];
}

static gs_ratio ratio_to(const gs_sweep *sweep, uint32_t best, uint32_t other)
{
    double *both = gs_need(calloc((size_t)sweep->seeds * 2, sizeof *both));
    for (uint32_t i = 0; i < sweep->seeds; i++) {
        both[i] = gs_sweep_score(sweep, other, i);
        both[sweep->seeds + i] = gs_sweep_score(sweep, best, i);
    }
    gs_ratio ratio = gs_ratio_of(both, both + sweep->seeds, sweep->seeds);
    free(both);
    return ratio;
}

/* The best of each group of which everything is known. */
static void find_best(const gs_sweep *sweep, gs_sweep_verdict *out)
{
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        out->scores[p] = mean_of(sweep, p);
        out->marks[p] = first_mark(sweep, p, out->scores[p]);
        out->behind[p] = (double)NAN;
        uint32_t *best = &out->best[sweep->grid.points[p].group];
        if (out->marks[p] == GS_MARK_NONE &&
            (*best == GS_NO_VALUE || is_better(sweep, out, p, *best))) {
            *best = p;
        }
    }
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        if (out->marks[p] == GS_MARK_UNKNOWN) {
            out->best[sweep->grid.points[p].group] = GS_NO_VALUE;
        }
    }
}

static void judge_points(const gs_sweep *sweep, gs_sweep_verdict *out)
{
    find_best(sweep, out);
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        uint32_t best = out->best[sweep->grid.points[p].group];
        if (out->marks[p] != GS_MARK_NONE || best == GS_NO_VALUE) {
            continue;
        }
        gs_ratio ratio = ratio_to(sweep, best, p);
        bool is_alike = missing_of(sweep, p) == missing_of(sweep, best);
        out->behind[p] = p == best ? 1.0 : ratio.value;
        out->marks[p] = p == best                             ? GS_MARK_BEST
                        : is_alike && gs_ratio_is_tie(&ratio) ? GS_MARK_TIE
                                                              : GS_MARK_NONE;
    }
}

/* Is the strategy of a point simpler? Points of one strategy differ in what is no simpler. */
static bool is_simpler(const gs_sweep *sweep, uint32_t a, uint32_t b)
{
    return gs_simpler_compare(sweep->points[a].label, sweep->points[b].label) < 0;
}

static void count_ties(const gs_sweep *sweep, gs_sweep_verdict *out)
{
    for (uint32_t g = 0; g < sweep->grid.group_count; g++) {
        out->preferred[g] = out->best[g];
    }
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        uint32_t group = sweep->grid.points[p].group;
        if (out->marks[p] != GS_MARK_TIE) {
            continue;
        }
        out->ties[group]++;
        if (is_simpler(sweep, p, out->preferred[group])) {
            out->preferred[group] = p;
        }
    }
}

static void count_points(const gs_sweep *sweep, gs_sweep_verdict *out)
{
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        out->pruned += out->marks[p] == GS_MARK_PRUNED ? 1 : 0;
        out->refused += out->marks[p] == GS_MARK_REFUSED ? 1 : 0;
        out->missed += out->marks[p] == GS_MARK_MISSED ? 1 : 0;
        out->unknown += out->marks[p] == GS_MARK_UNKNOWN ? 1 : 0;
        out->diverged += sweep->points[p].diverged;
        out->failed += sweep->points[p].failed;
    }
}

/* --- knees ------------------------------------------------------------------------------------ */

/* A point on the curve of that number. */
typedef struct place {
    uint64_t curve;
    double x;
    uint32_t point;
} place;

static int by_curve(const void *left, const void *right)
{
    const place *a = left;
    const place *b = right;
    if (a->curve != b->curve) {
        return a->curve < b->curve ? -1 : 1;
    }
    return (a->x > b->x) - (a->x < b->x);
}

/* Points whose values agree in all other dimensions are one curve. */
static uint64_t curve_of(const gs_grid *grid, uint32_t point, uint32_t dimension)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < grid->dimensions.count; i++) {
        uint32_t value = grid->points[point].values[i];
        uint64_t digit = value == GS_NO_VALUE ? grid->dimensions.list[i].count : value;
        number = i == dimension ? number : number * (grid->dimensions.list[i].count + 1) + digit;
    }
    return number;
}

static bool is_log(const gs_dimension *dimension)
{
    return dimension->kind != GS_DIMENSION_YEARS;
}

static void find_knee(const gs_sweep *sweep, uint32_t dimension, const place *curve, uint32_t count,
                      gs_sweep_verdict *out)
{
    double *x = gs_need(calloc((size_t)count * (sweep->seeds + 1), sizeof *x));
    double *y = x + count;
    for (uint32_t i = 0; i < count; i++) {
        x[i] = curve[i].x;
        for (uint32_t s = 0; s < sweep->seeds; s++) {
            y[(size_t)i * sweep->seeds + s] = gs_sweep_score(sweep, curve[i].point, s);
        }
    }
    gs_knee knee;
    if (gs_knee_of(x, y, count, sweep->seeds, is_log(&sweep->grid.dimensions.list[dimension]),
                   &knee) != GS_OK) {
        gs_need(NULL);
    }
    if (knee.found) {
        out->knees[out->knee_count++] =
            (gs_sweep_knee){.dimension = dimension, .point = curve[0].point, .knee = knee};
    }
    free(x);
}

static void find_knees_over(const gs_sweep *sweep, uint32_t dimension, place *places,
                            gs_sweep_verdict *out)
{
    const gs_dimension *over = &sweep->grid.dimensions.list[dimension];
    uint32_t count = 0;
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        uint32_t value = sweep->grid.points[p].values[dimension];
        if (value != GS_NO_VALUE && (!is_log(over) || over->values[value].number > 0.0)) {
            places[count++] = (place){.curve = curve_of(&sweep->grid, p, dimension),
                                      .x = over->values[value].number,
                                      .point = p};
        }
    }
    qsort(places, count, sizeof *places, by_curve);
    for (uint32_t first = 0; first < count;) {
        uint32_t end = first;
        while (end < count && places[end].curve == places[first].curve) {
            end++;
        }
        find_knee(sweep, dimension, places + first, end - first, out);
        first = end;
    }
}

static void find_knees(const gs_sweep *sweep, gs_sweep_verdict *out)
{
    const gs_dimensions *dimensions = &sweep->grid.dimensions;
    size_t points = sweep->grid.count;
    place *places = gs_need(calloc(points + 1, sizeof *places));
    out->knees = gs_need(calloc(points * dimensions->count + 1, sizeof *out->knees));
    for (uint32_t i = 0; i < dimensions->count; i++) {
        if (gs_dimension_is_numeric(&dimensions->list[i], GS_KNEE_POINTS_MIN)) {
            find_knees_over(sweep, i, places, out);
        }
    }
    free(places);
}

/* ---------------------------------------------------------------------------------------------- */

void gs_sweep_verdict_make(const gs_sweep *sweep, gs_sweep_verdict *out)
{
    size_t points = sweep->grid.count;
    size_t groups = sweep->grid.group_count;
    *out = (gs_sweep_verdict){.marks = gs_need(calloc(points + 1, sizeof *out->marks)),
                              .scores = gs_need(calloc(points + 1, sizeof *out->scores)),
                              .behind = gs_need(calloc(points + 1, sizeof *out->behind)),
                              .best = gs_need(calloc(groups + 1, sizeof *out->best)),
                              .ties = gs_need(calloc(groups + 1, sizeof *out->ties)),
                              .preferred = gs_need(calloc(groups + 1, sizeof *out->preferred))};
    for (size_t i = 0; i < groups; i++) {
        out->best[i] = GS_NO_VALUE;
    }
    judge_points(sweep, out);
    count_ties(sweep, out);
    count_points(sweep, out);
    find_knees(sweep, out);
}

void gs_sweep_verdict_free(gs_sweep_verdict *verdict)
{
    free(verdict->marks);
    free(verdict->scores);
    free(verdict->behind);
    free(verdict->best);
    free(verdict->ties);
    free(verdict->preferred);
    free(verdict->knees);
    *verdict = (gs_sweep_verdict){0};
}
