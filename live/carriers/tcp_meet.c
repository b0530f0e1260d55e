#include "live/carriers/tcp_meet.h"

#include "base/hash.h"
#include "live/carriers/frames.h"
#include "live/carriers/tcp_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STRANGERS_MAX = 16, PORT_MAX = 65535 };

/* Another order of bytes is another number, and refused. */
static const uint64_t magic = UINT64_C(0x676e79730d0a1a01);
/* Who listens on a port that is not ours does not answer; a slow process 0 is asked again. */
static const gs_time_ns answer_ns = 2 * GS_NS_PER_S;
static const gs_time_ns again_ns = 20 * GS_NS_PER_MS;

/* What both sides of a new connection say. */
typedef struct greeting {
    uint64_t magic;
    uint64_t run; /* hash of what all processes of this run were told */
    uint32_t version;
    uint32_t processes;
    uint32_t from;
    uint32_t port; /* where `from` listens; 0: at the address that all were told */
    char host[GS_CARRIER_HOST_BYTES];
} greeting;

/* What process 0 tells the others: where everybody listens, or what went wrong. */
typedef struct place {
    char address[GS_TCP_HOST_BYTES]; /* "": on the host of process 0 */
    uint32_t port;
    char host[GS_CARRIER_HOST_BYTES];
} place;

typedef struct outcome {
    int32_t status;
    char text[GS_ERROR_TEXT_BYTES];
} outcome;

/* Somebody has connected and not greeted yet. */
typedef struct caller {
    int socket;
    size_t got_bytes;
    greeting said;
} caller;

typedef struct meeting {
    const gs_carrier_config *config;
    gs_tcp_other *others;
    gs_tcp_address address;
    char zero[GS_TCP_HOST_BYTES]; /* process 0 as this one reaches it */
    greeting own;
    gs_time_ns until_ns;
    int listening;
    place *places; /* [processes] */
    caller *callers;
    struct pollfd *polled;
    uint32_t caller_count;
    uint32_t caller_max;
} meeting;

static void take_back(int *socket)
{
    if (*socket >= 0) {
        (void)close(*socket);
        *socket = -1;
    }
}

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "tcp: no memory to meet the other processes");
}

/* The other side is one of this run; it must then be made alike. */
static bool is_of_run(const meeting *m, const greeting *said)
{
    return said->magic == magic && said->run == m->own.run;
}

static gs_status check_alike(const meeting *m, const greeting *said, gs_error *err)
{
    if (said->version != m->own.version) {
        return gs_fail(err, GS_EMISMATCH,
                       "tcp: process %u (host %.64s) is of another version of gradsync; start the "
                       "same program everywhere",
                       said->from, said->host);
    }
    if (said->processes != m->own.processes) {
        return gs_fail(err, GS_EMISMATCH,
                       "tcp: process %u (host %.64s) was started as one of %u processes, this one "
                       "(%u) as one of %u",
                       said->from, said->host, said->processes, m->own.from, m->own.processes);
    }
    return GS_OK;
}

/* "2, 5 and 3 more of 8 processes have not come within 10 s". */
static gs_status fail_missing(const meeting *m, uint32_t first, gs_error *err)
{
    enum { NAMED_MAX = 8 };
    char names[NAMED_MAX * 12] = "";
    size_t used = 0;
    uint32_t missing = 0;
    for (uint32_t i = first; i < m->config->processes; i++) {
        if (m->others[i].socket >= 0) {
            continue;
        }
        if (missing++ < NAMED_MAX) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%u",
                                     used == 0 ? "" : ", ", i);
        }
    }
    char more[32] = "";
    if (missing > NAMED_MAX) {
        (void)snprintf(more, sizeof more, " and %u more", missing - NAMED_MAX);
    }
    char duration[GS_UNIT_TEXT_BYTES];
    return gs_fail(err, GS_EDEADLOCK,
                   "tcp: process %s%s of %u has not come to process %u (host %.64s) within %s: was "
                   "it started, and does it reach %.200s?",
                   names, more, m->config->processes, m->own.from, m->own.host,
                   gs_format_duration(m->config->deadline_ns, duration), m->config->address);
}

