#include "tests/gpu/gpu_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5, VECTORS = 4, TEXT_BYTES = 64 };

/* The same numbers on both sides: dst, a, b and one more. */
typedef struct both {
    const gs_accelerator *table;
    void *device;
    float *there[VECTORS]; /* of the device */
    float *here[VECTORS];
    size_t count;
} both;

typedef void kernel_function(float *dst, const float *a, const float *b, size_t count, float k);

static const struct {
    const char *name;
    kernel_function *function;
} kernels[GS_KERNEL_COUNT] = {
#define KERNEL(name, formula) [GS_KERNEL_##name] = {#name, gs_kernel_##name},
    GS_KERNEL_LIST(KERNEL)
#undef KERNEL
};

/* Bits of every exponent and sign; every 97th is 0, infinite, subnormal or no number. */
static float number_at(uint64_t seed, size_t index)
{
    static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                       0x00000001, 0x807fffff, 0x7fc00000, 0x7f800001};
    uint64_t bits = (seed + index) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 31;
    if (index % 97 == 5) {
        return gs_float_of(special[bits % 8]);
    }
    /* From 2^-40 to 2^24, so that sums round and products reach the subnormal numbers. */
    uint32_t exponent = 87 + (uint32_t)(bits >> 32) % 64;
    return gs_float_of(((uint32_t)bits & 0x807fffff) | exponent << 23);
}

static void fill(both *pair, uint64_t seed)
{
    (void)pair->table->synchronise(pair->device, NULL);
    for (int v = 0; v < VECTORS; v++) {
        for (size_t i = 0; i < pair->count; i++) {
            pair->here[v][i] = number_at(seed + (uint64_t)v * UINT64_C(1000003), i);
        }
        memcpy(pair->there[v], pair->here[v], pair->count * sizeof(float));
    }
}

/* The same bits; where both are no number they may differ, as between processors. */
static bool are_equal(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (gs_bits_of(a[i]) != gs_bits_of(b[i]) && !(isnan(a[i]) && isnan(b[i]))) {
            return false;
        }
    }
    return true;
}

static bool vectors_are_equal(const both *pair, int vectors, gs_error *err)
{
    bool ok = pair->table->synchronise(pair->device, err) == GS_OK;
    for (int v = 0; ok && v < vectors; v++) {
        ok = are_equal(pair->here[v], pair->there[v], pair->count);
    }
    return ok;
}

/* ---------------------------------------------------------------- equality at one size */

static bool check_vectors(both *pair, gs_error *err)
{
    bool ok = true;
    for (int kernel = 0; ok && kernel < GS_KERNEL_COUNT; kernel++) {
        for (int b = 0; ok && b < 2; b++) { /* operands apart, then dst itself as the second */
            int second = b == 0 ? 2 : 0;
            fill(pair, (uint64_t)kernel * 17 + 1);
            kernels[kernel].function(pair->here[0], pair->here[1], pair->here[second], pair->count,
                                     0.3F);
            pair->table->work(pair->device, (gs_kernel)kernel, pair->there[0], pair->there[1],
                              pair->there[second], pair->count, 0.3F);
            ok = vectors_are_equal(pair, VECTORS, err);
            if (!ok && err->text[0] == '\0') {
                (void)snprintf(err->text, sizeof err->text, "%s differs", kernels[kernel].name);
            }
        }
    }
    return ok;
}

static bool check_roundings(both *pair, gs_error *err)
{
    bool ok = true;
    for (int number = 0; ok && number < GS_NUMBER_COUNT; number++) {
        fill(pair, (uint64_t)number + 100);
        gs_half_round((gs_number)number, pair->here[0], pair->count);
        pair->table->round(pair->device, (gs_number)number, pair->there[0], pair->count);
        ok = pair->table->synchronise(pair->device, err) == GS_OK &&
             memcmp(pair->here[0], pair->there[0], pair->count * sizeof(float)) == 0;
        if (!ok && err->text[0] == '\0') {
            (void)snprintf(err->text, sizeof err->text, "rounding to kind %d differs", number);
        }
    }
    return ok;
}

