/* Frames over TCP: one connection for each pair of processes, no library. The control plane of NCCL
 * under torchrun, and a carrier of its own.
 *
 * A socket's buffer is the window of a destination. Each turn of a destination writes at most
 * chunk_bytes, bodies straight from their sender's memory; bodies are read straight into the
 * frame's, only what comes behind a head in one read is copied. */
#include "live/carrier.h"
#include "live/carriers/frames.h"
#include "live/carriers/tcp_meet.h"
#include "live/carriers/tcp_socket.h"

#include "base/assert.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    STAGE_BYTES = 8192,       /* read behind a body: heads, and small frames whole */
    READ_BYTES_MAX = 1 << 20, /* of one peer in one turn, so that others get theirs */
    FRAME_PARTS = 3,          /* header and head, body, padding */
    WRITE_PARTS_MAX = 24,     /* pieces of memory in one write */
    WRITE_TURNS_MAX = 4,      /* then it is time to read again */
    WAKE_POLLED = 0,          /* places in `polled` */
    TIMER_POLLED,
    FIXED_POLLED
};

static const gs_time_ns grace_ns = 100 * GS_NS_PER_MS;

typedef struct peer {
    int socket;    /* -1: this process, or one that is lost */
    bool is_full;  /* the socket takes no more for now */
    bool has_left; /* its last frame has come */
    int failure;   /* of writing to it, as errno says; 0: none */
    char host[GS_CARRIER_HOST_BYTES];
    gs_outgoing_queue out;
    gs_incoming *coming; /* whose body or padding is not all here */
    size_t stage_begin, stage_end;
    unsigned char *stage; /* [STAGE_BYTES] */
} peer;

typedef struct tcp {
    gs_frames frames;
    uint32_t processes;
    uint32_t process;
    uint32_t turn; /* whose turn to write it is */
    size_t chunk_bytes;
    gs_time_ns deadline_ns;
    peer *peers;           /* [processes] */
    unsigned char *stages; /* [processes][STAGE_BYTES] */
    unsigned char *zeros;  /* [chunk_bytes]: padding that is sent */
    unsigned char *waste;  /* [chunk_bytes]: padding that is read */
    struct pollfd *polled; /* [FIXED_POLLED + processes] */
    int wake;
    int timer;
} tcp;

static void lose(tcp *net, uint32_t index, const char *how)
{
    peer *from = &net->peers[index];
    (void)close(from->socket);
    from->socket = -1;
    if (from->coming != NULL) {
        gs_frames_give_back(&net->frames, from->coming);
        from->coming = NULL;
    }
    gs_frames_drop(&net->frames, &from->out);
    if (!from->has_left) {
        gs_frames_lost(&net->frames, index, "process %u (host %.64s) is gone: %s", index,
                       from->host, how);
    }
}

/* ------------------------------------------------------------------------------------ writing */

/* What of a frame has not gone, up to `room` (> 0) bytes. */
static size_t add_frame(const tcp *net, gs_outgoing *frame, size_t room, struct iovec *parts,
                        int *count)
{
    unsigned char *memory[] = {frame->wire, frame->body, net->zeros};
    const size_t bytes[] = {frame->wire_bytes, frame->body_bytes, frame->padding_bytes};
    size_t gone = frame->gone_bytes;
    size_t added = 0;
    for (int i = 0; i < FRAME_PARTS && added < room; i++) {
        if (gone >= bytes[i]) {
            gone -= bytes[i];
            continue;
        }
        size_t rest = bytes[i] - gone;
        size_t taken = rest < room - added ? rest : room - added;
        /* Padding is all alike: any of it begins where the zeros do. */
        void *begin = memory[i] + (memory[i] == net->zeros ? 0 : gone);
        parts[(*count)++] = (struct iovec){.iov_base = begin, .iov_len = taken};
        added += taken;
        gone = 0;
    }
    return added;
}

static void take_written(tcp *net, peer *to, size_t written)
{
    while (to->out.first != NULL) {
        gs_outgoing *frame = to->out.first;
        size_t rest = gs_outgoing_bytes(frame) - frame->gone_bytes;
        if (written < rest) {
            frame->gone_bytes += written;
            return;
        }
        written -= rest;
        gs_frames_left(&net->frames, gs_outgoing_pop(&to->out));
    }
    GS_ASSERT(written == 0);
}

