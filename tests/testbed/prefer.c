/* Runs a rank before everything else on a busy machine: prefer COMMAND ARGUMENT...
 *
 * A rank is a session of its own. Where the kernel shares its time out by sessions (autogroup), how
 * nice a rank is says nothing to other sessions: the session gets what the rank has. And whoever
 * runs may go on for a slice of some ms, although a rank of more weight has woken; but not where
 * the rank asks for short slices (Linux 6.12; before it that says nothing). No real-time policy:
 * see docs/testbed.md. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As sched_setattr(2) has it, for which there is no header everywhere. */
typedef struct sched_attributes {
    uint32_t bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
} sched_attributes;

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: prefer COMMAND ARGUMENT...\n");
        return 2;
    }
    int nice = getpriority(PRIO_PROCESS, 0);
    sched_attributes wanted = {.bytes = sizeof wanted, .nice = nice, .runtime_ns = 100000};
    if (syscall(SYS_sched_setattr, 0, &wanted, 0) != 0) {
        fprintf(stderr, "prefer: short slices: %s\n", strerror(errno));
    }
    FILE *session = fopen("/proc/self/autogroup", "w");
    if (session != NULL) {
        fprintf(session, "%d", nice);
        fclose(session);
    }
    execvp(arguments[1], arguments + 1);
    fprintf(stderr, "prefer: %s: %s\n", arguments[1], strerror(errno));
    return 127;
}
