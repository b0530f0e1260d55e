#include "traces/slow_series.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

/* A median absolute deviation times this is the standard deviation of a normal law. */
static const double MAD_TO_SIGMA = 1.4826;

/* A value and whose it is, to be sorted by value. */
typedef struct ranked {
    int64_t value;
    size_t index;
} ranked;

static int by_value(const void *left, const void *right)
{
    const ranked *a = left;
    const ranked *b = right;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value)
                                : (a->index > b->index) - (a->index < b->index);
}

static int by_number(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int by_real(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

int64_t gs_slow_median(int64_t *values, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof *values, by_number);
    return values[(count - 1) / 2];
}

int64_t gs_slow_own(const gs_step_table *table, gs_slow_basis basis, uint32_t rank, uint32_t step)
{
    int64_t time = gs_step_table_get(table, GS_STEP_TIME, rank, step);
    if (time == GS_STEP_MISSING || basis == GS_SLOW_BY_TIME) {
        return time;
    }
    if (basis == GS_SLOW_BY_WORK) {
        int64_t wait = gs_step_table_get(table, GS_STEP_WAIT, rank, step);
        return wait == GS_STEP_MISSING ? wait : time > wait ? time - wait : 0;
    }
    static const gs_step_part OWN[] = {GS_STEP_COMPUTE, GS_STEP_INPUT, GS_STEP_WIRE};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) {
        int64_t value = gs_step_table_get(table, OWN[i], rank, step);
        if (value == GS_STEP_MISSING && table->parts[OWN[i]] != NULL) {
            return GS_STEP_MISSING;
        }
        sum += value == GS_STEP_MISSING ? 0 : value;
    }
    return sum;
}

/* Lateness of all ranks in one step. row [rank_count]. */
static void compare_step(gs_slow_series *out, uint32_t step, ranked *row)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < out->rank_count; r++) {
        int64_t value = out->values[(size_t)r * out->step_count + step];
        if (value != GS_SLOW_NO_VALUE) {
            row[count++] = (ranked){value, r};
        }
    }
    if (count < 2) {
        return;
    }
    qsort(row, count, sizeof *row, by_value);
    uint32_t others = count - 1;
    for (uint32_t i = 0; i < count; i++) {
        /* The k-th of the others is row[k], or row[k + 1] from this rank's own place on. */
        uint32_t low = (others - 1) / 2;
        uint32_t high = others / 2;
        int64_t below = row[low < i ? low : low + 1].value;
        int64_t above = row[high < i ? high : high + 1].value;
        out->late[row[i].index * out->step_count + step] =
            row[i].value - (below + (above - below) / 2);
    }
}

/* Normal scores of all latenesses together; equal ones share the score of their middle. */
static void score(gs_slow_series *out, ranked *all)
{
    size_t cells = (size_t)out->rank_count * out->step_count;
    size_t count = 0;
    for (size_t i = 0; i < cells; i++) {
        out->scores[i] = (double)NAN;
        if (out->late[i] != GS_SLOW_NO_VALUE) {
            all[count++] = (ranked){out->late[i], i};
        }
    }
    qsort(all, count, sizeof *all, by_value);
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && all[end].value == all[first].value) {
            end++;
        }
        double middle = ((double)first + (double)end) / 2.0 / (double)count;
        double shared = gsl_cdf_ugaussian_Pinv(middle);
        for (; first < end; first++) {
            out->scores[all[first].index] = shared;
        }
    }
}

/* Variance of sums over blocks of about sqrt(count) scores, over that of independent scores; 1
 * where there are too few. */
