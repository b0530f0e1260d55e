/* Errors and verdicts of each pair, what an error is made of, and the order of strategies. */
#include "tools/message.h"
#include "tools/sim_stats.h"
#include "tools/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Measured times closer than this have no order to be right about. */
#define ORDER_RATIO 1.10
/* A rank is named if it is so much further off than the mean of all. */
#define APART_RATIO 1.25

/* ---------------------------------------------------------------- values */

static double value_of(const gs_validate_run *run, const gs_judged *what)
{
    uint32_t metric = gs_metric_find(what->name);
    if (metric == gs_metric_count()) {
        return (double)run->decisions;
    }
    bool censored = run->run.target_censored && metric == gs_metric_find("time_to_target_ns");
    return censored ? (double)INFINITY : run->run.values[metric];
}

static double rank_value_of(const gs_validate_run *run, const gs_judged *what, int32_t rank)
{
    const gs_rank_values *values = &run->ranks[rank];
    if (strcmp(what->name, "step_p50_ns") == 0) {
        return values->step_p50_ns;
    }
    return strcmp(what->name, "wait_ns") == 0 ? values->wait_ns : values->exposed_comm_ns;
}

/* Of the runs that have the value. */
static gs_estimate estimate(const gs_validate_run *const *runs, uint32_t count,
                            const gs_judged *what, int32_t rank)
{
    double *values = gs_need(calloc((size_t)count + 1, sizeof *values));
    uint32_t have = 0;
    for (uint32_t i = 0; i < count; i++) {
        double value =
            rank == GS_ALL_RANKS ? value_of(runs[i], what) : rank_value_of(runs[i], what, rank);
        if (!isnan(value)) {
            values[have++] = value;
        }
    }
    gs_estimate result = gs_estimate_of(values, have);
    free(values);
    return result;
}

static gs_estimate predicted_of(const gs_validate_pair *pair, const gs_judged *what, int32_t rank)
{
    gs_estimate result = estimate(pair->predicted, pair->predicted_count, what, rank);
    if (pair->equal_seeds) {
        result.value = estimate(pair->twins, pair->measured_count, what, rank).value;
    }
    return result;
}

static gs_estimate measured_of(const gs_validate_pair *pair, const gs_judged *what, int32_t rank)
{
    return estimate(pair->measured, pair->measured_count, what, rank);
}

/* ---------------------------------------------------------------- reasons */

/* The rank whose value is furthest off; -1 where ranks are not known, or alike. */
static int32_t worst_rank(const gs_validate_pair *pair, const gs_judged *what)
{
    int32_t worst = -1;
    double most = 0.0;
    double sum = 0.0;
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < pair->row_count; i++) {
        const gs_validate_row *row = &pair->rows[i];
        double off = fabs(row->predicted.value - row->measured.value);
        if (row->what != what || row->rank == GS_ALL_RANKS) {
            continue;
        }
        ranks++;
        sum += off;
        if (off > most) {
            most = off;
            worst = row->rank;
        }
    }
    return most * ranks > APART_RATIO * sum ? worst : -1;
}

/* "mostly wait for ranks, 2.8 ms too little": the part of the step that is furthest off. */
static void put_part(const gs_validate_pair *pair, FILE *out)
{
    static const struct {
        const char *name, *words;
    } parts[] = {{"compute_ns", "compute"},
                 {"exposed_comm_ns", "exposed communication"},
                 {"wait_ns", "wait for ranks"},
                 {"input_ns", "input"},
                 {"overhead_ns", "overhead"}};
    double most = 0.0;
    const char *words = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        gs_judged part = {.name = parts[i].name};
        double off = predicted_of(pair, &part, GS_ALL_RANKS).value -
                     measured_of(pair, &part, GS_ALL_RANKS).value;
        if (fabs(off) > fabs(most)) {
            most = off;
            words = parts[i].words;
        }
    }
    if (words != NULL) {
        char time[GS_UNIT_TEXT_BYTES];
        fprintf(out, "mostly %s, predicted %s too %s", words,
                gs_format_duration(llround(fabs(most)), time), most > 0.0 ? "long" : "short");
    }
}

