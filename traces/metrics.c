#include "traces/record.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
#define GS_METRIC(name, unit, better, exact, help) AT_##name,
#include "traces/metrics.def"
#undef GS_METRIC
    METRIC_COUNT
};

static const gs_metric metrics[METRIC_COUNT] = {
#define GS_METRIC(name, unit, better, exact, help) {#name, unit, better, exact, help},
#include "traces/metrics.def"
#undef GS_METRIC
};

uint32_t gs_metric_count(void)
{
    return METRIC_COUNT;
}

const gs_metric *gs_metric_at(uint32_t index)
{
    GS_ASSERT(index < METRIC_COUNT);
    return &metrics[index];
}

/* "step_p50" is step_p50_ns: the name without "_" and its unit. */
static bool is_name(const gs_metric *metric, const char *name)
{
    if (strcmp(metric->name, name) == 0) {
        return true;
    }
    size_t length = strlen(name);
    return strncmp(metric->name, name, length) == 0 && metric->name[length] == '_' &&
           strcmp(metric->name + length + 1, metric->unit) == 0;
}

uint32_t gs_metric_find(const char *name)
{
    uint32_t index = 0;
    while (index < METRIC_COUNT && !is_name(&metrics[index], name)) {
        index++;
    }
    return index;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double gs_quantile_of_sorted(const double *sorted, int64_t count, double p)
{
    GS_ASSERT(count > 0);
    double place = (double)(count - 1) * p;
    double below = floor(place);
    int64_t index = (int64_t)below;
    if (index + 1 >= count) {
        return sorted[count - 1];
    }
    return sorted[index] + (place - below) * (sorted[index + 1] - sorted[index]);
}

static gs_status put_quantiles(const gs_record *record, double *values)
{
    int64_t count = gs_record_mean_count(record);
    if (count == 0) {
        return GS_OK;
    }
    double *durations_ns = malloc((size_t)count * sizeof *durations_ns);
    if (durations_ns == NULL) {
        return GS_ENOMEM;
    }
    for (int64_t i = 0; i < count; i++) {
        durations_ns[i] = gs_record_mean_ns(record, i);
    }
    qsort(durations_ns, (size_t)count, sizeof *durations_ns, by_value);
    values[AT_step_p50_ns] = gs_quantile_of_sorted(durations_ns, count, 0.50);
    values[AT_step_p95_ns] = gs_quantile_of_sorted(durations_ns, count, 0.95);
    values[AT_step_p99_ns] = gs_quantile_of_sorted(durations_ns, count, 0.99);
    free(durations_ns);
    return GS_OK;
}

/* Means over all steps of all ranks, so that the parts add up to the step. */
static void put_parts(const gs_step_row *sum, double *values)
{
    double count = (double)sum->step;
    values[AT_step_mean_ns] = (double)sum->duration_ns / count;
    values[AT_compute_ns] = (double)sum->compute_ns / count;
    values[AT_exposed_comm_ns] = (double)sum->exposed_comm_ns / count;
    values[AT_wait_ns] = (double)sum->wait_ns / count;
    values[AT_input_ns] = (double)sum->input_ns / count;
    values[AT_overhead_ns] = (double)sum->overhead_ns / count;
    values[AT_comm_ns] = (double)sum->comm_ns / count;
}

/* Shares of the same sums; nan where the whole is nothing. */
static double share(gs_time_ns part, gs_time_ns whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static void put_shares(const gs_record *record, const gs_step_row *sum, double *values)
{
    values[AT_overlap_efficiency_ratio] =
        share(sum->comm_ns - sum->exposed_comm_ns, gs_record_hideable_ns(record));
    values[AT_exposed_ratio] = share(sum->exposed_comm_ns, sum->duration_ns);
    values[AT_utilisation_ratio] = share(sum->compute_ns, sum->duration_ns);
}

static gs_step_row total_of(const gs_record *record)
{
    gs_step_row sum = {.rank = GS_ALL_RANKS};
    for (uint32_t rank = 0; rank < gs_record_rank_count(record); rank++) {
        gs_step_row total = gs_record_rank_total(record, rank);
        sum.step += total.step;
        sum.duration_ns += total.duration_ns;
        sum.compute_ns += total.compute_ns;
        sum.comm_ns += total.comm_ns;
        sum.exposed_comm_ns += total.exposed_comm_ns;
        sum.wait_ns += total.wait_ns;
        sum.input_ns += total.input_ns;
        sum.overhead_ns += total.overhead_ns;
    }
    return sum;
}

const char *const gs_quality_names[] = {
    [GS_ACCURACY] = "accuracy", [GS_LOSS] = "loss", [GS_BITS_PER_CHAR] = "bits_per_char", NULL};

const char *gs_quality_words(gs_quality quality)
{
    return quality == GS_BITS_PER_CHAR ? "bits per character" : gs_quality_names[quality];
}

const char *gs_quality_metric(gs_quality quality)
{
    static const char *const names[GS_QUALITY_COUNT] = {
        [GS_ACCURACY] = "final_accuracy",
        [GS_LOSS] = "final_loss",
        [GS_BITS_PER_CHAR] = "final_bits_per_char",
    };
    return names[quality];
}

double gs_quality_of(gs_quality quality, const gs_curve_row *row)
{
    if (quality == GS_ACCURACY) {
        return row->accuracy;
    }
    return quality == GS_LOSS ? row->loss : row->loss / log(2.0);
}

bool gs_target_is_reached(gs_quality quality, double target, const gs_curve_row *row)
{
    double value = gs_quality_of(quality, row);
    return target > 0.0 && (quality == GS_ACCURACY ? value >= target : value <= target);
}

/* The curve in one pass: last values, and the first row that reached the target. */
static bool put_curve(const gs_record *record, const gs_run_facts *facts, double *values)
{
    double target = facts->target_value;
    bool evaluated = false;
    bool reached = false;
    for (int64_t i = 0; i < gs_record_curve_count(record); i++) {
        gs_curve_row row = gs_record_curve_at(record, i);
        if (!isnan(row.loss)) {
            values[AT_final_loss] = row.loss;
            values[AT_final_bits_per_char] =
                facts->is_text ? gs_quality_of(GS_BITS_PER_CHAR, &row) : (double)NAN;
        }
        if (!isnan(row.accuracy)) {
            values[AT_final_accuracy] = row.accuracy;
        }
        double value = gs_quality_of(facts->target_quality, &row);
        if (isnan(value)) {
            continue;
        }
        evaluated = true;
        if (!reached && gs_target_is_reached(facts->target_quality, target, &row)) {
            values[AT_time_to_target_ns] = (double)row.time_ns;
            values[AT_samples_to_target] = (double)row.samples;
            reached = true;
        }
    }
    bool censored = evaluated && !reached && target > 0.0;
    if (censored) {
        values[AT_time_to_target_ns] = (double)facts->end_ns;
    }
    return censored;
}

static void put_learning(const gs_run_facts *facts, double *values)
{
    if (facts->fidelity_steps > 0) {
        values[AT_fidelity_cosine_ratio] = facts->fidelity_cosine;
        values[AT_fidelity_error_ratio] = facts->fidelity_error;
    }
    values[AT_dropped_samples] = (double)facts->dropped_samples;
    if (facts->applied_gradients > 0) {
        values[AT_staleness_mean] = facts->staleness_mean;
        values[AT_staleness_p95] = facts->staleness_p95;
        values[AT_staleness_max] = facts->staleness_max;
    }
    if (facts->compared_steps > 0) {
        values[AT_gradient_cosine_ratio] = facts->gradient_cosine;
        values[AT_noise_scale_samples] = facts->noise_scale_samples;
    }
    if (facts->rounded_elements > 0) {
        values[AT_underflow_ratio] =
            (double)facts->underflown_elements / (double)facts->rounded_elements;
    }
    if (facts->has_models && !facts->diverged) {
        values[AT_consensus_distance] = facts->consensus_distance;
    }
}

gs_status gs_record_metrics(const gs_record *record, const gs_run_facts *facts, double *values,
                            bool *out_censored)
{
    for (uint32_t i = 0; i < METRIC_COUNT; i++) {
        values[i] = (double)NAN;
    }
    GS_TRY(put_quantiles(record, values));
    gs_step_row sum = total_of(record);
    /* Asynchronous ranks differ in how many steps they have done: their mean stands for the job. */
    double steps = (double)sum.step / (double)gs_record_rank_count(record);
    if (sum.step > 0) {
        put_parts(&sum, values);
        put_shares(record, &sum, values);
        if (facts->nic_count > 0) {
            values[AT_wire_bytes_per_step] =
                (double)facts->nic_bytes_sent / (double)facts->nic_count / steps;
        }
    }
    double begun = (double)facts->samples_per_step * steps;
    values[AT_samples] = begun - (double)facts->cancelled_samples;
    values[AT_run_ns] = (double)facts->end_ns;
    values[AT_recovery_cost_ns] = (double)facts->recovery_ns;
    if (facts->end_ns > 0) {
        double used = begun - (double)facts->dropped_samples;
        values[AT_samples_per_s] = used * (double)GS_NS_PER_S / (double)facts->end_ns;
    }
    values[AT_events] = (double)facts->events;
    put_learning(facts, values);
    *out_censored = !facts->diverged && put_curve(record, facts, values);
    return GS_OK;
}
