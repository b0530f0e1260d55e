#include "traces/link_fit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The unknowns: latency and cost per message in ns, and ns a byte. */
enum { LATENCY, PER_MESSAGE, PER_BYTE, UNKNOWNS };

/* A median of few repeats may have hardly any spread by luck: none counts as surer than this. */
#define SURE_RATIO 2e-3
/* Medians lie so many of their errors from the line on average before it counts as bent. */
#define BENT 3.0
/* A rate is told from the part that size has in the time of the largest message: not from less. */
#define SIZE_SHARE 1e-3
/* Standard error of the median of n values of a normal law, times sqrt(n) / deviation. */
#define MEDIAN_ERROR 1.2533
/* So much longer than a round trip is what a window takes to drain where it is seen. */
#define WINDOW_ROUND_TRIPS 10.0

typedef struct fitter {
    const gs_link_point *points;
    uint32_t count;
    gs_middle *middles; /* [count] */
    double *medians;    /* [count]: of all repeats, or of those drawn */
    double *weights;    /* [count]: 1 / variance of the median */
    double *scratch;    /* [most repeats of a point] */
    int64_t made_bytes; /* messages in a row of up to so many take as long as they take to make */
} fitter;

static void row_of(const gs_link_point *point, int64_t made_bytes, double row[UNKNOWNS])
{
    double messages = point->messages;
    double bytes = (double)point->bytes;
    if (point->pattern == GS_LINK_PING_PONG) {
        row[LATENCY] = 2.0 * messages;
        row[PER_MESSAGE] = 2.0 * messages;
        row[PER_BYTE] = 2.0 * messages * bytes;
        return;
    }
    bool is_made = point->bytes <= made_bytes;
    row[LATENCY] = 2.0;
    row[PER_MESSAGE] = is_made ? messages + 1.0 : 2.0;
    row[PER_BYTE] = is_made ? bytes : messages * bytes;
}

static double on_line(const gs_link_point *point, int64_t made_bytes,
                      const double unknowns[UNKNOWNS])
{
    double row[UNKNOWNS];
    row_of(point, made_bytes, row);
    return row[LATENCY] * unknowns[LATENCY] + row[PER_MESSAGE] * unknowns[PER_MESSAGE] +
           row[PER_BYTE] * unknowns[PER_BYTE];
}

/* Sums of the weighted least squares: left [unknowns][unknowns] x = right. */
static void sum_up(const fitter *in, double left[UNKNOWNS][UNKNOWNS], double right[UNKNOWNS])
{
    memset(left, 0, UNKNOWNS * sizeof *left);
    memset(right, 0, UNKNOWNS * sizeof *right);
    for (uint32_t i = 0; i < in->count; i++) {
        double row[UNKNOWNS];
        row_of(&in->points[i], in->made_bytes, row);
        for (size_t k = 0; k < UNKNOWNS; k++) {
            for (size_t l = 0; l < UNKNOWNS; l++) {
                left[k][l] += in->weights[i] * row[k] * row[l];
            }
            right[k] += in->weights[i] * row[k] * in->medians[i];
        }
    }
}

/* Least squares with the unknowns of `set` (bits), the others 0; by elimination of columns scaled
 * to 1 on the diagonal, which needs no pivots: the matrix is positive definite. false: a number
 * comes out negative, or the rows do not tell the unknowns apart. */
static bool solve(const fitter *in, unsigned set, double out[UNKNOWNS])
{
    double left[UNKNOWNS][UNKNOWNS];
    double right[UNKNOWNS];
    double scale[UNKNOWNS];
    sum_up(in, left, right);
    for (size_t k = 0; k < UNKNOWNS; k++) {
        scale[k] = (set >> k & 1U) != 0 && left[k][k] > 0.0 ? 1.0 / sqrt(left[k][k]) : 0.0;
    }
    for (size_t k = 0; k < UNKNOWNS; k++) {
        for (size_t l = 0; l < UNKNOWNS; l++) {
            left[k][l] *= scale[k] * scale[l];
        }
        right[k] *= scale[k];
        left[k][k] = scale[k] > 0.0 ? left[k][k] : 1.0;
    }
    for (size_t k = 0; k < UNKNOWNS; k++) {
        if (left[k][k] < 1e-12) {
            return false;
        }
        for (size_t below = k + 1; below < UNKNOWNS; below++) {
            double times = left[below][k] / left[k][k];
            for (size_t l = k; l < UNKNOWNS; l++) {
                left[below][l] -= times * left[k][l];
            }
            right[below] -= times * right[k];
        }
    }
    for (size_t k = UNKNOWNS; k-- > 0;) {
        for (size_t l = k + 1; l < UNKNOWNS; l++) {
            right[k] -= left[k][l] * right[l];
        }
        right[k] /= left[k][k];
    }
    for (size_t k = 0; k < UNKNOWNS; k++) {
        out[k] = right[k] * scale[k];
        if (!(out[k] >= 0.0)) {
            return false;
        }
    }
    return out[PER_BYTE] > 0.0;
}

