#include "tools/validate.h"

#include "base/assert.h"
#include "tools/config_difference.h"
#include "tools/message.h"
#include "tools/replay_work.h"
#include "tools/scenario_load.h"
#include "tools/stored_config.h"
#include "traces/scenario/scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOLERANCE_TEXT_BYTES = GS_FLAG_TEXT_BYTES };

/* ---------------------------------------------------------------- tolerances */

static bool is_time(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, "_ns") == 0;
}

/* "5%" for every time, or "step_p95=10%" for one metric. */
static int set_tolerance(const char *item, double *tolerances)
{
    gs_error err = {0};
    double value = 0.0;
    const char *equal = strchr(item, '=');
    if (gs_parse_ratio(equal == NULL ? item : equal + 1, &value, &err) != GS_OK) {
        gs_complain("--tolerance: %s", err.text);
        return GS_EXIT_USAGE;
    }
    if (equal == NULL) {
        for (uint32_t i = 0; i < gs_judged_count(); i++) {
            tolerances[i] = is_time(gs_judged_at(i)->name) ? value : tolerances[i];
        }
        return GS_EXIT_OK;
    }
    char name[GS_LABEL_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(equal - item), item);
    uint32_t index = gs_judged_find(name);
    if (index == gs_judged_count()) {
        char list[512] = "";
        for (uint32_t i = 0; i < gs_judged_count(); i++) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ",
                     gs_judged_at(i)->name);
        }
        gs_complain("--tolerance: %s is not judged; allowed is one of %s", name, list);
        return GS_EXIT_USAGE;
    }
    tolerances[index] = value;
    return GS_EXIT_OK;
}

static int read_tolerances(const gs_cli *cli, double *tolerances)
{
    for (uint32_t i = 0; i < gs_judged_count(); i++) {
        tolerances[i] = gs_judged_at(i)->tolerance;
    }
    char text[TOLERANCE_TEXT_BYTES];
    snprintf(text, sizeof text, "%s", cli->flags.tolerance);
    int code = GS_EXIT_OK;
    for (char *item = text; item != NULL && text[0] != '\0' && code == GS_EXIT_OK;) {
        char *comma = strchr(item, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        code = set_tolerance(item, tolerances);
        item = comma == NULL ? NULL : comma + 1;
    }
    return code;
}

/* ---------------------------------------------------------------- what belongs together */

static bool same_strategy(const gs_stored_run *one, const gs_stored_run *other)
{
    return strcmp(one->strategy.name, other->strategy.name) == 0 &&
           strcmp(one->strategy.params_json, other->strategy.params_json) == 0;
}

static bool same_job(const gs_stored_run *one, const gs_stored_run *other)
{
    return one->scenario.config_hash == other->scenario.config_hash && same_strategy(one, other);
}

const char *gs_validate_scenario(gs_validate *validate, const gs_stored_run *run)
{
    const char *name = run->scenario.name;
    for (uint32_t i = 0; i < validate->run_count[GS_SIDE_PREDICTED]; i++) {
        const gs_stored_scenario *other = &validate->runs[GS_SIDE_PREDICTED][i].run.scenario;
        if (strcmp(other->name, name) == 0 && other->config_hash != run->scenario.config_hash) {
            char *text = gs_text("%s %08" PRIx64, name, run->scenario.config_hash >> 32);
            const char *kept = gs_need(gs_arena_text(&validate->arena, text));
            free(text);
            return kept;
        }
    }
    return name;
}

/* Runs of one side that are of the same job as `of`; of simulated ones the newest of each seed: an
 * older build's prediction is not to be held against a newer one's. */
static const gs_validate_run **members_of(gs_validate *validate, int side, const gs_stored_run *of,
                                          uint32_t *out_count)
{
    const gs_validate_run **members =
        gs_need(GS_TAKE(&validate->arena, const gs_validate_run *, validate->run_count[side] + 1));
    uint32_t count = 0;
    for (uint32_t i = 0; i < validate->run_count[side]; i++) {
        const gs_validate_run *run = &validate->runs[side][i];
        if (!same_job(&run->run, of)) {
            continue;
        }
        uint32_t place = count;
        for (uint32_t k = 0; k < count && side == GS_SIDE_PREDICTED; k++) {
            place = members[k]->run.seed == run->run.seed ? k : place;
        }
        members[place] = run;
        count += place == count ? 1 : 0;
    }
    *out_count = count;
    return members;
}

static bool has_seed(const gs_validate_run *const *runs, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        if (runs[i]->run.seed == seed) {
            return true;
        }
    }
    return false;
}

/* Leaves the runs whose seed the other side has. Returns how many went. */
static uint32_t keep_seeds(const gs_validate_run **runs, uint32_t *count,
                           const gs_validate_run *const *other, uint32_t other_count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (has_seed(other, other_count, runs[i]->run.seed)) {
            runs[kept++] = runs[i];
        }
    }
    uint32_t gone = *count - kept;
    *count = kept;
    return gone;
}

