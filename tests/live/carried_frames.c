/* One process of a test of carriers, started by a launcher as often as there are ranks:
 *   carried_frames CARRIER MODE FRAMES [DEADLINE_MS]
 * MODE frames:  random frames from all to all, each checked for order and content; every body is
 *               free exactly once; then the native sums, if there are any; then close
 *      killed:  as frames, but the last process ends itself in the middle without a word
 *      absent:  the last process does not come before the deadline of the others
 * Exit code: 0; 1 a check failed (said on standard error); 3 open failed (its text is said); 4 a
 * process was lost (its text is said). */
#include "base/hash.h"
#include "live/carrier.h"
#include "tools/launcher.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_MAX = 3 * 1000 * 1000,
    IN_FLIGHT_MAX = 12,
    CHUNK_BYTES = 65000,
    EXIT_CHECK = 1,
    EXIT_OPEN = 3,
    EXIT_LOST = 4
};

typedef struct head {
    uint64_t sequence; /* on its way from one process to another */
    uint64_t body_bytes;
    uint64_t body_hash;
    uint32_t from, to;
    unsigned char tail[128]; /* of any length; continues the hash */
} head;

enum { HEAD_FIXED = offsetof(head, tail) };

typedef struct flight {
    unsigned char *body; /* [BODY_MAX] */
    bool is_sent;
} flight;

typedef struct test {
    const gs_carrier *carrier;
    void *net;
    uint32_t ranks, rank;
    uint64_t frames; /* for each other process */
    uint64_t state;  /* of the random numbers */
    flight flights[IN_FLIGHT_MAX];
    uint32_t sent_in_flight;
    uint64_t sent, left, come;    /* of all */
    uint64_t *next_out, *next_in; /* [ranks] */
} test;

static void fail(const test *t, const char *what, unsigned long long number)
{
    (void)fprintf(stderr, "process %u: %s (%llu)\n", t->rank, what, number);
    _exit(EXIT_CHECK);
}

static gs_time_ns now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * GS_NS_PER_S + time.tv_nsec;
}

static uint64_t draw(test *t)
{
    t->state = gs_hash(t->state, &t->rank, sizeof t->rank);
    return t->state;
}

/* Sizes of all kinds: none, a few bytes, around a chunk, megabytes. */
static size_t draw_size(test *t)
{
    uint64_t kind = draw(t) % 8;
    if (kind == 0) {
        return 0;
    }
    if (kind < 4) {
        return draw(t) % 200;
    }
    if (kind < 6) {
        return CHUNK_BYTES - 3 + draw(t) % 6;
    }
    return draw(t) % (kind == 6 ? 400000 : BODY_MAX);
}

static void send_one(test *t, uint32_t to)
{
    uint64_t cookie = 0;
    while (t->flights[cookie].is_sent) {
        cookie++;
    }
    flight *with = &t->flights[cookie];
    head said = {.sequence = t->next_out[to]++, .from = t->rank, .to = to};
    size_t tail = draw(t) % (sizeof said.tail + 1);
    said.body_bytes = draw_size(t);
    for (size_t i = 0; i < said.body_bytes; i += 4096) {
        with->body[i] = (unsigned char)draw(t);
    }
    memset(said.tail, (int)(said.sequence & 0xff), tail);
    said.body_hash = gs_hash(gs_hash(0, said.tail, tail), with->body, said.body_bytes);
    gs_frame frame = {.head = &said,
                      .head_bytes = HEAD_FIXED + tail,
                      .body = with->body,
                      .body_bytes = said.body_bytes,
                      .padding_bytes = draw(t) % 3 == 0 ? draw_size(t) / 2 : 0};
    if (!t->carrier->send(t->net, to, &frame, cookie)) {
        fail(t, "send refused", to);
    }
    memset(&said, 0xee, sizeof said); /* heads are copied */
    with->is_sent = true;
    t->sent++;
    t->sent_in_flight++;
}