/* One turn of a destination. false: nothing could be written. */
static bool write_piece(tcp *net, uint32_t index)
{
    peer *to = &net->peers[index];
    if (to->out.first == NULL || to->is_full || to->socket < 0) {
        return false;
    }
    struct iovec parts[WRITE_PARTS_MAX];
    struct msghdr message = {.msg_iov = parts};
    int count = 0;
    size_t bytes = 0;
    for (gs_outgoing *i = to->out.first;
         i != NULL && bytes < net->chunk_bytes && count + FRAME_PARTS <= WRITE_PARTS_MAX;
         i = i->next) {
        bytes += add_frame(net, i, net->chunk_bytes - bytes, parts, &count);
    }
    message.msg_iovlen = (size_t)count;
    ssize_t written = sendmsg(to->socket, &message, MSG_NOSIGNAL);
    if (written >= 0) {
        to->is_full = (size_t)written < bytes;
        take_written(net, to, (size_t)written);
        return true;
    }
    if (errno != EINTR) {
        to->is_full = true;
    }
    if (errno != EINTR && errno != EAGAIN && to->has_left) {
        lose(net, index, strerror(errno));
    } else if (errno != EINTR && errno != EAGAIN) {
        /* What it sent before is still to be read; reading will find the end. */
        to->failure = errno;
        gs_frames_drop(&net->frames, &to->out);
    }
    return false;
}

/* Destinations in turn, a piece each. */
static void write_out(tcp *net)
{
    bool moved = true;
    for (uint32_t turns = 0; moved && turns < WRITE_TURNS_MAX; turns++) {
        moved = false;
        for (uint32_t i = 0; i < net->processes; i++) {
            net->turn = net->turn + 1 < net->processes ? net->turn + 1 : 0;
            moved = write_piece(net, net->turn) || moved;
        }
    }
}

/* ------------------------------------------------------------------------------------ reading */

typedef enum staged { STAGED_LESS, STAGED_FRAME, STAGED_END } staged;

/* A process leaves: when all is done, or early, and then it says who was lost to it. */
static void part_from(tcp *net, uint32_t index, uint32_t blame)
{
    uint32_t culprit = blame - 1;
    if (blame == 0) {
        net->peers[index].has_left = true;
        return;
    }
    if (culprit < net->processes && culprit != index && culprit != net->process) {
        gs_frames_lost(&net->frames, culprit, "process %u (host %.64s) is gone: process %u says so",
                       culprit, net->peers[culprit].host, index);
    }
    lose(net, index, "it has given up");
}

/* The stage begins with a header: takes it and its head, if all of it is there. */
static staged begin_frame(tcp *net, uint32_t index)
{
    peer *from = &net->peers[index];
    gs_frame_header header;
    size_t have = from->stage_end - from->stage_begin;
    const unsigned char *next = from->stage + from->stage_begin;
    if (have < sizeof header) {
        return STAGED_LESS;
    }
    memcpy(&header, next, sizeof header);
    if (header.head_bytes == 0) {
        part_from(net, index, header.blame);
        return STAGED_END;
    }
    if (header.head_bytes > GS_FRAME_HEAD_BYTES) {
        lose(net, index, "what it sent is no frame");
        return STAGED_END;
    }
    if (have < sizeof header + header.head_bytes) {
        return STAGED_LESS;
    }
    from->coming = gs_frames_incoming(&net->frames, index, &header, next + sizeof header);
    if (from->coming == NULL) {
        lose(net, index, "no memory here for a frame of it");
        return STAGED_END;
    }
    from->stage_begin += sizeof header + header.head_bytes;
    return STAGED_FRAME;
}

static void end_frame(tcp *net, peer *from)
{
    gs_incoming *in = from->coming;
    if (in->come_bytes == in->body_bytes + in->padding_bytes) {
        gs_frames_come(&net->frames, in);
        from->coming = NULL;
    }
}

