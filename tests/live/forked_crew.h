/* Crews of forked processes over TCP, for tests. */
#ifndef GS_TESTS_LIVE_FORKED_CREW_H
#define GS_TESTS_LIVE_FORKED_CREW_H

#include "live/carriers/tcp_socket.h"
#include "live/crew.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKED_MAX = 5, FORKED_KILLED = 128 + SIGKILL, FORKED_NOT_OPEN = 99 };

/* What a process does with its crew; returns its exit code, 0 is well. */
typedef int forked_body(gs_crew *crew);

static inline uint32_t forked_port(void)
{
    for (uint32_t port = 10000 + (uint32_t)getpid() % 20000; port < 32000; port += 19) {
        int listening = gs_tcp_listen(NULL, port);
        if (listening >= 0) {
            (void)close(listening);
            return port;
        }
    }
    cr_assert_fail("no free port");
    return 0;
}

static inline void forked_child(forked_body *what, uint32_t count, uint32_t self, uint32_t port,
                                gs_time_ns deadline_ns)
{
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    gs_crew_config config = {.carried = {.chunk_bytes = 65000,
                                         .poll_ns = 50 * GS_NS_PER_US,
                                         .deadline_ns = deadline_ns,
                                         .processes = count,
                                         .process = self,
                                         .local_process = self,
                                         .address = address}};
    gs_crew *crew;
    gs_error err;
    if (gs_carrier_find("tcp", &config.carrier, &err) != GS_OK ||
        gs_crew_open(&config, &crew, &err) != GS_OK) {
        (void)fprintf(stderr, "process %u: %s\n", self, err.text);
        _exit(FORKED_NOT_OPEN);
    }
    int code = what(crew);
    gs_crew_close(crew);
    _exit(code);
}

/* count <= FORKED_MAX; codes: as a shell has them. */
static inline void forked_run(forked_body *what, uint32_t count, gs_time_ns deadline_ns,
                              int codes[])
{
    pid_t pids[FORKED_MAX];
    uint32_t port = forked_port();
    (void)fflush(NULL);
    for (uint32_t i = 0; i < count; i++) {
        pids[i] = fork();
        cr_assert(pids[i] >= 0);
        if (pids[i] == 0) {
            forked_child(what, count, i, port, deadline_ns);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        int status = 0;
        cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
        codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

#endif
