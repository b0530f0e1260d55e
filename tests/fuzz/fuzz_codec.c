/* Any bytes as a payload of any codec: refused with nothing written, or decoded; and any floats
 * encoded, which their decoder must take. The first eight bytes say the codec and its rule. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "models/codec_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 8, COUNT_MAX = 700 };

static gs_pack_rule rule_of(const uint8_t *head)
{
    size_t count = (head[1] | (size_t)(head[2] & 1) << 8) * (head[2] & 2 ? 1U : 0U) + head[3] % 65U;
    size_t kept = count == 0 ? 0 : 1 + head[4] % count;
    return (gs_pack_rule){.count = count,
                          .block = head[5],
                          .bits = 2 + head[6] % 7U,
                          .scaled = (head[7] & 1) != 0,
                          .clip = (head[7] & 2) != 0 ? 2.5 : 0.0,
                          .kept = kept,
                          .wide_index = (head[7] & 4) != 0,
                          .sample = 0.1,
                          .lower = 0.8,
                          .upper = 1.3,
                          .rounds = 10,
                          .key = {.seed = head[7], .purpose = GS_RNG_TEST},
                          .step = head[6]};
}

/* in[bytes] as floats, over and over. */
static void fill(float *out, size_t count, const uint8_t *in, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t raw[4] = {0};
        for (size_t k = 0; k < 4 && bytes > 0; k++) {
            raw[k] = in[(4 * i + k) % bytes];
        }
        memcpy(&out[i], raw, sizeof raw);
    }
}

static void decode(const gs_packer *packer, const gs_pack_rule *rule, const uint8_t *in,
                   size_t bytes)
{
    float out[COUNT_MAX], before[COUNT_MAX];
    memset(before, 0x3f, sizeof before);
    memcpy(out, before, sizeof out);
    bool ok = packer->decode(rule, (gs_unpack)(rule->step % 3), in, bytes, out);
    size_t written = ok ? rule->count : 0;
    GS_ASSERT(memcmp(out + written, before + written, sizeof out - written * sizeof *out) == 0);
}

static void encode(const gs_packer *packer, const gs_pack_rule *rule, const uint8_t *in,
                   size_t bytes)
{
    float floats[COUNT_MAX], out[COUNT_MAX];
    fill(floats, rule->count, in, bytes);
    uint8_t *payload = malloc(packer->room_bytes(rule) + 1);
    GS_ASSERT(payload != NULL);
    size_t written = packer->encode(rule, floats, payload);
    GS_ASSERT(written <= packer->room_bytes(rule));
    GS_ASSERT(packer->decode(rule, GS_UNPACK_PUT, payload, written, out));
    if (packer->add != NULL) {
        packer->add(rule, payload, payload);
        GS_ASSERT(packer->decode(rule, GS_UNPACK_PUT, payload, written, out));
    }
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) {
        return 0;
    }
    const gs_packer *packer = gs_packer_at(data[0] % gs_packer_count());
    gs_pack_rule rule = rule_of(data);
    GS_ASSERT(rule.count <= COUNT_MAX);
    decode(packer, &rule, data + HEAD, size - HEAD);
    encode(packer, &rule, data + HEAD, size - HEAD);
    return 0;
}