static double memory_of(const double *scores, uint32_t count)
{
    enum { COUNT_AT_LEAST = 36 };
    double sum = 0.0;
    double squares = 0.0;
    uint32_t present = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(scores[i])) {
            sum += scores[i];
            squares += scores[i] * scores[i];
            present++;
        }
    }
    if (present < COUNT_AT_LEAST) {
        return 1.0;
    }
    double mean = sum / present;
    double variance = squares / present - mean * mean;
    uint32_t length = (uint32_t)sqrt((double)present);
    double block = 0.0;
    double block_squares = 0.0;
    uint32_t in_block = 0;
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isnan(scores[i])) {
            continue;
        }
        block += scores[i] - mean;
        if (++in_block == length) {
            block_squares += block * block / length;
            blocks++;
            in_block = 0;
            block = 0.0;
        }
    }
    return variance > 0.0 ? block_squares / (blocks - 1) / variance : 1.0;
}

static double common_memory(const gs_slow_series *series, double *each)
{
    enum { RANKS_AT_LEAST = 4 };
    if (series->rank_count < RANKS_AT_LEAST) {
        return 1.0;
    }
    for (uint32_t r = 0; r < series->rank_count; r++) {
        each[r] = memory_of(&series->scores[(size_t)r * series->step_count], series->step_count);
    }
    qsort(each, series->rank_count, sizeof *each, by_real);
    double middle = each[(series->rank_count - 1) / 2];
    return middle > 1.0 ? middle : 1.0;
}

/* scratch [2 * cells]. */
static double spread_of(const gs_slow_series *series, int64_t *scratch)
{
    size_t cells = (size_t)series->rank_count * series->step_count;
    int64_t *away = scratch + cells;
    size_t count = 0;
    for (uint32_t r = 0; r < series->rank_count; r++) {
        const int64_t *late = &series->late[(size_t)r * series->step_count];
        size_t present = 0;
        for (uint32_t s = 0; s < series->step_count; s++) {
            if (late[s] != GS_SLOW_NO_VALUE) {
                scratch[present++] = late[s];
            }
        }
        int64_t middle = gs_slow_median(scratch, present);
        for (size_t i = 0; i < present; i++) {
            away[count++] = llabs(scratch[i] - middle);
        }
    }
    return MAD_TO_SIGMA * (double)gs_slow_median(away, count);
}

gs_status gs_slow_series_make(const gs_step_table *table, gs_slow_basis basis, gs_step_part part,
                              gs_arena *arena, gs_slow_series *out, gs_error *err)
{
    size_t cells = (size_t)table->rank_count * table->step_count;
    gs_slow_series made = {.rank_count = table->rank_count, .step_count = table->step_count};
    made.values = GS_TAKE(arena, int64_t, cells);
    made.late = GS_TAKE(arena, int64_t, cells);
    made.scores = GS_TAKE(arena, double, cells);
    ranked *all = malloc(cells * sizeof *all);
    int64_t *scratch = malloc(2 * cells * sizeof *scratch);
    double *each = malloc(table->rank_count * sizeof *each);
    gs_status status = GS_OK;
    if (made.values == NULL || made.late == NULL || made.scores == NULL || all == NULL ||
        scratch == NULL || each == NULL) {
        status = gs_fail(err, GS_ENOMEM, "no memory to compare %u ranks", table->rank_count);
    }
    for (size_t i = 0; i < cells && status == GS_OK; i++) {
        uint32_t rank = (uint32_t)(i / table->step_count);
        uint32_t step = (uint32_t)(i % table->step_count);
        int64_t value = part == GS_STEP_TIME ? gs_slow_own(table, basis, rank, step)
                                             : gs_step_table_get(table, part, rank, step);
        made.values[i] = value == GS_STEP_MISSING ? GS_SLOW_NO_VALUE : value;
        made.late[i] = GS_SLOW_NO_VALUE;
    }
    if (status == GS_OK) {
        for (uint32_t s = 0; s < table->step_count; s++) {
            compare_step(&made, s, all);
        }
        score(&made, all);
        made.inflation = common_memory(&made, each);
        made.spread = spread_of(&made, scratch);
        *out = made;
    }
    free(all);
    free(scratch);
    free(each);
    return status;
}
