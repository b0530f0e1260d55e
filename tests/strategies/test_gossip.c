/* Gossip as whole runs: what must be conserved, what must reduce to what, what a codec may do. */
#include <criterion/criterion.h>

#include "live/live.h"
#include "sim/sim_parts.h" /* to look at vectors and exported states, and to set weights */
#include "strategies/gossip.h"
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 17, STEPS = 20 };

static small_job job;
static small_job_config made;
static const char *codec;  /* NULL: none */
static double rate;        /* < 0: the task's own */
static double start_means; /* sum over ranks and weights at the start, over ranks */

static void setup(void)
{
    made = small_job_default();
    made.ranks = 8;
    made.learns = true;
    made.forward_ns = 300 * GS_NS_PER_US;
    made.backward_ns = 100 * GS_NS_PER_US;
    made.skew_ns = 900 * GS_NS_PER_US;
    made.steps = STEPS;
    codec = NULL;
    rate = -1.0;
}

TestSuite(gossip, .init = setup, .timeout = 120);

static float *weights_of(const gs_sim *sim, uint32_t rank, uint32_t vector, size_t *out_count)
{
    return gs_vectors_slice(&sim->entities[rank].memory.vectors, vector, 0, sim->job.elements,
                            out_count);
}

/* Models that differ: rank r's weight i is 1.3 + sin(1 + 2.385 r + 0.1 i). */
static float started(uint32_t rank, size_t i)
{
    return (float)(1.3 + sin(1.0 + 2.385 * rank + 0.1 * (double)i));
}

static void set_apart(const gs_sim *sim)
{
    start_means = 0.0;
    for (uint32_t rank = 0; rank < made.ranks; rank++) {
        size_t count;
        float *weights = weights_of(sim, rank, GS_PARAM, &count);
        for (size_t i = 0; i < count; i++) {
            weights[i] = started(rank, i);
            start_means += (double)weights[i] / made.ranks;
        }
    }
}

/* The job stays until the next one; owner of the run: caller. */
static gs_sim *start(const char *name, const char *text, gs_sim_config config)
{
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find(name), text);
    if (codec != NULL) {
        small_job_code(&job, codec);
    }
    if (rate >= 0.0) {
        job.scenario.workload.task.optimizer.rate = rate;
    }
    config.scenario = &job.scenario;
    config.strategy = &job.choice;
    config.seed = config.seed == 0 ? 3 : config.seed;
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s:%s: %s", name, text, err.text);
    return sim;
}

static void finish(gs_sim *sim, gs_sim_result *out)
{
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    cr_assert_eq(out->status, GS_OK, "%s: %s", job.choice.label, out->error.text);
}

static gs_sim *run(const char *name, const char *text, gs_sim_config config, gs_sim_result *out)
{
    gs_sim *sim = start(name, text, config);
    finish(sim, out);
    return sim;
}

/* Only averages: models that differ at the start, and a rate of 0. */
static gs_sim *run_averages(const char *name, const char *text, gs_sim_config config)
{
    gs_sim_result result;
    rate = 0.0;
    gs_sim *sim = start(name, text, config);
    set_apart(sim);
    finish(sim, &result);
    return sim;
}

