/* The answer of `sim` in words: with a target who reaches it first, then who is fastest, then who
 * ends best. Each sentence names its subject; none takes back what another says. */
#include "tools/sim_report.h"

#include "base/assert.h"
#include "tools/message.h"
#include "tools/scenario_load.h"
#include "tools/sim_quality.h"
#include "tools/simpler.h"
#include "traces/stats/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- parts of sentences ----------------------------------------------------------------------- */

/* Of two-sided tests. With fewer pairs than reach it chance explains any difference, even where all
 * agree: the interval alone supposes that logarithms of ratios are normal. */
static const double level = 0.05;

/* "95 % CI 1.35 to 1.41, 6 seeds", or why there is none. */
static char *sure_text(const gs_sim_report *report, const gs_ratio *ratio)
{
    char low[GS_UNIT_TEXT_BYTES];
    char high[GS_UNIT_TEXT_BYTES];
    const char *pairs = report->is_measured ? "runs" : "seeds";
    if (ratio->pairs < 2 && report->is_measured) {
        return gs_text("one run: no interval; --repeat 5 gives one");
    }
    if (ratio->pairs < 2) {
        return gs_text("%s", gs_scenario_is_random(report->scenario)
                                 ? "one seed: no interval; --seeds 5 gives one"
                                 : "nothing is random: the same for every seed");
    }
    if (ratio->same) {
        return gs_text("the same for all %zu %s", ratio->pairs, pairs);
    }
    gs_sim_interval_text(ratio->low, ratio->high, low, high);
    char *text = gs_text("95 %% CI %s to %s, %zu %s", low, high, ratio->pairs, pairs);
    if (gs_sign_flip_least((uint32_t)ratio->pairs) > level) {
        char *longer =
            gs_text("%s: too few to decide, %u can", text, (unsigned)gs_sign_flip_needs(level));
        free(text);
        text = longer;
    }
    return text;
}

/* The same for the step time of one strategy. */
static char *sure_step_text(const gs_sim_report *report, const gs_spread *step)
{
    gs_ratio none = {.pairs = step->count, .same = step->same};
    if (step->count < 2 || step->same) {
        return sure_text(report, &none);
    }
    char low[GS_UNIT_TEXT_BYTES];
    char high[GS_UNIT_TEXT_BYTES];
    return gs_text("95 %% CI %s to %s, %zu %s",
                   gs_format_duration((gs_time_ns)llround(step->low), low),
                   gs_format_duration((gs_time_ns)llround(step->high), high), step->count,
                   report->is_measured ? "runs" : "seeds");
}

/* The simpler one, or the earlier in the file: rows stand in its order. */
static const gs_sim_row *simpler(const gs_sim_row *a, const gs_sim_row *b)
{
    int order = gs_simpler_compare(a->label, b->label);
    return order < 0 || (order == 0 && a < b) ? a : b;
}

/* " The largest part of a step of X is input, 64 %." where that is not communication. */
static char *largest_text(const gs_sim_row *row)
{
    const struct {
        const char *name;
        double mean;
    } parts[] = {{"exposed communication", row->exposed.mean},
                 {"compute", row->compute.mean},
                 {"input", row->input.mean},
                 {"wait for other ranks", row->wait.mean},
                 {"overhead", row->overhead.mean}};
    size_t largest = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++) {
        largest = parts[i].mean > parts[largest].mean ? i : largest;
    }
    if (largest == 0 || !(row->step.mean > 0.0)) {
        return gs_text("%s", "");
    }
    return gs_text(" The largest part of a step of %s is %s, %.0f %%.", row->label,
                   parts[largest].name, 100.0 * parts[largest].mean / row->step.mean);
}

static char *learned_value_text(const gs_sim_row *row)
{
    return row->learned.count > 1 ? gs_text("%.4f +- %.4f", row->learned.mean, row->learned.sd)
                                  : gs_text("%.4f", row->learned.mean);
}

/* --- speed ------------------------------------------------------------------------------------ */

/* The row with the most samples per second, leaving one out; NULL: none. */
static const gs_sim_row *fastest(const gs_sim_report *report, const gs_sim_row *without)
{
    const gs_sim_row *best = NULL;
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        if (row != without && isfinite(row->rate.mean) &&
            (best == NULL || row->rate.mean > best->rate.mean)) {
            best = row;
        }
    }
    return best;
}

static char *alone_text(const gs_sim_report *report, const gs_sim_row *row)
{
    char mean[GS_UNIT_TEXT_BYTES];
    double share = row->step.mean > 0.0 ? 100.0 * row->exposed.mean / row->step.mean : 0.0;
    char *sure = sure_step_text(report, &row->step);
    char *text = gs_text("%s: a step takes %s (%s; lower is better), %.0f %% of it exposed "
                         "communication.",
                         row->label, gs_format_duration((gs_time_ns)llround(row->step.mean), mean),
                         sure, share);
    free(sure);
    return text;
}

