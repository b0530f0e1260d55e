/* What payload gets of the links inside a node, by kind and generation: NCCL's figures.
 *
 * They are what NCCL itself reckons with (src/graph/topo.h and topo.cc, 2.28 to 2.30; RCCL's topo.h
 * for xGMI), about three quarters of the nominal rate. NCCL uses them to compare paths; they are
 * estimates, not measurements of a machine. Rates are of one direction. */
#ifndef GS_TRACES_LINK_RATES_H
#define GS_TRACES_LINK_RATES_H

#include "traces/device.h"

#include <stdint.h>

/* Where nothing else is known: NVLink of an A100, PCIe 3.0 of 16 lanes, Skylake's sockets. */
#define GS_RATE_NVLINK_ASSUMED_BPS  INT64_C(160000000000)
#define GS_RATE_PCIE_ASSUMED_BPS    INT64_C(96000000000)
#define GS_RATE_SOCKETS_ASSUMED_BPS INT64_C(80000000000)

/* One NVLink of a GPU of this compute capability (80: 8.0). */
int64_t gs_rate_nvlink_bps(int compute_capability);

/* One xGMI link of an AMD GPU of this architecture ("908", "gfx942:sramecc+"). */
int64_t gs_rate_xgmi_bps(const char *architecture);

/* One link to other devices of its kind; 0: the device has none, or it is not known. */
int64_t gs_rate_device_bps(const gs_device *device);

/* A PCIe link: "16.0 GT/s PCIe" or another speed with its lanes; one that is not known or 0 counts
 * as 8 GT/s and 16 lanes. */
int64_t gs_rate_pcie_bps(const char *speed, int64_t lanes);

/* Between the sockets of a host, by the `arch`, `vendor`, `familyid` and `modelid` of NCCL's file;
 * 0: not known. */
int64_t gs_rate_sockets_bps(const char *arch, const char *vendor, int64_t family, int64_t model);

#endif
