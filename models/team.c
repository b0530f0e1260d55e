#include "models/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "base/assert.h"

enum { IDLE, QUEUED, RUNS, DONE };

/* How long a thread without work looks before it sleeps. To wake one costs the owner a system call
 * and the thread some 50 us; between two steps of a small job less time than this passes. */
enum { LOOK_NS = 30000, LOOKS_PER_CLOCK = 64 };

typedef struct member {
    gs_team *team;
    uint32_t index;
    pthread_t thread;
} member;

struct gs_team {
    pthread_mutex_t lock;
    pthread_cond_t work;       /* members sleep: there is none */
    pthread_cond_t done;       /* the owner sleeps: its job runs elsewhere */
    gs_team_job *first, *last; /* queue, oldest first */
    atomic_uint queued;        /* a hint that is read without the lock */
    uint32_t asleep;
    bool owner_asleep;
    atomic_bool ends;
    uint32_t member_count;
    member *members;
};

/* ---------------------------------------------------------------- the queue, under the lock */

static void push(gs_team *team, gs_team_job *job)
{
    job->next = NULL;
    job->previous = team->last;
    if (team->last == NULL) {
        team->first = job;
    } else {
        team->last->next = job;
    }
    team->last = job;
    atomic_store_explicit(&job->state, QUEUED, memory_order_relaxed);
    atomic_fetch_add_explicit(&team->queued, 1, memory_order_relaxed);
}

static void take_off(gs_team *team, gs_team_job *job)
{
    if (job->previous == NULL) {
        team->first = job->next;
    } else {
        job->previous->next = job->next;
    }
    if (job->next == NULL) {
        team->last = job->previous;
    } else {
        job->next->previous = job->previous;
    }
    atomic_store_explicit(&job->state, RUNS, memory_order_relaxed);
    atomic_fetch_sub_explicit(&team->queued, 1, memory_order_relaxed);
}

static void lock(gs_team *team)
{
    int status = pthread_mutex_lock(&team->lock);
    GS_ASSERT(status == 0);
}

static void unlock(gs_team *team)
{
    int status = pthread_mutex_unlock(&team->lock);
    GS_ASSERT(status == 0);
}

/* Entered and left with the lock held. */
static void run_job(gs_team *team, gs_team_job *job, uint32_t index)
{
    take_off(team, job);
    unlock(team);
    job->run(job, index);
    lock(team);
    atomic_store_explicit(&job->state, DONE, memory_order_release);
    if (team->owner_asleep) {
        (void)pthread_cond_signal(&team->done);
    }
}

/* ---------------------------------------------------------------- waiting */

static int64_t clock_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool is_done(const gs_team_job *job)
{
    return atomic_load_explicit(&job->state, memory_order_acquire) == DONE;
}

/* Without the lock, until there may be something to do: work, or an end (job: of that job), or the
 * time is over. */
static void look(gs_team *team, const gs_team_job *job)
{
    int64_t until_ns = clock_ns() + LOOK_NS;
    for (;;) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&team->queued, memory_order_relaxed) > 0 ||
                (job == NULL ? atomic_load_explicit(&team->ends, memory_order_relaxed)
                             : is_done(job))) {
                return;
            }
            pause_briefly();
        }
        if (clock_ns() >= until_ns) {
            return;
        }
    }
}

static void *work(void *argument)
{
    const member *self = argument;
    gs_team *team = self->team;
    lock(team);
    while (!atomic_load_explicit(&team->ends, memory_order_relaxed)) {
        if (team->first == NULL) {
            unlock(team);
            look(team, NULL);
            lock(team);
        }
        if (team->first != NULL) {
            run_job(team, team->first, self->index);
        } else if (!atomic_load_explicit(&team->ends, memory_order_relaxed)) {
            team->asleep++;
            (void)pthread_cond_wait(&team->work, &team->lock);
            team->asleep--;
        }
    }
    unlock(team);
    return NULL;
}

/* ---------------------------------------------------------------- of the owner */

gs_status gs_team_create(uint32_t members, gs_arena *arena, gs_team **out, gs_error *err)
{
    GS_ASSERT(members >= 1 && members <= GS_TEAM_MEMBERS_MAX);
    gs_team *team = GS_TAKE(arena, gs_team, 1);
    member *all = GS_TAKE(arena, member, members);
    if (team == NULL || all == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u threads", members);
    }
    team->members = all;
    int status = pthread_mutex_init(&team->lock, NULL);
    GS_ASSERT(status == 0);
    status = pthread_cond_init(&team->work, NULL);
    GS_ASSERT(status == 0);
    status = pthread_cond_init(&team->done, NULL);
    GS_ASSERT(status == 0);
    team->member_count = 1;
    sigset_t every, before;
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before); /* signals are for the owner */
    while (team->member_count < members) {
        member *next = &all[team->member_count];
        *next = (member){.team = team, .index = team->member_count};
        if (pthread_create(&next->thread, NULL, work, next) != 0) {
            break;
        }
        team->member_count++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (team->member_count < members) {
        uint32_t got = team->member_count;
        gs_team_destroy(team);
        return gs_fail(err, GS_ENOMEM, "the system gives no more than %u of %u threads", got,
                       members);
    }
    *out = team;
    return GS_OK;
}

void gs_team_destroy(gs_team *team)
{
    if (team == NULL) {
        return;
    }
    lock(team);
    atomic_store_explicit(&team->ends, true, memory_order_relaxed);
    (void)pthread_cond_broadcast(&team->work);
    unlock(team);
    for (uint32_t i = 1; i < team->member_count; i++) {
        int status = pthread_join(team->members[i].thread, NULL);
        GS_ASSERT(status == 0);
    }
    (void)pthread_cond_destroy(&team->done);
    (void)pthread_cond_destroy(&team->work);
    (void)pthread_mutex_destroy(&team->lock);
}

uint32_t gs_team_members(const gs_team *team)
{
    return team->member_count;
}

void gs_team_submit(gs_team *team, gs_team_job *job)
{
    GS_ASSERT(atomic_load_explicit(&job->state, memory_order_relaxed) == IDLE);
    lock(team);
    push(team, job);
    bool wake = team->asleep > 0;
    unlock(team);
    if (wake) {
        (void)pthread_cond_signal(&team->work);
    }
}

bool gs_team_withdraw(gs_team *team, gs_team_job *job)
{
    lock(team);
    int state = atomic_load_explicit(&job->state, memory_order_relaxed);
    GS_ASSERT(state != IDLE);
    if (state == QUEUED) {
        take_off(team, job);
        atomic_store_explicit(&job->state, IDLE, memory_order_relaxed);
    }
    unlock(team);
    return state == QUEUED;
}

void gs_team_join(gs_team *team, gs_team_job *job)
{
    while (!is_done(job)) {
        lock(team);
        int state = atomic_load_explicit(&job->state, memory_order_relaxed);
        GS_ASSERT(state != IDLE);
        if (state == QUEUED) {
            run_job(team, job, 0);
        } else if (team->first != NULL) {
            run_job(team, team->first, 0);
        } else {
            unlock(team);
            look(team, job);
            lock(team);
            if (!is_done(job) && team->first == NULL) {
                team->owner_asleep = true;
                (void)pthread_cond_wait(&team->done, &team->lock);
                team->owner_asleep = false;
            }
        }
        unlock(team);
    }
    atomic_store_explicit(&job->state, IDLE, memory_order_relaxed);
}
