#include "tools/explain_measure.h"

#include "tools/message.h"

#include <math.h>

typedef struct sums {
    double step, compute, exposed, wait, input, overhead, comm, bytes;
} sums;

/* Parts as shares of the rows' durations, so that they add up to the mean step. */
static sums mean_step(const gs_record *record)
{
    sums all = {0};
    int64_t steps = gs_record_mean_count(record);
    double mean = 0.0;
    for (int64_t i = 1; i < steps - 1; i++) {
        mean += gs_record_mean_ns(record, i) / (double)(steps - 2);
    }
    for (int64_t i = 0; i < gs_record_step_count(record); i++) {
        gs_step_row row = gs_record_step_at(record, i);
        if (row.step > 0 && row.step < steps - 1) {
            all.step += (double)row.duration_ns;
            all.compute += (double)row.compute_ns;
            all.exposed += (double)row.exposed_comm_ns;
            all.wait += (double)row.wait_ns;
            all.input += (double)row.input_ns;
            all.overhead += (double)row.overhead_ns;
            all.comm += (double)row.comm_ns;
            all.bytes += (double)row.bytes_sent;
        }
    }
    double share = all.step > 0.0 ? mean / all.step : 0.0;
    double rank_steps = (double)(steps - 2) * gs_record_rank_count(record);
    return (sums){.step = mean,
                  .compute = all.compute * share,
                  .exposed = all.exposed * share,
                  .wait = all.wait * share,
                  .input = all.input * share,
                  .overhead = all.overhead * share,
                  .comm = all.comm * share,
                  .bytes = all.bytes / rank_steps};
}

/* Ranks that cut on their own differ in how many steps they make. */
static double mean_steps(const gs_record *record)
{
    uint32_t ranks = gs_record_rank_count(record);
    double all = 0.0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        all += (double)gs_record_rank_total(record, rank).step;
    }
    return all / ranks;
}

static void add(gs_measure *out, const gs_outcome *outcome, uint32_t seed)
{
    sums step = mean_step(outcome->record);
    double share = 1.0 / out->seeds;
    double steps = (double)outcome->result.steps;
    const gs_run_facts *facts = &outcome->result.facts;
    out->step_ns[seed] = step.step;
    double made = mean_steps(outcome->record);
    double begun = (double)facts->samples_per_step * made;
    double used = 1.0 - (double)facts->dropped_samples / begun;
    out->sample_ns[seed] = step.step / (double)facts->samples_per_step / used;
    out->mean_ns += step.step * share;
    out->compute_ns += step.compute * share;
    out->exposed_ns += step.exposed * share;
    out->wait_ns += step.wait * share;
    out->input_ns += step.input * share;
    out->overhead_ns += step.overhead * share;
    out->comm_ns += step.comm * share;
    out->rank_bytes += step.bytes * share;
    out->samples_per_step = (double)facts->samples_per_step;
    out->events_per_step += (double)facts->events / steps * share;
    for (int mode = 0; mode < GS_OP_MODE_COUNT; mode++) {
        out->ops[mode] += (double)outcome->result.ops[mode] / steps * share;
    }
    out->ops_returned += (double)outcome->result.ops_returned / steps * share;
    out->outside_curve = out->outside_curve || outcome->result.outside_curve;
    if (facts->nic_count > 0) {
        out->nic_bytes += (double)facts->nic_bytes_sent / facts->nic_count / made * share;
    }
}

void gs_measure_make(const gs_outcome *outcomes, uint32_t seeds, gs_arena *arena, gs_measure *out)
{
    *out = (gs_measure){.seeds = seeds};
    out->step_ns = gs_need(GS_TAKE(arena, double, seeds));
    out->sample_ns = gs_need(GS_TAKE(arena, double, seeds));
    for (uint32_t seed = 0; seed < seeds; seed++) {
        const gs_outcome *outcome = &outcomes[seed];
        bool good = outcome->started && outcome->status == GS_RUN_OK &&
                    gs_record_mean_count(outcome->record) > 2;
        if (good) {
            add(out, outcome, seed);
        } else if (out->error == NULL) {
            out->error = gs_need(gs_arena_text(arena, outcome->result.error.code == GS_OK
                                                          ? "did not run to its end"
                                                          : outcome->result.error.text));
        }
    }
    if (out->error != NULL) {
        out->mean_ns = (double)NAN;
    }
}
