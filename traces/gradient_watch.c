#include "traces/gradient_watch.h"

#include "base/assert.h"
#include "traces/entity_memory.h"
#include "traces/gradient_look.h"
#include "traces/gradient_noise.h"

#include <math.h>
#include <string.h>

enum { SLOTS = 3 /* a step, the one before and the one after */ };

typedef struct passes {
    int64_t first, samples; /* of the rank before it */
    gs_plan plan;
} passes;

/* What is known of one step. */
typedef struct slot {
    int64_t step; /* -1: none yet */
    uint32_t came;
    bool equal;       /* all weights so far are those of the first */
    bool is_exact;    /* gradient is the exact mean at model */
    float *first;     /* [count]: weights of the rank that came first */
    double *model;    /* [count]: sum of the weights, their mean once all came */
    double weights;   /* how many models that is */
    double *gradient; /* [count]: sum of the gradients, their mean once all came */
    double gradients;
    double *units; /* [count]: sum of the gradients scaled to length 1 */
    uint32_t unit_count;
    double squares; /* sum of the squared lengths of the gradients */
    double apart;   /* sum of the squared distances of the weights from the first ones */
    passes *passes; /* [ranks] */
} slot;

struct gs_gradient_watch {
    gs_gradient_watch_config config;
    size_t count;
    slot slots[SLOTS];
    float *pinned, *scratch; /* [count]: weights to compute at, and what comes out */
    gs_gradient_look *look;  /* NULL: never */
    uint32_t cosine_name, error_name, noise_name, consensus_name;
    int64_t judged;
    double cosines, errors, lengths; /* sums over them */
    int64_t compared;                /* steps at which the gradients of the ranks were */
    double rank_cosines;             /* sum over them */
    gs_gradient_noise noise;         /* of them */
    gs_gradient_noise looked_noise;  /* of the steps that are looked at */
};

/* ---------------------------------------------------------------- creation */

static gs_status make_slot(const gs_gradient_watch *watch, gs_arena *arena, slot *out)
{
    *out = (slot){.step = -1};
    out->first = GS_TAKE(arena, float, watch->count);
    out->model = GS_TAKE(arena, double, watch->count);
    out->gradient = GS_TAKE(arena, double, watch->count);
    out->units = GS_TAKE(arena, double, watch->count);
    out->passes = GS_TAKE(arena, passes, watch->config.ranks);
    bool ok = out->first != NULL && out->model != NULL && out->gradient != NULL &&
              out->units != NULL && out->passes != NULL;
    return ok ? GS_OK : GS_ENOMEM;
}

gs_status gs_gradient_watch_create(const gs_gradient_watch_config *config, gs_arena *arena,
                                   gs_gradient_watch **out)
{
    GS_ASSERT(config->fidelity_every >= 1);
    GS_ASSERT(config->look_every >= 0);
    gs_gradient_watch *watch = GS_TAKE(arena, gs_gradient_watch, 1);
    if (watch == NULL) {
        return GS_ENOMEM;
    }
    *watch = (gs_gradient_watch){.config = *config, .count = gs_task_parameter_count(config->task)};
    watch->pinned = GS_TAKE(arena, float, watch->count);
    watch->scratch = GS_TAKE(arena, float, watch->count);
    if (watch->pinned == NULL || watch->scratch == NULL) {
        return GS_ENOMEM;
    }
    for (int i = 0; i < SLOTS; i++) {
        GS_TRY(make_slot(watch, arena, &watch->slots[i]));
    }
    GS_TRY(gs_series_find_name(config->series, "fidelity_cosine_ratio", &watch->cosine_name));
    GS_TRY(gs_series_find_name(config->series, "fidelity_error_ratio", &watch->error_name));
    if (config->look_every > 0) {
        GS_TRY(gs_gradient_look_create(gs_task_network(config->task), config->series, arena,
                                       &watch->look));
        GS_TRY(gs_series_find_name(config->series, "noise_scale_samples", &watch->noise_name));
        GS_TRY(gs_series_find_name(config->series, "consensus_distance", &watch->consensus_name));
    }
    *out = watch;
    return GS_OK;
}

/* ---------------------------------------------------------------- which steps */