static void use_stage(tcp *net, uint32_t index)
{
    peer *from = &net->peers[index];
    while (from->coming != NULL || begin_frame(net, index) == STAGED_FRAME) {
        gs_incoming *in = from->coming;
        size_t have = from->stage_end - from->stage_begin;
        size_t body = in->come_bytes < in->body_bytes ? in->body_bytes - in->come_bytes : 0;
        body = body < have ? body : have;
        if (body > 0) {
            memcpy(in->body + in->come_bytes, from->stage + from->stage_begin, body);
        }
        size_t rest = in->body_bytes + in->padding_bytes - in->come_bytes;
        size_t taken = rest < have ? rest : have;
        in->come_bytes += taken;
        from->stage_begin += taken;
        end_frame(net, from);
        if (from->coming != NULL) {
            break;
        }
    }
    size_t left = from->stage_end - from->stage_begin;
    memmove(from->stage, from->stage + from->stage_begin, left);
    from->stage_begin = 0;
    from->stage_end = left;
}

/* One read: the rest of a body or of padding first, then the stage. Returns the bytes of the first
 * part. */
static size_t read_parts(const tcp *net, const peer *from, struct iovec *parts, int *count)
{
    const gs_incoming *in = from->coming;
    size_t direct = 0;
    if (in != NULL && in->come_bytes < in->body_bytes) {
        direct = in->body_bytes - in->come_bytes;
        parts[(*count)++] =
            (struct iovec){.iov_base = in->body + in->come_bytes, .iov_len = direct};
    } else if (in != NULL) {
        size_t rest = in->body_bytes + in->padding_bytes - in->come_bytes;
        direct = rest < net->chunk_bytes ? rest : net->chunk_bytes;
        parts[(*count)++] = (struct iovec){.iov_base = net->waste, .iov_len = direct};
    }
    parts[(*count)++] = (struct iovec){.iov_base = from->stage + from->stage_end,
                                       .iov_len = STAGE_BYTES - from->stage_end};
    return direct;
}