/* Sum of the squared distances to the medians, in their variances. */
static double misfit_of(const fitter *in, const double unknowns[UNKNOWNS])
{
    double sum = 0.0;
    for (uint32_t i = 0; i < in->count; i++) {
        double off = in->medians[i] - on_line(&in->points[i], in->made_bytes, unknowns);
        sum += in->weights[i] * off * off;
    }
    return sum;
}

/* The best fit without a negative number: of three unknowns all combinations are few. */
static bool solve_any(const fitter *in, double out[UNKNOWNS])
{
    enum { ALL = 7 };
    static const unsigned fewer[] = {5, 6, 4}; /* no cost per message; no latency; neither */
    if (solve(in, ALL, out)) {
        return true;
    }
    double least = HUGE_VAL;
    for (size_t i = 0; i < sizeof fewer / sizeof *fewer; i++) {
        double unknowns[UNKNOWNS];
        if (solve(in, fewer[i], unknowns) && misfit_of(in, unknowns) < least) {
            least = misfit_of(in, unknowns);
            memcpy(out, unknowns, sizeof unknowns);
        }
    }
    return least < HUGE_VAL;
}

/* Which messages in a row wait for their sender and which for the wire is a question of their size:
 * of all limits the one that fits best. */
static bool solve_best(fitter *in, double out[UNKNOWNS])
{
    double least = HUGE_VAL;
    int64_t best = 0;
    for (uint32_t i = 0; i <= in->count; i++) {
        double unknowns[UNKNOWNS];
        in->made_bytes = i == in->count ? -1 : in->points[i].bytes;
        if (solve_any(in, unknowns) && misfit_of(in, unknowns) < least) {
            least = misfit_of(in, unknowns);
            best = in->made_bytes;
            memcpy(out, unknowns, sizeof unknowns);
        }
    }
    in->made_bytes = best;
    return least < HUGE_VAL;
}

static bool init(fitter *in, gs_arena *arena)
{
    uint32_t repeats = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        repeats = in->points[i].repeats > repeats ? in->points[i].repeats : repeats;
    }
    in->middles = GS_TAKE(arena, gs_middle, in->count);
    in->medians = GS_TAKE(arena, double, in->count);
    in->weights = GS_TAKE(arena, double, in->count);
    in->scratch = GS_TAKE(arena, double, repeats);
    return in->middles != NULL && in->medians != NULL && in->weights != NULL && in->scratch != NULL;
}

static gs_status check(const gs_link_point *points, uint32_t count, gs_error *err)
{
    bool differ = false;
    for (uint32_t i = 1; i < count; i++) {
        differ = differ || points[i].bytes != points[0].bytes;
    }
    if (count < UNKNOWNS || !differ) {
        return gs_fail(err, GS_EINVAL,
                       "%u measurements of a link say nothing; %d at least, of several sizes",
                       count, UNKNOWNS);
    }
    return GS_OK;
}

/* Messages of a point, one after the other. */
static double messages_of(const gs_link_point *point)
{
    return (point->pattern == GS_LINK_PING_PONG ? 2.0 : 1.0) * (double)point->messages;
}

static void take_middles(fitter *in, gs_link_fit *out)
{
    for (uint32_t i = 0; i < in->count; i++) {
        gs_middle middle = gs_middle_of(in->points[i].times_ns, in->points[i].repeats);
        in->middles[i] = middle;
        in->medians[i] = middle.median;
        out->kept += middle.kept;
        out->rejected += in->points[i].repeats - middle.kept;
    }
}

/* What a median counts: by its own error, but none as surer than least_ns for each message. */
static void weigh(fitter *in, double least_ns)
{
    for (uint32_t i = 0; i < in->count; i++) {
        gs_middle middle = in->middles[i];
        double error = MEDIAN_ERROR * middle.spread / sqrt((double)middle.kept);
        error = fmax(error, SURE_RATIO * fabs(middle.median));
        error = fmax(error, least_ns * messages_of(&in->points[i]));
        in->weights[i] = 1.0 / fmax(error * error, 1.0);
    }
}

/* What a message of the largest size takes. */
static double longest_ns(const fitter *in)
{
    double longest = 0.0;
    for (uint32_t i = 0; i < in->count; i++) {
        longest = fmax(longest, in->medians[i] / messages_of(&in->points[i]));
    }
    return longest;
}

/* How many of their errors the medians lie from the line, on average. */
static double bend_of(const fitter *in, const double unknowns[UNKNOWNS])
{
    double freedom = in->count > UNKNOWNS ? (double)(in->count - UNKNOWNS) : 1.0;
    return sqrt(misfit_of(in, unknowns) / freedom);
}

/* Every size counts as much as it is sure. Where no line goes through all of them (a protocol for
 * small messages, a bucket that lets the first bytes through), long messages decide: an error of a
 * small part of their time is what a run would notice. */
static bool solve_twice(fitter *in, double out[UNKNOWNS])
{
    weigh(in, 0.0);
    if (!solve_best(in, out)) {
        return false;
    }
    if (bend_of(in, out) <= BENT) {
        return true;
    }
    weigh(in, SURE_RATIO * longest_ns(in));
    return solve_best(in, out);
}

