#include "tools/compare/gate.h"

#include "base/assert.h"
#include "base/nearest.h"
#include "base/units.h"
#include "tools/metric_text.h"
#include "traces/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MAX = 128 };

#define FORMS "write METRIC<=+3%% or METRIC>=-0.002"

static bool is_lower_better(uint32_t metric)
{
    return strcmp(gs_metric_at(metric)->better, "lower") == 0;
}

char *gs_metric_short(uint32_t metric, char out[GS_LIMIT_TEXT_BYTES])
{
    const gs_metric *found = gs_metric_at(metric);
    size_t length = strlen(found->name);
    size_t unit = strlen(found->unit);
    bool ends_so = length > unit + 1 && strcmp(found->name + length - unit, found->unit) == 0 &&
                   found->name[length - unit - 1] == '_';
    snprintf(out, GS_LIMIT_TEXT_BYTES, "%.*s", (int)(ends_so ? length - unit - 1 : length),
             found->name);
    return out;
}

/* Spaces around a word, cut away; false: it does not fit. */
static bool trim(const char *text, size_t length, char out[GS_LIMIT_TEXT_BYTES])
{
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    if (length >= GS_LIMIT_TEXT_BYTES) {
        return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static gs_status find_metric(const char *text, const char *name, uint32_t *out, gs_error *err)
{
    *out = gs_metric_find(name);
    if (*out < gs_metric_count()) {
        return GS_OK;
    }
    char shorts[METRICS_MAX][GS_LIMIT_TEXT_BYTES];
    const char *names[METRICS_MAX];
    GS_ASSERT(gs_metric_count() <= METRICS_MAX);
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        names[i] = gs_metric_short(i, shorts[i]);
    }
    const char *near = gs_nearest_name(name, names, gs_metric_count());
    return near == NULL
               ? gs_fail(err, GS_EINVAL,
                         "gate \"%s\": no metric \"%s\"; gradsync list metrics names them", text,
                         name)
               : gs_fail(err, GS_EINVAL, "gate \"%s\": no metric \"%s\"; did you mean \"%s\"?",
                         text, name, near);
}

/* An amount in the metric's unit, without sign. */
static gs_status parse_amount(const char *text, const gs_metric *metric, const char *value,
                              double *out, gs_error *err)
{
    int64_t whole = 0;
    if (strcmp(metric->unit, "ns") == 0) {
        GS_TRY(gs_parse_duration(value, &whole, err));
        *out = (double)whole;
        return GS_OK;
    }
    if (strcmp(metric->unit, "bytes") == 0) {
        GS_TRY(gs_parse_bytes(value, &whole, err));
        *out = (double)whole;
        return GS_OK;
    }
    char *end = NULL;
    *out = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(*out)) {
        return gs_fail(err, GS_EINVAL, "gate \"%s\": \"%s\" is no number; " FORMS, text, value);
    }
    return GS_OK;
}

/* "+3%", "-0.002", "+2ms" of a metric that is better when lower (`lower`) or higher. */
static gs_status parse_limit(const char *text, gs_gate *gate, const char *value, gs_error *err)
{
    const gs_metric *metric = gs_metric_at(gate->metric);
    bool lower = is_lower_better(gate->metric);
    bool negative = value[0] == '-';
    const char *number = value + (value[0] == '-' || value[0] == '+' ? 1 : 0);
    size_t length = strlen(number);
    gate->limit.is_amount = length == 0 || number[length - 1] != '%';
    gs_status status = gate->limit.is_amount
                           ? parse_amount(text, metric, number, &gate->limit.value, err)
                           : gs_parse_ratio(number, &gate->limit.value, err);
    if (status != GS_OK) {
        return strncmp(err->text, "gate ", 5) == 0 ? status : gs_fail_in(err, "gate \"%s\"", text);
    }
    bool nothing = gate->limit.value == 0.0;
    if ((negative == lower && !nothing) || gate->limit.value < 0.0) {
        return gs_fail(err, GS_EINVAL,
                       "gate \"%s\": \"%s\" is a change for the better; a gate says how much worse "
                       "is allowed: %s is better when %s, so write %s",
                       text, value, metric->name, lower ? "lower" : "higher",
                       lower ? "<=+3%" : ">=-3%");
    }
    if (!lower && !gate->limit.is_amount && gate->limit.value >= 1.0) {
        return gs_fail(err, GS_EINVAL,
                       "gate \"%s\": a share of 100 %% or more allows anything; "
                       "write less",
                       text);
    }
    return GS_OK;
}

