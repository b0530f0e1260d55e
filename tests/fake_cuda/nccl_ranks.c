/* The carrier over NCCL with processes as threads, over the fake runtime: frames from all to all,
 * sums, and the ends that are not good ones. A plain program, so that it also runs where Criterion
 * does not. Prints what failed. */
#include "live/carrier.h"
#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/thread_carrier.h"

#include <nccl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS_MAX = 4,
    FRAMES = 40, /* from each to each */
    FRAMES_MAX = FRAMES + 1,
    CHUNK = 4096,
    LARGEST = 3 * CHUNK + 1000,
    FLOATS_MAX = 70000, /* a sum's staging memory holds 64 CHUNK = 65,536 floats */
    WATCHDOG_S = 280
};

const gs_carrier *gs_carrier_module(void);

static atomic_int failures;

static void expect(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void expect(bool condition, const char *format, ...)
{
    va_list arguments;
    if (condition) {
        return;
    }
    atomic_fetch_add(&failures, 1);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)printf("\n");
}

static gs_time_ns now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (gs_time_ns)time.tv_sec * GS_NS_PER_S + time.tv_nsec;
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* ---------------------------------------------------------------- a job of threads */

typedef struct rank {
    uint32_t self, ranks;
    gs_carrier_config config;
    const gs_carrier *carrier;
    void *net;
    gs_status opened;
    gs_error why;
    void (*play)(struct rank *);
    pthread_t thread;
} rank;

static void *rank_main(void *argument)
{
    rank *self = argument;
    self->carrier = gs_carrier_module();
    self->play(self);
    return NULL;
}

static bool opens(rank *self)
{
    self->why.text[0] = '\0';
    self->opened = self->carrier->open(&self->config, &self->net, &self->why);
    return self->opened == GS_OK;
}

static void run(rank *ranks, uint32_t count, void (*play)(rank *))
{
    thread_world *world = thread_world_create(count);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = (rank){.self = i, .ranks = count, .play = play};
        ranks[i].config = (gs_carrier_config){.chunk_bytes = CHUNK,
                                              .poll_ns = 50 * GS_NS_PER_US,
                                              .deadline_ns = 20 * GS_NS_PER_S,
                                              .processes = count,
                                              .process = i,
                                              .local_process = i,
                                              .control = &thread_carrier,
                                              .control_net = thread_world_net(world, i)};
    }
    for (uint32_t i = 0; i < count; i++) {
        if (pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(ranks[i].thread, NULL);
    }
    thread_world_free(world);
}

/* ---------------------------------------------------------------- frames */

/* The k-th frame from one to another: everything about it follows from these three. */
typedef struct planned {
    uint64_t key;
    size_t body_bytes, padding_bytes;
} planned;

static planned plan(uint32_t from, uint32_t to, uint32_t number)
{
    planned made = {.key = mix(from * UINT64_C(1000003) + to * UINT64_C(4007) + number + 1)};
    made.body_bytes = number % 5 == 0 ? 0 : made.key % LARGEST;
    made.padding_bytes = number % 3 == 0 ? mix(made.key) % (2 * CHUNK) : 0;
    return made;
}

static uint8_t byte_of(const planned *frame, size_t index)
{
    return (uint8_t)(frame->key >> index % 57 ^ index);
}

typedef struct talk {
    rank *self;
    uint32_t sent[RANKS_MAX], received[RANKS_MAX];
    uint32_t left;
    bool has_left[RANKS_MAX * FRAMES_MAX];
    uint8_t *bodies[RANKS_MAX * FRAMES_MAX];
    bool is_lost[RANKS_MAX];
    uint32_t done;
} talk;

static talk *traffic_create(rank *self)
{
    talk *made = calloc(1, sizeof *made);
    if (made == NULL) {
        abort();
    }
    made->self = self;
    return made;
}

static void traffic_free(talk *traffic)
{
    for (size_t i = 0; i < RANKS_MAX * FRAMES_MAX; i++) {
        free(traffic->bodies[i]);
    }
    free(traffic);
}

static void send_next(talk *traffic, uint32_t to)
{
    rank *self = traffic->self;
    uint32_t number = traffic->sent[to]++;
    planned frame = plan(self->self, to, number);
    uint32_t cookie = to * FRAMES_MAX + number;
    uint8_t *body = malloc(frame.body_bytes + 1);
    if (body == NULL) {
        abort();
    }
    for (size_t i = 0; i < frame.body_bytes; i++) {
        body[i] = byte_of(&frame, i);
    }
    traffic->bodies[cookie] = body;
    gs_frame sent = {&frame.key, sizeof frame.key, body, frame.body_bytes, frame.padding_bytes};
    expect(self->carrier->send(self->net, to, &sent, cookie), "%u to %u: refused", self->self, to);
}

