/* What is kept of the simulations of one scenario, and how many of them are made together. */
#ifndef GS_TOOLS_EXPLAIN_MEASURE_H
#define GS_TOOLS_EXPLAIN_MEASURE_H

#include "tools/run_one.h"
#include "tools/sim_stats.h"

/* Means over seeds, per rank and step. The first step is left out, since its buckets are those
 * before DDP has seen the order of gradients; and the last, which ends with its optimizer where
 * others end before it. NAN: nothing was measured. */
typedef struct gs_measure {
    uint32_t seeds;
    double *step_ns;   /* [seeds] */
    double *sample_ns; /* [seeds]: time of a sample, all ranks together */
    double mean_ns, compute_ns, exposed_ns, wait_ns, input_ns, overhead_ns;
    double comm_ns; /* under way, hidden or not */
    double samples_per_step;
    double nic_bytes;  /* sent per NIC and step */
    double rank_bytes; /* sent per rank and step, over whatever link */
    double events_per_step;
    double ops[GS_OP_MODE_COUNT]; /* collectives of a step that were timed so */
    double ops_returned;          /* and of those by messages, begun as a whole */
    bool outside_curve;
    const char *error; /* of the first run that failed, or NULL */
} gs_measure;

/* outcomes [seeds] of one scenario. Owner of arrays and texts: the arena. */
void gs_measure_make(const gs_outcome *outcomes, uint32_t seeds, gs_arena *arena, gs_measure *out);

#endif
