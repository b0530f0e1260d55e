/* The k elements of largest size, exactly; of equal ones the first. */
#include "strategies/codecs/fields.h"

enum { ENTRY_BYTES = 4 + 4 }; /* index, value */

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    return gs_codec_exactly(ENTRY_BYTES * gs_codec_kept(config, elements, step));
}

static gs_status check(const gs_codec_config *config, int64_t elements, gs_error *err)
{
    (void)config;
    if (elements > INT32_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "topk: a slice of %lld elements has indices beyond 32 bits; use smaller "
                       "buckets or dgc:index=int64",
                       (long long)elements);
    }
    return GS_OK;
}

static const gs_field fields[] = {
    GS_FIELD_KEPT("0.01"),
    GS_FIELD_FEEDBACK("true"),
    GS_FIELD_PATH,
};

GS_CODEC_TABLE(table, "topk", fields);

const gs_codec gs_codec_topk = {
    .name = "topk",
    .summary = "the largest elements with their indices; traffic grows with the ranks",
    .source = "Stich et al., Sparsified SGD with Memory, NeurIPS 2018 (arXiv 1809.07599)",
    .config = &table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 8.0 + 4 * 4.0 + 2 * 4.0, /* sizes; four passes of selection; two of gathering */
    .decode_bytes = 4.0,
    .encode_kernels =
        2 + 2 * 4 + 4, /* sizes, values; each pass and its counts; start, scan, gather */
    .decode_kernels = 2,
    .cost_source = "PyTorch TensorTopK.cu, mbtopk: radix selection, 8 bits a pass; before 2022 one "
                   "block did it all: 25.6 ms for 2 million floats on a P100 (issue 22812)",
    .check = check,
    .payload_bytes = payload_bytes,
};