/* "; faster with 3 of 5 seeds, P 0.15 to 0.95" where seeds do not agree. */
static char *chance_text(const gs_sim_row *best, const gs_sim_row *other)
{
    gs_chance faster = gs_chance_faster(other->sample_ns, best->sample_ns, best->runs);
    if (faster.hits + faster.equal == faster.count || faster.count < 2) {
        return gs_text("%s", "");
    }
    return gs_text("; faster with %zu of %zu, P %.2f to %.2f", faster.hits, faster.count,
                   faster.low, faster.high);
}

/* Sentence about `best` against `other`. */
static char *faster_text(const gs_sim_report *report, const gs_sim_row *best,
                         const gs_sim_row *other, bool prefer)
{
    gs_ratio ratio = gs_ratio_of(other->sample_ns, best->sample_ns, best->runs);
    if (!isfinite(ratio.value)) {
        return gs_text("%s trains the most samples per second; %s has no seed in common with it.",
                       best->label, other->label);
    }
    char times[GS_UNIT_TEXT_BYTES];
    char *interval = sure_text(report, &ratio);
    char *chance = chance_text(best, other);
    char *sure = gs_text("%s%s", interval, chance);
    char *text = NULL;
    free(interval);
    free(chance);
    gs_sim_ratio_text(ratio.value, times);
    if (!gs_ratio_is_tie(&ratio)) {
        text = gs_text("%s trains %sx as many samples per second as %s (%s).", best->label, times,
                       other->label, sure);
    } else if (prefer) {
        text = gs_text("%s and %s tie on samples per second (ratio %s; %s): prefer %s, the "
                       "simpler one.",
                       best->label, other->label, times, sure, simpler(best, other)->label);
    } else {
        text = gs_text("%s and %s tie on samples per second (ratio %s; %s).", best->label,
                       other->label, times, sure);
    }
    free(sure);
    return text;
}

/* The fastest against the next one, or against the first of the scenario where people compare with
 * that one. */
static char *speed_text(const gs_sim_report *report, const gs_sim_row *best, bool prefer)
{
    const gs_sim_row *next = fastest(report, best);
    const gs_sim_row *base = &report->rows[0];
    GS_ASSERT(next != NULL); /* or alone_text would speak */
    gs_ratio ratio = gs_ratio_of(next->sample_ns, best->sample_ns, best->runs);
    bool tie = isfinite(ratio.value) && gs_ratio_is_tie(&ratio);
    bool with_base = !tie && best != base && next != base && isfinite(base->step.mean);
    return faster_text(report, best, with_base ? base : next, prefer);
}

/* How likely a step of a strategy is too long: " A step of X takes ..." */
static char *limit_text(const gs_sim_report *report, const gs_sim_row *row)
{
    char limit[GS_UNIT_TEXT_BYTES];
    if (report->step_limit_ns == 0) {
        return gs_text("%s", "");
    }
    return gs_text(" A step of %s (mean over its ranks) takes longer than %s with probability "
                   "%.3g %% (95 %% CI %.3g to %.3g %%, %zu steps).",
                   row->label, gs_sim_limit_text(report->step_limit_ns, limit),
                   100.0 * row->over.value, 100.0 * row->over.low, 100.0 * row->over.high,
                   row->over.count);
}

/* --- the target ------------------------------------------------------------------------------- */

static long long budget_samples(const gs_sim_report *report)
{
    return (long long)gs_scenario_budget_samples(report->scenario);
}

/* The row that most runs of reach the target soonest, leaving one out; NULL: none. */
static const gs_sim_row *first_there(const gs_sim_report *report, const gs_sim_row *without)
{
    const gs_sim_row *first = NULL;
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        if (row != without && isfinite(row->target_ns) &&
            (first == NULL || row->target_ns < first->target_ns)) {
            first = row;
        }
    }
    return first;
}

/* "after 11.2 s (median, 5 of 5 runs)". */
static char *after_text(const gs_sim_row *row)
{
    char time[GS_UNIT_TEXT_BYTES];
    return gs_text("after %s (median, %u of %u runs)",
                   gs_format_duration((gs_time_ns)llround(row->target_ns), time), row->reached,
                   row->good);
}

/* "after 11.2 s (median, 5 of 5 runs) each", or both medians. */
static char *both_after_text(const gs_sim_row *first, const gs_sim_row *next)
{
    char a[GS_UNIT_TEXT_BYTES];
    char b[GS_UNIT_TEXT_BYTES];
    gs_format_duration((gs_time_ns)llround(first->target_ns), a);
    gs_format_duration((gs_time_ns)llround(next->target_ns), b);
    return strcmp(a, b) == 0
               ? gs_text("after %s (median, %u of %u runs) each", a, first->reached, first->good)
               : gs_text("after %s and %s (medians, %u of %u and %u of %u runs)", a, b,
                         first->reached, first->good, next->reached, next->good);
}