/* A caller has greeted: it is let in, or its connection is closed. */
static gs_status let_in(meeting *m, caller *who, gs_error *err)
{
    const greeting *said = &who->said;
    if (!is_of_run(m, said)) {
        take_back(&who->socket);
        return GS_OK;
    }
    if (!gs_tcp_put(who->socket, &m->own, sizeof m->own, m->until_ns)) {
        take_back(&who->socket);
        return GS_OK;
    }
    GS_TRY(check_alike(m, said, err));
    if (said->from <= m->own.from || said->from >= m->config->processes) {
        return gs_fail(err, GS_EMISMATCH,
                       "tcp: a process on host %.64s has the number %u, which is not its own among "
                       "%u",
                       said->host, said->from, m->config->processes);
    }
    gs_tcp_other *other = &m->others[said->from];
    if (other->socket >= 0 && !gs_tcp_is_closed(other->socket)) {
        return gs_fail(err, GS_EMISMATCH,
                       "tcp: two processes have the number %u, on hosts %.64s and %.64s; the "
                       "launcher must count them",
                       said->from, other->host, said->host);
    }
    bool is_loopback = false;
    place *at = &m->places[said->from];
    if (!gs_tcp_peer(who->socket, at->address, &is_loopback)) {
        take_back(&who->socket);
        return GS_OK;
    }
    if (is_loopback) {
        /* It shares the host with process 0, whose address the others know. */
        at->address[0] = '\0';
    }
    at->port = said->port;
    memcpy(at->host, said->host, sizeof at->host);
    take_back(&other->socket);
    other->socket = who->socket;
    memcpy(other->host, said->host, sizeof other->host);
    who->socket = -1;
    return GS_OK;
}

/* Those behind move up: they stay in the order in which they came. */
static void forget_caller(meeting *m, uint32_t index)
{
    take_back(&m->callers[index].socket);
    m->caller_count--;
    memmove(&m->callers[index], &m->callers[index + 1],
            (m->caller_count - index) * sizeof *m->callers);
}

static void accept_callers(meeting *m)
{
    for (;;) {
        int accepted = accept(m->listening, NULL, NULL);
        if (accepted < 0) {
            return;
        }
        if (m->caller_count == m->caller_max) {
            /* Somebody floods the port; the oldest has had the longest time to greet. */
            forget_caller(m, 0);
        }
        if (!gs_tcp_prepare(accepted)) {
            (void)close(accepted);
            continue;
        }
        m->callers[m->caller_count++] = (caller){.socket = accepted};
    }
}

/* What a caller says; all of a greeting lets it in. */
static gs_status hear(meeting *m, uint32_t index, gs_error *err)
{
    caller *who = &m->callers[index];
    unsigned char *said = (unsigned char *)&who->said;
    ssize_t got = recv(who->socket, said + who->got_bytes, sizeof who->said - who->got_bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return GS_OK;
    }
    gs_status status = GS_OK;
    if (got > 0) {
        who->got_bytes += (size_t)got;
        if (who->got_bytes < sizeof who->said) {
            return GS_OK;
        }
        who->said.host[sizeof who->said.host - 1] = '\0';
        status = let_in(m, who, err);
    }
    forget_caller(m, index);
    return status;
}

static bool all_are_in(const meeting *m)
{
    for (uint32_t i = m->own.from + 1; i < m->config->processes; i++) {
        if (m->others[i].socket < 0) {
            return false;
        }
    }
    return true;
}

/* Those with higher numbers come. */
static gs_status await_callers(meeting *m, gs_error *err)
{
    while (!all_are_in(m)) {
        m->polled[0] = (struct pollfd){.fd = m->listening, .events = POLLIN};
        for (uint32_t i = 0; i < m->caller_count; i++) {
            m->polled[i + 1] = (struct pollfd){.fd = m->callers[i].socket, .events = POLLIN};
        }
        int ready = poll(m->polled, m->caller_count + 1, gs_tcp_wait_ms(m->until_ns));
        if (ready < 0 && errno != EINTR) {
            return gs_fail(err, GS_EIO, "tcp: cannot wait for the other processes: %s",
                           strerror(errno));
        }
        if (ready == 0 && gs_frames_clock() >= m->until_ns) {
            return fail_missing(m, m->own.from + 1, err);
        }
        /* From behind: those behind a caller that has greeted move up. */
        for (uint32_t i = ready > 0 ? m->caller_count : 0; i > 0; i--) {
            if (m->polled[i].revents != 0) {
                GS_TRY(hear(m, i - 1, err));
            }
        }
        accept_callers(m);
    }
    return GS_OK;
}

