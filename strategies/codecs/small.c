/* Numbers of 8 and 4 bits with one fp32 scale a block: floats (fp8_e4m3, fp8_e5m2) and whole
 * numbers (int8, int4). A sum needs a common scale, so they are decoded before they are added. */
#include "strategies/codecs/fields.h"

enum { SCALE_BYTES = 4 };

static gs_codec_size bytes_of_8(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)step;
    return gs_codec_exactly(elements + SCALE_BYTES * gs_codec_blocks(config, elements));
}

static gs_codec_size bytes_of_4(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)step;
    return gs_codec_exactly(gs_codec_packed(elements, 4) +
                            SCALE_BYTES * gs_codec_blocks(config, elements));
}

/* The sources tune the block to their hardware; 256 keeps the scales at 1.6 % of 8 bits. */
static const gs_field fields[] = {
    GS_FIELD_BLOCK("block", "256", 1),
    GS_FIELD_FEEDBACK("false"),
    GS_FIELD_PATH,
};

GS_CODEC_TABLE(e4m3_table, "fp8_e4m3", fields);
GS_CODEC_TABLE(e5m2_table, "fp8_e5m2", fields);
GS_CODEC_TABLE(int8_table, "int8", fields);
GS_CODEC_TABLE(int4_table, "int4", fields);

const gs_codec gs_codec_fp8_e4m3 = {
    .name = "fp8_e4m3",
    .summary = "8-bit floats with 3 bits of fraction, one scale a block",
    .source = "Micikevicius et al., FP8 Formats for Deep Learning (arXiv 2209.05433)",
    .config = &e4m3_table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 9.0,
    .decode_bytes = 5.0,
    .encode_kernels = 2,
    .decode_kernels = 1,
    .payload_bytes = bytes_of_8,
};

const gs_codec gs_codec_fp8_e5m2 = {
    .name = "fp8_e5m2",
    .summary = "8-bit floats with 2 bits of fraction, one scale a block",
    .source = "Micikevicius et al., FP8 Formats for Deep Learning (arXiv 2209.05433)",
    .config = &e5m2_table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 9.0,
    .decode_bytes = 5.0,
    .encode_kernels = 2,
    .decode_kernels = 1,
    .payload_bytes = bytes_of_8,
};

const gs_codec gs_codec_int8 = {
    .name = "int8",
    .summary = "-127 to 127 times one scale a block, to nearest",
    .source = "Wang et al., ZeRO++ (arXiv 2306.10209), block quantisation",
    .config = &int8_table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 9.0,
    .decode_bytes = 5.0,
    .encode_kernels = 2,
    .decode_kernels = 1,
    .payload_bytes = bytes_of_8,
};

const gs_codec gs_codec_int4 = {
    .name = "int4",
    .summary = "-7 to 7 times one scale a block, to nearest",
    .source = "Wang et al., ZeRO++ (arXiv 2306.10209), block quantisation",
    .config = &int4_table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 8.5,
    .decode_bytes = 4.5,
    .encode_kernels = 2,
    .decode_kernels = 1,
    .payload_bytes = bytes_of_4,
};