static void end(gs_sim *sim)
{
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- averages alone */

/* Largest distance of a weight to the mean of all ranks' models at the start. */
static double spread(const gs_sim *sim)
{
    size_t count;
    double worst = 0.0;
    (void)gs_sim_weights(sim, 0, &count);
    cr_assert_gt(count, 1000);
    for (size_t i = 0; i < count; i++) {
        double mean = 0.0;
        for (uint32_t rank = 0; rank < made.ranks; rank++) {
            mean += (double)started(rank, i) / made.ranks;
        }
        for (uint32_t rank = 0; rank < made.ranks; rank++) {
            worst = fmax(worst, fabs((double)gs_sim_weights(sim, rank, &count)[i] - mean));
        }
    }
    return worst;
}

/* P12: 8 ranks, 3 steps. Rounded to float three times. */
Test(gossip, one_peer_a_step_averages_exactly_after_three_steps_of_eight_ranks)
{
    made.steps = 3;
    gs_sim *sim = run_averages("sgp", "", (gs_sim_config){0});
    cr_expect_lt(spread(sim), 1e-6);
    end(sim);
    made.steps = 2;
    sim = run_averages("sgp", "", (gs_sim_config){0});
    cr_expect_gt(spread(sim), 0.01);
    end(sim);
}

/* Five rounds with the weights of strategies/mixing.h, in double. */
static void expect_mixed(const char *text, gs_graph graph)
{
    made.steps = 5;
    gs_sim *sim = run_averages("d_psgd", text, (gs_sim_config){0});
    gs_mixing mixing = gs_mixing_of(graph, made.ranks);
    size_t count;
    (void)gs_sim_weights(sim, 0, &count);
    for (size_t i = 0; i < count; i += 97) {
        double x[2][RANKS_MAX];
        for (uint32_t rank = 0; rank < made.ranks; rank++) {
            x[0][rank] = (double)started(rank, i);
        }
        for (int64_t round = 0; round < made.steps; round++) {
            double *in = x[round % 2];
            double *out = x[(round + 1) % 2];
            for (uint32_t rank = 0; rank < made.ranks; rank++) {
                out[rank] = in[rank];
                for (uint32_t k = 0; k < mixing.degree; k++) {
                    out[rank] += in[gs_mixing_from(&mixing, rank, round, k)];
                }
                out[rank] *= gs_mixing_weight(&mixing);
            }
        }
        for (uint32_t rank = 0; rank < made.ranks; rank++) {
            cr_assert_float_eq((double)gs_sim_weights(sim, rank, &count)[i],
                               x[made.steps % 2][rank], 1e-6, "%s, rank %u", text, rank);
        }
    }
    end(sim);
}

Test(gossip, models_are_mixed_by_the_weights_of_the_graph)
{
    expect_mixed("", GS_GRAPH_RING);
    expect_mixed("overlap=false", GS_GRAPH_RING);
    expect_mixed("graph=torus", GS_GRAPH_TORUS);
    expect_mixed("graph=exponential", GS_GRAPH_EXPONENTIAL);
    made.ranks = 2;
    expect_mixed("graph=ring", GS_GRAPH_RING);
}

/* But for the rounding of floats: a third is 3e-8 of itself too large, each time. */
static void expect_sum_kept(const gs_sim *sim, const char *text)
{
    double sum = 0.0;
    for (uint32_t rank = 0; rank < made.ranks; rank++) {
        size_t count;
        const float *weights = weights_of(sim, rank, GS_PARAM, &count);
        for (size_t i = 0; i < count; i++) {
            sum += (double)weights[i] / made.ranks;
        }
    }
    cr_expect(fabs(sum / start_means - 1.0) < 1e-6, "%s: %.9g, %.9g", text, sum, start_means);
}

static double sum_of_shares(const gs_sim *sim)
{
    double sum = 0.0;
    for (uint32_t rank = 0; rank < made.ranks; rank++) {
        gs_gossip_account account;
        (void)gs_driver_export(sim->entities[rank].driver, &account, sizeof account);
        sum += account.weight;
    }
    return sum;
}

/* Nothing of x or w is lost, also of what was under way when the run ended: with a delay of 3 the
 * round of step 6 is used by nobody before. Halves are exact in w. */
Test(gossip, push_sum_keeps_the_sums_of_models_and_weights)
{
    static const char *const names[] = {"sgp", "osgp", "osgp", "osgp"};
    static const char *const texts[] = {"graph=ring", "delay=1", "delay=3",
                                        "delay=2,graph=exponential"};
    for (int i = 0; i < 4; i++) {
        for (int late = 0; late < 2; late++) {
            made.steps = 7;
            gs_sim *sim = run_averages(
                names[i], texts[i],
                (gs_sim_config){.shuffle_ties = late == 1, .late_ns = late * GS_NS_PER_MS});
            cr_expect_float_eq(sum_of_shares(sim), 8.0, 1e-12, "%s", texts[i]);
            expect_sum_kept(sim, texts[i]);
            end(sim);
        }
    }
}

/* While half of everything is on its way, x is half of what it was, and x / w is not. */
Test(gossip, a_model_of_push_sum_is_its_quotient_and_not_x)
{
    made.steps = 3;
    rate = 0.0;
    gs_sim *sim = start("osgp", "delay=2", (gs_sim_config){0});
    for (int i = 0; i < 1000 && gs_driver_step(sim->entities[0].driver) < 1; i++) {
        (void)gs_sim_run(sim, 1);
    }
    size_t count;
    const float *x = weights_of(sim, 0, GS_PARAM, &count);
    const float *model = gs_sim_weights(sim, 0, &count);
    uint32_t vector;
    double weight;
    gs_driver_model_view(sim->entities[0].driver, &vector, &weight);
    cr_expect_eq(vector, GS_GOSSIP_MODEL);
    cr_expect_eq(weight, 0.5);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(model[i], 2.0F * x[i]);
    }
    end(sim);
}

