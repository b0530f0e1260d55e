#include "tools/recommend/findings.h"

#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/recommend/rates.h"
#include "tools/scenario_load.h"
#include "tools/sim_report.h"
#include "tools/simpler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- texts ------------------------------------------------------------------------------------ */

char *gs_findings_value(const gs_recommend *all, double value, char out[GS_UNIT_TEXT_BYTES])
{
    if (!isfinite(value)) {
        snprintf(out, GS_UNIT_TEXT_BYTES, "-");
        return out;
    }
    switch (all->objective) {
    case GS_OBJECTIVE_TIME:
        return gs_format_duration((gs_time_ns)llround(value), out);
    case GS_OBJECTIVE_COST:
        snprintf(out, GS_UNIT_TEXT_BYTES, value < 0.1 ? "$%.3g" : "$%.2f", value);
        break;
    case GS_OBJECTIVE_ENERGY:
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.3g Wh", value);
        break;
    case GS_OBJECTIVE_SAMPLES:
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.0f", value);
        break;
    }
    return out;
}

char *gs_findings_title(const gs_recommend *all)
{
    const char *what = gs_objective_names[all->objective];
    const char *quality = gs_quality_words(all->scenario->workload.quality);
    return all->learns ? gs_text("%s to %s %g", what, quality, all->target)
                       : gs_text("%s per sample", what);
}

static double rate_at(const gs_arm *arm, uint32_t rate)
{
    return arm->scenario->workload.task.optimizer.rate * arm->rates[rate].factor;
}

double gs_findings_rate(const gs_arm *arm)
{
    return rate_at(arm, arm->rate);
}

/* Of those that were tried. */
static double least_rate(const gs_arm *arm)
{
    double least = rate_at(arm, 0);
    for (uint32_t k = 0; k < GS_RATES; k++) {
        double own = rate_at(arm, k);
        least = arm->rates[k].seeds > 0 && own < least ? own : least;
    }
    return least;
}

static const char *const axis_names[GS_FLIP_AXES] = {"bandwidth", "compute jitter", "rank count"};

static char *axis_value(gs_flip_axis axis, double value, char out[GS_UNIT_TEXT_BYTES])
{
    switch (axis) {
    case GS_FLIP_BANDWIDTH:
        return gs_format_rate(llround(value), out);
    case GS_FLIP_JITTER:
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.3g %%", 100.0 * value);
        break;
    case GS_FLIP_RANKS:
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.0f ranks", value);
        break;
    case GS_FLIP_AXES:
        break;
    }
    return out;
}

/* "; 95 % CI 18 Gbit/s to 27 Gbit/s", "; 95 % CI 18 Gbit/s and up", from "today" where it is not
 * sure even there; nothing where other seeds do not move it. Owner: caller. */
static char *flip_interval_text(const gs_recommend *all, const gs_flip *flip)
{
    char first[GS_UNIT_TEXT_BYTES];
    char last[GS_UNIT_TEXT_BYTES];
    double level = 100.0 * (1.0 - all->scenario->alpha);
    bool is_today = fabs(flip->first - flip->today) < 1e-9 * fabs(flip->today) + 1e-12;
    if (isnan(flip->first) || fabs(flip->last - flip->first) < 1e-9 * flip->last) {
        return gs_text("%s", "");
    }
    axis_value(flip->axis, flip->first, first);
    if (isnan(flip->last)) {
        return gs_text("; %g %% CI %s and %s", level, is_today ? "today" : first,
                       flip->is_up ? "up" : "down");
    }
    return gs_text("; %g %% CI %s to %s", level, is_today ? "today" : first,
                   axis_value(flip->axis, flip->last, last));
}

