/* compare: the last runs against a baseline; a verdict for every metric, an exit code for CI. */
#include "tools/compare/compare.h"
#include "tools/compare/compare_page.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/verbs.h"
#include "traces/store/store_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BENCHMARK "github-action-benchmark"

/* ---------------------------------------------------------------- keeping */

/* Effects as ratios of the base, also of amounts; NAN where the base is 0. */
static double ratio_of(const gs_change *change, double effect)
{
    if (change->of_ratio) {
        return exp(effect);
    }
    return change->base == 0.0 ? (double)NAN : 1.0 + effect / change->base;
}

static gs_stored_verdict stored_row(const gs_compare_row *row)
{
    const gs_compare_job *job = row->job;
    const gs_stored_run *of =
        job->of[GS_SIDE_CANDIDATE] != NULL ? job->of[GS_SIDE_CANDIDATE] : job->of[GS_SIDE_BASE];
    const gs_change *change = &row->change;
    const double none = (double)NAN;
    gs_stored_verdict out = {.scenario = &of->scenario,
                             .strategy = &of->strategy,
                             .metric = gs_metric_at(row->metric)->name,
                             .n_base = job->counts[GS_SIDE_BASE],
                             .n_cand = job->counts[GS_SIDE_CANDIDATE],
                             .failed_base = job->failed[GS_SIDE_BASE],
                             .failed_cand = job->failed[GS_SIDE_CANDIDATE],
                             .base = none,
                             .cand = none,
                             .ratio = none,
                             .ratio_lo = none,
                             .ratio_hi = none,
                             .p_raw = none,
                             .p_adjusted = none,
                             .threshold_ratio = 1.0,
                             .min_detectable_ratio = none,
                             .verdict = gs_verdict_text(row->word),
                             .reason = row->reason};
    if (row->measured) {
        double towards = change->lower_is_better ? 1.0 : -1.0;
        double threshold = ratio_of(change, towards * change->limit);
        out.base = change->base;
        out.cand = change->candidate;
        out.ratio = ratio_of(change, change->effect);
        out.ratio_lo = ratio_of(change, change->low);
        out.ratio_hi = ratio_of(change, change->high);
        out.p_raw = change->p;
        out.p_adjusted = row->p_adjusted;
        out.threshold_ratio = isnan(threshold) ? 1.0 : threshold;
        out.min_detectable_ratio = ratio_of(change, towards * row->judged.detectable);
    }
    return out;
}

static gs_status keep(const gs_compare *compare, gs_store *store, int64_t *out_id, gs_error *err)
{
    gs_stored_verdict *rows = gs_need(calloc((size_t)compare->row_count + 1, sizeof *rows));
    bool paired = true;
    for (uint32_t i = 0; i < compare->row_count; i++) {
        rows[i] = stored_row(&compare->rows[i]);
        paired = paired && (!compare->rows[i].measured || compare->rows[i].job->paired);
    }
    gs_json *gates = gs_compare_gate_json(compare);
    char *gate_json = gs_need(gs_json_write(gates, false));
    gs_stored_comparison comparison = {
        .baseline_sel = compare->sides[GS_SIDE_BASE].selector,
        .candidate_sel = compare->sides[GS_SIDE_CANDIDATE].selector,
        .paired = paired,
        .method = paired ? "sign-flip, BCa" : "Mann-Whitney, BCa",
        .alpha = compare->alpha,
        .correction = "Holm",
        .gate_json = gate_json,
        .verdict = compare->verdict,
        .exit_code = compare->exit_code,
    };
    gs_status status =
        gs_store_write_comparison(store, &comparison, rows, compare->row_count, out_id, err);
    gs_json_free(gates);
    free(gate_json);
    free(rows);
    return status;
}

/* ---------------------------------------------------------------- telling */

static int print(const gs_cli *cli, const gs_compare *compare, int64_t id)
{
    bool benchmark = cli->flags.format[0] != '\0';
    if (benchmark || (cli->flags.markdown && !cli->flags.json && !cli->flags.csv)) {
        gs_output output;
        int code = gs_output_open(&output, cli->flags.output);
        if (code != GS_EXIT_OK) {
            return code;
        }
        (benchmark ? gs_compare_benchmark : gs_compare_markdown)(compare, output.text);
        return gs_output_close(&output);
    }
    gs_page page;
    gs_page_init(&page, "compare", NULL);
    bool machine = cli->flags.json || cli->flags.csv;
    gs_compare_page(compare, machine || cli->flags.verbose, id, &page);
    int code = gs_page_print(&page, cli);
    gs_page_fini(&page);
    return code;
}

/* Prints, and only then says what went wrong with the database: a result is never lost. */
static int tell(const gs_cli *cli, const gs_compare *compare, gs_store *store)
{
    gs_error err = {0};
    int64_t id = 0;
    gs_status kept = cli->flags.dry_run ? GS_OK : keep(compare, store, &id, &err);
    int written = print(cli, compare, id);
    if (kept != GS_OK) {
        gs_complain("%s", err.text);
    }
    if (strcmp(compare->verdict, "pass") != 0) {
        char *answer = gs_compare_answer(compare);
        bool invalid = strcmp(compare->verdict, "invalid") == 0;
        gs_complain("compare: %s%s%s", answer, invalid ? " " : "", invalid ? compare->cause : "");
        free(answer);
    }
    if (compare->exit_code != GS_EXIT_OK) {
        return compare->exit_code;
    }
    return kept == GS_OK ? written : GS_EXIT_FAILED;
}

static int check_words(const gs_cli *cli)
{
    if (cli->word_count > 2) {
        gs_complain("compare: two words at most are wanted, the base and the candidate (an id, a "
                    "label, @last, baseline:NAME, commit:SHA, FILE.db#RUN), not %zu",
                    cli->word_count);
        return GS_EXIT_USAGE;
    }
    if (cli->flags.format[0] != '\0' && strcmp(cli->flags.format, BENCHMARK) != 0) {
        gs_complain("--format: compare writes %s, not \"%s\"; --json, --csv and --markdown are "
                    "flags",
                    BENCHMARK, cli->flags.format);
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

int gs_cmd_compare(const gs_cli *cli)
{
    int code = check_words(cli);
    if (code != GS_EXIT_OK) {
        return code;
    }
    char path[GS_FLAG_TEXT_BYTES];
    gs_store *store = NULL;
    code = gs_cli_open_store(cli, path, &store);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_compare compare;
    code = gs_compare_make(cli, store, path, &compare);
    if (code == GS_EXIT_OK) {
        code = tell(cli, &compare, store);
    }
    gs_compare_free(&compare);
    gs_store_close(store);
    return code;
}
