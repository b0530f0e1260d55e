/* One bit an element: the sign, alone (a majority decides) or times the mean size of all. */
#include "strategies/codecs/fields.h"

enum { SCALE_BYTES = 4 };

static gs_codec_size sign_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)step;
    int64_t scale = config->scale == GS_SIGN_MEAN && elements > 0 ? SCALE_BYTES : 0;
    return gs_codec_exactly(scale + gs_codec_packed(elements, 1));
}

static gs_codec_size ef_sign_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    (void)config;
    (void)step;
    return gs_codec_exactly((elements > 0 ? SCALE_BYTES : 0) + gs_codec_packed(elements, 1));
}

/* A vote has no size: what it leaves over cannot be told. */
static gs_status check_sign(const gs_codec_config *config, int64_t elements, gs_error *err)
{
    (void)elements;
    if (config->feedback && config->scale == GS_SIGN_VOTE) {
        return gs_fail(err, GS_EINVAL,
                       "sign: a majority vote leaves no residual to feed back; use scale=mean or "
                       "feedback=false");
    }
    return GS_OK;
}

static const char *const scales[] = {[GS_SIGN_VOTE] = "vote", [GS_SIGN_MEAN] = "mean", NULL};

static const gs_field sign_fields[] = {
    {.name = "scale",
     .kind = GS_FIELD_CHOICE,
     GS_FIELD_AT(gs_codec_config, scale),
     .default_text = "vote",
     .choices = scales,
     .help = "vote: 1, and the sign of the sum of all ranks is the result; mean: mean |g|"},
    GS_FIELD_FEEDBACK("false"),
    GS_FIELD_PATH,
};

static const gs_field ef_sign_fields[] = {
    GS_FIELD_FEEDBACK("true"),
    GS_FIELD_PATH,
};

GS_CODEC_TABLE(sign_table, "sign", sign_fields);
GS_CODEC_TABLE(ef_sign_table, "ef_sign", ef_sign_fields);

const gs_codec gs_codec_sign = {
    .name = "sign",
    .summary = "one bit an element; all ranks vote on each",
    .source = "Bernstein et al., signSGD with Majority Vote, ICLR 2019 (arXiv 1810.05291)",
    .config = &sign_table,
    .travel = GS_TRAVEL_GATHER,
    .can_vote = true,
    .encode_bytes = 4.125,
    .decode_bytes = 4.125,
    .encode_kernels = 2,
    .decode_kernels = 1,
    .check = check_sign,
    .payload_bytes = sign_bytes,
};

const gs_codec gs_codec_ef_sign = {
    .name = "ef_sign",
    .summary = "one bit an element times the mean size of all, with error feedback",
    .source = "Karimireddy et al., Error Feedback Fixes SignSGD, ICML 2019 (arXiv 1901.09847), "
              "algorithm 1",
    .config = &ef_sign_table,
    .travel = GS_TRAVEL_GATHER,
    .encode_bytes = 4.125,
    .decode_bytes = 4.125,
    .encode_kernels = 2,
    .decode_kernels = 1,
    .payload_bytes = ef_sign_bytes,
};
