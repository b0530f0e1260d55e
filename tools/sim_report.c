#include "tools/sim_report.h"

#include "base/assert.h"
#include "tools/codec_excess.h"
#include "tools/message.h"
#include "tools/recorded_step.h"
#include "tools/sim_quality.h"

#include <math.h>
#include <stdlib.h>

static double value_of(const gs_outcome *outcome, const char *metric)
{
    uint32_t index = gs_metric_find(metric);
    GS_ASSERT(index < gs_metric_count());
    return outcome->values[index];
}

static bool is_good(const gs_outcome *outcome)
{
    return outcome->started &&
           (outcome->status == GS_RUN_OK || outcome->status == GS_RUN_RECOVERED);
}

/* Messages of other sizes than links were calibrated with. */
static void count_messages(const gs_int_list *measured, const gs_sim_result *result,
                           gs_sim_row *row)
{
    if (measured->count == 0 || result->most_message_bytes == 0) {
        return;
    }
    int64_t least = result->least_message_bytes;
    int64_t most = result->most_message_bytes;
    bool is_least = row->below_message_bytes == 0 || least < row->below_message_bytes;
    if (least < measured->values[0] && is_least) {
        row->below_message_bytes = least;
    }
    if (most > measured->values[measured->count - 1] && most > row->above_message_bytes) {
        row->above_message_bytes = most;
    }
}

static void count_outcomes(const gs_scenario *scenario, gs_sim_row *row, const gs_outcome *outcomes)
{
    for (uint32_t i = 0; i < row->runs; i++) {
        const gs_outcome *outcome = &outcomes[i];
        if (is_good(outcome)) {
            row->good++;
            int64_t below = outcome->result.below_curve_bytes;
            int64_t above = outcome->result.above_curve_bytes;
            row->below_bytes = below > 0 && (row->below_bytes == 0 || below < row->below_bytes)
                                   ? below
                                   : row->below_bytes;
            row->above_bytes = above > row->above_bytes ? above : row->above_bytes;
            count_messages(&scenario->calibration.message_bytes, &outcome->result, row);
        } else if (!outcome->started || outcome->status == GS_RUN_INTERRUPTED) {
            row->left_out++;
        } else {
            row->diverged += outcome->status == GS_RUN_DIVERGED ? 1 : 0;
            row->failed += outcome->status == GS_RUN_DIVERGED ? 0 : 1;
            row->error = row->error == NULL ? outcome->result.error.text : row->error;
        }
    }
}

/* values [row->runs]: out, NAN where a run is not good. */
static gs_spread gather(const gs_sim_row *row, const gs_outcome *outcomes, const char *metric,
                        double *values)
{
    for (uint32_t i = 0; i < row->runs; i++) {
        values[i] = is_good(&outcomes[i]) ? value_of(&outcomes[i], metric) : (double)NAN;
    }
    return gs_spread_of(values, row->runs);
}

static void make_target(gs_sim_row *row, const gs_outcome *outcomes, const gs_workload *workload,
                        double *values)
{
    double *scratch = gs_need(calloc(row->runs + 1, sizeof *scratch));
    size_t count = 0;
    for (uint32_t i = 0; i < row->runs; i++) {
        row->seed_target_ns[i] = (double)NAN;
        if (is_good(&outcomes[i])) {
            bool reached = !outcomes[i].target_censored;
            double time = value_of(&outcomes[i], "time_to_target_ns");
            row->seed_target_ns[i] = reached ? time : (double)NAN;
            values[count++] = row->seed_target_ns[i];
            row->reached += reached && isfinite(time) ? 1 : 0;
            double left = row->seed_learned[i] - workload->target_value;
            bool fell = workload->quality == GS_ACCURACY ? left < 0.0 : left > 0.0;
            row->fell_back += reached && isfinite(time) && fell ? 1 : 0;
        }
    }
    row->target_ns = gs_median_censored(values, count, scratch);
    free(scratch);
}

