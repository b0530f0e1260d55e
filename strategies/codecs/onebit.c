/* 1-bit SGD: the sign, and the mean of each side. */
#include "strategies/codecs/fields.h"

enum { MEANS_BYTES = 8 };

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)config;
    (void)step;
    return gs_codec_exactly((elements > 0 ? MEANS_BYTES : 0) + gs_codec_packed(elements, 1));
}

static const gs_field fields[] = {
    GS_FIELD_FEEDBACK("true"),
    GS_FIELD_PATH,
};

GS_CODEC_TABLE(table, "onebit", fields);

const gs_codec gs_codec_onebit = {
    .name = "onebit",
    .summary = "one bit an element: the mean of the negative ones or that of the others",
    .source = "Seide et al., 1-Bit Stochastic Gradient Descent, Interspeech 2014, section 3",
    .config = &table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 4.125,
    .decode_bytes = 4.125,
    .encode_kernels = 3,
    .decode_kernels = 1,
    .payload_bytes = payload_bytes,
};
