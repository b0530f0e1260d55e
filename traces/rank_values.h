/* What a step is to each single rank, from the step rows of a run that kept those of all ranks. */
#ifndef GS_TRACES_RANK_VALUES_H
#define GS_TRACES_RANK_VALUES_H

#include "base/status.h"
#include "traces/record.h"

#include <stdint.h>

typedef struct gs_rank_values {
    double step_p50_ns;              /* median over the rank's steps */
    double exposed_comm_ns, wait_ns; /* mean over them; all NAN: it has none */
} gs_rank_values;

/* rows [row_count] by step, then rank; those of GS_ALL_RANKS and of ranks >= rank_count are passed
 * over. out [rank_count]. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_rank_values_of(const gs_step_row *rows, int64_t row_count,
                                        uint32_t rank_count, gs_rank_values *out);

#endif
