/* The same flows over the same routes, through our sharing and through SimGrid in the same run: CPU
 * seconds of both, and how far the times of a flow are apart. SimGrid's model: CM02, factors 1, no
 * cross traffic, no TCP window, lazy updates (tests/oracle/simgrid_oracle.c). One JSON line each.
 *
 *   bench_simgrid [FLOWS]   also so many on the fat tree; of 10,000 SimGrid needs minutes */
#include "base/rng.h"
#include "tests/bench/fat_tree.h"
#include "tests/oracle/flow_case.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef enum pattern { FAT_TREE, STAR, INCAST } pattern;

static double draw(uint32_t flow, uint32_t what)
{
    return gs_rng_uniform((gs_rng_key){4096, GS_RNG_TEST, what}, flow, 0);
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Random pairs and sizes of 1 to 200 MB, within 10 ms, at 12.5 GB/s. */
static void make_flow(flow_case_flow *flow, pattern kind, uint32_t index)
{
    uint32_t from = (uint32_t)(draw(index, 0) * FAT_TREE_HOSTS);
    uint32_t to = (from + 1 + (uint32_t)(draw(index, 1) * (FAT_TREE_HOSTS - 1))) % FAT_TREE_HOSTS;
    if (kind == FAT_TREE) {
        flow->route_count = fat_tree_route(from, to, flow->route);
    } else {
        flow->route[0] = from;
        flow->route[1] = FAT_TREE_HOSTS + (kind == INCAST ? 0 : to);
        flow->route_count = 2;
    }
    flow->start_s = 0.01 * draw(index, 2);
    flow->bytes = 1000000 + (int64_t)(draw(index, 3) * 199e6);
}

static void compare(const char *name, pattern kind, uint32_t flow_count)
{
    flow_case run = {.link_count = FAT_TREE_LINKS, .flow_count = flow_count};
    run.bytes_per_s = calloc(run.link_count, sizeof *run.bytes_per_s);
    run.flows = calloc(flow_count, sizeof *run.flows);
    GS_ASSERT(run.bytes_per_s != NULL && run.flows != NULL);
    for (uint32_t link = 0; link < run.link_count; link++) {
        run.bytes_per_s[link] = 12.5e9;
    }
    for (uint32_t i = 0; i < flow_count; i++) {
        make_flow(&run.flows[i], kind, i);
    }
    double before_s = cpu_s();
    flow_case_run(&run);
    double ours_s = cpu_s() - before_s;
    char platform[] = "/tmp/gradsync-bench-XXXXXX";
    char flows[] = "/tmp/gradsync-bench-XXXXXX";
    GS_ASSERT(mkstemp(platform) >= 0 && mkstemp(flows) >= 0);
    double theirs_s = flow_case_ask_simgrid(&run, GS_SIMGRID_ORACLE, platform, flows);
    remove(platform);
    remove(flows);
    double worst = 0.0;
    for (uint32_t i = 0; i < flow_count; i++) {
        double took_s = run.flows[i].end_s - run.flows[i].start_s;
        double theirs_took_s = run.flows[i].simgrid_end_s - run.flows[i].start_s;
        worst = fmax(worst, fabs(took_s / theirs_took_s - 1.0));
    }
    printf("{\"bench\": \"simgrid\", \"network\": \"%s\", \"flows\": %u, \"cpu_s\": %.4f, "
           "\"simgrid_cpu_s\": %.4f, \"ratio\": %.0f, \"worst_difference\": %.2e}\n",
           name, flow_count, ours_s, theirs_s, theirs_s / ours_s, worst);
    fflush(stdout);
    free(run.bytes_per_s);
    free(run.flows);
}

int main(int argc, char **argv)
{
    if (GS_SIMGRID_ORACLE[0] == '\0') {
        printf("skipped: no SimGrid (package libsimgrid-dev)\n");
        return 0;
    }
    compare("fat tree", FAT_TREE, 1000);
    compare("fat tree", FAT_TREE, 2000);
    compare("star", STAR, 1000);
    compare("star", STAR, 2000);
    compare("incast", INCAST, 1000);
    if (argc > 1) {
        compare("fat tree", FAT_TREE, (uint32_t)atoi(argv[1]));
    }
    return 0;
}
