/* Noise of durations: laws with mean 1, and stragglers over a run's time.
 *
 * One uniform a draw, turned into a factor by inversion: a draw never shifts another one, changing
 * a law never moves the draws of another purpose, and more noise keeps the order of fast and slow.
 * Randomness comes by key from base/rng.h; there is no hidden state but the place of each rank in
 * its straggler's story. How a node's own speed scales a duration is the caller's. */
#ifndef GS_TRACES_NOISE_H
#define GS_TRACES_NOISE_H

#include "base/arena.h"
#include "base/rng.h"
#include "base/units.h"
#include "traces/scenario/scenario.h"

/* A law with its parameters worked out. */
typedef struct gs_noise_sampler {
    int law;         /* gs_law; NONE also for a law without spread: always 1 */
    double location; /* lognormal: mean of the log; shifted exponential: the sure part; Pareto:
                        least */
    double scale;    /* lognormal: deviation of the log; others: what multiplies the standard law */
    double shape;    /* gamma, Weibull, Pareto: 1 / exponent where that is what is used */
    const double *samples; /* borrowed from the law */
    uint32_t sample_count;
} gs_noise_sampler;

/* Works a law out. The mean is 1; cv, 0.001..10, is its standard deviation, and 0 means no noise.
 *   pareto               its exponent is 1 + sqrt(1 + 1/cv^2), always above 2;
 *   weibull              its shape is found by bisection;
 *   shifted_exponential  cv is 1 - shift, so that one of them says all: shift where cv is 0, else
 * cv; a shift that is not 0 has to agree (to 1e-9). Both 0: the plain exponential; empirical the
 * samples as given (mean 1, none below 0), each as likely; cv is not read. Errors: GS_EINVAL naming
 * `place` ("noise.compute") and the value; out is not written then. */
GS_MUST_USE gs_status gs_noise_sampler_init(gs_noise_sampler *out, const gs_noise_law *law,
                                            const char *place, gs_error *err);

/* The factor at probability 0 < uniform < 1: finite, >= 0, not falling in uniform (empirical: if
 * its samples ascend). */
double gs_noise_quantile(const gs_noise_sampler *sampler, double uniform);

/* One draw; pure. */
double gs_noise_draw(const gs_noise_sampler *sampler, gs_rng_key key, uint64_t step,
                     uint32_t index);

/* One draw for each of many: out [count] is bit for bit gs_noise_draw of draws->entities[i] in
 * step draws->steps[i] + draws->later, index 0. */
void gs_noise_draw_many(const gs_noise_sampler *sampler, const gs_rng_many *draws, uint32_t count,
                        double *out);

/* Compute factors of all ranks over a run: one draw of the law a rank and step (purpose
 * COMPUTE_NOISE), times the straggler's factor: persistent  `factor`, always; drift       `factor`
 * at time 0 and drift_per_hour more each hour; markov      1 and `factor` in turn, for exponential
 * times of mean_up and mean_down (purpose STRAGGLER); which one at time 0 is drawn by the share of
 * time each has; throttle    1 or `factor` by heat. Heat starts at 0, tends to 1 while the rank
 * computes (time constant heat_ns) and to 0 while it idles (cool_ns); slow from heat >= hot until
 * heat <= cool. `rank` -1 means every rank. */
typedef struct gs_compute_noise gs_compute_noise;

/* Owner: arena. Errors: GS_EINVAL (a value outside what is allowed, a rank that is not there),
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_compute_noise_create(const gs_noise *noise, uint64_t seed,
                                              uint32_t rank_count, gs_arena *arena,
                                              gs_compute_noise **out, gs_error *err);

/* The factor of a compute segment of optimizer step `step` that starts at at_ns. It holds for the
 * whole segment, also where the straggler changes in the middle. A rank's times must not go back,
 * busy times included. */
double gs_compute_noise_factor(gs_compute_noise *noise, uint32_t rank, uint64_t step,
                               gs_time_ns at_ns);

/* Tells that a rank computed from from_ns to to_ns, what throttling lives on; each interval once,
 * in order. Other stragglers do not need it. */
void gs_compute_noise_busy(gs_compute_noise *noise, uint32_t rank, gs_time_ns from_ns,
                           gs_time_ns to_ns);

#endif
