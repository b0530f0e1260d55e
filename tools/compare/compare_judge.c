/* Rows: every metric of every job measured, all of them judged together. */
#include "tools/compare/compare.h"

#include "base/assert.h"
#include "tools/compare/ack_file.h"
#include "tools/message.h"
#include "tools/metric_text.h"
#include "traces/stats/history.h"
#include "traces/stats/holm.h"
#include "traces/store/store_ack.h"
#include "traces/store/store_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits from history are no smaller than that: of values that never change any change is news. */
#define LEAST_AUTO_LIMIT 0.001

/* The same values give the same change to within that: what an ack saw went through sums. */
#define ROUNDING 1e-9

static bool is_better_low(uint32_t metric)
{
    return strcmp(gs_metric_at(metric)->better, "lower") == 0;
}

static bool has_direction(uint32_t metric)
{
    return strcmp(gs_metric_at(metric)->better, "none") != 0;
}

/* ---------------------------------------------------------------- values */

static bool is_to_target(uint32_t metric)
{
    return metric == gs_metric_find("time_to_target_ns") ||
           metric == gs_metric_find("samples_to_target");
}

/* The value of a run, +INFINITY for a target that it did not reach; NAN: it has none. */
static double value_of(const gs_stored_run *run, uint32_t metric)
{
    return is_to_target(metric) && run->target_censored ? (double)INFINITY : run->values[metric];
}

/* All runs of a side have a value. */
static bool has_values(const gs_compare_job *job, int side, uint32_t metric)
{
    for (uint32_t i = 0; i < job->counts[side]; i++) {
        if (isnan(value_of(&job->runs[side][i]->run, metric))) {
            return false;
        }
    }
    return job->counts[side] > 0;
}

static const double *values_of(gs_compare *compare, const gs_compare_job *job, int side,
                               uint32_t metric)
{
    double *values = gs_need(GS_TAKE(&compare->arena, double, job->counts[side]));
    for (uint32_t i = 0; i < job->counts[side]; i++) {
        values[i] = value_of(&job->runs[side][i]->run, metric);
    }
    return values;
}

/* The shortest time for which a run that did not reach its target was watched; 0: all reached it,
 * or the metric has no such bound. */
static double horizon_of(const gs_compare_job *job, uint32_t metric)
{
    double horizon = 0.0;
    for (int side = 0; side < GS_SIDES; side++) {
        for (uint32_t i = 0; i < job->counts[side]; i++) {
            const gs_stored_run *run = &job->runs[side][i]->run;
            double bound = run->values[metric];
            if (run->target_censored && isfinite(bound) && is_to_target(metric)) {
                horizon = horizon == 0.0 ? bound : fmin(horizon, bound);
            }
        }
    }
    return horizon;
}

/* ---------------------------------------------------------------- rows */

static gs_compare_row *new_row(gs_compare *compare, const gs_compare_job *job, uint32_t metric)
{
    if (compare->row_count == compare->row_capacity) {
        uint32_t capacity = 2 * compare->row_capacity + 64;
        gs_compare_row *moved = gs_need(GS_TAKE(&compare->arena, gs_compare_row, capacity));
        if (compare->row_count > 0) {
            memcpy(moved, compare->rows, compare->row_count * sizeof *moved);
        }
        compare->rows = moved;
        compare->row_capacity = capacity;
    }
    const gs_gate *gate = gs_gates_find(&compare->gates, metric);
    gs_compare_row *row = &compare->rows[compare->row_count++];
    *row = (gs_compare_row){.job = job,
                            .metric = metric,
                            .gated = gate != NULL,
                            .limit = {.metric = metric, .limit = {.value = compare->share}},
                            .p_adjusted = (double)NAN,
                            .reason = ""};
    if (gate != NULL) {
        row->limit = *gate;
    }
    return row;
}

/* The metric that stands for a job of which there is nothing to compare: the first with a limit. */
static uint32_t standing_metric(const gs_compare *compare, const gs_compare_job *job)
{
    for (uint32_t i = 0; i < compare->gates.count; i++) {
        for (int side = 0; side < GS_SIDES; side++) {
            if (job->of[side] != NULL && has_values(job, side, compare->gates.gates[i].metric)) {
                return compare->gates.gates[i].metric;
            }
        }
    }
    return compare->gates.count > 0 ? compare->gates.gates[0].metric
                                    : gs_metric_find("step_mean_ns");
}

