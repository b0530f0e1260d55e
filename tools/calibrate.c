#include "tools/calibrate.h"

#include "base/assert.h"
#include "tools/message.h"
#include "traces/importers/profile_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Smaller spreads than this no law of a scenario can have. */
#define SPREAD_MIN 1e-3

/* ---------------------------------------------------------------- values */

static gs_calibration_value *new_value(gs_calibrated *into, const char *key, int64_t count)
{
    if (into->value_count == into->value_capacity) {
        into->value_capacity = into->value_capacity == 0 ? 32 : 2 * into->value_capacity;
        into->values = gs_need(realloc(into->values, into->value_capacity * sizeof *into->values));
    }
    gs_calibration_value *value = &into->values[into->value_count++];
    *value = (gs_calibration_value){.count = count};
    snprintf(value->key, sizeof value->key, "%s", key);
    return value;
}

const char *gs_calibrated_last(const gs_calibrated *calibrated)
{
    GS_ASSERT(calibrated->value_count > 0);
    return calibrated->values[calibrated->value_count - 1].value;
}

/* Whole, in the inner unit; what is measured is none beyond. */
static int64_t whole(double value, int64_t least)
{
    int64_t rounded = value < 9e18 ? (int64_t)llround(value) : INT64_MAX;
    return rounded < least ? least : rounded;
}

/* Four digits: a measurement has no more, and people read them. */
static int64_t four_digits(double value, int64_t least)
{
    double unit = value > 0.0 ? pow(10.0, floor(log10(value)) - 3.0) : 1.0;
    return whole(unit > 1.0 ? round(value / unit) * unit : value, least);
}

void gs_calibrated_rate(gs_calibrated *into, const char *key, gs_estimate bps, int64_t count)
{
    gs_calibration_value *value = new_value(into, key, count);
    gs_exact_rate(four_digits(bps.value, 1000), value->value);
    gs_exact_rate(four_digits(bps.low, 1000), value->low);
    gs_exact_rate(four_digits(bps.high, 1000), value->high);
}

void gs_calibrated_duration(gs_calibrated *into, const char *key, gs_estimate ns, int64_t count)
{
    gs_calibration_value *value = new_value(into, key, count);
    gs_exact_duration(four_digits(ns.value, 0), value->value);
    gs_exact_duration(four_digits(ns.low, 0), value->low);
    gs_exact_duration(four_digits(ns.high, 0), value->high);
}

void gs_calibrated_bytes(gs_calibrated *into, const char *key, gs_estimate bytes, int64_t count)
{
    gs_calibration_value *value = new_value(into, key, count);
    gs_exact_bytes(four_digits(bytes.value, 0), value->value);
    gs_exact_bytes(four_digits(bytes.low, 0), value->low);
    gs_exact_bytes(four_digits(bytes.high, 0), value->high);
}

void gs_calibrated_real(gs_calibrated *into, const char *key, gs_estimate real, int64_t count)
{
    gs_calibration_value *value = new_value(into, key, count);
    snprintf(value->value, sizeof value->value, "%.4g", real.value);
    snprintf(value->low, sizeof value->low, "%.4g", real.low);
    snprintf(value->high, sizeof value->high, "%.4g", real.high);
}

/* ---------------------------------------------------------------- documents */

static void set(gs_json *object, const char *key, gs_json *value)
{
    if (!gs_json_set(object, key, value)) {
        gs_need(NULL);
    }
}

static gs_json *member(gs_json *object, const char *key)
{
    gs_json_at at = {.value = object, .file = "", .path = ""};
    gs_json_at found;
    bool is_there = gs_json_find(&at, key, &found);
    GS_ASSERT(is_there);
    return found.value;
}

/* ---------------------------------------------------------------- links */

static gs_estimate plus(gs_estimate estimate, double more)
{
    return (gs_estimate){estimate.value + more, estimate.low + more, estimate.high + more};
}

/* What a live run adds on purpose is no part of the network that was measured, and of the one that
 * is predicted. */
static double added_ns(const gs_live_settings *live)
{
    return (double)live->latency_ns + (double)live->jitter_ns / 2.0;
}

