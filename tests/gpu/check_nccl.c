#include "live/carrier.h"
#include "tests/fake_cuda/thread_carrier.h"
#include "tests/gpu/gpu_check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, FRAMES = 32, REPEATS = 5, CHUNK_BYTES = 4 << 20, TEXT_BYTES = 64 };

const gs_carrier *gs_carrier_module(void);

typedef struct player {
    uint32_t self, ranks;
    size_t floats;
    gs_carrier_config config;
    pthread_t thread;
    gs_error err;
    bool ok;
    double sum_ms, ring_gb; /* of process 0 */
} player;

static bool fail(player *rank, const char *text)
{
    if (rank->err.text[0] == '\0') {
        (void)snprintf(rank->err.text, sizeof rank->err.text, "process %u: %s", rank->self, text);
    }
    rank->ok = false;
    return false;
}

/* Polls until so many frames have come and left, or sums ended. */
static bool poll_until(player *rank, void *net, uint32_t frames, uint32_t left, uint32_t done)
{
    const gs_carrier *carrier = gs_carrier_module();
    int64_t until = check_now_ns() + 60 * GS_NS_PER_S;
    while (frames > 0 || left > 0 || done > 0) {
        gs_carried event;
        carrier->poll(net, &event);
        switch (event.kind) {
        case GS_CARRIED_NOTHING:
            carrier->wait(net, check_now_ns() + GS_NS_PER_MS);
            if (check_now_ns() > until) {
                return fail(rank, "nothing moves for a minute");
            }
            break;
        case GS_CARRIED_FRAME: {
            const uint8_t *body = event.frame.body;
            uint8_t wanted = (uint8_t)(event.peer + 1);
            if (event.frame.body_bytes != rank->floats * sizeof(float) || body[0] != wanted ||
                body[event.frame.body_bytes - 1] != wanted) {
                return fail(rank, "a frame is not what was sent");
            }
            carrier->give_back(net, event.handle);
            frames--;
            break;
        }
        case GS_CARRIED_LEFT:
            left--;
            break;
        case GS_CARRIED_DONE:
            done--;
            break;
        case GS_CARRIED_LOST:
            return fail(rank, event.text);
        }
    }
    return true;
}

/* Rank r adds (r + 1) (i mod 31): exact in any order. */
static bool sum(player *rank, void *net, uint32_t group, float *floats)
{
    const gs_carrier *carrier = gs_carrier_module();
    uint32_t weight = rank->ranks * (rank->ranks + 1) / 2;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t i = 0; i < rank->floats; i++) {
            floats[i] = (float)((rank->self + 1) * (i % 31));
        }
        int64_t start = check_now_ns();
        if (!carrier->all_reduce(net, group, floats, rank->floats, 0) ||
            !poll_until(rank, net, 0, 0, 1)) {
            return fail(rank, "the sum was refused");
        }
        double ms = (double)(check_now_ns() - start) / 1e6;
        rank->sum_ms = repeat == 0 || ms < rank->sum_ms ? ms : rank->sum_ms;
        for (size_t i = 0; i < rank->floats; i++) {
            float wanted = (float)(weight * (i % 31));
            if (floats[i] < wanted || floats[i] > wanted) {
                return fail(rank, "the sum is wrong");
            }
        }
    }
    return true;
}

/* Each sends to the next one. */
static bool ring(player *rank, void *net, float *floats)
{
    const gs_carrier *carrier = gs_carrier_module();
    size_t bytes = rank->floats * sizeof(float);
    uint8_t head = 0;
    memset(floats, (int)rank->self + 1, bytes);
    int64_t start = check_now_ns();
    for (int i = 0; i < FRAMES; i++) {
        gs_frame frame = {&head, 1, floats, bytes, 0};
        if (!carrier->send(net, (rank->self + 1) % rank->ranks, &frame, 1)) {
            return fail(rank, "a frame was refused");
        }
    }
    bool ok = poll_until(rank, net, FRAMES, FRAMES, 0);
    rank->ring_gb = (double)bytes * FRAMES / (double)(check_now_ns() - start);
    return ok;
}

static void *rank_main(void *argument)
{
    player *rank = argument;
    const gs_carrier *carrier = gs_carrier_module();
    uint32_t members[RANKS_MAX] = {0, 1, 2, 3}, group;
    void *net;
    rank->ok = true;
    if (carrier->open(&rank->config, &net, &rank->err) != GS_OK) {
        rank->ok = false;
        return NULL;
    }
    float *floats = malloc(rank->floats * sizeof *floats);
    bool ok = floats != NULL && carrier->group(net, members, rank->ranks, &group);
    ok = ok ? sum(rank, net, group, floats) && (rank->ranks == 1 || ring(rank, net, floats))
            : fail(rank, "the group was refused");
    if (ok) {
        carrier->close(net);
    } else {
        if (rank->config.control != NULL) {
            thread_carrier.abort(rank->config.control_net);
        }
        carrier->abort(net);
    }
    free(floats);
    return NULL;
}

static void run(uint32_t count, size_t floats)
{
    player ranks[RANKS_MAX];
    thread_world *world = thread_world_create(count);
    char size[TEXT_BYTES], what[TEXT_BYTES];
    int64_t start = check_now_ns();
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = (player){.self = i, .ranks = count, .floats = floats};
        ranks[i].config = (gs_carrier_config){.chunk_bytes = CHUNK_BYTES,
                                              .poll_ns = 10 * GS_NS_PER_US,
                                              .deadline_ns = 60 * GS_NS_PER_S,
                                              .processes = count,
                                              .process = i,
                                              .local_process = i,
                                              .control = count > 1 ? &thread_carrier : NULL,
                                              .control_net = thread_world_net(world, i)};
        if (pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]) != 0) {
            abort();
        }
    }
    const char *why = NULL;
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(ranks[i].thread, NULL);
        why = why == NULL && !ranks[i].ok ? ranks[i].err.text : why;
    }
    thread_world_free(world);
    (void)snprintf(size, sizeof size, "%zu bytes", floats * sizeof(float));
    (void)snprintf(what, sizeof what, "NCCL, %u rank%s: all-reduce", count, count > 1 ? "s" : "");
    if (why != NULL) {
        check_row(false, what, size, "%s", why);
        return;
    }
    check_row(true, what, size, "exact; %.3f ms", ranks[0].sum_ms);
    if (count > 1) {
        (void)snprintf(what, sizeof what, "NCCL, %u ranks: frames in a ring", count);
        check_row(true, what, size, "whole and in order; %.2f GB/s each way", ranks[0].ring_gb);
    }
    (void)snprintf(what, sizeof what, "NCCL, %u rank%s: from open to close", count,
                   count > 1 ? "s" : "");
    check_row(true, what, "", "%.1f s", (double)(check_now_ns() - start) / 1e9);
}

void check_nccl(uint32_t devices, size_t largest)
{
    size_t floats = largest < (1 << 22) ? largest : 1 << 22; /* at most 16 MiB */
    run(1, floats);
    if (devices > 1) {
        run(devices < RANKS_MAX ? devices : RANKS_MAX, floats);
    }
}
