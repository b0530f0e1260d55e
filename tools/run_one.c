#include "tools/run_one.h"

#include "tools/interrupt.h"
#include "tools/message.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* An event is a message, of which there are a million a second, or ends a gradient that takes a
 * second to compute. Between slices signals are heard and progress is told. */
enum { SLICE_EVENTS_MAX = 20000 };
static const gs_time_ns slice_ns = 10 * GS_NS_PER_MS;

static gs_time_ns clock_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (gs_time_ns)now.tv_sec * GS_NS_PER_S + now.tv_nsec;
}

static gs_run_status status_of(gs_status status)
{
    switch (status) {
    case GS_OK:
        return GS_RUN_OK;
    case GS_EDEADLOCK:
        return GS_RUN_DEADLOCK;
    case GS_EMISMATCH:
        return GS_RUN_MISMATCH;
    case GS_EDIVERGED:
        return GS_RUN_DIVERGED;
    case GS_EINTERRUPTED:
        return GS_RUN_INTERRUPTED;
    case GS_EINVAL:
    case GS_EPARSE:
    case GS_ENOTFOUND:
    case GS_EUNSUPPORTED:
    case GS_EIO:
    case GS_ENOMEM:
    case GS_ELIMIT:
    case GS_ECONTRACT:
    case GS_EBUSY:
    case GS_EVERSION:
        break;
    }
    return GS_RUN_ERROR;
}

static double *no_values(void)
{
    double *values = gs_need(malloc(gs_metric_count() * sizeof *values));
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        values[i] = (double)NAN;
    }
    return values;
}

void gs_outcome_fail(gs_outcome *out, const char *text)
{
    out->started = true;
    out->status = GS_RUN_ERROR;
    gs_fail(&out->result.error, GS_EIO, "%s", text);
    out->result.status = GS_EIO;
    out->values = no_values();
    gs_utc_now(out->started_utc);
}

static void play(const gs_run_plan *plan, gs_sim *sim)
{
    uint64_t events = 1;
    gs_time_ns began = clock_ns();
    while (gs_sim_run(sim, events)) {
        gs_time_ns now = clock_ns();
        if (now - began > slice_ns) {
            events = events > 1 ? events / 2 : 1;
        } else if (events < SLICE_EVENTS_MAX) {
            events *= 2;
        }
        began = now;
        if (gs_interrupt_signal() != 0) {
            gs_sim_interrupt(sim);
        }
        if (plan->progress != NULL) {
            plan->progress(plan->context, gs_sim_progress(sim));
        }
    }
}

void gs_outcome_begin(gs_outcome *out)
{
    *out = (gs_outcome){.started = true, .values = no_values()};
    gs_utc_now(out->started_utc);
}

void gs_outcome_end(gs_outcome *out)
{
    out->status = status_of(out->result.status);
    if (out->record != NULL && gs_record_mean_count(out->record) > 0 &&
        gs_record_metrics(out->record, &out->result.facts, out->values, &out->target_censored) !=
            GS_OK) {
        gs_need(NULL);
    }
}

void gs_run_one(const gs_run_plan *plan, uint32_t strategy, uint64_t seed, gs_outcome *out)
{
    gs_time_ns started = clock_ns();
    gs_outcome_begin(out);
    out->record = gs_need(gs_record_create(plan->scenario->ranks, plan->keep_all_ranks));
    gs_sim_config config = {
        .scenario = plan->scenario,
        .strategy = &plan->scenario->strategies[strategy],
        .seed = seed,
        .record = out->record,
        .look_every = plan->look_every,
        .threads = plan->threads,
    };
    gs_sim *sim = gs_sim_create(&config, &out->result.error);
    if (sim == NULL) {
        out->result.status = out->result.error.code;
    } else {
        play(plan, sim);
        gs_sim_result_get(sim, &out->result);
        gs_sim_destroy(sim);
    }
    out->wall_ns = clock_ns() - started;
    gs_outcome_end(out);
}

void gs_outcome_fini(gs_outcome *outcome)
{
    free(outcome->values);
    gs_record_destroy(outcome->record);
    *outcome = (gs_outcome){0};
}
