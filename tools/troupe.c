#include "tools/troupe.h"

#include "tools/message.h"
#include "tools/run_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct gs_troupe {
    gs_guests *guests; /* of process 0; a guest: NULL */
    int fd;            /* of a guest, to process 0 */
    pid_t parent;
    double told;
};

/* --- a guest ---------------------------------------------------------------------------------- */

static void tell_dealer(void *context, double share)
{
    gs_troupe *self = context;
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

static void make_run(gs_troupe *self, const gs_deal *deal, uint32_t run)
{
    gs_outcome outcome;
    gs_deal_ear ear = {tell_dealer, self};
    self->told = -1.0;
    if (deal->prepare != NULL) {
        deal->prepare(deal->context, run);
    }
    deal->make(deal->context, run, deal->threads > 0 ? (uint32_t)deal->threads : 1, &ear, &outcome);
    bool sent = gs_wire_send_outcome(self->fd, &outcome);
    gs_outcome_fini(&outcome);
    if (!sent) {
        _exit(GS_EXIT_FAILED);
    }
}

/* Until all outcomes are known. Process 0 that has gone, or says what it should not, is the end. */
static void serve(gs_troupe *self, const gs_deal *deal, uint32_t count, gs_outcome *outcomes)
{
    gs_frame_kind kind = GS_FRAME_END;
    uint64_t value = 0;
    do {
        if (!gs_wire_read_order(self->fd, &kind, &value) || kind == GS_FRAME_ANSWER) {
            _exit(GS_EXIT_OK);
        }
        if (kind == GS_FRAME_RUN) {
            make_run(self, deal, (uint32_t)value);
        } else if (kind == GS_FRAME_KNOWN &&
                   (value >= count || !gs_wire_read_outcome(self->fd, &outcomes[value]))) {
            _exit(GS_EXIT_FAILED);
        }
    } while (kind != GS_FRAME_END);
}

/* The guest goes on as if it were process 0, but nobody hears it. */
static gs_status become_guest(const gs_meeting *meeting, uint64_t plan, pid_t parent,
                              gs_troupe **out, gs_error *err)
{
    gs_troupe *self = gs_need(calloc(1, sizeof *self));
    self->parent = parent;
    gs_status status = gs_guest_come(meeting, plan, &self->fd, err);
    if (status != GS_OK || self->fd < 0) {
        _exit(status == GS_OK ? GS_EXIT_OK : GS_EXIT_USAGE);
    }
    if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL) {
        _exit(GS_EXIT_FAILED);
    }
    *out = self;
    return GS_OK;
}

/* --- who is what ------------------------------------------------------------------------------ */

static void wait_for_guests(int64_t count)
{
    while (count > 0) {
        pid_t ended = wait(NULL);
        if (ended < 0 && errno != EINTR) {
            return;
        }
        count -= ended > 0 ? 1 : 0;
    }
}

static gs_status send_guests(const gs_launch *launch, uint64_t plan, int64_t jobs, gs_troupe **out,
                             bool *out_over, gs_error *err)
{
    gs_meeting meeting;
    GS_TRY(gs_guests_find_host(launch, &meeting, err));
    pid_t parent = getpid();
    int64_t started = 0;
    for (int64_t i = 0; i < jobs; i++) {
        pid_t process = fork();
        if (process == 0) {
            return become_guest(&meeting, plan, parent, out, err);
        }
        started += process > 0 ? 1 : 0;
    }
    wait_for_guests(started);
    *out_over = true;
    return GS_OK;
}

gs_status gs_troupe_open(const gs_launch *launch, uint64_t plan, int64_t jobs, gs_troupe **out,
                         bool *out_over, gs_error *err)
{
    *out = NULL;
    *out_over = false;
    if (launch->ranks == 1) {
        return GS_OK;
    }
    if (launch->rank > 0) {
        return send_guests(launch, plan, jobs, out, out_over, err);
    }
    gs_guests *guests = NULL;
    GS_TRY(gs_guests_open(launch, plan, &guests, err));
    uint32_t wanted = (uint32_t)((launch->ranks - 1) * jobs);
    uint32_t came = gs_guests_await(guests, wanted);
    if (came < wanted) {
        gs_complain("note: of %u processes of other ranks %u have come; the others are not waited "
                    "for",
                    wanted, came);
    }
    *out = gs_need(calloc(1, sizeof **out));
    (*out)->guests = guests;
    return GS_OK;
}

void gs_troupe_part(gs_troupe *troupe)
{
    if (troupe == NULL) {
        return;
    }
    if (troupe->guests == NULL) {
        _exit(GS_EXIT_OK);
    }
    gs_guests_close(troupe->guests);
    free(troupe);
}

/* --- together --------------------------------------------------------------------------------- */

static bool tell_one(int fd, const gs_outcome *outcomes, uint32_t count)
{
    bool heard = true;
    for (uint32_t i = 0; i < count && heard; i++) {
        heard = !outcomes[i].started || (gs_wire_send_order(fd, GS_FRAME_KNOWN, i) &&
                                         gs_wire_send_outcome(fd, &outcomes[i]));
    }
    return heard && gs_wire_send_order(fd, GS_FRAME_END, 0);
}

void gs_troupe_deal(gs_troupe *troupe, gs_deal *deal, const uint32_t *runs, uint32_t count,
                    gs_outcome *outcomes)
{
    if (troupe != NULL && troupe->guests == NULL) {
        serve(troupe, deal, count, outcomes);
        return;
    }
    deal->guests = troupe == NULL ? NULL : troupe->guests;
    gs_deal_run(deal, runs, count);
    for (uint32_t i = 0; troupe != NULL && i < GS_GUESTS_MAX; i++) {
        int fd = gs_guests_at(troupe->guests, i);
        if (fd >= 0 && !tell_one(fd, outcomes, count)) {
            gs_guests_leave(troupe->guests, fd);
        }
    }
}

bool gs_troupe_agree(gs_troupe *troupe, bool own)
{
    if (troupe == NULL) {
        return own;
    }
    if (troupe->guests == NULL) {
        gs_frame_kind kind = GS_FRAME_END;
        uint64_t value = 0;
        if (!gs_wire_read_order(troupe->fd, &kind, &value) || kind != GS_FRAME_ANSWER) {
            _exit(GS_EXIT_OK);
        }
        return value != 0;
    }
    for (uint32_t i = 0; i < GS_GUESTS_MAX; i++) {
        int fd = gs_guests_at(troupe->guests, i);
        if (fd >= 0 && !gs_wire_send_order(fd, GS_FRAME_ANSWER, own ? 1 : 0)) {
            gs_guests_leave(troupe->guests, fd);
        }
    }
    return own;
}
