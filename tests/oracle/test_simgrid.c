/* Sharing and rings as SimGrid has them: its model without correction factors, routes of equal
 * latency (tests/oracle/simgrid_oracle.c). Skipped, aloud, where SimGrid is not installed. */
#include "tests/oracle/flow_case.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { PLATFORMS = 200, LINKS_MAX = 30, FLOWS_MAX = 40 };

static const char *oracle(void)
{
    if (GS_SIMGRID_ORACLE[0] == '\0') {
        fprintf(stderr, "skipped: no SimGrid (package libsimgrid-dev)\n");
        cr_skip_test("no SimGrid");
    }
    return GS_SIMGRID_ORACLE;
}

static uint32_t draw_count;

static uint32_t draw(uint32_t bound)
{
    gs_rng_key key = {.seed = 332, .purpose = GS_RNG_TEST, .entity = 3};
    return (uint32_t)(gs_rng_uniform(key, 0, draw_count++) * bound);
}

/* A platform of its own behind the links so far: 4 to 30 links of 10 to 1,000 MB/s, 5 to 40 flows
 * of 1 to 6 of them and 0.1 to 20 MB, within a tenth of a second. */
static void add_platform(flow_case *run)
{
    uint32_t links = 4 + draw(LINKS_MAX - 3);
    uint32_t flows = 5 + draw(FLOWS_MAX - 4);
    for (uint32_t link = 0; link < links; link++) {
        run->bytes_per_s[run->link_count + link] = 1e7 * pow(10.0, 1e-6 * draw(2000000));
    }
    for (uint32_t i = 0; i < flows; i++) {
        flow_case_flow *flow = &run->flows[run->flow_count++];
        uint32_t wanted = 1 + draw(links < 6 ? links : 6);
        while (flow->route_count < wanted) {
            uint32_t link = run->link_count + draw(links);
            bool is_on = false;
            for (uint32_t hop = 0; hop < flow->route_count; hop++) {
                is_on = is_on || flow->route[hop] == link;
            }
            if (!is_on) {
                flow->route[flow->route_count++] = link;
            }
        }
        flow->start_s = 1e-7 * draw(1000000);
        flow->bytes = 100000 + draw(20000000);
    }
    run->link_count += links;
}

/* The times that flows take agree within 1e-5, where 1e-2 is asked for; the platforms do not touch,
 * so that one run has all of them. */
Test(simgrid, two_hundred_platforms_flow_by_flow)
{
    const char *program = oracle();
    flow_case run = {
        .bytes_per_s = calloc(PLATFORMS * LINKS_MAX, sizeof *run.bytes_per_s),
        .flows = calloc(PLATFORMS * FLOWS_MAX, sizeof *run.flows),
    };
    cr_assert(run.bytes_per_s != NULL && run.flows != NULL);
    for (uint32_t i = 0; i < PLATFORMS; i++) {
        add_platform(&run);
    }
    char platform[TEST_PATH_BYTES];
    char flows[TEST_PATH_BYTES];
    test_temp_path(platform);
    test_temp_path(flows);
    cr_assert_geq(flow_case_ask_simgrid(&run, program, platform, flows), 0.0);
    flow_case_run(&run);
    double worst = 0.0;
    for (uint32_t i = 0; i < run.flow_count; i++) {
        const flow_case_flow *flow = &run.flows[i];
        double theirs_s = flow->simgrid_end_s - flow->start_s;
        double ours_s = flow->end_s - flow->start_s;
        TEST_REQUIRE(theirs_s > 0.0 && fabs(ours_s - theirs_s) <= 1e-5 * theirs_s,
                     "flow %u: %.9g s, SimGrid %.9g s", i, ours_s, theirs_s);
        worst = fmax(worst, fabs(ours_s / theirs_s - 1.0));
    }
    printf("%u flows, the worst is off by %.2e\n", run.flow_count, worst);
    free(run.bytes_per_s);
    free(run.flows);
}

/* One switch, as small_job has it: 10 Gbit/s each way, 10 us. */
static void write_ring(const char *path, uint32_t ranks)
{
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    fputs("<?xml version='1.0'?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"all\" routing=\"Full\">\n",
          out);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        fprintf(out,
                "<host id=\"rank%u\" speed=\"1Gf\"/>"
                "<link id=\"up%u\" bandwidth=\"1.25e9Bps\" latency=\"1e-5s\"/>"
                "<link id=\"down%u\" bandwidth=\"1.25e9Bps\" latency=\"0s\"/>\n",
                rank, rank, rank);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t next = (rank + 1) % ranks;
        fprintf(out,
                "<route src=\"rank%u\" dst=\"rank%u\" symmetrical=\"NO\">"
                "<link_ctn id=\"up%u\"/><link_ctn id=\"down%u\"/></route>\n",
                rank, next, rank, next);
    }
    fputs("</zone></platform>\n", out);
    fclose(out);
}

/* An all-reduce of 102.4 MB in 2 (n - 1) turns of an n-th, which is whole: within 1e-3, where 2e-2
 * is asked for. */
static void expect_ring(uint32_t ranks, gs_time_ns skew_ns)
{
    char command[4096];
    char platform[TEST_PATH_BYTES];
    test_temp_path(platform);
    write_ring(platform, ranks);
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.units = 1;
    config.unit_elements = 25600000;
    config.optimizer_ns = 0;
    config.skew_ns = skew_ns;
    snprintf(command, sizeof command, "\"%s\" ring \"%s\" %u %u %lld %.9f", oracle(), platform,
             ranks, 2 * (ranks - 1), (long long)(4 * config.unit_elements / ranks),
             1e-9 * (double)skew_ns);
    FILE *in = popen(command, "r");
    cr_assert_not_null(in);
    double theirs_s = 0.0;
    int read = fscanf(in, "%lf", &theirs_s);
    cr_assert(pclose(in) == 0 && read == 1);
    small_job job;
    small_job_init(&job, &config, NULL);
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
    TEST_REQUIRE(result.status == GS_OK, "%s", result.error.text);
    double ours_s = 1e-9 * (double)result.facts.end_ns;
    printf("ring of %u, skew %g ms: %.6f ms, SimGrid %.6f ms\n", ranks, 1e-6 * (double)skew_ns,
           1e3 * ours_s, 1e3 * theirs_s);
    TEST_REQUIRE(fabs(ours_s - theirs_s) <= 1e-3 * theirs_s, "%u ranks: %.9g s, SimGrid %.9g s",
                 ranks, ours_s, theirs_s);
    small_job_fini(&job);
}

Test(simgrid, rings_of_8_and_of_64)
{
    static const uint32_t sizes[] = {8, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        expect_ring(sizes[i], 0);
        expect_ring(sizes[i], 10 * GS_NS_PER_MS);
    }
}
