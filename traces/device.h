/* The catalogue of devices: what a rank computes on, as its vendor's data sheet says. A pure table;
 * what is assumed about it (the share of the peak that training gets) stands in devices.def. */
#ifndef GS_TRACES_DEVICE_H
#define GS_TRACES_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* Peaks in FLOP/s, dense; 0: the device has no such arithmetic. */
typedef struct gs_device {
    const char *name; /* "A100-80GB" */
    const char *aliases;
    double fp32_flops_per_s; /* without tensor cores */
    double tf32_flops_per_s;
    double fp16_flops_per_s;
    double bf16_flops_per_s;
    double fp8_flops_per_s;
    double achievable_ratio; /* of the peak; assumed */
    int64_t memory_bytes;    /* 0: not known */
    int64_t memory_bps;      /* of that memory, bit/s */
    int64_t host_link_bps;   /* in one direction, bit/s; 0: there is none */
    int watts;
    const char *source; /* name of the data sheet */
} gs_device;

size_t gs_device_count(void);
/* By name; index below gs_device_count(). */
const gs_device *gs_device_at(size_t index);

/* By name or alias; capitals, blanks, hyphens and the maker's name do not matter ("NVIDIA
 * A100-SXM4-80GB"). NULL: the catalogue does not have it. */
const gs_device *gs_device_find(const char *name);

/* The device whose name may have been meant; NULL: none is near. */
const gs_device *gs_device_near(const char *name);

/* FLOP/s that training in this type gets: peak times achievable share. dtype: fp32, tf32, fp16,
 * bf16 or fp8. 0: the device does not have it, or the catalogue does not say. */
double gs_device_rate(const gs_device *device, const char *dtype);

/* The device with the least memory that holds `bytes`; NULL: none does. */
const gs_device *gs_device_holding(int64_t bytes);

#endif
