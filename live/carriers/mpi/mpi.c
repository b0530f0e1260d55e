/* Frames over MPI: a head announces a body, whose pieces follow from the sender's memory straight
 * into the receiver's.
 *
 * A head is a small message that any process may send at any time. Its receiver asks for the pieces
 * that it announces, in the order of the heads; MPI keeps the order of messages of one source and
 * kind, so each piece finds its place without a number. A sender has a few pieces under way to each
 * destination, and serves destinations in turn. MPI moves nothing by itself: poll must be called.
 */
#include "live/carriers/frames.h"
#include "live/carriers/mpi/mpi_link.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    SEND_WINDOW = 4, /* heads and pieces under way to one destination */
    /* Pieces asked of one source. What is not asked for when it comes is copied once more by MPI,
     * and senders run ahead of what has arrived: more than their window. */
    RECEIVE_WINDOW = 16,
    SLACK_NS = 1000 /* of sleeps; the kernel's own is 50 us */
};

/* Where a core is free, answers that come at once are worth a look before sleeping. */
static const gs_time_ns spin_ns = 20 * GS_NS_PER_US;

typedef struct peer {
    gs_outgoing_queue out; /* not all handed to MPI */
    uint32_t sending;      /* requests under way */
    gs_incoming_queue announced;
    gs_incoming *asking; /* of those: the first whose pieces are not all asked for; NULL: none */
    uint32_t receiving;  /* requests under way */
    uint64_t sent, come; /* frames in all */
    size_t piece_bytes;  /* of bodies, at most */
    bool is_lost;
} peer;

typedef struct mpi {
    gs_frames frames;
    gs_mpi_link *link;
    uint32_t processes;
    uint32_t process;
    uint32_t turn;
    uint32_t waiting; /* frames in `out` of all peers */
    uint32_t sending; /* requests of all peers */
    gs_time_ns poll_ns;
    gs_time_ns deadline_ns;
    bool spins;
    bool has_failed;
    peer *peers;          /* [processes] */
    unsigned char *zeros; /* [the largest piece_bytes]: padding that is sent */
} mpi;

static void fail(mpi *net, uint32_t index, const char *how)
{
    peer *other = &net->peers[index];
    if (index == net->process) {
        gs_frames_lost(&net->frames, index, "mpi: MPI has failed: %s", how);
    } else {
        gs_frames_lost(&net->frames, index, "process %u (host %.64s) is lost: %s", index,
                       gs_mpi_link_host(net->link, index), how);
    }
    net->has_failed = true;
    other->is_lost = true;
    for (gs_outgoing *frame; (frame = gs_outgoing_pop(&other->out)) != NULL;) {
        net->waiting--;
        frame->gone_bytes = gs_outgoing_bytes(frame);
        if (frame->requests == 0) {
            gs_frames_left(&net->frames, frame);
        }
    }
}

/* ------------------------------------------------------------------------------------ sending */

/* The next head or piece of what waits for a destination. false: nothing, or its window is full. */
static bool send_piece(mpi *net, uint32_t index)
{
    peer *to = &net->peers[index];
    gs_outgoing *frame = to->out.first;
    if (frame == NULL || to->sending == SEND_WINDOW) {
        return false;
    }
    bool is_sent = false;
    size_t in_body = frame->gone_bytes - frame->wire_bytes;
    size_t bytes = 0;
    if (frame->gone_bytes == 0) {
        bytes = frame->wire_bytes;
        is_sent = gs_mpi_link_send_head(net->link, index, frame->wire, bytes, frame);
    } else {
        bool is_body = in_body < frame->body_bytes;
        size_t rest = frame->body_bytes + (is_body ? 0 : frame->padding_bytes) - in_body;
        bytes = rest < to->piece_bytes ? rest : to->piece_bytes;
        const unsigned char *from =
            is_body ? (const unsigned char *)frame->body + in_body : net->zeros;
        is_sent = gs_mpi_link_send(net->link, index, from, bytes, frame);
    }
    if (!is_sent) {
        fail(net, index, "MPI refuses to send");
        return false;
    }
    frame->gone_bytes += bytes;
    frame->requests++;
    to->sending++;
    net->sending++;
    if (frame->gone_bytes == gs_outgoing_bytes(frame)) {
        (void)gs_outgoing_pop(&to->out);
        net->waiting--;
    }
    return true;
}

/* Destinations in turn, a piece each, until all windows are full. */
static void send_out(mpi *net)
{
    bool moved = net->waiting > 0;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < net->processes && net->waiting > 0; i++) {
            net->turn = net->turn + 1 < net->processes ? net->turn + 1 : 0;
            moved = send_piece(net, net->turn) || moved;
        }
    }
}