Test(gossip, pair_averages_keep_the_sum_and_come_together)
{
    static const char *const texts[] = {"", "graph=ring", "graph=torus", "graph=exponential"};
    for (int i = 0; i < 4; i++) {
        made.steps = 60;
        gs_sim *sim = run_averages(
            "ad_psgd", texts[i],
            (gs_sim_config){.shuffle_ties = true, .late_ns = i * 300 * GS_NS_PER_US, .seed = 11});
        expect_sum_kept(sim, texts[i]);
        cr_expect_lt(spread(sim), 0.02, "%s: %g", texts[i], spread(sim));
        end(sim);
    }
}

/* ---------------------------------------------------------------- what must be the same */

static void expect_close(const char *name, const char *text, const char *other,
                         const char *other_text, float bound)
{
    gs_sim_result result;
    gs_sim *one = run(name, text, (gs_sim_config){0}, &result);
    small_job first = job;
    gs_sim *two = run(other, other_text, (gs_sim_config){0}, &result);
    float worst = 0.0F;
    for (uint32_t rank = 0; rank < made.ranks; rank++) {
        size_t count;
        const float *a = gs_sim_weights(one, rank, &count);
        const float *b = gs_sim_weights(two, rank, &count);
        for (size_t i = 0; i < count; i++) {
            worst = fmaxf(worst, fabsf(a[i] - b[i]));
        }
    }
    cr_expect(worst <= bound, "%s:%s, %s:%s, %u ranks: %g", name, text, other, other_text,
              made.ranks, (double)worst);
    gs_sim_destroy(one);
    gs_sim_destroy(two);
    small_job_fini(&first);
    small_job_fini(&job);
}

Test(gossip, of_one_rank_is_plain_sgd)
{
    made.ranks = 1;
    static const char *const names[] = {"d_psgd", "sgp", "osgp", "ad_psgd", "choco"};
    for (int i = 0; i < 5; i++) {
        expect_close(names[i], "", "allreduce", "", 0.0F);
    }
}

/* Models are equal and are averaged after the step: the mean of steps is the step of the mean. In
 * d_psgd as published the average is of models before the step, each then moves by its own
 * gradient, and so it must not be the same. */