static const char *reason_of(gs_validate *validate, const gs_validate_pair *pair,
                             const gs_validate_row *row)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    bool of_job = row->rank == GS_ALL_RANKS;
    if (!row->judgement.inside && of_job && strncmp(row->what->name, "step_", 5) == 0) {
        put_part(pair, out);
    }
    if (!row->judgement.inside && of_job && row->what->of_ranks) {
        int32_t rank = worst_rank(pair, row->what);
        bool parted = fflush(out) == 0 && bytes > 0;
        if (rank >= 0) {
            fprintf(out, "%smost on rank %d", parted ? "; " : "", rank);
        }
    }
    if (row->judgement.unsure) {
        bool parted = fflush(out) == 0 && bytes > 0;
        fprintf(out, "%sthe measured interval reaches across the limit", parted ? "; " : "");
    }
    fclose(out);
    const char *kept = gs_need(gs_arena_text(&validate->arena, gs_need(text)));
    free(text);
    return kept;
}

/* ---------------------------------------------------------------- rows of a pair */

/* Was it measured without the work that is predicted for it? */
static bool lacks_work(const gs_validate_pair *pair, const gs_judged *what)
{
    bool is_whole =
        strncmp(what->name, "step_", 5) == 0 || strcmp(what->name, "time_to_target_ns") == 0;
    return (pair->skips_work && strcmp(what->name, "overhead_ns") == 0) ||
           (pair->skips_codec && is_whole);
}

static void tell_work(gs_validate *validate, const gs_validate_pair *pair)
{
    if (pair->skips_codec) {
        gs_validate_remark(validate,
                           "%s, %s: measured by live.compute=replay, without the codec's work on "
                           "the profile's bytes: step, overhead and order are not compared.",
                           pair->scenario, pair->label);
    } else if (pair->skips_work) {
        gs_validate_remark(validate,
                           "%s, %s: measured by live.compute=replay, without vector operations on "
                           "the profile's bytes: overhead is not compared.",
                           pair->scenario, pair->label);
    }
}

static void add_row(gs_validate *validate, gs_validate_pair *pair, uint32_t judged, int32_t rank,
                    double step_ns)
{
    const gs_judged *what = gs_judged_at(judged);
    if (lacks_work(pair, what)) {
        return;
    }
    gs_validate_row row = {
        .what = what,
        .rank = rank,
        .predicted = predicted_of(pair, what, rank),
        .measured = measured_of(pair, what, rank),
        .tolerance = validate->tolerances[judged],
    };
    if (row.predicted.count == 0 && row.measured.count == 0) {
        return;
    }
    if (row.predicted.count == 0 || row.measured.count == 0) {
        if (rank == GS_ALL_RANKS) {
            bool predicted = row.predicted.count > 0;
            gs_validate_remark(validate, "%s, %s: %s was %s and not %s: not compared.",
                               pair->scenario, pair->label, what->words,
                               predicted ? "predicted" : "measured",
                               predicted ? "measured" : "predicted");
        }
        return;
    }
    bool is_decisions = gs_metric_find(what->name) == gs_metric_count();
    if (is_decisions && row.predicted.value <= 0.0 && row.measured.value <= 0.0) {
        return; /* of a strategy that decides nothing */
    }
    row.judgement =
        gs_judge(what->yardstick, &row.predicted, &row.measured, step_ns, row.tolerance);
    pair->rows[pair->row_count++] = row;
}

static bool have_ranks(const gs_validate_run *const *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (runs[i]->ranks == NULL) {
            return false;
        }
    }
    return true;
}

static void add_rank_rows(gs_validate *validate, gs_validate_pair *pair, uint32_t ranks)
{
    const gs_judged *step = gs_judged_at(gs_judged_find("step_p50_ns"));
    for (uint32_t i = 0; i < gs_judged_count(); i++) {
        for (uint32_t rank = 0; gs_judged_at(i)->of_ranks && rank < ranks; rank++) {
            double step_ns = measured_of(pair, step, (int32_t)rank).value;
            add_row(validate, pair, i, (int32_t)rank, step_ns);
        }
    }
}

