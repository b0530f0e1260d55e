/* QSGD: s = 2^(bits - 1) - 1 levels between 0 and the l2 norm of a bucket, rounded up or down at
 * random so that the mean is right. */
#include "strategies/codecs/fields.h"

enum { NORM_BYTES = 4 };

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)step;
    return gs_codec_exactly(gs_codec_packed(elements, config->bits) +
                            NORM_BYTES * gs_codec_blocks(config, elements));
}

static const gs_field fields[] = {
    {.name = "bits",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_codec_config, bits),
     .default_text = "8",
     .minimum = 2,
     .maximum = 8,
     .help = "of one element, its sign included: 2^(bits-1)-1 levels"},
    GS_FIELD_BLOCK("bucket", "512", 0),
    GS_FIELD_PATH,
};

GS_CODEC_TABLE(table, "qsgd", fields);

const gs_codec gs_codec_qsgd = {
    .name = "qsgd",
    .summary = "random rounding to few levels of a bucket's norm: unbiased, the variance grows "
               "with sqrt(bucket)/levels",
    .source = "Alistarh et al., QSGD, NeurIPS 2017 (arXiv 1610.02132), section 3; levels have a "
              "fixed width here: its Elias coding, shorter where most are 0, is not modelled",
    .config = &table,
    .travel = GS_TRAVEL_GATHER,
    .random = GS_RANDOM_OWN,
    .unbiased = true,
    .encode_bytes = 9.0,
    .decode_bytes = 5.0,
    .encode_kernels = 3,
    .decode_kernels = 1,
    .payload_bytes = payload_bytes,
};
