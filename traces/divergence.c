#include "traces/divergence.h"

#include "models/kernels.h"
#include "models/optimizer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const gs_codec *codec_of(const gs_divergence *d)
{
    return d->coding == NULL ? NULL : d->coding->codec;
}

static const char *codec_name(const gs_divergence *d)
{
    const gs_codec *codec = codec_of(d);
    return codec == NULL ? "" : codec->name;
}

static bool sums_in_fp16(const gs_divergence *d)
{
    return d->number == GS_FP16 || strcmp(codec_name(d), "fp16") == 0;
}

static bool sum_overflows(const gs_divergence *d)
{
    return sums_in_fp16(d) && d->gradient_max <= fp16_max && isinf(d->applied_max) &&
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

static bool payload_overflows(const gs_divergence *d)
{
    return sums_in_fp16(d) && d->gradient_max > fp16_max && isfinite(d->gradient_max) &&
           isinf(d->applied_max) && !has_risen(d);
}

static void tell_payload(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "a gradient was %.4g, and it travels as fp16, which holds %g at most; use bf16, "
                   "or optimizer.clip",
                   d->gradient_max, fp16_max);
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
                   "or scaled; use bf16, or a loss_scale below 1 or dynamic",
                   fp16_max);
}

static bool is_stale(const gs_divergence *d)
{
    return d->facts.applied_gradients > 0 && d->facts.staleness_mean >= 0.5;
}

/* x(k+1) - x(k) = m (x(k) - x(k-1)) - rate c x(k - t) is stable up to the rate c at which
 * (z - 1) (z - m) z^(t - 1) is a negative number with |z| = 1, so that its angle is pi: 2 (1 + m)
 * without a delay, 2 sin(pi / (2 (2 t + 1))) without momentum. */
static double stable_rate(double delay, double momentum)
{
    enum { HALVINGS = 60 };
    double low = 0.0;
    double high = pi;
    for (int i = 0; i < HALVINGS; i++) {
        double angle = (low + high) / 2.0;
        double turned =
            (pi + angle) / 2.0 + atan2(sin(angle), cos(angle) - momentum) + (delay - 1.0) * angle;
        *(turned < pi ? &low : &high) = angle;
    }
    return 2.0 * sin(low / 2.0) * hypot(cos(low) - momentum, sin(low));
}

static void tell_stale(const gs_divergence *d, char *out, size_t bytes)
{
    double delay = d->facts.staleness_mean;
    double share = stable_rate(delay, d->momentum) / stable_rate(0.0, d->momentum);
    char momentum[40] = "";
    if (d->momentum > 0.0) {
        (void)snprintf(momentum, sizeof momentum, " and momentum %.3g", d->momentum);
    }
    (void)snprintf(out, bytes,
                   "gradients were applied %.3g updates (mean) after their weights were read; with "
                   "such a delay%s a quadratic loss is stable up to %.2g of the rate that it is "
                   "stable with at once: divide optimizer.rate %g by the %u ranks%s",
                   delay, momentum, share, d->rate, d->ranks,
                   d->momentum > 0.0 ? ", or leave momentum out" : "");
}

/* A codec that could keep what it leaves out, and does not. */
static bool loses(const gs_divergence *d)
{
    const gs_codec *codec = codec_of(d);
    return codec != NULL && !d->coding->config.feedback &&
           !gs_codec_is_vote(codec, &d->coding->config) &&
           gs_config_find(codec->config, "feedback") < codec->config->field_count;
}

static bool is_lost(const gs_divergence *d)
{
    return loses(d) && d->facts.fidelity_steps > 0 && d->facts.fidelity_cosine < 0.0;
}

static void tell_lost(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "updates pointed away from where the mean gradient points (cosine %.2g): %s "
                   "leaves out a part of every gradient, which is lost without feedback; use "
                   "feedback=true",
                   d->facts.fidelity_cosine, codec_name(d));
}

static bool may_be_lost(const gs_divergence *d)
{
    return loses(d) && d->facts.fidelity_steps == 0 && has_risen(d);
}

static void tell_may_be_lost(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "the loss of a rank rose from %.4g to %.4g and its gradients were finite: "
                   "optimizer.rate %g is too large, or what %s leaves out is missing, which is "
                   "lost without feedback: try feedback=true",
                   d->trail.before, d->trail.last, d->rate, codec_name(d));
}

/* Steps that an element waits for its turn where a codec keeps what it does not send; 1: none. */
static double feedback_wait(const gs_divergence *d)
{
    const gs_codec *codec = codec_of(d);
    bool keeps = codec != NULL && gs_coding_vectors(d->coding) > 0;
    return keeps && d->coding->config.ratio > 0.0 ? 1.0 / d->coding->config.ratio : 1.0;
}

