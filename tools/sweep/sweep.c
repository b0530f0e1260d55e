#include "tools/sweep/sweep.h"

#include "base/hash.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/version.h"
#include "traces/store/store_sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 3 };

/* The scenario of a point, while runs of it are under way. */
typedef struct gs_sweep_state {
    gs_loaded loaded;
    gs_sim_batch batch;
    bool is_loaded;
    uint32_t left; /* runs that have been dealt and not ended */
} gs_sweep_state;

static gs_stored_place place_of(const gs_sweep *sweep, uint32_t point)
{
    return (gs_stored_place){.sweep_key = sweep->key,
                             .point = point,
                             .overrides_json = sweep->grid.points[point].overrides_json,
                             .own_json = sweep->grid.own_json,
                             .rung = sweep->points[point].rung};
}

/* --- scenarios of points ---------------------------------------------------------------------- */

static void begin_batch(const gs_sweep *sweep, gs_sweep_state *state)
{
    const gs_scenario *scenario = &state->loaded.scenario;
    state->batch = (gs_sim_batch){.cli = sweep->cli,
                                  .scenario = scenario,
                                  .source = GS_SOURCE_SIM,
                                  .seeds = sweep->seeds,
                                  .repeats = 1,
                                  .outcomes = gs_need(calloc(sweep->seeds, sizeof(gs_outcome))),
                                  .environment = sweep->environment,
                                  .model_name = gs_scenario_model_name(scenario),
                                  .config_json = gs_need(gs_json_write(scenario->resolved, false))};
}

static void unload(gs_sweep_state *state)
{
    free(state->batch.outcomes);
    free(state->batch.model_name);
    free(state->batch.config_json);
    state->batch = (gs_sim_batch){0};
    gs_scenario_unload(&state->loaded);
    state->is_loaded = false;
}

/* The scenario was read before, and read well. A file that has changed since ends the program. */
static gs_sweep_state *state_of(const gs_sweep *sweep, uint32_t point)
{
    gs_sweep_state *state = &sweep->states[point];
    gs_error err = {0};
    if (!state->is_loaded) {
        if (gs_grid_load(&sweep->grid, point, &state->loaded, &err) != GS_OK) {
            gs_complain("%s", err.text);
            exit(GS_EXIT_FAILED);
        }
        begin_batch(sweep, state);
        state->is_loaded = true;
    }
    return state;
}

/* Why a point cannot be run; GS_OK: it can. */
static gs_status check_point(gs_sweep *sweep, gs_loaded *loaded, gs_error *err)
{
    const gs_strategy_choice *choice = &loaded->scenario.strategies[0];
    gs_job job;
    gs_layout layout;
    GS_TRY(gs_scenario_runnable(&loaded->scenario, err));
    GS_TRY(gs_scenario_job(&loaded->scenario, &loaded->arena, &job, err));
    gs_error inner = {0};
    gs_status status = choice->strategy->layout(choice->config, &job, &layout, &inner);
    if (status != GS_OK) {
        return gs_fail(err, status, "%s: %s: %s", sweep->grid.name, choice->label, inner.text);
    }
    return GS_OK;
}

static const char *keep_text(gs_sweep *sweep, const char *text)
{
    return gs_need(gs_arena_text(&sweep->arena, text));
}

/* "FILE: why" without the file, which is the same for all. */
static const char *reason_of(const gs_sweep *sweep, const char *text)
{
    size_t length = strlen(sweep->grid.file);
    bool has_file = strncmp(text, sweep->grid.file, length) == 0 && text[length] == ':';
    return has_file ? text + length + 2 : text;
}

static void take_keys(gs_sweep *sweep, uint32_t point)
{
    gs_sweep_state *state = &sweep->states[point];
    begin_batch(sweep, state);
    for (uint32_t i = 0; i < sweep->seeds; i++) {
        gs_stored_run run = gs_sim_stored_run(&state->batch, i);
        sweep->keys[(size_t)point * sweep->seeds + i] = gs_store_run_key(&run);
        gs_sim_stored_run_fini(&run);
    }
}

/* A strategy that cannot even be read, as scenario_strategies.c words it; others fit no job. */
static bool is_mistyped(const gs_error *err)
{
    return strstr(err->text, "strategy \"") != NULL &&
           strstr(err->text, "\" on the command line: ") != NULL;
}

/* Once for each point, before anything is run. Values that are wrong are errors; what the job, the
 * devices or other choices do not allow is a point that is refused. */
