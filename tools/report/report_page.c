/* Sections of the page, in the order in which a reader asks. */
#include "tools/report/report.h"

#include "tools/config_difference.h"
#include "tools/message.h"
#include "tools/page.h"
#include "tools/plot.h"
#include "tools/validate.h"
#include "tools/validate_page.h"
#include "traces/store/store_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIGS_MAX = 24, TABLE_ROWS_MAX = 200 };

/* ---------------------------------------------------------------- parts of sections */

static void none(gs_report *report, const char *why)
{
    fputs("<p class=\"none\">", report->out);
    gs_html_text(why, report->out);
    fputs("</p>\n", report->out);
}

/* Several jobs are told apart by a heading. */
static void head_job(gs_report *report, const gs_report_job *job)
{
    if (report->job_count > 1) {
        fputs("<h3>", report->out);
        gs_html_printf(report->out, "%s, %s", job->name,
                       job->is_measured ? "measured" : "simulated");
        fputs("</h3>\n", report->out);
    }
}

/* A field of CSV into *out; returns what follows it. */
static const char *take_field(const char *at, FILE *out)
{
    bool is_quoted = *at == '"';
    at += is_quoted ? 1 : 0;
    while (*at != '\0' && (is_quoted || (*at != ',' && *at != '\n'))) {
        if (is_quoted && *at == '"') {
            if (at[1] != '"') {
                at++;
                break;
            }
            at++;
        }
        fputc(*at++, out);
    }
    return at;
}

/* The data as a table, where there is no picture of it. Titles of columns are borrowed by a table:
 * they live in the arena. */
static void put_data_table(gs_report *report, const char *csv, const char *caption)
{
    gs_table table;
    size_t rows = 0;
    gs_table_init(&table);
    for (const char *at = csv; *at != '\0' && rows < TABLE_ROWS_MAX; at++) {
        char *field = NULL;
        size_t bytes = 0;
        FILE *out = gs_need(open_memstream(&field, &bytes));
        at = take_field(at, out);
        fclose(out);
        if (rows == 0 && table.column_count < GS_TABLE_COLUMNS_MAX) {
            const char *title = gs_need(gs_arena_text(&report->arena, field));
            gs_table_add_column(&table, (gs_table_column){title, NULL, false});
        } else if (rows > 0) {
            gs_table_add(&table, field, NULL);
        }
        free(field);
        rows += *at == '\n' ? 1 : 0;
        if (*at == '\0') {
            break;
        }
    }
    gs_html_table(&table, caption, report->out);
    gs_table_fini(&table);
}

/* What a figure has filled: the picture, and its data below it. */
static void put_drawn(gs_report *report, int code, gs_plot *plot, const char *title)
{
    if (code != GS_EXIT_OK) {
        const char *why = gs_message_kept();
        const char *colon = strncmp(why, "plot ", 5) == 0 ? strstr(why, ": ") : NULL;
        char *line = gs_text("Left out: %s.", colon == NULL ? why : colon + 2);
        gs_plot_drop(plot);
        none(report, line);
        free(line);
        return;
    }
    char *svg = NULL;
    char *csv = NULL;
    gs_plot_take(plot, &svg, &csv);
    if (svg != NULL) {
        fputs("<figure>\n", report->out);
        gs_html_svg(svg, ++report->figures, title, report->out);
        fputs("</figure>\n", report->out);
    } else {
        put_data_table(report, csv, title);
    }
    gs_html_details("Data of this figure, as CSV", csv, report->out);
    free(svg);
    free(csv);
}

/* words [count]: the first is room for the figure's name. */
static void put_figure(gs_report *report, const char *name, const char *title, const char **words,
                       size_t count)
{
    gs_cli cli = *report->cli;
    gs_plot plot;
    words[0] = name;
    cli.words = words;
    cli.word_count = count;
    cli.strategy_count = 0;
    gs_plot_open_page(&cli, &plot);
    gs_message_keep();
    int code = gs_plot_find(name)(&cli, &plot);
    gs_message_speak();
    put_drawn(report, code, &plot, title);
}

