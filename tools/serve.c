#include "tools/serve.h"

#include "tools/message.h"
#include "tools/run_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Guests that are killed are replaced so often, each place. */
enum { REPLACED_MAX = 100 };

typedef struct guest {
    int fd;
    pid_t parent;
    double told;
} guest;

static void tell_dealer(void *context, double share)
{
    guest *self = context;
    if (getppid() != self->parent) {
        _exit(GS_EXIT_FAILED); /* the launcher has ended the command here */
    }
    if (share - self->told >= 0.01) {
        self->told = share;
        if (!gs_wire_send_progress(self->fd, share)) {
            _exit(GS_EXIT_FAILED);
        }
    }
}

static uint32_t threads_of(const gs_deal *deal)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t share = processors > deal->jobs ? (int64_t)processors / deal->jobs : 1;
    return (uint32_t)(deal->threads > 0 ? deal->threads : share);
}

static _Noreturn void be_guest(const gs_meeting *meeting, uint64_t plan, const gs_deal *deal,
                               pid_t parent)
{
    guest self = {.parent = parent};
    gs_error err = {0};
    if (gs_guest_come(meeting, plan, &self.fd, &err) != GS_OK) {
        _exit(GS_EXIT_USAGE);
    }
    gs_frame_kind kind = GS_FRAME_RUN;
    uint64_t order = 0;
    while (self.fd >= 0 && gs_wire_read_order(self.fd, &kind, &order) && kind == GS_FRAME_RUN) {
        uint32_t run = (uint32_t)order;
        gs_outcome outcome;
        gs_deal_ear ear = {tell_dealer, &self};
        self.told = -1.0;
        if (deal->prepare != NULL) {
            deal->prepare(deal->context, run);
        }
        deal->make(deal->context, run, threads_of(deal), &ear, &outcome);
        bool sent = gs_wire_send_outcome(self.fd, &outcome);
        gs_outcome_fini(&outcome);
        if (!sent) {
            break;
        }
    }
    _exit(GS_EXIT_OK);
}

static pid_t start(const gs_meeting *meeting, uint64_t plan, const gs_deal *deal)
{
    pid_t parent = getpid();
    pid_t process = fork();
    if (process == 0) {
        be_guest(meeting, plan, deal, parent);
    }
    return process;
}

int gs_serve(const gs_meeting *meeting, uint64_t plan, const gs_deal *deal)
{
    int64_t alive = 0;
    int64_t replaced = 0;
    int code = GS_EXIT_OK;
    gs_meeting there = *meeting;
    there.patience_ns = 0; /* the one before has met it, or the command has ended */
    for (int64_t i = 0; i < deal->jobs; i++) {
        alive += start(meeting, plan, deal) > 0 ? 1 : 0;
    }
    while (alive > 0) {
        int status = 0;
        pid_t ended = wait(&status);
        if (ended < 0 && errno == EINTR) {
            continue;
        }
        bool was_killed = WIFSIGNALED(status) && replaced++ < REPLACED_MAX * deal->jobs;
        if (!was_killed || start(&there, plan, deal) < 0) {
            alive--;
        }
        code = WIFEXITED(status) && WEXITSTATUS(status) == GS_EXIT_USAGE ? GS_EXIT_USAGE : code;
    }
    return code;
}
