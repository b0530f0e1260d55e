#include "traces/slow_series.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

/* A median absolute deviation times this is the standard deviation of a normal law. */
static const double MAD_TO_SIGMA = 1.4826;

/* How far a score may lie beyond that of the noise's end. One lone step of any size must not make a
 * pattern, a few in a row must. */
static const double BEYOND = 2.0;

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

/* One rank's latenesses about their median, ascending; their count. */
static size_t centred(const gs_slow_series *series, uint32_t rank, int64_t *out)
{
    const int64_t *late = &series->late[(size_t)rank * series->step_count];
    size_t count = 0;
    for (uint32_t s = 0; s < series->step_count; s++) {
        if (late[s] != GS_SLOW_NO_VALUE) {
            out[count++] = late[s];
        }
    }
    int64_t middle = gs_slow_median(out, count);
    for (size_t i = 0; i < count; i++) {
        out[i] -= middle;
    }
    return count;
}

/* Where a share of sorted values [count] ends, between two of them. */
static double quantile(const int64_t *sorted, size_t count, double share)
{
    double at = share * (double)count - 0.5;
    if (at <= 0.0) {
        return (double)sorted[0];
    }
    size_t below = (size_t)at;
    if (below + 1 >= count) {
        return (double)sorted[count - 1];
    }
    double part = at - (double)below;
    return (1.0 - part) * (double)sorted[below] + part * (double)sorted[below + 1];
}

/* The common noise: at each quantile the median over ranks of their centred latenesses, so that
 * slow ranks, as long as they are the lesser half, do not hide each other. noise [step_count]; rows
 * [rank_count * step_count]; column [rank_count]. */
static void find_noise(const gs_slow_series *series, double *noise, int64_t *rows, double *column)
{
    uint32_t steps = series->step_count;
    for (uint32_t k = 0; k < steps; k++) {
        noise[k] = 0.0;
    }
    for (uint32_t k = 0; k < steps; k++) {
        uint32_t ranks = 0;
        for (uint32_t r = 0; r < series->rank_count; r++) {
            int64_t *row = &rows[(size_t)r * (steps + 1)];
            size_t count = k == 0 ? centred(series, r, row + 1) : (size_t)row[0];
            row[0] = (int64_t)count;
            if (count > 0) {
                column[ranks++] = quantile(row + 1, count, (k + 0.5) / steps);
            }
        }
        if (ranks > 0) {
            qsort(column, ranks, sizeof *column, by_real);
            noise[k] = (column[(ranks - 1) / 2] + column[ranks / 2]) / 2.0;
        }
    }
}

/* Index of the first of sorted values [count] that is above (or_equal: or equal to) value. */
static uint32_t first_above(const double *sorted, uint32_t count, double value, bool or_equal)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < value || (!or_equal && sorted[middle] == value)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

double gs_slow_highest_score(uint32_t step_count)
{
    return BEYOND * gsl_cdf_ugaussian_Pinv(1.0 - 0.5 / (step_count > 1 ? step_count : 2));
}

/* Beyond the noise's own ends a score grows with the value, up to BEYOND times the end's. */
static double score_beyond(double value, double end, uint32_t count)
{
    double ratio = end * value > 0.0 ? value / end : BEYOND;
    double score = gs_slow_highest_score(count) / BEYOND * (ratio < BEYOND ? ratio : BEYOND);
    return value > end ? score : -score;
}

static double score_of(const double *noise, uint32_t count, double value)
{
    uint32_t first = first_above(noise, count, value, true);
    uint32_t end = first_above(noise, count, value, false);
    double at = (first + end) / 2.0; /* the middle of equal ones */
    if (first == end) {
        if (first == 0 || first == count) {
            return score_beyond(value, noise[first == 0 ? 0 : count - 1], count);
        }
        double gap = noise[first] - noise[first - 1];
        at = first - 0.5 + (value - noise[first - 1]) / gap;
    }
    return gsl_cdf_ugaussian_Pinv(at / count);
}

static void score(gs_slow_series *out, double *noise, int64_t *rows, double *column)
{
    find_noise(out, noise, rows, column);
    for (size_t i = 0; i < (size_t)out->rank_count * out->step_count; i++) {
        out->scores[i] = out->late[i] == GS_SLOW_NO_VALUE
                             ? (double)NAN
                             : score_of(noise, out->step_count, (double)out->late[i]);
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

/* rows [cells + rank_count], of find_noise. */
static double spread_of(const gs_slow_series *series, int64_t *rows)
{
    size_t count = 0;
    for (uint32_t r = 0; r < series->rank_count; r++) {
        count += centred(series, r, &rows[count]);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = llabs(rows[i]);
    }
    return MAD_TO_SIGMA * (double)gs_slow_median(rows, count);
}

gs_status gs_slow_series_make(const gs_step_table *table, gs_slow_basis basis, gs_step_part part,
                              gs_arena *arena, gs_slow_series *out, gs_error *err)
{
    size_t cells = (size_t)table->rank_count * table->step_count;
    gs_slow_series made = {.rank_count = table->rank_count, .step_count = table->step_count};
    made.values = GS_TAKE(arena, int64_t, cells);
    made.late = GS_TAKE(arena, int64_t, cells);
    made.scores = GS_TAKE(arena, double, cells);
    ranked *row = malloc(table->rank_count * sizeof *row);
    int64_t *rows = malloc((cells + table->rank_count) * sizeof *rows);
    double *noise = malloc(table->step_count * sizeof *noise);
    double *each = malloc(table->rank_count * sizeof *each);
    gs_status status = GS_OK;
    if (made.values == NULL || made.late == NULL || made.scores == NULL || row == NULL ||
        rows == NULL || noise == NULL || each == NULL) {
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
            compare_step(&made, s, row);
        }
        score(&made, noise, rows, each);
        made.inflation = common_memory(&made, each);
        made.spread = spread_of(&made, rows);
        *out = made;
    }
    free(row);
    free(rows);
    free(noise);
    free(each);
    return status;
}
