#include "tools/run_pool.h"

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
    pid_t process; /* 0: a free place */
    int fd;
    uint32_t run; /* index of its outcome */
    gs_wire wire;
    bool told; /* to end early */
} worker;

typedef struct pool {
    const gs_pool_config *config;
    gs_outcome *outcomes;
    uint32_t run_count;
    uint32_t next; /* run to start */
    uint32_t done;
    worker *workers;
    struct pollfd *polls;
    size_t places;
    uint32_t threads; /* of each run */
} pool;

static gs_run_plan plan_of(const pool *all, uint32_t run)
{
    const gs_pool_config *config = all->config;
    return (gs_run_plan){.scenario = config->variants == NULL
                                         ? config->scenario
                                         : config->variants[run / config->seeds],
                         .keep_all_ranks = config->keep_all_ranks,
                         .look_every = config->look_every,
                         .threads = all->threads};
}

static void run_number(const gs_run_plan *plan, const pool *all, uint32_t run, gs_outcome *out)
{
    const gs_pool_config *config = all->config;
    gs_run_one(plan, config->variants == NULL ? run / config->seeds : 0,
               config->scenario->seed + run % config->seeds, out);
}

/* --- in this process -------------------------------------------------------------------------- */

static void tell_own(void *context, double share)
{
    const pool *all = context;
    gs_progress_tell(all->config->progress, all->done,
                     ((double)all->done + share) / (double)all->run_count);
}

static void count_ended(pool *all, uint32_t run)
{
    all->done++;
    if (all->config->ended != NULL) {
        all->config->ended(all->config->context, run);
    }
}

static void run_here(pool *all)
{
    gs_run_plan plan = plan_of(all, all->next);
    plan.progress = tell_own;
    plan.context = all;
    run_number(&plan, all, all->next, &all->outcomes[all->next]);
    count_ended(all, (uint32_t)all->next++);
    tell_own(all, 0.0);
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

static _Noreturn void run_child(const pool *all, uint32_t run, int fd, pid_t parent)
{
    gs_interrupt_follow();
    child self = {.fd = fd, .parent = parent, .told = -1.0}; /* says at once that it runs */
    gs_run_plan plan = plan_of(all, run);
    plan.progress = tell_parent;
    plan.context = &self;
    gs_outcome outcome;
    run_number(&plan, all, run, &outcome);
    _exit(gs_wire_send_outcome(fd, &outcome) ? GS_EXIT_OK : GS_EXIT_FAILED);
}

/* --- the parent ------------------------------------------------------------------------------- */

/* false: the system has no process to give. */
static bool start_child(pool *all, worker *place)
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
        run_child(all, all->next, ends[1], parent);
    }
    close(ends[1]);
    *place = (worker){.process = process, .fd = ends[0], .run = all->next};
    all->next++;
    return true;
}

static size_t start_children(pool *all)
{
    size_t busy = 0;
    for (size_t i = 0; i < all->places; i++) {
        worker *place = &all->workers[i];
        bool want = place->process == 0 && all->next < all->run_count && gs_interrupt_signal() == 0;
        if (want && !start_child(all, place) && busy == 0 && i + 1 == all->places) {
            run_here(all);
        }
        busy += place->process != 0 ? 1 : 0;
    }
    return busy;
}

static void end_child(pool *all, worker *place)
{
    int status = 0;
    while (waitpid(place->process, &status, 0) < 0 && errno == EINTR) {
    }
    if (!place->wire.has_outcome) {
        char *text = WIFSIGNALED(status)
                         ? gs_text("the process of this run was ended by signal %d (%s); "
                                   "--jobs 1 runs it in the program itself",
                                   WTERMSIG(status), strsignal(WTERMSIG(status)))
                         : gs_text("the process of this run ended with code %d and no result",
                                   WEXITSTATUS(status));
        gs_outcome_fail(&all->outcomes[place->run], text);
        free(text);
    }
    uint32_t run = (uint32_t)place->run;
    close(place->fd);
    gs_wire_fini(&place->wire);
    *place = (worker){0};
    count_ended(all, run);
}

static void tell_share(const pool *all)
{
    double share = (double)all->done;
    for (size_t i = 0; i < all->places; i++) {
        share += all->workers[i].process == 0 ? 0.0 : all->workers[i].wire.share;
    }
    gs_progress_tell(all->config->progress, all->done, share / (double)all->run_count);
}

/* Waits for news of the children and takes it. */
static void listen(pool *all)
{
    for (size_t i = 0; i < all->places; i++) {
        worker *place = &all->workers[i];
        all->polls[i] =
            (struct pollfd){.fd = place->process == 0 ? -1 : place->fd, .events = POLLIN};
        if (place->process != 0 && gs_interrupt_signal() != 0 && !place->told) {
            place->told = true;
            kill(place->process, SIGTERM);
        }
    }
    if (poll(all->polls, all->places, POLL_MS) <= 0) {
        return;
    }
    for (size_t i = 0; i < all->places; i++) {
        worker *place = &all->workers[i];
        if (all->polls[i].revents != 0 &&
            !gs_wire_receive(&place->wire, place->fd, &all->outcomes[place->run])) {
            end_child(all, place);
        }
    }
    tell_share(all);
}

/* Runs at a time share the processors. */
static uint32_t threads_of(const gs_pool_config *config, size_t places)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t all = processors < 1 ? 1 : (size_t)processors;
    size_t share = places > 0 && places < all ? all / places : 1;
    return config->threads > 0 ? (uint32_t)config->threads : (uint32_t)share;
}

void gs_pool_run(const gs_pool_config *config, gs_outcome *outcomes)
{
    pool all = {
        .config = config,
        .outcomes = outcomes,
        .run_count = config->seeds * (config->variants == NULL ? config->scenario->strategy_count
                                                               : config->variant_count),
    };
    memset(outcomes, 0, all.run_count * sizeof *outcomes);
    all.places = (size_t)config->jobs < all.run_count ? (size_t)config->jobs : all.run_count;
    all.threads = threads_of(config, all.places);
    if (all.places <= 1) {
        while (all.next < all.run_count && gs_interrupt_signal() == 0) {
            run_here(&all);
        }
        gs_progress_end(config->progress);
        return;
    }
    all.workers = gs_need(calloc(all.places, sizeof *all.workers));
    all.polls = gs_need(calloc(all.places, sizeof *all.polls));
    while (start_children(&all) > 0 || (all.next < all.run_count && gs_interrupt_signal() == 0)) {
        listen(&all);
    }
    free(all.workers);
    free(all.polls);
    gs_progress_end(config->progress);
}
