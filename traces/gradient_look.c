#include "traces/gradient_look.h"

#include "base/assert.h"
#include "traces/record.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINS_PER_DECADE = 2,
    LOWEST_DECADE = -12,
    DECADES = 14,
    BINS = BINS_PER_DECADE * DECADES + 2 /* and one below, and one above */
};

/* Not above this share of its layer's root mean square an element counts as zero. */
static const double sparse_share = 0.01;

/* Layer 0 of the parts is the whole. */
typedef enum part_series {
    NORM,
    SPARSITY,
    CHANGE,
    P50,
    P90,
    P99,
    MAXIMUM,
    PART_SERIES
} part_series;

static const char *const series_names[PART_SERIES] = {
    [NORM] = "gradient_norm",
    [SPARSITY] = "gradient_sparsity_ratio",
    [CHANGE] = "gradient_change_ratio",
    [P50] = "gradient_p50",
    [P90] = "gradient_p90",
    [P99] = "gradient_p99",
    [MAXIMUM] = "gradient_max",
};

typedef struct part {
    size_t offset, count;
    uint32_t names[PART_SERIES];
    int64_t first_bin; /* of the series; -1: no histogram */
} part;

struct gs_gradient_look {
    gs_series *series;
    part *parts; /* [part_count]; 0: the whole */
    uint32_t part_count;
    uint32_t cosine_name;
    size_t count;       /* of the whole */
    double *magnitudes; /* [count], scratch */
    double *before;     /* [count], of the look before */
    bool has_before;
};

/* ---------------------------------------------------------------- creation */

static double edge(int index)
{
    if (index == 0) {
        return 0.0;
    }
    if (index == BINS) {
        return DBL_MAX; /* the database has no infinity */
    }
    return pow(10.0, LOWEST_DECADE + (double)(index - 1) / BINS_PER_DECADE);
}

static gs_status make_histogram(gs_series *series, const char *layer, part *out)
{
    char name[GS_SERIES_NAME_BYTES];
    gs_series_bin bin = {.rank = GS_ALL_RANKS};
    (void)snprintf(name, sizeof name, "gradient_abs/%s", layer);
    GS_TRY(gs_series_find_name(series, name, &bin.name));
    for (int i = 0; i < BINS; i++) {
        int64_t index = 0;
        bin.low = edge(i);
        bin.high = edge(i + 1);
        GS_TRY(gs_series_add_bin(series, &bin, &index));
        out->first_bin = i == 0 ? index : out->first_bin;
    }
    return GS_OK;
}

/* layer NULL: the whole. */
static gs_status make_part(gs_series *series, const char *layer, part *out)
{
    out->first_bin = -1;
    for (int i = 0; i < PART_SERIES; i++) {
        char name[GS_SERIES_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s%s%s", series_names[i], layer == NULL ? "" : "/",
                       layer == NULL ? "" : layer);
        GS_TRY(gs_series_find_name(series, name, &out->names[i]));
    }
    return layer == NULL ? GS_OK : make_histogram(series, layer, out);
}

gs_status gs_gradient_look_create(const gs_network *network, gs_series *series, gs_arena *arena,
                                  gs_gradient_look **out)
{
    gs_gradient_look *look = GS_TAKE(arena, gs_gradient_look, 1);
    part *parts = GS_TAKE(arena, part, network->layer_count + 1);
    size_t count = (size_t)network->parameter_count;
    double *magnitudes = GS_TAKE(arena, double, count);
    double *before = GS_TAKE(arena, double, count);
    if (look == NULL || parts == NULL || magnitudes == NULL || before == NULL) {
        return GS_ENOMEM;
    }
    *look = (gs_gradient_look){.series = series,
                               .parts = parts,
                               .part_count = 1,
                               .count = count,
                               .magnitudes = magnitudes,
                               .before = before};
    GS_TRY(gs_series_find_name(series, "gradient_cosine_ratio", &look->cosine_name));
    parts[0] = (part){.count = count};
    GS_TRY(make_part(series, NULL, &parts[0]));
    for (uint32_t i = 0; i < network->layer_count; i++) {
        const gs_layer *layer = &network->layers[i];
        if (layer->parameter_count > 0) {
            part *next = &parts[look->part_count++];
            *next =
                (part){.offset = (size_t)layer->offset, .count = (size_t)layer->parameter_count};
            GS_TRY(make_part(series, layer->name, next));
        }
    }
    *out = look;
    return GS_OK;
}

