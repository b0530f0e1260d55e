/* Which runs of the two sides belong together, and what their configurations differ in. */
#include "tools/compare/compare.h"

#include "tools/config_difference.h"
#include "tools/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool ended_well(const gs_stored_run *run)
{
    return run->status == GS_RUN_OK || run->status == GS_RUN_RECOVERED;
}

static bool is_of(const gs_compare_run *run, const char *scenario, const char *strategy)
{
    return strcmp(run->run.scenario.name, scenario) == 0 && strcmp(run->strategy, strategy) == 0;
}

/* ---------------------------------------------------------------- jobs */

/* The job of a run, new where there is none yet; its newest run is the one that comes last. */
static void add_run(gs_compare *compare, int side, const gs_compare_run *run)
{
    uint32_t place = 0;
    while (place < compare->job_count &&
           !is_of(run, compare->jobs[place].scenario, compare->jobs[place].strategy)) {
        place++;
    }
    gs_compare_job *job = &compare->jobs[place];
    if (place == compare->job_count) {
        compare->job_count++;
        *job = (gs_compare_job){.scenario = run->run.scenario.name, .strategy = run->strategy};
    }
    job->of[side] = &run->run;
    job->labels[side] = run->strategy;
}

static void add_jobs(gs_compare *compare, int side)
{
    const gs_compare_side *from = &compare->sides[side];
    for (uint32_t i = 0; i < from->count; i++) {
        add_run(compare, side, &from->runs[i]);
    }
}

static bool is_alone(const gs_compare_job *job, int side)
{
    return job->of[side] != NULL && job->of[1 - side] == NULL;
}

/* "allreduce:bucket=1MiB+topk:ratio=0.1" has the strategy allreduce and the codec topk. */
static bool same_but_parameters(const char *one, const char *other)
{
    static const char *const ends[] = {":+", ":"}; /* of the strategy's name, of the codec's */
    for (int part = 0; part < 2; part++) {
        size_t length = strcspn(one, ends[part]);
        if (length != strcspn(other, ends[part]) || strncmp(one, other, length) != 0) {
            return false;
        }
        one = strchr(one, '+');
        other = strchr(other, '+');
        if (one == NULL || other == NULL) {
            return one == other;
        }
    }
    return true;
}

/* The only job that a side alone has of the like scenario, strategy and codec, or NULL. */
static gs_compare_job *only_one(gs_compare *compare, int side, const gs_compare_job *like)
{
    gs_compare_job *found = NULL;
    for (uint32_t i = 0; i < compare->job_count; i++) {
        gs_compare_job *job = &compare->jobs[i];
        if (is_alone(job, side) && strcmp(job->scenario, like->scenario) == 0 &&
            same_but_parameters(job->strategy, like->strategy)) {
            if (found != NULL) {
                return NULL;
            }
            found = job;
        }
    }
    return found;
}

/* One strategy with other parameters on the two sides is one job whose parameters were changed. */
static void join_changed(gs_compare *compare)
{
    for (uint32_t i = 0; i < compare->job_count; i++) {
        gs_compare_job *job = &compare->jobs[i];
        if (!is_alone(job, GS_SIDE_CANDIDATE) || only_one(compare, GS_SIDE_CANDIDATE, job) != job) {
            continue;
        }
        gs_compare_job *other = only_one(compare, GS_SIDE_BASE, job);
        if (other != NULL) {
            gs_compare_differs(compare, "%s: strategy %s against %s", job->scenario,
                               other->strategy, job->strategy);
            job->of[GS_SIDE_BASE] = other->of[GS_SIDE_BASE];
            job->labels[GS_SIDE_BASE] = other->strategy;
            other->of[GS_SIDE_BASE] = NULL;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < compare->job_count; i++) {
        const gs_compare_job *job = &compare->jobs[i];
        if (job->of[GS_SIDE_BASE] != NULL || job->of[GS_SIDE_CANDIDATE] != NULL) {
            compare->jobs[kept++] = compare->jobs[i];
        }
    }
    compare->job_count = kept;
}

/* ---------------------------------------------------------------- runs of a job */

/* Runs of one side, of simulated ones the newest of each seed. */
static void gather(gs_compare *compare, gs_compare_job *job, int side)
{
    const gs_compare_side *from = &compare->sides[side];
    const gs_compare_run **runs =
        gs_need(GS_TAKE(&compare->arena, const gs_compare_run *, (size_t)from->count + 1));
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        const gs_compare_run *run = &from->runs[i];
        if (!is_of(run, job->scenario, job->labels[side]) ||
            run->run.scenario.config_hash != job->of[side]->scenario.config_hash) {
            continue;
        }
        uint32_t place = count;
        for (uint32_t k = 0; k < count && run->run.source == GS_SOURCE_SIM; k++) {
            place = runs[k]->run.seed == run->run.seed ? k : place;
        }
        runs[place] = run;
        count += place == count ? 1 : 0;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        job->failed[side] += ended_well(&runs[i]->run) ? 0 : 1;
        if (ended_well(&runs[i]->run)) {
            runs[kept++] = runs[i];
        }
    }
    job->runs[side] = runs;
    job->counts[side] = kept;
}

