/* cluster.codecs and calibration: what `gradsync calibrate` has measured of codecs, and how, when
 * and with which sizes everything was measured. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

enum { CODECS_MAX = 256, VALUES_MAX = 65536, TEXTS_MAX = 65536, NAMES_MAX = 64 };

/* clang-format off */
static const gs_field codec_cost_fields[] = {
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(gs_codec_cost, name), NULL, 0, 0, NULL,
     "codec, such as topk; with parameters, as in topk:ratio=1%, of these only"},
    {"encode", GS_FIELD_RATE, GS_FIELD_AT(gs_codec_cost, encode_bps), NULL, 1e3, 1e17, NULL,
     "gradient that one rank encodes, 4 bytes an element, error feedback included"},
    {"decode", GS_FIELD_RATE, GS_FIELD_AT(gs_codec_cost, decode_bps), NULL, 1e3, 1e17, NULL,
     "gradient that one rank decodes"},
};
static const gs_field calibration_fields[] = {
    {"when", GS_FIELD_TEXT, GS_FIELD_AT(gs_calibration, when), NULL, 0, 0, NULL,
     "date and time (UTC) of the measurement"},
    {"transport", GS_FIELD_TEXT, GS_FIELD_AT(gs_calibration, transport), "", 0, 0, NULL,
     "what carried the messages; empty: nothing was sent"},
    {"message_bytes", GS_FIELD_INT_LIST, GS_FIELD_AT(gs_calibration, message_bytes), "", 0, 0x1p62, NULL,
     "sizes of the messages that links were measured with; sim says where it sends others"},
};
static const gs_field calibrated_fields[] = {
    {"key", GS_FIELD_TEXT, GS_FIELD_AT(gs_calibration_value, key), NULL, 0, 0, NULL,
     "of this file, whose value was measured"},
    {"value", GS_FIELD_TEXT, GS_FIELD_AT(gs_calibration_value, value), NULL, 0, 0, NULL,
     "as measured"},
    {"low", GS_FIELD_TEXT, GS_FIELD_AT(gs_calibration_value, low), "", 0, 0, NULL,
     "of the interval that holds it with 99 %"},
    {"high", GS_FIELD_TEXT, GS_FIELD_AT(gs_calibration_value, high), "", 0, 0, NULL,
     "likewise"},
    {"count", GS_FIELD_INT, GS_FIELD_AT(gs_calibration_value, count), "0", 0, 9007199254740992.0, NULL,
     "repeats that it was made from"},
};
/* clang-format on */

const gs_field_table gs_scenario_codec_cost_table =
    GS_SCENARIO_TABLE("cluster.codecs[]", gs_codec_cost, codec_cost_fields);
const gs_field_table gs_scenario_calibration_table =
    GS_SCENARIO_TABLE("calibration", gs_calibration, calibration_fields);
const gs_field_table gs_scenario_calibrated_table =
    GS_SCENARIO_TABLE("calibration.values[]", gs_calibration_value, calibrated_fields);

/* --- codecs --------------------------------------------------------------------------------- */

/* The codec and its parameters as a label says them, which is what costs are looked up by. */
static gs_status normalise(gs_scenario_reader *reader, gs_codec_cost *cost, gs_error *err)
{
    char text[GS_NAME_BYTES];
    gs_coding coding;
    memcpy(text, cost->name, sizeof text);
    GS_TRY(gs_scenario_parse_codec(text, &coding, err));
    if (coding.codec == NULL) {
        return gs_fail(err, GS_EINVAL, "\"none\" codes nothing; remove it");
    }
    if (strchr(cost->name, ':') == NULL) {
        return GS_OK;
    }
    const char *label =
        gs_scenario_label(coding.codec->name, coding.codec->config, &coding.config, reader->arena);
    if (label == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    snprintf(cost->name, sizeof cost->name, "%s", label);
    return GS_OK;
}

gs_status gs_scenario_read_codec_costs(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    void *items = NULL;
    GS_TRY(gs_scenario_read_list(reader, "cluster.codecs", &gs_scenario_codec_cost_table,
                                 CODECS_MAX, &items, &cluster->codec_count, err));
    gs_codec_cost *costs = items;
    for (uint32_t i = 0; i < cluster->codec_count; i++) {
        char path[GS_JSON_PATH_BYTES];
        gs_error inner = {0};
        snprintf(path, sizeof path, "cluster.codecs[%u].name", i);
        gs_status status = normalise(reader, &costs[i], &inner);
        if (status != GS_OK) {
            return gs_scenario_fail(reader, status, path, err, "%s", inner.text);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(costs[i].name, costs[k].name) == 0) {
                return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                        "\"%s\" is that of cluster.codecs[%u] already; remove one",
                                        costs[i].name, k);
            }
        }
    }
    cluster->codecs = costs;
    return GS_OK;
}

