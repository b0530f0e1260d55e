/* A link's rate over time by chance: the processes of noise.bandwidth, made into traces.
 *
 * A path is a pure function of (seed, link): other links and other noise do not move it. It is made
 * before the run and repeats, as a trace does, so that a transfer over many changes is integrated
 * and needs no event for each. Source of the two-state process: Gilbert, Capacity of a burst-noise
 * channel (1960), with times drawn from exponential laws; of the first-order autoregression: Box
 * and Jenkins, Time Series Analysis. */
#ifndef GS_TRACES_RATE_PROCESS_H
#define GS_TRACES_RATE_PROCESS_H

#include "traces/rate_trace.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_rate_kind {
    GS_RATE_TRACE,  /* of a file; no process */
    GS_RATE_MARKOV, /* `factor` is left while low; exponential times up and low */
    GS_RATE_AR1,    /* a level every interval, around a mean, that forgets with a time constant */
    GS_RATE_ON_OFF, /* `sources` of background traffic, each takes its share while it is on */
    GS_RATE_FLAP    /* nothing passes while down */
} gs_rate_kind;

extern const char *const gs_rate_kind_names[]; /* by gs_rate_kind, NULL-terminated */

/* What a link that is down still carries: a rate of 0 would let a transfer never end. */
#define GS_RATE_DOWN 1e-6

typedef struct gs_rate_process {
    int kind;                            /* gs_rate_kind */
    double factor;                       /* markov: left while low; 1e-6..1 */
    gs_time_ns mean_up_ns, mean_down_ns; /* markov, flap: of the times; on_off: off and on */
    double mean, sd;                     /* ar1: of the factor, which is cut to 0.01..1 */
    gs_time_ns interval_ns, memory_ns;   /* ar1: between levels; its time constant */
    int64_t sources;                     /* on_off */
    double share; /* on_off: of the bandwidth, that each takes; at least 0.01 is left */
} gs_rate_process;

/* points_max >= 2 changes, and some: then it repeats. false: no memory. Owner: the arena. */
bool gs_rate_process_trace(const gs_rate_process *process, uint64_t seed, uint32_t link,
                           uint32_t points_max, gs_arena *arena, gs_rate_trace *out);

/* The factor that is left in the long run: what tests hold paths against. Of ar1 before it is cut.
 */
double gs_rate_process_mean(const gs_rate_process *process);

#endif
