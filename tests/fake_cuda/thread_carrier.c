#include "tests/fake_cuda/thread_carrier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct post {
    struct post *next;
    gs_carried_kind kind;
    uint32_t peer;
    uint64_t cookie;
    uint8_t head[GS_FRAME_HEAD_BYTES];
    size_t head_bytes;
    const void *lent; /* [body_bytes], the sender's */
    void *body;       /* [body_bytes], once it has been taken */
    size_t body_bytes;
} post;

typedef struct post_box {
    thread_world *world;
    uint32_t process;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    post *first, *last;
    bool is_woken, is_gone;
} post_box;

struct thread_world {
    uint32_t processes;
    post_box boxes[];
};

thread_world *thread_world_create(uint32_t processes)
{
    thread_world *world = calloc(1, sizeof *world + processes * sizeof world->boxes[0]);
    pthread_condattr_t attributes;
    if (world == NULL || pthread_condattr_init(&attributes) != 0) {
        abort();
    }
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    world->processes = processes;
    for (uint32_t i = 0; i < processes; i++) {
        post_box *box = &world->boxes[i];
        box->world = world;
        box->process = i;
        (void)pthread_mutex_init(&box->mutex, NULL);
        (void)pthread_cond_init(&box->changed, &attributes);
    }
    (void)pthread_condattr_destroy(&attributes);
    return world;
}

static void free_letter(post *letter)
{
    free(letter->body);
    free(letter);
}

void thread_world_free(thread_world *world)
{
    for (uint32_t i = 0; i < world->processes; i++) {
        post_box *box = &world->boxes[i];
        while (box->first != NULL) {
            post *first = box->first;
            box->first = first->next;
            free_letter(first);
        }
        (void)pthread_mutex_destroy(&box->mutex);
        (void)pthread_cond_destroy(&box->changed);
    }
    free(world);
}

void *thread_world_net(thread_world *world, uint32_t process)
{
    return &world->boxes[process];
}

static void drop_into(post_box *box, const post *letter)
{
    struct post *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        abort();
    }
    *copy = *letter;
    copy->next = NULL;
    (void)pthread_mutex_lock(&box->mutex);
    if (box->first == NULL) {
        box->first = copy;
    } else {
        box->last->next = copy;
    }
    box->last = copy;
    (void)pthread_cond_broadcast(&box->changed);
    (void)pthread_mutex_unlock(&box->mutex);
}

static bool is_gone(post_box *box)
{
    (void)pthread_mutex_lock(&box->mutex);
    bool gone = box->is_gone;
    (void)pthread_mutex_unlock(&box->mutex);
    return gone;
}

static bool carrier_send(void *net, uint32_t to, const gs_frame *frame, uint64_t cookie)
{
    post_box *from = net;
    post_box *box = &from->world->boxes[to];
    post letter = {.kind = GS_CARRIED_FRAME,
                   .peer = from->process,
                   .cookie = cookie,
                   .head_bytes = frame->head_bytes,
                   .lent = frame->body,
                   .body_bytes = frame->body_bytes};
    memcpy(letter.head, frame->head, frame->head_bytes);
    if (is_gone(box)) {
        letter.kind = GS_CARRIED_LEFT;
        box = from;
    }
    drop_into(box, &letter);
    return true;
}

/* The first letter, its body copied while its sender cannot leave. */
static post *take_first(post_box *box)
{
    (void)pthread_mutex_lock(&box->mutex);
    post *first = box->first;
    if (first != NULL) {
        box->first = first->next;
    }
    if (first != NULL && first->body_bytes > 0) {
        first->body = malloc(first->body_bytes);
        if (first->body == NULL) {
            abort();
        }
        memcpy(first->body, first->lent, first->body_bytes);
    }
    (void)pthread_mutex_unlock(&box->mutex);
    return first;
}

static void carrier_poll(void *net, gs_carried *out)
{
    post_box *box = net;
    *out = (gs_carried){.kind = GS_CARRIED_NOTHING};
    post *first = take_first(box);
    if (first == NULL) {
        return;
    }
    out->kind = first->kind;
    out->peer = first->peer;
    out->cookie = first->cookie;
    if (first->kind != GS_CARRIED_FRAME) {
        memcpy(out->text, "it has aborted", sizeof "it has aborted");
        free_letter(first);
        return;
    }
    post left = {.kind = GS_CARRIED_LEFT, .peer = box->process, .cookie = first->cookie};
    drop_into(&box->world->boxes[first->peer], &left);
    out->frame = (gs_frame){.head = first->head,
                            .head_bytes = first->head_bytes,
                            .body = first->body,
                            .body_bytes = first->body_bytes};
    out->handle = first;
}

static void carrier_give_back(void *net, void *handle)
{
    (void)net;
    free_letter(handle);
}

static void carrier_wait(void *net, gs_time_ns until_ns)
{
    post_box *box = net;
    struct timespec until = {until_ns / GS_NS_PER_S, (long)(until_ns % GS_NS_PER_S)};
    int status = 0;
    (void)pthread_mutex_lock(&box->mutex);
    while (box->first == NULL && !box->is_woken && status == 0) {
        status = pthread_cond_timedwait(&box->changed, &box->mutex, &until);
    }
    box->is_woken = false;
    (void)pthread_mutex_unlock(&box->mutex);
}

static void carrier_wake(void *net)
{
    post_box *box = net;
    (void)pthread_mutex_lock(&box->mutex);
    box->is_woken = true;
    (void)pthread_cond_broadcast(&box->changed);
    (void)pthread_mutex_unlock(&box->mutex);
}

/* What a process sent and nobody took goes with it. */
static void take_back(post_box *box, uint32_t from)
{
    (void)pthread_mutex_lock(&box->mutex);
    post *kept = box->first;
    box->first = NULL;
    while (kept != NULL) {
        post *next = kept->next;
        kept->next = NULL;
        if (kept->peer == from && kept->kind == GS_CARRIED_FRAME) {
            free_letter(kept);
        } else if (box->first == NULL) {
            box->first = box->last = kept;
        } else {
            box->last->next = kept;
            box->last = kept;
        }
        kept = next;
    }
    (void)pthread_mutex_unlock(&box->mutex);
}

static void carrier_abort(void *net)
{
    post_box *box = net;
    thread_world *world = box->world;
    (void)pthread_mutex_lock(&box->mutex);
    box->is_gone = true;
    post *unread = box->first;
    box->first = NULL;
    (void)pthread_mutex_unlock(&box->mutex);
    while (unread != NULL) { /* what was sent to it has left */
        post *next = unread->next;
        if (unread->kind == GS_CARRIED_FRAME) {
            post left = {.kind = GS_CARRIED_LEFT, .cookie = unread->cookie};
            drop_into(&world->boxes[unread->peer], &left);
        }
        free_letter(unread);
        unread = next;
    }
    post lost = {.kind = GS_CARRIED_LOST, .peer = box->process};
    for (uint32_t i = 0; i < world->processes; i++) {
        if (i != box->process) {
            take_back(&world->boxes[i], box->process);
            drop_into(&world->boxes[i], &lost);
        }
    }
}

const gs_carrier thread_carrier = {
    .version = GS_CARRIER_VERSION,
    .name = "threads",
    .summary = "between threads of a test",
    .send = carrier_send,
    .poll = carrier_poll,
    .give_back = carrier_give_back,
    .wait = carrier_wait,
    .wake = carrier_wake,
    .abort = carrier_abort,
};
