#include "traces/curve_fit.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>

static const double DROP_RATIO = 0.9;       /* of the time of a smaller size */
static const double SLOW_RATIO = 2.0 / 3.0; /* of the best rate */
/* A mean square error of 0.1 % is as good as none: digits that were printed. */
static const double EXACT_SQUARE = 1e-6;

typedef struct line {
    double latency_ns;
    double ns_per_byte;
    double squares; /* sum of squared relative errors */
} line;

/* Least squares of (latency + slope s) / t - 1 over points [first, end), both at least 0. */
static line line_through(const gs_curve_point *points, uint32_t first, uint32_t end)
{
    double uu = 0.0, uv = 0.0, vv = 0.0, u1 = 0.0, v1 = 0.0;
    for (uint32_t i = first; i < end; i++) {
        double u = 1.0 / (double)points[i].time_ns;
        double v = (double)points[i].bytes / (double)points[i].time_ns;
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    double determinant = uu * vv - uv * uv;
    line made = {u1 / uu, 0.0, 0.0};
    if (determinant > 0.0) {
        made.latency_ns = (u1 * vv - v1 * uv) / determinant;
        made.ns_per_byte = (uu * v1 - uv * u1) / determinant;
    }
    if (made.latency_ns < 0.0) {
        made.latency_ns = 0.0;
        made.ns_per_byte = v1 / vv;
    }
    if (made.ns_per_byte < 0.0) {
        made.ns_per_byte = 0.0;
        made.latency_ns = u1 / uu;
    }
    for (uint32_t i = first; i < end; i++) {
        double time = made.latency_ns + made.ns_per_byte * (double)points[i].bytes;
        double error = time / (double)points[i].time_ns - 1.0;
        made.squares += error * error;
    }
    return made;
}

/* Where regimes part: regime r holds points [cuts[r], cuts[r + 1]). */
typedef struct split {
    uint32_t cuts[GS_CURVE_REGIMES_MAX + 1];
    uint32_t count;
    double score; /* the less, the better */
} split;

static void try_split(const gs_curve_point *points, uint32_t count, split tried, split *best)
{
    double squares = 0.0;
    for (uint32_t r = 0; r < tried.count; r++) {
        squares += line_through(points, tried.cuts[r], tried.cuts[r + 1]).squares;
    }
    /* Two parameters a regime, and where it begins. */
    double parameters = 3.0 * tried.count - 1.0;
    tried.score =
        count * log(fmax(squares / count, EXACT_SQUARE)) + parameters * log((double)count);
    if (best->count == 0 || tried.score < best->score) {
        *best = tried;
    }
}

static split best_split(const gs_curve_point *points, uint32_t count)
{
    split best = {.count = 0};
    try_split(points, count, (split){.cuts = {0, count}, .count = 1}, &best);
    for (uint32_t a = 2; a + 2 <= count; a++) {
        try_split(points, count, (split){.cuts = {0, a, count}, .count = 2}, &best);
        for (uint32_t b = a + 2; b + 2 <= count; b++) {
            try_split(points, count, (split){.cuts = {0, a, b, count}, .count = 3}, &best);
        }
    }
    return best;
}

gs_curve_fit gs_curve_fit_make(const gs_curve *curve, uint32_t first, uint32_t stride)
{
    gs_curve_point points[GS_CURVE_FIT_POINTS_MAX];
    uint32_t there = first < curve->point_count ? (curve->point_count - first - 1) / stride + 1 : 0;
    uint32_t count = there < GS_CURVE_FIT_POINTS_MAX ? there : GS_CURVE_FIT_POINTS_MAX;
    GS_ASSERT(count >= 2);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)i * (there - 1) / (count - 1);
        points[i] = curve->points[first + at * stride];
    }
    split parts = best_split(points, count);
    gs_curve_fit fit = {.count = parts.count};
    for (uint32_t r = 0; r < parts.count; r++) {
        line made = line_through(points, parts.cuts[r], parts.cuts[r + 1]);
        fit.regimes[r] =
            (gs_curve_regime){points[parts.cuts[r]].bytes, points[parts.cuts[r + 1] - 1].bytes,
                              made.latency_ns, made.ns_per_byte};
    }
    return fit;
}

