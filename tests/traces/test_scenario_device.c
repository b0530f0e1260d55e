/* Scenarios on devices of the catalogue: rates, memory, and what is traded for it. */
#include "tests/traces/scenario_fixture.h"

#include <math.h>
#include <stdlib.h>

TestSuite(scenario_device, .init = scenario_setup, .fini = scenario_teardown, .timeout = 60);

static gs_time_ns total_ns(uint32_t rank, gs_segment_kind kind)
{
    const gs_profile *profile = scenario.workload.profile;
    const gs_profile_step *step = &profile->ranks[rank % profile->rank_count].steps[0];
    gs_time_ns sum = 0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        sum += step->segments[i].kind == kind ? step->segments[i].duration_ns : 0;
    }
    return sum;
}

static void expect_noted(const char *text)
{
    for (uint32_t i = 0; i < scenario.note_count; i++) {
        if (strcmp(scenario.notes[i], text) == 0) {
            return;
        }
    }
    cr_expect_fail("no note \"%s\"", text);
}

#define GPT2_FLOP 291648307200.0 /* forward, of one sample */

#define READ(...)                                                                                  \
    cr_assert_eq(READ_DEMO("workload.real_gradients=false", __VA_ARGS__), GS_OK, "%s", err.text)

Test(scenario_device, a_device_times_layers_at_its_rate_for_the_jobs_type)
{
    /* A100: half of 312 TFLOP/s in bf16, half of 19.5 in fp32; 16 samples; backward twice. */
    READ("workload.profile=gpt2", "workload.dtype=bf16");
    gs_time_ns bf16 = (gs_time_ns)ceil(16 * GPT2_FLOP / 156e12 * 1e9);
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), bf16);
    cr_expect_eq(total_ns(0, GS_SEGMENT_BACKWARD), 2 * bf16);
    cr_expect(scenario.workload.timed_by_flops);
    cr_expect_eq(scenario.workload.profile->batch, 16);
    READ("workload.profile=gpt2", "workload.batch_per_rank=8");
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), (gs_time_ns)ceil(8 * GPT2_FLOP / 9.75e12 * 1e9));
}

Test(scenario_device, flops_per_s_wins_over_the_device_and_an_unknown_one_is_assumed)
{
    READ("workload.profile=gpt2", "workload.flops_per_s=2e12");
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), (gs_time_ns)ceil(16 * GPT2_FLOP / 2e12 * 1e9));
    READ("workload.profile=gpt2", "cluster.nodes.0.device=A100-8GB");
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), (gs_time_ns)ceil(16 * GPT2_FLOP / 1e12 * 1e9));
    expect_noted("cluster.nodes[0].device: \"A100-8GB\" is not in the catalogue: a label that "
                 "nothing is derived from, memory is not checked; did you mean A100-80GB?");
    expect_noted("workload.profile: has no times, and cluster.nodes[0].device names no device of "
                 "the catalogue: 1e+12 FLOP/s are assumed");
}

Test(scenario_device, a_type_that_a_device_lacks_is_timed_in_fp32_and_said)
{
    READ("workload.profile=gpt2", "workload.dtype=bf16", "cluster.nodes.0.device=V100-32GB");
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), (gs_time_ns)ceil(16 * GPT2_FLOP / 7.85e12 * 1e9));
    expect_noted("cluster.nodes[0].device: the catalogue has no bf16 rate of V100-32GB: timed at "
                 "its fp32 rate; workload.flops_per_s says another");
}

Test(scenario_device, measured_times_stay_whatever_the_device)
{
    READ("cluster.nodes.0.device=H100");
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), 12640500);
    cr_expect_not(scenario.workload.timed_by_flops);
    cr_expect_not_null(scenario.workload.layers);
}

Test(scenario_device, measured_times_on_different_devices_are_noted_unless_a_scale_is_said)
{
    READ("cluster.nodes=[{\"device\":\"A100\"},{\"device\":\"V100\"}]");
    expect_noted("cluster.nodes[1].device: differs from that of nodes[0], the profile's times are "
                 "measured and the same on both; say cluster.nodes[1].compute_scale");
    READ("cluster.nodes=[{\"device\":\"A100\"},{\"device\":\"V100\",\"compute_scale\":2}]");
    cr_expect_eq(scenario.note_count, 1u, "only that there is no accuracy to reach");
}