static void sent(mpi *net, uint32_t index, gs_outgoing *frame)
{
    net->peers[index].sending--;
    net->sending--;
    frame->requests--;
    if (frame->requests == 0 && frame->gone_bytes == gs_outgoing_bytes(frame)) {
        gs_frames_left(&net->frames, frame);
    }
}

/* ---------------------------------------------------------------------------------- receiving */

/* Pieces of announced frames are asked for in order, as many as the window allows. */
static void ask_pieces(mpi *net, uint32_t index)
{
    peer *from = &net->peers[index];
    while (from->asking != NULL && from->receiving < RECEIVE_WINDOW && !from->is_lost) {
        gs_incoming *in = from->asking;
        bool is_body = in->come_bytes < in->body_bytes;
        size_t rest = in->body_bytes + (is_body ? 0 : in->padding_bytes) - in->come_bytes;
        if (rest == 0) {
            from->asking = in->next;
            continue;
        }
        size_t bytes = rest < from->piece_bytes ? rest : from->piece_bytes;
        /* Padding is received to be dropped, each piece apart: MPI writes to all of them at once.
         */
        unsigned char *memory =
            is_body ? in->body + in->come_bytes : gs_frames_buffer(&net->frames, bytes);
        if (memory == NULL || !gs_mpi_link_receive(net->link, index, memory, bytes, in)) {
            fail(net, index,
                 memory == NULL ? "no memory here for what it sends" : "MPI refuses to receive");
            return;
        }
        in->come_bytes += bytes;
        in->requests++;
        from->receiving++;
    }
}

/* Frames of one source are whole in the order of their heads. */
static void tell_whole(mpi *net, peer *from)
{
    for (gs_incoming *in; (in = from->announced.first) != NULL && in != from->asking &&
                          in->requests == 0 && !from->is_lost;) {
        (void)gs_incoming_pop(&from->announced);
        gs_frames_come(&net->frames, in);
        from->come++;
    }
}

static void head_came(mpi *net, const gs_mpi_ended *ended)
{
    peer *from = &net->peers[ended->peer];
    gs_frame_header header;
    memcpy(&header, ended->memory, sizeof header);
    bool is_frame = ended->bytes >= sizeof header && header.head_bytes >= 1 &&
                    ended->bytes == sizeof header + header.head_bytes;
    gs_incoming *in = NULL;
    if (is_frame && !from->is_lost) {
        const unsigned char *head = (const unsigned char *)ended->memory + sizeof header;
        in = gs_frames_incoming(&net->frames, ended->peer, &header, head);
    }
    gs_mpi_link_ask_head(net->link);
    if (in == NULL) {
        fail(net, ended->peer,
             is_frame ? "no memory here for a frame of it" : "what it sent is no frame");
        return;
    }
    gs_incoming_push(&from->announced, in);
    if (from->asking == NULL) {
        from->asking = in;
    }
    ask_pieces(net, ended->peer);
    tell_whole(net, from);
}

static void piece_came(mpi *net, const gs_mpi_ended *ended)
{
    peer *from = &net->peers[ended->peer];
    gs_incoming *in = ended->owner;
    const unsigned char *memory = ended->memory;
    in->requests--;
    from->receiving--;
    if (in->body == NULL || memory < in->body || memory >= in->body + in->body_bytes) {
        gs_frames_buffer_back(&net->frames, ended->memory);
    }
    ask_pieces(net, ended->peer);
    tell_whole(net, from);
}

/* ------------------------------------------------------------------------------------ progress */

/* of: a sum, which is said, or a step of closing, which waits for it. NULL: MPI itself failed. */
static void end_together(mpi *net, gs_outgoing *of)
{
    if (of != NULL) {
        of->requests = 0;
    }
    if (of != NULL && of->said == GS_CARRIED_DONE) {
        gs_frames_left(&net->frames, of);
    }
}

static void handle(mpi *net, const gs_mpi_ended *ended)
{
    switch (ended->work) {
    case GS_MPI_HEAD_COME:
        head_came(net, ended);
        break;
    case GS_MPI_SENT:
        sent(net, ended->peer, ended->owner);
        break;
    case GS_MPI_COME:
        piece_came(net, ended);
        break;
    case GS_MPI_TOGETHER:
        end_together(net, ended->owner);
        break;
    }
}

