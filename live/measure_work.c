#include "live/measure_work.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "live/live_net.h"
#include "models/codec_kernels.h"
#include "models/kernels.h"
#include "traces/wire.h"

/* A repeat is so long at least: the clock and its calls are then less than 1e-4 of it. */
enum { REPEAT_NS = 1000 * 1000, WARM_UP = 2 };
/* A run's long way: codecs that begin gently have ended that. */
enum { LATE_STEP = INT32_MAX };

/* What is timed. */
typedef struct work work;
typedef void act(work *on);
struct work {
    const gs_coding *coding;
    const gs_packer *packer;
    gs_pack_rule rule;
    gs_low_rank shape;
    size_t count;
    float *gradient, *first, *second; /* [count]; the last two: residual, or the codec's memory */
    float *left, *base, *right;       /* of low rank: P, P orthonormalised, Q */
    uint8_t *payload;
    size_t payload_bytes;
};

static float *floats(gs_arena *arena, size_t count)
{
    return GS_TAKE(arena, float, count);
}

/* Gradients are of all sizes, and small ones are many: a normal law. */
static void draw(float *out, size_t count)
{
    gs_rng_key key = {.seed = 1, .purpose = GS_RNG_TEST};
    for (size_t i = 0; i < count; i++) {
        double radius = sqrt(-2.0 * log(gs_rng_uniform(key, i, 0)));
        out[i] = (float)(0.01 * radius * cos(6.283185307179586 * gs_rng_uniform(key, i, 1)));
    }
}

/* Times of one call, in ns. */
static void repeat(work *on, act *of, double times_ns[GS_WORK_REPEATS])
{
    gs_time_ns start = gs_live_clock();
    for (int i = 0; i < WARM_UP; i++) {
        of(on);
    }
    gs_time_ns one = (gs_live_clock() - start) / WARM_UP;
    int64_t calls = one >= REPEAT_NS ? 1 : REPEAT_NS / (one + 1) + 1;
    for (size_t i = 0; i < GS_WORK_REPEATS; i++) {
        start = gs_live_clock();
        for (int64_t call = 0; call < calls; call++) {
            of(on);
        }
        times_ns[i] = (double)(gs_live_clock() - start) / (double)calls;
    }
}

/* bits / time: the longest time is the lowest rate. */
static gs_estimate rate_of(double times_ns[GS_WORK_REPEATS], double bits)
{
    double scratch[GS_WORK_REPEATS];
    gs_estimate time = gs_median_estimate(times_ns, GS_WORK_REPEATS, scratch);
    double times = bits * (double)GS_NS_PER_S;
    return (gs_estimate){times / time.value, times / time.high, times / time.low};
}

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for what is to be timed");
}

/* ---------------------------------------------------------------- vector operations */

/* Floats that an operation moves for each element. */
static const int64_t moves[GS_VOP_COUNT] = {
#define GS_VOP(name, moved) [GS_VOP_##name] = (moved),
#include "strategies/vops.def"
#undef GS_VOP
};

static void add(work *on)
{
    gs_kernel_add(on->first, on->gradient, NULL, on->count, 0.0F);
}

gs_status gs_measure_vector(int64_t elements, gs_arena *arena, gs_estimate *out_bps, gs_error *err)
{
    GS_ASSERT(elements >= 1);
    work on = {.count = (size_t)elements};
    double times_ns[GS_WORK_REPEATS];
    on.gradient = floats(arena, on.count);
    on.first = floats(arena, on.count);
    if (on.gradient == NULL || on.first == NULL) {
        return no_memory(err);
    }
    repeat(&on, add, times_ns);
    *out_bps = rate_of(times_ns, (double)moves[GS_VOP_add] * 32.0 * (double)elements);
    return GS_OK;
}

/* ---------------------------------------------------------------- codecs */

static void encode(work *on)
{
    if (on->coding->codec->own_vectors == 2) {
        gs_dgc_memory memory = {on->first, on->second, (float)on->coding->config.momentum,
                                on->coding->config.masking};
        on->payload_bytes = gs_pack_dgc(&on->rule, &memory, on->gradient, on->payload);
    } else if (on->coding->config.feedback) {
        on->payload_bytes =
            gs_pack_feedback(on->packer, &on->rule, on->gradient, on->first, on->payload);
    } else {
        on->payload_bytes = on->packer->encode(&on->rule, on->gradient, on->payload);
    }
    on->rule.step++;
}

