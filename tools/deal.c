#include "tools/deal.h"

#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/run_wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 200 };

typedef struct worker {
    pid_t process; /* of a child; 0: none */
    int fd;        /* of its pipe, or of a guest; -1: nobody is there */
    bool is_guest;
    bool busy;
    bool told; /* to end early */
    uint32_t item;
    gs_wire wire;
    gs_outcome outcome;
} worker;

typedef struct table {
    const gs_deal *deal;
    const uint32_t *runs;
    uint32_t count;
    uint32_t next; /* item to start */
    uint32_t done;
    uint32_t *again; /* [again_count]: items whose process died */
    uint32_t again_count;
    uint32_t *died; /* [count]: how often */
    worker *workers;
    struct pollfd *polls; /* [places + 1]: the last one for new guests */
    size_t children;      /* places of children: the first ones */
    size_t places;
    uint32_t threads;
} table;

static bool has_item(const table *all)
{
    return gs_interrupt_signal() == 0 && (all->again_count > 0 || all->next < all->count);
}

/* What ended a process may end others: that comes last. */
static uint32_t take_item(table *all)
{
    return all->next < all->count ? all->next++ : all->again[--all->again_count];
}

static void tell_share(const table *all, double share_of_one)
{
    const gs_deal *deal = all->deal;
    double share = (double)deal->before + (double)all->done + share_of_one;
    for (size_t i = 0; i < all->places; i++) {
        share += all->workers[i].busy ? all->workers[i].wire.share : 0.0;
    }
    gs_progress_tell(deal->progress, deal->before + all->done, share / (double)deal->total);
}

static void end_item(table *all, uint32_t item, gs_outcome *outcome)
{
    all->done++;
    all->deal->ended(all->deal->context, all->runs[item], outcome);
}

static void prepare(const table *all, uint32_t item)
{
    if (all->deal->prepare != NULL) {
        all->deal->prepare(all->deal->context, all->runs[item]);
    }
}

/* --- in this process -------------------------------------------------------------------------- */

static void hear_own(void *context, double share)
{
    tell_share(context, share);
}

static void run_here(table *all, uint32_t item)
{
    gs_outcome outcome;
    gs_deal_ear ear = {hear_own, all};
    prepare(all, item);
    all->deal->make(all->deal->context, all->runs[item], all->threads, &ear, &outcome);
    end_item(all, item, &outcome);
    tell_share(all, 0.0);
}

/* --- a child ---------------------------------------------------------------------------------- */

typedef struct child {
    int fd;
    pid_t parent;
    double told;
} child;

static void tell_parent(void *context, double share)
{
    child *self = context;
    if (getppid() != self->parent) {
        _exit(GS_EXIT_FAILED); /* nobody is left to take the result */
    }
    if (share - self->told >= 0.01) {
        self->told = share;
        if (!gs_wire_send_progress(self->fd, share)) {
            _exit(GS_EXIT_FAILED);
        }
    }
}

static _Noreturn void run_child(const table *all, uint32_t item, int fd, pid_t parent)
{
    gs_interrupt_follow();
    child self = {.fd = fd, .parent = parent, .told = -1.0}; /* says at once that it runs */
    gs_deal_ear ear = {tell_parent, &self};
    gs_outcome outcome;
    all->deal->make(all->deal->context, all->runs[item], all->threads, &ear, &outcome);
    _exit(gs_wire_send_outcome(fd, &outcome) ? GS_EXIT_OK : GS_EXIT_FAILED);
}

/* false: the system has no process to give. */
static bool start_child(table *all, worker *place, uint32_t item)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t parent = getpid();
    pid_t process = fork();
    if (process < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (process == 0) {
        close(ends[0]);
        run_child(all, item, ends[1], parent);
    }
    close(ends[1]);
    *place = (worker){.process = process, .fd = ends[0], .item = item, .busy = true};
    return true;
}

/* --- dealing ---------------------------------------------------------------------------------- */

/* Once more, or what went wrong as its outcome. */
static void lose_item(table *all, uint32_t item, const char *how)
{
    all->died[item]++;
    if (all->died[item] < all->deal->tries) {
        all->again[all->again_count++] = item;
        return;
    }
    gs_outcome outcome = {0};
    gs_outcome_fail(&outcome, how);
    end_item(all, item, &outcome);
}

static void end_child(table *all, worker *place)
{
    int status = 0;
    while (waitpid(place->process, &status, 0) < 0 && errno == EINTR) {
    }
    uint32_t item = place->item;
    gs_outcome outcome = place->outcome;
    bool has_outcome = place->wire.has_outcome;
    close(place->fd);
    gs_wire_fini(&place->wire);
    *place = (worker){.fd = -1};
    if (has_outcome) {
        end_item(all, item, &outcome);
        return;
    }
    char *text = WIFSIGNALED(status)
                     ? gs_text("the process of this run was ended by signal %d (%s); "
                               "--jobs 1 runs it in the program itself",
                               WTERMSIG(status), strsignal(WTERMSIG(status)))
                     : gs_text("the process of this run ended with code %d and no result",
                               WEXITSTATUS(status));
    lose_item(all, item, text);
    free(text);
}