/* Steps of the good runs, each the mean over its ranks, as the quantiles are. */
static gs_chance chance_over(const gs_sim_row *row, const gs_outcome *outcomes,
                             gs_time_ns step_limit_ns)
{
    gs_run_steps *runs = gs_need(calloc(row->runs + 1, sizeof *runs));
    double **durations = gs_need(calloc(row->runs + 1, sizeof *durations));
    for (uint32_t i = 0; i < row->runs; i++) {
        if (!is_good(&outcomes[i])) {
            continue;
        }
        int64_t count = gs_record_mean_count(outcomes[i].record);
        durations[i] = gs_need(calloc((size_t)count + 1, sizeof *durations[i]));
        for (int64_t step = 0; step < count; step++) {
            durations[i][step] = gs_record_mean_ns(outcomes[i].record, step);
        }
        runs[i] = (gs_run_steps){durations[i], (size_t)count};
    }
    gs_chance chance = gs_chance_over(runs, row->runs, (double)step_limit_ns);
    for (uint32_t i = 0; i < row->runs; i++) {
        free(durations[i]);
    }
    free(durations);
    free(runs);
    return chance;
}

static double first_loss(const gs_outcome *outcome)
{
    double loss = (double)NAN;
    int64_t count = is_good(outcome) ? gs_record_curve_count(outcome->record) : 0;
    for (int64_t i = 0; i < count && isnan(loss); i++) {
        loss = gs_record_curve_at(outcome->record, i).loss;
    }
    return loss;
}

/* What each run learned, and the target. values [row->runs] is scratch. */
static void make_learned(gs_sim_row *row, const gs_outcome *outcomes, const gs_workload *workload,
                         double *values)
{
    double **lists[] = {&row->seed_target_ns, &row->seed_learned, &row->seed_accuracy,
                        &row->seed_loss, &row->seed_first_loss};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = gs_need(calloc(row->runs + 1, sizeof **lists[i]));
    }
    row->learned = gather(row, outcomes, gs_quality_metric(workload->quality), row->seed_learned);
    gather(row, outcomes, "final_accuracy", row->seed_accuracy);
    row->final_loss = gather(row, outcomes, "final_loss", row->seed_loss);
    for (uint32_t i = 0; i < row->runs; i++) {
        row->seed_first_loss[i] = first_loss(&outcomes[i]);
    }
    row->gradient_cosine = gather(row, outcomes, "gradient_cosine_ratio", values);
    row->underflow = gather(row, outcomes, "underflow_ratio", values);
    make_target(row, outcomes, workload, values);
}

static void make_row(gs_sim_row *row, const gs_outcome *outcomes, const gs_scenario *scenario)
{
    const gs_workload *workload = &scenario->workload;
    double *values = gs_need(calloc(row->runs + 1, sizeof *values));
    count_outcomes(scenario, row, outcomes);
    row->sample_ns = gs_need(calloc(row->runs + 1, sizeof *row->sample_ns));
    row->rate = gather(row, outcomes, "samples_per_s", row->sample_ns);
    for (uint32_t i = 0; i < row->runs; i++) {
        row->sample_ns[i] = 1e9 / row->sample_ns[i];
    }
    row->step = gather(row, outcomes, "step_mean_ns", values);
    row->p50 = gather(row, outcomes, "step_p50_ns", values);
    row->p95 = gather(row, outcomes, "step_p95_ns", values);
    row->p99 = gather(row, outcomes, "step_p99_ns", values);
    row->overlap = gather(row, outcomes, "overlap_efficiency_ratio", values);
    row->exposed_share = gather(row, outcomes, "exposed_ratio", values);
    row->utilisation = gather(row, outcomes, "utilisation_ratio", values);
    row->recovery = gather(row, outcomes, "recovery_cost_ns", values);
    row->cosine = gather(row, outcomes, "fidelity_cosine_ratio", values);
    row->error_ratio = gather(row, outcomes, "fidelity_error_ratio", values);
    row->compute = gather(row, outcomes, "compute_ns", values);
    row->input = gather(row, outcomes, "input_ns", values);
    row->exposed = gather(row, outcomes, "exposed_comm_ns", values);
    row->wait = gather(row, outcomes, "wait_ns", values);
    row->overhead = gather(row, outcomes, "overhead_ns", values);
    row->wire = gather(row, outcomes, "wire_bytes_per_step", values);
    row->staleness = gather(row, outcomes, "staleness_mean", values);
    row->dropped = gather(row, outcomes, "dropped_samples", values);
    row->noise_scale = gather(row, outcomes, "noise_scale_samples", values);
    row->consensus = gather(row, outcomes, "consensus_distance", values);
    make_learned(row, outcomes, workload, values);
    free(values);
}