static void put_link(const gs_measured_links *links, const gs_scenario *scenario, const char *name,
                     gs_json *cluster, gs_calibrated *into)
{
    char key[GS_CALIBRATION_KEY_BYTES];
    if (links->pairs == 0) {
        return;
    }
    gs_json *link = member(member(cluster, "links"), name);
    int64_t count = links->fit.kept;
    snprintf(key, sizeof key, "cluster.links.%s.bandwidth", name);
    gs_calibrated_rate(into, key, links->fit.rate_bps, count);
    set(link, "bandwidth", gs_json_new_text(gs_calibrated_last(into)));
    snprintf(key, sizeof key, "cluster.links.%s.latency", name);
    gs_calibrated_duration(into, key, plus(links->fit.latency_ns, added_ns(&scenario->live)),
                           count);
    set(link, "latency", gs_json_new_text(gs_calibrated_last(into)));
    snprintf(key, sizeof key, "cluster.links.%s.per_message", name);
    gs_calibrated_duration(into, key, links->fit.per_message_ns, count);
    set(link, "per_message", gs_json_new_text(gs_calibrated_last(into)));
    set(link, "sockets", gs_json_new_text("process"));
    if (links->window_count > 0) {
        snprintf(key, sizeof key, "cluster.links.%s.window", name);
        gs_calibrated_bytes(into, key, links->window_bytes, links->window_count);
        set(link, "window", gs_json_new_text(gs_calibrated_last(into)));
    }
    set(link, "efficiency", gs_json_new_real(1.0)); /* it is in the rate */
    set(link, "curve", gs_json_new_text(""));
}

/* Live runs that leave all-reduces to the network are timed by what was measured of these. */
static void use_native(const gs_measured_cluster *measured, const gs_scenario *scenario,
                       const gs_calibrated_names *names, gs_json *cluster)
{
    if (measured->native.point_count > 0 && scenario->live.allreduce == 1 &&
        names->native != NULL) {
        bool is_nic = gs_scenario_outer_link(scenario) == &scenario->cluster.nic;
        gs_json *link = member(member(cluster, "links"), is_nic ? "nic" : "intra");
        set(link, "curve", gs_json_new_text(names->native));
    }
}

/* ---------------------------------------------------------------- codecs */

/* Of the rank in the middle of all. */
static gs_estimate codec_rate(const gs_measured_cluster *measured, uint32_t codec, bool encodes)
{
    gs_estimate found = {0.0, 0.0, 0.0};
    for (uint32_t i = 0; i < measured->process_count; i++) {
        const gs_codec_rates *rates = &measured->ranks[i].codecs[codec];
        gs_estimate own = encodes ? rates->encode_bps : rates->decode_bps;
        uint32_t below = 0;
        for (uint32_t k = 0; k < measured->process_count; k++) {
            const gs_codec_rates *others = &measured->ranks[k].codecs[codec];
            double other = encodes ? others->encode_bps.value : others->decode_bps.value;
            below += other < own.value || (k < i && other <= own.value) ? 1 : 0;
        }
        found = below == measured->process_count / 2 ? own : found;
    }
    return found;
}

static void put_codecs(const gs_measured_cluster *measured, gs_json *cluster, gs_calibrated *into)
{
    gs_json *list = gs_json_new_list();
    uint32_t index = 0;
    for (uint32_t i = 0; i < measured->codec_count; i++) {
        gs_estimate encode = codec_rate(measured, i, true);
        gs_estimate decode = codec_rate(measured, i, false);
        if (!(encode.value > 0.0) || strlen(measured->codecs[i].name) >= GS_NAME_BYTES) {
            continue;
        }
        char key[GS_CALIBRATION_KEY_BYTES];
        gs_json *entry = gs_json_new_object();
        set(entry, "name", gs_json_new_text(measured->codecs[i].name));
        snprintf(key, sizeof key, "cluster.codecs[%u].encode", index);
        gs_calibrated_rate(into, key, encode, GS_WORK_REPEATS);
        set(entry, "encode", gs_json_new_text(gs_calibrated_last(into)));
        snprintf(key, sizeof key, "cluster.codecs[%u].decode", index++);
        gs_calibrated_rate(into, key, decode, GS_WORK_REPEATS);
        set(entry, "decode", gs_json_new_text(gs_calibrated_last(into)));
        if (!gs_json_add(list, entry)) {
            gs_need(NULL);
        }
    }
    set(cluster, "codecs", list);
}

