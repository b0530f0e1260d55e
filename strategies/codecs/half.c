/* Numbers of 16 bits. Sums of them are rounded at every hop, as communication libraries do. */
#include "strategies/codecs/fields.h"

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)config;
    (void)step;
    return gs_codec_exactly(2 * elements);
}

static const gs_field_table fp16_table = {
    .name = "fp16", .struct_bytes = sizeof(gs_codec_config), .fields = NULL, .field_count = 0};
static const gs_field_table bf16_table = {
    .name = "bf16", .struct_bytes = sizeof(gs_codec_config), .fields = NULL, .field_count = 0};

const gs_codec gs_codec_fp16 = {
    .name = "fp16",
    .summary = "half precision on the wire; sums above 65504 overflow",
    .source = "PyTorch ddp_comm_hooks default_hooks.py, fp16_compress_hook",
    .config = &fp16_table,
    .travel = GS_TRAVEL_SUM,
    .encode_bytes = 6.0, /* 4 read, 2 written */
    .decode_bytes = 6.0,
    .encode_kernels = 1,
    .decode_kernels = 1,
    .cost_source = "a conversion is one kernel that reads and writes each element once",
    .number_bytes = 2,
    .payload_bytes = payload_bytes,
};

const gs_codec gs_codec_bf16 = {
    .name = "bf16",
    .summary = "bfloat16 on the wire: the range of fp32 with 8 bits of precision",
    .source = "PyTorch ddp_comm_hooks default_hooks.py, bf16_compress_hook",
    .config = &bf16_table,
    .travel = GS_TRAVEL_SUM,
    .encode_bytes = 6.0, /* 4 read, 2 written */
    .decode_bytes = 6.0,
    .encode_kernels = 1,
    .decode_kernels = 1,
    .cost_source = "a conversion is one kernel that reads and writes each element once",
    .number_bytes = 2,
    .payload_bytes = payload_bytes,
};
