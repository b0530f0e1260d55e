/* The summary of sim_report.h as JSON: what strategies say over all their seeds. */
#include "tools/message.h"
#include "tools/sim_report.h"

static void set(gs_json *object, const char *key, gs_json *value)
{
    if (!gs_json_set(object, key, value)) {
        gs_need(NULL);
    }
}

static void set_real(gs_json *object, const char *key, double value)
{
    set(object, key, gs_json_new_real(value));
}

static gs_json *faster_json(const gs_sim_row *row)
{
    gs_json *object = gs_need(gs_json_new_object());
    set_real(object, "ratio", row->vs_first.value);
    set_real(object, "ratio_low", row->vs_first.low);
    set_real(object, "ratio_high", row->vs_first.high);
    set(object, "pairs", gs_json_new_int((int64_t)row->faster.count));
    set(object, "faster", gs_json_new_int((int64_t)row->faster.hits));
    set(object, "equal", gs_json_new_int((int64_t)row->faster.equal));
    set_real(object, "probability", row->faster.value);
    set_real(object, "probability_low", row->faster.low);
    set_real(object, "probability_high", row->faster.high);
    return object;
}

static gs_json *over_json(const gs_sim_row *row, gs_time_ns limit_ns)
{
    gs_json *object = gs_need(gs_json_new_object());
    set(object, "limit_ns", gs_json_new_int(limit_ns));
    set(object, "steps", gs_json_new_int((int64_t)row->over.count));
    set(object, "over", gs_json_new_int((int64_t)row->over.hits));
    set_real(object, "probability", row->over.value);
    set_real(object, "probability_low", row->over.low);
    set_real(object, "probability_high", row->over.high);
    return object;
}

static gs_json *row_json(const gs_sim_report *report, const gs_sim_row *row)
{
    gs_json *object = gs_need(gs_json_new_object());
    bool limited = report->step_limit_ns > 0;
    set(object, "label", gs_json_new_text(row->label));
    set(object, "runs", gs_json_new_int(row->runs));
    set(object, "good_runs", gs_json_new_int(row->good));
    set(object, "faster_than_first", row == report->rows ? gs_json_new_null() : faster_json(row));
    set(object, "step_over_limit",
        limited ? over_json(row, report->step_limit_ns) : gs_json_new_null());
    return object;
}

gs_json *gs_sim_report_json(const gs_sim_report *report)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < report->row_count; i++) {
        if (!gs_json_add(list, row_json(report, &report->rows[i]))) {
            gs_need(NULL);
        }
    }
    return list;
}
