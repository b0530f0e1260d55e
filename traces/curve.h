/* A measured curve: time of one collective against message size, on one set of ranks.
 *
 * Made from nccl-tests output (traces/importers/import_nccl_tests.c). Where a link carries a curve
 * of the collective and rank count at hand, the curve gives the op's wire time. Owner of arrays:
 * the arena of the reader. */
#ifndef GS_TRACES_CURVE_H
#define GS_TRACES_CURVE_H

#include "base/arena.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_curve_point {
    int64_t bytes;      /* >= 1; size as the file counts it: the whole buffer for all-reduce */
    gs_time_ns time_ns; /* >= 1; out of place where both are given */
} gs_curve_point;

typedef struct gs_curve {
    const char *collective;       /* "all_reduce", "all_gather", "all_to_all", "reduce_scatter",
                                     "sendrecv", ... */
    int32_t ranks;                /* 0 unknown */
    int32_t hosts;                /* 0 unknown */
    const char *device;           /* "NVIDIA H100 80GB HBM3", or "" */
    const gs_curve_point *points; /* ascending bytes, repeats averaged */
    uint32_t point_count;
    const char *source; /* file name */
} gs_curve;

/* Time at `bytes`, on a curve of at least one point: linear in (bytes, time) between points; below
 * the first point its time; beyond the last, the last two points' slope (of one point: in
 * proportion). *out_outside: bytes lie outside the measured sizes. */
gs_time_ns gs_curve_time(const gs_curve *curve, int64_t bytes, bool *out_outside);

/* What more bytes cost at the large end, in bit/s of the size as the file counts it: the slope of
 * time from a quarter of the largest size on, so that latency does not count. 0: no times. */
int64_t gs_curve_rate_bps(const gs_curve *curve);

#endif
