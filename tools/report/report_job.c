/* Runs of one scenario, put together again as the command that made them had them. */
#include "tools/report/report.h"

#include "tools/message.h"
#include "tools/stored_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *take(gs_report *report, size_t count, size_t bytes)
{
    void *memory = gs_need(gs_arena_take(&report->arena, count + 1, bytes));
    memset(memory, 0, (count + 1) * bytes);
    return memory;
}

/* ---------------------------------------------------------------- which runs */

/* Strategies of `recommend` have rates of their own, and so configurations of their own: one job
 * where no strategy has two. */
static bool is_same_job(const gs_report *report, const gs_set_run *one, const gs_set_run *other)
{
    if (one->run.source != other->run.source ||
        strcmp(one->run.scenario.name, other->run.scenario.name) != 0) {
        return false;
    }
    if (one->run.scenario.config_hash == other->run.scenario.config_hash) {
        return true;
    }
    for (uint32_t i = 0; i < report->set.count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const gs_set_run *a = &report->set.runs[i];
            const gs_set_run *b = &report->set.runs[k];
            if (a->label == b->label && a->run.source == b->run.source &&
                a->run.scenario.config_hash != b->run.scenario.config_hash) {
                return false;
            }
        }
    }
    return true;
}

static gs_report_job *job_of(gs_report *report, const gs_set_run *run)
{
    for (uint32_t i = 0; i < report->job_count; i++) {
        if (is_same_job(report, report->jobs[i].runs[0], run)) {
            return &report->jobs[i];
        }
    }
    gs_report_job *job = &report->jobs[report->job_count++];
    *job = (gs_report_job){.name = run->run.scenario.name,
                           .runs = take(report, report->set.count, sizeof *job->runs),
                           .is_measured = run->run.source == GS_SOURCE_LIVE};
    return job;
}

static void list_strategies(gs_report *report, gs_report_job *job)
{
    job->strategies = take(report, job->count, sizeof *job->strategies);
    job->labels = take(report, job->count, sizeof *job->labels);
    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t place = 0;
        while (place < job->strategy_count && job->labels[place] != job->runs[i]->label) {
            place++;
        }
        if (place == job->strategy_count) {
            job->labels[place] = job->runs[i]->label;
            job->strategies[job->strategy_count++] = &job->runs[i]->run;
        }
    }
}

static void list_words(gs_report *report, gs_report_job *job)
{
    job->words = take(report, (size_t)job->count + 1, sizeof *job->words);
    for (uint32_t i = 0; i < job->count; i++) {
        char *id = gs_text("%" PRId64, job->runs[i]->id);
        job->words[i + 1] = gs_need(gs_arena_text(&report->arena, id));
        free(id);
    }
}

/* ---------------------------------------------------------------- what they say */

/* Seeds, each as often as it was repeated: the place of a run among those of its strategy. */
typedef struct slot {
    uint64_t seed;
    int64_t repeat;
} slot;

static uint32_t slot_of(slot *slots, uint32_t *count, const gs_stored_run *run)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (slots[i].seed == run->seed && slots[i].repeat == run->repeat) {
            return i;
        }
    }
    slots[*count] = (slot){run->seed, run->repeat};
    return (*count)++;
}

static int by_seed(const void *a, const void *b)
{
    const slot *one = a;
    const slot *other = b;
    int seed = (one->seed > other->seed) - (one->seed < other->seed);
    return seed != 0 ? seed : (one->repeat > other->repeat) - (one->repeat < other->repeat);
}

