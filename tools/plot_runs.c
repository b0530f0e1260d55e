#include "tools/plot_runs.h"

#include "base/config.h"
#include "base/json.h"
#include "strategies/registry.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/run_pool.h"
#include "tools/scenario_list.h"
#include "tools/scenario_load.h"
#include "traces/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gs_plot_names_run(const gs_cli *cli)
{
    if (cli->word_count < 2) {
        return false;
    }
    const char *word = cli->words[1];
    bool is_number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
    bool is_scenario = strcmp(word, "-") == 0 || strpbrk(word, "/.") != NULL;
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_named_scenario *list = NULL;
    size_t count = gs_scenario_list(&arena, &list);
    for (size_t i = 0; i < count; i++) {
        is_scenario = is_scenario || strcmp(list[i].name, word) == 0;
    }
    gs_arena_fini(&arena);
    return is_number || word[0] == '@' || !is_scenario;
}

static void *take(gs_plot_runs *of, size_t count, size_t bytes)
{
    return gs_need(gs_arena_take(&of->arena, count, bytes));
}

/* ---------------------------------------------------------------- groups */

static gs_plot_group *group_of(gs_plot_runs *runs, const char *label)
{
    for (uint32_t i = 0; i < runs->group_count; i++) {
        if (strcmp(runs->groups[i].label, label) == 0) {
            return &runs->groups[i];
        }
    }
    gs_plot_group *group = &runs->groups[runs->group_count++];
    group->label = gs_need(gs_arena_text(&runs->arena, label));
    return group;
}

/* values [gs_metric_count()] of one run; step_ns [count] its steps. */
static void add_run(gs_plot_runs *runs, const char *label, const double *values,
                    const double *step_ns, int64_t count)
{
    static const char *const names[] = {"compute_ns", "exposed_comm_ns", "wait_ns", "input_ns",
                                        "overhead_ns"};
    gs_plot_group *group = group_of(runs, label);
    group->runs++;
    for (int part = 0; part < 5; part++) {
        double value = values[gs_metric_find(names[part])];
        group->parts_ns[part] += (value - group->parts_ns[part]) / group->runs;
    }
    double *all = take(runs, (size_t)(group->step_count + count), sizeof *all);
    if (group->step_count > 0) {
        memcpy(all, group->step_ns, (size_t)group->step_count * sizeof *all);
    }
    memcpy(all + group->step_count, step_ns, (size_t)count * sizeof *all);
    group->step_ns = all;
    group->step_count += count;
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a;
    double other = *(const double *)b;
    return (one > other) - (one < other);
}

static int end_groups(gs_plot_runs *runs, uint32_t left_out, const char *name)
{
    if (runs->group_count == 0) {
        gs_complain("%s: none of its runs ended well and has steps", name);
        return GS_EXIT_FAILED;
    }
    if (left_out > 0) {
        gs_complain("%s: %u run%s that did not end well %s left out", name, left_out,
                    left_out == 1 ? "" : "s", left_out == 1 ? "is" : "are");
    }
    uint32_t most = 0;
    for (uint32_t i = 0; i < runs->group_count; i++) {
        gs_plot_group *group = &runs->groups[i];
        most = group->runs > most ? group->runs : most;
        qsort(group->step_ns, (size_t)group->step_count, sizeof *group->step_ns, ascending);
    }
    char *title = gs_text("%s, %u %s%s each", name, most, runs->is_measured ? "run" : "seed",
                          most == 1 ? "" : "s");
    runs->title = gs_need(gs_arena_text(&runs->arena, title));
    free(title);
    return GS_EXIT_OK;
}

/* ---------------------------------------------------------------- of a scenario */

static void add_outcome(gs_plot_runs *runs, const char *label, const gs_outcome *outcome)
{
    int64_t count = gs_record_mean_count(outcome->record);
    double *steps = take(runs, (size_t)count, sizeof *steps);
    for (int64_t i = 0; i < count; i++) {
        steps[i] = gs_record_mean_ns(outcome->record, i);
    }
    add_run(runs, label, outcome->values, steps, count);
}

static int simulate(const gs_cli *cli, const gs_scenario *scenario, gs_plot_runs *runs)
{
    size_t count = (size_t)scenario->strategy_count * (size_t)scenario->seeds;
    gs_outcome *outcomes = take(runs, count, sizeof *outcomes);
    gs_progress progress;
    gs_progress_start(&progress, cli, (uint32_t)count);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gs_pool_config pool = {
        .scenario = scenario,
        .seeds = (uint32_t)scenario->seeds,
        .jobs = cli->flags.jobs > 0 ? cli->flags.jobs
                : processors < 1    ? 1
                                    : processors,
        .threads = cli->flags.threads,
        .progress = &progress,
    };
    gs_interrupt_watch();
    gs_pool_run(&pool, outcomes);
    runs->groups = take(runs, scenario->strategy_count, sizeof *runs->groups);
    uint32_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i].started && outcomes[i].status == GS_RUN_OK) {
            add_outcome(runs, scenario->strategies[i / (size_t)scenario->seeds].label,
                        &outcomes[i]);
        } else {
            left_out++;
        }
        gs_outcome_fini(&outcomes[i]);
    }
    if (gs_interrupt_signal() != 0) {
        return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
    }
    return end_groups(runs, left_out, scenario->name);
}

static int of_scenario(const gs_cli *cli, gs_plot_runs *runs)
{
    gs_cli rest = *cli;
    rest.words++;
    rest.word_count--;
    gs_loaded loaded;
    gs_error err = {0};
    int code = gs_scenario_load(&rest, &loaded);
    if (code == GS_EXIT_OK && gs_scenario_runnable(&loaded.scenario, &err) != GS_OK) {
        code = gs_complain_error(&err);
    }
    code = code == GS_EXIT_OK ? simulate(cli, &loaded.scenario, runs) : code;
    gs_scenario_unload(&loaded);
    return code;
}

