/* show RUN: a stored run, its place and its metrics. */
#include "tools/message.h"
#include "tools/show.h"
#include "traces/scenario/scenario.h"
#include "traces/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A value as people read its unit. */
static void format_value(const gs_metric *metric, double value, char out[64])
{
    if (!isfinite(value)) {
        snprintf(out, 64, "-");
    } else if (strcmp(metric->unit, "ns") == 0) {
        gs_format_duration((gs_time_ns)llround(value), out);
    } else if (strcmp(metric->unit, "bytes") == 0) {
        gs_format_bytes(llround(value), out);
    } else if (strcmp(metric->unit, "ratio") == 0 || strcmp(metric->unit, "1") == 0) {
        snprintf(out, 64, "%.4f", value);
    } else {
        snprintf(out, 64, "%.6g %s", value, metric->unit);
    }
}

static void add_metrics(gs_page *page, const gs_stored_run *run)
{
    page->table_key = "metrics";
    gs_table_add_column(&page->table, (gs_table_column){"metric", "metric", false});
    gs_table_add_column(&page->table, (gs_table_column){"value", "value", true});
    gs_table_add_column(&page->table, (gs_table_column){NULL, "unit", false});
    gs_table_add_column(&page->table, (gs_table_column){"better", "better", false});
    gs_table_add_column(&page->table, (gs_table_column){"what", NULL, false});
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        const gs_metric *metric = gs_metric_at(i);
        char shown[64];
        char bounded[80];
        char exact[GS_UNIT_TEXT_BYTES];
        bool is_bound = run->target_censored && i == gs_metric_find("time_to_target_ns");
        format_value(metric, run->values[i], shown);
        snprintf(bounded, sizeof bounded, "%s%s", is_bound ? "> " : "", shown);
        gs_table_add(&page->table, metric->name, NULL);
        gs_table_add(&page->table, bounded,
                     isfinite(run->values[i]) ? gs_exact_real(run->values[i], exact) : "");
        gs_table_add(&page->table, metric->unit, NULL);
        gs_table_add(&page->table, metric->better, NULL);
        gs_table_add(&page->table, metric->help, NULL);
    }
}

static void fill(gs_page *page, const gs_stored_run *run, int64_t id)
{
    char text[512];
    snprintf(text, sizeof text, "%" PRId64, id);
    gs_page_fact(page, "run_id", "run", text, gs_json_new_int(id));
    gs_page_fact(page, "source", "source", gs_run_source_text(run->source), NULL);
    snprintf(
        text, sizeof text, "%s (%" PRId64 " ranks on %" PRId64 " nodes, config %016" PRIx64 ")",
        run->scenario.name, run->scenario.ranks, run->scenario.nodes, run->scenario.config_hash);
    gs_page_fact(page, "scenario", "scenario", text, gs_json_new_text(run->scenario.name));
    snprintf(text, sizeof text, "%s %s", run->strategy.name, run->strategy.params_json);
    gs_page_fact(page, "strategy", "strategy", text, gs_json_new_text(run->strategy.name));
    gs_page_fact(page, "label", "label", run->label == NULL ? "-" : run->label,
                 run->label == NULL ? gs_json_new_null() : NULL);
    snprintf(text, sizeof text, "%" PRIu64, run->seed);
    gs_page_fact(page, "seed", "seed", text, gs_json_new_int((int64_t)run->seed));
    snprintf(text, sizeof text, "%s%s%s", gs_run_status_text(run->status),
             run->error_text == NULL ? "" : ": ", run->error_text == NULL ? "" : run->error_text);
    gs_page_fact(page, "status", "status", text, gs_json_new_text(gs_run_status_text(run->status)));
    snprintf(text, sizeof text, "%s, gradsync %s, commit %s%s", run->started_utc,
             run->environment.tool_version, run->environment.commit,
             run->environment.dirty ? " changed since" : "");
    gs_page_fact(page, "started_utc", "made", text, gs_json_new_text(run->started_utc));
    add_metrics(page, run);
}

/* A selector that names several runs: a line for each. */
static gs_status fill_list(gs_page *page, gs_store *store, const int64_t *ids, uint32_t count,
                           gs_arena *arena, gs_error *err)
{
    static const gs_table_column columns[] = {
        {"run", "run_id", true},
        {"scenario", "scenario", false},
        {"strategy", "strategy", false},
        {NULL, "parameters", false},
        {"seed", "seed", true},
        {"status", "status", false},
        {"step mean", "step_mean_ns", true},
    };
    page->table_key = "runs";
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(&page->table, columns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        gs_stored_run run;
        char text[64];
        char exact[GS_UNIT_TEXT_BYTES] = "";
        GS_TRY(gs_store_read_run(store, ids[i], arena, &run, err));
        snprintf(text, sizeof text, "%" PRId64, ids[i]);
        gs_table_add(&page->table, text, NULL);
        gs_table_add(&page->table, run.scenario.name, NULL);
        gs_table_add(
            &page->table,
            gs_need(gs_strategy_stored_label(run.strategy.name, run.strategy.params_json, arena)),
            run.strategy.name);
        gs_table_add(&page->table, run.strategy.params_json, NULL);
        snprintf(text, sizeof text, "%" PRIu64, run.seed);
        gs_table_add(&page->table, text, NULL);
        gs_table_add(&page->table, gs_run_status_text(run.status), NULL);
        uint32_t metric = gs_metric_find("step_mean_ns");
        format_value(gs_metric_at(metric), run.values[metric], text);
        if (isfinite(run.values[metric])) {
            gs_exact_real(run.values[metric], exact);
        }
        gs_table_add(&page->table, text, exact);
    }
    gs_page_note(page, "%u runs; gradsync show ID prints all metrics of one.", count);
    return GS_OK;
}

static gs_status fill_runs(gs_page *page, gs_store *store, const char *selector, gs_arena *arena,
                           gs_error *err)
{
    const int64_t *ids = NULL;
    uint32_t count = 0;
    gs_stored_run run;
    GS_TRY(gs_store_find_runs(store, selector, arena, &ids, &count, err));
    if (count > 1) {
        return fill_list(page, store, ids, count, arena, err);
    }
    GS_TRY(gs_store_read_run(store, ids[0], arena, &run, err));
    fill(page, &run, ids[0]);
    return GS_OK;
}

int gs_show_run(gs_page *page, const gs_cli *cli)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    gs_store *store = NULL;
    gs_arena arena;
    gs_arena_init(&arena);
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    status = status == GS_OK ? gs_store_open(path, GS_STORE_READ, &store, &err) : status;
    status = status == GS_OK ? fill_runs(page, store, cli->words[0], &arena, &err) : status;
    gs_store_close(store);
    gs_arena_fini(&arena);
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}
