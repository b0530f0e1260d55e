#include "live/carriers/tcp_socket.h"

#include "live/carriers/frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT_MAX = 65535 };

static bool is_loopback_text(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           strncmp(host, "127.", 4) == 0;
}

gs_status gs_tcp_address_read(const char *text, gs_tcp_address *out, gs_error *err)
{
    const char *host = text;
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        host++;
        length -= 2;
    } else if (memchr(text, ':', length) != NULL) {
        length = 0; /* an IPv6 address without brackets: which colon is meant? */
    }
    char *end = NULL;
    long port = colon == NULL ? 0 : strtol(colon + 1, &end, 10);
    if (length == 0 || length >= sizeof out->host || end == colon + 1 || *end != '\0' || port < 1 ||
        port > PORT_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "tcp: \"%.200s\" is no address of process 0; allowed is HOST:PORT or "
                       "[IPv6]:PORT, with a port of 1..%d",
                       text, PORT_MAX);
    }
    *out = (gs_tcp_address){.port = (uint32_t)port};
    memcpy(out->host, host, length);
    out->is_loopback = is_loopback_text(out->host);
    return GS_OK;
}

bool gs_tcp_prepare(int socket)
{
    int one = 1;
    int flags = fcntl(socket, F_GETFL);
    return flags >= 0 && fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 &&
           setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0;
}

static int listen_at(const struct sockaddr *address, socklen_t length)
{
    int listening = socket(address->sa_family, SOCK_STREAM, 0);
    if (listening < 0) {
        return -1;
    }
    int one = 1;
    int zero = 0;
    /* A run that starts again must not wait for the connections of the one before. */
    (void)setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->sa_family == AF_INET6) {
        (void)setsockopt(listening, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    }
    if (gs_tcp_prepare(listening) && bind(listening, address, length) == 0 &&
        listen(listening, SOMAXCONN) == 0) {
        return listening;
    }
    int why = errno;
    (void)close(listening);
    errno = why;
    return -1;
}

int gs_tcp_listen(const char *loopback, uint32_t port)
{
    struct sockaddr_in six_less = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    six.sin6_addr = in6addr_any;
    six_less.sin_addr.s_addr = htonl(INADDR_ANY);
    bool is_four = loopback != NULL && inet_pton(AF_INET, loopback, &six_less.sin_addr) == 1;
    bool is_six = loopback != NULL && inet_pton(AF_INET6, loopback, &six.sin6_addr) == 1;
    if (!is_four) {
        int listening = listen_at((const struct sockaddr *)&six, sizeof six);
        /* A machine may have no IPv6 at all. */
        if (listening >= 0 || is_six || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)) {
            return listening;
        }
    }
    return listen_at((const struct sockaddr *)&six_less, sizeof six_less);
}

uint32_t gs_tcp_port(int socket)
{
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof own;
    if (getsockname(socket, (struct sockaddr *)&own, &length) != 0) {
        return 0;
    }
    const void *address = &own;
    if (own.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = address;
        return ntohs(six->sin6_port);
    }
    const struct sockaddr_in *four = address;
    return ntohs(four->sin_port);
}

int gs_tcp_wait_ms(gs_time_ns until_ns)
{
    gs_time_ns left_ns = until_ns - gs_frames_clock();
    if (left_ns <= 0) {
        return 0;
    }
    return left_ns >= 1000 * GS_NS_PER_S ? 1000 * 1000
                                         : (int)((left_ns + GS_NS_PER_MS - 1) / GS_NS_PER_MS);
}

/* Until the socket is ready for that, or the time is over. */
static bool await(int socket, short events, gs_time_ns until_ns)
{
    struct pollfd one = {.fd = socket, .events = events};
    for (;;) {
        int count = poll(&one, 1, gs_tcp_wait_ms(until_ns));
        if (count > 0) {
            return true;
        }
        if ((count == 0 && gs_frames_clock() >= until_ns) || (count < 0 && errno != EINTR)) {
            errno = count == 0 ? ETIMEDOUT : errno;
            return false;
        }
    }
}

static int connect_to(const struct addrinfo *to, gs_time_ns until_ns)
{
    int connecting = socket(to->ai_family, SOCK_STREAM, 0);
    if (connecting < 0) {
        return -1;
    }
    int failed = gs_tcp_prepare(connecting) ? 0 : errno;
    if (failed == 0 && connect(connecting, to->ai_addr, to->ai_addrlen) != 0) {
        failed = errno;
        if (failed == EINPROGRESS) {
            socklen_t length = sizeof failed;
            if (!await(connecting, POLLOUT, until_ns) ||
                getsockopt(connecting, SOL_SOCKET, SO_ERROR, &failed, &length) != 0) {
                failed = errno;
            }
        }
    }
    if (failed == 0) {
        return connecting;
    }
    (void)close(connecting);
    errno = failed;
    return -1;
}

int gs_tcp_connect(const char *host, uint32_t port, gs_time_ns until_ns)
{
    char service[16];
    (void)snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, service, &wanted, &found) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    int connected = -1;
    for (const struct addrinfo *i = found; i != NULL && connected < 0; i = i->ai_next) {
        connected = connect_to(i, until_ns);
    }
    int why = errno;
    freeaddrinfo(found);
    errno = why;
    return connected;
}

bool gs_tcp_put(int socket, const void *bytes, size_t length, gs_time_ns until_ns)
{
    const unsigned char *next = bytes;
    while (length > 0) {
        ssize_t sent = send(socket, next, length, MSG_NOSIGNAL);
        if (sent > 0) {
            next += sent;
            length -= (size_t)sent;
        } else if (errno != EINTR && (errno != EAGAIN || !await(socket, POLLOUT, until_ns))) {
            return false;
        }
    }
    return true;
}

bool gs_tcp_get(int socket, void *bytes, size_t length, gs_time_ns until_ns)
{
    unsigned char *next = bytes;
    while (length > 0) {
        ssize_t got = recv(socket, next, length, 0);
        if (got == 0) {
            errno = ECONNRESET;
            return false;
        }
        if (got > 0) {
            next += got;
            length -= (size_t)got;
        } else if (errno != EINTR && (errno != EAGAIN || !await(socket, POLLIN, until_ns))) {
            return false;
        }
    }
    return true;
}

bool gs_tcp_is_closed(int socket)
{
    unsigned char one;
    ssize_t got = recv(socket, &one, 1, MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool gs_tcp_peer(int socket, char out[GS_TCP_HOST_BYTES], bool *is_loopback)
{
    static const char four_in_six[] = "::ffff:";
    struct sockaddr_storage other = {0};
    socklen_t length = sizeof other;
    char text[GS_TCP_HOST_BYTES];
    if (getpeername(socket, (struct sockaddr *)&other, &length) != 0 ||
        getnameinfo((const struct sockaddr *)&other, length, text, sizeof text, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        return false;
    }
    size_t skip =
        strncmp(text, four_in_six, sizeof four_in_six - 1) == 0 ? sizeof four_in_six - 1 : 0;
    (void)snprintf(out, GS_TCP_HOST_BYTES, "%s", text + skip);
    *is_loopback = is_loopback_text(out);
    return true;
}