/* ---------------------------------------------------------------- of the database */

char *gs_plot_run_label(const gs_stored_run *run, gs_arena *arena)
{
    const char *label =
        gs_need(gs_strategy_stored_label(run->strategy.name, run->strategy.params_json, arena));
    return gs_text("%s", label);
}

/* Mean over its ranks of each step: rows are of all ranks together, or one for each. */
static int64_t mean_steps(const gs_step_row *rows, int64_t count, int64_t ranks, double *out)
{
    int64_t steps = 0;
    for (int64_t i = 0; i < count;) {
        double sum = 0.0;
        int64_t members = 0;
        int64_t step = rows[i].step;
        for (; i < count && rows[i].step == step; i++) {
            sum += (double)rows[i].duration_ns;
            members += rows[i].rank == GS_ALL_RANKS ? ranks : 1;
        }
        out[steps++] = sum / (double)members;
    }
    return steps;
}

static gs_status add_stored(gs_plot_runs *runs, gs_store *store, int64_t id,
                            const gs_stored_run *run, const char *label, gs_error *err)
{
    const gs_step_row *rows = NULL;
    int64_t count = 0;
    GS_TRY(gs_store_read_steps(store, id, &runs->arena, &rows, &count, err));
    double *steps = take(runs, (size_t)count, sizeof *steps);
    add_run(runs, label, run->values, steps, mean_steps(rows, count, run->scenario.ranks, steps));
    return GS_OK;
}

/* The runs of all words after the figure. */
static gs_status find_all(gs_plot_runs *runs, gs_store *store, const gs_cli *cli, int64_t **out_ids,
                          uint32_t *out_count, gs_error *err)
{
    *out_count = 0;
    *out_ids = NULL;
    for (size_t i = 1; i < cli->word_count; i++) {
        const int64_t *ids = NULL;
        uint32_t count = 0;
        GS_TRY(gs_store_find_runs(store, cli->words[i], &runs->arena, &ids, &count, err));
        int64_t *longer = take(runs, (size_t)*out_count + count, sizeof *longer);
        if (*out_count > 0) {
            memcpy(longer, *out_ids, *out_count * sizeof *longer);
        }
        memcpy(longer + *out_count, ids, count * sizeof *longer);
        *out_ids = longer;
        *out_count += count;
    }
    return GS_OK;
}

static gs_status read_store(gs_plot_runs *runs, gs_store *store, const gs_cli *cli,
                            uint32_t *out_left_out, const char **out_name, gs_error *err)
{
    int64_t *ids = NULL;
    uint32_t count = 0;
    GS_TRY(find_all(runs, store, cli, &ids, &count, err));
    gs_stored_run *all = take(runs, count, sizeof *all);
    runs->groups = take(runs, count, sizeof *runs->groups);
    for (uint32_t i = 0; i < count; i++) {
        GS_TRY(gs_store_read_run(store, ids[i], &runs->arena, &all[i], err));
        runs->is_measured = runs->is_measured || all[i].source == GS_SOURCE_LIVE;
    }
    *out_left_out = 0;
    *out_name = all[0].scenario.name;
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].status != GS_RUN_OK || !isfinite(all[i].values[gs_metric_find("compute_ns")])) {
            (*out_left_out)++;
            continue;
        }
        char *label = gs_plot_run_label(&all[i], &runs->arena);
        gs_status status = add_stored(runs, store, ids[i], &all[i], label, err);
        free(label);
        GS_TRY(status);
    }
    return GS_OK;
}

static int of_store(const gs_cli *cli, gs_plot_runs *runs)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_store *store = NULL;
    gs_error err = {0};
    uint32_t left_out = 0;
    const char *name = NULL;
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    status = status == GS_OK ? gs_store_open(path, GS_STORE_READ, &store, &err) : status;
    status = status == GS_OK ? read_store(runs, store, cli, &left_out, &name, &err) : status;
    gs_store_close(store);
    return status == GS_OK ? end_groups(runs, left_out, name) : gs_complain_error(&err);
}

int gs_plot_runs_find(const gs_cli *cli, gs_plot_runs *out)
{
    *out = (gs_plot_runs){0};
    gs_arena_init(&out->arena);
    if (cli->word_count < 2) {
        gs_complain("plot %s: of what? name a run (@last, an id, a label) or a scenario",
                    cli->words[0]);
        return GS_EXIT_USAGE;
    }
    if (cli->verb == GS_VERB_report) {
        return of_store(cli, out); /* which names every run of a job by its id */
    }
    bool is_run = gs_plot_names_run(cli);
    if (is_run && cli->word_count > 2 && strchr(cli->words[2], '=') == NULL) {
        gs_complain("plot %s %s: one run is taken, not %s as well; plot them one at a time",
                    cli->words[0], cli->words[1], cli->words[2]);
        return GS_EXIT_USAGE;
    }
    if (is_run && (cli->word_count > 2 || cli->strategy_count > 0)) {
        gs_complain("plot %s %s: a stored run takes no KEY=VALUE and no -s; plot its scenario",
                    cli->words[0], cli->words[1]);
        return GS_EXIT_USAGE;
    }
    return is_run ? of_store(cli, out) : of_scenario(cli, out);
}

void gs_plot_runs_fini(gs_plot_runs *runs)
{
    gs_arena_fini(&runs->arena);
}
