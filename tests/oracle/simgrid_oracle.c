/* SimGrid's times for flows and rings, for tests to hold ours against.
 *
 *   simgrid_oracle flows PLATFORM FLOWS   FLOWS: a line a flow, its two hosts, start in seconds,
 *                                         bytes. Prints a line a flow, its end in seconds.
 *   simgrid_oracle ring PLATFORM RANKS STEPS BYTES SKEW
 *                                         Hosts rank0...; a rank begins up to SKEW seconds late
 *                                         and does STEPS turns: sends BYTES to the next one,
 *                                         receives from the one before, waits for both. Prints the
 *                                         end in seconds.
 *
 * The last line is the CPU seconds of the run without the platform. SimGrid's model is CM02, whose
 * factors are 1, without cross traffic and without a TCP window: max-min sharing and nothing else.
 * Flows whose routes have equal latencies then have equal weights. */
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FLOWS_MAX = 65536, NAME_BYTES = 32 };

typedef struct flow {
    char from[NAME_BYTES], to[NAME_BYTES];
    double start_s, end_s;
    long bytes;
} flow;

static flow flows[FLOWS_MAX];
static int flow_count;

static struct {
    int ranks, steps;
    long bytes;
    double skew_s;
} ring;

static void must(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "simgrid_oracle: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static sg_mailbox_t mailbox_of(const char *index)
{
    return sg_mailbox_by_name(index);
}

/* Simulated processes get an index as text. */
static void send_flow(int argc, char **argv)
{
    must(argc == 2, "no index");
    flow *sent = &flows[atoi(argv[1])];
    sg_actor_sleep_until(sent->start_s);
    sg_mailbox_put(mailbox_of(argv[1]), sent, sent->bytes);
    sent->end_s = simgrid_get_clock();
}

static void receive_flow(int argc, char **argv)
{
    must(argc == 2, "no index");
    (void)sg_mailbox_get(mailbox_of(argv[1]));
}

static void turn_ring(int argc, char **argv)
{
    must(argc == 2, "no index");
    int rank = atoi(argv[1]);
    char next[NAME_BYTES];
    snprintf(next, sizeof next, "%d", (rank + 1) % ring.ranks);
    double share = rank * 0.6180339887498949; /* as tests/small_job.c has it */
    sg_actor_sleep_until(ring.skew_s * (share - (int)share));
    for (int step = 0; step < ring.steps; step++) {
        sg_comm_t sent = sg_mailbox_put_async(mailbox_of(next), &ring, ring.bytes);
        (void)sg_mailbox_get(mailbox_of(argv[1]));
        sg_comm_wait(sent);
    }
}

static void start_actor(void (*code)(int, char **), const char *host, int index)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%d", index);
    char name[] = "actor";
    char *argv[] = {name, text, NULL};
    (void)sg_actor_create(text, sg_host_by_name(host), code, 2, argv);
}

static void run_flows(const char *path)
{
    FILE *in = fopen(path, "r");
    must(in != NULL, "no flows");
    for (flow *next = flows;
         fscanf(in, "%31s %31s %lf %ld", next->from, next->to, &next->start_s, &next->bytes) == 4;
         next = &flows[flow_count]) {
        must(++flow_count < FLOWS_MAX, "too many flows");
    }
    fclose(in);
    for (int i = 0; i < flow_count; i++) {
        start_actor(send_flow, flows[i].from, i);
        start_actor(receive_flow, flows[i].to, i);
    }
    double before_s = cpu_s();
    simgrid_run();
    double run_s = cpu_s() - before_s;
    for (int i = 0; i < flow_count; i++) {
        printf("%.17g\n", flows[i].end_s);
    }
    printf("%.6f\n", run_s);
}

static void run_ring(char **argv)
{
    ring.ranks = atoi(argv[0]);
    ring.steps = atoi(argv[1]);
    ring.bytes = atol(argv[2]);
    ring.skew_s = atof(argv[3]);
    must(ring.ranks > 1 && ring.steps > 0, "no ring");
    for (int rank = 0; rank < ring.ranks; rank++) {
        char host[NAME_BYTES];
        snprintf(host, sizeof host, "rank%d", rank);
        start_actor(turn_ring, host, rank);
    }
    double before_s = cpu_s();
    simgrid_run();
    printf("%.17g\n%.6f\n", simgrid_get_clock(), cpu_s() - before_s);
}

int main(int argc, char **argv)
{
    char *given[] = {argv[0],
                     "--cfg=network/model:CM02",
                     "--cfg=network/crosstraffic:0",
                     "--cfg=network/TCP-gamma:0",
                     "--cfg=network/weight-S:0",
                     "--cfg=network/bandwidth-factor:1",
                     "--cfg=network/latency-factor:1",
                     "--cfg=surf/precision:1e-9",
                     "--cfg=contexts/stack-size:64",
                     "--cfg=contexts/guard-size:0",
                     "--log=root.thresh:error",
                     NULL};
    int given_count = (int)(sizeof given / sizeof *given) - 1;
    simgrid_init(&given_count, given);
    if (argc == 4 && strcmp(argv[1], "flows") == 0) {
        simgrid_load_platform(argv[2]);
        run_flows(argv[3]);
        return 0;
    }
    must(argc == 7 && strcmp(argv[1], "ring") == 0, "usage: flows PLATFORM FLOWS, or ring PLATFORM "
                                                    "RANKS STEPS BYTES SKEW");
    simgrid_load_platform(argv[2]);
    run_ring(&argv[3]);
    return 0;
}