/* ---------------------------------------------------------------- profile and noise */

static void put_rank(const gs_model_times *times, int32_t number, gs_profile_step *step,
                     gs_profile_rank *out)
{
    uint32_t count = 0;
    gs_segment *segments = gs_need(calloc(2 * (size_t)times->unit_count + 2, sizeof *segments));
    segments[count++] = (gs_segment){GS_SEGMENT_FORWARD, 0, whole(times->forward_ns, 0)};
    for (uint32_t unit = times->unit_count; unit-- > 0;) {
        segments[count++] =
            (gs_segment){GS_SEGMENT_BACKWARD, 0, whole(times->backward_ns[unit], 0)};
        segments[count++] = (gs_segment){GS_SEGMENT_GRADIENT, unit, 0};
    }
    segments[count++] = (gs_segment){GS_SEGMENT_OPTIMIZER, 0, whole(times->optimizer_ns, 0)};
    *step = (gs_profile_step){.segments = segments, .segment_count = count};
    for (uint32_t i = 0; i < count; i++) {
        step->measured_ns += segments[i].duration_ns;
    }
    step->measured_compute_ns = step->measured_ns;
    *out = (gs_profile_rank){.rank = number, .steps = step, .step_count = 1};
}

static gs_json *profile_of(const gs_measured_cluster *measured, const gs_scenario *scenario)
{
    uint32_t ranks = measured->process_count < scenario->ranks ? 1 : scenario->ranks;
    gs_profile profile = *scenario->workload.profile;
    gs_profile_rank *of_ranks = gs_need(calloc(ranks, sizeof *of_ranks));
    gs_profile_step *steps = gs_need(calloc(ranks, sizeof *steps));
    for (uint32_t i = 0; i < ranks; i++) {
        put_rank(&measured->ranks[i].model, (int32_t)i, &steps[i], &of_ranks[i]);
    }
    profile.source = "gradsync calibrate";
    profile.ranks = of_ranks;
    profile.rank_count = ranks;
    profile.world_size = (int32_t)scenario->ranks;
    profile.element_bytes = scenario->workload.element_bytes;
    profile.batch = scenario->workload.batch_per_rank;
    profile.notes = NULL;
    profile.note_count = 0;
    gs_imported imported = {.format = "gradsync_profile", .profile = &profile};
    gs_json *document = gs_json_new_object();
    if (gs_trace_import_json(&imported, document) != GS_OK) {
        gs_need(NULL);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        free((void *)(uintptr_t)steps[i].segments);
    }
    free(steps);
    free(of_ranks);
    return document;
}

/* The spread of the rank in the middle becomes the law of all. */
static void put_noise(const gs_measured_cluster *measured, const gs_scenario *scenario,
                      gs_json *root, gs_calibrated *into)
{
    uint32_t ranks = measured->process_count < scenario->ranks ? 1 : scenario->ranks;
    double *spreads = gs_need(calloc(2 * (size_t)ranks, sizeof *spreads));
    for (uint32_t i = 0; i < ranks; i++) {
        spreads[i] = measured->ranks[i].model.spread_ratio;
    }
    gs_estimate spread = gs_median_estimate(spreads, ranks, spreads + ranks);
    gs_json *law = member(member(root, "noise"), "compute");
    bool is_law = spread.value >= SPREAD_MIN;
    set(law, "kind", gs_json_new_text(is_law ? "lognormal" : "none"));
    gs_calibrated_real(into, "noise.compute.cv", spread, measured->ranks[0].model.passes);
    set(law, "cv", gs_json_new_real(is_law ? strtod(gs_calibrated_last(into), NULL) : 0.0));
    free(spreads);
}