static void add_refused(gs_compare *compare, const gs_compare_job *job)
{
    gs_compare_row *row = new_row(compare, job, standing_metric(compare, job));
    row->gated = true;
    if (job->of[GS_SIDE_BASE] == NULL) {
        row->word = GS_VERDICT_NEW;
        row->reason = "the base has no such runs";
    } else if (job->of[GS_SIDE_CANDIDATE] == NULL) {
        row->word = GS_VERDICT_MISSING;
        row->reason = "the candidate has no such runs";
    } else {
        row->word = GS_VERDICT_INVALID;
        row->reason = job->refused;
    }
}

/* Limit by what the base's history wanders; as it was where that is too short. */
static gs_status find_auto_limit(gs_compare *compare, gs_compare_row *row, const char *since_utc,
                                 gs_error *err)
{
    const gs_compare_side *base = &compare->sides[GS_SIDE_BASE];
    const gs_stored_run *of = row->job->of[GS_SIDE_BASE];
    gs_history_of wanted = {.source = of->source,
                            .config_hash = of->scenario.config_hash,
                            .strategy = of->strategy.name,
                            .params_json = of->strategy.params_json,
                            .metric = gs_metric_at(row->metric)->name,
                            .since_utc = since_utc,
                            .before_run = base->runs[base->count - 1].id,
                            .most = GS_HISTORY_MAX};
    const double *values = NULL;
    uint32_t count = 0;
    GS_TRY(gs_store_read_history(base->store, &wanted, &compare->arena, &values, &count, err));
    bool positive = true;
    for (uint32_t i = 0; i < count; i++) {
        positive = positive && values[i] > 0.0;
    }
    double limit = positive ? gs_history_limit(values, count) : (double)NAN;
    if (isnan(limit)) {
        char name[GS_LIMIT_TEXT_BYTES];
        gs_compare_remark(compare,
                          "%s / %s, %s: its history has %" PRIu32
                          " of the %d commands that --limit auto needs; the limit stays %.3g %%.",
                          row->job->scenario, row->job->strategy,
                          gs_metric_short(row->metric, name), count, GS_HISTORY_MIN,
                          100.0 * row->limit.limit.value);
        return GS_OK;
    }
    row->limit.limit.value = fmax(limit, LEAST_AUTO_LIMIT);
    return GS_OK;
}

/* Acks of both databases and of --acks: a change may have been accepted in any. */
enum { OF_FILE = GS_SIDES, ACK_LISTS };

typedef struct ack_lists {
    const gs_ack *acks[ACK_LISTS];
    const char **strategies[ACK_LISTS]; /* of each ack, as jobs name theirs */
    uint32_t counts[ACK_LISTS];
} ack_lists;

static gs_status read_acks(gs_compare *compare, ack_lists *lists, gs_error *err)
{
    for (int side = 0; side < GS_SIDES; side++) {
        GS_TRY(gs_store_read_acks(compare->sides[side].store, &compare->arena, &lists->acks[side],
                                  &lists->counts[side], err));
    }
    const char *file = compare->cli->flags.acks;
    if (file[0] != '\0') {
        GS_TRY(gs_ack_file_read(file, &compare->arena, &lists->acks[OF_FILE],
                                &lists->counts[OF_FILE], err));
    }
    for (int list = 0; list < ACK_LISTS; list++) {
        uint32_t count = lists->counts[list];
        lists->strategies[list] =
            gs_need(GS_TAKE(&compare->arena, const char *, (size_t)count + 1));
        for (uint32_t i = 0; i < count; i++) {
            const gs_ack *ack = &lists->acks[list][i];
            lists->strategies[list][i] =
                list == OF_FILE ? ack->strategy
                                : gs_compare_label(compare, ack->strategy, ack->params_json);
        }
    }
    return GS_OK;
}

/* What change->effect would be from one value to another. */
static double effect_between(const gs_change *change, double from, double to)
{
    return change->of_ratio ? log(to / from) : to - from;
}

/* Acks of before schema 4 knew neither the base's value nor an interval: they hold up to the ratio
 * that they saw, and for bases that are older than they are. */
static bool covers_as_of_old(const gs_ack *ack, const gs_compare_row *row)
{
    const gs_change *change = &row->change;
    double further = change->effect - log(ack->ratio);
    bool older = strcmp(row->job->of[GS_SIDE_BASE]->started_utc, ack->made_utc) <= 0;
    return older && change->of_ratio && isfinite(ack->ratio) &&
           (change->lower_is_better ? further : -further) <= ROUNDING;
}

/* Is the base no longer the one that the change was accepted from? Once it has the change there is
 * nothing left to accept. */
