#include "live/carriers/mpi/within.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

typedef struct errand {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    bool is_late; /* nobody waits any more: the thread frees this */
    void (*act)(void *of);
    void (*forget)(void *of);
    void *of;
} errand;

static void free_errand(errand *this)
{
    (void)pthread_cond_destroy(&this->changed);
    (void)pthread_mutex_destroy(&this->lock);
    free(this);
}

static void *run(void *argument)
{
    errand *this = argument;
    this->act(this->of);
    (void)pthread_mutex_lock(&this->lock);
    this->is_done = true;
    bool is_late = this->is_late;
    (void)pthread_cond_signal(&this->changed);
    (void)pthread_mutex_unlock(&this->lock);
    if (is_late) {
        this->forget(this->of);
        free_errand(this);
    }
    return NULL;
}

/* As conditions take it. */
static struct timespec time_after(gs_time_ns duration_ns)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    gs_time_ns end_ns = now.tv_nsec + duration_ns % GS_NS_PER_S;
    return (struct timespec){.tv_sec =
                                 now.tv_sec + duration_ns / GS_NS_PER_S + end_ns / GS_NS_PER_S,
                             .tv_nsec = end_ns % GS_NS_PER_S};
}

gs_within gs_do_within(gs_time_ns limit_ns, void (*act)(void *of), void (*forget)(void *of),
                       void *of)
{
    pthread_t thread;
    errand *this = calloc(1, sizeof *this);
    if (this == NULL) {
        return GS_WITHIN_NO_ROOM;
    }
    this->act = act;
    this->forget = forget;
    this->of = of;
    (void)pthread_mutex_init(&this->lock, NULL);
    (void)pthread_cond_init(&this->changed, NULL);
    if (pthread_create(&thread, NULL, run, this) != 0) {
        free_errand(this);
        return GS_WITHIN_NO_ROOM;
    }
    const struct timespec until = time_after(limit_ns);
    (void)pthread_mutex_lock(&this->lock);
    int waited = 0;
    while (!this->is_done && waited == 0) {
        waited = pthread_cond_timedwait(&this->changed, &this->lock, &until);
    }
    bool is_done = this->is_done;
    this->is_late = !is_done;
    (void)pthread_mutex_unlock(&this->lock);
    if (!is_done) {
        (void)pthread_detach(thread);
        return GS_WITHIN_LATE;
    }
    (void)pthread_join(thread, NULL);
    free_errand(this);
    return GS_WITHIN_DONE;
}