static void decode(work *on)
{
    bool ok =
        on->packer->decode(&on->rule, GS_UNPACK_ADD, on->payload, on->payload_bytes, on->second);
    GS_ASSERT(ok);
}

/* As traces/wire_sum.c does it: g + residual, P = M Q; then P made orthonormal and Q = M' P. */
static void encode_low_rank(work *on)
{
    if (on->coding->config.feedback) {
        gs_kernel_add(on->gradient, on->first, NULL, on->count, 0.0F);
    }
    gs_low_rank_left(&on->shape, on->gradient, on->right, on->left);
    memcpy(on->base, on->left, (size_t)(on->shape.rows * on->shape.rank) * sizeof(float));
    gs_low_rank_orthonormalise(&on->shape, on->base);
    gs_low_rank_right(&on->shape, on->gradient, on->base, on->right);
}

static void decode_low_rank(work *on)
{
    gs_low_rank_expand(&on->shape, on->base, on->right, on->second);
    if (on->coding->config.feedback) {
        gs_kernel_copy(on->first, on->gradient, NULL, on->count, 0.0F);
        gs_kernel_axpy(on->first, on->second, NULL, on->count, -1.0F);
    }
}

static gs_status prepare_low_rank(work *on, gs_arena *arena, gs_error *err)
{
    gs_codec_matrix matrix =
        gs_codec_matrix_of(&on->coding->config, (int64_t)on->count, 0, LATE_STEP);
    if (matrix.rank == 0) {
        return gs_fail(err, GS_EINVAL,
                       "a slice of %zu elements is no matrix that shrinks: it travels dense",
                       on->count);
    }
    on->shape = (gs_low_rank){on->count, matrix.rows, matrix.columns, matrix.rank};
    on->left = floats(arena, (size_t)(matrix.rows * matrix.rank));
    on->base = floats(arena, (size_t)(matrix.rows * matrix.rank));
    on->right = floats(arena, (size_t)(matrix.columns * matrix.rank));
    if (on->left == NULL || on->base == NULL || on->right == NULL) {
        return no_memory(err);
    }
    gs_low_rank_start(&on->shape, (gs_rng_key){.seed = 1, .purpose = GS_RNG_CODEC}, 0, 0,
                      on->right);
    return GS_OK;
}

static gs_status prepare_packer(work *on, gs_arena *arena, gs_error *err)
{
    on->rule = gs_wire_pack_rule(on->coding, on->count, LATE_STEP);
    on->payload = GS_TAKE(arena, uint8_t, on->packer->room_bytes(&on->rule));
    return on->payload != NULL ? GS_OK : no_memory(err);
}

gs_status gs_measure_codec(const gs_coding *coding, int64_t elements, gs_arena *arena,
                           gs_codec_rates *out, gs_error *err)
{
    GS_ASSERT(elements >= 1 && coding->codec != NULL);
    work on = {.coding = coding, .count = (size_t)elements};
    double times_ns[GS_WORK_REPEATS];
    double bits = 32.0 * (double)elements;
    on.packer = gs_packer_find(coding->codec->name);
    on.gradient = floats(arena, on.count);
    on.first = floats(arena, on.count);
    on.second = floats(arena, on.count);
    if (on.gradient == NULL || on.first == NULL || on.second == NULL) {
        return no_memory(err);
    }
    draw(on.gradient, on.count);
    bool is_low_rank = on.packer == NULL;
    GS_TRY(is_low_rank ? prepare_low_rank(&on, arena, err) : prepare_packer(&on, arena, err));
    repeat(&on, is_low_rank ? encode_low_rank : encode, times_ns);
    out->encode_bps = rate_of(times_ns, is_low_rank ? 2.0 * bits : bits);
    if (coding->codec->own_vectors == 2) {
        memset(on.second, 0, on.count * sizeof *on.second); /* it was the codec's, no sum */
    }
    repeat(&on, is_low_rank ? decode_low_rank : decode, times_ns);
    out->decode_bps = rate_of(times_ns, bits);
    return GS_OK;
}