Test(gossip, where_all_are_neighbours_is_synchronous_sgd)
{
    made.ranks = 2;
    expect_close("sgp", "", "allreduce", "", 1e-6F);
    made.ranks = 3;
    expect_close("d_psgd", "graph=ring,overlap=false", "allreduce", "", 1e-6F);
    made.ranks = 4;
    expect_close("d_psgd", "graph=complete,overlap=false", "allreduce", "", 1e-6F);
    expect_close("sgp", "graph=complete", "allreduce", "", 1e-6F);
    gs_sim_result result;
    gs_sim *sim = run("d_psgd", "graph=complete", (gs_sim_config){0}, &result);
    cr_expect_gt(result.facts.consensus_distance, 1e-4);
    end(sim);
}

Test(gossip, choco_without_codec_is_d_psgd)
{
    expect_close("choco", "gamma=1", "d_psgd", "graph=ring,overlap=false", 1e-5F);
    expect_close("choco", "gamma=1,graph=torus", "d_psgd", "graph=torus,overlap=false", 1e-5F);
}

Test(gossip, without_delay_osgp_is_sgp)
{
    expect_close("osgp", "delay=0", "sgp", "", 0.0F);
    expect_close("osgp", "delay=0,graph=ring", "sgp", "graph=ring", 0.0F);
}

/* Time decides when a step ends, and nothing else. */
Test(gossip, timing_changes_no_bit_where_ranks_step_together)
{
    static const char *const cases[][3] = {{"d_psgd", "", NULL},
                                           {"d_psgd", "graph=exponential,overlap=false", NULL},
                                           {"sgp", "", NULL},
                                           {"osgp", "delay=2", NULL},
                                           {"choco", "gamma=0.2", "qsgd"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint64_t hash = 0;
        codec = cases[c][2];
        for (int i = 0; i < 4; i++) {
            gs_sim_result result;
            made.skew_ns = (1 + i * 7919) % 9000 * GS_NS_PER_US;
            gs_sim_config config = {.shuffle_ties = i > 0, .late_ns = i * 100 * GS_NS_PER_US};
            gs_sim *sim = run(cases[c][0], cases[c][1], config, &result);
            hash = i == 0 ? result.weights_hash : hash;
            cr_expect_eq(result.weights_hash, hash, "%s:%s, run %d", cases[c][0], cases[c][1], i);
            end(sim);
        }
    }
}

/* ---------------------------------------------------------------- codecs */

static const char *const codecs[] = {"bf16",
                                     "fp16",
                                     "fp8_e4m3",
                                     "int8:feedback=false",
                                     "onebit:feedback=false",
                                     "qsgd",
                                     "qsgd:bits=2",
                                     "randomk:ratio=0.1,feedback=false",
                                     "sign:feedback=false,scale=mean",
                                     "terngrad",
                                     "topk:ratio=0.1,feedback=false"};

/* What a rank adds to its own x^ is bit by bit what neighbours add for it, also of codecs that
 * draw: the sum that it keeps is the mean of the x^ of three ranks. */
static void expect_known(const gs_sim *sim)
{
    gs_mixing mixing = gs_mixing_of(GS_GRAPH_RING, made.ranks);
    for (uint32_t rank = 0; rank < made.ranks; rank++) {
        size_t count;
        const float *sum = weights_of(sim, rank, GS_GOSSIP_SUM, &count);
        const float *own = weights_of(sim, rank, GS_GOSSIP_KNOWN, &count);
        for (size_t i = 0; i < count; i++) {
            double mean = (double)own[i];
            for (uint32_t k = 0; k < mixing.degree; k++) {
                uint32_t from = gs_mixing_from(&mixing, rank, 0, k);
                mean += (double)weights_of(sim, from, GS_GOSSIP_KNOWN, &count)[i];
            }
            cr_assert_float_eq((double)sum[i], mean / 3.0, 2e-5, "%s: rank %u, weight %zu", codec,
                               rank, i);
        }
    }
}

Test(gossip, neighbours_of_choco_know_what_it_thinks_they_know)
{
    made.steps = 6;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        gs_sim_result result;
        codec = codecs[i];
        gs_sim *sim = run("choco", "gamma=0.1", (gs_sim_config){.late_ns = GS_NS_PER_MS}, &result);
        expect_known(sim);
        cr_expect_float_eq((double)result.facts.nic_bytes_sent,
                           6.0 * 8.0 *
                               (double)job.choice.strategy->wire_bytes(job.choice.config, &sim->job,
                                                                       &job.choice.coding),
                           1.0, "%s", codec);
        end(sim);
    }
}