Test(scenario_device, ranks_on_different_devices_take_different_times)
{
    READ(
        "workload.profile=gpt2", "workload.dtype=fp16",
        "cluster.nodes=[{\"ranks\":2,\"device\":\"A100\"},{\"ranks\":3,\"device\":\"V100-32GB\"}]");
    cr_assert_eq(scenario.ranks, 5u);
    cr_assert_eq(scenario.workload.profile->rank_count, 5u);
    gs_time_ns a100 = (gs_time_ns)ceil(16 * GPT2_FLOP / 156e12 * 1e9);
    gs_time_ns v100 = (gs_time_ns)ceil(16 * GPT2_FLOP / 62.5e12 * 1e9);
    for (uint32_t rank = 0; rank < 5; rank++) {
        cr_expect_eq(total_ns(rank, GS_SEGMENT_FORWARD), rank < 2 ? a100 : v100, "rank %u", rank);
        cr_expect_eq(scenario.workload.profile->ranks[rank].rank, (int32_t)rank);
    }
    READ(
        "workload.profile=gpt2", "workload.dtype=fp16",
        "cluster.nodes=[{\"ranks\":2,\"device\":\"A100\"},{\"ranks\":3,\"device\":\"A100-80GB\"}]");
    cr_expect_eq(scenario.workload.profile->rank_count, 1u, "one rate, one profile");
}

Test(scenario_device, the_devices_bandwidth_is_a_default)
{
    READ(
        "cluster.nodes=[{\"device\":\"A100\"},{\"device\":\"A100\",\"vector_bandwidth\":\"1TB/s\"},"
        "{\"device\":\"mine\"}]");
    cr_expect_eq(scenario.cluster.groups[0].vector_bandwidth_bps, INT64_C(12440000000000));
    cr_expect_eq(scenario.cluster.groups[1].vector_bandwidth_bps, INT64_C(8000000000000));
    cr_expect_eq(scenario.cluster.groups[2].vector_bandwidth_bps, INT64_C(8000000000000));
    cr_expect_null(scenario.cluster.groups[2].known);
}

/* --- memory ---------------------------------------------------------------------------------- */

Test(scenario_device, llama_by_adam_in_mixed_precision_is_sixteen_bytes_a_parameter)
{
    READ("workload.profile=llama2_7b", "workload.dtype=bf16", "workload.batch_per_rank=1",
         "workload.optimizer={\"name\":\"adam\"}", "cluster.nodes.0.device=MI300X");
    const int64_t n = INT64_C(6738415616);
    gs_memory memory = gs_memory_of(&scenario.memory[0], 1);
    cr_expect_eq(memory.bytes[GS_MEMORY_PARAMETERS], 2 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_MASTER_WEIGHTS], 4 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_GRADIENTS], 2 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_OPTIMIZER], 8 * n);
    cr_expect_eq(memory.bytes[GS_MEMORY_OWN_VECTORS], 0, "all-reduce keeps none");
    /* The last bucket is open with a norm when the embedding comes, larger than any cap. */
    cr_expect_eq(memory.bytes[GS_MEMORY_BUCKETS], INT64_C(2) * (32000 * 4096 + 4096));
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_OK, "%s", err.text);
}

/* Sharded over 8 ranks, 129 GB are less by 7/8 of the 27 + 53.9 GB that an update needs. */
Test(scenario_device, a_job_that_fits_no_rank_is_not_runnable_and_says_what_helps)
{
    READ("workload.profile=llama2_7b", "workload.dtype=bf16", "workload.batch_per_rank=1",
         "workload.optimizer={\"name\":\"adam\"}", "cluster.nodes.0.device=V100-16GB");
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_ELIMIT);
    cr_expect_str_eq(
        err.text,
        "demo-ethernet: llama2_7b does not fit: allreduce needs 129 GB a rank, V100-16GB has 16 "
        "GB: parameters 13.5 GB + master weights 27 GB + gradients 13.5 GB + optimizer 53.9 GB + "
        "buckets 262 MB + activations 20.5 GB; no batch fits; what helps: "
        "memory.checkpointing=full (110 GB), memory.offload=optimizer (47.7 GB), all of these "
        "(28.9 GB), a larger device (H200), strategy sharded (57.8 GB)");
}

