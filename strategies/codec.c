/* The list of codecs, and the rules that more than one side must count by. */
#include "strategies/codec.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

#define GS_CODEC(stem) extern const gs_codec gs_codec_##stem;
#include "strategies/codecs/codecs.def"
#undef GS_CODEC

static const gs_codec *const codecs[] = {
#define GS_CODEC(stem) &gs_codec_##stem,
#include "strategies/codecs/codecs.def"
#undef GS_CODEC
};

uint32_t gs_codec_count(void)
{
    return sizeof codecs / sizeof *codecs;
}

const gs_codec *gs_codec_at(uint32_t index)
{
    GS_ASSERT(index < gs_codec_count());
    return codecs[index];
}

const gs_codec *gs_codec_find(const char *name)
{
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        if (strcmp(codecs[i]->name, name) == 0) {
            return codecs[i];
        }
    }
    return NULL;
}

uint32_t gs_codec_vectors(const gs_codec *codec, const gs_codec_config *config)
{
    return codec->own_vectors + (config->feedback ? 1 : 0);
}

bool gs_codec_is_vote(const gs_codec *codec, const gs_codec_config *config)
{
    return codec->can_vote && config->scale == GS_SIGN_VOTE;
}

static double power(double base, int64_t exponent)
{
    double result = 1.0;
    for (int64_t i = 0; i < exponent; i++) {
        result *= base;
    }
    return result;
}

/* The base in (0, 1] whose n-th power is value, by halving: the same bits everywhere, which a
 * library's pow does not promise. */
static double root(double value, int64_t n)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 64; i++) {
        double middle = 0.5 * (low + high);
        if (power(middle, n) < value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

double gs_codec_ratio(const gs_codec_config *config, int64_t step)
{
    GS_ASSERT(step >= 0);
    if (config->warmup == 0 || config->warmup_steps == 0 ||
        step / config->warmup_steps >= config->warmup) {
        return config->ratio;
    }
    return power(root(config->ratio, config->warmup + 1), step / config->warmup_steps + 1);
}

int64_t gs_codec_same_until(const gs_codec_config *config, int64_t step)
{
    GS_ASSERT(step >= 0);
    int64_t until = step < config->start_step ? config->start_step : INT64_MAX;
    if (config->warmup > 0 && config->warmup_steps > 0 &&
        step / config->warmup_steps < config->warmup) {
        int64_t stage_end = (step / config->warmup_steps + 1) * config->warmup_steps;
        until = stage_end < until ? stage_end : until;
    }
    return until;
}

/* A part of elements rounded down. A ratio such as 0.01 is a little less than it says: without the
 * last term 1 % of 100 could be 0. */
static int64_t part(double ratio, int64_t elements)
{
    int64_t count = (int64_t)floor(ratio * (double)elements * (1.0 + 0x1p-40));
    count = count < elements ? count : elements;
    return count > 1 || elements == 0 ? count : 1;
}

int64_t gs_codec_kept(const gs_codec_config *config, int64_t elements, int64_t step)
{
    GS_ASSERT(elements >= 0);
    return part(gs_codec_ratio(config, step), elements);
}

int64_t gs_codec_kept_most(const gs_codec_config *config, int64_t elements, int64_t step)
{
    int64_t kept = gs_codec_kept(config, elements, step);
    double most = floor(config->upper * (double)kept);
    return most < (double)elements ? (int64_t)most : elements;
}

gs_codec_matrix gs_codec_matrix_of(const gs_codec_config *config, int64_t elements, int64_t columns,
                                   int64_t step)
{
    GS_ASSERT(elements >= 0 && columns >= 0);
    if (elements == 0) {
        return (gs_codec_matrix){.rows = 0, .columns = 0, .rank = 0};
    }
    gs_codec_matrix matrix = {.columns = columns};
    if (columns > 0) {
        matrix.rows = (elements + columns - 1) / columns;
    } else {
        matrix.rows = (int64_t)ceil(sqrt((double)elements));
        matrix.columns = (elements + matrix.rows - 1) / matrix.rows;
    }
    int64_t least = matrix.rows < matrix.columns ? matrix.rows : matrix.columns;
    matrix.rank = config->rank < least ? config->rank : least;
    double sent = (double)(matrix.rows + matrix.columns) * (double)matrix.rank;
    if (least == 1 || sent * config->min_compression >= (double)elements ||
        step < config->start_step) {
        matrix.rank = 0;
    }
    return matrix;
}