static void check_frame(talk *traffic, const gs_carried *event)
{
    uint32_t from = event->peer, number = traffic->received[from]++;
    planned wanted = plan(from, traffic->self->self, number);
    const uint8_t *body = event->frame.body;
    bool ok = event->frame.head_bytes == sizeof wanted.key &&
              memcmp(event->frame.head, &wanted.key, sizeof wanted.key) == 0 &&
              event->frame.body_bytes == wanted.body_bytes;
    for (size_t i = 0; ok && i < wanted.body_bytes; i++) {
        ok = body[i] == byte_of(&wanted, i);
    }
    expect(ok, "%u to %u, frame %u: not what was sent", from, traffic->self->self, number);
}

/* What happens until nothing does. */
static void take_all(talk *traffic)
{
    rank *self = traffic->self;
    for (;;) {
        gs_carried event;
        self->carrier->poll(self->net, &event);
        switch (event.kind) {
        case GS_CARRIED_NOTHING:
            return;
        case GS_CARRIED_FRAME:
            check_frame(traffic, &event);
            self->carrier->give_back(self->net, event.handle);
            break;
        case GS_CARRIED_LEFT:
            expect(!traffic->has_left[event.cookie], "%u: left twice", self->self);
            traffic->has_left[event.cookie] = true;
            traffic->left++;
            /* Nobody may read it any more. */
            free(traffic->bodies[event.cookie]);
            traffic->bodies[event.cookie] = NULL;
            break;
        case GS_CARRIED_DONE:
            expect(event.cookie == traffic->done, "%u: sums end out of turn", self->self);
            traffic->done++;
            break;
        case GS_CARRIED_LOST:
            expect(!traffic->is_lost[event.peer], "%u: lost %u twice", self->self, event.peer);
            expect(event.text[0] != '\0', "%u: lost %u without a word", self->self, event.peer);
            traffic->is_lost[event.peer] = true;
            break;
        }
    }
}

static bool rest(talk *traffic, gs_time_ns until_ns)
{
    rank *self = traffic->self;
    take_all(traffic);
    gs_time_ns soon = now() + GS_NS_PER_MS;
    self->carrier->wait(self->net, soon < until_ns ? soon : until_ns);
    return now() < until_ns;
}

static void exchange(talk *traffic, uint32_t ranks)
{
    uint32_t self = traffic->self->self;
    gs_time_ns until = now() + 60 * GS_NS_PER_S;
    for (uint32_t number = 0; number < FRAMES; number++) {
        for (uint32_t step = 1; step < ranks; step++) {
            send_next(traffic, (self + step) % ranks);
        }
        if (mix(self * UINT64_C(77) + number) % 3 == 0) {
            take_all(traffic);
        }
    }
    uint32_t received = 0;
    while (received < FRAMES * (ranks - 1) || traffic->left < FRAMES * (ranks - 1)) {
        if (!rest(traffic, until)) {
            expect(false, "%u: %u frames came, %u left, then nothing", self, received,
                   traffic->left);
            return;
        }
        received = 0;
        for (uint32_t i = 0; i < ranks; i++) {
            received += traffic->received[i];
        }
    }
}

static void play_frames(rank *self)
{
    if (!opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        return;
    }
    talk *traffic = traffic_create(self);
    exchange(traffic, self->ranks);
    self->carrier->close(self->net);
    traffic_free(traffic);
}

/* close alone brings what was sent to the others, who have taken nothing yet. */
static void play_close_at_once(rank *self)
{
    if (!opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        return;
    }
    talk *traffic = traffic_create(self);
    for (uint32_t i = 0; i < FRAMES; i++) {
        send_next(traffic, (self->self + 1) % self->ranks);
    }
    gs_time_ns before = now();
    self->carrier->close(self->net);
    expect(now() - before < self->config.deadline_ns, "%u: close took its deadline", self->self);
    traffic_free(traffic);
}

/* ---------------------------------------------------------------- sums */

/* Whole numbers, so that the sum is exact in any order: of rank r element i of sum s is
 * (r + 1) (i mod 31 + s). */
