#include "tools/sim_quality.h"

#include "tools/message.h"

#include <math.h>
#include <stdlib.h>

/* --- who ends best ---------------------------------------------------------------------------- */

/* By how much one ends worse than another, seed by seed: above 0 where it does. */
typedef struct lag {
    gs_spread spread;
    bool is_clear; /* more than noise; with one seed, all there is */
    bool by_each;  /* the interval has 0 in it, but each seed says so, and by much */
} lag;

static lag lag_of(const gs_sim_report *report, const gs_sim_row *better, const gs_sim_row *worse)
{
    static const double much_ratio =
        0.1; /* of what the better one has: few seeds agree by chance */
    bool more_is_better = report->scenario->workload.quality == GS_ACCURACY;
    double *lags = gs_need(calloc(better->runs + 1, sizeof *lags));
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < better->runs; i++) {
        double more = better->seed_learned[i] - worse->seed_learned[i];
        lags[i] = more_is_better ? more : -more;
        least = fmin(least, lags[i]);
    }
    lag out = {.spread = gs_spread_of(lags, better->runs)};
    free(lags);
    if (out.spread.count == 1) {
        out.is_clear = out.spread.mean > 0.0;
    } else if (out.spread.count > 1) {
        out.by_each = !(out.spread.low > 0.0) && least > 0.0 &&
                      out.spread.mean > much_ratio * fabs(better->learned.mean);
        out.is_clear = out.spread.low > 0.0 || out.by_each;
    }
    return out;
}

static const gs_sim_row *best_of(const gs_sim_report *report)
{
    bool more_is_better = report->scenario->workload.quality == GS_ACCURACY;
    const gs_sim_row *best = NULL;
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        if (isfinite(row->learned.mean) &&
            (best == NULL || (more_is_better ? row->learned.mean > best->learned.mean
                                             : row->learned.mean < best->learned.mean))) {
            best = row;
        }
    }
    return best;
}

/* What the record has that tells the two apart, as a hint: ": its gradients are 6.9 updates old".
 */
static char *cause_text(const gs_sim_report *report, const gs_sim_row *row, const gs_sim_row *best)
{
    static const double clear_staleness = 1.0; /* updates more than the best one has */
    static const double clear_cosine = 0.1;    /* less */
    static const double apart = 0.5;           /* cosine between ranks */
    double best_cosine = isfinite(best->cosine.mean) ? best->cosine.mean : 1.0;
    double best_staleness = isfinite(best->staleness.mean) ? best->staleness.mean : 0.0;
    if (row->staleness.mean >= best_staleness + clear_staleness) {
        return gs_text(": its gradients are %.3g updates old", row->staleness.mean);
    }
    /* Who averages models may end with equal ones, and has no fidelity. */
    bool learns_apart = row->consensus.mean > 0.0 || !isfinite(row->cosine.mean);
    if (learns_apart && row->gradient_cosine.mean < apart &&
        report->scenario->workload.task.data.shards.kind != GS_SHARDS_IID) {
        return gs_text(": its ranks learn apart, from unlike shards (cosine of their gradients "
                       "%.2f)",
                       row->gradient_cosine.mean);
    }
    if (row->cosine.mean <= best_cosine - clear_cosine) {
        return gs_text(": what it applies has a cosine of %.2f with the exact gradient",
                       row->cosine.mean);
    }
    return gs_text("%s", "");
}

/* "; X, the fastest, ends at 0.193, 0.338 below it (95 % CI 0.31 to 0.36, 5 seeds)", or nothing. */
static char *worse_text(const gs_sim_report *report, const gs_sim_row *row, const gs_sim_row *best,
                        const char *praise)
{
    bool more_is_better = report->scenario->workload.quality == GS_ACCURACY;
    lag loss = lag_of(report, best, row);
    if (row == best || !loss.is_clear) {
        return gs_text("%s", "");
    }
    const gs_spread *spread = &loss.spread;
    const char *pair = report->is_measured ? "run" : "seed";
    char *sure = spread->count == 1 ? gs_text("one %s: no interval", pair)
                 : loss.by_each     ? gs_text("with each %s; 95 %% CI %.3g to %.3g, %zu %ss", pair,
                                              spread->low, spread->high, spread->count, pair)
                                    : gs_text("95 %% CI %.3g to %.3g, %zu %ss", spread->low,
                                              spread->high, spread->count, pair);
    char *cause = cause_text(report, row, best);
    char *text =
        gs_text("; %s, %s, ends at %.4g, %.3g %s it (%s)%s", row->label, praise, row->learned.mean,
                spread->mean, more_is_better ? "below" : "above", sure, cause);
    free(sure);
    free(cause);
    return text;
}

/* How many others end within noise of the best: " (2 others within noise)". */
static char *others_text(const gs_sim_report *report, const gs_sim_row *best)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        lag loss = lag_of(report, best, row);
        count += row != best && loss.spread.count > 0 && !loss.is_clear ? 1 : 0;
    }
    return count == 0 ? gs_text("%s", "")
                      : gs_text(" (%u other%s within noise of it)", count, count == 1 ? "" : "s");
}