static void progress(mpi *net)
{
    send_out(net);
    const gs_mpi_ended *ended = NULL;
    size_t count = gs_mpi_link_test(net->link, &ended);
    for (size_t i = 0; i < count; i++) {
        if (ended[i].failure != NULL) {
            bool has_peer = ended[i].work != GS_MPI_TOGETHER;
            fail(net, has_peer ? ended[i].peer : net->process, ended[i].failure);
        }
        handle(net, &ended[i]);
    }
    if (count > 0) {
        send_out(net);
    }
}

/* ---------------------------------------------------------------------------------- the table */

/* Within a host no network is between two processes, and pieces only cost: small ones make an
 * all-reduce by the program's own ring 2.5 times as slow as that of the MPI, these as fast. */
static size_t piece_within_host(const gs_carrier_config *config)
{
    enum { PIECE_BYTES = 1 << 20 };
    return config->chunk_bytes > PIECE_BYTES ? config->chunk_bytes : PIECE_BYTES;
}

/* Both sides of a pair come to the same. */
static void set_pieces(mpi *net, const gs_carrier_config *config)
{
    const char *here = gs_mpi_link_host(net->link, net->process);
    for (uint32_t i = 0; i < net->processes; i++) {
        bool is_near = strcmp(gs_mpi_link_host(net->link, i), here) == 0;
        net->peers[i].piece_bytes = is_near ? piece_within_host(config) : config->chunk_bytes;
    }
}