static void put_job_figures(gs_report *report, const char *name, const char *title)
{
    for (uint32_t i = 0; i < report->job_count; i++) {
        gs_report_job *job = &report->jobs[i];
        head_job(report, job);
        put_figure(report, name, title, job->words, (size_t)job->count + 1);
    }
}

/* The words of the command as those of a figure. Owner: the arena. */
static const char **set_words(gs_report *report)
{
    const char **words =
        gs_need(gs_arena_take(&report->arena, report->cli->word_count + 2, sizeof *words));
    for (size_t i = 0; i < report->cli->word_count; i++) {
        words[i + 1] = report->cli->words[i];
    }
    return words;
}

/* ---------------------------------------------------------------- the answer */

/* More jobs than are told one by one: what was swept. said: the verdict stands above. */
static void put_sweep(gs_report *report, bool said)
{
    FILE *out = report->out;
    fputs(said ? "<p>" : "<p class=\"verdict\">", out);
    gs_html_printf(out, "%" PRIu32 " runs of %" PRIu32 " scenarios", report->set.count,
                   report->job_count);
    for (uint32_t i = 0, told = 0; i < report->set.key_count; i++) {
        const gs_swept_key *key = &report->set.keys[i];
        if (key->count > 1) {
            gs_html_printf(out, "%s%s of %" PRIu32 " values (%s to %s)",
                           told++ == 0 ? ", swept over " : ", ", key->key, key->count,
                           key->values[0], key->values[key->count - 1]);
        }
    }
    fputs(": the map below says which strategy is best where.</p>\n", out);
    none(report,
         "Left out: what rests on one scenario (its assumptions, breakdown, learning, tail, "
         "timeline, command); report the runs of one.");
}

/* Word for word what the command has said that stored these runs, and no other; NULL: nothing. */
static const char *stored_answer(gs_report *report, const char **out_verb)
{
    const char *text = NULL;
    gs_error err = {0};
    int64_t *ids = gs_need(calloc((size_t)report->set.count + 1, sizeof *ids));
    for (uint32_t i = 0; i < report->set.count; i++) {
        ids[i] = report->set.runs[i].id;
    }
    if (report->set.count > 0 &&
        gs_store_read_answer(report->set.store, ids, report->set.count, &report->arena, out_verb,
                             &text, &err) != GS_OK) {
        gs_complain("%s", err.text);
    }
    free(ids);
    return text;
}

static void put_verdict(const char *text, FILE *out)
{
    fputs("<p class=\"verdict\">", out);
    gs_html_text(text, out);
    fputs("</p>\n", out);
}

static void put_answers(gs_report *report)
{
    FILE *out = report->out;
    fputs("<h2 id=\"answer\">Answer</h2>\n", out);
    if (report->comparison_id != 0) {
        gs_report_comparison(report);
    }
    const char *verb = NULL;
    const char *said = stored_answer(report, &verb);
    if (said != NULL) {
        put_verdict(said, out);
        fputs("<p class=\"about\">", out);
        gs_html_printf(out, "Said by gradsync %s when it had made these runs.", verb);
        fputs("</p>\n", out);
    }
    if (report->job_count > GS_REPORT_JOBS) {
        put_sweep(report, said != NULL);
        return;
    }
    for (uint32_t i = 0; i < report->job_count; i++) {
        const gs_report_job *job = &report->jobs[i];
        head_job(report, job);
        if (job->answer == NULL) {
            char *line = gs_text("Left out: its scenario cannot be read again: %s", job->why);
            none(report, line);
            free(line);
            continue;
        }
        if (said == NULL) {
            put_verdict(job->answer, out);
        }
        gs_table table;
        gs_table_init(&table);
        gs_sim_report_table(&job->sums, &table);
        gs_html_table(&table, "Strategies, means over their seeds", out);
        gs_table_fini(&table);
    }
}

/* ---------------------------------------------------------------- what it rests on */

static void put_fact(const char *line, FILE *out)
{
    bool is_measured = strncmp(line, "measured", 8) == 0 || strstr(line, "measured curve") != NULL;
    bool is_assumed = strstr(line, "assumed") != NULL;
    const char *badge = is_assumed ? "assumed" : is_measured ? "measured" : "given";
    fprintf(out, "<li><span class=\"badge %s\">%s</span>", badge, badge);
    gs_html_text(line, out);
    fputs("</li>\n", out);
}