static bool is_moved(const gs_ack *ack, const gs_change *change)
{
    double accepted = effect_between(change, ack->base, ack->worst);
    double moved = effect_between(change, ack->base, change->base);
    return !(fabs(moved) <= 0.5 * fabs(accepted));
}

static bool covers(const gs_ack *ack, const gs_compare_row *row)
{
    if (isnan(ack->base) || isnan(ack->worst)) {
        return covers_as_of_old(ack, row);
    }
    const gs_change *change = &row->change;
    double accepted = effect_between(change, ack->base, ack->worst);
    double further = change->effect - accepted;
    return !is_moved(ack, change) &&
           (change->lower_is_better ? further : -further) <= ROUNDING * fabs(accepted);
}

/* The last ack of a row, or of those that cover it, or NULL. */
static const gs_ack *ack_of(const ack_lists *lists, const gs_compare_row *row, bool covering)
{
    const gs_ack *found = NULL;
    for (int list = 0; list < ACK_LISTS; list++) {
        for (uint32_t i = 0; i < lists->counts[list]; i++) {
            const gs_ack *ack = &lists->acks[list][i];
            bool fits = strcmp(ack->metric, gs_metric_at(row->metric)->name) == 0 &&
                        strcmp(ack->scenario, row->job->scenario) == 0 &&
                        strcmp(lists->strategies[list][i], row->job->strategy) == 0 &&
                        (!covering || covers(ack, row));
            bool later = found == NULL || strcmp(ack->made_utc, found->made_utc) >= 0;
            found = fits && later ? ack : found;
        }
    }
    return found;
}

/* Noisy metrics are rows where they are asked for only: each one more makes findings harder. */
static bool is_wanted(const gs_compare *compare, const gs_compare_job *job, uint32_t metric)
{
    bool exact = job->exact && gs_metric_at(metric)->exact;
    return exact || gs_gates_find(&compare->gates, metric) != NULL;
}

static gs_status add_row(gs_compare *compare, const gs_compare_job *job, uint32_t metric,
                         const ack_lists *acks, gs_error *err)
{
    gs_compare_row *row = new_row(compare, job, metric);
    if (compare->auto_limit && row->gated && !row->limit.limit.is_amount) {
        const gs_ack *ack = ack_of(acks, row, false);
        GS_TRY(find_auto_limit(compare, row, ack == NULL ? NULL : ack->made_utc, err));
    }
    gs_change_sides sides = {.base = values_of(compare, job, GS_SIDE_BASE, metric),
                             .candidate = values_of(compare, job, GS_SIDE_CANDIDATE, metric),
                             .base_count = job->counts[GS_SIDE_BASE],
                             .candidate_count = job->counts[GS_SIDE_CANDIDATE],
                             .paired = job->paired,
                             .exact = job->exact && gs_metric_at(metric)->exact,
                             .lower_is_better = is_better_low(metric),
                             .horizon = horizon_of(job, metric)};
    if (gs_change_measure(&sides, row->limit.limit, compare->alpha, &row->change) != GS_OK) {
        gs_need(NULL);
    }
    row->measured = true;
    return GS_OK;
}

/* A metric that one side alone has. */
static void add_lone(gs_compare *compare, const gs_compare_job *job, uint32_t metric, bool of_base)
{
    gs_compare_row *row = new_row(compare, job, metric);
    row->word = of_base ? GS_VERDICT_MISSING : GS_VERDICT_NEW;
    row->reason = of_base ? "runs of the candidate have no such value"
                          : "runs of the base have no such value";
}