static void judge_pair(gs_validate *validate, gs_validate_pair *pair)
{
    tell_work(validate, pair);
    bool by_rank = have_ranks(pair->predicted, pair->predicted_count) &&
                   have_ranks(pair->measured, pair->measured_count);
    uint32_t ranks = by_rank ? (uint32_t)pair->of->scenario.ranks : 0;
    const gs_judged *step = gs_judged_at(gs_judged_find("step_p50_ns"));
    double step_ns = measured_of(pair, step, GS_ALL_RANKS).value;
    pair->rows = gs_need(GS_TAKE(&validate->arena, gs_validate_row,
                                 (size_t)gs_judged_count() * ((size_t)ranks + 1)));
    for (uint32_t i = 0; i < gs_judged_count(); i++) {
        if (pair->equal_seeds || !gs_judged_at(i)->by_seed) {
            add_row(validate, pair, i, GS_ALL_RANKS, step_ns);
        }
    }
    add_rank_rows(validate, pair, ranks);
    for (uint32_t i = 0; i < pair->row_count; i++) {
        gs_validate_row *row = &pair->rows[i];
        row->reason = reason_of(validate, pair, row);
        validate->row_count++;
        validate->outside += row->judgement.inside ? 0 : 1;
    }
}

/* ---------------------------------------------------------------- order */

/* The ratio of the measured steps of runs that belong together, by seed and repeat: what their
 * noise leaves of it. Without two such pairs nothing is known of the noise. */
static gs_ratio measured_ratio(const gs_validate_pair *slow, const gs_validate_pair *fast)
{
    gs_judged what = {.name = "step_mean_ns"};
    double *of_slow = gs_need(calloc((size_t)slow->measured_count + 1, sizeof *of_slow));
    double *of_fast = gs_need(calloc((size_t)slow->measured_count + 1, sizeof *of_fast));
    size_t count = 0;
    for (uint32_t i = 0; i < slow->measured_count; i++) {
        for (uint32_t k = 0; k < fast->measured_count; k++) {
            const gs_validate_run *one = slow->measured[i], *other = fast->measured[k];
            if (one->run.seed == other->run.seed && one->run.repeat == other->run.repeat) {
                of_slow[count] = value_of(one, &what);
                of_fast[count++] = value_of(other, &what);
                break;
            }
        }
    }
    gs_ratio ratio = gs_ratio_of(of_slow, of_fast, count);
    free(of_slow);
    free(of_fast);
    return ratio;
}

static void compare_order(gs_validate *validate, const gs_validate_pair *one,
                          const gs_validate_pair *other)
{
    const gs_validate_row *a = gs_validate_row_of(one, "step_mean_ns");
    const gs_validate_row *b = gs_validate_row_of(other, "step_mean_ns");
    if (a == NULL || b == NULL) {
        return; /* one was measured without its codec's work */
    }
    bool a_slower = a->measured.value > b->measured.value;
    const gs_validate_row *slow = a_slower ? a : b;
    const gs_validate_row *fast = a_slower ? b : a;
    double measured = slow->measured.value / fast->measured.value;
    double predicted = slow->predicted.value / fast->predicted.value;
    if (!(measured > ORDER_RATIO)) {
        return;
    }
    gs_ratio ratio = measured_ratio(a_slower ? one : other, a_slower ? other : one);
    if (gs_ratio_is_tie(&ratio)) {
        validate->tied++;
        gs_validate_remark(validate,
                           "%s: %s and %s tie in what was measured (ratio %.2f [%.2f, %.2f]): they "
                           "have no order to be right about; measure more repeats.",
                           one->scenario, (a_slower ? one : other)->label,
                           (a_slower ? other : one)->label, ratio.value, ratio.low, ratio.high);
        return;
    }
    validate->ordered++;
    if (predicted > 1.0) {
        validate->in_order++;
        return;
    }
    gs_validate_remark(validate,
                       "WRONG ORDER on %s: %s was measured %.0f %% slower than %s, and predicted "
                       "%.1f %% faster.",
                       one->scenario, (a_slower ? one : other)->label, 100.0 * (measured - 1.0),
                       (a_slower ? other : one)->label, 100.0 * (1.0 / predicted - 1.0));
}

void gs_validate_judge(gs_validate *validate)
{
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        judge_pair(validate, &validate->pairs[i]);
    }
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        for (uint32_t k = i + 1; k < validate->pair_count; k++) {
            if (validate->pairs[i].of->scenario.config_hash ==
                validate->pairs[k].of->scenario.config_hash) {
                compare_order(validate, &validate->pairs[i], &validate->pairs[k]);
            }
        }
    }
}