static gs_status read_outcome(gs_report *report, const gs_set_run *run, gs_outcome *out,
                              gs_error *err)
{
    const gs_curve_row *rows = NULL;
    int64_t count = 0;
    *out = (gs_outcome){.started = true,
                        .status = run->run.status,
                        .values = gs_need(calloc(gs_metric_count(), sizeof *out->values)),
                        .target_censored = run->run.target_censored,
                        .record = gs_need(gs_record_create(1, false))};
    memcpy(out->values, run->run.values, gs_metric_count() * sizeof *out->values);
    snprintf(out->result.error.text, sizeof out->result.error.text, "%s",
             run->run.error_text == NULL ? "" : run->run.error_text);
    GS_TRY(gs_store_read_curve(report->set.store, run->id, &report->arena, &rows, &count, err));
    for (int64_t i = 0; i < count; i++) {
        if (gs_record_curve(out->record, &rows[i]) != GS_OK) {
            gs_need(NULL);
        }
    }
    return GS_OK;
}

static gs_status read_outcomes(gs_report *report, gs_report_job *job, gs_error *err)
{
    slot *slots = take(report, job->count, sizeof *slots);
    for (uint32_t i = 0; i < job->count; i++) {
        (void)slot_of(slots, &job->seeds, &job->runs[i]->run);
    }
    qsort(slots, job->seeds, sizeof *slots, by_seed);
    job->outcomes = take(report, (size_t)job->strategy_count * job->seeds, sizeof *job->outcomes);
    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t seed = slot_of(slots, &job->seeds, &job->runs[i]->run);
        for (uint32_t s = 0; s < job->strategy_count; s++) {
            gs_outcome *outcome = &job->outcomes[(size_t)s * job->seeds + seed];
            if (job->labels[s] == job->runs[i]->label && !outcome->started) {
                GS_TRY(read_outcome(report, job->runs[i], outcome, err));
            }
        }
    }
    gs_scenario *scenario = &job->loaded.scenario;
    scenario->seed = slots[0].seed;
    scenario->seeds = 1;
    for (uint32_t i = 1; i < job->seeds; i++) {
        scenario->seeds += slots[i].seed != slots[i - 1].seed ? 1 : 0;
    }
    return GS_OK;
}

/* The scenario as it was stored: words and flags of this command are about runs. */
static gs_status load(gs_report *report, gs_report_job *job, gs_error *err)
{
    gs_cli bare = *report->cli;
    char *config = NULL;
    bare.word_count = 0;
    bare.strategy_count = 0;
    gs_status status = gs_stored_config_of(job->strategies, job->strategy_count, &config, err);
    if (status == GS_OK) {
        status = gs_scenario_try(&bare, job->name, config, &job->loaded, err);
    }
    free(config);
    return status;
}

static void tell(gs_report *report, gs_report_job *job)
{
    gs_error err = {0};
    gs_status status = load(report, job, &err);
    status = status == GS_OK ? read_outcomes(report, job, &err) : status;
    if (status != GS_OK) {
        job->why = gs_text("%s", err.text);
        return;
    }
    gs_sim_report_make(&job->loaded.scenario, job->seeds, job->outcomes, 0, &job->sums);
    job->sums.is_measured = job->is_measured;
    job->answer = gs_sim_report_answer(&job->sums);
}

void gs_report_find_jobs(gs_report *report)
{
    report->jobs = take(report, report->set.count, sizeof *report->jobs);
    for (uint32_t i = 0; i < report->set.count; i++) {
        const gs_set_run *run = &report->set.runs[i];
        gs_report_job *job = job_of(report, run);
        job->runs[job->count++] = run;
        job->first = &run->run;
    }
    for (uint32_t i = 0; i < report->job_count && report->job_count <= GS_REPORT_JOBS; i++) {
        list_strategies(report, &report->jobs[i]);
        list_words(report, &report->jobs[i]);
        tell(report, &report->jobs[i]);
    }
}

void gs_report_free_jobs(gs_report *report)
{
    for (uint32_t i = 0; i < report->job_count; i++) {
        gs_report_job *job = &report->jobs[i];
        for (size_t k = 0; k < (size_t)job->strategy_count * job->seeds; k++) {
            gs_outcome_fini(&job->outcomes[k]);
        }
        if (job->answer != NULL) {
            gs_sim_report_free(&job->sums);
        }
        gs_scenario_unload(&job->loaded);
        free(job->answer);
        free(job->why);
    }
}
