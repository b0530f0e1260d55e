/* Whole runs over sockets: every strategy ends, numbers stay, times are those of the ring. */
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include <math.h>

static void use_sockets(small_job *job, int64_t window_bytes, int64_t queue_bytes,
                        gs_time_ns per_message_ns)
{
    gs_link *links[] = {&job->scenario.cluster.nic, &job->scenario.cluster.intra};
    for (size_t i = 0; i < 2; i++) {
        links[i]->sockets = GS_SOCKETS_PROCESS;
        links[i]->window_bytes = window_bytes;
        links[i]->queue_bytes = queue_bytes;
        links[i]->per_message_ns = per_message_ns;
    }
}

/* Two nodes of two ranks, and servers for those who want some. */
static small_job_config learning(void)
{
    small_job_config config = small_job_default();
    config.ranks = 4;
    config.ranks_per_node = 2;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.skew_ns = GS_NS_PER_MS;
    config.steps = 8;
    config.servers = 2;
    return config;
}

static gs_sim_result run(small_job *job, bool shuffle_ties)
{
    gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job->scenario,
                                                          .strategy = &job->choice,
                                                          .seed = 7,
                                                          .shuffle_ties = shuffle_ties});
    TEST_REQUIRE(result.status == GS_OK, "%s: %s", job->choice.strategy->name, result.error.text);
    return result;
}

/* Whatever they send, notes among it, at some windows and costs, and with the order of what happens
 * at one time shuffled. */
Test(sim_sockets, strategies_of_every_kind_run_to_their_end)
{
    static const char *const names[] = {"ad_psgd", "asp",     "backup",       "bsp_ps", "d_psgd",
                                        "dssp",    "easgd",   "k_batch_sync", "osgp",   "rennala",
                                        "sgp",     "horovod", "ssp"};
    static const struct {
        int64_t window_bytes, queue_bytes;
        gs_time_ns per_message_ns;
    } cases[] = {{0, 0, 0}, {4096, 0, 700}, {393216, 0, 20000}, {8192, 4096, 700}};
    small_job_config config = learning();
    config.learns = false;
    config.unit_elements = 5000;
    config.steps = 20;
    for (size_t i = 0; i < 4 * sizeof names / sizeof names[0]; i++) {
        small_job job;
        small_job_init(&job, &config, NULL);
        small_job_use(&job, gs_strategy_find(names[i / 4]), NULL);
        use_sockets(&job, cases[i % 4].window_bytes, cases[i % 4].queue_bytes,
                    cases[i % 4].per_message_ns);
        cr_expect_gt(run(&job, i / 4 % 2 == 0).facts.nic_bytes_sent, 0, "%s", names[i / 4]);
        small_job_fini(&job);
    }
}

/* What does not depend on who is first gives the same bytes. */
Test(sim_sockets, synchronous_strategies_learn_the_same)
{
    static const char *const names[] = {"allreduce",    "bsp_ps",    "cross_barrier",
                                        "hierarchical", "local_sgd", "sharded"};
    small_job_config config = learning();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        small_job job;
        small_job_init(&job, &config, NULL);
        small_job_use(&job, gs_strategy_find(names[i]), NULL);
        gs_sim_result channels = run(&job, false);
        use_sockets(&job, 65536, i % 2 == 0 ? 0 : 32768, 20000);
        gs_sim_result sockets = run(&job, true);
        cr_expect_eq(sockets.weights_hash, channels.weights_hash, "%s", names[i]);
        cr_expect_eq(sockets.facts.nic_bytes_sent, channels.facts.nic_bytes_sent, "%s", names[i]);
        small_job_fini(&job);
    }
}

/* 2 (n - 1) (per message + latency + S / (n B)): each part waits for the one before. 4,004,004
 * bytes at 1.25 bytes a ns. */
Test(sim_sockets, a_ring_pays_for_each_of_its_messages)
{
    for (uint32_t ranks = 2; ranks <= 32; ranks += 5) {
        small_job_config config = small_job_default();
        config.ranks = ranks;
        config.units = 1;
        config.unit_elements = 1001001;
        config.optimizer_ns = 0;
        small_job job;
        small_job_init(&job, &config, NULL);
        use_sockets(&job, 393216, 0, 40000);
        double n = ranks;
        double wanted = 2.0 * (n - 1.0) * (40e3 + 10e3 + 4.0 * 1001001.0 / n / 1.25);
        double found = (double)run(&job, false).facts.end_ns;
        TEST_REQUIRE(fabs(found - wanted) <= 1e-3 * wanted, "%u ranks: %.0f ns, closed form %.0f",
                     ranks, found, wanted);
        small_job_fini(&job);
    }
}

/* Sockets, flows and parts are there after the first steps. */
Test(sim_sockets, more_steps_take_no_more_memory)
{
    static const char *const names[] = {"allreduce", "bsp_ps", "sgp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t bytes[2];
        for (int longer = 0; longer < 2; longer++) {
            small_job_config config = learning();
            config.learns = false;
            config.steps = longer ? 400 : 40;
            small_job job;
            small_job_init(&job, &config, NULL);
            small_job_use(&job, gs_strategy_find(names[i]), NULL);
            use_sockets(&job, 65536, i % 2 == 0 ? 32768 : 0, 20000);
            bytes[longer] = (uint64_t)run(&job, false).memory_bytes;
            small_job_fini(&job);
        }
        cr_expect_eq(bytes[0], bytes[1], "%s", names[i]);
    }
}