static gs_json *curve_of(const gs_curve *curve)
{
    gs_imported imported = {.format = "gradsync_profile", .curves = curve, .curve_count = 1};
    gs_json *document = gs_json_new_object();
    if (curve->point_count == 0) {
        gs_json_free(document);
        return NULL;
    }
    if (gs_trace_import_json(&imported, document) != GS_OK) {
        gs_need(NULL);
    }
    return document;
}

/* ---------------------------------------------------------------- where it comes from */

static void add_text(gs_json *list, const char *text)
{
    if (!gs_json_add(list, gs_json_new_text(text))) {
        gs_need(NULL);
    }
}

static gs_json *hosts_of(const gs_measured_cluster *measured)
{
    gs_json *list = gs_json_new_list();
    for (uint32_t i = 0; i < measured->process_count; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++) {
            is_new = strcmp(measured->ranks[i].host, measured->ranks[k].host) != 0;
        }
        if (is_new) {
            add_text(list, measured->ranks[i].host);
        }
    }
    return list;
}

static gs_json *values_of(const gs_calibrated *calibrated)
{
    gs_json *list = gs_json_new_list();
    for (uint32_t i = 0; i < calibrated->value_count; i++) {
        const gs_calibration_value *value = &calibrated->values[i];
        gs_json *entry = gs_json_new_object();
        set(entry, "key", gs_json_new_text(value->key));
        set(entry, "value", gs_json_new_text(value->value));
        set(entry, "low", gs_json_new_text(value->low));
        set(entry, "high", gs_json_new_text(value->high));
        set(entry, "count", gs_json_new_int(value->count));
        if (!gs_json_add(list, entry)) {
            gs_need(NULL);
        }
    }
    return list;
}

static void put_origin(const gs_measured_cluster *measured, const char *transport, int64_t now,
                       const gs_calibrated *calibrated, gs_json *root)
{
    char when[32];
    time_t seconds = (time_t)now;
    struct tm utc;
    bool has_links = measured->nic.pairs + measured->intra.pairs > 0;
    gs_json *part = gs_json_new_object();
    gs_json *sizes = gs_json_new_list();
    gs_json *notes = gs_json_new_list();
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gs_need(gmtime_r(&seconds, &utc)));
    set(part, "when", gs_json_new_text(when));
    set(part, "transport", gs_json_new_text(has_links ? transport : ""));
    for (size_t i = 0; has_links && i < GS_LINK_SIZES; i++) {
        if (!gs_json_add(sizes, gs_json_new_int(gs_link_sizes[i]))) {
            gs_need(NULL);
        }
    }
    for (uint32_t i = 0; i < measured->note_count; i++) {
        add_text(notes, measured->notes[i]);
    }
    set(part, "message_bytes", sizes);
    set(part, "hosts", hosts_of(measured));
    set(part, "values", values_of(calibrated));
    set(part, "notes", notes);
    set(root, "calibration", part);
}

void gs_calibrate(const gs_measured_cluster *measured, const gs_scenario *scenario,
                  const char *transport, const gs_calibrated_names *names, int64_t now,
                  gs_calibrated *out)
{
    gs_json *root = gs_need(gs_json_copy(scenario->resolved));
    gs_json *cluster = member(root, "cluster");
    *out = (gs_calibrated){.scenario = root};
    gs_calibrate_nodes(measured, scenario, cluster, out);
    put_link(&measured->nic, scenario, "nic", cluster, out);
    put_link(&measured->intra, scenario, "intra", cluster, out);
    use_native(measured, scenario, names, cluster);
    put_codecs(measured, cluster, out);
    out->ring = curve_of(&measured->ring);
    out->native = curve_of(&measured->native);
    if (measured->ranks[0].model.unit_count > 0) {
        out->profile = profile_of(measured, scenario);
        if (names->profile != NULL) {
            set(member(root, "workload"), "profile", gs_json_new_text(names->profile));
        }
        put_noise(measured, scenario, root, out);
    }
    put_origin(measured, transport, now, out, root);
}

void gs_calibrated_free(gs_calibrated *calibrated)
{
    free(calibrated->values);
    gs_json_free(calibrated->scenario);
    gs_json_free(calibrated->profile);
    gs_json_free(calibrated->ring);
    gs_json_free(calibrated->native);
    *calibrated = (gs_calibrated){.values = NULL};
}
