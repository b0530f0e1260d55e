/* Who works on the floats of an entity: this processor, or a device in whose memory they lie.
 *
 * The bits are the same. The processor may look at a device's floats once settle has been called;
 * where there is no device, settle does nothing. Not thread safe. */
#ifndef GS_TRACES_NUMBERS_H
#define GS_TRACES_NUMBERS_H

#include "base/arena.h"
#include "models/accelerator.h"
#include "models/halves.h"
#include "models/task.h"
#include "strategies/world.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gs_numbers {
    const gs_accelerator *device; /* NULL: this processor */
    void *context;
    gs_number number;
    float *staging; /* [count] of the device: what comes from outside */
} gs_numbers;

/* count: of a whole vector. device: borrowed, opened as context; NULL: this processor. false: no
 * memory. */
GS_MUST_USE bool gs_numbers_init(gs_numbers *numbers, const gs_accelerator *device, void *context,
                                 gs_number number, size_t count);
/* Zeroed floats: of the device, or of the arena. NULL: no memory. */
float *gs_numbers_take(const gs_numbers *numbers, size_t count, gs_arena *arena);

/* All that was asked for is done. Errors: GS_EIO, what the device says. */
GS_MUST_USE gs_status gs_numbers_check(const gs_numbers *numbers, gs_error *err);
/* The same where nobody is to be told here: the next check says it too. */
void gs_numbers_settle(const gs_numbers *numbers);

/* Adds floats from outside to `to`, or puts them there, rounded as sender and receiver would. */
void gs_numbers_put(const gs_numbers *numbers, float *to, const float *from, size_t count,
                    bool add);
/* One vector operation; round: as what a device of half precision keeps. */
typedef struct gs_numbers_vec {
    gs_vop vop;
    float k;
    bool is_rounded;
} gs_numbers_vec;

void gs_numbers_do(const gs_numbers *numbers, const gs_numbers_vec *vec, float *to,
                   const float *from, size_t count);
/* The task's optimizer; *out_largest: magnitude of the gradient, 0 where nothing is made. Returns
 * what gs_task_apply does. */
bool gs_numbers_apply(const gs_numbers *numbers, const gs_task *task,
                      const gs_optimizer_update *update, double *out_largest);
/* How many elements of an update are best worked on at once. */
size_t gs_numbers_block(const gs_numbers *numbers, const gs_task *task, size_t count);

#endif