char *gs_findings_flip_text(const gs_recommend *all, const gs_flip *flip)
{
    char today[GS_UNIT_TEXT_BYTES];
    char at[GS_UNIT_TEXT_BYTES];
    char *interval = flip_interval_text(all, flip);
    char *text;
    axis_value(flip->axis, flip->today, today);
    axis_value(flip->axis, flip->to == NULL ? flip->holds_to : flip->flips_at, at);
    if (flip->to != NULL) {
        text = gs_text("%s %s %s: %s (today %s%s%s)", axis_names[flip->axis],
                       flip->is_up ? "from" : "down to", at, flip->to->label, today, interval,
                       flip->is_assumed ? "; assumed: as many samples as measured or as exact "
                                          "updates need"
                                        : "");
    } else if (flip->tied != NULL) {
        text = gs_text("%s: tied with %s throughout, %s to %s at least: no flip (today %s)",
                       axis_names[flip->axis], flip->tied->label, flip->is_up ? "up" : "down", at,
                       today);
    } else {
        char surely[GS_UNIT_TEXT_BYTES];
        axis_value(flip->axis, isnan(flip->first) ? flip->holds_to : flip->first, surely);
        text = gs_text("%s: holds %s to %s at least (today %s%s%s%s)", axis_names[flip->axis],
                       flip->is_up ? "up" : "down", at, today,
                       isnan(flip->first) ? "" : "; not surely from ",
                       isnan(flip->first) ? "" : surely, isnan(flip->first) ? "" : " on");
    }
    free(interval);
    return text;
}

/* --- the answer ------------------------------------------------------------------------------- */

static const gs_arm *plain_of(const gs_recommend *all)
{
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (gs_arm_is_plain(&all->arms[i]) && all->arms[i].outcomes != NULL) {
            return &all->arms[i];
        }
    }
    return NULL;
}

/* "95 % CI 1.30 to 1.41, 10 seeds". Owner: caller. */
static char *sure_text(const gs_recommend *all, const gs_paired_ratio *ratio)
{
    char low[GS_UNIT_TEXT_BYTES];
    char high[GS_UNIT_TEXT_BYTES];
    if (ratio->pairs < 2) {
        return gs_text("%u seed%s: no interval", ratio->pairs, ratio->pairs == 1 ? "" : "s");
    }
    gs_sim_interval_text(ratio->low, ratio->high, low, high);
    return gs_text("%g %% CI %s to %s, %u seeds", 100.0 * (1.0 - all->scenario->alpha), low, high,
                   ratio->pairs);
}

/* "; allreduce takes 3.1x the time (...)" where the winner is another one. Owner: caller. */
static char *against_plain_text(const gs_recommend *all, const gs_arm *winner)
{
    const gs_arm *plain = plain_of(all);
    if (plain == NULL || plain == winner || gs_confirmed_reached(all, plain) == 0) {
        return plain == NULL || plain == winner
                   ? gs_text("%s", "")
                   : gs_text("; allreduce never reaches it within the budget");
    }
    gs_paired_ratio ratio = gs_confirmed_ratio(all, plain, winner);
    if (ratio.pairs == 0) {
        return gs_text("%s", "");
    }
    char value[GS_UNIT_TEXT_BYTES];
    char *sure = sure_text(all, &ratio);
    char *text = gs_text("; allreduce takes %sx the %s (%s)", gs_sim_ratio_text(ratio.value, value),
                         gs_objective_names[all->objective], sure);
    free(sure);
    return text;
}

/* " local_sgd:period=16 ties with it (...): allreduce is the simpler one." Owner: caller. */
static char *ties_text(const gs_recommend *all, const gs_verdict *verdict)
{
    char *text = gs_text("%s", "");
    const gs_arm *winner = verdict->winner;
    for (uint32_t i = 0; i <= verdict->tie_count; i++) {
        const gs_arm *other = i == 0 ? verdict->leader : verdict->ties[i - 1];
        if (other == winner) {
            continue;
        }
        gs_paired_ratio ratio = gs_confirmed_ratio(all, other, winner);
        char value[GS_UNIT_TEXT_BYTES];
        char *sure = sure_text(all, &ratio);
        char *longer =
            gs_text("%s %s ties with it, at %sx its %s (%s); %s is %s.", text, other->label,
                    gs_sim_ratio_text(ratio.value, value), gs_objective_words[all->objective], sure,
                    winner->label,
                    gs_simpler_compare(winner->label, other->label) < 0 ? "the simpler one"
                                                                        : "as simple, and ahead");
        free(sure);
        free(text);
        text = longer;
    }
    return text;
}

/* " The choice flips at bandwidth <= 7.7 Gbit/s (local_sgd; 95 % CI 7.2 Gbit/s to 8.1 Gbit/s), >=
 * 22 Gbit/s (hierarchical; ...); ..." Owner: caller. */
