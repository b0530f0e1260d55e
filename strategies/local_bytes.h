/* What local updates send, by their rule alone. */
#ifndef GS_STRATEGIES_LOCAL_BYTES_H
#define GS_STRATEGIES_LOCAL_BYTES_H

#include "strategies/local_rule.h"

/* Bytes that one worker sends in one step on average: of the job's budget, with the average at its
 * end, or of a period where there is none. */
int64_t gs_local_wire_bytes(gs_local_kind kind, const gs_local_config *config, const gs_job *job,
                            const gs_coding *coding);

#endif
