/* What half precision does to the numbers of entities, with every number derived: the traps of
 * averaging, of sums that grow hop by hop, and of small gradients. */
#include <criterion/criterion.h>

#include "tests/strategies/probes.h"
#include "traces/entity_memory.h"

#include <math.h>
#include <string.h>

enum { RANKS = 8, BATCH = 4 };

static probe_job made;
static gs_layout layout = {.own_vectors = {1}};
static gs_entity_memory ranks[RANKS];
static gs_payload_pool pool;

static void setup(void)
{
    probe_job_init(&made, RANKS);
    gs_payload_pool_init(&pool, &made.arena);
}

static void teardown(void)
{
    probe_job_fini(&made);
}

TestSuite(entity_precision, .init = setup, .fini = teardown);

static void make(gs_number number)
{
    for (uint16_t rank = 0; rank < RANKS; rank++) {
        gs_entity_memory_config config = {.job = &made.job,
                                          .layout = &layout,
                                          .self = {GS_WORKER, rank},
                                          .task = made.task,
                                          .batch_per_rank = BATCH,
                                          .number = number};
        gs_error err;
        cr_assert_eq(gs_entity_memory_init(&ranks[rank], &config, &made.arena, &err), GS_OK);
    }
}

static gs_slice slice(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

/* Slices count from the last float. */
static float *element(gs_entity_memory *memory, uint32_t vector, size_t index)
{
    return memory->vectors.data + (vector + 1) * memory->vectors.count - 1 - index;
}

static void set_all(gs_entity_memory *memory, float value)
{
    for (size_t i = 0; i < RANKS; i++) {
        *element(memory, GS_GRAD, i) = value;
    }
}

/* All-reduce of the first RANKS elements of GRAD, one a part, in the order of a ring: part p starts
 * at rank p and goes round; the last one has the sum, which the others get. */
static void ring(void)
{
    for (uint32_t part = 0; part < RANKS; part++) {
        gs_slice piece = slice(GS_GRAD, part, 1);
        gs_payload sum = gs_entity_memory_view(&ranks[part], piece);
        for (uint32_t turn = 1; turn < RANKS; turn++) {
            gs_entity_memory *next = &ranks[(part + turn) % RANKS];
            cr_assert(gs_entity_memory_put(next, piece, &sum, true));
            sum = gs_entity_memory_view(next, piece);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            gs_payload own = gs_entity_memory_view(&ranks[rank], piece);
            cr_assert(own.data == sum.data ||
                      gs_entity_memory_put(&ranks[rank], piece, &sum, false));
        }
    }
}

/* The naive one: rank 0 adds all, in rank order. */
static void naive(void)
{
    gs_slice whole = slice(GS_GRAD, 0, RANKS);
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        gs_payload part = gs_entity_memory_view(&ranks[rank], whole);
        cr_assert(gs_entity_memory_put(&ranks[0], whole, &part, true));
    }
}

static void divide(void)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        gs_slice whole = slice(GS_GRAD, 0, RANKS);
        cr_assert(gs_entity_memory_vec(&ranks[rank], GS_VOP_scale, whole, whole, 1.0 / RANKS));
    }
}

/* Mean of one value of all ranks, scaled by `scale` before it is rounded to fp16 and divided after
 * it. */
static float mean_of(float value, float scale, bool average_first)
{
    make(GS_FP16);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        set_all(&ranks[rank], value * scale);
        gs_half_round(GS_FP16, element(&ranks[rank], GS_GRAD, RANKS - 1), RANKS);
    }
    if (average_first) {
        divide();
    }
    ring();
    if (!average_first) {
        divide();
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < RANKS; i++) {
            cr_assert_eq(*element(&ranks[rank], GS_GRAD, i), *element(&ranks[0], GS_GRAD, 0));
        }
    }
    return *element(&ranks[0], GS_GRAD, 0) / scale;
}

/* 40,960 is a half; the sum of two is too large for one. 8 parts of 5,120 are exact all the way. */
Test(entity_precision, a_sum_that_is_divided_later_overflows_fp16)
{
    cr_expect_eq(mean_of(40960.0F, 1.0F, true), 40960.0F);
    cr_expect(isinf(mean_of(40960.0F, 1.0F, false)));
}