/* A tenth of the differences is enough; a tenth of the models is not: zeros come for the rest, and
 * the mean goes to nothing. */
Test(gossip, choco_averages_through_a_codec_that_ruins_plain_gossip)
{
    made.steps = 200;
    codec = "topk:ratio=0.1,feedback=false";
    gs_sim *sim = run_averages("choco", "gamma=0.1", (gs_sim_config){0});
    cr_expect_lt(spread(sim), 0.01, "%g", spread(sim));
    expect_sum_kept(sim, "choco");
    end(sim);
    sim = run_averages("d_psgd", "", (gs_sim_config){0});
    cr_expect_gt(spread(sim), 1.0, "%g", spread(sim));
    end(sim);
}

/* In both hosts the same bits, also by rendezvous. */
Test(gossip, threads_end_with_the_weights_of_the_simulator)
{
    static const char *const cases[][3] = {{"d_psgd", "", NULL},
                                           {"sgp", "graph=exponential", NULL},
                                           {"osgp", "delay=2", NULL},
                                           {"choco", "gamma=0.2", "qsgd"}};
    made.steps = 5;
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        gs_sim_result simulated;
        codec = cases[c / 2][2];
        gs_sim *sim = run(cases[c / 2][0], cases[c / 2][1], (gs_sim_config){0}, &simulated);
        gs_live_config config = gs_live_config_default();
        config.strategy = &job.choice;
        config.job = &sim->job;
        config.task = sim->task;
        config.batch_per_rank = job.scenario.workload.batch_per_rank;
        config.budget_steps = made.steps;
        config.rendezvous = c % 2 == 1;
        gs_error err;
        gs_live *live = gs_live_create(&config, &err);
        cr_assert(live != NULL, "%s", err.text);
        gs_live_run(live);
        gs_live_result result;
        gs_live_result_get(live, &result);
        cr_assert_eq(result.status, GS_OK, "%s: %s", cases[c / 2][0], result.error.text);
        for (uint32_t rank = 0; rank < made.ranks; rank++) {
            size_t count;
            const float *a = gs_sim_weights(sim, rank, &count);
            cr_expect_eq(memcmp(a, gs_live_weights(live, rank, &count), count * sizeof *a), 0,
                         "%s, rank %u", cases[c / 2][0], rank);
        }
        gs_live_destroy(live);
        end(sim);
    }
}

/* ---------------------------------------------------------------- what is refused */

static void expect_refused(const char *name, const char *text, const char *words)
{
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find(name), text);
    gs_error err;
    gs_sim *sim =
        gs_sim_create(&(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice}, &err);
    cr_assert_null(sim, "%s:%s", name, text);
    cr_expect_eq(err.code, GS_EINVAL);
    cr_expect_str_eq(err.text, words);
    small_job_fini(&job);
}

Test(gossip, what_cannot_work_is_refused_with_what_would)
{
    made.ranks = 7;
    static const char *const names[] = {"d_psgd", "choco", "sgp", "osgp", "ad_psgd"};
    for (int i = 0; i < 5; i++) {
        char words[200];
        (void)snprintf(words, sizeof words,
                       "%s.graph: a torus has rows and columns, and 7 ranks are a prime; use "
                       "graph=ring, or 8 ranks",
                       names[i]);
        expect_refused(names[i], "graph=torus", words);
    }
    expect_refused("osgp", "delay=20",
                   "osgp.delay: 20 steps, but the run has 20: nothing would be used in time; use "
                   "delay=19");
}
