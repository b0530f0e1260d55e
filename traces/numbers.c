#include "traces/numbers.h"

#include "models/kernels.h"
#include "models/optimizer.h"
#include "traces/divergence.h"

#include <string.h>

bool gs_numbers_init(gs_numbers *numbers, const gs_accelerator *device, void *context,
                     gs_number number, size_t count)
{
    *numbers = (gs_numbers){.device = device, .context = context, .number = number};
    if (device != NULL && count > 0) {
        numbers->staging = device->allocate(context, count);
        return numbers->staging != NULL;
    }
    return true;
}

float *gs_numbers_take(const gs_numbers *numbers, size_t count, gs_arena *arena)
{
    return numbers->device != NULL ? numbers->device->allocate(numbers->context, count)
                                   : GS_TAKE(arena, float, count);
}

gs_status gs_numbers_check(const gs_numbers *numbers, gs_error *err)
{
    return numbers->device != NULL ? numbers->device->synchronise(numbers->context, err) : GS_OK;
}

void gs_numbers_settle(const gs_numbers *numbers)
{
    if (numbers->device != NULL) {
        (void)numbers->device->synchronise(numbers->context, NULL);
    }
}

/* ---------------------------------------------------------------- from outside */

/* A payload is rounded here and not where it leaves: it may be lent in place, as a slice of floats
 * that stay what they are. The numbers are the same. */
static void put_rounded(gs_number number, float *to, const float *from, size_t all, bool add)
{
    enum { AT_ONCE = 256 };
    float part[AT_ONCE];
    for (size_t done = 0; done < all; done += AT_ONCE) {
        size_t left = all - done;
        size_t count = left < AT_ONCE ? left : AT_ONCE;
        gs_kernel_copy(part, from + done, NULL, count, 0.0F);
        gs_half_round(number, part, count);
        if (add) {
            gs_kernel_add(part, to + done, NULL, count, 0.0F);
            gs_half_round(number, part, count);
        }
        gs_kernel_copy(to + done, part, NULL, count, 0.0F);
    }
}

/* What has come lies in the processor's memory; the device may still read what came before it. */
static void put_on_device(const gs_numbers *numbers, float *to, const float *from, size_t count,
                          bool add)
{
    const gs_accelerator *device = numbers->device;
    void *context = numbers->context;
    float *staging = numbers->staging;
    gs_numbers_settle(numbers);
    memcpy(staging, from, count * sizeof *from);
    device->round(context, numbers->number, staging, count);
    if (add) {
        device->work(context, GS_KERNEL_add, staging, to, NULL, count, 0.0F);
        device->round(context, numbers->number, staging, count);
    }
    device->work(context, GS_KERNEL_copy, to, staging, NULL, count, 0.0F);
}

void gs_numbers_put(const gs_numbers *numbers, float *to, const float *from, size_t count, bool add)
{
    if (count == 0) {
        return;
    }
    if (numbers->device != NULL) {
        put_on_device(numbers, to, from, count, add);
    } else if (numbers->number != GS_FP32 && numbers->number != GS_FP64) {
        put_rounded(numbers->number, to, from, count, add);
    } else if (add) {
        gs_kernel_add(to, from, NULL, count, 0.0F);
    } else {
        gs_kernel_copy(to, from, NULL, count, 0.0F);
    }
}

/* ---------------------------------------------------------------- vector operations */

/* Kernels take two operands where a vector operation has one beside dst; of the listed ones only
 * sub reads both, and it is dst - a. */
typedef void kernel(float *dst, const float *a, const float *b, size_t count, float k);

static const struct {
    kernel *here;
    gs_kernel there;
} kernels[GS_VOP_COUNT] = {
#define GS_VOP(name, moves) [GS_VOP_##name] = {gs_kernel_##name, GS_KERNEL_##name},
#include "strategies/vops.def"
#undef GS_VOP
};

void gs_numbers_do(const gs_numbers *numbers, const gs_numbers_vec *vec, float *to,
                   const float *from, size_t count)
{
    const float *a = vec->vop == GS_VOP_sub ? to : from;
    const gs_accelerator *device = numbers->device;
    if (device != NULL) {
        device->work(numbers->context, kernels[vec->vop].there, to, a, from, count, vec->k);
        if (vec->is_rounded) {
            device->round(numbers->context, numbers->number, to, count);
        }
        return;
    }
    kernels[vec->vop].here(to, a, from, count, vec->k);
    if (vec->is_rounded) {
        gs_half_round(numbers->number, to, count);
    }
}

/* ---------------------------------------------------------------- updates */

size_t gs_numbers_block(const gs_numbers *numbers, const gs_task *task, size_t count)
{
    enum { BLOCK = 8192 };
    bool is_whole = numbers->device != NULL || gs_optimizer_needs_whole(gs_task_optimizer(task));
    return is_whole || count < BLOCK ? count : BLOCK;
}

bool gs_numbers_apply(const gs_numbers *numbers, const gs_task *task,
                      const gs_optimizer_update *update, double *out_largest)
{
    const float *gradient = update->gradient + update->offset;
    *out_largest = numbers->device != NULL
                       ? (double)numbers->device->largest(numbers->context, gradient, update->count)
                       : gs_largest_magnitude(gradient, update->count);
    return gs_task_apply_on(numbers->device, numbers->context, task, update);
}