/* ---------------------------------------------------------------- a look */

static gs_status put(const gs_gradient_look *look, uint32_t name, gs_time_ns at_ns, double value)
{
    gs_series_point point = {name, GS_ALL_RANKS, at_ns, value};
    return gs_series_add(look->series, &point);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Adds sorted magnitudes to the bins. */
static void count_bins(const gs_gradient_look *look, const part *of, const double *sorted)
{
    gs_series_bin *bins = &look->series->bins[of->first_bin];
    size_t at = 0;
    for (int i = 0; i < BINS; i++) {
        while (at < of->count && (sorted[at] < bins[i].high || i == BINS - 1)) {
            bins[i].count++;
            at++;
        }
    }
}

/* How many count as zero. */
static size_t count_sparse(const double *sorted, size_t count, double norm)
{
    double limit = sparse_share * norm / sqrt((double)count);
    size_t below = 0;
    while (below < count && sorted[below] <= limit) {
        below++;
    }
    return below;
}

static double norm_of(const double *values, const double *minus, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        double value = values[i] - (minus == NULL ? 0.0 : minus[i]);
        sum += value * value;
    }
    return sqrt(sum);
}

/* sparse: of the whole it is the sum over its layers, for each of them it is counted here. */
static gs_status look_at(const gs_gradient_look *look, const part *of, const double *gradient,
                         gs_time_ns at_ns, size_t *sparse)
{
    const double *values = gradient + of->offset;
    const double *before = look->before + of->offset;
    double *sorted = look->magnitudes;
    double norm = norm_of(values, NULL, of->count);
    for (size_t i = 0; i < of->count; i++) {
        sorted[i] = fabs(values[i]);
    }
    qsort(sorted, of->count, sizeof *sorted, ascending);
    if (of->first_bin >= 0) {
        *sparse = count_sparse(sorted, of->count, norm);
        count_bins(look, of, sorted);
    }
    double old_norm = norm_of(before, NULL, of->count);
    if (look->has_before && old_norm > 0.0) {
        double change = norm_of(values, before, of->count) / old_norm;
        GS_TRY(put(look, of->names[CHANGE], at_ns, change));
    }
    const struct {
        part_series series;
        double value;
    } rows[] = {
        {NORM, norm},
        {SPARSITY, (double)*sparse / (double)of->count},
        {P50, gs_quantile_of_sorted(sorted, (int64_t)of->count, 0.50)},
        {P90, gs_quantile_of_sorted(sorted, (int64_t)of->count, 0.90)},
        {P99, gs_quantile_of_sorted(sorted, (int64_t)of->count, 0.99)},
        {MAXIMUM, sorted[of->count - 1]},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        GS_TRY(put(look, of->names[rows[i].series], at_ns, rows[i].value));
    }
    return GS_OK;
}

gs_status gs_gradient_look_add(gs_gradient_look *look, const double *gradient, double cosine,
                               gs_time_ns at_ns)
{
    size_t sparse_of_all = 0;
    for (uint32_t i = 1; i < look->part_count; i++) {
        size_t sparse = 0;
        GS_TRY(look_at(look, &look->parts[i], gradient, at_ns, &sparse));
        sparse_of_all += sparse;
    }
    GS_TRY(look_at(look, &look->parts[0], gradient, at_ns, &sparse_of_all));
    if (isfinite(cosine)) {
        GS_TRY(put(look, look->cosine_name, at_ns, cosine));
    }
    memcpy(look->before, gradient, look->count * sizeof *gradient);
    look->has_before = true;
    return GS_OK;
}