static void read_in(tcp *net, uint32_t index)
{
    peer *from = &net->peers[index];
    size_t total = 0;
    while (from->socket >= 0 && !from->has_left && total < READ_BYTES_MAX) {
        struct iovec parts[2];
        int count = 0;
        size_t direct = read_parts(net, from, parts, &count);
        size_t asked = direct + STAGE_BYTES - from->stage_end;
        ssize_t result = readv(from->socket, parts, count);
        if (result < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (result <= 0) {
            int why = result < 0 ? errno : from->failure;
            lose(net, index, why == 0 ? "it closed the connection" : strerror(why));
            return;
        }
        size_t got = (size_t)result;
        size_t first = got < direct ? got : direct;
        if (first > 0) {
            from->coming->come_bytes += first;
            end_frame(net, from);
        }
        from->stage_end += got - first;
        use_stage(net, index);
        total += got;
        if (got < asked) {
            return; /* that was all for now */
        }
    }
}

/* Waits for the network, at most so long, and moves what can be moved. timeout_ms as poll(2). */
static void look(tcp *net, int timeout_ms, bool is_wait)
{
    net->polled[WAKE_POLLED] = (struct pollfd){.fd = is_wait ? net->wake : -1, .events = POLLIN};
    net->polled[TIMER_POLLED] = (struct pollfd){.fd = is_wait ? net->timer : -1, .events = POLLIN};
    for (uint32_t i = 0; i < net->processes; i++) {
        const peer *other = &net->peers[i];
        struct pollfd *entry = &net->polled[FIXED_POLLED + i];
        *entry = (struct pollfd){.fd = -1};
        if (!other->has_left) {
            entry->events = POLLIN;
        }
        if (other->is_full && other->out.first != NULL) {
            entry->events |= POLLOUT;
        }
        if (entry->events != 0) {
            entry->fd = other->socket;
        }
    }
    if (poll(net->polled, FIXED_POLLED + net->processes, timeout_ms) <= 0) {
        return;
    }
    uint64_t count;
    if (net->polled[WAKE_POLLED].revents != 0) {
        (void)!read(net->wake, &count, sizeof count);
    }
    for (uint32_t i = 0; i < net->processes; i++) {
        short ready = net->polled[FIXED_POLLED + i].revents;
        if ((ready & POLLOUT) != 0) {
            net->peers[i].is_full = false;
        }
        if ((ready & ~POLLOUT) != 0) {
            read_in(net, i);
        }
    }
}

/* ---------------------------------------------------------------------------------- the table */

static void let_go(tcp *net)
{
    for (uint32_t i = 0; net->peers != NULL && i < net->processes; i++) {
        peer *other = &net->peers[i];
        if (other->socket >= 0) {
            (void)close(other->socket);
        }
        if (other->coming != NULL) {
            gs_frames_give_back(&net->frames, other->coming);
        }
        gs_frames_drop(&net->frames, &other->out);
    }
    if (net->wake >= 0) {
        (void)close(net->wake);
    }
    if (net->timer >= 0) {
        (void)close(net->timer);
    }
    gs_frames_fini(&net->frames);
    free(net->peers);
    free(net->stages);
    free(net->zeros);
    free(net->waste);
    free(net->polled);
    free(net);
}

static gs_status take_memory(tcp *net, const gs_carrier_config *config, gs_error *err)
{
    net->peers = calloc(net->processes, sizeof *net->peers);
    net->stages = calloc(net->processes, STAGE_BYTES);
    net->zeros = calloc(1, net->chunk_bytes);
    net->waste = calloc(1, net->chunk_bytes);
    net->polled = calloc(FIXED_POLLED + net->processes, sizeof *net->polled);
    bool has_frames = gs_frames_init(&net->frames, net->processes);
    for (uint32_t i = 0; net->peers != NULL && i < net->processes; i++) {
        net->peers[i].socket = -1;
    }
    if (net->peers == NULL || net->stages == NULL || net->zeros == NULL || net->waste == NULL ||
        net->polled == NULL || !has_frames) {
        return gs_fail(err, GS_ENOMEM, "tcp: no memory for %u processes", config->processes);
    }
    net->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    net->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (net->wake < 0 || net->timer < 0) {
        return gs_fail(err, GS_EIO, "tcp: cannot make what wakes the network: %s", strerror(errno));
    }
    return GS_OK;
}

static gs_status meet(tcp *net, const gs_carrier_config *config, gs_error *err)
{
    gs_tcp_other *others = calloc(config->processes, sizeof *others);
    if (others == NULL) {
        return gs_fail(err, GS_ENOMEM, "tcp: no memory for %u processes", config->processes);
    }
    gs_status status = gs_tcp_meet(config, others, err);
    for (uint32_t i = 0; status == GS_OK && i < config->processes; i++) {
        peer *other = &net->peers[i];
        other->socket = others[i].socket;
        other->stage = net->stages + (size_t)i * STAGE_BYTES;
        memcpy(other->host, others[i].host, sizeof other->host);
    }
    free(others);
    return status;
}

static gs_status tcp_open(const gs_carrier_config *config, void **out, gs_error *err)
{
    GS_ASSERT(config->process < config->processes);
    GS_ASSERT(config->chunk_bytes > 0);
    if (config->address == NULL && config->processes > 1) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "tcp: the launcher does not say where process 0 is; set MASTER_ADDR and "
                       "MASTER_PORT for all processes (torchrun does)");
    }
    tcp *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return gs_fail(err, GS_ENOMEM, "tcp: no memory");
    }
    *net = (tcp){.processes = config->processes,
                 .process = config->process,
                 .turn = config->process,
                 .chunk_bytes = config->chunk_bytes,
                 .deadline_ns = config->deadline_ns,
                 .wake = -1,
                 .timer = -1};
    gs_status status = take_memory(net, config, err);
    if (status == GS_OK && config->processes > 1) {
        status = meet(net, config, err);
    }
    if (status != GS_OK) {
        let_go(net);
        return status;
    }
    *out = net;
    return GS_OK;
}

static bool tcp_send(void *carrier, uint32_t to, const gs_frame *frame, uint64_t cookie)
{
    tcp *net = carrier;
    GS_ASSERT(to < net->processes && to != net->process);
    gs_outgoing *out = gs_frames_outgoing(&net->frames, frame, cookie);
    if (out == NULL) {
        return false;
    }
    peer *other = &net->peers[to];
    if (other->socket < 0 || other->failure != 0) {
        gs_frames_left(&net->frames, out);
        return true;
    }
    bool is_first = other->out.first == NULL;
    gs_outgoing_push(&other->out, out);
    if (is_first) {
        (void)write_piece(net, to);
    }
    return true;
}