Test(scenario_device, the_largest_batch_that_is_told_runs_and_the_next_does_not)
{
    READ("workload.batch_per_rank=470");
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_OK, "%s", err.text);
    READ("workload.batch_per_rank=471");
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_ELIMIT);
    cr_expect_not_null(strstr(err.text, "largest batch that fits: 470, not 471"), "%s", err.text);
    READ("workload.batch_per_rank=471", "cluster.nodes.0.device=mine");
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_OK, "no memory is known to check");
}

Test(scenario_device, one_small_device_among_large_ones_is_enough_to_refuse)
{
    READ("workload.batch_per_rank=400",
         "cluster.nodes=[{\"device\":\"A100-80GB\"},{\"name\":\"old\",\"device\":\"V100-16GB\"}]");
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_ELIMIT);
    cr_expect_not_null(strstr(err.text, "V100-16GB has 16 GB"), "%s", err.text);
}

Test(scenario_device, checkpointing_costs_a_forward_pass_and_keeps_boundaries)
{
    READ("workload.profile=gpt2", "workload.dtype=bf16");
    gs_time_ns forward = total_ns(0, GS_SEGMENT_FORWARD);
    gs_time_ns backward = total_ns(0, GS_SEGMENT_BACKWARD);
    READ("workload.profile=gpt2", "workload.dtype=bf16", "workload.memory.checkpointing=full");
    cr_expect_eq(total_ns(0, GS_SEGMENT_FORWARD), forward);
    cr_expect_eq(total_ns(0, GS_SEGMENT_BACKWARD), backward + forward);
    /* 13 outputs of 1024 x 768, and the head: a norm's output and 1024 x 50257 probabilities. */
    cr_expect_eq(gs_memory_of(&scenario.memory[0], 16).bytes[GS_MEMORY_ACTIVATIONS],
                 INT64_C(16) * 2 * (13 * 1024 * 768 + 1024 * 768 + 1024 * 50257));
    READ("workload.memory.checkpointing=full");
    cr_expect_eq(total_ns(0, GS_SEGMENT_BACKWARD), 25218700 + 12640500, "measured times too");
}

/* 12 layers keep the scores and the mask of 12 heads of 1024 x 1024. */
Test(scenario_device, attention_is_fused_unless_it_is_said)
{
    READ("workload.profile=gpt2", "workload.dtype=bf16");
    int64_t fused = gs_memory_of(&scenario.memory[0], 1).bytes[GS_MEMORY_ACTIVATIONS];
    gs_time_ns backward = total_ns(0, GS_SEGMENT_BACKWARD);
    READ("workload.profile=gpt2", "workload.dtype=bf16", "workload.memory.attention=unfused");
    cr_expect_eq(gs_memory_of(&scenario.memory[0], 1).bytes[GS_MEMORY_ACTIVATIONS],
                 fused + INT64_C(2) * 12 * 2 * 12 * 1024 * 1024);
    cr_expect_eq(total_ns(0, GS_SEGMENT_BACKWARD), backward, "no times change");
}

Test(scenario_device, offload_moves_twelve_bytes_an_element_over_the_host_link)
{
    /* A100: 32 GB/s in one direction; 124,439,808 parameters of 12 bytes: 46,664,928 ns. */
    READ("workload.profile=gpt2", "workload.dtype=bf16", "workload.optimizer={\"name\":\"adam\"}",
         "workload.memory.offload=optimizer");
    cr_expect_eq(scenario.workload.offload_element_bytes, 12);
    cr_expect_eq(gs_scenario_offload_ns(&scenario, 0, 124439808), 46664928);
    gs_memory memory = gs_memory_of(&scenario.memory[0], 16);
    cr_expect_eq(memory.host_bytes, INT64_C(12) * 124439808);
    cr_expect_eq(memory.bytes[GS_MEMORY_OPTIMIZER], 0);
    READ("workload.profile=gpt2");
    cr_expect_eq(gs_scenario_offload_ns(&scenario, 0, 124439808), 0);
}