/* Of the steps by which the whole run is judged. */
static bool is_sampled(const gs_gradient_watch *watch, int64_t step)
{
    int64_t every = watch->config.fidelity_every;
    return step >= 0 && step % every == step / every % every;
}

/* Only of a linear optimizer does the change of the weights tell what was applied, and only where
 * each step is one of the model that all share. */
static bool is_judged(const gs_gradient_watch *watch, int64_t step)
{
    return is_sampled(watch, step) && !watch->config.steps_apart &&
           gs_optimizer_is_linear(watch->config.optimizer);
}

static bool is_looked_at(const gs_gradient_watch *watch, int64_t step)
{
    return watch->look != NULL && step % watch->config.look_every == 0;
}

static bool has_momentum(const gs_gradient_watch *watch)
{
    return watch->config.optimizer->momentum > 0.0;
}

/* Rounded or scaled gradients are not the exact ones. */
static bool comes_exact(const gs_gradient_watch *watch)
{
    bool is_half = watch->config.number == GS_FP16 || watch->config.number == GS_BF16;
    double scale = watch->config.optimizer->loss_scale;
    return !is_half && !(scale < 1.0 || scale > 1.0);
}

static bool needs_gradient(const gs_gradient_watch *watch, int64_t step)
{
    return is_sampled(watch, step) || is_looked_at(watch, step);
}

static bool is_wanted(const gs_gradient_watch *watch, int64_t step)
{
    return needs_gradient(watch, step) || is_judged(watch, step - 1) ||
           (has_momentum(watch) && is_judged(watch, step + 1));
}

/* ---------------------------------------------------------------- gathering */

static void begin(const gs_gradient_watch *watch, slot *at, const gs_gradient_taken *taken)
{
    size_t bytes = watch->count * sizeof(double);
    at->step = taken->step;
    at->came = 0;
    at->equal = true;
    at->is_exact = false;
    at->weights = 0.0;
    at->apart = 0.0;
    memcpy(at->first, taken->at, watch->count * sizeof *at->first);
    memset(at->model, 0, bytes);
}

static void begin_gradient(const gs_gradient_watch *watch, slot *at)
{
    size_t bytes = watch->count * sizeof(double);
    memset(at->gradient, 0, bytes);
    at->gradients = 0.0;
    at->unit_count = 0;
    at->squares = 0.0;
    memset(at->units, 0, bytes);
}

static void add_model(const gs_gradient_watch *watch, slot *at, const gs_gradient_taken *taken)
{
    at->equal = at->equal && memcmp(at->first, taken->at, watch->count * sizeof *taken->at) == 0;
    at->weights += taken->weight;
    double square = 0.0;
    for (size_t i = 0; i < watch->count; i++) {
        double apart = (double)taken->at[i] - (double)at->first[i];
        at->model[i] += taken->weight * (double)taken->at[i];
        square += apart * apart;
    }
    at->apart += taken->weight * square;
}

/* Every sample of the step counts the same. */
static void add_gradient(const gs_gradient_watch *watch, slot *at, const float *gradient,
                         const gs_plan *plan)
{
    double square = 0.0;
    int64_t batch = watch->config.batch_per_rank;
    double weight = plan->micro_steps *
                    ((double)gs_sample_range_of(watch->config.task, batch, 0, 0, 0, plan).count /
                     (double)batch);
    at->gradients += weight;
    for (size_t i = 0; i < watch->count; i++) {
        double value = (double)gradient[i];
        at->gradient[i] += weight * value;
        square += value * value;
    }
    at->squares += weight * square;
    if (square > 0.0 && isfinite(square)) {
        double scale = 1.0 / sqrt(square);
        at->unit_count++;
        for (size_t i = 0; i < watch->count; i++) {
            at->units[i] += scale * (double)gradient[i];
        }
    }
}