/* 2^-23 is a half, 2^-26 is less than half of the smallest one. Scaled by 1024 before, both fit. */
Test(entity_precision, a_small_mean_underflows_fp16_unless_the_loss_is_scaled)
{
    cr_expect_eq(mean_of(0x1p-23F, 1.0F, true), 0.0F);
    cr_expect_eq(mean_of(0x1p-23F, 1.0F, false), 0x1p-23F);
    cr_expect_eq(mean_of(0x1p-23F, 1024.0F, true), 0x1p-23F);
}

/* From 256 to 512 bf16 has the even numbers. Rank 0 holds 256, the others 1; the sum is 263.
 * Naive: 256 + 1 lies between 256 and 258 and goes to 256 (2 x 128, even), seven times.
 * Ring: part k starts with the 8 - k ones of ranks k to 7, exact, and then meets 256:
 *   k = 0: 256 first, all ones are lost                                     256
 *   k = 1: 263 -> 264 (2 x 132)                                             264
 *   k = 2: 262, + 1 = 263 -> 264                                            264
 *   k = 3: 261 -> 260 (2 x 130), then ones are lost: 261 -> 260             260
 *   k = 4: 260, ones are lost                                               260
 *   k = 5: 259 -> 260, ones are lost                                        260
 *   k = 6: 258, + 1 = 259 -> 260, ones are lost                             260
 *   k = 7: 257 -> 256, ones are lost                                        256
 * One exact sum that is rounded once would be 264 everywhere. */
Test(entity_precision, bf16_loses_small_parts_at_every_hop)
{
    static const float wanted[RANKS] = {256, 264, 264, 260, 260, 260, 260, 256};
    make(GS_BF16);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        set_all(&ranks[rank], rank == 0 ? 256.0F : 1.0F);
    }
    ring();
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < RANKS; i++) {
            cr_expect_eq(*element(&ranks[rank], GS_GRAD, i), wanted[i], "rank %u, part %zu", rank,
                         i);
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        set_all(&ranks[rank], rank == 0 ? 256.0F : 1.0F);
    }
    naive();
    cr_expect_eq(*element(&ranks[0], GS_GRAD, 0), 256.0F);
    cr_expect_eq(gs_float_of_bf16(gs_bf16_of_float(263.0F)), 264.0F);
}

/* Errors of rounding are of both signs: 1,000 sums of 8 random numbers around 1 by the ring have,
 * in bf16, a mean error that is a fraction of the error of one. Partial sums of k lie in [k/2,
 * 3k/2); the last three are about 6, 7 and 8, where bf16 has steps of 1/32 (4 to 8) and 1/16 (8 to
 * 16), so that one rounding is off by at most 1/32, and by 1/32 / sqrt(3) on average of squares. */
Test(entity_precision, bf16_sums_are_as_wrong_as_their_roundings)
{
    enum { SUMS = 1000 };
    gs_rng_key key = {.seed = 3, .purpose = GS_RNG_DELAY};
    double square = 0.0, sum = 0.0;
    make(GS_BF16);
    for (uint32_t i = 0; i < SUMS / RANKS; i++) {
        double exact[RANKS] = {0};
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            for (uint32_t k = 0; k < RANKS; k++) {
                float *to = element(&ranks[rank], GS_GRAD, k);
                *to = (float)(0.5 + gs_rng_uniform(key, i, rank * RANKS + k));
                gs_half_round(GS_BF16, to, 1);
                exact[k] += (double)*to;
            }
        }
        ring();
        for (uint32_t k = 0; k < RANKS; k++) {
            double error = (double)*element(&ranks[0], GS_GRAD, k) - exact[k];
            square += error * error;
            sum += error;
        }
    }
    /* Steps u of the seven sums: 2 to 4 has 1/64, so about 1/64, 1/64, 1/32 (x4), 1/16 or 1/32;
     * each rounding has variance u^2 / 12: together 2/64^2 + 4/32^2 + between 1/32^2 and 1/16^2,
     * over 12: a root of 0.021 to 0.026. */
    double spread = sqrt(square / SUMS);
    cr_expect(spread > 0.015 && spread < 0.032, "%g", spread);
    cr_expect(fabs(sum / SUMS) < 4.0 * spread / sqrt(SUMS), "%g", sum / SUMS);
}

