/* list devices and show DEVICE: the catalogue, and what a scenario takes from it. */
#include "tools/message.h"
#include "tools/show.h"

#include <stdio.h>

#define TERA 1e12

/* "312 TFLOP/s", or "-". */
static void add_peak(gs_table *table, double flops_per_s)
{
    char text[GS_UNIT_TEXT_BYTES];
    char exact[GS_UNIT_TEXT_BYTES];
    if (flops_per_s <= 0.0) {
        gs_table_add(table, "-", "");
        return;
    }
    snprintf(text, sizeof text, "%.4g", flops_per_s / TERA);
    gs_table_add(table, text, gs_exact_real(flops_per_s, exact));
}

static void add_whole(gs_table *table, int64_t value, const char *text)
{
    char exact[GS_UNIT_TEXT_BYTES];
    snprintf(exact, sizeof exact, "%lld", (long long)value);
    gs_table_add(table, value == 0 ? "-" : text, value == 0 ? "" : exact);
}

/* As data sheets say it: bytes a second. */
static const char *byte_rate(int64_t bps, char out[GS_UNIT_TEXT_BYTES])
{
    snprintf(out, GS_UNIT_TEXT_BYTES, "%.4g GB/s", (double)bps / 8e9);
    return out;
}

void gs_list_devices(gs_page *page)
{
    static const gs_table_column columns[] = {
        {"name", "name", false},
        {"fp32 TFLOP/s", "fp32_flops_per_s", true},
        {"tf32", "tf32_flops_per_s", true},
        {"fp16", "fp16_flops_per_s", true},
        {"bf16", "bf16_flops_per_s", true},
        {"fp8", "fp8_flops_per_s", true},
        {"achieved", "achievable_ratio", true},
        {"memory", "memory_bytes", true},
        {"bandwidth", "memory_bps", true},
        {"host link", "host_link_bps", true},
        {"watts", "watts", true},
        {"source", "source", false},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        gs_table_add_column(&page->table, columns[i]);
    }
    for (size_t i = 0; i < gs_device_count(); i++) {
        const gs_device *device = gs_device_at(i);
        char text[GS_UNIT_TEXT_BYTES];
        gs_table_add(&page->table, device->name, NULL);
        add_peak(&page->table, device->fp32_flops_per_s);
        add_peak(&page->table, device->tf32_flops_per_s);
        add_peak(&page->table, device->fp16_flops_per_s);
        add_peak(&page->table, device->bf16_flops_per_s);
        add_peak(&page->table, device->fp8_flops_per_s);
        gs_table_add(&page->table, gs_exact_real(device->achievable_ratio, text), NULL);
        gs_format_bytes(device->memory_bytes, text);
        add_whole(&page->table, device->memory_bytes, text);
        add_whole(&page->table, device->memory_bps, byte_rate(device->memory_bps, text));
        add_whole(&page->table, device->host_link_bps, byte_rate(device->host_link_bps, text));
        snprintf(text, sizeof text, "%d", device->watts);
        gs_table_add(&page->table, text, NULL);
        gs_table_add(&page->table, device->source, NULL);
    }
    gs_page_note(page,
                 "Peaks are dense, from the data sheets. The share of them that is achieved is "
                 "assumed for every device, not measured.");
}

static void fact_rate(gs_page *page, const gs_device *device, const char *dtype, double peak)
{
    char key[64];
    char text[128];
    if (peak <= 0.0) {
        return;
    }
    snprintf(key, sizeof key, "%s_flops_per_s", dtype);
    snprintf(text, sizeof text, "%.4g TFLOP/s peak, %.4g achieved (assumed)", peak / TERA,
             gs_device_rate(device, dtype) / TERA);
    gs_page_fact(page, key, dtype, text, gs_json_new_real(peak));
}

static void fact_whole(gs_page *page, const char *key, const char *label, int64_t value,
                       const char *text)
{
    gs_page_fact(page, key, label, value == 0 ? "not stated" : text,
                 value == 0 ? gs_json_new_null() : gs_json_new_int(value));
}

int gs_show_device(gs_page *page, const gs_device *device)
{
    char text[GS_UNIT_TEXT_BYTES];
    gs_page_fact(page, "name", "device", device->name, NULL);
    gs_page_fact(page, "source", "source", device->source, NULL);
    fact_rate(page, device, "fp32", device->fp32_flops_per_s);
    fact_rate(page, device, "tf32", device->tf32_flops_per_s);
    fact_rate(page, device, "fp16", device->fp16_flops_per_s);
    fact_rate(page, device, "bf16", device->bf16_flops_per_s);
    fact_rate(page, device, "fp8", device->fp8_flops_per_s);
    gs_exact_real(device->achievable_ratio, text);
    gs_page_fact(page, "achievable_ratio", "achieved", text,
                 gs_json_new_real(device->achievable_ratio));
    gs_format_bytes(device->memory_bytes, text);
    fact_whole(page, "memory_bytes", "memory", device->memory_bytes, text);
    fact_whole(page, "memory_bps", "bandwidth", device->memory_bps,
               byte_rate(device->memory_bps, text));
    fact_whole(page, "host_link_bps", "host link", device->host_link_bps,
               byte_rate(device->host_link_bps, text));
    snprintf(text, sizeof text, "%d", device->watts);
    gs_page_fact(page, "watts", "watts", text, gs_json_new_int(device->watts));
    gs_page_note(page,
                 "cluster.nodes.0.device=%s uses it: for layers without times, vector "
                 "operations, and what fits into its memory.",
                 device->name);
    return GS_EXIT_OK;
}
