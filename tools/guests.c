#include "tools/guests.h"

#include "base/hash.h"
#include "live/carrier.h"
#include "live/carriers/frames.h"
#include "live/carriers/tcp_socket.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/run_one.h"
#include "tools/version.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 65000 };
static const gs_time_ns deadline_ns = 30 * GS_NS_PER_S;
static const gs_time_ns poll_ns = 100 * GS_NS_PER_US;
static const gs_time_ns greeting_ns = 2 * GS_NS_PER_S;
static const uint64_t magic = UINT64_C(0x67736465616c0a01); /* another byte order is another one */

enum { ANSWER_COME = 1, ANSWER_UNLIKE = 2 };

typedef struct greeting {
    uint64_t magic;
    uint64_t secret;
    uint64_t program;
    uint64_t plan;
} greeting;

struct gs_guests {
    int listening;
    greeting wanted;
    bool has_complained;
    int fds[GS_GUESTS_MAX];
};

/* Outcomes travel as they lie in memory: only between equal programs. */
static uint64_t program_hash(void)
{
    const char *line = gs_version_line();
    const size_t bytes = sizeof(gs_outcome);
    return gs_hash(gs_hash(0, line, strlen(line)), &bytes, sizeof bytes);
}

/* Reading and writing wait again; and a machine that loses its power is noticed in half a minute.
 */
