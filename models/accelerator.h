/* A device that holds the floats of an entity and works on them: a table that a module fills
 * (models/cuda/cuda.c). Without one, everything is done on the processor.
 *
 * Its memory is of both: the processor reads and writes it as any other, after synchronise, and
 * pages move to where they are used. So what is worked out on the processor (gradients, norms,
 * coded payloads) needs no second copy of the vectors. Work on the device runs in the order in
 * which it was asked for, and gives the bits of the kernels of the same name on the processor. */
#ifndef GS_MODELS_ACCELERATOR_H
#define GS_MODELS_ACCELERATOR_H

#include "base/status.h"
#include "models/element.h"
#include "models/halves.h"
#include "models/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GS_ACCELERATOR_VERSION = 1, GS_ACCELERATOR_MARKS = 16 };

typedef struct gs_accelerator {
    uint32_t version; /* GS_ACCELERATOR_VERSION */
    const char *name;
    const char *summary;
    /* The device of that number of this host. Errors: GS_EUNSUPPORTED (no such device, or one that
     * cannot share memory; one line), GS_ENOMEM. Owner of *out: caller, close. */
    gs_status (*open)(uint32_t number, void **out, gs_error *err);
    /* Waits for all work, and frees the device with everything allocated on it. */
    void (*close)(void *device);
    /* Floats, all 0; NULL: no memory. Owner: the device. */
    float *(*allocate)(void *device, size_t count);
    /* Waits for all work so far: from now on the processor may look at it. Errors: GS_EIO, naming
     * the first call that failed; from then on nothing is worked on. */
    gs_status (*synchronise)(void *device, gs_error *err);

    /* dst[i] = the kernel's formula (models/kernels.h). Floats of this device only. */
    void (*work)(void *device, gs_kernel kernel, float *dst, const float *a, const float *b,
                 size_t count, float k);
    /* As gs_half_round. */
    void (*round)(void *device, gs_number number, float *floats, size_t count);
    void (*update)(void *device, const gs_element_update *update);
    /* As gs_kernel_largest; waits. INFINITY too where the device failed. */
    float (*largest)(void *device, const float *a, size_t count);

    /* Keeps the device busy for so long: a replayed duration. */
    void (*spin)(void *device, int64_t ns);
    /* Notes the time on the device when it gets there; mark < GS_ACCELERATOR_MARKS. */
    void (*mark)(void *device, uint32_t mark);
    /* Between two marks; -1: the device has not passed both. Never waits. */
    int64_t (*elapsed_ns)(void *device, uint32_t from, uint32_t to);
} gs_accelerator;

/* What a module exports by the name "gs_accelerator_module". */
typedef const gs_accelerator *gs_accelerator_module_fn(void);

#endif