static const gs_compare_run *of_seed(const gs_compare_job *job, int side, uint64_t seed)
{
    for (uint32_t i = 0; i < job->counts[side]; i++) {
        if (job->runs[side][i]->run.seed == seed) {
            return job->runs[side][i];
        }
    }
    return NULL;
}

/* Leaves the seeds that both sides have, in the order of the base. */
static void pair_up(gs_compare *compare, gs_compare_job *job)
{
    const gs_compare_run **pairs[GS_SIDES];
    uint32_t count = 0;
    for (int side = 0; side < GS_SIDES; side++) {
        pairs[side] = gs_need(GS_TAKE(&compare->arena, const gs_compare_run *,
                                      (size_t)job->counts[GS_SIDE_BASE] + 1));
    }
    for (uint32_t i = 0; i < job->counts[GS_SIDE_BASE]; i++) {
        const gs_compare_run *run = job->runs[GS_SIDE_BASE][i];
        const gs_compare_run *twin = of_seed(job, GS_SIDE_CANDIDATE, run->run.seed);
        if (twin != NULL) {
            pairs[GS_SIDE_BASE][count] = run;
            pairs[GS_SIDE_CANDIDATE][count++] = twin;
        }
    }
    if (count == 0) {
        gs_compare_remark(compare, "%s / %s: no seed in common, so runs are not paired.",
                          job->scenario, job->strategy);
        return;
    }
    uint32_t gone = job->counts[GS_SIDE_BASE] + job->counts[GS_SIDE_CANDIDATE] - 2 * count;
    if (gone > 0) {
        gs_compare_remark(compare,
                          "%s / %s: compared at %" PRIu32 " equal seeds; %" PRIu32
                          " runs of other seeds are left out.",
                          job->scenario, job->strategy, count, gone);
    }
    for (int side = 0; side < GS_SIDES; side++) {
        job->runs[side] = pairs[side];
        job->counts[side] = count;
    }
    job->paired = true;
}

static bool all_simulated(const gs_compare_job *job, bool clean)
{
    for (int side = 0; side < GS_SIDES; side++) {
        for (uint32_t i = 0; i < job->counts[side]; i++) {
            const gs_stored_run *run = &job->runs[side][i]->run;
            if (run->source != GS_SOURCE_SIM ||
                (clean && (!run->exact || run->environment.dirty))) {
                return false;
            }
        }
    }
    return true;
}

/* ---------------------------------------------------------------- what cannot be compared */

static void look_at_configs(gs_compare *compare, gs_compare_job *job)
{
    const gs_stored_scenario *base = &job->of[GS_SIDE_BASE]->scenario;
    const gs_stored_scenario *candidate = &job->of[GS_SIDE_CANDIDATE]->scenario;
    if (base->config_hash == candidate->config_hash) {
        return;
    }
    char *text = gs_config_difference(base->config_json, candidate->config_json);
    const char *what = text == NULL ? "the contents of a file that they name" : text;
    if (text == NULL || gs_config_conflicts(base->config_json, candidate->config_json)) {
        job->refused = gs_compare_text(compare, "the scenario differs: %s", what);
    }
    bool told = false;
    for (const gs_compare_job *other = compare->jobs; other < job; other++) {
        told = told || strcmp(other->scenario, job->scenario) == 0;
    }
    if (!told) {
        gs_compare_differs(compare, "%s: %s%s", job->scenario, what,
                           job->refused == NULL ? " (known to one program only)" : "");
    }
    free(text);
}

