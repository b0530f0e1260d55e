#include "tools/calibrate_page.h"

#include "tools/message.h"
#include "tools/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const gs_table_column columns[] = {{"what", "key", false},
                                          {"measured", "value", false},
                                          {"99 % interval", "interval", false},
                                          {"of", "count", true}};

static void put_row(gs_table *table, const char *key, const char *value, const char *low,
                    const char *high, int64_t count)
{
    char interval[80];
    char number[32];
    snprintf(interval, sizeof interval, "%s to %s", low, high);
    snprintf(number, sizeof number, "%" PRId64, count);
    gs_table_add(table, key, NULL);
    gs_table_add(table, value, NULL);
    gs_table_add(table, interval, NULL);
    gs_table_add(table, number, NULL);
}

/* What adding a byte that came costs: three moves of memory for each one. */
static void put_reduction(const gs_measured_cluster *measured, gs_table *table)
{
    char texts[3][32];
    gs_estimate bps = measured->ranks[0].vector_bps;
    double rates[3] = {bps.value, bps.high, bps.low};
    for (int i = 0; i < 3; i++) {
        snprintf(texts[i], sizeof texts[i], "%.3g ns/B", 3.0 * 8.0e9 / rates[i]);
    }
    put_row(table, "(adding what came)", texts[0], texts[1], texts[2], GS_WORK_REPEATS);
}

static void put_curve(const gs_curve *curve, const char *how, gs_table *table)
{
    for (uint32_t i = 0; i < curve->point_count; i++) {
        char what[80];
        char size[GS_UNIT_TEXT_BYTES];
        char time[GS_UNIT_TEXT_BYTES];
        snprintf(what, sizeof what, "(%s all-reduce of %s)", how,
                 gs_exact_bytes(curve->points[i].bytes, size));
        gs_table_add(table, what, NULL);
        gs_table_add(table, gs_format_duration(curve->points[i].time_ns, time), NULL);
        gs_table_add(table, "", NULL);
        gs_table_add(table, "", NULL);
    }
}

static void put_model(const gs_measured_cluster *measured, gs_table *table)
{
    const gs_model_times *model = &measured->ranks[0].model;
    char texts[3][GS_UNIT_TEXT_BYTES];
    if (model->unit_count == 0) {
        return;
    }
    gs_format_duration((gs_time_ns)model->pass_ns.value, texts[0]);
    gs_format_duration((gs_time_ns)model->pass_ns.low, texts[1]);
    gs_format_duration((gs_time_ns)model->pass_ns.high, texts[2]);
    put_row(table, "(pass of process 0)", texts[0], texts[1], texts[2], model->passes);
}

static void put_facts(gs_page *page, const gs_measured_cluster *measured,
                      const gs_scenario *scenario, const char *transport)
{
    char text[512];
    char size[GS_UNIT_TEXT_BYTES];
    gs_page_fact(page, "scenario", "scenario", scenario->name, NULL);
    snprintf(text, sizeof text, "%u", measured->process_count);
    gs_page_fact(page, "processes", "processes", text, gs_json_new_int(measured->process_count));
    gs_page_fact(page, "transport", "transport", transport, NULL);
    if (measured->nic.pairs + measured->intra.pairs > 0) {
        gs_json *sizes = gs_json_new_list();
        size_t used = 0;
        for (size_t i = 0; i < GS_LINK_SIZES; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : ", ",
                                     gs_exact_bytes(gs_link_sizes[i], size));
            if (!gs_json_add(sizes, gs_json_new_int(gs_link_sizes[i]))) {
                gs_need(NULL);
            }
        }
        gs_page_fact(page, "message_bytes", "messages of", text, sizes);
    }
    gs_page_fact(page, "work_bytes", "work on", gs_format_bytes(4 * measured->work_elements, size),
                 gs_json_new_int(4 * measured->work_elements));
}

static void put_notes(gs_page *page, const gs_measured_cluster *measured,
                      const gs_scenario *scenario, const gs_cli *cli)
{
    for (uint32_t i = 0; i < measured->note_count; i++) {
        gs_page_note(page, "%s", measured->notes[i]);
    }
    bool some = (measured->nic.pairs > 0 && !measured->nic.all_pairs) ||
                (measured->intra.pairs > 0 && !measured->intra.all_pairs);
    if (some) {
        gs_page_note(page, "links: neighbours on a ring, and the first process with others; of so "
                           "many processes not all pairs");
    }
    if (cli->flags.output[0] == '\0') {
        gs_page_note(page, "nothing is written: -o FILE writes the scenario with these values");
    } else {
        gs_page_note(page, "next: gradsync sim %s", cli->flags.output);
    }
    int64_t servers = scenario->cluster.servers;
    if (servers > 0 && measured->process_count < scenario->ranks + servers) {
        gs_page_note(page,
                     "gradsync live runs parameter servers on processes of their own: start "
                     "%" PRId64 ", for %" PRIu32 " ranks and the servers",
                     scenario->ranks + servers, scenario->ranks);
    }
}

int gs_calibrate_page(const gs_cli *cli, const gs_measured_cluster *measured,
                      const gs_scenario *scenario, const char *transport,
                      const gs_calibrated *calibrated)
{
    gs_page page;
    gs_cli to_standard_output = *cli;
    to_standard_output.flags.output[0] = '\0';
    gs_page_init(&page, "calibration", "values");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(&page.table, columns[i]);
    }
    put_facts(&page, measured, scenario, transport);
    for (uint32_t i = 0; i < calibrated->value_count; i++) {
        const gs_calibration_value *value = &calibrated->values[i];
        put_row(&page.table, value->key, value->value, value->low, value->high, value->count);
    }
    put_reduction(measured, &page.table);
    put_model(measured, &page.table);
    put_curve(&measured->ring, "ring", &page.table);
    put_curve(&measured->native, "native", &page.table);
    put_notes(&page, measured, scenario, cli);
    int code = gs_page_print(&page, &to_standard_output);
    gs_page_fini(&page);
    return code;
}
