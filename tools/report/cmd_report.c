/* report: one HTML page of stored runs, or of a comparison. */
#include "tools/message.h"
#include "tools/output.h"
#include "tools/places.h"
#include "tools/report/report.h"
#include "tools/verbs.h"

#include <stdlib.h>

/* A comparison needs a store of its own where no runs are named. */
static int read_comparison(gs_report *report)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    gs_store *store = report->set.store;
    gs_status status = GS_OK;
    if (store == NULL) {
        status = gs_cli_database(report->cli, path, sizeof path, &is_default, &err);
        status = status == GS_OK ? gs_store_open(path, GS_STORE_READ, &store, &err) : status;
    }
    if (status == GS_OK) {
        status = gs_store_read_comparison(store, report->comparison_id, &report->arena,
                                          &report->comparison, &report->verdicts,
                                          &report->verdict_count, &err);
    }
    if (report->set.store == NULL) {
        gs_store_close(store);
    }
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}

static int write_page(gs_report *report)
{
    gs_output output;
    int code = gs_output_open(&output, report->cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    char *gnuplot = gs_places_program("gnuplot");
    report->has_gnuplot = gnuplot != NULL;
    report->out = output.text;
    free(gnuplot);
    gs_report_find_jobs(report);
    gs_report_page(report);
    gs_report_free_jobs(report);
    code = gs_output_close(&output);
    if (code == GS_EXIT_OK && !report->has_gnuplot && !report->cli->flags.quiet) {
        gs_complain("no gnuplot in PATH: the report has tables instead of figures; install it "
                    "(Debian: gnuplot-nox)");
    }
    return code;
}

int gs_cmd_report(const gs_cli *cli)
{
    gs_report report = {.cli = cli, .comparison_id = cli->flags.comparison};
    int code = GS_EXIT_OK;
    if (cli->word_count == 0 && report.comparison_id == 0) {
        gs_complain("report: of what? name stored runs (an id, a label, @last), or a comparison "
                    "with --comparison ID");
        return GS_EXIT_USAGE;
    }
    gs_arena_init(&report.arena);
    if (cli->word_count > 0) {
        code = gs_stored_set_open(cli, "report", 0, cli->word_count, &report.set);
    }
    if (code == GS_EXIT_OK && report.comparison_id != 0) {
        code = read_comparison(&report);
    }
    code = code == GS_EXIT_OK ? write_page(&report) : code;
    gs_stored_set_close(&report.set);
    gs_arena_fini(&report.arena);
    return code;
}