/* Fits of repeats drawn anew, into draws [UNKNOWNS][rounds]; how many could be fitted. */
static uint32_t redraw(fitter *in, double *const draws[UNKNOWNS])
{
    uint32_t done = 0;
    for (uint32_t round = 0; round < GS_BOOTSTRAP_ROUNDS; round++) {
        for (uint32_t i = 0; i < in->count; i++) {
            const double *kept = in->points[i].times_ns + in->middles[i].first;
            in->medians[i] = gs_median_redrawn(kept, in->middles[i].kept, i, round, in->scratch);
        }
        double unknowns[UNKNOWNS];
        if (solve_any(in, unknowns)) {
            for (size_t k = 0; k < UNKNOWNS; k++) {
                draws[k][done] = unknowns[k];
            }
            done++;
        }
    }
    return done;
}

/* The interval of draws [count] around value, times `wider`. */
static gs_estimate around(double value, double *draws, uint32_t count, double wider)
{
    gs_estimate estimate = {value, value, value};
    if (count > 0) {
        gs_interval_of(draws, count, &estimate.low, &estimate.high);
        estimate.low = fmax(0.0, value - wider * fmax(0.0, value - estimate.low));
        estimate.high = value + wider * fmax(0.0, estimate.high - value);
    }
    return estimate;
}

/* The part of the largest message's time that its size makes. */
static double share_of_size(const fitter *in, const double unknowns[UNKNOWNS])
{
    const gs_link_point *largest = &in->points[0];
    for (uint32_t i = 1; i < in->count; i++) {
        largest = in->points[i].bytes > largest->bytes ? &in->points[i] : largest;
    }
    double row[UNKNOWNS];
    row_of(largest, in->made_bytes, row);
    return row[PER_BYTE] * unknowns[PER_BYTE] / on_line(largest, in->made_bytes, unknowns);
}

static double rate_of(double ns_per_byte)
{
    return ns_per_byte > 0.0 ? 8.0e9 / ns_per_byte : HUGE_VAL;
}

static gs_status fit(fitter *in, gs_arena *arena, gs_link_fit *out, gs_error *err)
{
    double *draws[UNKNOWNS];
    double best[UNKNOWNS];
    for (size_t k = 0; k < UNKNOWNS; k++) {
        draws[k] = GS_TAKE(arena, double, GS_BOOTSTRAP_ROUNDS);
        if (draws[k] == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory to fit a link");
        }
    }
    take_middles(in, out);
    if (!solve_twice(in, best) || share_of_size(in, best) < SIZE_SHARE) {
        return gs_fail(err, GS_EINVAL,
                       "times of messages do not grow with their size; measure larger ones");
    }
    for (uint32_t i = 0; i < in->count; i++) {
        double ratio = in->medians[i] / on_line(&in->points[i], in->made_bytes, best) - 1.0;
        if (fabs(ratio) >= fabs(out->misfit_ratio)) {
            out->misfit_ratio = ratio;
            out->misfit_point = i;
        }
    }
    double wider = fmax(1.0, bend_of(in, best));
    uint32_t done = redraw(in, draws);
    out->latency_ns = around(best[LATENCY], draws[LATENCY], done, wider);
    out->per_message_ns = around(best[PER_MESSAGE], draws[PER_MESSAGE], done, wider);
    gs_estimate per_byte = around(best[PER_BYTE], draws[PER_BYTE], done, wider);
    out->rate_bps =
        (gs_estimate){rate_of(per_byte.value), rate_of(per_byte.high), rate_of(per_byte.low)};
    return GS_OK;
}

gs_status gs_link_fit_of(const gs_link_point *points, uint32_t count, gs_arena *arena,
                         gs_link_fit *out, gs_error *err)
{
    fitter in = {.points = points, .count = count};
    gs_link_fit found = {.kept = 0};
    GS_TRY(check(points, count, err));
    gs_status status = init(&in, arena) ? fit(&in, arena, &found, err)
                                        : gs_fail(err, GS_ENOMEM, "no memory to fit a link");
    if (status == GS_OK) {
        *out = found;
    }
    return status;
}

double gs_link_fit_ns(const gs_link_fit *fit, const gs_link_point *point)
{
    double unknowns[UNKNOWNS] = {fit->latency_ns.value, fit->per_message_ns.value,
                                 8.0e9 / fit->rate_bps.value};
    double made_bytes = unknowns[PER_MESSAGE] / unknowns[PER_BYTE];
    return on_line(point, made_bytes < (double)INT64_MAX ? (int64_t)made_bytes : INT64_MAX,
                   unknowns);
}

bool gs_link_window_of(const gs_link_ahead *seen, gs_estimate *out_bytes)
{
    gs_estimate bytes = {.value = seen->ahead_ns.value * seen->rate_bps.value / 8e9,
                         .low = seen->ahead_ns.low * seen->rate_bps.low / 8e9,
                         .high = seen->ahead_ns.high * seen->rate_bps.high / 8e9};
    if (seen->ahead_ns.low < WINDOW_ROUND_TRIPS * seen->round_trip_ns ||
        bytes.high > (double)seen->stream_bytes / 2.0) {
        return false;
    }
    *out_bytes = bytes;
    return true;
}