static gs_status mpi_open(const gs_carrier_config *config, void **out, gs_error *err)
{
    GS_ASSERT(config->process < config->processes);
    GS_ASSERT(config->chunk_bytes > 0);
    mpi *net = calloc(1, sizeof *net);
    peer *peers = calloc(config->processes, sizeof *peers);
    unsigned char *zeros = calloc(1, piece_within_host(config));
    gs_frames frames;
    bool has_frames = gs_frames_init(&frames, config->processes);
    gs_mpi_link *link = NULL;
    gs_status status = GS_OK;
    if (net == NULL || peers == NULL || zeros == NULL || !has_frames) {
        status = gs_fail(err, GS_ENOMEM, "mpi: no memory for %u processes", config->processes);
    } else {
        status = gs_mpi_link_open(config, GS_FRAME_WIRE_BYTES, &link, err);
    }
    if (status != GS_OK) {
        gs_frames_fini(&frames);
        free(zeros);
        free(peers);
        free(net);
        return status;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *net = (mpi){.frames = frames,
                 .link = link,
                 .processes = config->processes,
                 .process = config->process,
                 .turn = config->process,
                 .poll_ns = config->poll_ns,
                 .deadline_ns = config->deadline_ns,
                 .spins = cores > 0 && (uint32_t)cores > gs_mpi_link_neighbours(link),
                 .peers = peers,
                 .zeros = zeros};
    set_pieces(net, config);
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
    *out = net;
    return GS_OK;
}

static bool mpi_send(void *carrier, uint32_t to, const gs_frame *frame, uint64_t cookie)
{
    mpi *net = carrier;
    GS_ASSERT(to < net->processes);
    GS_ASSERT(to != net->process);
    gs_outgoing *out = gs_frames_outgoing(&net->frames, frame, cookie);
    if (out == NULL) {
        return false;
    }
    peer *other = &net->peers[to];
    if (other->is_lost) {
        gs_frames_left(&net->frames, out);
        return true;
    }
    bool is_first = other->out.first == NULL;
    other->sent++;
    net->waiting++;
    gs_outgoing_push(&other->out, out);
    if (is_first) {
        (void)send_piece(net, to);
    }
    return true;
}

static void mpi_poll(void *carrier, gs_carried *out)
{
    mpi *net = carrier;
    if (gs_frames_next(&net->frames, out)) {
        return;
    }
    progress(net);
    if (!gs_frames_next(&net->frames, out)) {
        out->kind = GS_CARRIED_NOTHING;
    }
}

static void mpi_give_back(void *carrier, void *handle)
{
    mpi *net = carrier;
    gs_frames_give_back(&net->frames, handle);
}

static void sleep_for(gs_time_ns duration_ns)
{
    const struct timespec pause = {.tv_sec = duration_ns / GS_NS_PER_S,
                                   .tv_nsec = duration_ns % GS_NS_PER_S};
    (void)nanosleep(&pause, NULL);
}

static void mpi_wait(void *carrier, gs_time_ns until_ns)
{
    mpi *net = carrier;
    gs_time_ns now_ns = gs_frames_clock();
    gs_time_ns spin_until_ns = net->spins ? now_ns + spin_ns : now_ns;
    while (!gs_frames_has_next(&net->frames) && now_ns < until_ns && now_ns < spin_until_ns) {
        progress(net);
        now_ns = gs_frames_clock();
    }
    if (gs_frames_has_next(&net->frames) || now_ns >= until_ns) {
        return;
    }
    gs_time_ns left_ns = until_ns - now_ns;
    sleep_for(left_ns < net->poll_ns ? left_ns : net->poll_ns);
}

static bool mpi_group(void *carrier, const uint32_t *members, uint32_t count, uint32_t *out)
{
    mpi *net = carrier;
    return gs_mpi_link_group(net->link, members, count, out);
}

static bool mpi_all_reduce(void *carrier, uint32_t group, float *data, size_t count,
                           uint64_t cookie)
{
    mpi *net = carrier;
    gs_outgoing *sum = gs_frames_outgoing(&net->frames, NULL, cookie);
    if (sum == NULL) {
        return false;
    }
    sum->said = GS_CARRIED_DONE;
    if (!gs_mpi_link_sum(net->link, group, data, count, sum)) {
        sum->said = GS_CARRIED_NOTHING;
        gs_frames_left(&net->frames, sum);
        return false;
    }
    return true;
}

/* Works until `done` says so; what comes is dropped. false: the time is over, or somebody is lost.
 */
static bool work_until(mpi *net, bool (*is_done)(mpi *net, const void *of), const void *of,
                       gs_time_ns until_ns)
{
    while (!is_done(net, of)) {
        if (net->has_failed || gs_frames_clock() >= until_ns) {
            return false;
        }
        progress(net);
        if (!gs_frames_has_next(&net->frames)) {
            sleep_for(net->poll_ns);
        }
        gs_frames_hush(&net->frames);
    }
    return true;
}

static bool has_sent_all(mpi *net, const void *of)
{
    (void)of;
    return net->waiting == 0 && net->sending == 0;
}

static bool has_all_come(mpi *net, const void *of)
{
    const uint64_t *counts = of;
    for (uint32_t i = 0; i < net->processes; i++) {
        if (net->peers[i].come < counts[i]) {
            return false;
        }
    }
    return true;
}

static bool has_ended(mpi *net, const void *of)
{
    const gs_outgoing *together = of;
    (void)net;
    return together->requests == 0;
}

/* All has been sent, everybody knows how much, and all of that has come everywhere. */
static bool part(mpi *net, uint64_t *counts, gs_outgoing *together)
{
    gs_time_ns until_ns = gs_frames_clock() + net->deadline_ns;
    uint64_t *come = counts + net->processes;
    for (uint32_t i = 0; i < net->processes; i++) {
        counts[i] = net->peers[i].sent;
    }
    together->requests = 1;
    if (!work_until(net, has_sent_all, NULL, until_ns) ||
        !gs_mpi_link_exchange(net->link, counts, come, together) ||
        !work_until(net, has_ended, together, until_ns) ||
        !work_until(net, has_all_come, come, until_ns)) {
        return false;
    }
    together->requests = 1;
    return gs_mpi_link_barrier(net->link, together) &&
           work_until(net, has_ended, together, until_ns);
}

static void mpi_close(void *carrier)
{
    mpi *net = carrier;
    uint64_t *counts = calloc(2 * (size_t)net->processes, sizeof *counts);
    gs_outgoing *together = gs_frames_outgoing(&net->frames, NULL, 0);
    if (counts == NULL || together == NULL || !part(net, counts, together)) {
        /* MPI would wait for those who are gone, and may still write to what it was given: that
         * stays, as after abort. */
        return;
    }
    free(counts);
    gs_frames_left(&net->frames, together);
    gs_mpi_link_finish(net->link);
    gs_frames_fini(&net->frames);
    free(net->zeros);
    free(net->peers);
    free(net);
}

static void mpi_abort(void *carrier)
{
    /* MPI stays as it is, with all it was given, and the launcher ends the others when this process
     * ends: with its own exit code, and after its last words. MPI_Abort would end it here. */
    (void)carrier;
}

static const gs_carrier carrier = {
    .version = GS_CARRIER_VERSION,
    .name = "mpi",
    .summary = "messages of the MPI that started the processes",
    .open = mpi_open,
    .send = mpi_send,
    .poll = mpi_poll,
    .give_back = mpi_give_back,
    .wait = mpi_wait,
    .group = mpi_group,
    .all_reduce = mpi_all_reduce,
    .close = mpi_close,
    .abort = mpi_abort,
};

__attribute__((visibility("default"))) const gs_carrier *gs_carrier_module(void);

const gs_carrier *gs_carrier_module(void)
{
    return &carrier;
}