char *gs_sim_limit_text(gs_time_ns limit_ns, char out[GS_UNIT_TEXT_BYTES])
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}};
    size_t unit = 0;
    while (unit < 3 && (double)limit_ns < units[unit].ns) {
        unit++;
    }
    snprintf(out, GS_UNIT_TEXT_BYTES, "%.12g %s", (double)limit_ns / units[unit].ns,
             units[unit].name);
    return out;
}

void gs_sim_report_make(const gs_scenario *scenario, uint32_t seeds, const gs_outcome *outcomes,
                        gs_time_ns step_limit_ns, gs_sim_report *out)
{
    const gs_workload *workload = &scenario->workload;
    char limit[GS_UNIT_TEXT_BYTES];
    *out = (gs_sim_report){.scenario = scenario,
                           .step_limit_ns = step_limit_ns,
                           .row_count = scenario->strategy_count};
    snprintf(out->limit_title, sizeof out->limit_title, "P(step > %s)",
             gs_sim_limit_text(step_limit_ns, limit));
    snprintf(out->learned_title, sizeof out->learned_title, "final %s +- sd",
             gs_quality_words(workload->quality));
    snprintf(out->target_text, sizeof out->target_text, "%s %g",
             gs_quality_words(workload->quality), workload->target_value);
    out->rows = gs_need(calloc(out->row_count, sizeof *out->rows));
    for (uint32_t s = 0; s < out->row_count; s++) {
        gs_sim_row *row = &out->rows[s];
        row->label = scenario->strategies[s].label;
        row->runs = seeds;
        make_row(row, &outcomes[(size_t)s * seeds], scenario);
        row->vs_first = gs_ratio_of(out->rows[0].sample_ns, row->sample_ns, seeds);
        row->faster = gs_chance_faster(out->rows[0].sample_ns, row->sample_ns, seeds);
        if (step_limit_ns > 0) {
            row->over = chance_over(row, &outcomes[(size_t)s * seeds], step_limit_ns);
        }
    }
}

void gs_sim_report_free(gs_sim_report *report)
{
    for (uint32_t s = 0; s < report->row_count; s++) {
        free(report->rows[s].sample_ns);
        free(report->rows[s].seed_target_ns);
        free(report->rows[s].seed_learned);
        free(report->rows[s].seed_accuracy);
        free(report->rows[s].seed_loss);
        free(report->rows[s].seed_first_loss);
    }
    free(report->rows);
    *report = (gs_sim_report){0};
}

/* Sizes that the curve does not hold: which side, what was done, and what to measure. */
static void put_outside(const gs_scenario *scenario, const gs_sim_row *row, FILE *out)
{
    const gs_curve *curve = gs_scenario_outer_link(scenario)->curve;
    char sent[GS_UNIT_TEXT_BYTES];
    char measured[GS_UNIT_TEXT_BYTES];
    if (row->below_bytes > 0) {
        fprintf(out,
                "%s: outside the calibrated range: it sends down to %s, the curve begins at %s; "
                "what is smaller is taken as the time of the smallest measured size; measure "
                "smaller ones\n",
                row->label, gs_format_bytes(row->below_bytes, sent),
                gs_format_bytes(curve->points[0].bytes, measured));
    }
    if (row->above_bytes > 0) {
        fprintf(out,
                "%s: outside the calibrated range: it sends up to %s, the curve ends at %s; what "
                "is larger is extrapolated; measure larger ones\n",
                row->label, gs_format_bytes(row->above_bytes, sent),
                gs_format_bytes(curve->points[curve->point_count - 1].bytes, measured));
    }
}