/* Each line of a text as an item; is_fact: with what it is. Frees the text. */
static void put_lines(char *text, bool is_fact, FILE *out)
{
    fputs(text[0] == '\0' ? "" : "<ul class=\"facts\">\n", out);
    for (char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        bool is_last = line[length] == '\0';
        line[length] = '\0';
        if (is_fact) {
            put_fact(line, out);
        } else {
            fputs("<li>", out);
            gs_html_text(line, out);
            fputs("</li>\n", out);
        }
        line += length + (is_last ? 0 : 1);
    }
    fputs(text[0] == '\0' ? "" : "</ul>\n", out);
    free(text);
}

static void put_assumptions(gs_report *report)
{
    fputs("<h2 id=\"assumptions\">What it rests on</h2>\n", report->out);
    for (uint32_t i = 0; i < report->job_count; i++) {
        const gs_report_job *job = &report->jobs[i];
        if (job->answer == NULL) {
            continue;
        }
        char *facts = NULL;
        char *remarks = NULL;
        size_t bytes = 0;
        FILE *out = gs_need(open_memstream(&facts, &bytes));
        char *headline = gs_scenario_headline(&job->loaded.scenario);
        fprintf(out, "%s\n", headline);
        gs_scenario_put_details(&job->loaded.scenario, out);
        fclose(out);
        free(headline);
        out = gs_need(open_memstream(&remarks, &bytes));
        gs_sim_report_remarks(&job->sums, out);
        fclose(out);
        head_job(report, job);
        put_lines(gs_need(facts), true, report->out);
        put_lines(gs_need(remarks), false, report->out);
    }
}

/* ---------------------------------------------------------------- what was swept */

static void put_swept(gs_report *report)
{
    fputs("<h2 id=\"swept\">What changes the answer</h2>\n", report->out);
    if (report->set.key_count == 0) {
        none(report, "Left out: these runs are of no sweep; gradsync sweep varies bandwidth and "
                     "jitter, and gradsync recommend says at which values the choice flips.");
        return;
    }
    const char **words = set_words(report);
    size_t count = report->cli->word_count + 1;
    fputs("<h3>Best strategy over two keys</h3>\n", report->out);
    put_figure(report, "heatmap", "Best strategy over two keys", words, count);
    fputs("<h3>Scaling</h3>\n", report->out);
    put_figure(report, "scaling", "Samples per second by ranks", words, count);
    fputs("<h3>Strictness</h3>\n", report->out);
    put_figure(report, "strictness", "What looser synchronisation costs and saves", words, count);
}

/* ---------------------------------------------------------------- timeline, validation */

static void put_timelines(gs_report *report)
{
    fputs("<h2 id=\"timeline\">Timeline of a few steps</h2>\n", report->out);
    bool has_any = false;
    for (uint32_t i = 0; i < report->job_count; i++) {
        gs_report_job *job = &report->jobs[i];
        gs_error err = {0};
        if (job->is_measured || job->answer == NULL) {
            continue;
        }
        has_any = true;
        head_job(report, job);
        if (gs_scenario_runnable(&job->loaded.scenario, &err) != GS_OK) {
            none(report, err.text);
            continue;
        }
        gs_cli cli = *report->cli;
        const char *words[] = {"timeline"};
        gs_plot plot;
        cli.words = words;
        cli.word_count = 1;
        gs_plot_open_page(&cli, &plot);
        gs_message_keep();
        int code = gs_plot_timeline_of(&cli, &job->loaded.scenario, &plot);
        gs_message_speak();
        put_drawn(report, code, &plot, "What each rank did over a few steps");
    }
    if (!has_any) {
        none(report, "Left out: it is drawn of a simulated job, and no single one is named.");
    }
}