static double on_regime(const gs_curve_regime *regime, double bytes)
{
    return regime->latency_ns + regime->ns_per_byte * bytes;
}

/* At a size between the last point of one regime and the first of the next. */
static double between(const gs_curve_regime *left, const gs_curve_regime *right, double bytes)
{
    double from = (double)left->to_bytes;
    double to = (double)right->from_bytes;
    double slopes = left->ns_per_byte - right->ns_per_byte;
    double cross = fabs(slopes) > 0.0 ? (right->latency_ns - left->latency_ns) / slopes : -1.0;
    if (cross >= from && cross <= to) {
        return on_regime(bytes <= cross ? left : right, bytes);
    }
    double share = log(bytes / from) / log(to / from);
    return pow(on_regime(left, from), 1.0 - share) * pow(on_regime(right, to), share);
}

double gs_curve_fit_ns(const gs_curve_fit *fit, int64_t bytes)
{
    GS_ASSERT(fit->count > 0);
    for (uint32_t r = 0; r + 1 < fit->count; r++) {
        if (bytes <= fit->regimes[r].to_bytes) {
            return on_regime(&fit->regimes[r], (double)bytes);
        }
        if (bytes < fit->regimes[r + 1].from_bytes) {
            return between(&fit->regimes[r], &fit->regimes[r + 1], (double)bytes);
        }
    }
    return on_regime(&fit->regimes[fit->count - 1], (double)bytes);
}

static int by_value(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

bool gs_curve_foretell(const gs_curve *curve, gs_curve_forecast *out)
{
    double errors[GS_CURVE_FIT_POINTS_MAX];
    if (curve->point_count < GS_CURVE_SIZES_MIN) {
        return false;
    }
    *out = (gs_curve_forecast){.fit = gs_curve_fit_make(curve, 0, 2)};
    for (uint32_t i = 1; i < curve->point_count && out->foretold < GS_CURVE_FIT_POINTS_MAX;
         i += 2) {
        const gs_curve_point *point = &curve->points[i];
        double error =
            fabs(gs_curve_fit_ns(&out->fit, point->bytes) / (double)point->time_ns - 1.0);
        errors[out->foretold++] = error;
        if (error > out->worst_ratio) {
            out->worst_ratio = error;
            out->worst_bytes = point->bytes;
        }
    }
    qsort(errors, out->foretold, sizeof *errors, by_value);
    out->median_ratio = 0.5 * (errors[(out->foretold - 1) / 2] + errors[out->foretold / 2]);
    return true;
}

static double rate_of(const gs_curve_point *point)
{
    return (double)point->bytes / (double)point->time_ns;
}

gs_curve_fault gs_curve_judge(const gs_curve *curve, uint32_t *out_less, uint32_t *out_more)
{
    const gs_curve_point *points = curve->points;
    uint32_t longest = 0;
    uint32_t fastest = 0;
    double least = DROP_RATIO;
    for (uint32_t i = 1; i < curve->point_count; i++) {
        double ratio = (double)points[i].time_ns / (double)points[longest].time_ns;
        if (ratio < least) {
            least = ratio;
            *out_less = longest;
            *out_more = i;
        }
        longest = points[i].time_ns > points[longest].time_ns ? i : longest;
        fastest = rate_of(&points[i]) > rate_of(&points[fastest]) ? i : fastest;
    }
    if (least < DROP_RATIO) {
        return GS_CURVE_FALLS;
    }
    uint32_t last = curve->point_count == 0 ? 0 : curve->point_count - 1;
    if (curve->point_count > 0 && rate_of(&points[last]) < SLOW_RATIO * rate_of(&points[fastest])) {
        *out_less = fastest;
        *out_more = last;
        return GS_CURVE_SLOWS;
    }
    return GS_CURVE_SOUND;
}
