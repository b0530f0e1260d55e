/* From the signals of a rank to the values that all agree on, and whether those can be true. */
#include "strategies/controller/hook_state.h"

#include <math.h>

/* Of the square of the gradient's norm, at each step: a mean over about eight. */
static const double smooth = 0.125;

/* Which signals are numbers on a rank, as digits of one sum, which is exact: each is 0 or the
 * number of ranks, or ranks differ. */
enum { DIGIT = 65536 };
enum { SUM_SPREAD, SUM_CHANGE, SUM_FALL, SUM_STEP, SUM_SYNC, SUM_KNOWN };
enum { MAX_STEP, MAX_ACTIVITY, MAX_PHASE, MAX_RESIDUAL, MAX_SLOWEST };

/* Mean squares are no less than the square of the mean, but for rounding. */
static const double tolerance = 1e-6;

static bool is_number(double value)
{
    return value - value == 0.0;
}

/* Not known is no fault, infinity is; else a square, a time or a loss of 0 or more. */
static bool take(gs_hook_local *local, double value)
{
    if (is_number(value) && value >= 0.0) {
        return true;
    }
    local->is_broken = local->is_broken || value == value;
    return false;
}

static void hear_gradient(gs_hook_local *local, double square)
{
    if (!take(local, square)) {
        return;
    }
    local->gradients += 1.0;
    local->gradient_sq = local->gradient_sq > 0.0
                             ? local->gradient_sq + smooth * (square - local->gradient_sq)
                             : square;
    if (local->gradient_sq > local->gradient_sq_peak) {
        local->gradient_sq_peak = local->gradient_sq;
    }
}

/* A rank's square over that of the mean: of gradients in a step that has both, and of drifts in the
 * first step after an average. */
static void hear_spread(gradsync_hook *hook, const gradsync_hook_signals *signals)
{
    gs_hook_local *local = &hook->local;
    bool is_drift = local->averaged_steps > 0.0;
    double own = is_drift ? local->averaged_drift_sq : signals->gradient_sq;
    double mean = is_drift ? signals->mean_drift_sq : signals->mean_gradient_sq;
    if (!take(local, mean) || !take(local, own) || mean == 0.0) {
        return;
    }
    local->spread = own / mean;
    if (is_drift) {
        local->pace_sq = mean / (local->averaged_steps * local->averaged_steps);
        local->averaged_steps = 0.0;
    }
}

void gs_hook_hear(gradsync_hook *hook, const gradsync_hook_signals *signals)
{
    gs_hook_local *local = &hook->local;
    local->loss += signals->loss;
    local->losses += 1.0;
    local->is_broken =
        local->is_broken || (signals->loss == signals->loss && !is_number(signals->loss));
    hear_gradient(local, signals->gradient_sq);
    hear_spread(hook, signals);
    local->drift_sq = signals->drift_sq;
    local->phase = signals->phase;
    if (take(local, signals->residual_sq) && signals->gradient_sq > 0.0) {
        local->residual = sqrt(signals->residual_sq / signals->gradient_sq);
    }
    if (take(local, signals->step_s)) {
        local->step_s += signals->step_s;
        local->steps += 1.0;
    }
    if (take(local, signals->sync_s)) {
        local->sync_s += signals->sync_s;
        local->syncs += 1.0;
    }
}

/* ---------------------------------------------------------------- this rank's share */

static double mean_of(double sum, double count)
{
    return count > 0.0 ? sum / count : 0.0;
}

/* Where ranks have just averaged: how far they were apart. Under way: how far this rank is over how
 * far it was foretold to be. NAN: not known. */
static double tell_spread(const gradsync_hook *hook)
{
    const gs_hook_local *local = &hook->local;
    double steps = (double)hook->agreed.since;
    if (hook->agreed.has_rank_spread) {
        return local->spread;
    }
    if (!hook->agreed.has_pace || !is_number(local->drift_sq) || local->drift_sq < 0.0 ||
        local->pace_sq == 0.0 || steps == 0.0) {
        return (double)NAN;
    }
    double foretold =
        local->pace_sq * steps * steps * (1.0 + gs_hook_spread_at(&hook->agreed.spread, steps));
    return local->drift_sq / foretold;
}

/* By its own size in a step, of the norm: half of that of its square. */
static double gradient_change(const gs_hook_local *local, double steps)
{
    if (local->gradient_sq_before == 0.0 || local->gradient_sq == 0.0) {
        return 0.0;
    }
    double larger = local->gradient_sq > local->gradient_sq_before ? local->gradient_sq
                                                                   : local->gradient_sq_before;
    return fabs(local->gradient_sq - local->gradient_sq_before) / (2.0 * larger * steps);
}

