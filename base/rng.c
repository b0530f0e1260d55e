/* One Philox block per draw: the counter says which draw, the key is the seed; no state is kept. */
#include "base/rng.h"

#include <Random123/philox.h>

#include "base/assert.h"

enum { PURPOSE_SHIFT = 24 };

uint64_t gs_rng_bits(gs_rng_key key, uint64_t step, uint32_t index)
{
    /* Step and purpose share the upper words, so that no two draws of a seed have one counter. */
    GS_ASSERT(step >> GS_RNG_STEP_BITS == 0);
    GS_ASSERT((uint32_t)key.purpose < UINT32_C(1) << (32 - PURPOSE_SHIFT));
    philox4x32_ctr_t counter = {{index, key.entity, (uint32_t)step,
                                 (uint32_t)(step >> 32) | (uint32_t)key.purpose << PURPOSE_SHIFT}};
    philox4x32_key_t words = {{(uint32_t)key.seed, (uint32_t)(key.seed >> 32)}};
    philox4x32_ctr_t block = philox4x32_R(10, counter, words);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

double gs_rng_uniform(gs_rng_key key, uint64_t step, uint32_t index)
{
    uint64_t numerator = gs_rng_bits(key, step, index) >> 11;
    /* 0 stands for the lower half of its cell: the one value that would leave the open interval. */
    return numerator == 0 ? 0x1p-54 : (double)numerator * 0x1p-53;
}