/* Who updates a shard moves the bytes of its elements; who stands first has no say in that. */
Test(scenario_device, an_element_moves_its_bytes_whoever_shards)
{
    READ("workload.profile=gpt2", "workload.dtype=bf16", "workload.optimizer={\"name\":\"adam\"}",
         "workload.memory.offload=optimizer",
         "strategies=[{\"name\":\"sharded\"},{\"name\":\"allreduce\"}]");
    cr_expect_eq(scenario.workload.offload_element_bytes, 12);
}

/* A shard of 124,439,808 parameters over 5 servers is 24,887,962, rounded up; by asp a server has
 * one copy under way to each of the 8 ranks. */
Test(scenario_device, servers_have_what_an_update_needs)
{
    READ("workload.profile=gpt2", "workload.dtype=bf16", "workload.optimizer={\"name\":\"adam\"}",
         "workload.memory.offload=optimizer", "cluster.servers.count=5",
         "strategies=[{\"name\":\"asp\"},{\"name\":\"bsp_ps\"},{\"name\":\"allreduce\"}]");
    const int64_t shard = 24887962;
    gs_memory memory = gs_memory_of(&scenario.memory[0], 1);
    cr_expect_eq(memory.bytes[GS_MEMORY_MASTER_WEIGHTS], 0);
    cr_expect_eq(memory.bytes[GS_MEMORY_OPTIMIZER], 0);
    gs_memory server = gs_memory_of(&scenario.server_memory[0], 0);
    cr_expect_eq(scenario.servers[0], 5u);
    cr_expect_eq(server.bytes[GS_MEMORY_PARAMETERS], 2 * shard);
    cr_expect_eq(server.bytes[GS_MEMORY_MASTER_WEIGHTS], 4 * shard);
    cr_expect_eq(server.bytes[GS_MEMORY_OPTIMIZER], 8 * shard);
    cr_expect_eq(server.bytes[GS_MEMORY_OWN_VECTORS], 0);
    cr_expect_eq(server.bytes[GS_MEMORY_ACTIVATIONS], 0);
    cr_expect_geq(server.bytes[GS_MEMORY_BUCKETS], 2 * 8 * shard);
    cr_expect_eq(gs_memory_of(&scenario.server_memory[1], 0).bytes[GS_MEMORY_OWN_VECTORS],
                 4 * shard, "a sum of the ranks' gradients");
    cr_expect_eq(scenario.servers[2], 0u);
    cr_expect_eq(gs_memory_of(&scenario.server_memory[2], 0).total_bytes, 0);
    cr_expect_eq(scenario.workload.offload_element_bytes, 12, "that of allreduce");
}

Test(scenario_device, what_cannot_be_traded_is_refused)
{
    expect_word_refused(GS_EINVAL, "workload.memory.offload=disk",
                        "workload.memory.offload on the command line: \"disk\" is not one of none, "
                        "optimizer");
    options.override_count = 0;
    cr_expect_eq(READ_DEMO("workload.memory.offload=optimizer", "cluster.nodes.0.device=CPU"),
                 GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "demo-ethernet: workload.memory.offload on the command line: optimizer needs "
                     "a device whose link to the host is known, cluster.nodes[0].device is "
                     "\"CPU\"; name one of gradsync list devices, or set it to none");
    cr_expect_eq(READ_DEMO("workload.memory.checkpointing=full", "workload.profile="), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "demo-ethernet: workload.memory.checkpointing on the command line: full needs "
                     "a layer table that says where blocks end (boundary), mlp does not; set it to "
                     "none");
}

Test(scenario_device, the_resolved_file_says_it_all_and_reads_as_the_same)
{
    READ("workload.profile=gpt2", "workload.memory.checkpointing=full", "workload.dtype=bf16");
    uint64_t hash = scenario.config_hash;
    char *text = gs_json_write(scenario.resolved, true);
    options.override_count = 0;
    cr_assert_eq(read_text(text), GS_OK, "%s", err.text);
    free(text);
    cr_expect_eq(scenario.config_hash, hash);
    cr_expect(scenario.workload.checkpointing);
}
