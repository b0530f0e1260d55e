/* The device catalogue: names, and numbers that must belong together. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "tests/support.h"
#include "traces/device.h"

static void expect_found(const char *name, const char *found)
{
    const gs_device *device = gs_device_find(name);
    cr_assert_not_null(device, "%s", name);
    cr_expect_str_eq(device->name, found, "%s is %s", name, device->name);
}

Test(device, names_as_drivers_print_them_are_found)
{
    expect_found("A100-80GB", "A100-80GB");
    expect_found("a100 80gb", "A100-80GB");
    expect_found("A100", "A100-40GB");
    expect_found("A100-SXM4-80GB", "A100-80GB");
    expect_found("NVIDIA A100-SXM4-80GB", "A100-80GB");
    expect_found("NVIDIA A100-SXM4-40GB", "A100-40GB");
    expect_found("Tesla V100-SXM2-16GB", "V100-16GB");
    expect_found("V100", "V100-16GB");
    expect_found("NVIDIA H100 80GB HBM3", "H100");
    expect_found("NVIDIA H200", "H200");
    expect_found("NVIDIA B200", "B200");
    expect_found("Tesla T4", "T4");
    expect_found("NVIDIA L4", "L4");
    expect_found("NVIDIA GeForce RTX 3090", "RTX-3090");
    expect_found("NVIDIA GeForce RTX 4090", "RTX-4090");
    expect_found("AMD Instinct MI300X", "MI300X");
    expect_found("cpu", "CPU");
}

Test(device, every_device_is_found_by_its_name_and_they_are_sorted)
{
    for (size_t i = 0; i < gs_device_count(); i++) {
        const gs_device *device = gs_device_at(i);
        cr_expect_eq(gs_device_find(device->name), device, "%s", device->name);
        if (i > 0) {
            cr_expect_lt(strcmp(gs_device_at(i - 1)->name, device->name), 0, "%s", device->name);
        }
    }
}

Test(device, what_is_no_device_is_not_found)
{
    cr_expect_null(gs_device_find(""));
    cr_expect_null(gs_device_find("NVIDIA"));
    cr_expect_null(gs_device_find("A10"), "a name is not found by its beginning");
    cr_expect_null(gs_device_find("A100-96GB"));
    cr_expect_null(gs_device_find("0123456789012345678901234567890123456789012345678901234567890"));
}

Test(device, a_name_that_is_nearly_right_has_a_neighbour)
{
    cr_assert_not_null(gs_device_near("A100-8GB"));
    cr_expect_str_eq(gs_device_near("A100-8GB")->name, "A100-80GB");
    cr_expect_null(gs_device_near("abacus"));
}

/* A100: 312 TFLOP/s in fp16 and bf16, 19.5 in fp32; half of it is assumed to be had. */
Test(device, the_rate_is_the_peak_of_the_type_times_the_achievable_share)
{
    const gs_device *a100 = gs_device_find("A100-80GB");
    cr_expect_float_eq(gs_device_rate(a100, "fp32"), 9.75e12, 1.0);
    cr_expect_float_eq(gs_device_rate(a100, "fp16"), 156e12, 1.0);
    cr_expect_float_eq(gs_device_rate(a100, "bf16"), 156e12, 1.0);
    cr_expect_float_eq(gs_device_rate(a100, "tf32"), 78e12, 1.0);
    cr_expect_eq(gs_device_rate(a100, "fp8"), 0.0, "Ampere has none");
    cr_expect_eq(gs_device_rate(a100, "fp64"), 0.0, "the catalogue does not say");
    cr_expect_eq(gs_device_rate(gs_device_find("V100"), "bf16"), 0.0);
}

/* Sizes in bytes of 10^9 a GB, rates in bit/s: 2039 GB/s is 16312 Gbit/s, 32 GB/s 256 Gbit/s. */
Test(device, units_are_bytes_and_bits)
{
    const gs_device *a100 = gs_device_find("A100-80GB");
    cr_expect_eq(a100->memory_bytes, INT64_C(80000000000));
    cr_expect_eq(a100->memory_bps, INT64_C(16312000000000));
    cr_expect_eq(a100->host_link_bps, INT64_C(256000000000));
    cr_expect_eq(gs_device_find("CPU")->memory_bps, INT64_C(1638400000000), "204.8 GB/s, exact");
}

Test(device, narrow_types_are_never_slower_and_shares_are_plausible)
{
    for (size_t i = 0; i < gs_device_count(); i++) {
        const gs_device *device = gs_device_at(i);
        double last = device->fp32_flops_per_s;
        const double wider_first[] = {device->tf32_flops_per_s, device->fp16_flops_per_s,
                                      device->fp8_flops_per_s};
        cr_expect_gt(last, 0.0, "%s", device->name);
        for (size_t k = 0; k < sizeof wider_first / sizeof wider_first[0]; k++) {
            cr_expect(wider_first[k] <= 0.0 || wider_first[k] >= last, "%s", device->name);
            last = wider_first[k] > 0.0 ? wider_first[k] : last;
        }
        cr_expect(device->bf16_flops_per_s <= 0.0 ||
                      fabs(device->bf16_flops_per_s - device->fp16_flops_per_s) < 1.0,
                  "%s", device->name);
        cr_expect(device->achievable_ratio >= 0.3 && device->achievable_ratio <= 0.6, "%s",
                  device->name);
    }
}

Test(device, the_smallest_one_that_holds_it)
{
    cr_expect_str_eq(gs_device_holding(1)->name, "T4", "16 GB, the first of those by name");
    cr_expect_str_eq(gs_device_holding(INT64_C(24000000001))->name, "V100-32GB");
    cr_expect_str_eq(gs_device_holding(INT64_C(141000000001))->name, "B200");
    cr_expect_null(gs_device_holding(INT64_C(192000000001)));
}