static gs_status listen_as_zero(meeting *m, gs_error *err)
{
    const char *loopback = NULL;
    if (m->address.is_loopback) {
        loopback = strchr(m->address.host, ':') != NULL ? "::1" : "127.0.0.1";
    }
    for (uint32_t i = 0; i < GS_TCP_PORTS_TRIED && m->address.port + i <= PORT_MAX; i++) {
        m->listening = gs_tcp_listen(loopback, m->address.port + i);
        if (m->listening >= 0) {
            return GS_OK;
        }
    }
    return gs_fail(err, GS_EIO,
                   "tcp: process 0 cannot listen on any of the %d ports from %u on: %s; name "
                   "another port",
                   GS_TCP_PORTS_TRIED, m->address.port, strerror(errno));
}

/* Process 0: tells each of the others how the meeting went. */
static void tell_outcome(meeting *m, gs_status status, const gs_error *err)
{
    outcome said = {.status = status};
    if (status != GS_OK) {
        (void)snprintf(said.text, sizeof said.text, "%s", err->text);
    }
    for (uint32_t i = 1; i < m->config->processes; i++) {
        int socket = m->others[i].socket;
        /* Who does not get it is lost, and that will be noticed. */
        if (socket >= 0 && gs_tcp_put(socket, &said, sizeof said, m->until_ns + answer_ns) &&
            status == GS_OK) {
            (void)gs_tcp_put(socket, m->places, m->config->processes * sizeof *m->places,
                             m->until_ns + answer_ns);
        }
    }
}

static gs_status meet_as_zero(meeting *m, gs_error *err)
{
    GS_TRY(listen_as_zero(m, err));
    gs_error inner = {.text = ""};
    gs_status status = await_callers(m, &inner);
    tell_outcome(m, status, &inner);
    return status == GS_OK ? GS_OK : gs_fail(err, status, "%s", inner.text);
}

/* Greets whoever listens there. until_ns: for the answer. false: not a process of this run. */
static bool greet(meeting *m, int socket, gs_time_ns until_ns, greeting *answer)
{
    return gs_tcp_put(socket, &m->own, sizeof m->own, until_ns) &&
           gs_tcp_get(socket, answer, sizeof *answer, until_ns) && is_of_run(m, answer);
}

/* This process must know where it listens before it greets. */
static gs_status listen_as_other(meeting *m, gs_error *err)
{
    const char *loopback = NULL;
    if (m->address.is_loopback) {
        loopback = strchr(m->zero, ':') != NULL ? "::1" : "127.0.0.1";
    }
    m->listening = gs_tcp_listen(loopback, 0);
    m->own.port = m->listening < 0 ? 0 : gs_tcp_port(m->listening);
    if (m->own.port == 0) {
        return gs_fail(err, GS_EIO, "tcp: process %u cannot listen: %s", m->own.from,
                       strerror(errno));
    }
    return GS_OK;
}

/* Process 0 may be late, and may have had to take one of the ports behind the first. */
static gs_status find_zero(meeting *m, gs_error *err)
{
    int why = 0;
    for (uint32_t i = 0; gs_frames_clock() < m->until_ns; i++) {
        uint32_t port = m->address.port + i % GS_TCP_PORTS_TRIED;
        gs_time_ns until_ns = gs_frames_clock() + answer_ns;
        until_ns = until_ns < m->until_ns ? until_ns : m->until_ns;
        int socket = port > PORT_MAX ? -1 : gs_tcp_connect(m->address.host, port, until_ns);
        why = socket < 0 && port <= PORT_MAX ? errno : why;
        bool is_loopback = false;
        greeting answer;
        if (socket >= 0 && gs_tcp_peer(socket, m->zero, &is_loopback)) {
            if (m->listening < 0) {
                GS_TRY(listen_as_other(m, err));
            }
            if (greet(m, socket, until_ns, &answer) && answer.from == 0) {
                m->others[0].socket = socket;
                memcpy(m->others[0].host, answer.host, sizeof answer.host - 1);
                return check_alike(m, &answer, err);
            }
        }
        take_back(&socket);
        if (i % GS_TCP_PORTS_TRIED == GS_TCP_PORTS_TRIED - 1) {
            const struct timespec pause = {.tv_nsec = again_ns};
            (void)nanosleep(&pause, NULL);
        }
    }
    char duration[GS_UNIT_TEXT_BYTES];
    return gs_fail(err, GS_EIO,
                   "tcp: process %u (host %.64s) has not found process 0 at %.160s, ports %u to "
                   "%u, within %s: %s; was it started there, and is no firewall between them?",
                   m->own.from, m->own.host, m->address.host, m->address.port,
                   m->address.port + GS_TCP_PORTS_TRIED - 1,
                   gs_format_duration(m->config->deadline_ns, duration),
                   why == EHOSTUNREACH ? "no such host, or no way to it"
                   : why == 0          ? "what answers is no process of this run"
                                       : strerror(why));
}