/* The gradient of each rank at the pinned weights. false: a loss was not finite. */
static bool compute_again(gs_gradient_watch *watch, slot *at)
{
    const gs_gradient_watch_config *config = &watch->config;
    begin_gradient(watch, at);
    for (uint32_t rank = 0; rank < config->ranks; rank++) {
        const passes *of = &at->passes[rank];
        int64_t before = of->samples;
        uint32_t count = of->plan.dummy ? 0 : of->plan.micro_steps;
        for (uint32_t micro = 0; micro < count; micro++) {
            gs_sample_range samples = gs_sample_range_of(config->task, config->batch_per_rank, rank,
                                                         of->first + micro, before, &of->plan);
            before += samples.count;
            gs_task_request request = {.rank = rank,
                                       .first_sample = samples.first,
                                       .sample_count = samples.count,
                                       .accumulate = micro > 0};
            double loss;
            gs_error err;
            if (gs_task_gradient(config->workspace, &request, watch->pinned, watch->scratch, &loss,
                                 &err) != GS_OK) {
                return false;
            }
        }
        for (size_t i = 0; i < watch->count; i++) {
            watch->scratch[i] = count > 0 ? watch->scratch[i] / (float)count : 0.0F;
        }
        add_gradient(watch, at, watch->scratch, &of->plan);
    }
    return true;
}

static void make_mean(double *sum, size_t count, double divisor)
{
    for (size_t i = 0; i < count; i++) {
        sum[i] /= divisor;
    }
}

/* ---------------------------------------------------------------- judging */

/* Mean over pairs of the cosine between two ranks: the square of a sum of unit vectors is their
 * number and twice the sum over pairs. */
static double cosine_of_ranks(const gs_gradient_watch *watch, const slot *at)
{
    double ranks = watch->config.ranks;
    double square = 0.0;
    for (size_t i = 0; i < watch->count; i++) {
        square += at->units[i] * at->units[i];
    }
    return ranks > 1.0 ? (square - at->unit_count) / (ranks * (ranks - 1.0)) : (double)NAN;
}

/* Root mean square distance of the weights from their mean, which is known. */
static double consensus_of(const gs_gradient_watch *watch, const slot *at)
{
    double mean = 0.0;
    for (size_t i = 0; i < watch->count; i++) {
        double apart = at->model[i] - (double)at->first[i];
        mean += apart * apart;
    }
    double square = at->equal ? 0.0 : at->apart / at->weights - mean;
    return square > 0.0 ? sqrt(square) : square <= 0.0 ? 0.0 : (double)NAN;
}

static const slot *known(const gs_gradient_watch *watch, int64_t step)
{
    const slot *at = &watch->slots[step % SLOTS];
    return at->step == step && at->came == watch->config.ranks ? at : NULL;
}

static gs_status put(const gs_gradient_watch *watch, uint32_t name, gs_time_ns at_ns, double value)
{
    gs_series_point point = {name, GS_ALL_RANKS, at_ns, value};
    return gs_series_add(watch->config.series, &point);
}

/* The update after step `step`, which `next` shows, against the exact gradient of that step. */
static gs_status judge(gs_gradient_watch *watch, int64_t step, gs_time_ns at_ns)
{
    const gs_optimizer_config *optimizer = watch->config.optimizer;
    const slot *at = known(watch, step);
    const slot *next = known(watch, step + 1);
    const slot *before = has_momentum(watch) && step > 0 ? known(watch, step - 1) : NULL;
    bool lacks_before = has_momentum(watch) && step > 0 && before == NULL;
    if (at == NULL || next == NULL || lacks_before || !at->is_exact) {
        return GS_OK;
    }
    double exact = 0.0, applied = 0.0, product = 0.0, apart = 0.0;
    for (size_t i = 0; i < watch->count; i++) {
        double moved = next->model[i] - at->model[i];
        if (before != NULL) {
            moved -= optimizer->momentum * (at->model[i] - before->model[i]);
        }
        double h = -moved / optimizer->rate - optimizer->weight_decay * at->model[i];
        double g = at->gradient[i];
        exact += g * g;
        applied += h * h;
        product += g * h;
        apart += (h - g) * (h - g);
    }
    if (!(exact > 0.0) || !isfinite(apart)) {
        return GS_OK; /* nothing to be true to */
    }
    double cosine = applied > 0.0 ? product / sqrt(exact * applied) : 0.0;
    double error = sqrt(apart / exact);
    watch->judged++;
    watch->cosines += cosine;
    watch->errors += error;
    watch->lengths += sqrt(applied / exact);
    GS_TRY(put(watch, watch->cosine_name, at_ns, cosine));
    return put(watch, watch->error_name, at_ns, error);
}

