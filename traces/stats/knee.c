#include "traces/stats/knee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"

enum { ROUNDS = 499, PLACES = 256, TAIL_ROUNDS = 12 /* 2.5 % of the rounds, rounded down */ };

/* Residuals of so much, as a share of y, are the resolution of what is fitted. */
#define RESOLUTION 1e-3
#define LEAST_GAIN 2.0 /* of Schwarz's criterion: "positive evidence" */
#define LEAST_BEND 0.1

/* y = level + before * u + bend * max(0, u - at), over points u. */
typedef struct fit {
    double at, before, bend;
    double squares; /* of residuals */
} fit;

/* Sums over the points that a fit needs, all about the means. */
typedef struct moments {
    double uu, uh, hh, uv, hv, vv;
} moments;

static moments moments_of(const double *u, const double *v, uint32_t count, double at)
{
    double mean_u = 0.0;
    double mean_h = 0.0;
    double mean_v = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        mean_u += u[i] / count;
        mean_h += fmax(0.0, u[i] - at) / count;
        mean_v += v[i] / count;
    }
    moments m = {0};
    for (uint32_t i = 0; i < count; i++) {
        double du = u[i] - mean_u;
        double dh = fmax(0.0, u[i] - at) - mean_h;
        double dv = v[i] - mean_v;
        m.uu += du * du;
        m.uh += du * dh;
        m.hh += dh * dh;
        m.uv += du * dv;
        m.hv += dh * dv;
        m.vv += dv * dv;
    }
    return m;
}

static fit fit_at(const double *u, const double *v, uint32_t count, double at)
{
    moments m = moments_of(u, v, count, at);
    double determinant = m.uu * m.hh - m.uh * m.uh;
    fit out = {.at = at};
    out.before = (m.uv * m.hh - m.hv * m.uh) / determinant;
    out.bend = (m.hv * m.uu - m.uv * m.uh) / determinant;
    out.squares = fmax(0.0, m.vv - out.before * m.uv - out.bend * m.hv);
    return out;
}

/* The best of PLACES places between the second point and the last but one: each line has two. */
static fit best_fit(const double *u, const double *v, uint32_t count)
{
    double first = u[1];
    double last = u[count - 2];
    fit best = fit_at(u, v, count, first);
    for (int i = 1; i <= PLACES; i++) {
        fit next = fit_at(u, v, count, first + (last - first) * i / PLACES);
        best = next.squares < best.squares ? next : best;
    }
    return best;
}

/* By how much two lines are better than one; their break-point and bend are two parameters more. */
static double gain_of(const double *u, const double *v, uint32_t count, const fit *two)
{
    moments m = moments_of(u, v, count, u[count - 1]);
    double n = (double)count;
    double floor_squares = n * RESOLUTION * RESOLUTION;
    double one = fmax(m.vv - m.uv * m.uv / m.uu, 0.0) + floor_squares;
    return n * log(one / (two->squares + floor_squares)) - 2.0 * log(n);
}

/* --- the interval ----------------------------------------------------------------------------- */

/* The points that count, and room for those of a round. */
typedef struct work {
    double *u;       /* [count] */
    double *logs;    /* [count][seeds] */
    double *v;       /* [count]: means over seeds */
    double *other_u; /* [count] */
    double *other_v;
    double *places; /* [ROUNDS] */
    uint32_t *draw; /* [seeds] */
    uint32_t count, seeds;
} work;

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void draw_round(work *all, uint32_t round)
{
    gs_rng_key key = {.seed = 0, .purpose = GS_RNG_BOOTSTRAP, .entity = 0};
    for (uint32_t i = 0; i < all->seeds; i++) {
        double share = gs_rng_uniform(key, round, i);
        all->draw[i] = (uint32_t)(share * all->seeds);
    }
    for (uint32_t p = 0; p < all->count; p++) {
        double sum = 0.0;
        for (uint32_t i = 0; i < all->seeds; i++) {
            sum += all->logs[(size_t)p * all->seeds + all->draw[i]];
        }
        all->other_v[p] = sum / all->seeds;
    }
}

static void widen(double place, double *low, double *high)
{
    *low = place < *low ? place : *low;
    *high = place > *high ? place : *high;
}

static void interval_of(work *all, double at, double *low, double *high)
{
    *low = at;
    *high = at;
    for (uint32_t round = 0; all->seeds > 1 && round < ROUNDS; round++) {
        draw_round(all, round);
        all->places[round] = best_fit(all->u, all->other_v, all->count).at;
    }
    if (all->seeds > 1) {
        qsort(all->places, ROUNDS, sizeof *all->places, by_size);
        widen(all->places[TAIL_ROUNDS], low, high);
        widen(all->places[ROUNDS - 1 - TAIL_ROUNDS], low, high);
    }
    for (uint32_t out = 0; out < all->count; out++) {
        uint32_t used = 0;
        for (uint32_t p = 0; p < all->count; p++) {
            if (p != out) {
                all->other_u[used] = all->u[p];
                all->other_v[used++] = all->v[p];
            }
        }
        widen(best_fit(all->other_u, all->other_v, used).at, low, high);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void take_points(work *all, const double *x, const double *y, uint32_t count, bool log_x)
{
    for (uint32_t p = 0; p < count; p++) {
        double sum = 0.0;
        bool finite = true;
        for (uint32_t i = 0; i < all->seeds; i++) {
            double value = y[(size_t)p * all->seeds + i];
            finite = finite && isfinite(value) && value > 0.0;
            double logarithm = finite ? log(value) : 0.0;
            all->logs[(size_t)all->count * all->seeds + i] = logarithm;
            sum += logarithm;
        }
        if (finite) {
            all->u[all->count] = log_x ? log(x[p]) : x[p];
            all->v[all->count++] = sum / all->seeds;
        }
    }
}

static void find(work *all, bool log_x, gs_knee *out)
{
    if (all->count < GS_KNEE_POINTS_MIN) {
        return;
    }
    fit best = best_fit(all->u, all->v, all->count);
    if (gain_of(all->u, all->v, all->count, &best) < LEAST_GAIN || fabs(best.bend) < LEAST_BEND) {
        return;
    }
    double low = best.at;
    double high = best.at;
    interval_of(all, best.at, &low, &high);
    *out = (gs_knee){.found = true,
                     .at = log_x ? exp(best.at) : best.at,
                     .low = log_x ? exp(low) : low,
                     .high = log_x ? exp(high) : high,
                     .before = best.before,
                     .after = best.before + best.bend};
}

gs_status gs_knee_of(const double *x, const double *y, uint32_t count, uint32_t seeds, bool log_x,
                     gs_knee *out)
{
    GS_ASSERT(seeds > 0);
    *out = (gs_knee){0};
    size_t points = (size_t)count;
    double *memory = malloc((4 * points + points * seeds + ROUNDS) * sizeof *memory);
    uint32_t *draw = malloc(seeds * sizeof *draw);
    gs_status status = memory == NULL || draw == NULL ? GS_ENOMEM : GS_OK;
    if (status == GS_OK) {
        work all = {.u = memory,
                    .v = memory + points,
                    .other_u = memory + 2 * points,
                    .other_v = memory + 3 * points,
                    .logs = memory + 4 * points,
                    .places = memory + 4 * points + points * seeds,
                    .draw = draw,
                    .seeds = seeds};
        take_points(&all, x, y, count, log_x);
        find(&all, log_x, out);
    }
    free(memory);
    free(draw);
    return status;
}
