/* How long one all-reduce takes on a scenario's cluster: a run of the simulator that does nothing
 * else. */
#ifndef GS_TOOLS_OP_TIME_H
#define GS_TOOLS_OP_TIME_H

#include "traces/scenario/scenario.h"

/* All ranks start at once, without noise. algorithm: a name that the strategy allreduce takes, or
 * "auto". *out_nic_bytes: sent over nics by all ranks together. Errors: those of the run, and
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_op_time(const gs_scenario *scenario, const char *algorithm, int64_t bytes,
                                 gs_time_ns *out_ns, int64_t *out_nic_bytes, gs_error *err);

#endif