static void settle(int fd)
{
    const int on = 1;
    const int idle_s = 10;
    const int every_s = 5;
    const int times = 4;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* --- where process 0 is ----------------------------------------------------------------------- */

/* What srun and torchrun tell all processes; the secret is then the job, which is none. */
static gs_status meeting_of_launcher(const gs_launch *launch, gs_meeting *out, gs_error *err)
{
    gs_tcp_address address;
    GS_TRY(gs_tcp_address_read(launch->address, &address, err));
    (void)snprintf(out->host, sizeof out->host, "%s", address.host);
    out->port = address.port;
    out->patience_ns = deadline_ns;
    out->secret = gs_hash(0, launch->job, strlen(launch->job));
    return GS_OK;
}

static gs_status open_mpi(const gs_launch *launch, const gs_carrier **out, void **out_net,
                          gs_error *err)
{
    gs_carrier_config config = {.chunk_bytes = CHUNK_BYTES,
                                .poll_ns = poll_ns,
                                .deadline_ns = deadline_ns,
                                .processes = launch->ranks,
                                .process = launch->rank,
                                .local_process = launch->local_rank};
    GS_TRY(gs_carrier_find("mpi", out, err));
    return (*out)->open(&config, out_net, err);
}

static gs_status fail_late(const gs_launch *launch, gs_error *err)
{
    return gs_fail(err, GS_EDEADLOCK,
                   "%s: the processes did not meet within half a minute; start them all with the "
                   "same words",
                   launch->launcher);
}

/* Process 0 tells the others by MPI. */
static gs_status tell_others(const gs_launch *launch, const gs_meeting *meeting, gs_error *err)
{
    const gs_carrier *mpi = NULL;
    void *net = NULL;
    gs_meeting copy = *meeting;
    GS_TRY(open_mpi(launch, &mpi, &net, err));
    uint32_t left = launch->ranks - 1;
    bool sent = true;
    for (uint32_t to = 1; to < launch->ranks; to++) {
        gs_frame frame = {
            .head = "meet", .head_bytes = 4, .body = &copy, .body_bytes = sizeof copy};
        sent = sent && mpi->send(net, to, &frame, to);
    }
    gs_time_ns until_ns = gs_frames_clock() + deadline_ns;
    while (sent && left > 0 && gs_frames_clock() < until_ns) {
        gs_carried news;
        mpi->poll(net, &news);
        left -= news.kind == GS_CARRIED_LEFT ? 1 : 0;
        if (news.kind == GS_CARRIED_NOTHING) {
            mpi->wait(net, gs_frames_clock() + poll_ns);
        }
    }
    if (left > 0) {
        mpi->abort(net);
        return fail_late(launch, err);
    }
    mpi->close(net);
    return GS_OK;
}

static gs_status hear_host(const gs_launch *launch, gs_meeting *out, gs_error *err)
{
    const gs_carrier *mpi = NULL;
    void *net = NULL;
    GS_TRY(open_mpi(launch, &mpi, &net, err));
    gs_time_ns until_ns = gs_frames_clock() + deadline_ns;
    bool heard = false;
    while (!heard && gs_frames_clock() < until_ns) {
        gs_carried news;
        mpi->poll(net, &news);
        if (news.kind == GS_CARRIED_FRAME) {
            heard = news.frame.body_bytes == sizeof *out;
            if (heard) {
                memcpy(out, news.frame.body, sizeof *out);
            }
            mpi->give_back(net, news.handle);
        } else if (news.kind == GS_CARRIED_NOTHING) {
            mpi->wait(net, gs_frames_clock() + poll_ns);
        }
    }
    if (!heard) {
        mpi->abort(net);
        return fail_late(launch, err);
    }
    mpi->close(net);
    return GS_OK;
}

gs_status gs_guests_find_host(const gs_launch *launch, gs_meeting *out, gs_error *err)
{
    *out = (gs_meeting){.port = 0};
    GS_TRY(launch->address[0] != '\0' ? meeting_of_launcher(launch, out, err)
                                      : hear_host(launch, out, err));
    char own[sizeof out->host] = "";
    (void)gethostname(own, sizeof own - 1);
    if (strcmp(own, out->host) == 0) {
        (void)snprintf(out->host, sizeof out->host, "127.0.0.1");
    }
    return GS_OK;
}

/* --- process 0 -------------------------------------------------------------------------------- */

static gs_status open_door(const gs_launch *launch, gs_meeting *meeting, int *out, gs_error *err)
{
    bool is_told = launch->address[0] != '\0';
    if (is_told) {
        GS_TRY(meeting_of_launcher(launch, meeting, err));
    }
    int listening = gs_tcp_listen(NULL, meeting->port);
    if (listening < 0) {
        return gs_fail(err, GS_EIO, "%s: cannot listen at port %u (%s): set another MASTER_PORT",
                       launch->launcher, meeting->port, strerror(errno));
    }
    if (!is_told) {
        meeting->port = gs_tcp_port(listening);
        (void)gethostname(meeting->host, sizeof meeting->host - 1);
        if (getrandom(&meeting->secret, sizeof meeting->secret, 0) !=
            (ssize_t)sizeof meeting->secret) {
            (void)close(listening);
            return gs_fail(err, GS_EIO, "the system gives no random number (%s)", strerror(errno));
        }
    }
    *out = listening;
    return GS_OK;
}

gs_status gs_guests_open(const gs_launch *launch, uint64_t plan, gs_guests **out, gs_error *err)
{
    gs_meeting meeting = {.port = 0};
    int listening = -1;
    GS_TRY(open_door(launch, &meeting, &listening, err));
    gs_status status = launch->address[0] == '\0' ? tell_others(launch, &meeting, err) : GS_OK;
    if (status != GS_OK) {
        (void)close(listening);
        return status;
    }
    gs_guests *guests = gs_need(calloc(1, sizeof *guests));
    guests->listening = listening;
    guests->wanted = (greeting){magic, meeting.secret, program_hash(), plan};
    for (uint32_t i = 0; i < GS_GUESTS_MAX; i++) {
        guests->fds[i] = -1;
    }
    *out = guests;
    return GS_OK;
}

void gs_guests_close(gs_guests *guests)
{
    if (guests == NULL) {
        return;
    }
    for (uint32_t i = 0; i < GS_GUESTS_MAX; i++) {
        if (guests->fds[i] >= 0) {
            (void)close(guests->fds[i]);
        }
    }
    if (guests->listening >= 0) {
        (void)close(guests->listening);
    }
    free(guests);
}

int gs_guests_listening(const gs_guests *guests)
{
    return guests == NULL ? -1 : guests->listening;
}

/* false: a stranger, or one that cannot make these runs. */
static bool greet(gs_guests *guests, int fd)
{
    greeting said;
    gs_time_ns until_ns = gs_frames_clock() + greeting_ns;
    if (!gs_tcp_prepare(fd) || !gs_tcp_get(fd, &said, sizeof said, until_ns) ||
        said.magic != magic || said.secret != guests->wanted.secret) {
        return false;
    }
    bool is_alike = said.program == guests->wanted.program && said.plan == guests->wanted.plan;
    if (!is_alike && !guests->has_complained) {
        char host[GS_TCP_HOST_BYTES] = "?";
        bool is_loopback = false;
        (void)gs_tcp_peer(fd, host, &is_loopback);
        gs_complain("note: a process on %s has another %s and makes no runs; start the same with "
                    "the same files everywhere",
                    host, said.program == guests->wanted.program ? "scenario" : "program");
        guests->has_complained = true;
    }
    const uint32_t answer = is_alike ? ANSWER_COME : ANSWER_UNLIKE;
    return gs_tcp_put(fd, &answer, sizeof answer, until_ns) && is_alike;
}

void gs_guests_let_in(gs_guests *guests)
{
    int fd = accept(guests->listening, NULL, NULL);
    if (fd < 0) {
        return;
    }
    uint32_t place = 0;
    while (place < GS_GUESTS_MAX && guests->fds[place] >= 0) {
        place++;
    }
    if (place == GS_GUESTS_MAX || !greet(guests, fd)) {
        (void)close(fd);
        return;
    }
    settle(fd);
    guests->fds[place] = fd;
}

uint32_t gs_guests_await(gs_guests *guests, uint32_t count)
{
    gs_time_ns until_ns = gs_frames_clock() + deadline_ns;
    uint32_t came = 0;
    while (came < count && gs_frames_clock() < until_ns && gs_interrupt_signal() == 0) {
        struct pollfd door = {.fd = guests->listening, .events = POLLIN};
        if (poll(&door, 1, gs_tcp_wait_ms(until_ns)) > 0) {
            gs_guests_let_in(guests);
        }
        came = 0;
        for (uint32_t i = 0; i < GS_GUESTS_MAX; i++) {
            came += guests->fds[i] >= 0 ? 1 : 0;
        }
    }
    (void)close(guests->listening);
    guests->listening = -1;
    return came;
}

int gs_guests_at(const gs_guests *guests, uint32_t index)
{
    return guests->fds[index];
}

void gs_guests_leave(gs_guests *guests, int fd)
{
    for (uint32_t i = 0; i < GS_GUESTS_MAX; i++) {
        if (guests->fds[i] == fd) {
            (void)close(fd);
            guests->fds[i] = -1;
        }
    }
}

/* --- a guest ---------------------------------------------------------------------------------- */

/* Process 0 may not listen yet. -1: it does not within its patience. */
static int connect_patiently(const gs_meeting *meeting)
{
    static const struct timespec pause = {.tv_nsec = 100 * GS_NS_PER_MS};
    gs_time_ns late_ns = gs_frames_clock() + meeting->patience_ns;
    for (;;) {
        int fd = gs_tcp_connect(meeting->host, meeting->port, gs_frames_clock() + deadline_ns);
        if (fd >= 0 || gs_frames_clock() >= late_ns) {
            return fd;
        }
        (void)nanosleep(&pause, NULL);
    }
}

gs_status gs_guest_come(const gs_meeting *meeting, uint64_t plan, int *out_fd, gs_error *err)
{
    *out_fd = -1;
    int fd = connect_patiently(meeting);
    gs_time_ns until_ns = gs_frames_clock() + deadline_ns;
    if (fd < 0) {
        return GS_OK;
    }
    greeting own = {magic, meeting->secret, program_hash(), plan};
    uint32_t answer = 0;
    if (!gs_tcp_put(fd, &own, sizeof own, until_ns) ||
        !gs_tcp_get(fd, &answer, sizeof answer, until_ns)) {
        (void)close(fd);
        return GS_OK;
    }
    if (answer != ANSWER_COME) {
        (void)close(fd);
        return gs_fail(err, GS_EMISMATCH,
                       "process 0 has another program or another scenario; start the same with the "
                       "same files everywhere");
    }
    settle(fd);
    *out_fd = fd;
    return GS_OK;
}