static void check_frame(test *t, const gs_carried *carried)
{
    head said = {0};
    const gs_frame *frame = &carried->frame;
    if (frame->head_bytes == 1) {
        /* The last frame of a process that is in close already. */
        if (t->next_in[carried->peer] != t->frames) {
            fail(t, "the last frame came before others", carried->peer);
        }
        t->carrier->give_back(t->net, carried->handle);
        return;
    }
    if (frame->head_bytes < HEAD_FIXED || frame->head_bytes > sizeof said) {
        fail(t, "a head of another length", frame->head_bytes);
    }
    memcpy(&said, frame->head, frame->head_bytes);
    if (said.from != carried->peer || said.to != t->rank) {
        fail(t, "a frame of or for somebody else", said.from);
    }
    if (said.sequence != t->next_in[said.from]++) {
        fail(t, "a frame out of order", said.sequence);
    }
    size_t tail = frame->head_bytes - HEAD_FIXED;
    if (frame->body_bytes != said.body_bytes ||
        said.body_hash != gs_hash(gs_hash(0, said.tail, tail), frame->body, frame->body_bytes)) {
        fail(t, "a frame with another body", said.sequence);
    }
    t->come++;
    t->carrier->give_back(t->net, carried->handle);
}

static void check_left(test *t, uint64_t cookie)
{
    if (cookie >= IN_FLIGHT_MAX || !t->flights[cookie].is_sent) {
        fail(t, "a body left that was not sent", cookie);
    }
    t->flights[cookie].is_sent = false;
    /* Whoever still reads it would send something else. */
    memset(t->flights[cookie].body, (int)cookie, 64);
    t->sent_in_flight--;
    t->left++;
}

/* Everything that has happened; false: nothing had. */
static bool handle_events(test *t)
{
    bool any = false;
    bool is_lost = false;
    for (gs_carried said;; any = true) {
        t->carrier->poll(t->net, &said);
        if (said.kind == GS_CARRIED_NOTHING && is_lost) {
            t->carrier->abort(t->net);
            exit(EXIT_LOST);
        }
        if (said.kind == GS_CARRIED_NOTHING) {
            return any;
        }
        if (said.kind == GS_CARRIED_FRAME) {
            check_frame(t, &said);
        } else if (said.kind == GS_CARRIED_LEFT) {
            check_left(t, said.cookie);
        } else if (said.kind == GS_CARRIED_LOST) {
            (void)fprintf(stderr, "process %u: lost %u: %s\n", t->rank, said.peer, said.text);
            is_lost = true;
        } else {
            fail(t, "a sum that nobody asked for", said.cookie);
        }
    }
}

static void exchange(test *t, const char *mode)
{
    bool is_last = t->rank == t->ranks - 1;
    uint64_t all = t->frames * (t->ranks - 1);
    while (t->come < all || t->left < all) {
        if (is_last && strcmp(mode, "killed") == 0 && t->come > all / 2) {
            (void)raise(SIGKILL);
        }
        bool moved = handle_events(t);
        for (uint32_t i = 0; i < 3 && t->sent < all && t->sent_in_flight < IN_FLIGHT_MAX; i++) {
            uint32_t to = (uint32_t)(draw(t) % t->ranks);
            if (to != t->rank && t->next_out[to] < t->frames) {
                send_one(t, to);
                moved = true;
            }
        }
        if (!moved) {
            t->carrier->wait(t->net, now() + GS_NS_PER_MS);
        }
    }
}

static void await_sum(test *t, uint64_t cookie)
{
    for (gs_carried said;;) {
        t->carrier->poll(t->net, &said);
        if (said.kind == GS_CARRIED_DONE && said.cookie == cookie) {
            return;
        }
        if (said.kind == GS_CARRIED_FRAME) {
            check_frame(t, &said);
        } else if (said.kind != GS_CARRIED_NOTHING) {
            fail(t, "something else than the sum", said.kind);
        }
        t->carrier->wait(t->net, now() + GS_NS_PER_MS);
    }
}

/* All processes, then all but process 0: sums of rank + 1 and of multiples are small whole numbers,
 * exact in any order. */
