/* What this machine takes for the work of a run beside its model: vector operations and codecs,
 * by the product's own kernels, on one thread, at the size of a bucket. */
#ifndef GS_LIVE_MEASURE_WORK_H
#define GS_LIVE_MEASURE_WORK_H

#include "base/arena.h"
#include "base/status.h"
#include "strategies/coding.h"
#include "traces/robust.h"

#include <stdint.h>

enum { GS_WORK_REPEATS = 15 };

/* The reduction of what comes: the kernel add, in bit/s of memory traffic, reads and writes of all
 * three operands. elements >= 1. Errors: GS_ENOMEM. The arena is for scratch, here and below. */
GS_MUST_USE gs_status gs_measure_vector(int64_t elements, gs_arena *arena, gs_estimate *out_bps,
                                        gs_error *err);

/* In bit/s of gradient (32 bits an element). Encoding is with the error feedback of these
 * parameters, or the codec's own memory; of two sums that are encoded one after the other
 * (powersgd) it is the mean of both. */
typedef struct gs_codec_rates {
    gs_estimate encode_bps, decode_bps;
} gs_codec_rates;

/* coding->codec != NULL. Errors: GS_ENOMEM; GS_EINVAL where a slice of that size travels dense. */
GS_MUST_USE gs_status gs_measure_codec(const gs_coding *coding, int64_t elements, gs_arena *arena,
                                       gs_codec_rates *out, gs_error *err);

#endif