static bool is_delayed_by_feedback(const gs_divergence *d)
{
    return has_risen(d) && feedback_wait(d) >= 2.0;
}

static void tell_feedback(const gs_divergence *d, char *out, size_t bytes)
{
    (void)snprintf(out, bytes,
                   "the loss of a rank rose from %.4g to %.4g and its gradients were finite: with "
                   "%s at ratio %.3g an element waits %.3g steps (mean) and comes all at once, "
                   "which takes a larger ratio, or a rate below optimizer.rate %g",
                   d->trail.before, d->trail.last, codec_name(d), d->coding->config.ratio,
                   feedback_wait(d), d->rate);
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

/* ---------------------------------------------------------------- suspects */

typedef struct suspects {
    char text[GS_DIVERGENCE_TEXT_BYTES];
    size_t used;
    uint32_t count;
} suspects;

static void add(suspects *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(suspects *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *comma = to->count > 0 ? ", " : "";
    to->used += (size_t)snprintf(to->text + to->used, sizeof to->text - to->used, "%s", comma);
    int more = vsnprintf(to->text + to->used, sizeof to->text - to->used, format, arguments);
    va_end(arguments);
    to->used = more >= 0 && to->used + (size_t)more < sizeof to->text ? to->used + (size_t)more
                                                                      : sizeof to->text - 1;
    to->count++;
}

static double value_of(const gs_field *field, const void *config)
{
    const char *at = (const char *)config + field->offset;
    double real;
    int64_t whole;
    if (field->kind == GS_FIELD_INT) {
        memcpy(&whole, at, sizeof whole);
        return (double)whole;
    }
    memcpy(&real, at, sizeof real);
    return real;
}

static bool is_weight(const gs_field *field)
{
    return field->kind == GS_FIELD_REAL || field->kind == GS_FIELD_RATIO;
}

/* Numbers of a table that are not at their defaults; of weights alone those above, which pull more
 * than usual. */
static void add_changed(suspects *to, const gs_field_table *table, const void *config, bool weights)
{
    void *usual = calloc(1, table->struct_bytes + 1);
    if (usual == NULL) {
        return; /* one suspect less */
    }
    gs_config_defaults(table, usual);
    for (size_t i = 0; i < table->field_count; i++) {
        const gs_field *field = &table->fields[i];
        char now[40], before[40];
        if (field->default_text == NULL || !(is_weight(field) || field->kind == GS_FIELD_INT)) {
            continue;
        }
        double value = value_of(field, config), at_first = value_of(field, usual);
        if (value > at_first || (!weights && value < at_first)) {
            if (!weights || is_weight(field)) {
                add(to, "%s.%s %s (default %s)", table->name, field->name,
                    gs_config_value_text(field, config, now, sizeof now),
                    gs_config_value_text(field, usual, before, sizeof before));
            }
        }
    }
    free(usual);
}

static suspects weights_of(const gs_divergence *d)
{
    suspects found = {.used = 0};
    if (d->strategy != NULL) {
        add_changed(&found, d->strategy->config, d->config, true);
    }
    return found;
}

/* What a plain run has not. */
static suspects suspects_of(const gs_divergence *d)
{
    suspects found = weights_of(d);
    const gs_codec *codec = codec_of(d);
    if (is_stale(d)) {
        add(&found, "gradients %.3g updates old (mean)", d->facts.staleness_mean);
    }
    if (codec != NULL) {
        uint32_t before = found.count;
        add_changed(&found, codec->config, &d->coding->config, false);
        if (found.count == before) {
            add(&found, "the codec %s", codec->name);
        }
    }
    return found;
}

static bool has_suspects(const gs_divergence *d)
{
    return suspects_of(d).count > 0;
}

static bool has_heavy_weights(const gs_divergence *d)
{
    return weights_of(d).count > 0;
}

static void tell_suspects(const gs_divergence *d, char *out, size_t bytes)
{
    suspects found = suspects_of(d);
    char seen[120] = "nothing that was measured shows the cause";
    if (has_risen(d)) {
        (void)snprintf(seen, sizeof seen,
                       "the loss of a rank rose from %.4g to %.4g and its gradients were finite",
                       d->trail.before, d->trail.last);
    }
    add(&found, "optimizer.rate %g", d->rate);
    (void)snprintf(out, bytes, "%s; suspects, likeliest first: %s", seen, found.text);
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
    {sum_overflows, tell_sum},
    {payload_overflows, tell_payload},
    {scaled_overflows, tell_scaled},
    {gradient_overflows, tell_gradient},
    {has_heavy_weights, tell_suspects},
    {is_stale, tell_stale},
    {is_undivided, tell_undivided},
    {is_lost, tell_lost},
    {may_be_lost, tell_may_be_lost},
    {is_delayed_by_feedback, tell_feedback},
    {has_suspects, tell_suspects},
    {has_risen, tell_rate},
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