/* The same of messages, where links were calibrated. */
static void put_messages_outside(const gs_scenario *scenario, const gs_sim_row *row, FILE *out)
{
    const gs_int_list *sizes = &scenario->calibration.message_bytes;
    char sent[GS_UNIT_TEXT_BYTES];
    char measured[GS_UNIT_TEXT_BYTES];
    if (row->below_message_bytes > 0) {
        fprintf(out,
                "%s: outside the calibrated range: it sends messages down to %s, links were "
                "measured with %s and more; what is smaller is extrapolated\n",
                row->label, gs_format_bytes(row->below_message_bytes, sent),
                gs_format_bytes(sizes->values[0], measured));
    }
    if (row->above_message_bytes > 0) {
        fprintf(out,
                "%s: outside the calibrated range: it sends messages up to %s, links were measured "
                "with up to %s; what is larger is extrapolated\n",
                row->label, gs_format_bytes(row->above_message_bytes, sent),
                gs_format_bytes(sizes->values[sizes->count - 1], measured));
    }
}

/* A mean far above the median: most steps are short and some, such as those that synchronise, long.
 */
static void put_median(const gs_sim_row *row, FILE *out)
{
    static const double far_ratio = 1.1;
    char p50[GS_UNIT_TEXT_BYTES];
    char mean[GS_UNIT_TEXT_BYTES];
    char p95[GS_UNIT_TEXT_BYTES];
    if (row->step.mean > far_ratio * row->p50.mean) {
        fprintf(out,
                "%s: the median step (%s) hides the long ones: mean %s, p95 %s; compare means\n",
                row->label, gs_format_duration((gs_time_ns)llround(row->p50.mean), p50),
                gs_format_duration((gs_time_ns)llround(row->step.mean), mean),
                gs_format_duration((gs_time_ns)llround(row->p95.mean), p95));
    }
}

/* Gradients that 16 bits do not hold are not learned from, and nothing else shows it. */
static void put_underflow(const gs_scenario *scenario, const gs_sim_row *row, FILE *out)
{
    static const double much_ratio = 0.05;
    if (row->underflow.mean > much_ratio) {
        fprintf(out,
                "%s: %.0f %% of the gradient's elements became 0 in %s; a larger "
                "optimizer.loss_scale keeps them\n",
                row->label, 100.0 * row->underflow.mean,
                scenario->workload.number == GS_FP16 ? "fp16" : "bf16");
    }
}

static void put_recorded(const gs_sim_report *report, uint32_t strategy, FILE *out)
{
    double mean_ns = report->rows[strategy].step.mean;
    char *text =
        report->is_measured ? NULL : gs_recorded_step_text(report->scenario, strategy, mean_ns);
    if (text != NULL) {
        fprintf(out, "%s\n", text);
    }
    free(text);
}

static void put_excess(const gs_sim_report *report, uint32_t strategy, FILE *out)
{
    char *text = gs_codec_excess_text(report->scenario, &report->scenario->strategies[strategy]);
    if (text != NULL) {
        fprintf(out, "%s\n", text);
    }
    free(text);
}

void gs_sim_report_remarks(const gs_sim_report *report, FILE *out)
{
    if (report->rows[0].runs > 1 && !report->is_measured &&
        !gs_scenario_is_random(report->scenario)) {
        fputs("no noise and no real gradients: seeds cannot matter, --seeds 1 says the same\n",
              out);
    }
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        if (row->diverged + row->failed > 0) {
            fprintf(out, "%s: %u of %u runs failed (%u diverged) and are not in the means: %s\n",
                    row->label, row->diverged + row->failed, row->runs, row->diverged, row->error);
        }
        if (row->left_out > 0) {
            fprintf(out, "%s: interrupted: %u of %u runs did not end and are not in the means\n",
                    row->label, row->left_out, row->runs);
        }
        put_outside(report->scenario, row, out);
        put_messages_outside(report->scenario, row, out);
        put_median(row, out);
        gs_sim_put_guesses(report, row, out);
        put_underflow(report->scenario, row, out);
        put_excess(report, s, out);
        put_recorded(report, s, out);
    }
    char *other = report->is_measured ? NULL : gs_recorded_other_text(report->scenario);
    if (other != NULL) {
        fprintf(out, "%s\n", other);
    }
    free(other);
}