Test(entity_precision, weights_stay_in_floats_and_payloads_do_not)
{
    make(GS_BF16);
    gs_slice from = slice(GS_PARAM, 0, 1), to = slice(GS_OWN, 0, 1);
    *element(&ranks[0], GS_PARAM, 0) = 1.0F + 0x1p-12F; /* between 1 and 1 + 2^-7 */
    gs_payload lent = gs_entity_memory_view(&ranks[0], from);
    cr_assert(gs_entity_memory_put(&ranks[1], to, &lent, false));
    cr_expect_eq(*element(&ranks[1], GS_OWN, 0), 1.0F);
    gs_payload *sent = gs_payload_copy(&pool, &lent);
    cr_assert_not_null(sent);
    cr_assert(gs_entity_memory_put(&ranks[2], to, sent, false));
    cr_expect_eq(*element(&ranks[2], GS_OWN, 0), 1.0F);
    gs_payload_give(&pool, sent);
    /* An operation on an own vector is of the device's floats, one on GRAD is not. */
    cr_assert(gs_entity_memory_vec(&ranks[0], GS_VOP_copy, to, from, 0.0));
    cr_expect_eq(*element(&ranks[0], GS_OWN, 0), 1.0F + 0x1p-12F);
    cr_assert(gs_entity_memory_vec(&ranks[0], GS_VOP_copy, slice(GS_GRAD, 0, 1), from, 0.0));
    cr_expect_eq(*element(&ranks[0], GS_GRAD, 0), 1.0F);
    /* A gradient of 2^-12 at rate 1/10 moves a weight that a bf16 could not move. */
    *element(&ranks[0], GS_GRAD, 0) = 0x1p-12F;
    float before = *element(&ranks[0], GS_PARAM, 0);
    gs_entity_memory_apply(&ranks[0], slice(GS_PARAM, 0, made.job.elements), GS_GRAD, 1.0);
    cr_expect_eq(*element(&ranks[0], GS_PARAM, 0), before - 0.1F * 0x1p-12F);
}

static gs_task *task_with(double loss_scale)
{
    gs_task_config config = gs_task_config_default();
    config.optimizer.loss_scale = loss_scale;
    config.optimizer.momentum = 0.0;
    gs_task_setup with = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = RANKS, .seed = 1};
    gs_task *task;
    gs_error err;
    cr_assert_eq(gs_task_create(&config, &with, &made.arena, &task, &err), GS_OK, "%s", err.text);
    return task;
}

static void take_gradient(const gs_task *task, gs_number number)
{
    gs_entity_memory_config config = {.job = &made.job,
                                      .layout = &layout,
                                      .task = task,
                                      .batch_per_rank = BATCH,
                                      .number = number};
    gs_task_workspace *workspace;
    gs_plan plan = {.go = true, .at = GS_PARAM, .micro_steps = 1};
    gs_error err;
    double loss;
    cr_assert_eq(gs_task_workspace_create(task, BATCH, &made.arena, &workspace, &err), GS_OK);
    cr_assert_eq(gs_entity_memory_init(&ranks[0], &config, &made.arena, &err), GS_OK);
    gs_entity_memory_begin(&ranks[0], &plan);
    gs_gradient_request request = {.workspace = workspace, .plan = &plan};
    cr_assert_eq(gs_entity_memory_gradient(&ranks[0], &request, &loss, &err), GS_OK);
}

Test(entity_precision, gradients_are_scaled_and_rounded_once_they_are_computed)
{
    static float exact[16384];
    take_gradient(task_with(1.0), GS_FP32);
    size_t count = ranks[0].vectors.count;
    cr_assert(count <= 16384);
    memcpy(exact, element(&ranks[0], GS_GRAD, count - 1), count * sizeof *exact);
    take_gradient(task_with(1024.0), GS_FP16);
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        float wanted = gs_float_of_fp16(gs_fp16_of_float(exact[i] * 1024.0F));
        cr_assert_eq(*element(&ranks[0], GS_GRAD, count - 1 - i), wanted, "float %zu", i);
        different += wanted != exact[i] * 1024.0F;
    }
    cr_expect_gt(different, count / 4); /* it does round */
    /* The update is that of the gradient without the scale. */
    float before = *element(&ranks[0], GS_PARAM, 7);
    float gradient = *element(&ranks[0], GS_GRAD, 7) / 1024.0F;
    gs_entity_memory_apply(&ranks[0], slice(GS_PARAM, 0, made.job.elements), GS_GRAD, 1.0);
    cr_expect_eq(*element(&ranks[0], GS_PARAM, 7), before - 0.1F * gradient);
}

