/* Memory of a rank against sums made by hand. */
#include <criterion/criterion.h>

#include "tests/support.h"
#include "traces/memory.h"

/* Llama-2-7B: 6,738,415,616 parameters; activations as in its layer table. */
static const gs_memory_job llama = {
    .elements = INT64_C(6738415616),
    .element_bytes = 2,
    .state_vectors = 2,
    .activations = {.all = INT64_C(27410825216), .kept = 553648128, .block_max = 834666496},
};

Test(memory, adam_in_mixed_precision_is_sixteen_bytes_a_parameter_and_activations)
{
    gs_memory memory = gs_memory_of(&llama, 1);
    const int64_t n = llama.elements;
    cr_expect_eq(memory.bytes[GS_MEMORY_PARAMETERS], 2 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_MASTER_WEIGHTS], 4 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_GRADIENTS], 2 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_OPTIMIZER], 8 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_OWN_VECTORS], 0);
    cr_expect_eq(memory.bytes[GS_MEMORY_BUCKETS], 0);
    cr_expect_eq(memory.bytes[GS_MEMORY_ACTIVATIONS], 2 * INT64_C(27410825216));
    cr_expect_eq(memory.total_bytes, 16 * n + 2 * INT64_C(27410825216));
    cr_expect_eq(memory.host_bytes, 0);
}

Test(memory, sgd_with_momentum_in_fp32_is_twelve_bytes_a_parameter)
{
    gs_memory_job job = {.elements = 1000, .element_bytes = 4, .state_vectors = 1};
    gs_memory memory = gs_memory_of(&job, 32);
    cr_expect_eq(memory.total_bytes, 12 * 1000);
    cr_expect_eq(memory.bytes[GS_MEMORY_MASTER_WEIGHTS], 0, "fp32 is its own master");
    job.state_vectors = 0;
    cr_expect_eq(gs_memory_of(&job, 32).total_bytes, 8 * 1000);
    job.element_bytes = 8;
    job.state_vectors = 1;
    cr_expect_eq(gs_memory_of(&job, 32).total_bytes, 24 * 1000, "fp64 keeps fp64 state");
}

Test(memory, vectors_of_a_strategy_are_fp32_and_what_travels_has_the_jobs_type)
{
    /* Two own vectors of 4 bytes; two copies of a vector and a bucket of 300 in 2 bytes. */
    gs_memory_job job = {.elements = 1000,
                         .element_bytes = 2,
                         .own_vectors = 2,
                         .copies = 2,
                         .bucket_elements = 300};
    gs_memory memory = gs_memory_of(&job, 1);
    cr_expect_eq(memory.bytes[GS_MEMORY_OWN_VECTORS], 2 * 4 * 1000);
    cr_expect_eq(memory.bytes[GS_MEMORY_BUCKETS], 2 * (2 * 1000 + 300));
}

Test(memory, checkpointing_keeps_outputs_of_blocks_and_one_block)
{
    gs_memory_job job = llama;
    job.checkpointing = true;
    cr_expect_eq(gs_memory_of(&job, 3).bytes[GS_MEMORY_ACTIVATIONS],
                 2 * 3 * (INT64_C(553648128) + 834666496));
}

Test(memory, offload_moves_master_weights_and_optimizer_to_the_host)
{
    gs_memory_job job = llama;
    job.offload = true;
    gs_memory memory = gs_memory_of(&job, 1);
    cr_expect_eq(memory.host_bytes, 12 * llama.elements);
    cr_expect_eq(memory.total_bytes, 4 * llama.elements + 2 * INT64_C(27410825216));
}

Test(memory, where_servers_update_a_rank_has_parameters_and_gradients)
{
    gs_memory_job job = llama;
    job.is_served = job.offload = true;
    gs_memory memory = gs_memory_of(&job, 1);
    cr_expect_eq(memory.total_bytes, 4 * llama.elements + 2 * INT64_C(27410825216));
    cr_expect_eq(memory.host_bytes, 0, "there is nothing to move");
}

/* 16 n = 107.8 GB and 54.82165 GB a sample: 192 GB hold one, 217.5 GB hold two. */
Test(memory, the_largest_batch_fits_and_the_next_does_not)
{
    cr_expect_eq(gs_memory_batch_max(&llama, INT64_C(80000000000), 1000), 0);
    cr_expect_eq(gs_memory_batch_max(&llama, INT64_C(192000000000), 1000), 1);
    for (int64_t bytes = INT64_C(150000000000); bytes < INT64_C(3000000000000);
         bytes += INT64_C(12345678901)) {
        int64_t batch = gs_memory_batch_max(&llama, bytes, 1000);
        cr_expect(batch == 0 || gs_memory_of(&llama, batch).total_bytes <= bytes);
        cr_expect_gt(gs_memory_of(&llama, batch + 1).total_bytes, bytes);
    }
    int64_t exact = gs_memory_of(&llama, 7).total_bytes;
    cr_expect_eq(gs_memory_batch_max(&llama, exact, 1000), 7);
    cr_expect_eq(gs_memory_batch_max(&llama, exact - 1, 1000), 6);
    cr_expect_eq(gs_memory_batch_max(&llama, INT64_MAX, 1000), 1000, "no more than asked for");
}

Test(memory, without_known_activations_any_batch_fits_or_none)
{
    gs_memory_job job = {.elements = 1000, .element_bytes = 4};
    cr_expect_eq(gs_memory_batch_max(&job, 8000, 64), 64);
    cr_expect_eq(gs_memory_batch_max(&job, 7999, 64), 0);
}

Test(memory, sizes_beyond_counting_stop_at_their_limit)
{
    gs_memory_job job = {.elements = INT64_C(10000000000000),
                         .element_bytes = 8,
                         .state_vectors = 2,
                         .activations = {.all = INT64_C(10000000000000)}};
    gs_memory memory = gs_memory_of(&job, 1000000);
    cr_expect_eq(memory.bytes[GS_MEMORY_ACTIVATIONS], INT64_C(1) << 60);
    cr_expect_gt(memory.total_bytes, INT64_C(1) << 60);
}