static void look_at_failures(gs_compare *compare, gs_compare_job *job)
{
    static const char *const names[] = {"base", "candidate"};
    for (int side = 0; side < GS_SIDES && job->refused == NULL; side++) {
        uint32_t all = job->failed[side] + job->counts[side];
        const char *text =
            gs_compare_text(compare, "%" PRIu32 " of %" PRIu32 " %s run%s did not end well",
                            job->failed[side], all, names[side], all == 1 ? "" : "s");
        if (job->failed[side] > 1 || job->counts[side] == 0) {
            job->refused = text;
        } else if (job->failed[side] == 1) {
            gs_compare_remark(compare, "%s / %s: %s; it is left out.", job->scenario, job->strategy,
                              text);
        }
    }
}

/* What is measured on another processor is another measurement, and what is simulated is none. */
static void look_at_hardware(gs_compare *compare, gs_compare_job *job)
{
    bool simulated = job->of[GS_SIDE_BASE]->source == GS_SOURCE_SIM;
    if (job->refused == NULL &&
        simulated != (job->of[GS_SIDE_CANDIDATE]->source == GS_SOURCE_SIM)) {
        job->refused = "simulated against measured: gradsync validate is for that";
    }
    const char *base = job->of[GS_SIDE_BASE]->environment.cpu;
    const char *candidate = job->of[GS_SIDE_CANDIDATE]->environment.cpu;
    bool differ = base != NULL && candidate != NULL && strcmp(base, candidate) != 0;
    if (differ && job->refused == NULL && !all_simulated(job, false)) {
        job->refused =
            gs_compare_text(compare, "measured on other hardware: %s against %s", base, candidate);
    }
}

static void look_at_environment(gs_compare *compare)
{
    const gs_environment *one =
        &compare->sides[GS_SIDE_BASE].runs[compare->sides[GS_SIDE_BASE].count - 1].run.environment;
    const gs_environment *other = &compare->sides[GS_SIDE_CANDIDATE]
                                       .runs[compare->sides[GS_SIDE_CANDIDATE].count - 1]
                                       .run.environment;
    const struct {
        const char *name, *one, *other;
    } facts[] = {{"compiler", one->compiler, other->compiler},
                 {"processor", one->cpu, other->cpu},
                 {"BLAS", one->blas, other->blas},
                 {"system", one->os, other->os},
                 {"runner", one->runner, other->runner}};
    compare->environment = "";
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const char *left = facts[i].one == NULL ? "unknown" : facts[i].one;
        const char *right = facts[i].other == NULL ? "unknown" : facts[i].other;
        if (strcmp(left, right) != 0) {
            compare->environment = gs_compare_text(
                compare, "%s%s%s %s against %s", compare->environment,
                compare->environment[0] == '\0' ? "" : ", ", facts[i].name, left, right);
        }
    }
}

/* Nothing was run between naming the base and comparing, or it gave the same runs again. */
static void look_for_same_runs(gs_compare *compare)
{
    const gs_compare_side *base = &compare->sides[GS_SIDE_BASE];
    const gs_compare_side *candidate = &compare->sides[GS_SIDE_CANDIDATE];
    bool same = base->store == candidate->store && base->count == candidate->count;
    for (uint32_t i = 0; i < base->count && same; i++) {
        same = base->runs[i].id == candidate->runs[i].id;
    }
    if (same) {
        gs_compare_remark(compare,
                          "Base and candidate are the same %" PRIu32
                          " runs: this program has given the same results, or nothing was run "
                          "since.",
                          base->count);
    }
}

void gs_compare_match(gs_compare *compare)
{
    size_t most = (size_t)compare->sides[0].count + compare->sides[1].count;
    compare->jobs = gs_need(GS_TAKE(&compare->arena, gs_compare_job, most));
    add_jobs(compare, GS_SIDE_CANDIDATE);
    add_jobs(compare, GS_SIDE_BASE);
    join_changed(compare);
    look_at_environment(compare);
    look_for_same_runs(compare);
    for (uint32_t i = 0; i < compare->job_count; i++) {
        gs_compare_job *job = &compare->jobs[i];
        for (int side = 0; side < GS_SIDES; side++) {
            if (job->of[side] != NULL) {
                gather(compare, job, side);
            }
        }
        if (job->of[GS_SIDE_BASE] == NULL || job->of[GS_SIDE_CANDIDATE] == NULL) {
            continue;
        }
        look_at_configs(compare, job);
        look_at_failures(compare, job);
        look_at_hardware(compare, job);
        if (job->refused == NULL && all_simulated(job, false)) {
            pair_up(compare, job);
        }
        job->exact = job->paired && all_simulated(job, true);
    }
}
