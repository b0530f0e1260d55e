/* Rows that failed, once more with fresh seeds: planned before the first look, and not until green.
 */
#include "tools/compare/compare.h"

#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/run_pool.h"
#include "tools/scenario_load.h"
#include "tools/stored_config.h"
#include "tools/version.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_failed(const gs_compare_row *row)
{
    return row->gated && row->measured && row->word == GS_VERDICT_WORSE && !row->change.exact &&
           row->job->paired;
}

static bool has_failed(const gs_compare *compare, const gs_compare_job *job)
{
    for (uint32_t i = 0; i < compare->row_count; i++) {
        if (compare->rows[i].job == job && is_failed(&compare->rows[i])) {
            return true;
        }
    }
    return false;
}

static bool is_run_of(const gs_compare_run *run, const gs_compare_job *job, int side)
{
    return strcmp(run->run.scenario.name, job->scenario) == 0 &&
           strcmp(run->strategy, job->labels[side]) == 0 &&
           run->run.scenario.config_hash == job->of[side]->scenario.config_hash;
}

static bool has_seed(const gs_compare *compare, const gs_compare_job *job, int side, uint64_t seed)
{
    const gs_compare_side *from = &compare->sides[side];
    for (uint32_t i = 0; i < from->count; i++) {
        if (from->runs[i].run.seed == seed && is_run_of(&from->runs[i], job, side)) {
            return true;
        }
    }
    return false;
}

/* Seeds [first, last] that hold all that the base has and the candidate has not; false: none. */
static bool fresh_seeds(const gs_compare *compare, const gs_compare_job *job, uint64_t *out_first,
                        uint64_t *out_last)
{
    const gs_compare_side *base = &compare->sides[GS_SIDE_BASE];
    bool found = false;
    for (uint32_t i = 0; i < base->count; i++) {
        uint64_t seed = base->runs[i].run.seed;
        if (!is_run_of(&base->runs[i], job, GS_SIDE_BASE) ||
            has_seed(compare, job, GS_SIDE_CANDIDATE, seed)) {
            continue;
        }
        *out_first = found && *out_first < seed ? *out_first : seed;
        *out_last = found && *out_last > seed ? *out_last : seed;
        found = true;
    }
    return found;
}

/* Were the candidate's runs made by this program? Another would not give what they would have. */
static bool is_ours(const gs_stored_run *run)
{
    gs_tool_facts facts = gs_version_facts();
    return strcmp(run->environment.tool_version, facts.version) == 0 &&
           strcmp(run->environment.commit, facts.commit) == 0 &&
           run->environment.dirty == facts.dirty;
}

/* A run of the candidate as if it had been stored: what a simulation has found with this seed. */
static gs_compare_run run_of(gs_compare *compare, const gs_compare_job *job, uint64_t seed,
                             const gs_outcome *outcome)
{
    gs_compare_run out = {.run = *job->of[GS_SIDE_CANDIDATE],
                          .strategy = job->labels[GS_SIDE_CANDIDATE]};
    double *values = gs_need(GS_TAKE(&compare->arena, double, gs_metric_count()));
    memcpy(values, outcome->values, gs_metric_count() * sizeof *values);
    out.run.seed = seed;
    out.run.status = outcome->status;
    out.run.values = values;
    out.run.target_censored = outcome->target_censored;
    return out;
}

/* Puts runs behind those that the candidate has. */
static void append(gs_compare *compare, const gs_compare_run *runs, uint32_t count)
{
    gs_compare_side *side = &compare->sides[GS_SIDE_CANDIDATE];
    gs_compare_run *all =
        gs_need(GS_TAKE(&compare->arena, gs_compare_run, (size_t)side->count + count));
    memcpy(all, side->runs, side->count * sizeof *all);
    memcpy(all + side->count, runs, count * sizeof *all);
    side->runs = all;
    side->count += count;
}

/* Simulates `count` seeds from `first` on; an exit code. */
static int simulate(gs_compare *compare, const gs_cli *cli, const gs_compare_job *job,
                    gs_loaded *loaded, uint64_t first, uint32_t count)
{
    gs_outcome *outcomes = gs_need(calloc(count, sizeof *outcomes));
    gs_compare_run *runs = gs_need(calloc(count, sizeof *runs));
    gs_progress progress = {.mode = GS_PROGRESS_NONE, .runs = count, .told = -1};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    loaded->scenario.seed = first;
    gs_pool_config pool = {.scenario = &loaded->scenario,
                           .seeds = count,
                           .jobs = cli->flags.jobs > 0 ? cli->flags.jobs
                                   : processors < 1    ? 1
                                                       : processors,
                           .progress = &progress};
    gs_interrupt_watch();
    gs_pool_run(&pool, outcomes);
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (outcomes[i].started && has_seed(compare, job, GS_SIDE_BASE, first + i) &&
            !has_seed(compare, job, GS_SIDE_CANDIDATE, first + i)) {
            runs[made++] = run_of(compare, job, first + i, &outcomes[i]);
        }
        gs_outcome_fini(&outcomes[i]);
    }
    append(compare, runs, made);
    free(outcomes);
    free(runs);
    int signal_number = gs_interrupt_signal();
    return signal_number == 0 ? GS_EXIT_OK : GS_EXIT_INTERRUPTED + signal_number;
}

