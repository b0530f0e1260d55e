#include "live/mailbox.h"

#include <criterion/criterion.h>

#include <pthread.h>

enum { SENDERS = 3, PLANES = 3 };

static gs_mailbox box;

static void setup(void)
{
    cr_assert(gs_mailbox_init(&box, SENDERS, PLANES));
}

static void teardown(void)
{
    gs_mailbox_fini(&box);
}

TestSuite(mailbox, .init = setup, .fini = teardown);

static void tell(gs_parcel_kind kind, uint32_t from, uint32_t plane, uint32_t slot, gs_time_ns due)
{
    gs_parcel parcel = {.kind = kind, .from = from, .plane = plane, .slot = slot};
    gs_mailbox_lock(&box);
    cr_assert(gs_mailbox_tell(&box, &parcel, due));
    gs_mailbox_unlock(&box);
}

/* The slot of what is due, which goes home; UINT32_MAX: nothing is. */
static uint32_t due(gs_time_ns now, gs_time_ns *out_next)
{
    gs_mailbox_lock(&box);
    gs_parcel *parcel = gs_mailbox_due(&box, now, out_next);
    gs_mailbox_unlock(&box);
    uint32_t slot = parcel == NULL ? UINT32_MAX : parcel->slot;
    if (parcel != NULL) {
        gs_mailbox_release(&box, parcel);
    }
    return slot;
}

Test(mailbox, what_is_due_comes_by_time_and_at_one_time_as_it_was_put)
{
    gs_time_ns next;
    tell(GS_PARCEL_LATER, 0, 0, 1, 30);
    tell(GS_PARCEL_LATER, 0, 0, 2, 10);
    tell(GS_PARCEL_LATER, 1, 0, 3, 20);
    tell(GS_PARCEL_LATER, 2, 0, 4, 20);
    cr_expect_eq(due(5, &next), UINT32_MAX);
    cr_expect_eq(next, 10);
    const uint32_t wanted[] = {2, 3, 4, 1};
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(due(30, &next), wanted[i]);
    }
    cr_expect_eq(due(30, &next), UINT32_MAX);
    cr_expect_eq(next, GS_TIME_NEVER);
}

/* A note of sender 0 is put to come at 50, the next of the same channel at 10: it waits for the
 * first. Another sender, another plane and what an entity tells itself do not. */
Test(mailbox, a_channel_is_first_in_first_out_and_no_other_waits_for_it)
{
    gs_time_ns next;
    tell(GS_PARCEL_NOTE, 0, GS_PLANE_NOTES, 1, 50);
    tell(GS_PARCEL_NOTE, 0, GS_PLANE_NOTES, 2, 10);
    tell(GS_PARCEL_NOTE, 1, GS_PLANE_NOTES, 3, 11);
    tell(GS_PARCEL_MESSAGE, 0, GS_PLANE_MESSAGES, 4, 12);
    tell(GS_PARCEL_LEFT, 0, GS_PLANE_NOTES, 5, 13);
    const uint32_t early[] = {3, 4, 5};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(due(49, &next), early[i]);
    }
    cr_expect_eq(due(49, &next), UINT32_MAX);
    cr_expect_eq(next, 50);
    cr_expect_eq(due(50, &next), 1);
    cr_expect_eq(due(50, &next), 2);
}

/* 300 parcels wait at once, in five chunks of 64; then the same envelopes serve 3,000 more. */
Test(mailbox, envelopes_and_copies_go_home_and_are_used_again)
{
    enum { WAITING = 300, ROUNDS = 10 };
    float numbers[100] = {1.0f};
    gs_payload payload = {.data = numbers, .count = 100};
    gs_time_ns next;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < WAITING; i++) {
            gs_parcel parcel = {.kind = GS_PARCEL_MESSAGE, .from = i % SENDERS, .slot = i};
            gs_mailbox_lock(&box);
            gs_envelope *put = gs_mailbox_envelope(&box, &parcel);
            put->copy = gs_payload_copy(&box.floats, &payload);
            put->parcel.payload = put->copy;
            cr_assert(gs_mailbox_put(&box, put, round * WAITING + (gs_time_ns)i));
            gs_mailbox_unlock(&box);
        }
        for (uint32_t i = 0; i < WAITING; i++) {
            cr_assert_eq(due((round + 1) * WAITING, &next), i);
        }
        cr_expect_eq(box.chunk_count, (WAITING + GS_MAILBOX_CHUNK - 1) / GS_MAILBOX_CHUNK);
    }
}

Test(mailbox, what_nobody_took_is_left_over_due_or_not)
{
    tell(GS_PARCEL_NOTE, 0, GS_PLANE_NOTES, 1, 1000);
    tell(GS_PARCEL_NOTE, 1, GS_PLANE_NOTES, 2, 10);
    gs_mailbox_stop(&box);
    cr_expect(box.stopped);
    gs_parcel *first = gs_mailbox_left_over(&box);
    gs_parcel *second = gs_mailbox_left_over(&box);
    cr_assert(first != NULL && second != NULL);
    cr_expect_eq(first->slot, 2);
    cr_expect_eq(second->slot, 1);
    cr_expect_null(gs_mailbox_left_over(&box));
}

enum { PUT_BY_EACH = 2000 };

static void *put_many(void *argument)
{
    uint32_t sender = *(uint32_t *)argument;
    for (uint32_t i = 0; i < PUT_BY_EACH; i++) {
        tell(GS_PARCEL_NOTE, sender, GS_PLANE_NOTES, sender << 16 | i, 0);
    }
    return NULL;
}

Test(mailbox, threads_that_put_at_once_lose_nothing_and_keep_their_order, .timeout = 60)
{
    pthread_t threads[SENDERS];
    uint32_t senders[SENDERS], next_of[SENDERS] = {0}, taken = 0;
    gs_time_ns next;
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = i;
        cr_assert_eq(pthread_create(&threads[i], NULL, put_many, &senders[i]), 0);
    }
    while (taken < SENDERS * PUT_BY_EACH) {
        uint32_t slot = due(0, &next);
        if (slot != UINT32_MAX) {
            uint32_t sender = slot >> 16;
            cr_assert_eq(slot & 0xffff, next_of[sender]++);
            taken++;
        }
    }
    for (uint32_t i = 0; i < SENDERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

Test(mailbox, left_goes_back_to_who_sent)
{
    gs_parcel sent = {.kind = GS_PARCEL_PART,
                      .from = 2,
                      .to = 1,
                      .plane = GS_PLANE_PARTS,
                      .request = 77,
                      .slot = 5};
    gs_parcel left = gs_parcel_left(&sent);
    cr_expect_eq(left.kind, GS_PARCEL_LEFT);
    cr_expect_eq(left.from, 1);
    cr_expect_eq(left.to, 2);
    cr_expect_eq(left.request, 77);
    cr_expect_eq(left.slot, 5);
}
