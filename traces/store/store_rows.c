#include "traces/store/store_parts.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>

/* Names that this build knows, with its words: a newer build may say them better. */
static gs_status write_metrics(gs_sql_query *query, gs_error *err)
{
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        const gs_metric *metric = gs_metric_at(i);
        gs_sql_bind_text(query, 1, metric->name);
        gs_sql_bind_text(query, 2, metric->unit);
        gs_sql_bind_text(query, 3, metric->better);
        gs_sql_bind_int(query, 4, metric->exact ? 1 : 0);
        gs_sql_bind_text(query, 5, metric->help);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

static gs_status write_statuses(gs_sql_query *query, gs_error *err)
{
    static const char *const helps[] = {
#define GS_RUN_STATUS_HELP(name, text, help) help,
        GS_RUN_STATUS_LIST(GS_RUN_STATUS_HELP)
#undef GS_RUN_STATUS_HELP
    };
    for (int i = 0; i < GS_RUN_STATUS_COUNT; i++) {
        gs_sql_bind_text(query, 1, gs_run_status_text((gs_run_status)i));
        gs_sql_bind_text(query, 2, helps[i]);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

gs_status gs_store_write_catalogue(gs_store *store, gs_error *err)
{
    if (store->catalogue_written) {
        return GS_OK;
    }
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO metric(metric, unit, better, exact, help) VALUES(?, ?, ?, ?, ?) "
        "ON CONFLICT(metric) DO UPDATE SET unit = excluded.unit, better = excluded.better, "
        "exact = excluded.exact, help = excluded.help",
        &query, err);
    if (status == GS_OK) {
        status = write_metrics(&query, err);
    }
    gs_sql_finish(&query);
    GS_TRY(status);
    status = gs_sql_prepare(&store->sql,
                            "INSERT INTO status(status, help) VALUES(?, ?) "
                            "ON CONFLICT(status) DO UPDATE SET help = excluded.help",
                            &query, err);
    if (status == GS_OK) {
        status = write_statuses(&query, err);
    }
    gs_sql_finish(&query);
    store->catalogue_written = status == GS_OK;
    return status;
}

gs_status gs_store_delete_rows(gs_store *store, int64_t run_id, gs_error *err)
{
    static const char *const tables[] = {"input",    "result", "step",      "curve",
                                         "decision", "series", "histogram", "fault"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char text[96];
        (void)snprintf(text, sizeof text, "DELETE FROM %s WHERE run_id = %" PRId64, tables[i],
                       run_id);
        GS_TRY(gs_sql_run(&store->sql, text, err));
    }
    return GS_OK;
}

static gs_status write_inputs(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    for (uint32_t i = 0; i < run->input_count; i++) {
        const gs_stored_input *input = &run->inputs[i];
        gs_sql_bind_text(query, 2, input->role);
        gs_sql_bind_text(query, 3, input->name);
        gs_sql_bind_text(query, 4, input->format);
        gs_sql_bind_int(query, 5, input->bytes);
        gs_sql_bind_hash(query, 6, input->xxh3);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

static gs_status write_results(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    if (run->values == NULL) {
        return GS_OK;
    }
    const uint32_t target = gs_metric_find("time_to_target_ns");
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        gs_sql_bind_text(query, 2, gs_metric_at(i)->name);
        gs_sql_bind_real(query, 3, run->values[i]);
        gs_sql_bind_int(query, 4, i == target && run->target_censored ? 1 : 0);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

static gs_status write_steps(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    int64_t count = run->record == NULL ? 0 : gs_record_step_count(run->record);
    for (int64_t i = 0; i < count; i++) {
        gs_step_row row = gs_record_step_at(run->record, i);
        const int64_t values[] = {
            row.step,       row.rank,        row.start_ns,        row.duration_ns,
            row.compute_ns, row.comm_ns,     row.exposed_comm_ns, row.wait_ns,
            row.input_ns,   row.overhead_ns, row.bytes_sent};
        for (int place = 0; place < (int)(sizeof values / sizeof values[0]); place++) {
            gs_sql_bind_int(query, place + 2, values[place]);
        }
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

static gs_status write_curve(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    int64_t count = run->record == NULL ? 0 : gs_record_curve_count(run->record);
    for (int64_t i = 0; i < count; i++) {
        gs_curve_row row = gs_record_curve_at(run->record, i);
        gs_sql_bind_int(query, 2, row.step);
        gs_sql_bind_int(query, 3, row.time_ns);
        gs_sql_bind_int(query, 4, row.samples);
        gs_sql_bind_real(query, 5, row.loss);
        gs_sql_bind_real(query, 6, row.accuracy);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

/* In the order in which they came; those of one step are numbered. */
static gs_status write_decisions(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    int64_t count = run->record == NULL ? 0 : gs_record_decision_count(run->record);
    int64_t number = 0;
    int64_t last = -1;
    for (int64_t i = 0; i < count; i++) {
        gs_decision_row row = gs_record_decision_at(run->record, i);
        number = row.step == last ? number + 1 : 0;
        last = row.step;
        gs_sql_bind_int(query, 2, row.step);
        gs_sql_bind_int(query, 3, number);
        gs_sql_bind_int(query, 4, row.at_ns);
        gs_sql_bind_text(query, 5, row.from);
        gs_sql_bind_text(query, 6, row.to);
        gs_sql_bind_text(query, 7, row.reason);
        gs_sql_bind_text(query, 8, row.evidence);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

static gs_status write_series(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    const gs_series *series = run->record == NULL ? NULL : gs_record_series_read(run->record);
    for (int64_t i = 0; series != NULL && i < series->point_count; i++) {
        const gs_series_point *point = &series->points[i];
        gs_sql_bind_text(query, 2, series->names[point->name].text);
        gs_sql_bind_int(query, 3, point->rank);
        gs_sql_bind_int(query, 4, point->at_ns);
        gs_sql_bind_real(query, 5, point->value);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

static gs_status write_histograms(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    const gs_series *series = run->record == NULL ? NULL : gs_record_series_read(run->record);
    for (int64_t i = 0; series != NULL && i < series->bin_count; i++) {
        const gs_series_bin *bin = &series->bins[i];
        if (bin->count == 0) {
            continue;
        }
        gs_sql_bind_text(query, 2, series->names[bin->name].text);
        gs_sql_bind_int(query, 3, bin->rank);
        gs_sql_bind_real(query, 4, bin->low);
        gs_sql_bind_real(query, 5, bin->high);
        gs_sql_bind_int(query, 6, bin->count);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

gs_status gs_store_write_rows(gs_store *store, const gs_stored_run *run, int64_t run_id,
                              gs_error *err)
{
    typedef gs_status write_table(gs_sql_query * query, const gs_stored_run *run, gs_error *err);
    static const struct {
        const char *insert;
        write_table *write;
    } tables[] = {
        {"INSERT INTO input(run_id, role, name, format, bytes, xxh3) VALUES(?, ?, ?, ?, ?, ?)",
         write_inputs},
        {"INSERT INTO result(run_id, metric, value, censored) VALUES(?, ?, ?, ?)", write_results},
        {"INSERT INTO step(run_id, step, rank, start_ns, duration_ns, compute_ns, comm_ns, "
         "exposed_comm_ns, wait_ns, input_ns, overhead_ns, bytes_sent) "
         "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
         write_steps},
        {"INSERT INTO curve(run_id, step, time_ns, samples, loss, accuracy) "
         "VALUES(?, ?, ?, ?, ?, ?)",
         write_curve},
        {"INSERT INTO decision(run_id, step, seq, at_ns, from_strategy, to_strategy, reason, "
         "evidence_json) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
         write_decisions},
        /* Two values at one nanosecond: the later one stands. */
        {"INSERT INTO series(run_id, name, rank, at_ns, value) VALUES(?, ?, ?, ?, ?) "
         "ON CONFLICT DO UPDATE SET value = excluded.value",
         write_series},
        {"INSERT INTO histogram(run_id, name, rank, low, high, count) VALUES(?, ?, ?, ?, ?, ?)",
         write_histograms},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        gs_sql_query query = {0};
        gs_status status = gs_sql_prepare(&store->sql, tables[i].insert, &query, err);
        if (status == GS_OK) {
            gs_sql_bind_int(&query, 1, run_id);
            status = tables[i].write(&query, run, err);
        }
        gs_sql_finish(&query);
        GS_TRY(status);
    }
    return GS_OK;
}