/* Does a larger share of the runs of `a` reach the target than of those of `b`? */
static bool is_surer(const gs_sim_row *a, const gs_sim_row *b)
{
    return (uint64_t)a->reached * b->good > (uint64_t)b->reached * a->good;
}

/* Whom the first one is held against: the soonest of those that reach the target more often than
 * it, or the next one. */
static const gs_sim_row *rival_of(const gs_sim_report *report, const gs_sim_row *first)
{
    const gs_sim_row *rival = first_there(report, first);
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        if (row != first && isfinite(row->target_ns) && is_surer(row, first) &&
            (is_surer(row, rival) ||
             (!is_surer(rival, row) && row->target_ns < rival->target_ns))) {
            rival = row;
        }
    }
    return rival;
}

/* Not as many runs of one reach the target as of the other: that comes before time, which can be
 * compared only where both are there. */
static char *surer_text(const gs_sim_report *report, const gs_sim_row *surer,
                        const gs_sim_row *other)
{
    gs_ratio ratio = gs_ratio_of(other->seed_target_ns, surer->seed_target_ns, surer->runs);
    char times[GS_UNIT_TEXT_BYTES];
    char *after = after_text(surer);
    char *sure = sure_text(report, &ratio);
    char *text = NULL;
    char *there =
        gs_text("%s reaches %s more often than %s, which does in %u of %u runs: %s", surer->label,
                report->target_text, other->label, other->reached, other->good, after);
    if (!isfinite(ratio.value)) {
        text = gs_text("%s; no seed has both there.", there);
    } else if (gs_ratio_is_tie(&ratio)) {
        text = gs_text("%s; where both do, they take as long (ratio %s; %s).", there,
                       gs_sim_ratio_text(ratio.value, times), sure);
    } else {
        bool is_sooner = ratio.value > 1.0;
        ratio = is_sooner ? ratio
                          : gs_ratio_of(surer->seed_target_ns, other->seed_target_ns, surer->runs);
        free(sure);
        sure = sure_text(report, &ratio);
        text = gs_text("%s; where both do, %s is %sx sooner (%s).", there,
                       is_sooner ? surer->label : other->label,
                       gs_sim_ratio_text(ratio.value, times), sure);
    }
    free(there);
    free(after);
    free(sure);
    return text;
}

/* `first` reaches the target before all others, or ties with `next`. *out_preferred: whom to take.
 */
static char *race_text(const gs_sim_report *report, const gs_sim_row *first, const gs_sim_row *next,
                       const gs_sim_row **out_preferred)
{
    if (is_surer(next, first) || is_surer(first, next)) {
        *out_preferred = is_surer(next, first) ? next : first;
        return surer_text(report, *out_preferred, *out_preferred == next ? first : next);
    }
    const char *target = report->target_text;
    char *after = after_text(first);
    gs_ratio ratio = gs_ratio_of(next->seed_target_ns, first->seed_target_ns, first->runs);
    char times[GS_UNIT_TEXT_BYTES];
    char *sure = sure_text(report, &ratio);
    char *text = NULL;
    gs_sim_ratio_text(ratio.value, times);
    *out_preferred = first;
    if (!isfinite(ratio.value)) {
        text = gs_text("%s reaches %s first, %s; %s reaches it with other seeds only.",
                       first->label, target, after, next->label);
    } else if (gs_ratio_is_tie(&ratio)) {
        bool one_stays = first->fell_back != next->fell_back;
        bool first_stays = first->fell_back < next->fell_back;
        *out_preferred = !one_stays ? simpler(first, next) : first_stays ? first : next;
        char *both = both_after_text(first, next);
        text =
            gs_text("%s and %s tie on the time to %s, %s (ratio %s; %s): prefer %s, %s.",
                    first->label, next->label, target, both, times, sure, (*out_preferred)->label,
                    one_stays ? "which stays there more often" : "the simpler one");
        free(both);
    } else if (ratio.value < 1.0) {
        /* By the medians, which count runs that never come, it is first; by pairs it is not. */
        text = gs_text("%s reaches %s first by the median, %s; where %s reaches it with "
                       "the same seed, that is sooner (%s).",
                       first->label, target, after, next->label, sure);
    } else {
        text = gs_text("%s reaches %s first, %s, %sx sooner than %s (%u of %u runs; %s).",
                       first->label, target, after, times, next->label, next->reached, next->good,
                       sure);
    }
    free(after);
    free(sure);
    return text;
}

