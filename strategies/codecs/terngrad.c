/* TernGrad: -s, 0 or s, with s the largest element after clipping; five of them in a byte. */
#include "strategies/codecs/fields.h"

enum { SCALE_BYTES = 4, TRITS_A_BYTE = 5 };

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)config;
    (void)step;
    if (elements == 0) {
        return gs_codec_exactly(0);
    }
    return gs_codec_exactly(SCALE_BYTES + (elements + TRITS_A_BYTE - 1) / TRITS_A_BYTE);
}

/* Below it nearly all elements are cut to one size: that is a sign, which ef_sign sends in fewer
 * bits. */
static const double least_clip = 0.1;

static gs_status check(const gs_codec_config *config, int64_t elements, gs_error *err)
{
    (void)elements;
    if (config->clip > 0.0 && config->clip < least_clip) {
        return gs_fail(
            err, GS_EINVAL,
            "terngrad: clip=%g standard deviations leaves signs alone; use 0 (not cut) or "
            "%g and more, the source has 2.5",
            config->clip, least_clip);
    }
    return GS_OK;
}

static const gs_field fields[] = {
    {.name = "clip",
     .kind = GS_FIELD_REAL,
     GS_FIELD_AT(gs_codec_config, clip),
     .default_text = "2.5",
     .minimum = 0.0,
     .maximum = 1e6,
     .help = "elements are cut to this many standard deviations, 0.1 or more; 0: not cut"},
    GS_FIELD_PATH,
};

GS_CODEC_TABLE(table, "terngrad", fields);

const gs_codec gs_codec_terngrad = {
    .name = "terngrad",
    .summary = "sign with probability |g|/s, else 0: unbiased for the clipped gradient",
    .source = "Wen et al., TernGrad, NeurIPS 2017 (arXiv 1705.07878), algorithm 1; clipping "
              "section 3.3",
    .config = &table,
    .travel = GS_TRAVEL_GATHER,
    .random = GS_RANDOM_OWN,
    .unbiased = true,
    .encode_bytes = 8.2,
    .decode_bytes = 4.2,
    .encode_kernels = 3,
    .decode_kernels = 1,
    .payload_bytes = payload_bytes,
    .check = check,
};
