/* Gradients as they are: the codec that every other one is compared with. */
#include "strategies/codecs/fields.h"

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)config;
    (void)step;
    return gs_codec_exactly(4 * elements);
}

static const gs_field_table table = {
    .name = "none", .struct_bytes = sizeof(gs_codec_config), .fields = NULL, .field_count = 0};

const gs_codec gs_codec_none = {
    .name = "none",
    .summary = "fp32 as it is",
    .source = "IEEE 754-2019 binary32",
    .config = &table,
    .travel = GS_TRAVEL_SUM,
    .unbiased = true,
    .number_bytes = 4,
    .payload_bytes = payload_bytes,
};