static void update_here(const gs_element_update *by)
{
    for (size_t i = 0; i < by->count; i++) {
        switch (by->form) {
        case GS_UPDATE_SGD:
            gs_element_sgd(by->sgd, &by->parameters[i], by->gradient[i]);
            break;
        case GS_UPDATE_HEAVY_BALL:
            gs_element_heavy_ball(by->sgd, &by->parameters[i], by->gradient[i], &by->state[i]);
            break;
        case GS_UPDATE_NESTEROV:
            gs_element_nesterov(by->sgd, &by->parameters[i], by->gradient[i], &by->state[i]);
            break;
        case GS_UPDATE_ADAM:
            gs_element_adam(by->adam, &by->parameters[i], by->gradient[i], &by->state[i],
                            &by->square[i]);
            break;
        }
    }
}

static gs_element_update update_of(gs_update_form form, float *const vectors[VECTORS], size_t count)
{
    return (gs_element_update){
        .form = form,
        .sgd = {.rate = 0.07F, .momentum = 0.9F, .decay = 0.013F, .factor = 0.31F},
        .adam = {.rate = 0.003F,
                 .root = 1.7F,
                 .beta1 = 0.9F,
                 .beta2 = 0.999F,
                 .rest1 = 0.1F,
                 .rest2 = 0.001F,
                 .epsilon = 1e-8F,
                 .decay = 0.013F,
                 .keep = 0.99F,
                 .factor = 0.31F},
        .parameters = vectors[0],
        .gradient = vectors[1],
        .state = vectors[2],
        .square = vectors[3],
        .count = count,
    };
}

static bool check_updates(both *pair, gs_error *err)
{
    bool ok = true;
    for (int form = GS_UPDATE_SGD; ok && form <= GS_UPDATE_ADAM; form++) {
        fill(pair, (uint64_t)form + 200);
        gs_element_update here = update_of((gs_update_form)form, pair->here, pair->count);
        gs_element_update there = update_of((gs_update_form)form, pair->there, pair->count);
        for (int step = 0; step < 3; step++) {
            update_here(&here);
            pair->table->update(pair->device, &there);
        }
        ok = vectors_are_equal(pair, VECTORS, err);
        if (!ok && err->text[0] == '\0') {
            (void)snprintf(err->text, sizeof err->text, "update form %d differs", form);
        }
    }
    return ok;
}

static bool check_largest(both *pair, gs_error *err)
{
    fill(pair, 300);
    for (size_t i = 0; i < pair->count; i++) { /* of finite ones: a gradient as it should be */
        float value = pair->here[0][i];
        pair->here[0][i] = isfinite(value) ? value : 1.0F;
        pair->there[0][i] = pair->here[0][i];
    }
    bool ok = true;
    for (int last = 0; ok && last < 2; last++) {
        float here = gs_kernel_largest(pair->here[0], pair->count);
        float there = pair->table->largest(pair->device, pair->there[0], pair->count);
        ok = gs_bits_of(here) == gs_bits_of(there);
        pair->there[0][pair->count - 1] = pair->here[0][pair->count - 1] = -INFINITY;
    }
    if (!ok) {
        (void)snprintf(err->text, sizeof err->text, "the largest magnitude differs");
    }
    return ok;
}

/* ---------------------------------------------------------------- speed */

/* Best of a few, in memory that the device has touched before. */
static double rate_gb(both *pair, gs_kernel kernel, int moves)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i <= REPEATS; i++) {
        pair->table->mark(pair->device, 0);
        pair->table->work(pair->device, kernel, pair->there[0], pair->there[1], pair->there[2],
                          pair->count, 0.5F);
        pair->table->mark(pair->device, 1);
        (void)pair->table->synchronise(pair->device, NULL);
        int64_t ns = pair->table->elapsed_ns(pair->device, 0, 1);
        best = i > 0 && ns > 0 && ns < best ? ns : best;
    }
    return (double)pair->count * sizeof(float) * moves / (double)best;
}

