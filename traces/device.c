#include "traces/device.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"

enum { KEY_BYTES = 64 };

#define TERA        1e12
#define GIGA        1e9
#define BITS        8.0
#define FLOPS(peak) ((peak)*TERA)

static const gs_device devices[] = {
#define GS_DEVICE(name, aliases, fp32, tf32, fp16, bf16, fp8, share, memory, rate, link, watts,    \
                  source)                                                                          \
    {name,                                                                                         \
     aliases,                                                                                      \
     FLOPS(fp32),                                                                                  \
     FLOPS(tf32),                                                                                  \
     FLOPS(fp16),                                                                                  \
     FLOPS(bf16),                                                                                  \
     FLOPS(fp8),                                                                                   \
     share,                                                                                        \
     (int64_t)((memory)*GIGA),                                                                     \
     (int64_t)((rate)*GIGA * BITS),                                                                \
     (int64_t)((link)*GIGA * BITS),                                                                \
     watts,                                                                                        \
     source},
#include "traces/devices.def"
#undef GS_DEVICE
};

enum { COUNT = sizeof devices / sizeof devices[0] };

size_t gs_device_count(void)
{
    return COUNT;
}

const gs_device *gs_device_at(size_t index)
{
    GS_ASSERT(index < COUNT);
    return &devices[index];
}

/* " A100SXM480GB " of "NVIDIA A100-SXM4-80GB": with a space on both sides, as aliases stand. false:
 * nothing is left, or too much. */
static bool make_key(const char *name, char out[KEY_BYTES])
{
    static const char *const makers[] = {"NVIDIA", "AMD", "TESLA", "GEFORCE", "INSTINCT"};
    size_t used = 0;
    out[used++] = ' ';
    for (const char *at = name; *at != '\0'; at++) {
        if (used + 2 >= KEY_BYTES) {
            return false;
        }
        if (isalnum((unsigned char)*at)) {
            out[used++] = (char)toupper((unsigned char)*at);
        }
        out[used] = '\0';
        for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
            if (strcmp(out + 1, makers[i]) == 0) {
                used = 1;
            }
        }
    }
    out[used] = ' ';
    out[used + 1] = '\0';
    return used > 1;
}

const gs_device *gs_device_find(const char *name)
{
    char key[KEY_BYTES];
    char own[KEY_BYTES];
    if (!make_key(name, key)) {
        return NULL;
    }
    for (size_t i = 0; i < COUNT; i++) {
        if ((make_key(devices[i].name, own) && strcmp(own, key) == 0) ||
            strstr(devices[i].aliases, key) != NULL) {
            return &devices[i];
        }
    }
    return NULL;
}

const gs_device *gs_device_near(const char *name)
{
    const char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = devices[i].name;
    }
    const char *near = gs_nearest_name(name, names, COUNT);
    return near == NULL ? NULL : gs_device_find(near);
}

double gs_device_rate(const gs_device *device, const char *dtype)
{
    const struct {
        const char *dtype;
        double flops_per_s;
    } peaks[] = {{"fp32", device->fp32_flops_per_s},
                 {"tf32", device->tf32_flops_per_s},
                 {"fp16", device->fp16_flops_per_s},
                 {"bf16", device->bf16_flops_per_s},
                 {"fp8", device->fp8_flops_per_s}};
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        if (strcmp(peaks[i].dtype, dtype) == 0) {
            return peaks[i].flops_per_s * device->achievable_ratio;
        }
    }
    return 0.0;
}

const gs_device *gs_device_holding(int64_t bytes)
{
    const gs_device *best = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        if (devices[i].memory_bytes >= bytes &&
            (best == NULL || devices[i].memory_bytes < best->memory_bytes)) {
            best = &devices[i];
        }
    }
    return best;
}