static void tcp_poll(void *carrier, gs_carried *out)
{
    tcp *net = carrier;
    if (gs_frames_next(&net->frames, out)) {
        return;
    }
    write_out(net);
    look(net, 0, false);
    if (!gs_frames_next(&net->frames, out)) {
        out->kind = GS_CARRIED_NOTHING;
    }
}

static void tcp_give_back(void *carrier, void *handle)
{
    tcp *net = carrier;
    gs_frames_give_back(&net->frames, handle);
}

/* Something could be written or said at once. */
static bool is_busy(const tcp *net)
{
    if (gs_frames_has_next(&net->frames)) {
        return true;
    }
    for (uint32_t i = 0; i < net->processes; i++) {
        if (net->peers[i].out.first != NULL && !net->peers[i].is_full) {
            return true;
        }
    }
    return false;
}

static void tcp_wait(void *carrier, gs_time_ns until_ns)
{
    tcp *net = carrier;
    if (is_busy(net)) {
        return;
    }
    until_ns = until_ns > 0 ? until_ns : 1;
    struct itimerspec when = {
        .it_value = {.tv_sec = until_ns / GS_NS_PER_S, .tv_nsec = until_ns % GS_NS_PER_S}};
    if (until_ns == GS_TIME_NEVER) {
        when = (struct itimerspec){0}; /* stops the timer */
    }
    if (timerfd_settime(net->timer, TFD_TIMER_ABSTIME, &when, NULL) != 0) {
        return;
    }
    look(net, -1, true);
}

static void tcp_wake(void *carrier)
{
    tcp *net = carrier;
    const uint64_t one = 1;
    (void)!write(net->wake, &one, sizeof one);
}

/* All that was sent to it has gone, and it has sent its last frame. */
static bool has_parted(const peer *other)
{
    return other->socket < 0 || (other->out.first == NULL && other->has_left);
}

static void tcp_close(void *carrier)
{
    tcp *net = carrier;
    gs_time_ns until_ns = gs_frames_clock() + net->deadline_ns;
    for (uint32_t i = 0; i < net->processes; i++) {
        gs_outgoing *last = gs_frames_outgoing(&net->frames, NULL, 0);
        if (last != NULL && net->peers[i].socket >= 0 && net->peers[i].failure == 0) {
            gs_outgoing_push(&net->peers[i].out, last);
        } else if (last != NULL) {
            gs_frames_left(&net->frames, last);
        }
    }
    for (uint32_t parted = 0; parted < net->processes && gs_frames_clock() < until_ns;) {
        write_out(net);
        gs_frames_hush(&net->frames);
        for (parted = 0; parted < net->processes && has_parted(&net->peers[parted]); parted++) {
        }
        if (parted < net->processes) {
            look(net, is_busy(net) ? 0 : gs_tcp_wait_ms(until_ns), false);
        }
    }
    let_go(net);
}

static void tcp_abort(void *carrier)
{
    tcp *net = carrier;
    const struct timespec grace = {.tv_nsec = grace_ns};
    if (net->frames.loss_count > 0) {
        /* The others are about to find out too; this end must not be what they see first. */
        (void)nanosleep(&grace, NULL);
    }
    const gs_frame_header last = {
        .blame = 1 + (net->frames.loss_count > 0 ? net->frames.losses[0].peer : net->process)};
    for (uint32_t i = 0; i < net->processes; i++) {
        peer *other = &net->peers[i];
        bool is_between = other->out.first == NULL || other->out.first->gone_bytes == 0;
        if (other->socket >= 0 && is_between) {
            /* Where it does not get there, the end of the connection says less. */
            (void)!send(other->socket, &last, sizeof last, MSG_NOSIGNAL);
        }
    }
    let_go(net);
}

const gs_carrier gs_carrier_tcp = {
    .version = GS_CARRIER_VERSION,
    .name = "tcp",
    .summary = "one TCP connection for each pair of processes; needs no library",
    .open = tcp_open,
    .send = tcp_send,
    .poll = tcp_poll,
    .give_back = tcp_give_back,
    .wait = tcp_wait,
    .wake = tcp_wake,
    .close = tcp_close,
    .abort = tcp_abort,
};