static void sum_over(talk *traffic, uint32_t group, uint32_t members, uint32_t weight,
                     float *floats)
{
    rank *self = traffic->self;
    const size_t counts[] = {1, FLOATS_MAX, 0, 4096, 4097};
    gs_time_ns until = now() + 60 * GS_NS_PER_S;
    for (uint32_t s = 0; s < sizeof counts / sizeof counts[0]; s++) {
        for (size_t i = 0; i < counts[s]; i++) {
            floats[i] = (float)((self->self + 1) * (i % 31 + s));
        }
        uint32_t done = traffic->done;
        expect(self->carrier->all_reduce(self->net, group, floats, counts[s], done),
               "%u: refused to sum", self->self);
        while (traffic->done == done) {
            if (!rest(traffic, until)) {
                expect(false, "%u: a sum over %u does not end", self->self, members);
                return;
            }
        }
        bool ok = true;
        for (size_t i = 0; i < counts[s]; i++) {
            float wanted = (float)(weight * (i % 31 + s));
            ok = ok && floats[i] >= wanted && floats[i] <= wanted;
        }
        expect(ok, "%u: sum %u over %u members is wrong", self->self, s, members);
    }
}

static void play_sums(rank *self)
{
    const uint32_t all[] = {0, 1, 2, 3}, low[] = {0, 1}, high[] = {2, 3}, outer[] = {0, 3};
    const uint32_t alone[] = {self->self};
    const uint32_t *half = self->self < 2 ? low : high;
    uint32_t group_all, group_half, group_outer = 0, group_alone;
    bool is_outer = self->self % 3 == 0;
    float *floats = malloc(FLOATS_MAX * sizeof *floats);
    if (floats == NULL || !opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        free(floats);
        return;
    }
    talk *traffic = traffic_create(self);
    bool ok = self->carrier->group(self->net, all, 4, &group_all) &&
              self->carrier->group(self->net, half, 2, &group_half) &&
              (!is_outer || self->carrier->group(self->net, outer, 2, &group_outer)) &&
              self->carrier->group(self->net, alone, 1, &group_alone);
    expect(ok, "%u: a group was refused", self->self);
    if (ok) {
        sum_over(traffic, group_alone, 1, self->self + 1, floats);
        sum_over(traffic, group_half, 2, self->self < 2 ? 3 : 7, floats);
        sum_over(traffic, group_all, 4, 10, floats);
        if (is_outer) {
            sum_over(traffic, group_outer, 2, 5, floats);
        }
        /* And frames beside it. */
        uint32_t done = traffic->done;
        expect(self->carrier->all_reduce(self->net, group_all, floats, FLOATS_MAX, done),
               "%u: refused to sum", self->self);
        exchange(traffic, self->ranks);
    }
    self->carrier->close(self->net);
    traffic_free(traffic);
    free(floats);
}

/* A group is made while frames are under way, some of which wait for a process that is making it
 * too: nothing that waits for the device may be called then. */
static void play_late_group(rank *self)
{
    const uint32_t all[] = {0, 1, 2, 3};
    uint32_t group;
    if (!opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        return;
    }
    talk *traffic = traffic_create(self);
    for (uint32_t i = 0; i < FRAMES; i++) {
        send_next(traffic, (self->self + 1) % self->ranks);
    }
    for (int i = 0; i < 5; i++) {
        for (gs_time_ns start = now(); now() < start + GS_NS_PER_MS; take_all(traffic)) {
        }
        expect(self->carrier->group(self->net, all, 4, &group), "%u: a late group", self->self);
    }
    gs_time_ns until = now() + 30 * GS_NS_PER_S;
    uint32_t from = (self->self + 3) % 4;
    while ((traffic->received[from] < FRAMES || traffic->left < FRAMES) && rest(traffic, until)) {
    }
    expect(traffic->received[from] == FRAMES && traffic->left == FRAMES,
           "%u: %u frames came, %u left", self->self, traffic->received[from], traffic->left);
    self->carrier->close(self->net);
    traffic_free(traffic);
}

/* Members that do not mean the same group find out. */
static void play_other_groups(rank *self)
{
    const uint32_t all[] = {0, 1}, alone[] = {1};
    uint32_t group;
    if (!opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        return;
    }
    if (self->self == 1) {
        expect(self->carrier->group(self->net, alone, 1, &group), "alone is allowed");
        const uint32_t wrong[] = {0, 1, 1};
        expect(!self->carrier->group(self->net, wrong, 4, &group), "more members than processes");
    }
    expect(self->carrier->group(self->net, all, 2, &group), "%u: the same group", self->self);
    self->carrier->close(self->net);
}