static gs_status add_job(gs_compare *compare, const gs_compare_job *job, const ack_lists *acks,
                         gs_error *err)
{
    if (job->refused != NULL || job->of[GS_SIDE_BASE] == NULL ||
        job->of[GS_SIDE_CANDIDATE] == NULL) {
        add_refused(compare, job);
        return GS_OK;
    }
    for (uint32_t metric = 0; metric < gs_metric_count(); metric++) {
        bool base = has_values(job, GS_SIDE_BASE, metric);
        bool candidate = has_values(job, GS_SIDE_CANDIDATE, metric);
        bool wanted = is_wanted(compare, job, metric);
        if (wanted && base && candidate) {
            GS_TRY(add_row(compare, job, metric, acks, err));
        } else if (wanted && base != candidate) {
            add_lone(compare, job, metric, base);
        }
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- verdicts */

static const char *reason_of(gs_compare *compare, const gs_compare_row *row)
{
    const gs_change *change = &row->change;
    if (row->judged.needed > change->count && row->word == GS_VERDICT_INCONCLUSIVE) {
        return gs_compare_text(compare, "needs %" PRIu32 " %s, has %" PRIu32, row->judged.needed,
                               change->paired ? "seeds" : "runs of each", change->count);
    }
    if (change->censored && change->reached_base != change->reached_candidate) {
        return gs_compare_text(compare,
                               "the target was reached %" PRIu32 " times before, %" PRIu32 " now",
                               change->reached_base, change->reached_candidate);
    }
    if (row->word == GS_VERDICT_INCONCLUSIVE) {
        return "the interval reaches across the limit";
    }
    return change->exact && !change->identical && row->word == GS_VERDICT_SAME ? "changed" : "";
}

/* Why an ack of the row does not hold; NULL: there is none. */
static void tell_lapsed(gs_compare *compare, gs_compare_row *row, const gs_ack *ack)
{
    if (ack == NULL || row->reason[0] != '\0') {
        return;
    }
    const char *unit = gs_metric_at(row->metric)->unit;
    char from[GS_METRIC_TEXT_BYTES];
    char to[GS_METRIC_TEXT_BYTES];
    if (isnan(ack->base) || isnan(ack->worst)) {
        row->reason = gs_compare_text(compare, "not what was accepted at %s", ack->made_utc);
    } else if (is_moved(ack, &row->change)) {
        row->reason = gs_compare_text(compare, "accepted from %s to %s; the base is another now",
                                      gs_metric_value_text(unit, ack->base, from),
                                      gs_metric_value_text(unit, ack->worst, to));
    } else {
        row->reason = gs_compare_text(compare, "accepted up to %s",
                                      gs_metric_value_text(unit, ack->worst, to));
    }
}

static void judge_row(gs_compare *compare, gs_compare_row *row, const ack_lists *acks)
{
    static const gs_verdict_word words[] = {[GS_CHANGE_SAME] = GS_VERDICT_SAME,
                                            [GS_CHANGE_BETTER] = GS_VERDICT_BETTER,
                                            [GS_CHANGE_WORSE] = GS_VERDICT_WORSE,
                                            [GS_CHANGE_INCONCLUSIVE] = GS_VERDICT_INCONCLUSIVE};
    uint32_t rows = compare->tested == 0 ? 1 : compare->tested;
    row->judged = gs_change_judge(&row->change, row->p_adjusted, compare->alpha, rows);
    row->word = has_direction(row->metric) ? words[row->judged.word] : GS_VERDICT_SAME;
    row->reason = reason_of(compare, row);
    const gs_ack *ack = row->word == GS_VERDICT_WORSE ? ack_of(acks, row, true) : NULL;
    if (ack != NULL) {
        row->word = GS_VERDICT_ACKNOWLEDGED;
        row->reason = gs_compare_text(compare, "%s, %s: %s", ack->who, ack->made_utc, ack->why);
    } else if (row->word == GS_VERDICT_WORSE) {
        tell_lapsed(compare, row, ack_of(acks, row, false));
    }
}

/* Holm over all rows that have a p. */
static void adjust(gs_compare *compare)
{
    double *p = gs_need(GS_TAKE(&compare->arena, double, (size_t)compare->row_count + 1));
    double *adjusted = gs_need(GS_TAKE(&compare->arena, double, (size_t)compare->row_count + 1));
    for (uint32_t i = 0; i < compare->row_count; i++) {
        if (compare->rows[i].measured && !isnan(compare->rows[i].change.p)) {
            p[compare->tested++] = compare->rows[i].change.p;
        }
    }
    gs_holm(p, compare->tested, adjusted);
    uint32_t next = 0;
    for (uint32_t i = 0; i < compare->row_count; i++) {
        if (compare->rows[i].measured && !isnan(compare->rows[i].change.p)) {
            compare->rows[i].p_adjusted = adjusted[next++];
        }
    }
}

int gs_compare_judge(gs_compare *compare)
{
    gs_error err = {0};
    ack_lists acks = {.counts = {0}};
    if (read_acks(compare, &acks, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    for (uint32_t i = 0; i < compare->job_count; i++) {
        if (add_job(compare, &compare->jobs[i], &acks, &err) != GS_OK) {
            return gs_complain_error(&err);
        }
    }
    adjust(compare);
    for (uint32_t i = 0; i < compare->row_count; i++) {
        if (compare->rows[i].measured) {
            judge_row(compare, &compare->rows[i], &acks);
        }
    }
    return GS_EXIT_OK;
}