gs_status gs_gate_parse(const char *text, gs_gate *out, gs_error *err)
{
    const char *upper = strstr(text, "<=");
    const char *relation = upper != NULL ? upper : strstr(text, ">=");
    char name[GS_LIMIT_TEXT_BYTES];
    char value[GS_LIMIT_TEXT_BYTES];
    if (relation == NULL || !trim(text, (size_t)(relation - text), name) ||
        !trim(relation + 2, strlen(relation + 2), value) || name[0] == '\0' || value[0] == '\0') {
        return gs_fail(err, GS_EINVAL, "gate \"%s\": not a limit; " FORMS, text);
    }
    gs_gate gate = {0};
    GS_TRY(find_metric(text, name, &gate.metric, err));
    const char *better = gs_metric_at(gate.metric)->better;
    if (strcmp(better, "none") == 0) {
        return gs_fail(err, GS_EINVAL,
                       "gate \"%s\": neither less nor more %s is better, so it has no limit", text,
                       name);
    }
    if (is_lower_better(gate.metric) != (upper != NULL)) {
        return gs_fail(err, GS_EINVAL, "gate \"%s\": %s is better when %s, so write %s%s%s", text,
                       name, better, name,
                       upper != NULL ? ">=" : "<=", upper != NULL ? "-0.002" : "+3%");
    }
    GS_TRY(parse_limit(text, &gate, value, err));
    *out = gate;
    return GS_OK;
}

gs_status gs_gates_add(gs_gates *gates, const gs_gate *gate, gs_error *err)
{
    for (uint32_t i = 0; i < gates->count; i++) {
        if (gates->gates[i].metric == gate->metric) {
            gates->gates[i] = *gate;
            return GS_OK;
        }
    }
    if (gates->count == GS_GATES_MAX) {
        return gs_fail(err, GS_ELIMIT, "gates: more than %d of them", GS_GATES_MAX);
    }
    gates->gates[gates->count++] = *gate;
    return GS_OK;
}

/* One element of "gates"; its keys were checked when the scenario was read. */
static gs_status read_gate(const gs_json_at *at, gs_gates *out, gs_error *err)
{
    gs_json_at member;
    const char *name = NULL;
    double share = 0.0;
    double amount = 0.0;
    if (gs_json_find(at, "metric", &member)) {
        GS_TRY(gs_json_text(&member, &name, err));
    }
    if (gs_json_find(at, "max_regression", &member)) {
        GS_TRY(gs_json_real(&member, &share, err));
    }
    if (gs_json_find(at, "max_drop", &member)) {
        GS_TRY(gs_json_real(&member, &amount, err));
    }
    gs_gate gate = {.metric = name == NULL ? gs_metric_count() : gs_metric_find(name),
                    .limit = {.is_amount = amount > 0.0, .value = amount > 0.0 ? amount : share}};
    if (gate.metric == gs_metric_count() ||
        strcmp(gs_metric_at(gate.metric)->better, "none") == 0) {
        return gs_json_fail(at, GS_EINVAL, err, "\"%s\" is no metric that has a limit",
                            name == NULL ? "" : name);
    }
    return gs_gates_add(out, &gate, err);
}

gs_status gs_gates_of_scenario(const char *config_json, gs_gates *out, gs_error *err)
{
    gs_json_at root;
    gs_json_at list;
    *out = (gs_gates){.from = "the scenario"};
    GS_TRY(gs_json_parse(config_json, strlen(config_json), "the stored scenario", &root, err));
    gs_status status = GS_OK;
    if (gs_json_find(&root, "gates", &list)) {
        gs_json_at at;
        for (size_t i = 0; status == GS_OK && gs_json_walk(&list, i, &at); i++) {
            status = read_gate(&at, out, err);
        }
    }
    gs_json_free(root.value);
    return status;
}

void gs_gates_built_in(double share, gs_gates *out)
{
    static const struct {
        const char *metric;
        double amount; /* 0: the share */
    } built_in[] = {{"step_mean_ns", 0.0},        {"step_p95_ns", 0.0},
                    {"wire_bytes_per_step", 0.0}, {"time_to_target_ns", 0.0},
                    {"final_accuracy", 0.002},    {"final_bits_per_char", 0.01}};
    *out = (gs_gates){.from = "built in"};
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        double amount = built_in[i].amount;
        gs_gate gate = {
            .metric = gs_metric_find(built_in[i].metric),
            .limit = {.is_amount = amount > 0.0, .value = amount > 0.0 ? amount : share}};
        GS_ASSERT(gate.metric < gs_metric_count());
        out->gates[out->count++] = gate;
    }
}

const gs_gate *gs_gates_find(const gs_gates *gates, uint32_t metric)
{
    for (uint32_t i = 0; i < gates->count; i++) {
        if (gates->gates[i].metric == metric) {
            return &gates->gates[i];
        }
    }
    return NULL;
}

char *gs_gate_limit_text(const gs_gate *gate, char out[GS_LIMIT_TEXT_BYTES])
{
    const gs_metric *metric = gs_metric_at(gate->metric);
    const char *sign = is_lower_better(gate->metric) ? "+" : "-";
    if (!gate->limit.is_amount) {
        snprintf(out, GS_LIMIT_TEXT_BYTES, "%s%.3g %%", sign, 100.0 * gate->limit.value);
        return out;
    }
    /* Amounts of shares are numbers, as they were written: a percentage would be read as a share.
     */
    gs_metric_scale scale = {1.0, ""};
    if (strcmp(metric->unit, "ratio") != 0) {
        scale = gs_metric_scale_of(metric->unit, gate->limit.value);
    }
    snprintf(out, GS_LIMIT_TEXT_BYTES, "%s%.4g%s", sign, gate->limit.value / scale.by, scale.unit);
    return out;
}
