#include "traces/divergence.h"

#include "models/kernels.h"
#include "models/optimizer.h"

#include <math.h>
#include <stdio.h>

static const double fp16_max = 65504.0;

/* Losses of single steps scatter: so many rises in a row, or one by so much, are no accident. */
enum { RISES = 4 };
static const double rise_ratio = 10.0;

/* An update that points where the exact one does, so much longer, within so much. */
static const double cosine_least = 0.99, length_tolerance = 0.05;

static const double pi = 3.14159265358979323846;

void gs_loss_trail_add(gs_loss_trail *trail, double loss)
{
    if (trail->steps > 0 && loss > trail->last) {
        trail->before = trail->rises == 0 ? trail->last : trail->before;
        trail->rises++;
    } else {
        trail->rises = 0;
        trail->before = loss;
    }
    trail->last = loss;
    trail->steps++;
}

double gs_largest_magnitude(const float *floats, size_t count)
{
    return (double)gs_kernel_largest(floats, count);
}

/* ---------------------------------------------------------------- cases */

/* It rose for long before, so that large gradients are no cause but follow. */
static bool has_risen(const gs_divergence *d)
{
    const gs_loss_trail *trail = &d->trail;
    return trail->rises >= RISES || (trail->rises > 0 && trail->last > rise_ratio * trail->before);
}

static bool sum_overflows(const gs_divergence *d)
{
    return d->number == GS_FP16 && isfinite(d->gradient_max) && isinf(d->applied_max) &&
           d->gradient_max * d->ranks > fp16_max && !has_risen(d);
}

static void tell_sum(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "every rank's gradient was finite, their sum was not: %u ranks x %.4g is over "
                   "%g, the most that fp16 holds; average before the sum, or use a smaller "
                   "loss_scale or bf16",
                   d->ranks, d->gradient_max, fp16_max);
}

static bool scaled_overflows(const gs_divergence *d)
{
    return d->number == GS_FP16 && isinf(d->gradient_max) && d->loss_scale > 1.0 && !has_risen(d);
}

static void tell_scaled(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "a gradient was over %g, the most that fp16 holds, before anything was summed, "
                   "and it was multiplied by loss_scale %g; use a smaller one or dynamic",
                   fp16_max, d->loss_scale);
}

static bool gradient_overflows(const gs_divergence *d)
{
    return d->number == GS_FP16 && isinf(d->gradient_max) && d->loss_scale <= 1.0 && !has_risen(d);
}

static void tell_gradient(const gs_divergence *d, char *out, size_t bytes)
{
    (void)d;
    (void)snprintf(out, bytes,
                   "a gradient was over %g, the most that fp16 holds, before anything was summed "
                   "or scaled; use bf16, or optimizer.clip and a smaller rate",
                   fp16_max);
}

static bool is_stale(const gs_divergence *d)
{
    return d->facts.applied_gradients > 0 && d->facts.staleness_mean >= 0.5;
}

/* x(k+1) = x(k) - rate c x(k - t) is stable where rate c < 2 sin(pi / (2 (2 t + 1))), which is 2
 * without a delay. */
static void tell_stale(const gs_divergence *d, char *out, size_t bytes)
{
    double delay = d->facts.staleness_mean;
    double share = sin(pi / (2.0 * (2.0 * delay + 1.0)));
    (void)snprintf(out, bytes,
                   "gradients were applied %.3g updates (mean) after their weights were read; with "
                   "such a delay a quadratic loss is stable up to %.2g of the rate that it is "
                   "stable with at once: divide optimizer.rate %g by the %u ranks",
                   delay, share, d->rate, d->ranks);
}

/* Of what the update is a sum, or 0. */
static double undivided_by(const gs_divergence *d)
{
    double length = d->facts.fidelity_length;
    double ranks = d->ranks;
    double passes = (double)d->accumulation;
    const double candidates[] = {ranks, passes, ranks * passes};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (candidates[i] >= 2.0 &&
            fabs(length - candidates[i]) <= length_tolerance * candidates[i]) {
            return candidates[i];
        }
    }
    return 0.0;
}

static bool is_undivided(const gs_divergence *d)
{
    return d->facts.fidelity_steps > 0 && d->facts.fidelity_cosine >= cosine_least &&
           undivided_by(d) > 0.0;
}

static void tell_undivided(const gs_divergence *d, char *out, size_t bytes)
{
    double terms = undivided_by(d);
    bool of_ranks = terms >= d->ranks && terms <= d->ranks;
    bool of_passes =
        !of_ranks && terms >= (double)d->accumulation && terms <= (double)d->accumulation;
    (void)snprintf(out, bytes,
                   "the applied update is %.3g times the mean gradient: a sum over %s that was not "
                   "divided; average, or divide optimizer.rate %g by %g",
                   d->facts.fidelity_length,
                   of_ranks    ? "ranks"
                   : of_passes ? "the passes of a step"
                               : "ranks and the passes of a step",
                   d->rate, terms);
}

static void tell_rate(const gs_divergence *d, char *out, size_t bytes)
{
    char steps[40] = "step";
    if (d->trail.rises > 1) {
        (void)snprintf(steps, sizeof steps, "%lld steps", (long long)d->trail.rises);
    }
    (void)snprintf(out, bytes,
                   "the loss of a rank rose from %.4g to %.4g in its last %s and its gradients "
                   "were finite: optimizer.rate %g is likely too large",
                   d->trail.before, d->trail.last, steps, d->rate);
}

static bool always(const gs_divergence *d)
{
    (void)d;
    return true;
}

static void tell_nothing(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "nothing that was measured shows the cause; try a rate smaller than "
                   "optimizer.rate %g first",
                   d->rate);
}

static const struct {
    bool (*applies)(const gs_divergence *d);
    void (*tell)(const gs_divergence *d, char *out, size_t bytes);
} cases[] = {
    {sum_overflows, tell_sum}, {scaled_overflows, tell_scaled}, {gradient_overflows, tell_gradient},
    {is_stale, tell_stale},    {is_undivided, tell_undivided},  {has_risen, tell_rate},
    {always, tell_nothing},
};

char *gs_divergence_cause(const gs_divergence *divergence, char out[GS_DIVERGENCE_TEXT_BYTES])
{
    size_t i = 0;
    while (!cases[i].applies(divergence)) {
        i++;
    }
    cases[i].tell(divergence, out, GS_DIVERGENCE_TEXT_BYTES);
    return out;
}
