#include "traces/noise.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>

#include "base/assert.h"
#include "base/elementary.h"
#include "traces/normal_quantile.h"

static const double CV_MIN = 0.001; /* below, the equation for Weibull's shape drowns in rounding */
static const double CV_MAX = 10.0;
static const double SHIFT_TOLERANCE = 1e-9;
/* cv 0.032. From here on Wilson and Hilferty's quantile is off by less than 2e-5 standard
 * deviations up to 2 of them from the mean, by less than 1.1e-3 up to 5 (measured against GSL's
 * distribution). */
static const double GAMMA_SHAPE_MAX = 1000.0;
static const double NS_PER_HOUR = 3600e9;

/* The Weibull law of shape k has cv^2 = G(1 + 2/k) / G(1 + 1/k)^2 - 1, which falls in k. The bounds
 * have cv 430 and 1.3e-5: wider than what is allowed. */
static double weibull_shape(double cv)
{
    double wanted = log1p(cv * cv);
    double low = 0.1;
    double high = 1e5;
    for (int i = 0; i < 100; i++) {
        double middle = sqrt(low * high);
        double got = gsl_sf_lngamma(1.0 + 2.0 / middle) - 2.0 * gsl_sf_lngamma(1.0 + 1.0 / middle);
        if (got > wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return sqrt(low * high);
}

static gs_status init_shifted(gs_noise_sampler *out, const gs_noise_law *law, const char *place,
                              gs_error *err)
{
    if (!(law->cv >= 0.0 && law->cv <= 1.0)) {
        return gs_fail(err, GS_EINVAL,
                       "%s.cv: %g is not allowed for shifted_exponential; give 0..1", place,
                       law->cv);
    }
    if (!(law->shift >= 0.0 && law->shift <= 1.0)) {
        return gs_fail(err, GS_EINVAL, "%s.shift: %g is not allowed; give 0..1", place, law->shift);
    }
    double shift = law->cv == 0.0 ? law->shift : 1.0 - law->cv;
    if (law->shift != 0.0 && fabs(law->shift - shift) > SHIFT_TOLERANCE) {
        return gs_fail(err, GS_EINVAL,
                       "%s.shift: %g does not go with cv %g, as cv is 1 - shift; give one of them",
                       place, law->shift, law->cv);
    }
    *out = (gs_noise_sampler){.law = law->law, .location = shift, .scale = 1.0 - shift};
    return GS_OK;
}

static gs_status init_empirical(gs_noise_sampler *out, const gs_noise_law *law, const char *place,
                                gs_error *err)
{
    if (law->sample_count == 0) {
        return gs_fail(err, GS_EINVAL, "%s: an empirical law needs at least one sample", place);
    }
    for (uint32_t i = 0; i < law->sample_count; i++) {
        if (!(isfinite(law->samples[i]) && law->samples[i] >= 0.0)) {
            return gs_fail(err, GS_EINVAL,
                           "%s: sample %u is %g; samples have to be finite and not below 0", place,
                           i, law->samples[i]);
        }
    }
    *out = (gs_noise_sampler){
        .law = law->law, .samples = law->samples, .sample_count = law->sample_count};
    return GS_OK;
}

static gs_noise_sampler lognormal(double cv)
{
    double variance = log1p(cv * cv);
    return (gs_noise_sampler){
        .law = GS_LAW_LOGNORMAL, .location = -0.5 * variance, .scale = sqrt(variance)};
}

static gs_noise_sampler gamma_law(double cv)
{
    return (gs_noise_sampler){.law = GS_LAW_GAMMA, .shape = 1.0 / (cv * cv), .scale = cv * cv};
}

/* Mean a·m/(a-1) = 1 and cv^2 = 1/(a(a-2)). */
static gs_noise_sampler pareto(double cv)
{
    double exponent = 1.0 + sqrt(1.0 + 1.0 / (cv * cv));
    return (gs_noise_sampler){
        .law = GS_LAW_PARETO, .location = (exponent - 1.0) / exponent, .shape = 1.0 / exponent};
}

static gs_noise_sampler weibull(double cv)
{
    double shape = weibull_shape(cv);
    return (gs_noise_sampler){.law = GS_LAW_WEIBULL,
                              .shape = 1.0 / shape,
                              .scale = 1.0 / gsl_sf_gamma(1.0 + 1.0 / shape)};
}

gs_status gs_noise_sampler_init(gs_noise_sampler *out, const gs_noise_law *law, const char *place,
                                gs_error *err)
{
    if (law->law == GS_LAW_SHIFTED_EXPONENTIAL) {
        return init_shifted(out, law, place, err);
    }
    if (law->law == GS_LAW_EMPIRICAL) {
        return init_empirical(out, law, place, err);
    }
    if (law->law == GS_LAW_NONE || law->cv == 0.0) {
        *out = (gs_noise_sampler){.law = GS_LAW_NONE};
        return GS_OK;
    }
    if (!(law->cv >= CV_MIN && law->cv <= CV_MAX)) {
        return gs_fail(err, GS_EINVAL, "%s.cv: %g is not allowed; give 0 (no noise) or %g..%g",
                       place, law->cv, CV_MIN, CV_MAX);
    }
    switch (law->law) {
    case GS_LAW_LOGNORMAL:
        *out = lognormal(law->cv);
        return GS_OK;
    case GS_LAW_GAMMA:
        *out = gamma_law(law->cv);
        return GS_OK;
    case GS_LAW_PARETO:
        *out = pareto(law->cv);
        return GS_OK;
    case GS_LAW_WEIBULL:
        *out = weibull(law->cv);
        return GS_OK;
    default:
        return gs_fail(err, GS_EINVAL, "%s.law: %d is not a law", place, law->law);
    }
}

/* Where the search for a gamma quantile starts: Wilson and Hilferty's cube root, or the first term
 * of the series at 0, which is never above the quantile and near it where the cube root fails. */
static double gamma_start(double shape, double uniform)
{
    double ninth = 1.0 / (9.0 * shape);
    double root = 1.0 - ninth + gs_normal_quantile(uniform) * sqrt(ninth);
    double cube = root > 0.0 ? shape * root * root * root : 0.0;
    return fmax(cube, exp((log(uniform) + gsl_sf_lngamma(shape + 1.0)) / shape));
}

/* Newton's steps on the distribution, in a bracket that every step narrows. gsl_cdf_gamma_Pinv is
 * no use here: GSL 2.7 fails to converge, and aborts, for cv below 0.03 and above 2.6. */
static double gamma_quantile(double shape, double uniform)
{
    double low = 0.0;
    double high = HUGE_VAL;
    double x = gamma_start(shape, uniform);
    if (shape > GAMMA_SHAPE_MAX) {
        return x;
    }
    for (int i = 0; i < 200 && x > DBL_MIN; i++) {
        /* The smaller tail keeps its digits. */
        double miss = uniform < 0.5 ? gsl_cdf_gamma_P(x, shape, 1.0) - uniform
                                    : (1.0 - uniform) - gsl_cdf_gamma_Q(x, shape, 1.0);
        if (miss > 0.0) {
            high = x;
        } else {
            low = x;
        }
        double newton = x - miss / gsl_ran_gamma_pdf(x, shape, 1.0);
        if (fabs(newton - x) <= 1e-14 * x) {
            return x;
        }
        double next = newton;
        double bound = fmin(high, 2.0 * x + 1.0);
        if (!(newton > low && newton < bound)) {
            next = high < HUGE_VAL ? 0.5 * (low + high) : bound;
        }
        x = next;
    }
    return x;
}

/* A lognormal factor of a standard normal number. */
GS_WIDE_BODY double lognormal_of(const gs_noise_sampler *sampler, double normal)
{
    return gs_exp(sampler->location + sampler->scale * normal);
}

double gs_noise_quantile(const gs_noise_sampler *sampler, double uniform)
{
    GS_ASSERT(uniform > 0.0 && uniform < 1.0);
    switch (sampler->law) {
    case GS_LAW_LOGNORMAL:
        return lognormal_of(sampler, gs_normal_quantile(uniform));
    case GS_LAW_GAMMA:
        return sampler->scale * gamma_quantile(sampler->shape, uniform);
    case GS_LAW_SHIFTED_EXPONENTIAL:
        return sampler->location + sampler->scale * gs_minus_log1m(uniform);
    case GS_LAW_PARETO:
        return sampler->location * gs_exp(sampler->shape * gs_minus_log1m(uniform));
    case GS_LAW_WEIBULL:
        return sampler->scale * gs_exp(sampler->shape * gs_log(gs_minus_log1m(uniform)));
    case GS_LAW_EMPIRICAL:
        return sampler->samples[(uint32_t)(uniform * sampler->sample_count)];
    default:
        return 1.0;
    }
}

double gs_noise_draw(const gs_noise_sampler *sampler, gs_rng_key key, uint64_t step, uint32_t index)
{
    if (sampler->law == GS_LAW_NONE) {
        return 1.0;
    }
    return gs_noise_quantile(sampler, gs_rng_uniform(key, step, index));
}

GS_WIDE_BODY void all_lognormal_body(const gs_noise_sampler *sampler, uint32_t count,
                                     double *normals)
{
    for (uint32_t i = 0; i < count; i++) {
        normals[i] = lognormal_of(sampler, normals[i]);
    }
}

GS_WIDE static void all_lognormal_wide(const gs_noise_sampler *sampler, uint32_t count,
                                       double *normals)
{
    all_lognormal_body(sampler, count, normals);
}

/* So many at a time, on the stack. */
enum { DRAWN_MAX = 128 };

void gs_noise_draw_many(const gs_noise_sampler *sampler, const gs_rng_many *draws, uint32_t count,
                        double *out)
{
    gs_rng_many of = *draws;
    double uniforms[DRAWN_MAX];
    for (uint32_t done = 0; done < count; done += DRAWN_MAX) {
        uint32_t some = count - done < DRAWN_MAX ? count - done : DRAWN_MAX;
        gs_rng_uniforms(&of, some, uniforms);
        of.entities += some;
        of.steps += some;
        if (sampler->law != GS_LAW_LOGNORMAL) {
            for (uint32_t i = 0; i < some; i++) {
                out[done + i] = gs_noise_quantile(sampler, uniforms[i]);
            }
            continue;
        }
        gs_normal_quantiles(uniforms, some, out + done);
        if (GS_IS_WIDE) {
            all_lognormal_wide(sampler, some, out + done);
        } else {
            all_lognormal_body(sampler, some, out + done);
        }
    }
}

/* A rank's last draw: a step asks once a segment. */
typedef struct rank_draw {
    uint64_t steps; /* the step of the draw + 1; 0: none yet */
    double factor;
} rank_draw;

/* A rank's place in its straggler's story. */
typedef struct rank_story {
    gs_time_ns at_ns; /* nothing before it will be asked */
    bool is_slow;
    gs_time_ns until_ns; /* markov: end of the present interval */
    uint64_t interval;   /* markov: its number */
    double heat;         /* throttle: at at_ns */
} rank_story;

struct gs_compute_noise {
    gs_noise_sampler sampler;
    gs_straggler straggler;
    uint64_t seed;
    uint32_t rank_count;
    rank_draw *draws;    /* [rank_count] */
    rank_story *stories; /* [rank_count]; NULL: what stragglers do depends on no past */
};

/* Markov draws of a rank: one step an interval; index 0 is its length, index 1 of interval 0 the
 * state at time 0. */
static double story_uniform(const gs_compute_noise *noise, uint32_t rank, uint64_t interval,
                            uint32_t index)
{
    gs_rng_key key = {.seed = noise->seed, .purpose = GS_RNG_STRAGGLER, .entity = rank};
    return gs_rng_uniform(key, interval, index);
}

static gs_time_ns interval_length(const gs_compute_noise *noise, uint32_t rank,
                                  const rank_story *story)
{
    const gs_straggler *straggler = &noise->straggler;
    gs_time_ns mean_ns = story->is_slow ? straggler->mean_down_ns : straggler->mean_up_ns;
    double length = -log1p(-story_uniform(noise, rank, story->interval, 0)) * (double)mean_ns;
    /* The longest draw is 37 means. */
    return length < 0x1p62 ? (gs_time_ns)ceil(length) : INT64_C(1) << 62;
}

static bool has_stories(const gs_straggler *straggler)
{
    return straggler->kind == GS_STRAGGLER_MARKOV || straggler->kind == GS_STRAGGLER_THROTTLE;
}

static void start_story(const gs_compute_noise *noise, uint32_t rank)
{
    rank_story *story = &noise->stories[rank];
    if (noise->straggler.kind == GS_STRAGGLER_MARKOV) {
        double up = (double)noise->straggler.mean_up_ns;
        double down = (double)noise->straggler.mean_down_ns;
        story->is_slow = story_uniform(noise, rank, 0, 1) * (up + down) < down;
        story->until_ns = interval_length(noise, rank, story);
    }
}

static gs_status check_throttle(const gs_straggler *straggler, gs_error *err)
{
    if (straggler->heat_ns <= 0 || straggler->cool_ns <= 0) {
        return gs_fail(err, GS_EINVAL,
                       "noise.straggler: heat and cool times are %" PRId64 " and %" PRId64
                       " ns; both have to be above 0",
                       straggler->heat_ns, straggler->cool_ns);
    }
    if (!(straggler->cool >= 0.0 && straggler->cool < straggler->hot && straggler->hot <= 1.0)) {
        return gs_fail(err, GS_EINVAL,
                       "noise.straggler: levels hot %g and cool %g are not allowed; "
                       "give 0 <= cool < hot <= 1",
                       straggler->hot, straggler->cool);
    }
    return GS_OK;
}

static gs_status check_straggler(const gs_straggler *straggler, uint32_t rank_count, gs_error *err)
{
    if (straggler->kind == GS_STRAGGLER_NONE) {
        return GS_OK;
    }
    if (straggler->rank < -1 || straggler->rank >= (int64_t)rank_count) {
        return gs_fail(err, GS_EINVAL,
                       "noise.straggler.rank: %" PRId64 " is not there; give -1 (all) or 0..%u",
                       straggler->rank, rank_count - 1);
    }
    if (!(straggler->factor > 0.0 && isfinite(straggler->factor))) {
        return gs_fail(err, GS_EINVAL, "noise.straggler.factor: %g is not allowed; give above 0",
                       straggler->factor);
    }
    switch (straggler->kind) {
    case GS_STRAGGLER_PERSISTENT:
        return GS_OK;
    case GS_STRAGGLER_DRIFT:
        if (!(straggler->drift_per_hour >= 0.0 && isfinite(straggler->drift_per_hour))) {
            return gs_fail(err, GS_EINVAL,
                           "noise.straggler.drift_per_hour: %g is not allowed; give 0 or above",
                           straggler->drift_per_hour);
        }
        return GS_OK;
    case GS_STRAGGLER_MARKOV:
        if (straggler->mean_up_ns <= 0 || straggler->mean_down_ns <= 0) {
            return gs_fail(err, GS_EINVAL,
                           "noise.straggler: mean times up and down are %" PRId64 " and %" PRId64
                           " ns; both have to be above 0",
                           straggler->mean_up_ns, straggler->mean_down_ns);
        }
        return GS_OK;
    case GS_STRAGGLER_THROTTLE:
        return check_throttle(straggler, err);
    default:
        return gs_fail(err, GS_EINVAL, "noise.straggler.kind: %d is not a kind", straggler->kind);
    }
}

gs_status gs_compute_noise_create(const gs_noise *noise, uint64_t seed, uint32_t rank_count,
                                  gs_arena *arena, gs_compute_noise **out, gs_error *err)
{
    GS_ASSERT(rank_count > 0);
    gs_noise_sampler sampler;
    GS_TRY(gs_noise_sampler_init(&sampler, &noise->compute, "noise.compute", err));
    GS_TRY(check_straggler(&noise->straggler, rank_count, err));
    gs_compute_noise *made = GS_TAKE(arena, gs_compute_noise, 1);
    rank_draw *draws = GS_TAKE(arena, rank_draw, rank_count);
    bool remembers = has_stories(&noise->straggler);
    rank_story *stories = remembers ? GS_TAKE(arena, rank_story, rank_count) : NULL;
    if (made == NULL || draws == NULL || (remembers && stories == NULL)) {
        return gs_fail(err, GS_ENOMEM, "no memory for the noise of %u ranks", rank_count);
    }
    *made = (gs_compute_noise){.sampler = sampler,
                               .straggler = noise->straggler,
                               .seed = seed,
                               .rank_count = rank_count,
                               .draws = draws,
                               .stories = stories};
    for (uint32_t rank = 0; remembers && rank < rank_count; rank++) {
        start_story(made, rank);
    }
    *out = made;
    return GS_OK;
}

/* Heat after a time of computing or idling; the state follows at its end, as heat only rises, or
 * only falls, in between. */
static void pass_heat(const gs_straggler *straggler, rank_story *story, gs_time_ns to_ns,
                      bool computing)
{
    double passed = (double)(to_ns - story->at_ns);
    if (computing) {
        story->heat = 1.0 - (1.0 - story->heat) * exp(-passed / (double)straggler->heat_ns);
        story->is_slow = story->is_slow || story->heat >= straggler->hot;
    } else {
        story->heat *= exp(-passed / (double)straggler->cool_ns);
        story->is_slow = story->is_slow && story->heat > straggler->cool;
    }
    story->at_ns = to_ns;
}

static bool concerns(const gs_straggler *straggler, uint32_t rank)
{
    return straggler->rank == -1 || straggler->rank == (int64_t)rank;
}

static double straggler_factor(const gs_compute_noise *noise, uint32_t rank, gs_time_ns at_ns)
{
    const gs_straggler *straggler = &noise->straggler;
    if (straggler->kind == GS_STRAGGLER_PERSISTENT) {
        return straggler->factor;
    }
    if (straggler->kind == GS_STRAGGLER_DRIFT) {
        return straggler->factor + straggler->drift_per_hour * ((double)at_ns / NS_PER_HOUR);
    }
    if (!has_stories(straggler)) {
        return 1.0;
    }
    rank_story *story = &noise->stories[rank];
    GS_ASSERT(at_ns >= story->at_ns);
    if (straggler->kind == GS_STRAGGLER_MARKOV) {
        while (story->until_ns <= at_ns) {
            story->interval++;
            story->is_slow = !story->is_slow;
            story->until_ns += interval_length(noise, rank, story);
        }
    } else {
        pass_heat(straggler, story, at_ns, false);
    }
    story->at_ns = at_ns;
    return story->is_slow ? straggler->factor : 1.0;
}

double gs_compute_noise_factor(gs_compute_noise *noise, uint32_t rank, uint64_t step,
                               gs_time_ns at_ns)
{
    GS_ASSERT(rank < noise->rank_count);
    rank_draw *draw = &noise->draws[rank];
    if (draw->steps != step + 1) {
        gs_rng_key key = {.seed = noise->seed, .purpose = GS_RNG_COMPUTE_NOISE, .entity = rank};
        draw->factor = gs_noise_draw(&noise->sampler, key, step, 0);
        draw->steps = step + 1;
    }
    return concerns(&noise->straggler, rank) ? draw->factor * straggler_factor(noise, rank, at_ns)
                                             : draw->factor;
}

void gs_compute_noise_busy(gs_compute_noise *noise, uint32_t rank, gs_time_ns from_ns,
                           gs_time_ns to_ns)
{
    GS_ASSERT(rank < noise->rank_count);
    GS_ASSERT(from_ns <= to_ns);
    if (noise->straggler.kind == GS_STRAGGLER_THROTTLE && concerns(&noise->straggler, rank)) {
        rank_story *story = &noise->stories[rank];
        GS_ASSERT(from_ns >= story->at_ns);
        pass_heat(&noise->straggler, story, from_ns, false);
        pass_heat(&noise->straggler, story, to_ns, true);
    }
}
