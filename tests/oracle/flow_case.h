/* Flows over links, given to gradsync's sharing and to SimGrid alike, flow by flow on the same
 * routes. */
#ifndef GS_TESTS_FLOW_CASE_H
#define GS_TESTS_FLOW_CASE_H

#include "base/event_queue.h"
#include "sim/fluid.h"

#include <stdio.h>
#include <string.h>

enum { FLOW_CASE_ROUTE_MAX = 8 };

typedef struct flow_case_flow {
    uint32_t route[FLOW_CASE_ROUTE_MAX];
    uint32_t route_count;
    double start_s;
    int64_t bytes;
    double end_s;         /* ours */
    double simgrid_end_s; /* without the latency */
} flow_case_flow;

typedef struct flow_case {
    double *bytes_per_s; /* [link_count] */
    uint32_t link_count;
    flow_case_flow *flows; /* [flow_count] */
    uint32_t flow_count;
} flow_case;

static const double FLOW_CASE_TICKS_PER_S = 1e9 * GS_TICKS_PER_NS;
/* Of every route, on a link of its own: SimGrid weighs flows by it. */
static const double FLOW_CASE_LATENCY_S = 1e-5;

/* ---- ours */

static inline void flow_case_take_news(const gs_fluid *fluid, gs_event_queue *queue,
                                       uint64_t *handles)
{
    for (uint32_t i = 0; i < fluid->news_count; i++) {
        gs_fluid_news news = fluid->news[i];
        handles[news.flow]++;
        if (news.end < GS_TICK_NEVER) {
            uint64_t key = handles[news.flow] << 24 | news.flow << 1 | 1;
            GS_ASSERT(gs_event_queue_push(queue, (gs_queued_event){news.end, key}) == GS_OK);
        }
    }
}

/* Gives every flow its end_s. */
static inline void flow_case_run(flow_case *run)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_fluid *fluid =
        gs_fluid_create(run->link_count, run->flow_count, FLOW_CASE_ROUTE_MAX, &arena);
    gs_event_queue *queue = gs_event_queue_create();
    uint64_t *handles = GS_TAKE(&arena, uint64_t, run->flow_count);
    GS_ASSERT(fluid != NULL && queue != NULL && handles != NULL);
    for (uint32_t link = 0; link < run->link_count; link++) {
        gs_fluid_set_capacity(fluid, 0, link, run->bytes_per_s[link] / FLOW_CASE_TICKS_PER_S);
    }
    for (uint32_t i = 0; i < run->flow_count; i++) {
        gs_queued_event event = {gs_tick_of(run->flows[i].start_s * FLOW_CASE_TICKS_PER_S), i << 1};
        GS_ASSERT(gs_event_queue_push(queue, event) == GS_OK);
    }
    gs_queued_event event;
    while (gs_event_queue_pop(queue, &event)) {
        uint32_t index = (uint32_t)event.key >> 1 & ((UINT32_C(1) << 23) - 1);
        flow_case_flow *flow = &run->flows[index];
        if (event.key % 2 == 0) {
            gs_fluid_begin(fluid, event.time, index, flow->route, flow->route_count,
                           (double)flow->bytes, index);
        } else if (event.key >> 24 == handles[index]) {
            flow->end_s = (double)event.time / FLOW_CASE_TICKS_PER_S;
            gs_fluid_end(fluid, event.time, index);
        } else {
            continue;
        }
        flow_case_take_news(fluid, queue, handles);
    }
    gs_event_queue_destroy(queue);
    gs_arena_fini(&arena);
}

/* ---- SimGrid's */

/* So many hosts send and so many receive that each flow has a pair of its own, and its own route.
 */
static inline uint32_t flow_case_hosts(const flow_case *run)
{
    uint32_t hosts = 1;
    while (hosts * hosts < run->flow_count) {
        hosts++;
    }
    return hosts;
}

static inline void flow_case_write_platform(const flow_case *run, FILE *out)
{
    uint32_t hosts = flow_case_hosts(run);
    fputs("<?xml version='1.0'?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"all\" routing=\"Full\">\n",
          out);
    for (uint32_t host = 0; host < hosts; host++) {
        fprintf(out, "<host id=\"s%u\" speed=\"1Gf\"/><host id=\"d%u\" speed=\"1Gf\"/>\n", host,
                host);
    }
    for (uint32_t link = 0; link < run->link_count; link++) {
        fprintf(out, "<link id=\"l%u\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", link,
                run->bytes_per_s[link]);
    }
    for (uint32_t i = 0; i < run->flow_count; i++) {
        fprintf(out, "<link id=\"own%u\" bandwidth=\"1e15Bps\" latency=\"%.17gs\"/>\n", i,
                FLOW_CASE_LATENCY_S);
    }
    for (uint32_t i = 0; i < run->flow_count; i++) {
        const flow_case_flow *flow = &run->flows[i];
        fprintf(out, "<route src=\"s%u\" dst=\"d%u\" symmetrical=\"NO\"><link_ctn id=\"own%u\"/>",
                i / hosts, i % hosts, i);
        for (uint32_t hop = 0; hop < flow->route_count; hop++) {
            fprintf(out, "<link_ctn id=\"l%u\"/>", flow->route[hop]);
        }
        fputs("</route>\n", out);
    }
    fputs("</zone></platform>\n", out);
}

static inline void flow_case_write_flows(const flow_case *run, FILE *out)
{
    uint32_t hosts = flow_case_hosts(run);
    for (uint32_t i = 0; i < run->flow_count; i++) {
        fprintf(out, "s%u d%u %.17g %lld\n", i / hosts, i % hosts, run->flows[i].start_s,
                (long long)run->flows[i].bytes);
    }
}

/* Gives every flow its simgrid_end_s. program: simgrid_oracle; the two paths are files to write.
 * Returns SimGrid's CPU seconds; -1: it failed. */
static inline double flow_case_ask_simgrid(flow_case *run, const char *program,
                                           const char *platform_path, const char *flows_path)
{
    FILE *platform = fopen(platform_path, "w");
    FILE *flows = fopen(flows_path, "w");
    GS_ASSERT(platform != NULL && flows != NULL);
    flow_case_write_platform(run, platform);
    flow_case_write_flows(run, flows);
    fclose(platform);
    fclose(flows);
    char command[4096];
    snprintf(command, sizeof command, "\"%s\" flows \"%s\" \"%s\"", program, platform_path,
             flows_path);
    FILE *in = popen(command, "r");
    GS_ASSERT(in != NULL);
    bool is_read = true;
    for (uint32_t i = 0; i < run->flow_count; i++) {
        is_read = is_read && fscanf(in, "%lf", &run->flows[i].simgrid_end_s) == 1;
        run->flows[i].simgrid_end_s -= FLOW_CASE_LATENCY_S;
    }
    double cpu_s = -1.0;
    is_read = is_read && fscanf(in, "%lf", &cpu_s) == 1;
    return pclose(in) == 0 && is_read ? cpu_s : -1.0;
}

#endif