/* The runs of one job; why there are none is remarked. *out_made: there are. An exit code. */
static int make_again(gs_compare *compare, const gs_cli *cli, const gs_compare_job *job,
                      bool *out_made)
{
    enum { SEEDS_MAX = 10000 };
    uint64_t first = 0;
    uint64_t last = 0;
    gs_error err = {0};
    if (!fresh_seeds(compare, job, &first, &last) || last - first >= SEEDS_MAX) {
        gs_compare_remark(compare,
                          "%s / %s: not run again: the base has no seed that the candidate has "
                          "not; simulate the base with more --seeds.",
                          job->scenario, job->strategy);
        return GS_EXIT_OK;
    }
    if (!is_ours(job->of[GS_SIDE_CANDIDATE])) {
        gs_compare_remark(compare, "%s / %s: not run again: another program made its runs.",
                          job->scenario, job->strategy);
        return GS_EXIT_OK;
    }
    char *config = NULL;
    if (gs_stored_config(job->of[GS_SIDE_CANDIDATE], &config, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    gs_cli plain = *cli;
    plain.word_count = 0;
    gs_loaded loaded;
    gs_status status = gs_scenario_try(&plain, job->scenario, config, &loaded, &err);
    free(config);
    int code = GS_EXIT_OK;
    if (status != GS_OK) {
        gs_compare_remark(compare, "%s / %s: not run again: %s", job->scenario, job->strategy,
                          err.text);
    } else if (loaded.scenario.config_hash != job->of[GS_SIDE_CANDIDATE]->scenario.config_hash) {
        gs_compare_remark(compare,
                          "%s / %s: not run again: a file that the scenario names has changed.",
                          job->scenario, job->strategy);
    } else {
        code = simulate(compare, cli, job, &loaded, first, (uint32_t)(last - first + 1));
        *out_made = true;
    }
    gs_scenario_unload(&loaded);
    return code;
}

/* ---------------------------------------------------------------- the second look */

static const gs_compare_row *row_like(const gs_compare_row *like, const gs_compare_row *rows,
                                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].metric == like->metric &&
            strcmp(rows[i].job->scenario, like->job->scenario) == 0 &&
            strcmp(rows[i].job->strategy, like->job->strategy) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Judges again; rows that had not failed are as they were. told: remarks of the first look, which
 * the second makes anew. */
static int look_again(gs_compare *compare, uint32_t told)
{
    const gs_compare_row *before = compare->rows;
    uint32_t count = compare->row_count;
    compare->rows = NULL;
    compare->row_count = compare->row_capacity = 0;
    compare->job_count = compare->tested = 0;
    compare->difference_count = 0;
    compare->remark_count -= told;
    memmove(compare->remarks, compare->remarks + told,
            compare->remark_count * sizeof *compare->remarks);
    gs_compare_match(compare);
    int code = gs_compare_judge(compare);
    for (uint32_t i = 0; i < compare->row_count && code == GS_EXIT_OK; i++) {
        gs_compare_row *row = &compare->rows[i];
        const gs_compare_row *first = row_like(row, before, count);
        if (first == NULL) {
            continue;
        }
        if (!is_failed(first)) {
            *row = *first;
        } else if (row->measured && row->change.count > first->change.count) {
            row->reason = gs_compare_text(compare, "%s%swith %" PRIu32 " more seeds", row->reason,
                                          row->reason[0] == '\0' ? "" : "; ",
                                          row->change.count - first->change.count);
        }
    }
    return code;
}

int gs_compare_rerun(gs_compare *compare, const gs_cli *cli)
{
    bool made = false;
    uint32_t told = compare->remark_count;
    for (uint32_t i = 0; i < compare->job_count; i++) {
        if (has_failed(compare, &compare->jobs[i])) {
            int code = make_again(compare, cli, &compare->jobs[i], &made);
            if (code != GS_EXIT_OK) {
                return code;
            }
        }
    }
    return made ? look_again(compare, told) : GS_EXIT_OK;
}
