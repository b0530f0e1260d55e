#include "tools/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal_number)
{
    if (came == 0) {
        came = signal_number;
    }
}

static void take(int flags)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A lost terminal loses no results; nohup, which ignores the signal, lets the run go on. */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &action, NULL);
    }
}

void gs_interrupt_watch(void)
{
    take((int)SA_RESETHAND);
}

void gs_interrupt_follow(void)
{
    take(0);
}

int gs_interrupt_signal(void)
{
    return came;
}