char *gs_sim_quality_text(const gs_sim_report *report, const gs_sim_row *fastest,
                          const gs_sim_row *first)
{
    const gs_sim_row *best = best_of(report);
    if (best == NULL) {
        return gs_text("%s", "");
    }
    char *others = others_text(report, best);
    char *fast = worse_text(report, fastest, best, "the fastest");
    char *soon = first == NULL || first == fastest
                     ? gs_text("%s", "")
                     : worse_text(report, first, best, "first at the target");
    char *text = gs_text(" %s ends best, at %s %.4g%s%s%s.", best->label,
                         gs_quality_words(report->scenario->workload.quality), best->learned.mean,
                         others, fast, soon);
    free(others);
    free(fast);
    free(soon);
    return text;
}

/* --- the target, left again ------------------------------------------------------------------- */

char *gs_sim_fallen_text(const gs_sim_report *report)
{
    double target = report->scenario->workload.target_value;
    bool more_is_better = report->scenario->workload.quality == GS_ACCURACY;
    char *text = gs_text("%s", "");
    for (uint32_t s = 0; s < report->row_count && target > 0.0; s++) {
        const gs_sim_row *row = &report->rows[s];
        double final = row->learned.mean;
        if (isfinite(row->target_ns) && (more_is_better ? final < target : final > target)) {
            char *longer = gs_text("%s %s reaches %g and yet ends %s it: at %.4g, %u of %u runs.",
                                   text, row->label, target, more_is_better ? "below" : "above",
                                   final, row->fell_back, row->good);
            free(text);
            text = longer;
        }
    }
    return text;
}

/* --- nothing learned -------------------------------------------------------------------------- */

/* Share of the largest class among the answers of the test rows; NAN where answers are numbers. */
static double largest_class(const gs_dataset *data)
{
    if (data == NULL || data->shape.kind != GS_ANSWER_CLASS || data->labels == NULL) {
        return (double)NAN;
    }
    int64_t counts[UINT8_MAX + 1] = {0};
    int64_t largest = 0;
    for (int64_t i = 0; i < data->test_count; i++) {
        int64_t row = data->split[data->train_count + i];
        for (int64_t k = 0; k < data->shape.answer_count; k++) {
            int64_t *count = &counts[data->labels[row * data->answer_stride + k]];
            (*count)++;
            largest = *count > largest ? *count : largest;
        }
    }
    return (double)largest / (double)(data->test_count * data->shape.answer_count);
}

/* With a step of consensus, gamma, and a codec between: that is what diverges first. */
static bool gossips_coded(const gs_sim_report *report, const gs_sim_row *row)
{
    const gs_strategy_choice *choice = &report->scenario->strategies[row - report->rows];
    const gs_field_table *table = choice->strategy->config;
    return choice->coding.codec != NULL && gs_config_find(table, "gamma") < table->field_count;
}

static void put_guess(const gs_sim_report *report, const gs_sim_row *row, double share,
                      double even_loss, FILE *out)
{
    double rate = report->scenario->workload.task.optimizer.rate;
    uint32_t guesses = 0;
    uint32_t blown = 0;
    double accuracy = 0.0;
    static const double far_ratio = 10.0;
    const char *gamma = gossips_coded(report, row)
                            ? "gamma may be too large for what its codec leaves out, or "
                            : "";
    for (uint32_t i = 0; i < row->runs; i++) {
        bool guesses_it = row->seed_accuracy[i] <= share;
        guesses += guesses_it ? 1 : 0;
        accuracy += guesses_it ? row->seed_accuracy[i] : 0.0;
        blown += !guesses_it && row->seed_loss[i] > far_ratio * even_loss ? 1 : 0;
    }
    if (guesses > 0) {
        bool rose = row->final_loss.mean > even_loss;
        fprintf(out,
                "%s: %u of %u runs end no better than guessing (accuracy %.3g, the largest class "
                "has %.3g); %soptimizer.rate=%g may be %s\n",
                row->label, guesses, row->good, accuracy / guesses, share, rose ? gamma : "", rate,
                rose ? "too large" : "too small, or the budget");
    }
    if (blown > 0) {
        fprintf(out,
                "%s: %u of %u runs have blown up: final loss %.3g, an even guess has %.3g; "
                "%soptimizer.rate=%g may be too large\n",
                row->label, blown, row->good, row->final_loss.mean, even_loss, gamma, rate);
    }
}

void gs_sim_put_guesses(const gs_sim_report *report, const gs_sim_row *row, FILE *out)
{
    const gs_workload *workload = &report->scenario->workload;
    static const double clear_ratio = 1.1; /* what a loss that has come to rest goes up and down */
    double share = largest_class(workload->dataset);
    if (!workload->real_gradients || row->good == 0) {
        return;
    }
    if (isfinite(share)) {
        put_guess(report, row, share, log((double)workload->dataset->shape.answer_width), out);
        return;
    }
    uint32_t risen = 0;
    for (uint32_t i = 0; i < row->runs; i++) {
        risen += row->seed_loss[i] > clear_ratio * row->seed_first_loss[i] ? 1 : 0;
    }
    if (risen > 0) {
        fprintf(out,
                "%s: the loss of %u of %u runs ends above that of the first evaluation (mean "
                "%.3g); optimizer.rate=%g may be too large\n",
                row->label, risen, row->good, row->final_loss.mean, workload->task.optimizer.rate);
    }
}
