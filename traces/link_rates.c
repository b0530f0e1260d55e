#include "traces/link_rates.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GIGABYTES_PER_S(rate) ((int64_t)((rate)*8e9))

typedef struct rate_from {
    int64_t from; /* from this generation on */
    int64_t bps;
} rate_from;

/* The last that does not begin later; `usual` before the first. */
static int64_t rate_of(const rate_from *table, size_t count, int64_t generation, int64_t usual)
{
    for (size_t i = count; i > 0; i--) {
        if (table[i - 1].from <= generation) {
            return table[i - 1].bps;
        }
    }
    return usual;
}

int64_t gs_rate_nvlink_bps(int compute_capability)
{
    static const rate_from table[] = {
        {60, GIGABYTES_PER_S(18.0)},  {70, GIGABYTES_PER_S(20.0)}, {80, GIGABYTES_PER_S(20.0)},
        {86, GIGABYTES_PER_S(12.0)},  {87, GIGABYTES_PER_S(20.0)}, {90, GIGABYTES_PER_S(20.6)},
        {100, GIGABYTES_PER_S(40.1)},
    };
    return rate_of(table, sizeof table / sizeof *table, compute_capability,
                   GS_RATE_NVLINK_ASSUMED_BPS);
}

int64_t gs_rate_xgmi_bps(const char *architecture)
{
    const char *name = strncmp(architecture, "gfx", 3) == 0 ? architecture + 3 : architecture;
    if (strncmp(name, "94", 2) == 0 || strncmp(name, "95", 2) == 0) {
        return GIGABYTES_PER_S(48.0);
    }
    /* RCCL's dumps write gfx90a in decimal digits: 910. */
    bool is_mi200 = strncmp(name, "90a", 3) == 0 || strncmp(name, "910", 3) == 0;
    return is_mi200 ? GIGABYTES_PER_S(36.0) : GIGABYTES_PER_S(24.0);
}

int64_t gs_rate_device_bps(const gs_device *device)
{
    static const struct {
        const char *name; /* how the catalogue's begins */
        int capability;
    } with_nvlink[] = {{"V100", 70}, {"A100", 80}, {"RTX-3090", 86},
                       {"H100", 90}, {"H200", 90}, {"B200", 100}};
    for (size_t i = 0; device != NULL && i < sizeof with_nvlink / sizeof *with_nvlink; i++) {
        if (strncmp(device->name, with_nvlink[i].name, strlen(with_nvlink[i].name)) == 0) {
            return gs_rate_nvlink_bps(with_nvlink[i].capability);
        }
    }
    return device != NULL && strcmp(device->name, "MI300X") == 0 ? gs_rate_xgmi_bps("942") : 0;
}

int64_t gs_rate_pcie_bps(const char *speed, int64_t lanes)
{
    static const double known[] = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
    enum { BPS_PER_TRANSFER_PERCENT = 75 };
    double transfers = strtod(speed, NULL);
    double used = 8.0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        used = transfers > known[i] - 0.01 && transfers < known[i] + 0.01 ? known[i] : used;
    }
    int64_t width = lanes > 0 && lanes <= 32 ? lanes : 16;
    return (int64_t)(used * 1e9) * width * BPS_PER_TRANSFER_PERCENT / 100;
}

int64_t gs_rate_sockets_bps(const char *arch, const char *vendor, int64_t family, int64_t model)
{
    static const rate_from intel[] = {
        {0, GIGABYTES_PER_S(6.0)},    /* Broadwell and before */
        {85, GIGABYTES_PER_S(10.0)},  /* Skylake */
        {143, GIGABYTES_PER_S(22.0)}, /* Sapphire Rapids */
        {207, GIGABYTES_PER_S(40.0)}, /* Emerald Rapids */
    };
    if (strcmp(arch, "arm64") == 0) {
        return GIGABYTES_PER_S(6.0);
    }
    if (strcmp(arch, "ppc64") == 0) {
        return GIGABYTES_PER_S(32.0);
    }
    if (strcmp(arch, "x86_64") != 0) {
        return 0;
    }
    if (strcmp(vendor, "GenuineIntel") == 0) {
        return rate_of(intel, sizeof intel / sizeof *intel, family == 6 ? model : 0, 0);
    }
    if (strcmp(vendor, "AuthenticAMD") == 0) {
        return GIGABYTES_PER_S(16.0);
    }
    return strcmp(vendor, "  Shanghai  ") == 0 ? GIGABYTES_PER_S(6.0) : 0;
}