static char *flips_text(const gs_recommend *all, const gs_flips *flips)
{
    char *text = gs_text("%s", "");
    int axis = GS_FLIP_AXES;
    for (uint32_t i = 0; i < flips->count; i++) {
        const gs_flip *flip = &flips->flips[i];
        char at[GS_UNIT_TEXT_BYTES];
        if (flip->to == NULL) {
            continue;
        }
        axis_value(flip->axis, flip->flips_at, at);
        const char *before = axis == GS_FLIP_AXES ? " The choice flips at " : "; ";
        bool is_same = axis == (int)flip->axis;
        char *interval = flip_interval_text(all, flip);
        char *longer = gs_text("%s%s%s%s %s (%s%s)", text, is_same ? ", " : before,
                               is_same ? "" : axis_names[flip->axis],
                               is_same       ? flip->is_up ? ">=" : "<="
                               : flip->is_up ? " >="
                                             : " <=",
                               at, flip->to->label, interval);
        free(interval);
        axis = (int)flip->axis;
        free(text);
        text = longer;
    }
    char *whole = gs_text("%s%s", text, axis == GS_FLIP_AXES ? "" : ".");
    free(text);
    return whole;
}

/* The arm and the place of its rate that ended best of all; NULL: no run ended well. */
static const gs_arm *best_end(const gs_recommend *all, uint32_t *out_rate, double *out_value)
{
    const gs_arm *best = NULL;
    bool is_more = all->scenario->workload.quality == GS_ACCURACY;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        for (uint32_t k = 0; k < GS_RATES; k++) {
            const gs_arm_rate *rate = &all->arms[i].rates[k];
            double sum = 0.0;
            for (uint32_t seed = 0; seed < rate->seeds; seed++) {
                sum += rate->finals[seed] / (double)rate->seeds;
            }
            bool is_known = rate->seeds > 0 && !isnan(sum);
            if (is_known && (best == NULL || (is_more ? sum > *out_value : sum < *out_value))) {
                best = &all->arms[i];
                *out_rate = k;
                *out_value = sum;
            }
        }
    }
    return best;
}

/* What would help: more samples do not where nothing is learned, or where a rate beyond those that
 * were tried may be better. Owner: caller. */
static char *advice_text(const gs_recommend *all, const gs_arm *best, uint32_t rate, double value)
{
    gs_arm own = best == NULL ? (gs_arm){0} : *best;
    own.rate = rate;
    int edge = best == NULL ? 0 : gs_rates_edge(&own);
    bool is_far = all->scenario->workload.quality == GS_ACCURACY && value < all->target / 2.0;
    if (best != NULL && is_far) {
        return gs_text("That is far from it: too large a rate learns nothing, so set "
                       "workload.optimizer.rate below %g, the least that was tried; if it learns "
                       "there, raise workload.budget",
                       least_rate(best));
    }
    if (edge != 0) {
        return gs_text("That is the %s of the rates tried: set workload.optimizer.rate to it",
                       edge > 0 ? "largest" : "least");
    }
    return gs_text("Raise workload.budget, or lower the target");
}

/* The best that any arm ended with, where none reached the target. Owner: caller. */
static char *nobody_text(const gs_recommend *all)
{
    uint32_t rate = 0;
    double value = (double)NAN;
    const gs_arm *best = best_end(all, &rate, &value);
    char *nearest = best == NULL ? gs_text("%s", "")
                                 : gs_text("; the best is %s at rate %g, which ends at %.4f",
                                           best->label, rate_at(best, rate), value);
    char *advice = advice_text(all, best, rate, value);
    char *text = gs_text("No recommendation: none reaches %s %g within %lld samples%s. %s.",
                         gs_quality_words(all->scenario->workload.quality), all->target,
                         (long long)gs_scenario_budget_samples(all->scenario), nearest, advice);
    free(nearest);
    free(advice);
    return text;
}