static void lose_guest(table *all, worker *place)
{
    bool was_busy = place->busy;
    uint32_t item = place->item;
    gs_guests_leave(all->deal->guests, place->fd);
    gs_wire_fini(&place->wire);
    *place = (worker){.fd = -1, .is_guest = true};
    if (was_busy) {
        lose_item(all, item,
                  "the processes that made this run on other machines ended, again and "
                  "again");
    }
}

static void take_guests(table *all)
{
    for (size_t i = all->children; i < all->places; i++) {
        int fd = gs_guests_at(all->deal->guests, (uint32_t)(i - all->children));
        if (all->workers[i].fd != fd) {
            all->workers[i] = (worker){.fd = fd, .is_guest = true};
        }
    }
}

/* Gives everybody who has nothing to do an item; how many are busy then. */
static size_t deal_items(table *all)
{
    size_t busy = 0;
    for (size_t i = 0; i < all->places; i++) {
        worker *place = &all->workers[i];
        if (place->busy || !has_item(all) || (place->is_guest && place->fd < 0)) {
            busy += place->busy ? 1 : 0;
            continue;
        }
        uint32_t item = take_item(all);
        if (place->is_guest) {
            place->busy = true;
            place->item = item;
            if (!gs_wire_send_order(place->fd, GS_FRAME_RUN, all->runs[item])) {
                lose_guest(all, place);
            }
        } else {
            prepare(all, item);
            if (!start_child(all, place, item)) {
                all->again[all->again_count++] = item;
            }
        }
        busy += place->busy ? 1 : 0;
    }
    if (busy == 0 && has_item(all)) {
        run_here(all, take_item(all));
    }
    return busy;
}

static void hear(table *all, worker *place)
{
    bool is_open = gs_wire_receive(&place->wire, place->fd, &place->outcome);
    if (place->is_guest && place->wire.has_outcome) {
        uint32_t item = place->item;
        gs_outcome outcome = place->outcome;
        gs_wire_fini(&place->wire);
        *place = (worker){.fd = place->fd, .is_guest = true};
        end_item(all, item, &outcome);
    }
    if (!is_open && place->is_guest) {
        lose_guest(all, place);
    } else if (!is_open) {
        end_child(all, place);
    }
}

static void tell_to_end(worker *place)
{
    if (place->process != 0 && !place->told) {
        place->told = true;
        kill(place->process, SIGTERM);
    }
}

/* Waits for news and takes it. */
static void listen_all(table *all)
{
    for (size_t i = 0; i < all->places; i++) {
        worker *place = &all->workers[i];
        all->polls[i] = (struct pollfd){.fd = place->fd, .events = POLLIN};
        if (gs_interrupt_signal() != 0) {
            tell_to_end(place);
        }
    }
    all->polls[all->places] =
        (struct pollfd){.fd = gs_guests_listening(all->deal->guests), .events = POLLIN};
    if (poll(all->polls, all->places + 1, POLL_MS) <= 0) {
        return;
    }
    for (size_t i = 0; i < all->places; i++) {
        if (all->polls[i].revents != 0) {
            hear(all, &all->workers[i]);
        }
    }
    if (all->polls[all->places].revents != 0) {
        gs_guests_let_in(all->deal->guests);
        take_guests(all);
    }
    tell_share(all, 0.0);
}

/* After a signal: who is asked to end is waited for, guests are not. */
static bool is_going_on(table *all)
{
    size_t busy = deal_items(all);
    if (gs_interrupt_signal() == 0) {
        return busy > 0 || has_item(all);
    }
    size_t children = 0;
    for (size_t i = 0; i < all->children; i++) {
        children += all->workers[i].busy ? 1 : 0;
    }
    return children > 0;
}

static void deal_all(table *all)
{
    all->workers = gs_need(calloc(all->places + 1, sizeof *all->workers));
    all->polls = gs_need(calloc(all->places + 1, sizeof *all->polls));
    for (size_t i = 0; i < all->places; i++) {
        all->workers[i] = (worker){.fd = -1, .is_guest = i >= all->children};
    }
    take_guests(all);
    while (is_going_on(all)) {
        listen_all(all);
    }
    for (size_t i = all->children; i < all->places; i++) {
        if (all->workers[i].busy) {
            gs_guests_leave(all->deal->guests, all->workers[i].fd);
        }
        gs_wire_fini(&all->workers[i].wire);
    }
    free(all->workers);
    free(all->polls);
}

/* Runs at a time share the processors. */
static uint32_t threads_of(const gs_deal *deal, size_t places)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t all = processors < 1 ? 1 : (size_t)processors;
    size_t share = places > 0 && places < all ? all / places : 1;
    return deal->threads > 0 ? (uint32_t)deal->threads : (uint32_t)share;
}

void gs_deal_run(const gs_deal *deal, const uint32_t *runs, uint32_t count)
{
    table all = {.deal = deal, .runs = runs, .count = count};
    size_t children = (size_t)deal->jobs < count ? (size_t)deal->jobs : count;
    all.threads = threads_of(deal, children);
    if (children <= 1 && deal->guests == NULL) {
        while (all.next < count && gs_interrupt_signal() == 0) {
            run_here(&all, all.next++);
        }
        return;
    }
    all.children = children;
    all.places = children + (deal->guests == NULL ? 0 : GS_GUESTS_MAX);
    all.again = gs_need(calloc((size_t)count + 1, sizeof *all.again));
    all.died = gs_need(calloc((size_t)count + 1, sizeof *all.died));
    deal_all(&all);
    free(all.again);
    free(all.died);
}
