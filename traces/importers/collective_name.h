/* One name for each collective, whatever a tool, a library or a kernel calls it. */
#ifndef GS_TRACES_COLLECTIVE_NAME_H
#define GS_TRACES_COLLECTIVE_NAME_H

#include <stddef.h>
#include <stdint.h>

/* The name gradsync uses ("all_reduce", "all_to_all", ...) for the collective that is named
 * somewhere in text: "all_reduce_perf", "nccl:_all_gather_base", "ncclDevKernel_AllReduce_Sum_f32",
 * any case, with or without underscores. NULL: none. Static storage. */
const char *gs_collective_name(const char *text);

/* Bus bandwidth over algorithm bandwidth for `ranks` members (nccl-tests' PERFORMANCE.md):
 * all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all (n-1)/n; others 1. ranks >= 1. */
double gs_collective_bus_factor(const char *collective, int32_t ranks);

#endif
