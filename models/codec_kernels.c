/* The list of encoders, and what wraps them. */
#include "models/codec_kernels.h"

#include "base/assert.h"
#include "models/codecs/pack.h"
#include "models/kernels.h"

#include <string.h>

static const gs_packer *const packers[] = {
#define GS_PACKER(stem) &gs_packer_##stem,
#include "models/codecs/packers.def"
#undef GS_PACKER
};

size_t gs_packer_count(void)
{
    return sizeof packers / sizeof *packers;
}

const gs_packer *gs_packer_at(size_t index)
{
    GS_ASSERT(index < gs_packer_count());
    return packers[index];
}

const gs_packer *gs_packer_find(const char *name)
{
    for (size_t i = 0; i < gs_packer_count(); i++) {
        if (strcmp(packers[i]->name, name) == 0) {
            return packers[i];
        }
    }
    return NULL;
}

size_t gs_pack_feedback(const gs_packer *packer, const gs_pack_rule *rule, const float *gradient,
                        float *residual, uint8_t *out)
{
    gs_kernel_add(residual, gradient, NULL, rule->count, 0.0F);
    size_t bytes = packer->encode(rule, residual, out);
    bool ok = packer->decode(rule, GS_UNPACK_SUB, out, bytes, residual);
    GS_ASSERT(ok);
    return bytes;
}

void gs_vote(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sums[i] = (float)((sums[i] > 0.0F) - (sums[i] < 0.0F));
    }
}
