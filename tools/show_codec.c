/* show CODEC: how it travels, what it keeps, what it costs, and its parameters. */
#include "tools/message.h"
#include "tools/show.h"
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Past every warm-up and every dense start. */
enum { LATE_STEP = 1000000000, ELEMENTS = 1000000 };

static void add_payload(gs_page *page, const gs_codec *codec, const gs_codec_config *config)
{
    char text[160];
    gs_codec_size size = codec->payload_bytes(config, ELEMENTS, LATE_STEP);
    double bits = 8.0 * (double)size.expected_bytes / ELEMENTS;
    int length =
        snprintf(text, sizeof text, "%lld B of 4000000 B (1000000 elements), %.4g bits each",
                 (long long)size.expected_bytes, bits);
    if (size.most_bytes > size.expected_bytes && length > 0 && (size_t)length < sizeof text) {
        snprintf(text + length, sizeof text - (size_t)length, ", at most %lld B",
                 (long long)size.most_bytes);
    }
    gs_page_fact(page, "payload_bytes_per_million", "payload", text,
                 gs_json_new_int(size.expected_bytes));
}

/* What its time is where nobody has measured it. */
static void add_cost(gs_page *page, const gs_codec *codec, const gs_codec_config *config)
{
    char text[200];
    int length = snprintf(text, sizeof text,
                          "assumed until measured: %g bytes moved per element to encode, %g to "
                          "decode; %u and %u kernels a slice",
                          codec->encode_bytes, codec->decode_bytes, codec->encode_kernels,
                          codec->decode_kernels);
    if (codec->matrix_kernels != NULL && length > 0 && (size_t)length < sizeof text) {
        snprintf(text + length, sizeof text - (size_t)length, ", %u a matrix",
                 codec->matrix_kernels(config, 0) + codec->matrix_kernels(config, 1) +
                     codec->matrix_kernels(config, 2));
    }
    gs_page_fact(page, "moved_bytes", "cost", text,
                 gs_json_new_real(codec->encode_bytes + codec->decode_bytes));
    gs_page_fact(page, "cost_source", "cost from",
                 codec->cost_source != NULL ? codec->cost_source
                                            : "the algorithm's passes over memory; unverified",
                 NULL);
}

/* Its parameters: the defaults, or those of a -s that has it: "qsgd:bits=2",
 * "allreduce+qsgd:bits=2".
 */
static gs_status read_config(const gs_cli *cli, const gs_codec *codec, gs_coding *out,
                             gs_error *err)
{
    *out = (gs_coding){.codec = codec};
    gs_config_defaults(codec->config, &out->config);
    for (size_t i = 0; i < cli->strategy_count; i++) {
        const char *plus = strchr(cli->strategies[i], '+');
        char *text = gs_text("%s", plus == NULL ? cli->strategies[i] : plus + 1);
        gs_status status = gs_scenario_parse_codec(text, out, err);
        free(text);
        GS_TRY(status);
        if (out->codec != codec) {
            return gs_fail(err, GS_EINVAL, "show %s: -s %s is not of that codec", codec->name,
                           cli->strategies[i]);
        }
    }
    return GS_OK;
}

int gs_show_codec(gs_page *page, const gs_cli *cli, const gs_codec *codec)
{
    static const char *const travels[GS_TRAVEL_COUNT] = {
        [GS_TRAVEL_SUM] = "sum: payloads add up on their way, an all-reduce",
        [GS_TRAVEL_GATHER] = "gather: each payload goes to all ranks, which decode and add",
        [GS_TRAVEL_LOW_RANK] = "low_rank: two sums of small matrices, one after the other"};
    static const char *const keys[GS_TRAVEL_COUNT] = {"sum", "gather", "low_rank"};
    gs_coding coding;
    gs_error err;
    char text[96];
    if (read_config(cli, codec, &coding, &err) != GS_OK) {
        gs_complain("%s", err.text);
        return GS_EXIT_USAGE;
    }
    const gs_codec_config *config = &coding.config;
    gs_page_fact(page, "name", "codec", codec->name, NULL);
    gs_page_fact(page, "summary", "", codec->summary, NULL);
    gs_page_fact(page, "source", "source", codec->source, NULL);
    gs_page_fact(page, "travel", "travels as", travels[codec->travel],
                 gs_json_new_text(keys[codec->travel]));
    gs_page_fact(page, "unbiased", "unbiased", codec->unbiased ? "yes" : "no",
                 gs_json_new_bool(codec->unbiased));
    add_payload(page, codec, config);
    uint32_t vectors = gs_codec_vectors(codec, config);
    snprintf(text, sizeof text, "%u times the gradient's length", vectors);
    gs_page_fact(page, "own_vectors", "memory", text, gs_json_new_int(vectors));
    add_cost(page, codec, config);
    gs_show_parameters(page, codec->config);
    return GS_EXIT_OK;
}
