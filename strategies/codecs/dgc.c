/* Deep gradient compression: momentum u and what has not been sent yet, v, are kept on each rank; a
 * threshold from a sample of |v| says what is sent. */
#include "strategies/codecs/fields.h"

enum { COUNT_BYTES = 4, VALUE_BYTES = 4 };

static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    int64_t entry = VALUE_BYTES + (config->index == GS_INDEX_INT64 ? 8 : 4);
    if (elements == 0) {
        return gs_codec_exactly(0);
    }
    return (gs_codec_size){
        .most_bytes = COUNT_BYTES + entry * gs_codec_kept_most(config, elements, step),
        .expected_bytes = COUNT_BYTES + entry * gs_codec_kept(config, elements, step)};
}

static gs_status check(const gs_codec_config *config, int64_t elements, gs_error *err)
{
    if (elements > UINT32_MAX || (config->index == GS_INDEX_INT32 && elements > INT32_MAX)) {
        return gs_fail(err, GS_EINVAL,
                       "dgc: a slice of %lld elements is too large for its indices; use smaller "
                       "buckets",
                       (long long)elements);
    }
    if (config->warmup > 0 && config->warmup_steps == 0) {
        return gs_fail(err, GS_EINVAL,
                       "dgc: a warm-up of %lld stages needs warmup_steps, the steps of one stage "
                       "(the source takes an epoch); warmup=0 is none",
                       (long long)config->warmup);
    }
    if (config->warmup == 0 && config->warmup_steps > 0) {
        return gs_fail(
            err, GS_EINVAL,
            "dgc: warmup_steps=%lld are the steps of a stage, and warmup=0 has none; say "
            "how many stages, as warmup=4",
            (long long)config->warmup_steps);
    }
    return GS_OK;
}

static const char *const of_optimizer[] = {"optimizer", NULL};
static const char *const widths[] = {[GS_INDEX_INT64] = "int64", [GS_INDEX_INT32] = "int32", NULL};

static const gs_field fields[] = {
    GS_FIELD_KEPT("0.001"),
    {.name = "momentum",
     .kind = GS_FIELD_REAL_OR_CHOICE,
     GS_FIELD_AT(gs_codec_config, momentum),
     .default_text = "optimizer",
     .minimum = 0.0,
     .maximum = 0.999999,
     .choices = of_optimizer,
     .help = "of each rank's memory, before compression; unless 0 the optimizer runs without a "
             "momentum; optimizer: as workload.optimizer.momentum"},
    {.name = "masking",
     .kind = GS_FIELD_BOOL,
     GS_FIELD_AT(gs_codec_config, masking),
     .default_text = "true",
     .help = "forget the momentum of elements that are sent"},
    {.name = "sample",
     .kind = GS_FIELD_RATIO,
     GS_FIELD_AT(gs_codec_config, sample),
     .default_text = "0.01",
     .minimum = 1e-6,
     .maximum = 1.0,
     .help = "part of the elements, evenly strided, that the threshold is taken from"},
    {.name = "lower",
     .kind = GS_FIELD_REAL,
     GS_FIELD_AT(gs_codec_config, lower),
     .default_text = "0.8",
     .minimum = 0.01,
     .maximum = 1.0,
     .help = "with fewer than this times ratio x elements the threshold is lowered"},
    {.name = "upper",
     .kind = GS_FIELD_REAL,
     GS_FIELD_AT(gs_codec_config, upper),
     .default_text = "1.3",
     .minimum = 1.0,
     .maximum = 100.0,
     .help = "with more than this times ratio x elements the largest of them are sent"},
    {.name = "rounds",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_codec_config, rounds),
     .default_text = "10",
     .minimum = 1,
     .maximum = 1000,
     .help = "corrections of the threshold; after them the exact largest are sent"},
    {.name = "warmup",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_codec_config, warmup),
     .default_text = "0",
     .minimum = 0,
     .maximum = 64,
     .help = "stages before ratio holds; stage i of n sends ratio^((i+1)/(n+1)); 0: none"},
    {.name = "warmup_steps",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_codec_config, warmup_steps),
     .default_text = "0",
     .minimum = 0,
     .maximum = 1e12,
     .help = "steps of one stage; the source takes an epoch"},
    {.name = "index",
     .kind = GS_FIELD_CHOICE,
     GS_FIELD_AT(gs_codec_config, index),
     .default_text = "int64",
     .choices = widths,
     .help = "width of an index on the wire"},
};

GS_CODEC_TABLE(table, "dgc", fields);

const gs_codec gs_codec_dgc = {
    .name = "dgc",
    .summary = "the largest of accumulated, momentum-corrected gradients, by a sampled threshold",
    .source = "Lin et al., Deep Gradient Compression, ICLR 2018 (arXiv 1712.01887); code "
              "synxlin/deep-gradient-compression",
    .config = &table,
    .travel = GS_TRAVEL_GATHER,
    .own_vectors = 2,
    .own_momentum = true,
    .encode_bytes = 32.0,
    .decode_bytes = 4.0,
    .encode_kernels = 10,
    .decode_kernels = 2,
    .check = check,
    .payload_bytes = payload_bytes,
};