/* The exact gradients of the ranks beside each other; their mean is known. */
static gs_status compare(gs_gradient_watch *watch, const slot *at, gs_time_ns at_ns)
{
    double mean_square = 0.0;
    double cosine = cosine_of_ranks(watch, at);
    double samples = at->gradients * (double)watch->config.batch_per_rank;
    bool looked_at = is_looked_at(watch, at->step);
    for (size_t i = 0; i < watch->count; i++) {
        mean_square += at->gradient[i] * at->gradient[i];
    }
    double rank_square = at->squares / at->gradients;
    if (isfinite(rank_square) && isfinite(mean_square) && watch->config.ranks > 1) {
        if (is_sampled(watch, at->step)) {
            watch->compared++;
            watch->rank_cosines += cosine;
            gs_gradient_noise_add(&watch->noise, watch->config.ranks, samples, rank_square,
                                  mean_square);
        }
        if (looked_at) {
            gs_gradient_noise_add(&watch->looked_noise, watch->config.ranks, samples, rank_square,
                                  mean_square);
            double scale = gs_gradient_noise_recent(&watch->looked_noise);
            if (isfinite(scale)) {
                GS_TRY(put(watch, watch->noise_name, at_ns, scale));
            }
        }
    }
    return looked_at ? gs_gradient_look_add(watch->look, at->gradient, cosine, at_ns) : GS_OK;
}

/* All ranks have come to this step. */
static gs_status complete(gs_gradient_watch *watch, slot *at, gs_time_ns at_ns)
{
    make_mean(at->model, watch->count, at->weights);
    if (needs_gradient(watch, at->step)) {
        at->is_exact = at->equal && comes_exact(watch);
        if (!at->is_exact) {
            for (size_t i = 0; i < watch->count; i++) {
                watch->pinned[i] = (float)at->model[i];
            }
            at->is_exact = compute_again(watch, at);
        }
        make_mean(at->gradient, watch->count, at->gradients);
    }
    if (needs_gradient(watch, at->step) && at->is_exact) {
        GS_TRY(compare(watch, at, at_ns));
    }
    if (is_looked_at(watch, at->step)) {
        GS_TRY(put(watch, watch->consensus_name, at_ns, consensus_of(watch, at)));
    }
    return is_judged(watch, at->step - 1) ? judge(watch, at->step - 1, at_ns) : GS_OK;
}

gs_status gs_gradient_watch_take(gs_gradient_watch *watch, const gs_gradient_taken *taken)
{
    GS_ASSERT(taken->rank < watch->config.ranks);
    GS_ASSERT(taken->plan->micro_steps > 0);
    slot *at = &watch->slots[taken->step % SLOTS];
    /* Where ranks run far apart, the first to come to a later step takes the place of one that
     * others have still to do. */
    if (!is_wanted(watch, taken->step) || at->step > taken->step) {
        return GS_OK;
    }
    if (at->step < taken->step) {
        begin(watch, at, taken);
        begin_gradient(watch, at);
    }
    at->passes[taken->rank] = (passes){taken->first_pass, taken->first_sample, *taken->plan};
    add_model(watch, at, taken);
    if (needs_gradient(watch, taken->step)) {
        add_gradient(watch, at, taken->gradient, taken->plan);
    }
    at->came++;
    return at->came == watch->config.ranks ? complete(watch, at, taken->at_ns) : GS_OK;
}

void gs_gradient_watch_facts(const gs_gradient_watch *watch, gs_run_facts *facts)
{
    facts->fidelity_steps = watch->judged;
    if (watch->judged > 0) {
        facts->fidelity_cosine = watch->cosines / (double)watch->judged;
        facts->fidelity_error = watch->errors / (double)watch->judged;
        facts->fidelity_length = watch->lengths / (double)watch->judged;
    }
    facts->compared_steps = watch->compared;
    if (watch->compared > 0) {
        facts->gradient_cosine = watch->rank_cosines / (double)watch->compared;
        facts->noise_scale_samples = gs_gradient_noise_scale(&watch->noise);
    }
}
