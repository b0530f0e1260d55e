#include "tools/sim_batch.h"

#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/shell_text.h"
#include "tools/sim_report.h"
#include "tools/verbs.h"
#include "tools/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- before the runs -------------------------------------------------------------------------- */

/* The command that makes the same report again. Owner: caller, free(). */
static char *command_text(const gs_cli *cli, const gs_loaded *loaded)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    gs_scenario_put_command(cli, loaded, out);
    if (cli->from[GS_FLAG_transport] == GS_FROM_FLAG) {
        fprintf(out, " --transport %s", gs_live_transport_names[cli->flags.transport]);
    }
    if (cli->flags.repeat > 1) {
        fprintf(out, " --repeat %" PRId64, cli->flags.repeat);
    }
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

void gs_sim_batch_header(const gs_cli *cli, const gs_loaded *loaded, const char *how, FILE *out)
{
    char *headline = gs_scenario_headline(&loaded->scenario);
    fprintf(out, "%s\n", headline);
    free(headline);
    if (how == NULL) {
        gs_scenario_put_details(&loaded->scenario, out);
    } else {
        fprintf(out, "%s\n", how);
    }
    put_budget(&loaded->scenario, out);
    if (loaded->launcher.variable != NULL && how == NULL) {
        fprintf(out, "%" PRId64 " ranks instead of the scenario's, as %s says\n",
                loaded->launcher.ranks, loaded->launcher.variable);
    }
    if (cli->environment[0] != '\0') {
        fprintf(out, "from the environment: %s\n", cli->environment);
    }
}

uint32_t gs_sim_batch_runs(const gs_sim_batch *batch)
{
    return batch->scenario->strategy_count * batch->seeds;
}

void gs_sim_batch_begin(const gs_cli *cli, gs_loaded *loaded, const char *how, uint32_t repeats,
                        gs_sim_batch *out)
{
    const gs_scenario *scenario = &loaded->scenario;
    gs_tool_facts facts = gs_version_facts();
    *out = (gs_sim_batch){.cli = cli,
                          .scenario = scenario,
                          .source = how == NULL ? GS_SOURCE_SIM : GS_SOURCE_LIVE,
                          .how = how,
                          .seeds = (uint32_t)scenario->seeds * repeats,
                          .repeats = repeats,
                          .command = command_text(cli, loaded),
                          .model_name = gs_scenario_model_name(scenario),
                          .config_json = gs_need(gs_json_write(scenario->resolved, false))};
    if (gs_environment_collect(&facts, &loaded->arena, &out->environment) != GS_OK) {
        gs_need(NULL);
    }
    size_t count = gs_sim_batch_runs(out);
    out->outcomes = gs_need(calloc(count, sizeof *out->outcomes));
    out->run_ids = gs_need(calloc(count, sizeof *out->run_ids));
    out->ended = gs_need(calloc(count, sizeof *out->ended));
}

void gs_sim_batch_drop(gs_sim_batch *batch)
{
    for (uint32_t i = 0; i < gs_sim_batch_runs(batch); i++) {
        gs_outcome_fini(&batch->outcomes[i]);
    }
    gs_store_close(batch->store);
    free(batch->outcomes);
    free(batch->run_ids);
    free(batch->ended);
    free(batch->command);
    free(batch->model_name);
    free(batch->config_json);
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
    bool messages = false;
    for (uint32_t i = 0; i < report->row_count; i++) {
        below = below || report->rows[i].below_bytes > 0;
        above = above || report->rows[i].above_bytes > 0;
        messages = messages || report->rows[i].below_message_bytes > 0 ||
                   report->rows[i].above_message_bytes > 0;
    }
    if (cli->flags.strict && messages) {
        gs_complain("%s: messages of sizes that links were not calibrated with; leave out --strict",
                    report->scenario->name);
        return GS_EXIT_OUTSIDE;
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
        gs_sim_batch_header(cli, loaded, batch->how, out);
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
        if (loaded->launcher.variable != NULL && !report->is_measured) {
            gs_complain("%" PRId64 " ranks instead of the scenario's, as %s says",
                        loaded->launcher.ranks, loaded->launcher.variable);
        }
        gs_sim_report_remarks(report, stderr);
    }
}

/* Stores, prints, and only then says what went wrong with the database: a result is never lost. */
static int finish(gs_sim_batch *batch, gs_loaded *loaded, gs_output *output)
{
    const gs_cli *cli = batch->cli;
    gs_sim_report report;
    gs_error err = {0};
    gs_sim_report_make(batch->scenario, batch->seeds, batch->outcomes, cli->flags.step_limit,
                       &report);
    report.is_measured = batch->how != NULL;
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

int gs_sim_batch_end(gs_sim_batch *batch, gs_loaded *loaded, gs_output *output)
{
    int code = finish(batch, loaded, output);
    gs_sim_batch_drop(batch);
    return code;
}