/* For each measured run the simulated one of its seed. */
static void find_twins(gs_validate *validate, gs_validate_pair *pair)
{
    pair->twins = gs_need(GS_TAKE(&validate->arena, const gs_validate_run *, pair->measured_count));
    for (uint32_t i = 0; i < pair->measured_count; i++) {
        uint32_t twin = 0;
        while (pair->predicted[twin]->run.seed != pair->measured[i]->run.seed) {
            twin++;
            GS_ASSERT(twin < pair->predicted_count);
        }
        pair->twins[i] = pair->predicted[twin];
    }
}

static void match_seeds(gs_validate *validate, gs_validate_pair *pair)
{
    for (uint32_t i = 0; i < pair->measured_count && !pair->equal_seeds; i++) {
        pair->equal_seeds =
            has_seed(pair->predicted, pair->predicted_count, pair->measured[i]->run.seed);
    }
    if (!pair->equal_seeds) {
        gs_validate_remark(validate,
                           "%s, %s: no seed was both simulated and measured: times are compared, "
                           "what was learned is not.",
                           pair->scenario, pair->label);
        return;
    }
    uint32_t predicted =
        keep_seeds(pair->predicted, &pair->predicted_count, pair->measured, pair->measured_count);
    uint32_t measured =
        keep_seeds(pair->measured, &pair->measured_count, pair->predicted, pair->predicted_count);
    if (predicted + measured > 0) {
        gs_validate_remark(validate,
                           "%s, %s: compared at equal seeds; %u simulated and %u measured runs of "
                           "other seeds are left out.",
                           pair->scenario, pair->label, predicted, measured);
    }
    find_twins(validate, pair);
}

/* Was every prediction stored before anything was measured? */
static void look_at_times(gs_validate_pair *pair)
{
    pair->predicted_utc = pair->predicted[0]->predicted_utc;
    pair->measured_utc = pair->measured[0]->run.started_utc;
    for (uint32_t i = 0; i < pair->predicted_count; i++) {
        const char *utc = pair->predicted[i]->predicted_utc;
        bool later = strcmp(utc, pair->predicted_utc) > 0 && pair->predicted_utc[0] != '\0';
        pair->predicted_utc = utc[0] == '\0' || later ? utc : pair->predicted_utc;
    }
    for (uint32_t i = 0; i < pair->measured_count; i++) {
        const char *utc = pair->measured[i]->run.started_utc;
        pair->measured_utc = strcmp(utc, pair->measured_utc) < 0 ? utc : pair->measured_utc;
    }
    pair->blind =
        pair->predicted_utc[0] != '\0' && strcmp(pair->predicted_utc, pair->measured_utc) <= 0;
}

/* What a strategy of the one side met on the other instead: a run of another configuration. */
static const gs_stored_run *find_relative(const gs_validate *validate, int side,
                                          const gs_stored_run *of)
{
    for (uint32_t i = 0; i < validate->run_count[side]; i++) {
        const gs_stored_run *run = &validate->runs[side][i].run;
        if (same_strategy(run, of) && strcmp(run->scenario.name, of->scenario.name) == 0) {
            return run;
        }
    }
    return NULL;
}

/* Says why a job of one side has no counterpart. */
static void tell_alone(gs_validate *validate, int side, const gs_stored_run *of)
{
    static const char *const done[] = {"simulated", "measured"};
    const char *label = gs_need(
        gs_strategy_stored_label(of->strategy.name, of->strategy.params_json, &validate->arena));
    for (uint32_t i = 0; i < validate->failed_count[1 - side]; i++) {
        if (same_job(&validate->failed[1 - side][i].run, of)) {
            validate->missing++;
            return; /* why it is not there has been told */
        }
    }
    const gs_stored_run *relative = find_relative(validate, 1 - side, of);
    if (relative == NULL) {
        gs_validate_remark(validate, "%s, %s: %s and not %s.", gs_validate_scenario(validate, of),
                           label, done[side], done[1 - side]);
        return;
    }
    const gs_stored_run *simulated = side == GS_SIDE_PREDICTED ? of : relative;
    const gs_stored_run *measured = side == GS_SIDE_PREDICTED ? relative : of;
    uint32_t counterparts = 0;
    (void)members_of(validate, GS_SIDE_MEASURED, simulated, &counterparts);
    if (side == GS_SIDE_MEASURED && counterparts == 0) {
        return; /* told from the other side */
    }
    char *difference =
        gs_config_difference(simulated->scenario.config_json, measured->scenario.config_json);
    gs_validate_remark(validate,
                       "%s, %s: simulated with config %016" PRIx64 ", measured with %016" PRIx64
                       ": not compared; they differ in %s.",
                       of->scenario.name, label, simulated->scenario.config_hash,
                       measured->scenario.config_hash,
                       difference == NULL ? "the contents of a file they name" : difference);
    free(difference);
}