void gs_hook_tell(gradsync_hook *hook, gradsync_hook_values *out)
{
    gs_hook_local *local = &hook->local;
    double steps = (double)(hook->agreed.steps - hook->agreed.looked);
    double loss = mean_of(local->loss, local->losses);
    bool has_loss = local->losses > 0.0 && is_number(loss);
    bool falls = has_loss && local->loss_before > 0.0;
    double spread = tell_spread(hook);
    bool has_spread = is_number(spread);
    *out = (gradsync_hook_values){
        .sums = {[SUM_SPREAD] = has_spread ? spread : 0.0,
                 [SUM_CHANGE] = gradient_change(local, steps),
                 [SUM_FALL] =
                     falls ? (local->loss_before - loss) / (local->loss_before * steps) : 0.0,
                 [SUM_STEP] = mean_of(local->step_s, local->steps),
                 [SUM_SYNC] = mean_of(local->sync_s, local->syncs),
                 [SUM_KNOWN] = (has_loss ? 1.0 : 0.0) + (local->gradients > 0.0 ? DIGIT : 0.0) +
                               (has_spread ? (double)DIGIT * DIGIT : 0.0)},
        .maxima = {[MAX_STEP] = mean_of(local->step_s, local->steps),
                   [MAX_ACTIVITY] = local->gradients > 0.0 && local->gradient_sq_peak > 0.0
                                        ? local->gradient_sq / local->gradient_sq_peak
                                        : 0.0,
                   [MAX_PHASE] = local->phase,
                   [MAX_RESIDUAL] = local->residual,
                   [MAX_SLOWEST] = local->was_slowest ? hook->config.rank + 1.0 : 0.0}};
    if (local->is_broken) {
        out->sums[SUM_KNOWN] = (double)NAN;
    }
    local->told_step_s = out->maxima[MAX_STEP];
    local->loss_before = has_loss ? loss : 0.0;
    local->gradient_sq_before = local->gradient_sq;
    local->loss = local->losses = local->gradients = 0.0;
    local->step_s = local->steps = local->sync_s = local->syncs = 0.0;
    local->spread = (double)NAN;
    local->is_broken = false;
}

/* ---------------------------------------------------------------- what all have agreed on */

/* 0 of all ranks, or all of them; false: some. */
static bool take_digit(double *known, double place, double ranks, bool *out)
{
    double count = floor(*known / place);
    *known -= count * place;
    *out = count == ranks;
    return count == ranks || count == 0.0;
}

static bool is_possible(const gradsync_hook *hook, const gradsync_hook_values *agreed,
                        const gs_hook_known *known)
{
    double ranks = hook->config.ranks;
    const double *sums = agreed->sums;
    const double *maxima = agreed->maxima;
    for (int i = 0; i < GRADSYNC_HOOK_MAXIMA; i++) {
        if (!is_number(maxima[i]) || maxima[i] < 0.0) {
            return false;
        }
    }
    bool is_apart = !known->spread || !hook->agreed.has_rank_spread ||
                    sums[SUM_SPREAD] >= ranks * (1.0 - tolerance);
    double mean_step_s = sums[SUM_STEP] / ranks;
    return is_apart && sums[SUM_SPREAD] >= 0.0 && sums[SUM_CHANGE] >= 0.0 &&
           sums[SUM_STEP] >= 0.0 && sums[SUM_SYNC] >= 0.0 &&
           maxima[MAX_STEP] >= mean_step_s * (1.0 - tolerance) &&
           maxima[MAX_STEP] <= sums[SUM_STEP] * (1.0 + tolerance) && maxima[MAX_ACTIVITY] <= 1.0 &&
           maxima[MAX_PHASE] < GRADSYNC_HOOK_PHASES && maxima[MAX_SLOWEST] <= ranks;
}

int32_t gs_hook_read(const gradsync_hook *hook, const gradsync_hook_values *agreed,
                     gs_hook_seen *out)
{
    double ranks = hook->config.ranks;
    double known = agreed->sums[SUM_KNOWN];
    gs_hook_known what;
    for (int i = 0; i < GRADSYNC_HOOK_SUMS; i++) {
        if (!is_number(agreed->sums[i])) {
            return GRADSYNC_HOOK_NOT_A_NUMBER;
        }
    }
    if (known < 0.0 || !take_digit(&known, (double)DIGIT * DIGIT, ranks, &what.spread) ||
        !take_digit(&known, DIGIT, ranks, &what.gradient) ||
        !take_digit(&known, 1.0, ranks, &what.loss)) {
        return GRADSYNC_HOOK_NOT_A_NUMBER;
    }
    if (!is_possible(hook, agreed, &what)) {
        return GRADSYNC_HOOK_IMPOSSIBLE;
    }
    double fall = agreed->sums[SUM_FALL] / ranks;
    double change = agreed->sums[SUM_CHANGE] / ranks;
    *out = (gs_hook_seen){
        .known = what,
        .spread = agreed->sums[SUM_SPREAD] / ranks,
        .change = fall > change ? fall : change,
        .step_s = agreed->sums[SUM_STEP] / ranks,
        .slowest_s = agreed->maxima[MAX_STEP],
        .sync_s = agreed->sums[SUM_SYNC] / ranks,
        .activity = agreed->maxima[MAX_ACTIVITY],
        .residual = agreed->maxima[MAX_RESIDUAL],
        .phase = (int32_t)agreed->maxima[MAX_PHASE],
        .slowest_rank = (int64_t)agreed->maxima[MAX_SLOWEST] - 1,
    };
    return GRADSYNC_HOOK_REASONS;
}
