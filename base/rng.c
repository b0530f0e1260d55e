/* One Philox block per draw: the counter says which draw, the key is the seed; no state is kept. */
#include "base/rng.h"

#include <Random123/philox.h>

#include "base/assert.h"
#include "base/wide.h"

enum { PURPOSE_SHIFT = 24, ROUNDS = 10, LANES = 16 };

uint64_t gs_rng_bits(gs_rng_key key, uint64_t step, uint32_t index)
{
    /* Step and purpose share the upper words, so that no two draws of a seed have one counter. */
    GS_ASSERT(step >> GS_RNG_STEP_BITS == 0);
    GS_ASSERT((uint32_t)key.purpose < UINT32_C(1) << (32 - PURPOSE_SHIFT));
    philox4x32_ctr_t counter = {{index, key.entity, (uint32_t)step,
                                 (uint32_t)(step >> 32) | (uint32_t)key.purpose << PURPOSE_SHIFT}};
    philox4x32_key_t words = {{(uint32_t)key.seed, (uint32_t)(key.seed >> 32)}};
    philox4x32_ctr_t block = philox4x32_R(ROUNDS, counter, words);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

double gs_rng_uniform(gs_rng_key key, uint64_t step, uint32_t index)
{
    uint64_t numerator = gs_rng_bits(key, step, index) >> 11;
    /* 0 stands for the lower half of its cell: the one value that would leave the open interval. */
    return numerator == 0 ? 0x1p-54 : (double)numerator * 0x1p-53;
}

/* Counters and then blocks, word by word. */
typedef struct lanes {
    uint32_t word[4][LANES];
} lanes;

static inline void turn(lanes *at, uint32_t key_0, uint32_t key_1)
{
    for (int i = 0; i < LANES; i++) {
        uint64_t first = (uint64_t)PHILOX_M4x32_0 * at->word[0][i];
        uint64_t second = (uint64_t)PHILOX_M4x32_1 * at->word[2][i];
        at->word[0][i] = (uint32_t)(second >> 32) ^ at->word[1][i] ^ key_0;
        at->word[1][i] = (uint32_t)second;
        at->word[2][i] = (uint32_t)(first >> 32) ^ at->word[3][i] ^ key_1;
        at->word[3][i] = (uint32_t)first;
    }
}

/* Parts of the numerator that are whole numbers of 31 bits, as processors convert several of: every
 * sum is exact. */
GS_WIDE_BODY void draw_lanes_body(lanes *at, uint64_t seed, double *out)
{
    uint32_t key_0 = (uint32_t)seed, key_1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        turn(at, key_0, key_1);
        key_0 += PHILOX_W32_0;
        key_1 += PHILOX_W32_1;
    }
    for (int i = 0; i < LANES; i++) {
        double high = (double)(int32_t)(at->word[1][i] >> 16) * 0x1p-16;
        double middle = (double)(int32_t)(at->word[1][i] & 0xffff) * 0x1p-32;
        double uniform = high + middle + (double)(int32_t)(at->word[0][i] >> 11) * 0x1p-53;
        out[i] = uniform > 0.0 ? uniform : 0x1p-54;
    }
}

GS_WIDE static void draw_lanes_wide(lanes *at, uint64_t seed, double *out)
{
    draw_lanes_body(at, seed, out);
}

static void draw_lanes(lanes *at, uint64_t seed, double *out)
{
    draw_lanes_body(at, seed, out);
}

void gs_rng_uniforms(uint64_t seed, gs_rng_purpose purpose, const uint32_t *entities,
                     const uint64_t *steps, uint32_t count, double *out)
{
    bool is_wide = GS_IS_WIDE;
    uint32_t done = 0;
    for (; done + LANES <= count; done += LANES) {
        lanes at;
        for (uint32_t i = 0; i < LANES; i++) {
            uint64_t step = steps[done + i];
            GS_ASSERT(step >> GS_RNG_STEP_BITS == 0);
            at.word[0][i] = 0;
            at.word[1][i] = entities[done + i];
            at.word[2][i] = (uint32_t)step;
            at.word[3][i] = (uint32_t)(step >> 32) | (uint32_t)purpose << PURPOSE_SHIFT;
        }
        if (is_wide) {
            draw_lanes_wide(&at, seed, out + done);
        } else {
            draw_lanes(&at, seed, out + done);
        }
    }
    for (; done < count; done++) {
        out[done] = gs_rng_uniform((gs_rng_key){seed, purpose, entities[done]}, steps[done], 0);
    }
}