/* Is run `index` of a side the first of its job? */
static bool is_first(const gs_validate *validate, int side, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (same_job(&validate->runs[side][i].run, &validate->runs[side][index].run)) {
            return false;
        }
    }
    return true;
}

static void add_pair(gs_validate *validate, const gs_stored_run *of)
{
    gs_validate_pair pair = {.of = of};
    pair.predicted = members_of(validate, GS_SIDE_PREDICTED, of, &pair.predicted_count);
    pair.measured = members_of(validate, GS_SIDE_MEASURED, of, &pair.measured_count);
    if (pair.measured_count == 0) {
        tell_alone(validate, GS_SIDE_PREDICTED, of);
        return;
    }
    pair.label = gs_need(
        gs_strategy_stored_label(of->strategy.name, of->strategy.params_json, &validate->arena));
    pair.scenario = gs_validate_scenario(validate, of);
    match_seeds(validate, &pair);
    look_at_times(&pair);
    uint64_t hash = of->scenario.config_hash;
    validate->scenarios_differ =
        validate->scenarios_differ ||
        (validate->pair_count > 0 && validate->pairs[0].of->scenario.config_hash != hash);
    validate->pairs[validate->pair_count++] = pair;
}

static int find_pairs(gs_validate *validate)
{
    uint32_t count = validate->run_count[GS_SIDE_PREDICTED];
    validate->pairs = gs_need(GS_TAKE(&validate->arena, gs_validate_pair, count));
    for (uint32_t i = 0; i < count; i++) {
        if (is_first(validate, GS_SIDE_PREDICTED, i)) {
            add_pair(validate, &validate->runs[GS_SIDE_PREDICTED][i].run);
        }
    }
    for (uint32_t i = 0; i < validate->run_count[GS_SIDE_MEASURED]; i++) {
        const gs_stored_run *run = &validate->runs[GS_SIDE_MEASURED][i].run;
        if (is_first(validate, GS_SIDE_MEASURED, i)) {
            uint32_t predicted = 0;
            (void)members_of(validate, GS_SIDE_PREDICTED, run, &predicted);
            if (predicted == 0) {
                tell_alone(validate, GS_SIDE_MEASURED, run);
            }
        }
    }
    if (validate->pair_count > 0) {
        return GS_EXIT_OK;
    }
    gs_complain("validate: %s and %s have no strategy on one scenario in common",
                validate->selectors[0], validate->selectors[1]);
    for (uint32_t i = 0; i < validate->remark_count; i++) {
        gs_complain("%s", validate->remarks[i]);
    }
    return GS_EXIT_REFUSED;
}

/* ---------------------------------------------------------------- what was not done */

/* A scenario whose files are gone is taken at its word. */
static void look_at_work(const gs_cli *cli, gs_validate_pair *pair)
{
    gs_cli bare = *cli;
    gs_loaded loaded;
    gs_error err;
    char *config = NULL;
    bare.word_count = 0;
    bare.strategy_count = 0;
    if (strstr(pair->measured[0]->run.scenario.config_json, "\"replay\"") == NULL ||
        gs_stored_config(&pair->measured[0]->run, &config, &err) != GS_OK) {
        return;
    }
    if (gs_scenario_try(&bare, pair->scenario, config, &loaded, &err) == GS_OK) {
        pair->skips_work = gs_replay_skips_work(&loaded.scenario);
        pair->skips_codec = pair->skips_work && loaded.scenario.strategies[0].coding.codec != NULL;
    }
    gs_scenario_unload(&loaded);
    free(config);
}

/* ---------------------------------------------------------------- all of it */

int gs_validate_make(const gs_cli *cli, size_t first, gs_store *store, gs_validate *out)
{
    *out = (gs_validate){.selectors = {cli->words[first], cli->words[first + 1]}};
    gs_arena_init(&out->arena);
    GS_ASSERT(gs_judged_count() <= sizeof out->tolerances / sizeof out->tolerances[0]);
    int code = read_tolerances(cli, out->tolerances);
    code = code == GS_EXIT_OK ? gs_validate_read(out, store) : code;
    code = code == GS_EXIT_OK ? find_pairs(out) : code;
    for (uint32_t i = 0; code == GS_EXIT_OK && i < out->pair_count; i++) {
        look_at_work(cli, &out->pairs[i]);
    }
    if (code == GS_EXIT_OK) {
        gs_validate_judge(out);
    }
    return code;
}

void gs_validate_free(gs_validate *validate)
{
    gs_arena_fini(&validate->arena);
}

const gs_validate_row *gs_validate_row_of(const gs_validate_pair *pair, const char *name)
{
    for (uint32_t i = 0; i < pair->row_count; i++) {
        if (pair->rows[i].rank == GS_ALL_RANKS && strcmp(pair->rows[i].what->name, name) == 0) {
            return &pair->rows[i];
        }
    }
    return NULL;
}