static gs_status hear_outcome(meeting *m, gs_error *err)
{
    outcome said;
    /* Process 0 says who is missing; it may take it until its deadline to know. */
    gs_time_ns until_ns = m->until_ns + answer_ns;
    bool heard = gs_tcp_get(m->others[0].socket, &said, sizeof said, until_ns);
    if (heard && said.status != GS_OK) {
        return gs_fail(err, (gs_status)said.status, "%.*s", (int)sizeof said.text - 1, said.text);
    }
    if (!heard || !gs_tcp_get(m->others[0].socket, m->places,
                              m->config->processes * sizeof *m->places, until_ns)) {
        return gs_fail(err, GS_EIO,
                       "tcp: process 0 (host %.64s) was lost while the processes met: %s",
                       m->others[0].host, strerror(errno));
    }
    return GS_OK;
}

static gs_status call(meeting *m, uint32_t peer, gs_error *err)
{
    place *at = &m->places[peer];
    at->address[sizeof at->address - 1] = at->host[sizeof at->host - 1] = '\0';
    const char *address = at->address[0] == '\0' ? m->zero : at->address;
    greeting answer;
    int socket = gs_tcp_connect(address, at->port, m->until_ns);
    if (socket < 0 || !greet(m, socket, m->until_ns, &answer) || answer.from != peer) {
        int why = errno;
        take_back(&socket);
        return gs_fail(err, GS_EIO,
                       "tcp: process %u (host %.64s) does not reach process %u (host %.64s) at %s "
                       "port %u: %s; is there a firewall between them?",
                       m->own.from, m->own.host, peer, at->host, address, at->port, strerror(why));
    }
    m->others[peer].socket = socket;
    memcpy(m->others[peer].host, at->host, sizeof at->host);
    return GS_OK;
}

static gs_status meet_as_other(meeting *m, gs_error *err)
{
    GS_TRY(find_zero(m, err));
    GS_TRY(hear_outcome(m, err));
    for (uint32_t peer = 1; peer < m->own.from; peer++) {
        GS_TRY(call(m, peer, err));
    }
    return await_callers(m, err);
}

static gs_status begin(meeting *m, gs_error *err)
{
    const gs_carrier_config *config = m->config;
    GS_TRY(gs_tcp_address_read(config->address, &m->address, err));
    m->places = calloc(config->processes, sizeof *m->places);
    m->caller_max = config->processes + STRANGERS_MAX;
    m->callers = calloc(m->caller_max, sizeof *m->callers);
    m->polled = calloc(m->caller_max + 1, sizeof *m->polled);
    if (m->places == NULL || m->callers == NULL || m->polled == NULL) {
        return no_memory(err);
    }
    m->own = (greeting){.magic = magic,
                        .version = GS_CARRIER_VERSION,
                        .processes = config->processes,
                        .from = config->process};
    m->own.run = gs_hash(0, config->address, strlen(config->address));
    if (config->job != NULL) {
        m->own.run = gs_hash(m->own.run, config->job, strlen(config->job));
    }
    (void)gethostname(m->own.host, sizeof m->own.host - 1);
    m->until_ns = gs_frames_clock() + config->deadline_ns;
    return GS_OK;
}

gs_status gs_tcp_meet(const gs_carrier_config *config, gs_tcp_other *out, gs_error *err)
{
    meeting m = {.config = config, .others = out, .listening = -1};
    for (uint32_t i = 0; i < config->processes; i++) {
        out[i] = (gs_tcp_other){.socket = -1};
    }
    gs_status status = begin(&m, err);
    if (status == GS_OK) {
        status = config->process == 0 ? meet_as_zero(&m, err) : meet_as_other(&m, err);
    }
    memcpy(out[config->process].host, m.own.host, sizeof m.own.host);
    while (m.caller_count > 0) {
        forget_caller(&m, 0);
    }
    take_back(&m.listening);
    for (uint32_t i = 0; i < config->processes && status != GS_OK; i++) {
        take_back(&out[i].socket);
    }
    free(m.places);
    free(m.callers);
    free(m.polled);
    return status;
}