static int look_at_point(gs_sweep *sweep, uint32_t point)
{
    gs_sweep_state *state = &sweep->states[point];
    gs_swept *swept = &sweep->points[point];
    gs_error err = {0};
    gs_status status = gs_grid_load(&sweep->grid, point, &state->loaded, &err);
    bool many = gs_dimension_of_strategies(&sweep->grid.dimensions)->count > 1;
    if (status != GS_OK &&
        (!many || status == GS_EPARSE || status == GS_ENOMEM || is_mistyped(&err))) {
        gs_scenario_unload(&state->loaded);
        return gs_complain_error(&err);
    }
    /* The first point's are about the same as those of all: told once. */
    if (status == GS_OK && (point == 0 || sweep->cli->flags.strict) &&
        gs_scenario_tell_notes(sweep->cli, &state->loaded.scenario) != GS_EXIT_OK) {
        unload(state);
        return GS_EXIT_USAGE;
    }
    swept->label = sweep->grid.points[point].strategy;
    if (status == GS_OK) {
        swept->label = keep_text(sweep, state->loaded.scenario.strategies[0].label);
        status = check_point(sweep, &state->loaded, &err);
    }
    if (status == GS_OK) {
        take_keys(sweep, point);
    } else {
        swept->refused = keep_text(sweep, reason_of(sweep, err.text));
    }
    unload(state);
    return GS_EXIT_OK;
}

/* --- before the runs -------------------------------------------------------------------------- */

static gs_sweep_objective objective_of(const gs_grid *grid)
{
    if (!grid->real_gradients) {
        return GS_SWEEP_SAMPLE_TIME;
    }
    return grid->has_target ? GS_SWEEP_TARGET_TIME : GS_SWEEP_LOSS;
}

/* Of what the sweep is, not of how it is run: shards and pruned sweeps are the same one. */
static uint64_t key_of(const gs_grid *grid)
{
    const gs_dimensions *dimensions = &grid->dimensions;
    uint64_t hash = gs_hash(grid->base_hash, grid->name, strlen(grid->name) + 1);
    hash = gs_hash(hash, &grid->seed, sizeof grid->seed);
    hash = gs_hash(hash, &grid->seeds, sizeof grid->seeds);
    for (uint32_t i = 0; i < dimensions->count; i++) {
        const gs_dimension *dimension = &dimensions->list[i];
        hash = gs_hash(hash, dimension->key, strlen(dimension->key) + 1);
        hash = gs_hash(hash, &dimension->count, sizeof dimension->count);
        for (uint32_t k = 0; k < dimension->count; k++) {
            const char *text = dimension->values[k].text;
            hash = gs_hash(hash, text, strlen(text) + 1);
        }
    }
    return hash;
}

/* "2/4" */
static int read_shard(gs_sweep *sweep)
{
    const char *text = sweep->cli->flags.shard;
    sweep->shards = 1;
    if (text[0] == '\0') {
        return GS_EXIT_OK;
    }
    char *end = NULL;
    long one = strtol(text, &end, 10);
    long all = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (*end != '\0' || one < 1 || all < one || all > GS_POINTS_MAX) {
        gs_complain("--shard %s: not a shard; write I/N, such as 2/4 for the second of four", text);
        return GS_EXIT_USAGE;
    }
    if (sweep->cli->flags.prune != GS_PRUNE_NONE && all > 1) {
        gs_complain("--shard: shards know nothing of each other, so that none can be pruned; leave "
                    "out --prune");
        return GS_EXIT_USAGE;
    }
    sweep->shard = (uint32_t)one - 1;
    sweep->shards = (uint32_t)all;
    return GS_EXIT_OK;
}

static uint32_t largest_group(const gs_sweep *sweep)
{
    uint32_t *sizes = gs_need(calloc((size_t)sweep->grid.group_count + 1, sizeof *sizes));
    uint32_t largest = 0;
    for (uint32_t i = 0; i < sweep->grid.count; i++) {
        uint32_t size = sweep->points[i].refused == NULL ? ++sizes[sweep->grid.points[i].group] : 0;
        largest = size > largest ? size : largest;
    }
    free(sizes);
    return largest;
}

