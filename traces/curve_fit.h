/* A measured curve as few numbers: latency and rate in up to three regimes of size, as a library
 * has protocols; how well half of the sizes foretell the others by it; and which curves are not to
 * be trusted.
 *
 * Within a regime the time is latency + size / rate, by least squares of relative errors, neither
 * below 0. How many regimes there are and where they part is what explains the points best for its
 * number of parameters (Bayesian information criterion, Schwarz 1978). Pure arithmetic. */
#ifndef GS_TRACES_CURVE_FIT_H
#define GS_TRACES_CURVE_FIT_H

#include "traces/curve.h"

enum { GS_CURVE_REGIMES_MAX = 3, GS_CURVE_FIT_POINTS_MAX = 128, GS_CURVE_SIZES_MIN = 8 };

typedef struct gs_curve_regime {
    int64_t from_bytes, to_bytes; /* of its points */
    double latency_ns;
    double ns_per_byte;
} gs_curve_regime;

typedef struct gs_curve_fit {
    gs_curve_regime regimes[GS_CURVE_REGIMES_MAX];
    uint32_t count;
} gs_curve_fit;

/* Through points [first], [first + stride], ... of the curve; of more than
 * GS_CURVE_FIT_POINTS_MAX only so many, evenly spread. At least two points must be left. */
gs_curve_fit gs_curve_fit_make(const gs_curve *curve, uint32_t first, uint32_t stride);

/* Nanoseconds for a size. Between two regimes: along their lines to where these cross, or, where
 * they do not cross there, by a power law from the end of one to the start of the other. */
double gs_curve_fit_ns(const gs_curve_fit *fit, int64_t bytes);

/* What every other size, from the smallest on, foretells of those between. */
typedef struct gs_curve_forecast {
    gs_curve_fit fit;
    uint32_t foretold;   /* sizes */
    double median_ratio; /* of the relative errors' absolute values */
    double worst_ratio;
    int64_t worst_bytes;
} gs_curve_forecast;

/* false: fewer than GS_CURVE_SIZES_MIN sizes. */
bool gs_curve_foretell(const gs_curve *curve, gs_curve_forecast *out);

typedef enum gs_curve_fault {
    GS_CURVE_SOUND,
    GS_CURVE_FALLS, /* more takes over 10 % less time: not repeatable to that */
    GS_CURVE_SLOWS  /* the rate at the large end is below two thirds of the best before */
} gs_curve_fault;

/* The fault of a curve, and between which of its points it is worst: `less` is the smaller size. */
gs_curve_fault gs_curve_judge(const gs_curve *curve, uint32_t *out_less, uint32_t *out_more);

#endif