static void put_validation(gs_report *report)
{
    FILE *out = report->out;
    bool has_measured = false;
    bool has_simulated = false;
    fputs("<h2 id=\"validation\">Prediction against measurement</h2>\n", out);
    for (uint32_t i = 0; i < report->set.count; i++) {
        has_measured = has_measured || report->set.runs[i].run.source == GS_SOURCE_LIVE;
        has_simulated = has_simulated || report->set.runs[i].run.source == GS_SOURCE_SIM;
    }
    if (!has_measured || !has_simulated || report->cli->word_count != 2) {
        none(report, "Left out: no measured runs are named beside simulated ones; gradsync live "
                     "measures, and gradsync report SIMULATED MEASURED holds one against the "
                     "other.");
        return;
    }
    gs_validate validate;
    gs_message_keep();
    int code = gs_validate_make(report->cli, 0, report->set.store, &validate);
    gs_message_speak();
    if (code == GS_EXIT_OK) {
        gs_page page;
        char *answer = gs_validate_answer(&validate);
        fputs("<p class=\"verdict\">", out);
        gs_html_text(answer, out);
        fputs("</p>\n", out);
        free(answer);
        gs_page_init(&page, "validate", NULL);
        gs_validate_page(&validate, code, false, &page);
        gs_html_table(&page.table, "Predictions and what was measured", out);
        gs_page_fini(&page);
        put_figure(report, "predicted", "Predicted step against measured step", set_words(report),
                   3);
    } else {
        none(report, gs_message_kept());
    }
    gs_validate_free(&validate);
}

/* ---------------------------------------------------------------- configuration, command */

static void put_configurations(gs_report *report)
{
    const gs_stored_scenario *seen[CONFIGS_MAX];
    uint32_t count = 0;
    gs_table table;
    fputs("<h2 id=\"configuration\">Configurations</h2>\n", report->out);
    gs_table_init(&table);
    gs_table_add_column(&table, (gs_table_column){"scenario", NULL, false});
    gs_table_add_column(&table, (gs_table_column){"hash", NULL, false});
    gs_table_add_column(&table, (gs_table_column){"differs from the first in", NULL, false});
    for (uint32_t i = 0; i < report->set.count && count < CONFIGS_MAX; i++) {
        const gs_stored_scenario *scenario = &report->set.runs[i].run.scenario;
        bool is_known = false;
        for (uint32_t k = 0; k < count; k++) {
            is_known = is_known || (seen[k]->config_hash == scenario->config_hash &&
                                    strcmp(seen[k]->name, scenario->name) == 0);
        }
        if (is_known) {
            continue;
        }
        char *hash = gs_text("%016" PRIx64, scenario->config_hash);
        char *words = count == 0
                          ? gs_text("-")
                          : gs_config_difference(seen[0]->config_json, scenario->config_json);
        gs_table_add(&table, scenario->name, NULL);
        gs_table_add(&table, hash, NULL);
        gs_table_add(&table, words == NULL ? "nothing" : words, NULL);
        free(hash);
        free(words);
        seen[count++] = scenario;
    }
    gs_html_table(&table,
                  count == CONFIGS_MAX ? "The first 24 configurations of the runs"
                                       : "Configurations of the runs",
                  report->out);
    gs_table_fini(&table);
}

static void put_command(gs_report *report, const gs_report_job *job)
{
    FILE *out = report->out;
    const gs_scenario *scenario = &job->loaded.scenario;
    const gs_environment *environment = &job->first->environment;
    char *json = gs_need(gs_json_write(scenario->resolved, true));
    char *file = gs_text("The scenario with every default: save it as scenario.json");
    head_job(report, job);
    fputs("<p><code>", out);
    gs_html_printf(out, "gradsync %s scenario.json --seed %" PRIu64 " --seeds %" PRId64,
                   job->is_measured ? "live" : "sim", scenario->seed, scenario->seeds);
    fputs("</code></p>\n<p>", out);
    gs_html_printf(out, "gradsync %s, commit %s%s, config %016" PRIx64 ", %s%s%s",
                   environment->tool_version, environment->commit,
                   environment->dirty ? " changed since" : "", job->first->scenario.config_hash,
                   environment->compiler == NULL ? "compiler not known" : environment->compiler,
                   environment->blas == NULL ? "" : ", ",
                   environment->blas == NULL ? "" : environment->blas);
    fputs("</p>\n", out);
    gs_html_details(file, json, out);
    free(file);
    free(json);
}

