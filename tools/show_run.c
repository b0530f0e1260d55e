/* show RUN: a stored run, its place and its metrics. */
#include "tools/message.h"
#include "tools/show.h"
#include "traces/store.h"

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

int gs_show_run(gs_page *page, const gs_cli *cli)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    gs_store *store = NULL;
    gs_arena arena;
    gs_arena_init(&arena);
    int64_t id = 0;
    gs_stored_run run;
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    status = status == GS_OK ? gs_store_open(path, GS_STORE_READ, &store, &err) : status;
    status = status == GS_OK ? gs_store_find_run(store, cli->words[0], &id, &err) : status;
    status = status == GS_OK ? gs_store_read_run(store, id, &arena, &run, &err) : status;
    if (status == GS_OK) {
        fill(page, &run, id);
    }
    gs_store_close(store);
    gs_arena_fini(&arena);
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}
