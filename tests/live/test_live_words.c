/* What processes of a live run say to each other, without a network: a transport that keeps what
 * was sent, and two processes whose words are handed over by hand. */
#include "live/live_entity.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WORKERS = 3, SERVERS = 1, ENTITIES = WORKERS + SERVERS, SENT_MAX = 64, WORD_BYTES = 1024 };

typedef struct kept {
    gs_parcel parcel;
    size_t bytes;
    uint8_t word[WORD_BYTES];
} kept;

/* One process: what it sent, and whether it was stopped. */
typedef struct process {
    gs_live_shared shared;
    gs_live_beat beats[2];
    kept sent[SENT_MAX];
    uint32_t sent_count;
    bool is_stopped;
} process;

static process zero, one;
static gs_job job = {.ranks = WORKERS};

static bool keep(void *net, const gs_parcel *parcel, bool copies)
{
    process *self = net;
    kept *next = &self->sent[self->sent_count++];
    cr_assert_lt(self->sent_count, SENT_MAX);
    *next = (kept){.parcel = *parcel};
    if (parcel->payload != NULL) {
        cr_assert(copies && parcel->payload->bytes <= WORD_BYTES);
        next->bytes = parcel->payload->bytes;
        memcpy(next->word, parcel->payload->coded, next->bytes);
    }
    return true;
}

static void stop(void *net)
{
    ((process *)net)->is_stopped = true;
}

static const gs_transport by_hand = {.name = "by hand", .send = keep, .stop = stop};

static void make(process *self, uint32_t number, gs_cut cut)
{
    *self = (process){.sent_count = 0};
    gs_live_shared *shared = &self->shared;
    shared->config = (gs_live_config){.job = &job, .deadline_ns = GS_NS_PER_S};
    shared->layout.cut = cut;
    shared->entity_count = ENTITIES;
    shared->transport = &by_hand;
    shared->net = self;
    shared->process = number;
    shared->process_count = 2;
    shared->places = 1;
    shared->budget_passes = 4;
    shared->beats = self->beats;
    shared->beaten_ns = gs_live_clock();
    self->beats[0].at_ns = self->beats[1].at_ns = gs_live_clock();
    atomic_store(&shared->progress_ns, gs_live_clock());
    cr_assert_eq(pthread_mutex_init(&shared->lock, NULL), 0);
}

static void make_both(gs_cut cut)
{
    make(&zero, 0, cut);
    make(&one, 1, cut);
}

/* Hands over all that was said, and forgets it. */
static void deliver(process *from, process *to)
{
    for (uint32_t i = 0; i < from->sent_count; i++) {
        if (from->sent[i].parcel.kind == GS_PARCEL_WORD) {
            gs_payload payload = {.coded = from->sent[i].word, .bytes = from->sent[i].bytes};
            gs_parcel parcel = from->sent[i].parcel;
            parcel.payload = &payload;
            cr_assert_eq(parcel.to, to->shared.process);
            gs_live_hear(&to->shared, &parcel);
        }
    }
    from->sent_count = 0;
}

/* Entities that process 0 has told to begin no step, as bits; it told none of them twice. */
static uint32_t quiesced(void)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < zero.sent_count; i++) {
        if (zero.sent[i].parcel.kind == GS_PARCEL_QUIESCE) {
            uint32_t bit = UINT32_C(1) << zero.sent[i].parcel.to;
            cr_assert_eq(told & bit, 0);
            told |= bit;
        }
    }
    return told;
}

/* 4 passes of 3 workers are 12 in all, wherever they were counted. */
Test(live_words, all_stop_where_they_are_once_the_budget_of_all_is_spent)
{
    make_both(GS_CUT_OWN);
    gs_live_count_more(&zero.shared, GS_COUNT_PASSES, 6);
    gs_live_count_more(&one.shared, GS_COUNT_PASSES, 5);
    cr_expect_eq(one.sent_count, 1);
    deliver(&one, &zero);
    cr_expect_eq(quiesced(), 0);
    gs_live_count_more(&one.shared, GS_COUNT_PASSES, 4);
    deliver(&one, &zero);
    cr_expect_eq(quiesced(), (1U << ENTITIES) - 1);
    gs_live_count_more(&zero.shared, GS_COUNT_PASSES, 3); /* of a step that had begun */
    cr_expect_eq(quiesced(), (1U << ENTITIES) - 1);
}

