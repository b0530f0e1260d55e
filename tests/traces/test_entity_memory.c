#include <criterion/criterion.h>

#include "tests/strategies/probes.h"
#include "traces/entity_memory.h"

#include <math.h>
#include <string.h>

enum { RANKS = 3, BATCH = 4 };

static probe_job made;
static gs_layout layout = {.own_vectors = {1}};
static gs_entity_memory memory;
static gs_payload_pool pool;
static gs_task_workspace *workspace;

static gs_entity_memory_config config_of(uint16_t rank)
{
    gs_error err;
    cr_assert_eq(gs_task_workspace_create(made.task, 4 * BATCH, &made.arena, &workspace, &err),
                 GS_OK);
    return (gs_entity_memory_config){.job = &made.job,
                                     .layout = &layout,
                                     .self = {GS_WORKER, rank},
                                     .task = made.task,
                                     .batch_per_rank = BATCH};
}

static void make(const gs_entity_memory_config *config)
{
    gs_error err;
    cr_assert_eq(gs_entity_memory_init(&memory, config, &made.arena, &err), GS_OK);
}

static void setup(void)
{
    probe_job_init(&made, RANKS);
    gs_payload_pool_init(&pool, &made.arena);
    gs_entity_memory_config config = config_of(1);
    make(&config);
}

static void teardown(void)
{
    probe_job_fini(&made);
}

TestSuite(entity_memory, .init = setup, .fini = teardown);

