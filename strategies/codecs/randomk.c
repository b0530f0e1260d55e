/* k random elements, the same on every rank: their indices need not travel, and values add up. */
#include "strategies/codecs/fields.h"

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    return gs_codec_exactly(4 * gs_codec_kept(config, elements, step));
}

static gs_status check(const gs_codec_config *config, int64_t elements, gs_error *err)
{
    (void)config;
    if (elements > INT32_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "randomk: a slice has at most %lld elements, not %lld; use smaller buckets",
                       (long long)INT32_MAX, (long long)elements);
    }
    return GS_OK;
}

static const gs_field fields[] = {
    GS_FIELD_KEPT("0.01"),
    GS_FIELD_FEEDBACK("true"),
};

GS_CODEC_TABLE(table, "randomk", fields);

const gs_codec gs_codec_randomk = {
    .name = "randomk",
    .summary = "random elements, the same on all ranks by a common seed: no indices, summable",
    .source = "Stich et al., Sparsified SGD with Memory, NeurIPS 2018 (arXiv 1809.07599); common "
              "seed as in GRACE",
    .config = &table,
    .travel = GS_TRAVEL_SUM,
    .random = GS_RANDOM_SHARED,
    .encode_bytes = 1.0,
    .decode_bytes = 5.0,
    .encode_kernels = 2,
    .decode_kernels = 2,
    .check = check,
    .number_bytes = 4,
    .payload_bytes = payload_bytes,
};