/* With these parameters, else of the codec whatever its parameters are; NULL: not measured. */
static const gs_codec_cost *cost_of(const gs_cluster *cluster, const char *name, const char *label)
{
    const gs_codec_cost *found = NULL;
    for (uint32_t i = 0; i < cluster->codec_count; i++) {
        if (strcmp(cluster->codecs[i].name, label) == 0) {
            return &cluster->codecs[i];
        }
        if (strcmp(cluster->codecs[i].name, name) == 0) {
            found = &cluster->codecs[i];
        }
    }
    return found;
}

/* Where kernels are started one by one: on any device but a processor of the catalogue. */
static bool has_accelerator(const gs_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        const gs_device *device = cluster->groups[i].known;
        if (device == NULL || device->host_link_bps > 0) {
            return true;
        }
    }
    return false;
}

/* Work is counted as memory traffic, at the rate of the node it is done on: the traffic that takes
 * the measured time on the first kind of node. */
gs_status gs_scenario_apply_codec_cost(gs_scenario_reader *reader, gs_coding *coding, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    coding->kernel_ns = has_accelerator(cluster) ? GS_CODING_KERNEL_NS : 0;
    if (cluster->codec_count == 0) {
        return GS_OK;
    }
    const char *label = gs_scenario_label(coding->codec->name, coding->codec->config,
                                          &coding->config, reader->arena);
    if (label == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    const gs_codec_cost *cost = cost_of(cluster, coding->codec->name, label);
    if (cost != NULL) {
        double memory_bps = (double)cluster->groups[0].vector_bandwidth_bps;
        coding->measured_encode_bytes = 4.0 * memory_bps / (double)cost->encode_bps;
        coding->measured_decode_bytes = 4.0 * memory_bps / (double)cost->decode_bps;
    }
    return GS_OK;
}

/* --- calibration ---------------------------------------------------------------------------- */

gs_status gs_scenario_read_calibration(gs_scenario_reader *reader, gs_error *err)
{
    gs_calibration *out = &reader->out->calibration;
    gs_json_at at;
    const char **texts = NULL;
    void *values = NULL;
    if (!gs_scenario_path_find(&reader->source.merged, "calibration", &at)) {
        return GS_OK;
    }
    GS_TRY(
        gs_scenario_read_object(reader, "calibration", &gs_scenario_calibration_table, out, err));
    for (int64_t i = 1; i < out->message_bytes.count; i++) {
        if (out->message_bytes.values[i] <= out->message_bytes.values[i - 1]) {
            return gs_scenario_fail(reader, GS_EINVAL, "calibration.message_bytes", err,
                                    "%lld does not lie above %lld; sizes ascend",
                                    (long long)out->message_bytes.values[i],
                                    (long long)out->message_bytes.values[i - 1]);
        }
    }
    GS_TRY(gs_scenario_read_list(reader, "calibration.values", &gs_scenario_calibrated_table,
                                 VALUES_MAX, &values, &out->value_count, err));
    out->values = values;
    GS_TRY(gs_scenario_read_texts(reader, "calibration.hosts", TEXTS_MAX, &texts, &out->host_count,
                                  err));
    out->hosts = texts;
    GS_TRY(gs_scenario_read_texts(reader, "calibration.notes", TEXTS_MAX, &texts, &out->note_count,
                                  err));
    out->notes = texts;
    return GS_OK;
}

bool gs_scenario_write_calibration(const gs_scenario_reader *reader, gs_json *root)
{
    const gs_calibration *calibration = &reader->out->calibration;
    if (calibration->when[0] == '\0') {
        return true;
    }
    gs_json *part = gs_json_new_object();
    bool ok = gs_config_write(&gs_scenario_calibration_table, calibration, part);
    ok = gs_scenario_put_texts(part, "hosts", calibration->hosts, calibration->host_count) && ok;
    ok = gs_scenario_put_list(part, "values", &gs_scenario_calibrated_table, calibration->values,
                              calibration->value_count) &&
         ok;
    ok = gs_scenario_put_texts(part, "notes", calibration->notes, calibration->note_count) && ok;
    return gs_json_set(root, "calibration", part) && ok;
}
