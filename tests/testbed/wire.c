/* Measures the wires of a test bed over MPI: what payload gets through, one way and from all at
 * once.
 *
 *   wire stream BYTES COUNT   rank 0 sends to rank 1; the others wait
 *   wire incast BYTES COUNT   all ranks send to rank 0 at once
 *   wire ready FILE           every rank writes its process id to FILE.RANK and waits to be killed
 *
 * COUNT messages follow each other without a gap. The receiver takes the time from each one's last
 * byte to the next one's (of an incast: the last of all senders') and prints the median:
 * "bytes N seconds S mbit R", where N of an incast is the sum over senders.
 *
 * Chunks stay below Open MPI's eager limit over TCP, and ranks sleep where they wait: a rendezvous,
 * or a core that spins, would be measured instead of the wire (docs/testbed.md). */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 65000,
    WINDOW = 2,      /* messages of a sender under way: the next one before the wire is idle */
    POLL_NS = 50000, /* of four ranks; more of them leave less of two cores to each */
    COUNT_MAX = 1000,
    BYTES_MAX = 1 << 26,
};

/* What one rank moves: messages to or from each of peer_count ranks, first_peer and those after it.
 */
typedef struct traffic {
    bool is_sender;
    int peer_count;
    int first_peer;
    int bytes;
    int chunk_count;
    char *data;            /* [WINDOW][peer_count][bytes] */
    MPI_Request *requests; /* [WINDOW][peer_count][chunk_count] */
} traffic;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits for requests without spinning. requests [count] */
static void wait_all(int count, MPI_Request *requests)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct timespec nap = {.tv_nsec = ranks > 4 ? 4 * POLL_NS : POLL_NS};
    int done = 0;
    while (MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE), !done)
        nanosleep(&nap, NULL);
}

static void barrier(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_all(1, &request);
}

static MPI_Request *requests_of(const traffic *t, int message)
{
    return t->requests + message % WINDOW * t->peer_count * t->chunk_count;
}

/* Starts one message to or from every peer. */
static void post(const traffic *t, int message)
{
    char *data = t->data + (size_t)(message % WINDOW * t->peer_count) * (size_t)t->bytes;
    MPI_Request *request = requests_of(t, message);
    for (int peer = t->first_peer; peer < t->first_peer + t->peer_count; ++peer) {
        for (int from = 0; from < t->bytes; from += CHUNK_BYTES, ++request) {
            const int length = t->bytes - from < CHUNK_BYTES ? t->bytes - from : CHUNK_BYTES;
            if (t->is_sender) {
                MPI_Isend(data + from, length, MPI_BYTE, peer, 0, MPI_COMM_WORLD, request);
            } else {
                MPI_Irecv(data + from, length, MPI_BYTE, peer, 0, MPI_COMM_WORLD, request);
            }
        }
        data += t->bytes;
    }
}

/* ends_ns [count]: out, when each message was through */
static void move(const traffic *t, int count, int64_t *ends_ns)
{
    for (int i = 0; i < count && i < WINDOW; ++i)
        post(t, i);
    for (int i = 0; i < count; ++i) {
        wait_all(t->peer_count * t->chunk_count, requests_of(t, i));
        ends_ns[i] = now_ns();
        if (i + WINDOW < count)
            post(t, i + WINDOW);
    }
}

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* times_ns [count]: instants, rising; sorted differences on return, one less */
static double median_seconds(int count, int64_t *times_ns)
{
    for (int i = 0; i + 1 < count; ++i)
        times_ns[i] = times_ns[i + 1] - times_ns[i];
    qsort(times_ns, (size_t)count - 1, sizeof *times_ns, compare);
    return (double)times_ns[(count - 1) / 2] * 1e-9;
}

static int measure(bool is_incast, int bytes, int count)
{
    static int64_t ends_ns[COUNT_MAX];
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int receiver = is_incast ? 0 : 1;
    const bool is_sender = is_incast ? rank != 0 : rank == 0;
    traffic t = {.is_sender = is_sender,
                 .peer_count = is_sender          ? 1
                               : rank != receiver ? 0
                               : is_incast        ? ranks - 1
                                                  : 1,
                 .first_peer = is_sender ? receiver : 1 - receiver,
                 .bytes = bytes,
                 .chunk_count = (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES};
    const size_t slots = WINDOW * ((size_t)t.peer_count + 1);
    t.data = calloc(slots, (size_t)bytes);
    t.requests = calloc(slots, sizeof *t.requests * (size_t)t.chunk_count);
    if (!t.data || !t.requests)
        MPI_Abort(MPI_COMM_WORLD, 1);

    barrier();
    move(&t, count, ends_ns);
    if (rank == receiver) {
        const double seconds = median_seconds(count, ends_ns);
        const double sum_bytes = (double)bytes * t.peer_count;
        printf("bytes %.0f seconds %.6f mbit %.3f\n", sum_bytes, seconds,
               sum_bytes * 8e-6 / seconds);
        fflush(stdout);
    }
    barrier(); /* a send may be done before its last bytes have left: not all who finalize push on
                */
    free(t.data);
    free(t.requests);
    return 0;
}

static int wait_to_be_killed(const char *path)
{
    int rank;
    char name[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s.%d", path, rank);
    FILE *const file = fopen(name, "w");
    if (!file)
        return 1;
    fprintf(file, "%ld\n", (long)getpid());
    if (fclose(file) != 0)
        return 1;
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int code = 2;
    if (argc == 3 && strcmp(argv[1], "ready") == 0) {
        code = wait_to_be_killed(argv[2]);
    } else if (argc == 4 && ranks > 1) {
        const long bytes = strtol(argv[2], NULL, 10);
        const long count = strtol(argv[3], NULL, 10);
        const bool is_incast = strcmp(argv[1], "incast") == 0;
        if (bytes > 0 && bytes <= BYTES_MAX && count > 1 && count <= COUNT_MAX &&
            (is_incast || strcmp(argv[1], "stream") == 0)) {
            code = measure(is_incast, (int)bytes, (int)count);
        }
    }
    if (code == 2)
        fprintf(stderr, "wire: stream|incast BYTES COUNT, or ready FILE; two ranks\n");
    MPI_Finalize();
    return code;
}