/* What the fastest one does about the target, where another one is first there. */
static char *yet_text(const gs_sim_report *report, const gs_sim_row *best)
{
    double target = report->scenario->workload.target_value;
    if (!isfinite(best->target_ns)) {
        return gs_text(" %s reaches %g in %u of %u runs within %lld samples.", best->label, target,
                       best->reached, best->good, budget_samples(report));
    }
    char *after = after_text(best);
    char *text = gs_text(" %s reaches %g %s.", best->label, target, after);
    free(after);
    return text;
}

/* With a target: who is first there, then who is fastest. *out_about: whose step is looked at. */
static char *target_text(const gs_sim_report *report, const gs_sim_row *best,
                         const gs_sim_row **out_about)
{
    const char *target = report->target_text;
    const gs_sim_row *first = first_there(report, NULL);
    const gs_sim_row *next = first == NULL ? NULL : rival_of(report, first);
    char *race = NULL;
    *out_about = best;
    if (first == NULL) {
        race = gs_text("None reaches %s in most of its runs within %lld samples.", target,
                       budget_samples(report));
    } else if (next == NULL) {
        char *after = after_text(first);
        race = gs_text("%s alone reaches %s, %s.", first->label, target, after);
        free(after);
        *out_about = first;
    } else {
        race = race_text(report, first, next, out_about);
    }
    char *speed = NULL;
    char *yet = NULL;
    if (first == NULL || best == first || best == *out_about) {
        speed = speed_text(report, best, false);
        yet = gs_text("%s", "");
    } else {
        speed = faster_text(report, best, *out_about, false);
        yet = best == next ? gs_text("%s", "") : yet_text(report, best);
    }
    char *fallen = gs_sim_fallen_text(report);
    char *text = gs_text("%s %s%s%s", race, speed, yet, fallen);
    free(fallen);
    free(race);
    free(speed);
    free(yet);
    return text;
}

/* --- learning --------------------------------------------------------------------------------- */

/* One strategy: what it learned, and the target where there is one. */
static char *learned_text(const gs_sim_report *report, const gs_sim_row *row)
{
    double target = report->scenario->workload.target_value;
    const char *words = gs_quality_words(report->scenario->workload.quality);
    char *value = learned_value_text(row);
    char *text = NULL;
    if (target <= 0.0) {
        text = gs_text(" Final %s %s.", words, value);
    } else if (isfinite(row->target_ns)) {
        char *after = after_text(row);
        text = gs_text(" Final %s %s; %g is reached %s.", words, value, target, after);
        free(after);
    } else {
        text = gs_text(" Final %s %s; %g is reached in %u of %u runs within %lld samples.", words,
                       value, target, row->reached, row->good, budget_samples(report));
    }
    free(value);
    return text;
}

/* " The time of topk in X is assumed ..." where nobody has measured the codec of the one that the
 * answer is about. */
static char *assumed_text(const gs_sim_report *report, const gs_sim_row *row)
{
    uint32_t index = (uint32_t)(row - report->rows);
    if (report->is_measured || index >= report->scenario->strategy_count ||
        !gs_coding_is_assumed(&report->scenario->strategies[index].coding)) {
        return gs_text("%s", "");
    }
    return gs_text(
        " The time that %s takes to encode and decode is assumed, not measured: gradsync "
        "calibrate measures it.",
        report->scenario->strategies[index].coding.codec->name);
}

char *gs_sim_report_answer(const gs_sim_report *report)
{
    const gs_workload *workload = &report->scenario->workload;
    const gs_sim_row *best = fastest(report, NULL);
    const gs_sim_row *about = best;
    char *text = NULL;
    char *learned = NULL;
    if (best == NULL) {
        return gs_text("No run ended well: there is nothing to compare.");
    }
    if (fastest(report, best) == NULL) {
        text = alone_text(report, best);
        learned = workload->real_gradients ? learned_text(report, best) : NULL;
    } else if (workload->real_gradients && workload->target_value > 0.0) {
        text = target_text(report, best, &about);
        learned = gs_sim_quality_text(report, best, about);
    } else {
        text = speed_text(report, best, true);
        learned = workload->real_gradients ? gs_sim_quality_text(report, best, NULL) : NULL;
    }
    char *largest = largest_text(about);
    char *limit = limit_text(report, about);
    char *assumed = assumed_text(report, about);
    char *whole = gs_text(
        "%s%s%s%s%s%s", text, learned == NULL ? "" : learned, largest, assumed, limit,
        workload->real_gradients ? "" : " Speed is not accuracy: set workload.real_gradients.");
    free(assumed);
    free(text);
    free(learned);
    free(largest);
    free(limit);
    return whole;
}