static double update_rate_gb(both *pair)
{
    int64_t best = INT64_MAX;
    gs_element_update there = update_of(GS_UPDATE_ADAM, pair->there, pair->count);
    for (int i = 0; i <= REPEATS; i++) {
        pair->table->mark(pair->device, 0);
        pair->table->update(pair->device, &there);
        pair->table->mark(pair->device, 1);
        (void)pair->table->synchronise(pair->device, NULL);
        int64_t ns = pair->table->elapsed_ns(pair->device, 0, 1);
        best = i > 0 && ns > 0 && ns < best ? ns : best;
    }
    return (double)pair->count * sizeof(float) * 7 / (double)best;
}

static void check_speed(both *pair)
{
    char size[TEXT_BYTES];
    (void)snprintf(size, sizeof size, "%zu floats", pair->count);
    fill(pair, 400);
    check_row(true, "copy, in device memory", size, "%.0f GB/s", rate_gb(pair, GS_KERNEL_copy, 2));
    check_row(true, "axpy", size, "%.0f GB/s", rate_gb(pair, GS_KERNEL_axpy, 3));
    check_row(true, "adam update", size, "%.0f GB/s", update_rate_gb(pair));
    int64_t before = check_now_ns();
    memcpy(pair->here[0], pair->there[0], pair->count * sizeof(float));
    check_row(true, "read by the processor, after the device wrote it", size, "%.1f GB/s",
              (double)pair->count * sizeof(float) / (double)(check_now_ns() - before));
}

/* ---------------------------------------------------------------- all of it */

void check_kernels(const gs_accelerator *table, void *device, size_t largest)
{
    const size_t sizes[] = {1, 31, 32, 33, 255, 257, 8191, 1000003, largest - 1};
    both pair = {.table = table, .device = device};
    gs_error err = {.text = ""};
    bool ok = true;
    for (int v = 0; v < VECTORS; v++) {
        pair.there[v] = table->allocate(device, largest);
        pair.here[v] = malloc(largest * sizeof(float));
        ok = ok && pair.there[v] != NULL && pair.here[v] != NULL;
    }
    if (!ok) {
        check_row(false, "memory", "", "not enough for %d vectors of %zu floats", VECTORS, largest);
    }
    size_t done = 0;
    for (size_t i = 0; ok && i < sizeof sizes / sizeof sizes[0]; i++) {
        pair.count = sizes[i] < largest ? sizes[i] : largest;
        ok = check_vectors(&pair, &err) && check_roundings(&pair, &err) &&
             check_updates(&pair, &err) && check_largest(&pair, &err);
        done = ok ? pair.count : done;
    }
    char size[TEXT_BYTES];
    (void)snprintf(size, sizeof size, "1 to %zu floats", ok ? done : pair.count);
    check_row(ok, "vector kernels, fp16 and bf16, updates, largest magnitude", size, "%s",
              ok ? "the bits of the processor" : err.text);
    if (ok) {
        pair.count = largest;
        check_speed(&pair);
    }
    for (int v = 0; v < VECTORS; v++) {
        free(pair.here[v]);
    }
}

/* A kernel is started, not done, when its launch returns: who stops the clock then measures the
 * launch. */
void check_time(const gs_accelerator *table, void *device)
{
    const int64_t busy_ns = 50 * INT64_C(1000000);
    (void)table->synchronise(device, NULL);
    int64_t start = check_now_ns();
    table->mark(device, 2);
    table->spin(device, busy_ns);
    table->mark(device, 3);
    int64_t forgotten = check_now_ns() - start;
    int64_t too_early = table->elapsed_ns(device, 2, 3);
    (void)table->synchronise(device, NULL);
    int64_t waited = check_now_ns() - start;
    int64_t events = table->elapsed_ns(device, 2, 3);
    check_row(forgotten < busy_ns / 10, "a kernel of 50 ms, the device not waited for", "",
              "%.3f ms", (double)forgotten / 1e6);
    check_row(waited >= busy_ns, "the same, waited for", "", "%.3f ms", (double)waited / 1e6);
    check_row(too_early == -1 && events >= busy_ns * 99 / 100 && events <= waited,
              "the same, by events", "", "%.3f ms", (double)events / 1e6);
}
