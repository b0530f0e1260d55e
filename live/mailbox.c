#include "live/mailbox.h"

#include "base/assert.h"

enum { INDEX_BITS = 24 /* of an envelope in an event key */ };

bool gs_mailbox_init(gs_mailbox *box, uint32_t senders, uint32_t planes)
{
    pthread_condattr_t monotonic;
    *box = (gs_mailbox){.planes = planes};
    (void)pthread_mutex_init(&box->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&box->came, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    gs_event_heap_init(&box->due);
    gs_arena_init(&box->arena);
    gs_payload_pool_init(&box->floats, &box->arena);
    box->last_due = GS_TAKE(&box->arena, gs_time_ns, (size_t)senders * planes);
    return box->last_due != NULL;
}

void gs_mailbox_fini(gs_mailbox *box)
{
    gs_event_heap_fini(&box->due);
    gs_arena_fini(&box->arena);
    (void)pthread_cond_destroy(&box->came);
    (void)pthread_mutex_destroy(&box->lock);
}

void gs_mailbox_lock(gs_mailbox *box)
{
    (void)pthread_mutex_lock(&box->lock);
}

void gs_mailbox_unlock(gs_mailbox *box)
{
    (void)pthread_cond_signal(&box->came);
    (void)pthread_mutex_unlock(&box->lock);
}

static bool add_chunk(gs_mailbox *box)
{
    if (box->chunk_count == GS_MAILBOX_CHUNKS_MAX) {
        return false;
    }
    gs_envelope *chunk = GS_TAKE(&box->arena, gs_envelope, GS_MAILBOX_CHUNK);
    if (chunk == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < GS_MAILBOX_CHUNK; i++) {
        chunk[i].index = box->chunk_count * GS_MAILBOX_CHUNK + i;
        chunk[i].next_free = box->free;
        box->free = &chunk[i];
    }
    box->chunks[box->chunk_count++] = chunk;
    return true;
}

gs_envelope *gs_mailbox_envelope(gs_mailbox *box, const gs_parcel *parcel)
{
    if (box->free == NULL && !add_chunk(box)) {
        return NULL;
    }
    gs_envelope *taken = box->free;
    box->free = taken->next_free;
    taken->parcel = *parcel;
    taken->parcel.payload = NULL;
    taken->copy = NULL;
    taken->handle = NULL;
    taken->tells_sender = false;
    return taken;
}

bool gs_mailbox_put(gs_mailbox *box, gs_envelope *put, gs_time_ns due_ns)
{
    uint64_t order = box->order++;
    if (gs_parcel_is_on_channel(put->parcel.kind)) {
        gs_time_ns *last = &box->last_due[put->parcel.from * box->planes + put->parcel.plane];
        due_ns = due_ns > *last ? due_ns : *last;
        *last = due_ns;
    }
    gs_queued_event event = {due_ns, order << INDEX_BITS | put->index};
    return gs_event_heap_push(&box->due, event) == GS_OK;
}

bool gs_mailbox_tell(gs_mailbox *box, const gs_parcel *parcel, gs_time_ns due_ns)
{
    gs_envelope *put = gs_mailbox_envelope(box, parcel);
    return put != NULL && gs_mailbox_put(box, put, due_ns);
}

static gs_parcel *pop(gs_mailbox *box)
{
    gs_queued_event event;
    bool any = gs_event_heap_pop(&box->due, &event);
    GS_ASSERT(any);
    uint32_t index = (uint32_t)(event.key & ((UINT64_C(1) << INDEX_BITS) - 1));
    return &box->chunks[index / GS_MAILBOX_CHUNK][index % GS_MAILBOX_CHUNK].parcel;
}

gs_parcel *gs_mailbox_due(gs_mailbox *box, gs_time_ns now_ns, gs_time_ns *out_next)
{
    *out_next = box->due.count > 0 ? box->due.items[0].time : GS_TIME_NEVER;
    return *out_next <= now_ns ? pop(box) : NULL;
}

void gs_mailbox_stop(gs_mailbox *box)
{
    gs_mailbox_lock(box);
    box->stopped = true;
    gs_mailbox_unlock(box);
}

void gs_mailbox_release(gs_mailbox *box, gs_parcel *parcel)
{
    gs_envelope *used = (gs_envelope *)(void *)parcel;
    gs_mailbox_lock(box);
    gs_payload_give(&box->floats, used->copy);
    used->next_free = box->free;
    box->free = used;
    gs_mailbox_unlock(box);
}

gs_parcel *gs_mailbox_left_over(gs_mailbox *box)
{
    gs_mailbox_lock(box);
    gs_parcel *left = box->due.count > 0 ? pop(box) : NULL;
    gs_mailbox_unlock(box);
    return left;
}

gs_parcel gs_parcel_left(const gs_parcel *sent)
{
    return (gs_parcel){.kind = GS_PARCEL_LEFT,
                       .from = sent->to,
                       .to = sent->from,
                       .plane = sent->plane,
                       .request = sent->request,
                       .slot = sent->slot};
}