/* ---------------------------------------------------------------- ends that are not good ones */

/* Who goes before the others have opened is another matter (play_absent). */
static pthread_barrier_t all_open;

/* Process 3 goes in the middle; the others get through what they have among themselves. */
static void play_lost(rank *self)
{
    const uint32_t last = self->ranks - 1;
    if (!opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        return;
    }
    talk *traffic = traffic_create(self);
    (void)pthread_barrier_wait(&all_open);
    gs_time_ns until = now() + 30 * GS_NS_PER_S;
    if (self->self == last) {
        for (uint32_t i = 0; i < FRAMES; i++) {
            send_next(traffic, i % last);
        }
        take_all(traffic);
        thread_carrier.abort(self->config.control_net);
        self->carrier->abort(self->net);
        traffic_free(traffic);
        return;
    }
    for (uint32_t i = 0; i < FRAMES; i++) {
        for (uint32_t to = 0; to < self->ranks; to++) {
            if (to != self->self) {
                send_next(traffic, to);
            }
        }
    }
    bool ok = true, complete = false;
    while (ok && !complete) {
        ok = rest(traffic, until);
        complete = traffic->is_lost[last] && traffic->left >= FRAMES * last;
        for (uint32_t from = 0; from < last; from++) {
            complete = complete && (from == self->self || traffic->received[from] >= FRAMES);
        }
    }
    expect(ok, "%u: process %u is gone and nothing goes on", self->self, last);
    send_next(traffic, 0 + (self->self == 0)); /* the rest still works */
    self->carrier->close(self->net);
    traffic_free(traffic);
}

/* The network of one operation fails: somebody is told, and everybody ends. */
static atomic_uint told;

static void play_network_error(rank *self)
{
    if (!opens(self)) {
        expect(false, "%u: open: %s", self->self, self->why.text);
        return;
    }
    talk *traffic = traffic_create(self);
    (void)pthread_barrier_wait(&all_open);
    gs_time_ns until = now() + 30 * GS_NS_PER_S;
    for (uint32_t i = 0; i < FRAMES; i++) {
        for (uint32_t step = 1; step < self->ranks; step++) {
            send_next(traffic, (self->self + step) % self->ranks);
        }
    }
    bool is_lost = false, ok = true;
    while (!is_lost && ok) {
        ok = rest(traffic, until);
        for (uint32_t i = 0; i < self->ranks; i++) {
            is_lost = is_lost || traffic->is_lost[i];
        }
    }
    expect(ok, "%u: nobody says that the network failed", self->self);
    atomic_fetch_add(&told, is_lost ? 1 : 0);
    thread_carrier.abort(self->config.control_net);
    self->carrier->abort(self->net);
    traffic_free(traffic);
}

static void play_absent(rank *self)
{
    self->config.deadline_ns = GS_NS_PER_S;
    if (self->self == 2) {
        return;
    }
    expect(!opens(self) && self->opened == GS_EDEADLOCK, "%u: %s", self->self, self->why.text);
    expect(strstr(self->why.text, "process ") != NULL, "%u: %s", self->self, self->why.text);
}

/* Four processes on a host of two devices: 2 and 3 say why, and the others end with that at once.
 */
static void play_few_devices(rank *self)
{
    gs_time_ns before = now();
    expect(!opens(self) && self->opened == GS_EUNSUPPORTED, "%u: %s", self->self, self->why.text);
    expect(strstr(self->why.text, "has no CUDA device of its own, 2 here") != NULL, "%u: %s",
           self->self, self->why.text);
    expect(now() - before < self->config.deadline_ns / 2, "%u: waits for nothing", self->self);
}

static void play_no_device(rank *self)
{
    expect(!opens(self) && self->opened == GS_EUNSUPPORTED, "%u: opened", self->self);
    expect(strstr(self->why.text, "no CUDA device") != NULL && strchr(self->why.text, '\n') == NULL,
           "%u: %s", self->self, self->why.text);
}

static void play_few_blocks(rank *self)
{
    expect(!opens(self) && self->opened == GS_EUNSUPPORTED &&
               strstr(self->why.text, "4 processes need 7 thread blocks") != NULL,
           "%u: %s", self->self, self->why.text);
}

static void play_other_chunks(rank *self)
{
    self->config.chunk_bytes += self->self;
    expect(!opens(self), "%u: pieces of another size", self->self);
    expect(strstr(self->why.text, "the scenarios differ") != NULL, "%u: %s", self->self,
           self->why.text);
}