Test(live_words, with_a_common_cut_passes_stop_nobody_and_servers_wait_for_all_workers)
{
    make_both(GS_CUT_COMMON);
    gs_live_count_more(&zero.shared, GS_COUNT_PASSES, 100);
    gs_live_count_more(&zero.shared, GS_COUNT_TOLD, 1);
    gs_live_count_more(&one.shared, GS_COUNT_TOLD, 1);
    deliver(&one, &zero);
    cr_expect_eq(quiesced(), 0);
    gs_live_count_more(&one.shared, GS_COUNT_TOLD, 1);
    deliver(&one, &zero);
    cr_expect_eq(quiesced(), UINT32_C(1) << WORKERS);
}

Test(live_words, the_last_that_has_drained_ends_the_run_everywhere)
{
    make_both(GS_CUT_COMMON);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        cr_expect_not(zero.is_stopped);
        process *self = i % 2 == 0 ? &one : &zero;
        gs_live_count_more(&self->shared, GS_COUNT_DRAINED, 1);
        deliver(&one, &zero);
    }
    cr_expect(zero.is_stopped);
    cr_expect_not(one.is_stopped);
    deliver(&zero, &one);
    cr_expect(one.is_stopped);
    cr_expect_eq(one.shared.status, GS_OK);
}

/* Words that end a run carry the error; the first one stays. */
Test(live_words, what_went_wrong_in_one_process_is_how_the_run_ends_in_all)
{
    make_both(GS_CUT_COMMON);
    gs_error err;
    (void)gs_fail(&err, GS_EDIVERGED, "worker 1: its weights are not finite");
    gs_live_fail(&one.shared, &err);
    gs_live_stop_all(&one.shared);
    deliver(&one, &zero);
    cr_expect_eq(zero.shared.status, GS_EDIVERGED);
    cr_expect_str_eq(zero.shared.error.text, "worker 1: its weights are not finite");
    (void)gs_fail(&err, GS_EDEADLOCK, "another");
    gs_live_fail(&zero.shared, &err);
    gs_live_stop_all(&zero.shared);
    one.shared.status = GS_OK;
    deliver(&zero, &one);
    cr_expect_eq(one.shared.status, GS_EDIVERGED);
    cr_expect_str_eq(one.shared.error.text, "worker 1: its weights are not finite");
}

/* Beats say how long nothing has moved; process 0 ends a run in which that is so everywhere. */
Test(live_words, a_run_is_stuck_only_where_nothing_moves_in_any_process)
{
    make_both(GS_CUT_COMMON);
    gs_time_ns long_ago = gs_live_clock() - 2 * GS_NS_PER_S;
    atomic_store(&zero.shared.waiting, 1);
    atomic_store(&one.shared.waiting, 1);
    atomic_store(&zero.shared.progress_ns, long_ago);
    one.shared.beaten_ns = long_ago;
    gs_live_look_around(&one.shared); /* it has moved just now */
    deliver(&one, &zero);
    gs_live_look_around(&zero.shared);
    cr_expect_eq(zero.shared.status, GS_OK);
    atomic_store(&one.shared.progress_ns, long_ago);
    one.shared.beaten_ns = long_ago;
    gs_live_look_around(&one.shared);
    deliver(&one, &zero);
    gs_live_look_around(&zero.shared);
    cr_expect_eq(zero.shared.status, GS_EDEADLOCK);
    cr_expect_str_eq(zero.shared.error.text, "nothing has moved for 1 s");
    cr_expect(zero.is_stopped);
}

/* One beat an eighth of the deadline is enough. */
Test(live_words, beats_are_few)
{
    make_both(GS_CUT_COMMON);
    one.shared.beaten_ns = gs_live_clock() - GS_NS_PER_S / 4;
    gs_live_look_around(&one.shared);
    gs_live_look_around(&one.shared);
    cr_expect_eq(one.sent_count, 1);
}