static char *no_winner_text(const gs_recommend *all)
{
    uint32_t counts[GS_ARM_STATE_COUNT] = {0};
    for (uint32_t i = 0; i < all->arm_count; i++) {
        counts[all->arms[i].state]++;
    }
    if (counts[GS_ARM_REFUSED] == all->arm_count) {
        return gs_text("No recommendation: no strategy can run here; the reasons stand above.");
    }
    if (counts[GS_ARM_FAILED] + counts[GS_ARM_REFUSED] == all->arm_count) {
        return gs_text(
            "No recommendation: no run ended well at any rate; the reasons stand above.");
    }
    if (all->left_out != NULL && counts[GS_ARM_IN] == 0) {
        return gs_text("No recommendation: --budget had no time for %s; raise it.", all->left_out);
    }
    if (counts[GS_ARM_LIMIT] > 0 && counts[GS_ARM_IN] == 0) {
        return gs_text("No recommendation: none is within the limits; lower --min-accuracy or "
                       "--min-fidelity.");
    }
    return nobody_text(all);
}

static char *winner_text(const gs_findings *out)
{
    const gs_recommend *all = out->all;
    const gs_arm *winner = out->verdict.winner;
    char value[GS_UNIT_TEXT_BYTES];
    gs_spread spread = gs_spread_of(winner->confirm, all->confirm_seeds);
    uint32_t reached = gs_confirmed_reached(all, winner);
    char *title = gs_findings_title(all);
    char *rate = winner->rate == 0 || !all->learns
                     ? gs_text("%s", "")
                     : gs_text(" at rate %g instead of %g", gs_findings_rate(winner),
                               winner->scenario->workload.task.optimizer.rate);
    char *sure = reached == all->confirm_seeds
                     ? gs_text("%s", "")
                     : gs_text(" in %u of %u runs", reached, all->confirm_seeds);
    char *plain = against_plain_text(all, winner);
    char *ties = ties_text(all, &out->verdict);
    char *flips = flips_text(all, &out->flips);
    char *text =
        gs_text("%s %s%s: %s %s%s%s.%s%s%s", gs_arm_is_plain(winner) ? "Stay with plain" : "Use",
                winner->label, rate, title, gs_findings_value(all, spread.mean, value), sure, plain,
                ties, flips,
                all->learns ? ""
                            : " Speed is not accuracy: only strategies with the "
                              "updates of plain SGD were compared; set "
                              "workload.real_gradients and a target for the others.");
    free(title);
    free(rate);
    free(sure);
    free(plain);
    free(ties);
    free(flips);
    return text;
}

static char *interrupted_text(const gs_findings *out)
{
    const gs_recommend *all = out->all;
    const gs_arm *best = NULL;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *arm = &all->arms[i];
        bool is_known = arm->state == GS_ARM_IN && arm->rates[0].seeds > 0;
        if (is_known && (best == NULL || gs_arm_estimate(all, arm) < gs_arm_estimate(all, best))) {
            best = arm;
        }
    }
    return best == NULL ? gs_text("Interrupted in %s: nothing is known yet.", out->stage)
                        : gs_text("Interrupted in %s: no recommendation; so far %s is ahead.",
                                  out->stage, best->label);
}

/* Where nothing ran well the runs failed; where limits or the target stand in the way, that is an
 * answer. */
static int code_of(const gs_findings *out)
{
    const gs_recommend *all = out->all;
    if (all->interrupted) {
        return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
    }
    bool any_ran = out->verdict.winner != NULL;
    bool any_may = false;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm_state state = all->arms[i].state;
        any_may = any_may || state != GS_ARM_REFUSED;
        any_ran = any_ran || (state != GS_ARM_REFUSED && state != GS_ARM_FAILED);
    }
    return any_ran ? GS_EXIT_OK : any_may ? GS_EXIT_FAILED : GS_EXIT_USAGE;
}

void gs_findings_make(gs_findings *out)
{
    const gs_recommend *all = out->all;
    const gs_arm *winner = out->verdict.winner;
    out->exit_code = code_of(out);
    if (out->stage != NULL) {
        out->answer = interrupted_text(out);
        return;
    }
    if (winner == NULL) {
        out->answer = no_winner_text(all);
        return;
    }
    if (all->learns) {
        out->ladder = gs_ladder_of(all);
        gs_thumbs_follow(all, winner, out->thumbs);
    }
    out->paste_count = gs_pastes_make(winner->tuned, out->pastes);
    out->answer = winner_text(out);
}

void gs_findings_free(gs_findings *findings)
{
    for (uint32_t i = 0; i < findings->paste_count; i++) {
        free(findings->pastes[i].text);
    }
    free(findings->answer);
}