static int plan_rungs(gs_sweep *sweep)
{
    sweep->rung_count = 1;
    sweep->rung_seeds[0] = sweep->seeds;
    if (sweep->cli->flags.prune == GS_PRUNE_NONE) {
        return GS_EXIT_OK;
    }
    uint32_t largest = largest_group(sweep);
    sweep->rung_count = gs_halving_rungs(largest, sweep->seeds, sweep->rung_seeds);
    if (sweep->rung_count == 1) {
        gs_complain("%s: --prune halving: %s", sweep->grid.name,
                    largest < 2 ? "no two points are a choice to be made: strategies, their "
                                  "parameters, optimizer, batch"
                                : "points are told apart by seeds, and there is one; take more "
                                  "with --seeds");
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

static int check_flags(const gs_cli *cli)
{
    gs_error err = {0};
    if (cli->word_count == 0) {
        gs_complain("sweep: which scenario? name a file, - or a bundled one (gradsync list "
                    "scenarios)");
        return GS_EXIT_USAGE;
    }
    if (cli->flags.label[0] != '\0' && gs_store_check_label(cli->flags.label, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    return GS_EXIT_OK;
}

static int look_at_all(gs_sweep *sweep)
{
    uint32_t refused = 0;
    int code = GS_EXIT_OK;
    for (uint32_t i = 0; i < sweep->grid.count && code == GS_EXIT_OK; i++) {
        code = look_at_point(sweep, i);
        refused += sweep->points[i].refused != NULL ? 1 : 0;
    }
    if (code == GS_EXIT_OK && refused == sweep->grid.count) {
        gs_complain("%s: no point can be run; the first one: %s", sweep->grid.name,
                    sweep->points[0].refused);
        code = GS_EXIT_USAGE;
    }
    return code;
}

int gs_sweep_begin(const gs_cli *cli, gs_sweep *out)
{
    *out = (gs_sweep){.cli = cli};
    gs_arena_init(&out->arena);
    gs_tool_facts facts = gs_version_facts();
    gs_error err = {0};
    int code = check_flags(cli);
    code = code == GS_EXIT_OK ? read_shard(out) : code;
    if (code != GS_EXIT_OK) {
        return code;
    }
    if (gs_grid_make(cli, &out->arena, &out->grid, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (gs_environment_collect(&facts, &out->arena, &out->environment) != GS_OK) {
        gs_need(NULL);
    }
    out->objective = objective_of(&out->grid);
    out->seeds = (uint32_t)out->grid.seeds;
    out->key = key_of(&out->grid);
    size_t points = out->grid.count;
    size_t runs = points * out->seeds;
    out->points = gs_need(calloc(points + 1, sizeof *out->points));
    out->states = gs_need(calloc(points + 1, sizeof *out->states));
    out->values = gs_need(calloc(runs + 1, sizeof *out->values));
    out->keys = gs_need(calloc(runs + 1, sizeof *out->keys));
    out->known = gs_need(calloc(runs + 1, sizeof *out->known));
    out->censored = gs_need(calloc(runs + 1, sizeof *out->censored));
    code = look_at_all(out);
    return code == GS_EXIT_OK ? plan_rungs(out) : code;
}

void gs_sweep_free(gs_sweep *sweep)
{
    for (uint32_t i = 0; sweep->states != NULL && i < sweep->grid.count; i++) {
        if (sweep->states[i].is_loaded) {
            unload(&sweep->states[i]);
        }
    }
    for (size_t i = 0; sweep->values != NULL && i < (size_t)sweep->grid.count * sweep->seeds; i++) {
        free(sweep->values[i]);
    }
    free(sweep->points);
    free(sweep->states);
    free(sweep->values);
    free(sweep->keys);
    free(sweep->known);
    free(sweep->censored);
    gs_store_close(sweep->store);
    gs_arena_fini(&sweep->arena);
    *sweep = (gs_sweep){0};
}

/* --- a run ------------------------------------------------------------------------------------ */

static void prepare(void *context, uint32_t run)
{
    const gs_sweep *sweep = context;
    (void)state_of(sweep, run / sweep->seeds);
}

static void make(void *context, uint32_t run, uint32_t threads, const gs_deal_ear *ear,
                 gs_outcome *out)
{
    const gs_sweep *sweep = context;
    uint32_t point = run / sweep->seeds;
    /* A guest keeps the scenario that it has last; those before are not asked for again soon. */
    for (uint32_t i = 0; i < sweep->grid.count; i++) {
        if (i != point && sweep->states[i].is_loaded && sweep->states[i].left == 0) {
            unload(&sweep->states[i]);
        }
    }
    const gs_scenario *scenario = &state_of(sweep, point)->loaded.scenario;
    gs_run_plan plan = {.scenario = scenario,
                        .keep_all_ranks = sweep->cli->flags.steps == GS_STEPS_ALL,
                        .threads = threads,
                        .progress = ear->hear,
                        .context = ear->context};
    gs_run_one(&plan, 0, scenario->seed + run % sweep->seeds, out);
}

/* What is known of a run from now on. values: taken where it ended well. */
static void know(gs_sweep *sweep, uint32_t run, gs_run_status status, bool censored,
                 const double *values, const char *error)
{
    gs_swept *swept = &sweep->points[run / sweep->seeds];
    bool is_good = status == GS_RUN_OK || status == GS_RUN_RECOVERED;
    sweep->known[run] = true;
    swept->known++;
    if (is_good) {
        size_t bytes = gs_metric_count() * sizeof *values;
        sweep->values[run] = gs_need(malloc(bytes));
        memcpy(sweep->values[run], values, bytes);
        sweep->censored[run] = censored;
    } else if (status == GS_RUN_DIVERGED) {
        swept->diverged++;
    } else {
        swept->failed++;
        swept->error =
            swept->error == NULL && error != NULL ? keep_text(sweep, error) : swept->error;
    }
}

static void store_run(gs_sweep *sweep, gs_sweep_state *state, uint32_t run)
{
    uint32_t point = run / sweep->seeds;
    gs_stored_run row = gs_sim_stored_run(&state->batch, run % sweep->seeds);
    gs_stored_place place = place_of(sweep, point);
    row.place = &place;
    if (sweep->stored == GS_OK && sweep->store != NULL) {
        int64_t id = 0;
        sweep->stored = gs_store_write_run(sweep->store, &row, &id, &sweep->error);
    }
    gs_sim_stored_run_fini(&row);
}

static void ended(void *context, uint32_t run, gs_outcome *outcome)
{
    gs_sweep *sweep = context;
    gs_sweep_state *state = state_of(sweep, run / sweep->seeds);
    gs_outcome *own = &state->batch.outcomes[run % sweep->seeds];
    *own = *outcome;
    store_run(sweep, state, run);
    if (own->status != GS_RUN_INTERRUPTED) {
        know(sweep, run, own->status, own->target_censored, own->values, own->result.error.text);
    }
    gs_outcome_fini(own);
    if (--state->left == 0) {
        unload(state);
    }
}

gs_deal gs_sweep_deal(gs_sweep *sweep)
{
    return (gs_deal){.tries = TRIES,
                     .prepare = prepare,
                     .make = make,
                     .ended = ended,
                     .context = sweep,
                     .threads = sweep->cli->flags.threads};
}

/* --- all runs --------------------------------------------------------------------------------- */

static void open_store(gs_sweep *sweep)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    sweep->stored = gs_cli_database(sweep->cli, path, sizeof path, &is_default, &sweep->error);
    if (sweep->stored == GS_OK) {
        sweep->stored =
            gs_store_open(path, is_default ? GS_STORE_WRITE_MAKE_FOLDERS : GS_STORE_WRITE,
                          &sweep->store, &sweep->error);
    }
}

/* true: the run was in the database. */
static bool reuse(gs_sweep *sweep, uint32_t run)
{
    const char *label = sweep->cli->flags.label;
    gs_stored_place place = place_of(sweep, run / sweep->seeds);
    gs_found_run found = {0};
    double *values = gs_need(malloc(gs_metric_count() * sizeof *values));
    if (sweep->stored == GS_OK && sweep->store != NULL) {
        sweep->stored =
            gs_store_reuse_run(sweep->store, sweep->keys[run], label[0] == '\0' ? NULL : label,
                               &place, values, &found, &sweep->error);
    }
    if (found.run_id != 0) {
        know(sweep, run, found.status, found.target_censored, values,
             gs_run_status_text(found.status));
        sweep->reused++;
    }
    free(values);
    return found.run_id != 0;
}

static bool is_ours(const gs_sweep *sweep, uint32_t point)
{
    return point % sweep->shards == sweep->shard;
}

/* Runs of this rung that are not known yet, point by point. */
static uint32_t gather(gs_sweep *sweep, uint32_t rung, uint32_t *runs)
{
    uint32_t count = 0;
    bool has_store = sweep->stored == GS_OK && sweep->store != NULL;
    if (has_store) {
        sweep->stored = gs_store_reuse_begin(sweep->store, &sweep->error);
    }
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        gs_swept *swept = &sweep->points[p];
        if (swept->refused != NULL || swept->is_pruned) {
            continue;
        }
        swept->rung = rung;
        for (uint32_t i = 0; i < sweep->rung_seeds[rung]; i++) {
            uint32_t run = p * sweep->seeds + i;
            if (sweep->known[run] || reuse(sweep, run)) {
                continue;
            }
            if (is_ours(sweep, p)) {
                runs[count++] = run;
                sweep->states[p].left++;
            } else {
                swept->elsewhere = true;
            }
        }
    }
    if (has_store) {
        sweep->stored = gs_store_reuse_end(sweep->store, sweep->stored, &sweep->error);
    }
    return count;
}

double gs_sweep_value(const gs_sweep *sweep, uint32_t point, uint32_t seed, uint32_t metric)
{
    const double *values = sweep->values[(size_t)point * sweep->seeds + seed];
    return values == NULL ? (double)NAN : values[metric];
}

double gs_sweep_score(const gs_sweep *sweep, uint32_t point, uint32_t seed)
{
    switch (sweep->objective) {
    case GS_SWEEP_SAMPLE_TIME:
        return (double)GS_NS_PER_S /
               gs_sweep_value(sweep, point, seed, gs_metric_find("samples_per_s"));
    case GS_SWEEP_TARGET_TIME:
        return sweep->censored[(size_t)point * sweep->seeds + seed]
                   ? (double)NAN
                   : gs_sweep_value(sweep, point, seed, gs_metric_find("time_to_target_ns"));
    case GS_SWEEP_LOSS:
        break;
    }
    return gs_sweep_value(sweep, point, seed, gs_metric_find("final_loss"));
}

static gs_halved halved_of(const gs_sweep *sweep, uint32_t point, uint32_t seeds)
{
    gs_halved out = {.point = point};
    for (uint32_t i = 0; i < seeds; i++) {
        double score = gs_sweep_score(sweep, point, i);
        if (isfinite(score)) {
            out.score += score;
        } else {
            out.missing++;
        }
    }
    out.score /= seeds > out.missing ? (double)(seeds - out.missing) : 1.0;
    return out;
}

static void prune_group(gs_sweep *sweep, uint32_t group, uint32_t rung, gs_halved *scratch)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        const gs_swept *swept = &sweep->points[p];
        if (sweep->grid.points[p].group == group && swept->refused == NULL && !swept->is_pruned) {
            scratch[count++] = halved_of(sweep, p, sweep->rung_seeds[rung]);
        }
    }
    for (uint32_t i = gs_halving_keep(scratch, count); i < count; i++) {
        sweep->points[scratch[i].point].is_pruned = true;
        if (sweep->stored == GS_OK && sweep->store != NULL) {
            sweep->stored = gs_store_prune_point(sweep->store, sweep->key, scratch[i].point, rung,
                                                 &sweep->error);
        }
    }
}

static void prune(gs_sweep *sweep, uint32_t rung)
{
    gs_halved *scratch = gs_need(calloc((size_t)sweep->grid.count + 1, sizeof *scratch));
    for (uint32_t group = 0; group < sweep->grid.group_count; group++) {
        prune_group(sweep, group, rung, scratch);
    }
    free(scratch);
}

void gs_sweep_run(gs_sweep *sweep, gs_guests *guests)
{
    uint32_t total = sweep->grid.count * sweep->seeds;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gs_progress progress;
    gs_deal deal = gs_sweep_deal(sweep);
    deal.guests = guests;
    deal.progress = &progress;
    deal.jobs = sweep->cli->flags.jobs > 0 ? sweep->cli->flags.jobs
                : guests != NULL           ? 1 /* the launcher has started the others */
                : processors < 1           ? 1
                                           : processors;
    open_store(sweep);
    gs_interrupt_watch();
    gs_progress_start(&progress, sweep->cli, total);
    uint32_t *runs = gs_need(calloc((size_t)total + 1, sizeof *runs));
    for (uint32_t rung = 0; rung < sweep->rung_count && gs_interrupt_signal() == 0; rung++) {
        uint32_t count = gather(sweep, rung, runs);
        deal.total = deal.before + count;
        gs_deal_run(&deal, runs, count);
        deal.before += count;
        if (rung + 1 < sweep->rung_count && gs_interrupt_signal() == 0) {
            prune(sweep, rung);
        }
    }
    gs_progress_end(&progress);
    free(runs);
}