static void put_commands(gs_report *report)
{
    fputs("<h2 id=\"reproduce\">Make it again</h2>\n", report->out);
    if (report->job_count > GS_REPORT_JOBS) {
        none(report,
             "Left out: these runs are of many scenarios; the command that swept them makes "
             "them again.");
        return;
    }
    for (uint32_t i = 0; i < report->job_count; i++) {
        if (report->jobs[i].answer != NULL) {
            put_command(report, &report->jobs[i]);
        }
    }
}

/* ---------------------------------------------------------------- page */

static void put_breakdown(gs_report *report)
{
    fputs("<h2 id=\"step\">Where a step goes</h2>\n", report->out);
    put_job_figures(report, "breakdown", "Where a step goes");
}

static void put_learning(gs_report *report)
{
    fputs("<h2 id=\"learning\">Time to accuracy</h2>\n", report->out);
    put_job_figures(report, "time-to-accuracy", "What is learned by time and samples");
}

static void put_trade(gs_report *report)
{
    fputs("<h2 id=\"trade\">Time against what is learned</h2>\n", report->out);
    put_job_figures(report, "pareto", "Time of the run against what is learned");
}

static void put_tail(gs_report *report)
{
    fputs("<h2 id=\"tail\">Long steps</h2>\n", report->out);
    put_job_figures(report, "cdf", "How long steps are");
}

/* In the order of the page; is_of_all: also of runs of many scenarios. */
static const struct {
    const char *id, *name;
    void (*put)(gs_report *report);
    bool is_of_all;
} sections[] = {
    {"answer", "Answer", put_answers, true},
    {"assumptions", "What it rests on", put_assumptions, false},
    {"step", "Step", put_breakdown, false},
    {"learning", "Learning", put_learning, false},
    {"trade", "Trade-off", put_trade, false},
    {"swept", "What changes it", put_swept, true},
    {"tail", "Tail", put_tail, false},
    {"timeline", "Timeline", put_timelines, false},
    {"validation", "Validity", put_validation, false},
    {"configuration", "Configurations", put_configurations, true},
    {"reproduce", "Again", put_commands, false},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* A comparison alone has its answer only. */
static bool has_section(const gs_report *report, size_t section)
{
    return section == 0 || (report->set.count > 0 &&
                            (sections[section].is_of_all || report->job_count <= GS_REPORT_JOBS));
}

static void put_head(gs_report *report)
{
    FILE *out = report->out;
    const gs_set_run *last =
        report->set.count > 0 ? &report->set.runs[report->set.count - 1] : NULL;
    char *title =
        last == NULL ? gs_text("Comparison %" PRId64, report->comparison_id)
                     : gs_text("%s: %" PRIu32 " strateg%s", last->run.scenario.name,
                               report->set.label_count, report->set.label_count == 1 ? "y" : "ies");
    gs_html_begin(title, out);
    fputs("<header>\n<h1>", out);
    gs_html_text(title, out);
    fputs("</h1>\n<p class=\"about\">", out);
    if (last != NULL) {
        gs_html_printf(out, "%" PRIu32 " stored runs%s%s, the newest of %s. ", report->set.count,
                       last->run.label == NULL ? "" : ", label ",
                       last->run.label == NULL ? "" : last->run.label, last->run.started_utc);
    } else {
        gs_html_printf(out, "%s. ", report->comparison.made_utc);
    }
    fputs(report->has_gnuplot ? "" : "No gnuplot was in PATH: tables stand where figures would. ",
          out);
    fputs("</p>\n", out);
    fputs("<nav aria-label=\"Sections\"><ul>\n", out);
    for (size_t i = 0; i < SECTIONS; i++) {
        if (has_section(report, i)) {
            fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].name);
        }
    }
    fputs("</ul></nav>\n", out);
    fputs("</header>\n<main id=\"main\">\n", out);
    free(title);
}

void gs_report_page(gs_report *report)
{
    FILE *out = report->out;
    put_head(report);
    for (size_t i = 0; i < SECTIONS; i++) {
        if (has_section(report, i)) {
            sections[i].put(report);
        }
    }
    fputs("</main>\n<footer><p>Made by gradsync report. The page is whole: it needs no network and "
          "no scripts. Colours are those of Okabe and Ito, one for each strategy.</p></footer>\n",
          out);
    gs_html_end(out);
}
