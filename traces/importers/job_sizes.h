/* The sizes of a job from the small YAML file beside its trace: lines "dp_size: 4". Reads no other
 * YAML than that; keys it does not know are skipped. */
#ifndef GS_TRACES_JOB_SIZES_H
#define GS_TRACES_JOB_SIZES_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gs_job_sizes {
    int32_t dp_size; /* copies of the model; 0: not said, as below */
    int32_t dsp_size;
    int32_t pp_size;  /* stages of the pipeline */
    int32_t vpp_size; /* chunks of the model in a stage */
} gs_job_sizes;

/* The name of the file that belongs to a trace: "DIR/trace-ST.csv.gz" has "DIR/meta-ST.yaml".
 * out [out_bytes] becomes "" where the trace is not named so or the name does not fit. */
void gs_job_sizes_name(const char *trace, char *out, size_t out_bytes);

/* Errors: GS_ENOTFOUND, GS_EIO, GS_ENOMEM, GS_ELIMIT; GS_EPARSE (a size that is no whole number of
 * at least 1, with its line). */
GS_MUST_USE gs_status gs_job_sizes_read(const char *file, gs_job_sizes *out, gs_error *err);

#endif
