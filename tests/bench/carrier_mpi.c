/* The MPI carrier against plain MPI_Isend and MPI_Irecv, in one run of two processes:
 *   mpirun -n 2 bench_carrier_openmpi
 * One line of JSON for each size and way: seconds of both and their ratio; a way is `turns` (there
 * and back again, one frame at a time) or `stream` (16 in flight one way, an answer at the end),
 * and whoever has nothing to do polls, or waits as a live run does. */
#include "live/carrier.h"
#include "tools/launcher.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 7, FLIGHT = 16, REPEATS = 5, SHARED_CHUNK = 1 << 20, TCP_CHUNK = 65000 };

typedef struct bench {
    const gs_carrier *carrier;
    void *net;
    int rank;
    bool waits;
    unsigned char *memory[FLIGHT];
    size_t bytes;
    uint64_t left, come;
} bench;

static void look(bench *b)
{
    gs_carried said;
    b->carrier->poll(b->net, &said);
    if (said.kind == GS_CARRIED_FRAME) {
        b->come++;
        b->carrier->give_back(b->net, said.handle);
    } else if (said.kind == GS_CARRIED_LEFT) {
        b->left++;
    } else if (said.kind == GS_CARRIED_LOST) {
        (void)fprintf(stderr, "lost: %s\n", said.text);
        exit(1);
    } else if (b->waits) {
        b->carrier->wait(b->net, GS_TIME_NEVER);
    }
}

static void send_frame(bench *b, uint64_t number, size_t bytes)
{
    gs_frame frame = {.head = &number,
                      .head_bytes = sizeof number,
                      .body = b->memory[number % FLIGHT],
                      .body_bytes = bytes};
    if (!b->carrier->send(b->net, (uint32_t)(1 - b->rank), &frame, number)) {
        exit(1);
    }
}

static void carrier_turns(bench *b, uint64_t turns)
{
    b->come = b->left = 0;
    for (uint64_t i = 0; i < turns; i++) {
        if (b->rank == 0) {
            send_frame(b, i, b->bytes);
        }
        while (b->come <= i) {
            look(b);
        }
        if (b->rank == 1) {
            send_frame(b, i, b->bytes);
        }
    }
    while (b->left < turns) {
        look(b);
    }
}

static void carrier_stream(bench *b, uint64_t frames)
{
    b->come = b->left = 0;
    for (uint64_t i = 0; b->rank == 0 && i < frames; i++) {
        while (i - b->left >= FLIGHT) {
            look(b);
        }
        send_frame(b, i, b->bytes);
    }
    while (b->come < (b->rank == 0 ? 1 : frames)) {
        look(b);
    }
    if (b->rank == 1) {
        send_frame(b, 0, 0);
    }
    while (b->left < (b->rank == 0 ? frames : 1)) {
        look(b);
    }
}

static void plain_turns(bench *b, uint64_t turns)
{
    int other = 1 - b->rank;
    MPI_Request request;
    for (uint64_t i = 0; i < turns; i++) {
        for (int way = 0; way < 2; way++) {
            if (way == b->rank) {
                MPI_Isend(b->memory[0], (int)b->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                          &request);
            } else {
                MPI_Irecv(b->memory[1], (int)b->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                          &request);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static void plain_stream(bench *b, uint64_t frames)
{
    MPI_Request requests[FLIGHT];
    MPI_Status statuses[FLIGHT];
    int other = 1 - b->rank;
    for (int i = 0; i < FLIGHT; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    for (uint64_t i = 0; i < frames; i++) {
        MPI_Request *request = &requests[i % FLIGHT];
        MPI_Wait(request, MPI_STATUS_IGNORE);
        if (b->rank == 0) {
            MPI_Isend(b->memory[i % FLIGHT], (int)b->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                      request);
        } else {
            MPI_Irecv(b->memory[i % FLIGHT], (int)b->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                      request);
        }
    }
    MPI_Waitall(FLIGHT, requests, statuses);
    if (b->rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
    }
}

/* The fastest of a few: what else the machine does only adds. */
static double seconds_of(bench *b, void (*way)(bench *, uint64_t), uint64_t count)
{
    double best = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        way(b, count);
        double taken = MPI_Wtime() - begin;
        best = taken < best ? taken : best;
    }
    return best / (double)count;
}

static void compare(bench *b, const char *way, size_t bytes, uint64_t count)
{
    bool is_turns = strcmp(way, "turns") == 0;
    b->bytes = bytes;
    double carried = seconds_of(b, is_turns ? carrier_turns : carrier_stream, count);
    double plain = seconds_of(b, is_turns ? plain_turns : plain_stream, count);
    if (b->rank == 0) {
        (void)printf("{\"bench\": \"carrier\", \"way\": \"%s\", \"idle\": \"%s\", \"bytes\": %zu, "
                     "\"carrier_us\": %.2f, \"mpi_us\": %.2f, \"ratio\": %.2f, "
                     "\"carrier_MB_s\": %.0f}\n",
                     way, b->waits ? "waits" : "polls", bytes, 1e6 * carried, 1e6 * plain,
                     carried / plain, 1e-6 * (double)bytes / carried);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1000, 64000, 1000000, 4000000};
    gs_error err = {.text = ""};
    gs_launch launch;
    bench b = {0};
    if (gs_launch_find(&launch, &err) != GS_OK || launch.ranks != 2) {
        (void)fprintf(stderr, "start two processes: mpirun -n 2 %s\n", argv[0]);
        return 2;
    }
    bool is_tcp = argc > 1 && strcmp(argv[1], "tcp") == 0;
    gs_carrier_config config = {.chunk_bytes = is_tcp ? TCP_CHUNK : SHARED_CHUNK,
                                .poll_ns = 50 * GS_NS_PER_US,
                                .deadline_ns = 20 * GS_NS_PER_S,
                                .processes = 2,
                                .process = launch.rank};
    if (gs_carrier_find("mpi", &b.carrier, &err) != GS_OK ||
        b.carrier->open(&config, &b.net, &err) != GS_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    b.rank = (int)launch.rank;
    for (int i = 0; i < FLIGHT; i++) {
        b.memory[i] = calloc(1, sizes[sizeof sizes / sizeof *sizes - 1]);
        if (b.memory[i] == NULL) {
            return 1;
        }
    }
    for (int waits = 0; waits < 2; waits++) {
        b.waits = waits == 1;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            uint64_t count = sizes[i] < 100000 ? 500 : 40;
            compare(&b, "turns", sizes[i], count);
            compare(&b, "stream", sizes[i], 2 * count);
        }
    }
    b.carrier->close(b.net);
    for (int i = 0; i < FLIGHT; i++) {
        free(b.memory[i]);
    }
    return 0;
}
