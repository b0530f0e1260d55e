/* sim: runs every strategy of a scenario for every seed, keeps the runs and says who is fastest. */
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/run_pool.h"
#include "tools/scenario_load.h"
#include "tools/sim_report.h"
#include "tools/sim_save.h"
#include "tools/timeline_run.h"
#include "tools/verbs.h"
#include "tools/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMELINE_STEPS = 10 };

/* --- before the runs -------------------------------------------------------------------------- */

/* What cannot work is refused before anything runs. */
static int check_runnable(const gs_cli *cli, gs_loaded *loaded)
{
    gs_error err = {0};
    gs_job job;
    if (cli->flags.label[0] != '\0' && gs_store_check_label(cli->flags.label, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (gs_scenario_runnable(&loaded->scenario, &err) != GS_OK ||
        gs_scenario_job(&loaded->scenario, &loaded->arena, &job, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (cli->flags.gradients > 0 && !loaded->scenario.workload.real_gradients) {
        gs_complain("%s: --gradients: there are none to look at, the scenario only takes their "
                    "time; set workload.real_gradients=true",
                    loaded->scenario.name);
        return GS_EXIT_USAGE;
    }
    for (uint32_t i = 0; i < loaded->scenario.strategy_count; i++) {
        const gs_strategy_choice *choice = &loaded->scenario.strategies[i];
        gs_layout layout;
        if (choice->strategy->layout(choice->config, &job, &layout, &err) != GS_OK) {
            gs_complain("%s: %s: %s", loaded->scenario.name, choice->label, err.text);
            return GS_EXIT_USAGE;
        }
    }
    return GS_EXIT_OK;
}

/* A timeline is asked for in time: its window and its file are looked at before any run. */
static int check_timeline(const gs_cli *cli, const gs_scenario *scenario, gs_window *out)
{
    if (cli->flags.timeline[0] == '\0') {
        if (cli->flags.window[0] != '\0') {
            gs_complain("--window: of what? it goes with --timeline FILE");
            return GS_EXIT_USAGE;
        }
        return GS_EXIT_OK;
    }
    if (strcmp(cli->flags.timeline, "-") == 0) {
        gs_complain("--timeline -: standard output has the report; name a file");
        return GS_EXIT_USAGE;
    }
    int code = gs_window_of(cli, scenario, TIMELINE_STEPS, out);
    if (code == GS_EXIT_OK) {
        gs_output check;
        code = gs_output_open(&check, cli->flags.timeline);
        gs_output_drop(&check);
    }
    return code;
}

/* The command that makes the same report again. Owner: caller, free(). */
static char *command_text(const gs_cli *cli, const gs_loaded *loaded)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    gs_scenario_put_command(cli, loaded, out);
    if (cli->flags.gradients > 0) {
        fprintf(out, " --gradients %" PRId64, cli->flags.gradients);
    }
    if (cli->flags.step_limit > 0) {
        char limit[GS_UNIT_TEXT_BYTES];
        fprintf(out, " --step-limit %s", gs_exact_duration(cli->flags.step_limit, limit));
    }
    fclose(out);
    return gs_need(text);
}

/* Strategies get as many samples, not as much time: one that takes more of them a step, or less
 * time, is cut off by it. */
static void put_budget(const gs_scenario *scenario, FILE *out)
{
    const gs_workload *workload = &scenario->workload;
    int64_t passes = workload->budget_steps * workload->accumulation;
    fprintf(out, "budget: %" PRId64 " pass%s a rank = %" PRId64 " samples", passes,
            passes == 1 ? "" : "es", gs_scenario_budget_samples(scenario));
    if (workload->real_gradients) {
        int64_t steps = gs_scenario_evaluation_steps(scenario);
        fprintf(out, "; %s evaluated every %" PRId64 " step%s", gs_quality_words(workload->quality),
                steps, steps == 1 ? "" : "s");
    }
    fputc('\n', out);
}

static void put_header(const gs_cli *cli, const gs_loaded *loaded, FILE *out)
{
    char *headline = gs_scenario_headline(&loaded->scenario);
    fprintf(out, "%s\n", headline);
    free(headline);
    gs_scenario_put_details(&loaded->scenario, out);
    put_budget(&loaded->scenario, out);
    if (loaded->launcher.variable != NULL) {
        fprintf(out, "%" PRId64 " ranks instead of the scenario's, as %s says\n",
                loaded->launcher.ranks, loaded->launcher.variable);
    }
    if (cli->environment[0] != '\0') {
        fprintf(out, "from the environment: %s\n", cli->environment);
    }
}

static int tell_plan(const gs_cli *cli, const gs_loaded *loaded)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    put_header(cli, loaded, output.text);
    for (uint32_t i = 0; i < loaded->scenario.strategy_count; i++) {
        fprintf(output.text, "would run %s with %" PRId64 " seed%s, %" PRId64 " steps each\n",
                loaded->scenario.strategies[i].label, loaded->scenario.seeds,
                loaded->scenario.seeds == 1 ? "" : "s", loaded->scenario.workload.budget_steps);
    }
    return gs_output_close(&output);
}

/* --- after them ------------------------------------------------------------------------------- */

static int code_of(const gs_cli *cli, const gs_sim_report *report)
{
    if (gs_interrupt_signal() != 0) {
        return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
    }
    for (uint32_t i = 0; i < report->row_count; i++) {
        if (report->rows[i].failed > 0 || report->rows[i].diverged == report->rows[i].runs) {
            return GS_EXIT_FAILED;
        }
    }
    bool below = false;
    bool above = false;
    for (uint32_t i = 0; i < report->row_count; i++) {
        below = below || report->rows[i].below_bytes > 0;
        above = above || report->rows[i].above_bytes > 0;
    }
    if (cli->flags.strict && (below || above)) {
        gs_complain("%s: sizes outside the measured curve; measure %s%s%s ones, or leave out "
                    "--strict",
                    report->scenario->name, below ? "smaller" : "", below && above ? " and " : "",
                    above ? "larger" : "");
        return GS_EXIT_OUTSIDE;
    }
    return GS_EXIT_OK;
}

static void put_text(const gs_cli *cli, const gs_loaded *loaded, const gs_sim_batch *batch,
                     const gs_sim_report *report, const char *answer, FILE *out)
{
    gs_table table;
    gs_table_init(&table);
    gs_sim_report_table(report, &table);
    bool markdown = cli->flags.markdown;
    if (cli->flags.csv) {
        gs_table_print(&table, GS_TABLE_CSV, false, out);
    } else {
        put_header(cli, loaded, out);
        fputs(markdown ? "\n" : "", out);
        gs_table_print(&table, gs_cli_table_format(cli), cli->bold, out);
        fputs(markdown ? "\n" : "", out);
        gs_sim_report_remarks(report, out);
        fprintf(out, "Reproduce: %s%s%s  (commit %s%s, config %016" PRIx64 ")%s\n",
                markdown ? "`" : "", batch->command, markdown ? "`" : "", batch->environment.commit,
                batch->environment.dirty ? " changed since" : "", loaded->scenario.config_hash,
                markdown ? "\n" : "");
        fprintf(out, "%s%s%s\n", cli->bold ? "\033[1m" : "", answer, cli->bold ? "\033[0m" : "");
    }
    gs_table_fini(&table);
}

/* Speed, for those who ask: it differs each time and is no part of the output. */
static void tell_speed(const gs_sim_batch *batch)
{
    uint64_t events = 0;
    double simulated_ns = 0.0;
    double wall_ns = 0.0;
    for (uint32_t i = 0; i < batch->scenario->strategy_count * batch->seeds; i++) {
        events += batch->outcomes[i].result.facts.events;
        simulated_ns += (double)batch->outcomes[i].result.facts.end_ns;
        wall_ns += (double)batch->outcomes[i].wall_ns;
    }
    if (wall_ns > 0.0) {
        gs_complain("%" PRIu64 " events, %.3g million a second and process; simulated %.3g times "
                    "faster than real time",
                    events, (double)events * 1e3 / wall_ns, simulated_ns / wall_ns);
    }
}

/* Reports that are machine-readable carry no header: what must not be silent goes to the side. */
static void tell_aside(const gs_cli *cli, const gs_loaded *loaded, const gs_sim_report *report)
{
    if ((cli->flags.json || cli->flags.csv) && !cli->flags.quiet) {
        if (cli->environment[0] != '\0') {
            gs_complain("from the environment: %s", cli->environment);
        }
        if (loaded->launcher.variable != NULL) {
            gs_complain("%" PRId64 " ranks instead of the scenario's, as %s says",
                        loaded->launcher.ranks, loaded->launcher.variable);
        }
        gs_sim_report_remarks(report, stderr);
    }
}

/* Stores, prints, and only then says what went wrong with the database: a result is never lost. */
static int finish(const gs_cli *cli, gs_loaded *loaded, gs_sim_batch *batch, gs_output *output)
{
    gs_sim_report report;
    gs_error err = {0};
    gs_sim_report_make(batch->scenario, batch->seeds, batch->outcomes, cli->flags.step_limit,
                       &report);
    int code = code_of(cli, &report);
    gs_status stored = gs_sim_store_finish(batch, &err);
    if (stored != GS_OK && code == GS_EXIT_OK) {
        code = GS_EXIT_FAILED;
    }
    char *answer = gs_sim_report_answer(&report);
    if (cli->flags.json) {
        gs_json *document = gs_sim_document(batch, &report, answer, code);
        char *text = gs_need(gs_json_write(document, true));
        fprintf(output->text, "%s\n", text);
        free(text);
        gs_json_free(document);
    } else {
        put_text(cli, loaded, batch, &report, answer, output->text);
    }
    free(answer);
    int written = gs_output_close(output);
    tell_aside(cli, loaded, &report);
    if (cli->flags.verbose) {
        tell_speed(batch);
    }
    if (stored != GS_OK) {
        gs_complain("%s", err.text);
    }
    gs_sim_report_free(&report);
    return code == GS_EXIT_OK ? written : code;
}

static int run_all(const gs_cli *cli, gs_loaded *loaded, gs_output *output)
{
    const gs_scenario *scenario = &loaded->scenario;
    uint32_t seeds = (uint32_t)scenario->seeds;
    size_t count = (size_t)scenario->strategy_count * seeds;
    gs_tool_facts facts = gs_version_facts();
    gs_sim_batch batch = {.cli = cli, .scenario = scenario, .seeds = seeds};
    if (gs_environment_collect(&facts, &loaded->arena, &batch.environment) != GS_OK) {
        gs_need(NULL);
    }
    gs_outcome *outcomes = gs_need(calloc(count, sizeof *outcomes));
    batch.outcomes = outcomes;
    batch.run_ids = gs_need(calloc(count, sizeof *batch.run_ids));
    batch.ended = gs_need(calloc(count, sizeof *batch.ended));
    char *command = command_text(cli, loaded);
    char *model = gs_scenario_model_name(scenario);
    char *config = gs_need(gs_json_write(scenario->resolved, false));
    batch.command = command;
    batch.model_name = model;
    batch.config_json = config;
    gs_progress progress;
    gs_progress_start(&progress, cli, (uint32_t)count);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gs_pool_config pool = {
        .scenario = scenario,
        .seeds = seeds,
        .jobs = cli->flags.jobs > 0 ? cli->flags.jobs
                : processors < 1    ? 1
                                    : processors,
        .threads = cli->flags.threads,
        .keep_all_ranks = cli->flags.steps == GS_STEPS_ALL,
        .look_every = cli->flags.gradients,
        .ended = gs_sim_store_ended,
        .context = &batch,
        .progress = &progress,
    };
    gs_interrupt_watch();
    gs_pool_run(&pool, outcomes);
    int code = finish(cli, loaded, &batch, output);
    for (size_t i = 0; i < count; i++) {
        gs_outcome_fini(&outcomes[i]);
    }
    free(outcomes);
    free(batch.run_ids);
    free(batch.ended);
    free(command);
    free(model);
    free(config);
    return code;
}

int gs_cmd_sim(const gs_cli *cli)
{
    gs_loaded loaded;
    gs_window window = {0};
    int code = gs_scenario_load(cli, &loaded);
    if (code == GS_EXIT_OK) {
        code = check_runnable(cli, &loaded);
    }
    if (code == GS_EXIT_OK) {
        code = check_timeline(cli, &loaded.scenario, &window);
    }
    if (code == GS_EXIT_OK && cli->flags.dry_run) {
        code = tell_plan(cli, &loaded);
    } else if (code == GS_EXIT_OK) {
        gs_output output;
        code = gs_output_open(&output, cli->flags.output);
        code = code == GS_EXIT_OK ? run_all(cli, &loaded, &output) : code;
        if (code == GS_EXIT_OK && cli->flags.timeline[0] != '\0') {
            code = gs_timeline_save(cli, &loaded.scenario, window);
        }
    }
    gs_scenario_unload(&loaded);
    return code;
}