static gs_slice slice(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

static const gs_plan *plan(uint32_t micro_steps)
{
    static gs_plan made_plan;
    made_plan = (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = micro_steps};
    return &made_plan;
}

static const float *vector(uint32_t index)
{
    size_t count;
    const float *floats = gs_entity_memory_vector(&memory, index, &count);
    cr_assert_eq(count, made.count);
    return floats;
}

Test(entity_memory, starts_with_the_parameters_of_the_task_and_zeros)
{
    float *start = GS_TAKE(&made.arena, float, made.count);
    gs_task_init(made.task, start);
    cr_expect_eq(memcmp(vector(GS_PARAM), start, made.count * sizeof *start), 0);
    for (size_t i = 0; i < made.count; i++) {
        cr_assert_eq(vector(GS_OWN)[i], 0.0F);
    }
}

/* Elements count from the last float. */
Test(entity_memory, a_sum_of_products_is_of_the_floats_of_both_slices)
{
    const float *floats = vector(GS_PARAM) + made.count - 13;
    double wanted = 0.0, found;
    for (int i = 0; i < 3; i++) {
        wanted += (double)floats[i] * (double)floats[i];
    }
    cr_assert(
        gs_entity_memory_dot(&memory, slice(GS_PARAM, 10, 3), slice(GS_PARAM, 10, 3), &found));
    cr_expect(fabs(found - wanted) <= 1e-15 * wanted && wanted > 0.0, "%g", found);
    cr_assert(gs_entity_memory_dot(&memory, slice(GS_PARAM, 10, 3), slice(GS_OWN, 0, 3), &found));
    cr_expect_eq(found, 0.0);
}

Test(entity_memory, a_sum_of_products_is_no_number_where_there_are_no_floats)
{
    gs_entity_memory_config config = config_of(1);
    config.task = NULL;
    make(&config);
    double found = 0.0;
    cr_assert(gs_entity_memory_dot(&memory, slice(GS_PARAM, 10, 3), slice(GS_OWN, 0, 3), &found));
    cr_expect(isnan(found));
}

static bool copy_of(const gs_entity_memory *of, gs_slice slice, gs_payload_pool *from,
                    gs_payload **out)
{
    gs_payload view = gs_entity_memory_view(of, slice);
    *out = gs_payload_copy(from, &view);
    return *out != NULL;
}

Test(entity_memory, a_copy_goes_from_slice_to_slice)
{
    gs_payload *payload;
    cr_assert(copy_of(&memory, slice(GS_PARAM, 10, 5), &pool, &payload));
    cr_assert_eq(payload->count, 5);
    cr_expect(gs_entity_memory_put(&memory, slice(GS_OWN, 10, 5), payload, false));
    cr_expect(gs_entity_memory_put(&memory, slice(GS_OWN, 10, 5), payload, true));
    for (size_t i = 0; i < 20; i++) { /* elements count from the last float */
        size_t at = made.count - 1 - i;
        float wanted = i >= 10 && i < 15 ? 2 * vector(GS_PARAM)[at] : 0.0F;
        cr_expect_eq(vector(GS_OWN)[at], wanted, "element %zu", i);
    }
    cr_expect_not(gs_entity_memory_put(&memory, slice(GS_OWN, 10, 6), payload, false));
    gs_payload_give(&pool, payload);
}

Test(entity_memory, payloads_are_used_again)
{
    gs_payload *first, *second;
    cr_assert(copy_of(&memory, slice(GS_PARAM, 0, 100), &pool, &first));
    gs_payload_give(&pool, first);
    size_t used_bytes = made.arena.used_bytes;
    for (int64_t length = 65; length <= 128; length++) { /* one power of two */
        cr_assert(copy_of(&memory, slice(GS_PARAM, 0, length), &pool, &second));
        cr_expect_eq(second, first);
        gs_payload_give(&pool, second);
    }
    cr_expect_eq(made.arena.used_bytes, used_bytes);
}

Test(entity_memory, vector_operations_are_those_of_their_names)
{
    const float x = vector(GS_PARAM)[0];
    gs_slice own = slice(GS_OWN, made.job.elements - 1, 1); /* the first float */
    gs_slice param = slice(GS_PARAM, made.job.elements - 1, 1);
    cr_assert_neq(x, 0.0F);
    cr_expect(gs_entity_memory_vec(&memory, GS_VOP_copy, own, param, 0.0));
    cr_expect_eq(vector(GS_OWN)[0], x);
    cr_expect(gs_entity_memory_vec(&memory, GS_VOP_scale, own, own, 4.0));
    cr_expect_eq(vector(GS_OWN)[0], 4 * x);
    cr_expect(gs_entity_memory_vec(&memory, GS_VOP_axpy, own, param, -2.0));
    cr_expect_eq(vector(GS_OWN)[0], 2 * x);
    cr_expect(gs_entity_memory_vec(&memory, GS_VOP_add, own, own, 0.0));
    cr_expect_eq(vector(GS_OWN)[0], 4 * x);
    cr_expect(gs_entity_memory_vec(&memory, GS_VOP_sub, param, own, 0.0)); /* dst - a */
    cr_expect_eq(vector(GS_PARAM)[0], -3 * x);
}

static gs_status take_gradient(gs_task_workspace *of, const gs_plan *step, double *out_loss,
                               gs_error *err)
{
    gs_entity_memory_begin(&memory, step);
    gs_gradient_request request = {.workspace = of, .plan = step};
    return gs_entity_memory_gradient(&memory, &request, out_loss, err);
}

/* Two passes of worker 1 of 3 are samples [4, 8) and [16, 20): pass p takes [(3 p + 1) 4, + 4). */
Test(entity_memory, a_gradient_is_the_mean_over_its_passes)
{
    gs_error err;
    double loss, first_loss, second_loss;
    float *first = GS_TAKE(&made.arena, float, made.count);
    float *second = GS_TAKE(&made.arena, float, made.count);
    gs_task_request request = {.first_sample = 4, .sample_count = BATCH};
    cr_assert_eq(gs_task_gradient(workspace, &request, vector(GS_PARAM), first, &first_loss, &err),
                 GS_OK);
    request.first_sample = 16;
    cr_assert_eq(
        gs_task_gradient(workspace, &request, vector(GS_PARAM), second, &second_loss, &err), GS_OK);
    cr_assert_eq(take_gradient(workspace, plan(2), &loss, &err), GS_OK);
    cr_expect(fabs(loss - (first_loss + second_loss) / 2) < 1e-12);
    for (size_t i = 0; i < made.count; i++) {
        cr_assert(fabsf(vector(GS_GRAD)[i] - (first[i] + second[i]) / 2) < 1e-6F, "element %zu", i);
    }
    cr_expect_eq(memory.passes, 2);
}

/* What a listener saw: how much was final, and the bits of it then. */
typedef struct heard {
    size_t counts[8];
    uint32_t times;
    float *seen; /* [count] */
} heard;

static void listen(void *context, size_t count)
{
    heard *to = context;
    size_t before = to->times == 0 ? 0 : to->counts[to->times - 1];
    cr_assert(to->times < 8 && count > before && count <= made.count);
    size_t first = made.count - count;
    memcpy(to->seen + first, memory.vectors.data + GS_GRAD * made.count + first,
           (count - before) * sizeof *to->seen);
    to->counts[to->times++] = count;
}

/* Layers lie in forward order and come from the last one on, so with each of them all behind its
 * first float is final: in the second of two passes only, and by then scaled (by 1/2) and rounded.
 */
Test(entity_memory, layers_of_a_gradient_become_final_one_by_one_and_stay)
{
    for (int precision = 0; precision < 2; precision++) {
        gs_entity_memory_config config = config_of(0);
        config.number = precision == 0 ? GS_FP32 : GS_BF16;
        make(&config);
        gs_error err;
        double loss, wanted_loss;
        heard to = {.seen = GS_TAKE(&made.arena, float, made.count)};
        float *wanted = GS_TAKE(&made.arena, float, made.count);
        cr_assert_eq(take_gradient(workspace, plan(2), &wanted_loss, &err), GS_OK);
        memcpy(wanted, vector(GS_GRAD), made.count * sizeof *wanted);
        double largest = memory.gradient_max;
        make(&config);
        gs_gradient_request request = {
            .workspace = workspace, .plan = plan(2), .final = listen, .context = &to};
        gs_entity_memory_begin(&memory, request.plan);
        cr_assert_eq(gs_entity_memory_gradient(&memory, &request, &loss, &err), GS_OK);
        const gs_network *network = gs_task_network(made.task);
        uint32_t layers = 0;
        for (uint32_t l = network->layer_count; l-- > 0;) {
            if (network->layers[l].parameter_count > 0) {
                cr_assert_eq(to.counts[layers++], made.count - (size_t)network->layers[l].offset);
            }
        }
        cr_expect_eq(to.times, layers);
        cr_expect_gt(layers, 1);
        cr_expect_eq(memcmp(to.seen, wanted, made.count * sizeof *wanted), 0);
        cr_expect_eq(memcmp(vector(GS_GRAD), wanted, made.count * sizeof *wanted), 0);
        cr_expect(loss == wanted_loss && memory.gradient_max == largest);
    }
}

Test(entity_memory, each_vector_has_optimizer_state_of_its_own)
{
    gs_error err;
    double loss;
    cr_assert_eq(take_gradient(workspace, plan(1), &loss, &err), GS_OK);
    gs_slice all = slice(GS_OWN, 0, made.job.elements);
    cr_expect(gs_entity_memory_vec(&memory, GS_VOP_copy, all, slice(GS_PARAM, 0, made.job.elements),
                                   0.0));
    gs_entity_memory_apply(&memory, slice(GS_PARAM, 0, made.job.elements), GS_GRAD, 1.0);
    gs_entity_memory_apply(&memory, slice(GS_OWN, 0, made.job.elements), GS_GRAD, 1.0);
    /* Momentum that was shared would make the second update larger. */
    cr_expect_eq(gs_entity_memory_hash(&memory, GS_PARAM, 1),
                 gs_entity_memory_hash(&memory, GS_OWN, 1));
    gs_entity_memory_apply(&memory, slice(GS_OWN, 0, made.job.elements), GS_GRAD, 1.0);
    cr_expect_neq(gs_entity_memory_hash(&memory, GS_PARAM, 1),
                  gs_entity_memory_hash(&memory, GS_OWN, 1));
}

Test(entity_memory, without_a_task_nothing_is_done)
{
    gs_error err;
    double loss = 0.0;
    size_t count;
    gs_payload *payload = NULL;
    gs_entity_memory_config config = config_of(0);
    config.task = NULL;
    make(&config);
    cr_expect(copy_of(&memory, slice(GS_PARAM, 0, 5), &pool, &payload));
    cr_expect_eq(payload->count, 0); /* it has a version and nothing else */
    cr_expect(gs_entity_memory_put(&memory, slice(GS_PARAM, 0, 5), payload, true));
    cr_expect(
        gs_entity_memory_vec(&memory, GS_VOP_add, slice(GS_OWN, 0, 5), slice(GS_GRAD, 1, 5), 1.0));
    gs_entity_memory_apply(&memory, slice(GS_PARAM, 0, made.job.elements), GS_GRAD, 1.0);
    cr_expect_eq(take_gradient(NULL, plan(3), &loss, &err), GS_OK);
    cr_expect(isnan(loss));
    cr_expect_null(gs_entity_memory_vector(&memory, GS_PARAM, &count));
    cr_expect_eq(gs_entity_memory_hash(&memory, GS_PARAM, 17), 17);
}

/* A server's two updates between pull and push: of the weights, of what travels, and of the sum of
 * two gradients, with floats and without. */
Test(entity_memory, a_gradient_is_as_stale_as_the_weights_it_was_taken_at)
{
    for (int timing_only = 0; timing_only < 2; timing_only++) {
        gs_staleness staleness = {0};
        gs_error err;
        double loss;
        gs_payload *pushed, *pulled;
        gs_slice grad = slice(GS_GRAD, 0, made.job.elements);
        gs_slice param = slice(GS_PARAM, 0, made.job.elements);
        gs_slice sum = slice(GS_OWN, 0, made.job.elements);
        gs_entity_memory_config config = config_of(0);
        config.task = timing_only == 1 ? NULL : made.task;
        config.staleness = &staleness;
        make(&config);
        cr_assert_eq(take_gradient(timing_only == 1 ? NULL : workspace, plan(1), &loss, &err),
                     GS_OK);
        cr_assert(copy_of(&memory, grad, &pool, &pushed)); /* of version 0 */
        gs_entity_memory_apply(&memory, slice(GS_PARAM, 0, made.job.elements), GS_GRAD,
                               0.0); /* 0 behind */
        cr_assert(gs_entity_memory_put(&memory, grad, pushed, false));
        gs_entity_memory_apply(&memory, slice(GS_PARAM, 0, made.job.elements), GS_GRAD,
                               0.0); /* 1 behind */
        cr_assert(copy_of(&memory, param, &pool, &pulled));
        cr_expect_eq(pushed->version, 0);
        cr_expect_eq(pulled->version, 2);
        cr_assert_eq(take_gradient(timing_only == 1 ? NULL : workspace, plan(1), &loss, &err),
                     GS_OK);
        cr_assert(gs_entity_memory_vec(&memory, GS_VOP_copy, sum, grad, 0.0)); /* version 2 */
        cr_assert(gs_entity_memory_put(&memory, sum, pushed, true));           /* and 0 */
        gs_entity_memory_apply(&memory, slice(GS_PARAM, 0, made.job.elements), GS_OWN,
                               0.0); /* 2 behind */
        gs_entity_memory_apply(&memory, slice(GS_PARAM, 0, made.job.elements), GS_GRAD,
                               0.0); /* 3 - 2 behind */
        cr_expect_eq(staleness.counts[0], 1);
        cr_expect_eq(staleness.counts[1], 2);
        cr_expect_eq(staleness.counts[2], 1);
        cr_expect_eq(staleness.count, 4);
        gs_payload_give(&pool, pushed);
        gs_payload_give(&pool, pulled);
    }
}

Test(entity_memory, no_memory_is_said)
{
    gs_entity_memory_config config = config_of(0);
    gs_error err;
    for (int64_t fail_after = 0; fail_after < 3; fail_after++) {
        gs_arena arena;
        gs_arena_init(&arena);
        arena.fail_after = fail_after;
        cr_expect_eq(gs_entity_memory_init(&memory, &config, &arena, &err), GS_ENOMEM);
        gs_arena_fini(&arena);
    }
}

Test(entity_memory, ops_are_equal_where_their_group_sees_the_same)
{
    const gs_op_signature op = {.communicator = 1,
                                .sequence = 2,
                                .label = 3,
                                .elements = 4,
                                .kind = GS_BROADCAST,
                                .root = 1,
                                .step = 5,
                                .order = 6};
    gs_op_signature other = op;
    other.step = 50;
    other.order = 60;
    cr_expect(gs_op_signature_equal(&op, &other));
    cr_expect_eq(gs_op_signature_hash(&op, 9), gs_op_signature_hash(&other, 9));
    other.label = 30;
    cr_expect_not(gs_op_signature_equal(&op, &other));
    cr_expect_neq(gs_op_signature_hash(&op, 9), gs_op_signature_hash(&other, 9));
    other = op;
    other.root = 0;
    cr_expect_not(gs_op_signature_equal(&op, &other));
    cr_expect_neq(gs_op_signature_hash(&op, 9), gs_op_signature_hash(&other, 9));
}