Test(entity_precision, elements_that_rounding_makes_0_are_counted)
{
    /* The least that fp16 rounds up from 0 is over 2^-25: times 2^-14 the exact gradient tells. */
    static float exact[16384];
    const double scale = 0x1p-14;
    take_gradient(task_with(scale), GS_FP32);
    cr_expect_eq(ranks[0].rounded_elements, 0); /* nothing is rounded */
    size_t count = ranks[0].vectors.count;
    cr_assert(count <= 16384);
    memcpy(exact, element(&ranks[0], GS_GRAD, count - 1), count * sizeof *exact);
    int64_t rounded = 0;
    int64_t lost = 0;
    for (size_t i = 0; i < count; i++) {
        rounded += fabsf(exact[i]) > 0.0F ? 1 : 0;
        lost += fabsf(exact[i]) > 0.0F && fabsf(exact[i]) <= 0x1p-25F ? 1 : 0;
    }
    take_gradient(task_with(scale), GS_FP16);
    cr_expect_eq(ranks[0].rounded_elements, rounded);
    cr_expect_eq(ranks[0].underflown_elements, lost);
    cr_expect_gt(lost, 0);
    cr_expect_lt(lost, rounded);
    take_gradient(task_with(scale), GS_BF16); /* which has the exponents of floats */
    cr_expect_eq(ranks[0].rounded_elements, rounded);
    cr_expect_eq(ranks[0].underflown_elements, 0);
}

Test(entity_precision, a_dynamic_scale_halves_until_gradients_fit)
{
    gs_task *task = task_with(GS_LOSS_SCALE_DYNAMIC);
    gs_slice whole = slice(GS_PARAM, 0, made.job.elements);
    take_gradient(task, GS_FP16);
    cr_expect_eq(ranks[0].gradient_scale[GS_GRAD], 65536.0);
    uint64_t before = gs_entity_memory_hash(&ranks[0], GS_PARAM, 0);
    *element(&ranks[0], GS_GRAD, 3) = INFINITY;
    gs_entity_memory_apply(&ranks[0], whole, GS_GRAD, 1.0);
    cr_expect_eq(gs_entity_memory_hash(&ranks[0], GS_PARAM, 0), before);
    cr_expect_not(ranks[0].spans[GS_PARAM].was_made);
    gs_entity_memory_begin(&ranks[0], &(gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1});
    cr_expect_eq(ranks[0].gradient_scale[GS_GRAD], 32768.0);
    *element(&ranks[0], GS_GRAD, 3) = 1.0F;
    gs_entity_memory_apply(&ranks[0], whole, GS_GRAD, 1.0);
    cr_expect_neq(gs_entity_memory_hash(&ranks[0], GS_PARAM, 0), before);
    cr_expect(ranks[0].spans[GS_PARAM].was_made);
}

Test(entity_precision, a_dynamic_scale_is_refused_where_servers_apply)
{
    gs_layout with_server = layout;
    with_server.servers = 1;
    gs_entity_memory_config config = {.job = &made.job,
                                      .layout = &with_server,
                                      .self = {GS_SERVER, 0},
                                      .task = task_with(GS_LOSS_SCALE_DYNAMIC),
                                      .batch_per_rank = BATCH};
    gs_error err;
    cr_assert_eq(gs_entity_memory_init(&ranks[0], &config, &made.arena, &err), GS_EUNSUPPORTED);
    cr_expect(strstr(err.text, "loss_scale: dynamic does not work with servers") != NULL, "%s",
              err.text);
    config.task = task_with(1024.0);
    cr_expect_eq(gs_entity_memory_init(&ranks[0], &config, &made.arena, &err), GS_OK);
}
