/* The check of the CUDA module on a machine with GPUs (tools/gpu_check.sh), and of itself over the
 * fake runtime: what each part of it does. Rows of a table go to standard output. */
#ifndef GS_TESTS_GPU_GPU_CHECK_H
#define GS_TESTS_GPU_GPU_CHECK_H

#include "models/accelerator.h"

#include <stdbool.h>
#include <stdint.h>

/* One row: what was done, at which size, what came out. A row that is not ok fails the check. */
void check_row(bool ok, const char *what, const char *size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int64_t check_now_ns(void);

/* Every kernel, rounding and update against the processor's, up to `largest` floats; and how fast
 * they are. */
void check_kernels(const gs_accelerator *table, void *device, size_t largest);
/* A device that is busy for a while, timed with and without waiting for it. */
void check_time(const gs_accelerator *table, void *device);
/* NCCL of one rank, and of as many as there are devices, up to four: sums and frames. largest:
 * floats of a sum. */
void check_nccl(uint32_t devices, size_t largest);

#endif