static void play_without_control(rank *self)
{
    self->config.control = NULL;
    expect(!opens(self) && self->opened == GS_EINVAL, "%u: %s", self->self, self->why.text);
}

/* ---------------------------------------------------------------- the fake is as strict as that */

typedef struct line_end {
    ncclUniqueId id;
    int self;
    bool receives_first;
    bool completed;
} line_end;

static bool completes(cudaEvent_t event, gs_time_ns within_ns)
{
    gs_time_ns until = now() + within_ns;
    while (cudaEventQuery(event) == cudaErrorNotReady) {
        if (now() > until) {
            return false;
        }
        fake_sleep_us(500);
    }
    return true;
}

static void settle(ncclComm_t communicator)
{
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
        (void)ncclCommGetAsyncError(communicator, &state);
        fake_sleep_us(100);
    }
}

/* A send and a receive on one communicator, in either order. */
static void *both_ways(void *argument)
{
    line_end *end = argument;
    ncclComm_t communicator;
    cudaStream_t stream;
    cudaEvent_t event;
    void *memory;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.maxCTAs = 1;
    (void)cudaSetDevice(end->self);
    (void)cudaMalloc(&memory, CHUNK);
    (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    (void)ncclCommInitRankConfig(&communicator, 2, end->id, end->self, &config);
    settle(communicator);
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == end->receives_first) {
            (void)ncclRecv(memory, CHUNK, ncclChar, 1 - end->self, communicator, stream);
        } else {
            (void)ncclSend(memory, CHUNK, ncclChar, 1 - end->self, communicator, stream);
        }
        settle(communicator);
    }
    (void)cudaEventRecord(event, stream);
    end->completed = completes(event, 300 * GS_NS_PER_MS);
    (void)ncclCommAbort(communicator);
    (void)cudaStreamDestroy(stream);
    (void)cudaEventDestroy(event);
    (void)cudaFree(memory);
    return NULL;
}

static void check_order(bool second_receives_first, bool wanted)
{
    line_end ends[2] = {{.self = 0}, {.self = 1, .receives_first = second_receives_first}};
    pthread_t threads[2];
    (void)ncclGetUniqueId(&ends[0].id);
    ends[1].id = ends[0].id;
    for (int i = 0; i < 2; i++) {
        (void)pthread_create(&threads[i], NULL, both_ways, &ends[i]);
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    expect(ends[0].completed == wanted && ends[1].completed == wanted, "two sends that meet %s",
           wanted ? "in order do not complete" : "complete");
}

/* ---------------------------------------------------------------- all of it */

int main(void)
{
    rank ranks[RANKS_MAX];
    fake_settings *fake = fake_settings_get();
    (void)alarm(WATCHDOG_S); /* a hang is a failure */
    check_order(true, true);
    check_order(false, false);
    for (int delay_us = 0; delay_us <= 300; delay_us += 300) {
        fake->delay_us = delay_us;
        fake->blocks = 16;
        run(ranks, 4, play_frames);
        run(ranks, 2, play_frames);
        run(ranks, 1, play_frames);
        run(ranks, 3, play_close_at_once);
        run(ranks, 4, play_late_group);
        run(ranks, 4, play_sums);
        fake->blocks = 10; /* six lanes, and four groups of a block each */
        run(ranks, 4, play_sums);
    }
    fake->blocks = 16;
    run(ranks, 2, play_other_groups);
    (void)pthread_barrier_init(&all_open, NULL, 4);
    run(ranks, 4, play_lost);
    atomic_store(&fake->fail_after, 60); /* 24 of them at open */
    run(ranks, 4, play_network_error);
    (void)pthread_barrier_destroy(&all_open);
    expect(atomic_load(&told) == 4, "%u of 4 were told", atomic_load(&told));
    atomic_store(&fake->fail_after, -1);
    run(ranks, 4, play_absent);
    run(ranks, 2, play_other_chunks);
    run(ranks, 2, play_without_control);
    fake->devices = 2;
    run(ranks, 4, play_few_devices);
    fake->devices = 0;
    run(ranks, 2, play_no_device);
    fake->devices = 4;
    fake->blocks = 6;
    run(ranks, 4, play_few_blocks);
    expect(fake_hazards() == 0, "%d calls waited for the device beside NCCL", fake_hazards());
    return atomic_load(&failures) == 0 ? 0 : 1;
}