static void check_sums(test *t)
{
    enum { COUNT = 100003 };
    float *data = malloc(COUNT * sizeof *data);
    uint32_t *members = malloc(t->ranks * sizeof *members);
    uint32_t groups[2] = {0};
    if (data == NULL || members == NULL) {
        fail(t, "no memory", 0);
    }
    for (uint32_t i = 0; i < t->ranks; i++) {
        members[i] = i;
    }
    for (uint32_t first = 0; first < 2 && first < t->ranks; first++) {
        if (t->rank >= first &&
            !t->carrier->group(t->net, members + first, t->ranks - first, &groups[first])) {
            fail(t, "no group", first);
        }
    }
    for (uint32_t first = 0; first < 2 && first <= t->rank; first++) {
        float sum = 0;
        for (uint32_t i = first; i < t->ranks; i++) {
            sum += (float)(i + 1);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            data[i] = (float)(t->rank + 1) * (float)(i % 17);
        }
        if (!t->carrier->all_reduce(t->net, groups[first], data, COUNT, 77 + first)) {
            fail(t, "all_reduce refused", first);
        }
        await_sum(t, 77 + first);
        for (uint32_t i = 0; i < COUNT; i++) {
            if (data[i] != sum * (float)(i % 17)) {
                fail(t, "a wrong sum", i);
            }
        }
    }
    free(data);
    free(members);
}

/* A wake before the wait is not forgotten. */
static void check_wake(test *t)
{
    gs_time_ns begin = now();
    t->carrier->wait(t->net, begin + 20 * GS_NS_PER_MS);
    if (t->carrier->wake != NULL) {
        begin = now();
        t->carrier->wake(t->net);
        t->carrier->wait(t->net, GS_TIME_NEVER);
        if (now() - begin > GS_NS_PER_S) {
            fail(t, "wake did not end the wait", (unsigned long long)(now() - begin));
        }
    }
}

static void run(test *t, const char *mode)
{
    for (uint32_t i = 0; i < IN_FLIGHT_MAX; i++) {
        t->flights[i].body = calloc(1, BODY_MAX);
    }
    t->next_out = calloc(t->ranks, sizeof *t->next_out);
    t->next_in = calloc(t->ranks, sizeof *t->next_in);
    exchange(t, mode);
    if (t->carrier->group != NULL && strcmp(mode, "frames") == 0) {
        check_sums(t);
    }
    check_wake(t);
    /* Closing sends what is still queued. */
    static unsigned char last[100000];
    for (uint32_t to = 0; to < t->ranks; to++) {
        gs_frame frame = {.head = "x", .head_bytes = 1, .body = last, .body_bytes = sizeof last};
        if (to != t->rank && !t->carrier->send(t->net, to, &frame, 0)) {
            fail(t, "send refused", to);
        }
    }
    t->carrier->close(t->net);
    for (uint32_t i = 0; i < IN_FLIGHT_MAX; i++) {
        free(t->flights[i].body);
    }
    free(t->next_out);
    free(t->next_in);
}

int main(int argc, char **argv)
{
    gs_error err = {.text = ""};
    gs_launch launch;
    test t = {0};
    if (argc < 4 || gs_launch_find(&launch, &err) != GS_OK) {
        (void)fprintf(stderr, "carried_frames: %s\n", argc < 4 ? "CARRIER MODE FRAMES" : err.text);
        return EXIT_CHECK;
    }
    t.ranks = launch.ranks;
    t.rank = launch.rank;
    t.frames = strtoull(argv[3], NULL, 10);
    t.state = t.rank;
    gs_time_ns deadline_ns = (argc > 4 ? strtoll(argv[4], NULL, 10) : 20000) * GS_NS_PER_MS;
    if (strcmp(argv[2], "absent") == 0 && t.rank == t.ranks - 1) {
        const struct timespec late = {.tv_sec = deadline_ns / GS_NS_PER_S + 2};
        (void)nanosleep(&late, NULL);
        return 0;
    }
    gs_carrier_config config = {.chunk_bytes = CHUNK_BYTES,
                                .poll_ns = 50 * GS_NS_PER_US,
                                .deadline_ns = deadline_ns,
                                .processes = t.ranks,
                                .process = t.rank,
                                .local_process = launch.local_rank,
                                .address = launch.address[0] == '\0' ? NULL : launch.address,
                                .job = launch.job};
    if (gs_carrier_find(argv[1], &t.carrier, &err) != GS_OK ||
        t.carrier->open(&config, &t.net, &err) != GS_OK) {
        (void)fprintf(stderr, "process %u: %s\n", t.rank, err.text);
        return EXIT_OPEN;
    }
    run(&t, argv[2]);
    return 0;
}
