/* Crews of forked processes over TCP. */
#include "live/live_net.h"
#include "tests/live/forked_crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const gs_time_ns patience_ns = 1500 * GS_NS_PER_MS;

static void expect_all(forked_body *what, uint32_t count, int wanted)
{
    int codes[FORKED_MAX];
    forked_run(what, count, patience_ns, codes);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_eq(codes[i], wanted, "process %u of %u: %d", i, count, codes[i]);
    }
}

static int fail(const gs_crew *crew, int code, const char *text)
{
    (void)fprintf(stderr, "process %u, %d: %s\n", gs_crew_self(crew), code, text);
    return code;
}

TestSuite(crew, .timeout = 60);

/* ---------------------------------------------------------------- what services do */

static int do_services(gs_crew *crew)
{
    gs_error err = {.text = ""};
    uint32_t self = gs_crew_self(crew), size = gs_crew_size(crew);
    char mine[8] = {0}, shared[8] = {0};
    gs_crew_bytes all[FORKED_MAX];
    gs_time_ns start, before = gs_live_clock();
    if (gs_crew_same(crew, "colour", "blue", &err) != GS_OK) {
        return fail(crew, 1, err.text);
    }
    (void)snprintf(shared, sizeof shared, self == 0 ? "first" : "other");
    if (gs_crew_share(crew, shared, sizeof shared, &err) != GS_OK || strcmp(shared, "first") != 0) {
        return fail(crew, 2, err.text);
    }
    memset(mine, 'a' + (int)self, self); /* so many bytes as its number says */
    if (gs_crew_gather(crew, mine, self, all, &err) != GS_OK) {
        return fail(crew, 3, err.text);
    }
    for (uint32_t i = 0; self == 0 && i < size; i++) {
        if (all[i].count != i || (i > 0 && ((char *)all[i].data)[i - 1] != 'a' + (char)i)) {
            return fail(crew, 4, "other bytes");
        }
        free(all[i].data);
    }
    if (gs_crew_gather(crew, NULL, 0, all, &err) != GS_OK) { /* that all are there, no more */
        return fail(crew, 9, err.text);
    }
    for (uint32_t i = 0; self == 0 && i < size; i++) {
        free(all[i].data);
    }
    if (gs_crew_meet(crew, &start, &err) != GS_OK || start <= before) {
        return fail(crew, 5, err.text);
    }
    /* One machine has one clock, so the same moment is the same number but for the error of the
     * measurement: at most half a round trip, of the fastest of nine. */
    if (gs_crew_gather(crew, &start, sizeof start, all, &err) != GS_OK) {
        return fail(crew, 6, err.text);
    }
    for (uint32_t i = 0; self == 0 && i < size; i++) {
        gs_time_ns theirs;
        memcpy(&theirs, all[i].data, sizeof theirs);
        if (llabs((long long)(theirs - start)) > 10 * GS_NS_PER_MS) {
            return fail(crew, 7, "clocks differ");
        }
        free(all[i].data);
    }
    return gs_crew_broken(crew) == NULL && gs_crew_lost(crew) == GS_NOT_HERE ? 0 : 8;
}

Test(crew, all_have_one_text_one_value_one_start_and_process_0_what_all_say)
{
    expect_all(do_services, 1, 0);
    expect_all(do_services, 2, 0);
    expect_all(do_services, 5, 0);
}

static void *work_long(void *is_over)
{
    (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    atomic_store((atomic_bool *)is_over, true);
    return NULL;
}

/* For longer than the deadline, of 300 ms, process 0 says nothing but that it lives. */
static int wait_for_long_work(gs_crew *crew)
{
    gs_error err;
    char value = 0;
    if (gs_crew_self(crew) == 0) {
        atomic_bool is_over = false;
        pthread_t thread;
        if (pthread_create(&thread, NULL, work_long, &is_over) != 0) {
            return 1;
        }
        gs_crew_live_on(crew, &is_over);
        (void)pthread_join(thread, NULL);
        value = 1;
    }
    if (gs_crew_share(crew, &value, 1, &err) != GS_OK || value != 1) {
        return fail(crew, 2, "process 0 was given up");
    }
    return 0;
}

Test(crew, who_waits_for_process_0_waits_on_while_it_says_that_it_lives)
{
    int codes[FORKED_MAX];
    forked_run(wait_for_long_work, 3, 300 * GS_NS_PER_MS, codes);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(codes[i], 0, "process %u: %d", i, codes[i]);
    }
}

static int have_another_text(gs_crew *crew)
{
    gs_error err = {.text = ""};
    const char *mine = gs_crew_self(crew) == 0 ? "blue" : gs_crew_self(crew) == 1 ? "blue" : "red";
    if (gs_crew_same(crew, "colour", mine, &err) != GS_EMISMATCH) {
        return fail(crew, 1, err.text);
    }
    if (strncmp(err.text, "process 2 (host ", 16) != 0 ||
        strstr(err.text, ") has another colour: red, and process 0 blue; start all alike") ==
            NULL) {
        return fail(crew, 2, err.text);
    }
    /* Nobody is gone: they may go on. */
    return gs_crew_same(crew, "shape", "round", &err) == GS_OK ? 0 : 3;
}

Test(crew, who_has_another_text_is_named_to_all_and_nothing_breaks)
{
    expect_all(have_another_text, 4, 0);
}

/* Process 1 waits for 4 bytes where process 0 shares 8: it must not take half of them. */
static int call_another(gs_crew *crew)
{
    gs_error err = {.text = ""};
    char bytes[8] = "1234567";
    gs_status status = gs_crew_share(crew, bytes, gs_crew_self(crew) == 0 ? 8 : 4, &err);
    if (gs_crew_self(crew) == 0) {
        return status == GS_OK ? 0 : fail(crew, 1, err.text);
    }
    if (status != GS_EMISMATCH || strstr(err.text, "runs something else than process 1") == NULL) {
        return fail(crew, 2, err.text);
    }
    return gs_crew_lost(crew) == 0 ? 0 : 3;
}

Test(crew, who_calls_something_else_is_named)
{
    expect_all(call_another, 2, 0);
}

/* ---------------------------------------------------------------- who is gone */

enum { SAME, SHARE, GATHER, MEET, RUN, PHASES };

static int phase_of_loss; /* what process 2 does not do any more */
static void (*leave)(void);

static gs_status do_phase(gs_crew *crew, int phase, gs_error *err)
{
    gs_crew_bytes all[FORKED_MAX] = {{0}};
    int64_t value = 7;
    gs_time_ns start;
    gs_status status = GS_OK;
    switch (phase) {
    case SAME:
        return gs_crew_same(crew, "colour", "blue", err);
    case SHARE:
        return gs_crew_share(crew, &value, sizeof value, err);
    case GATHER:
        status = gs_crew_gather(crew, &value, sizeof value, all, err);
        for (uint32_t i = 0; i < FORKED_MAX; i++) {
            free(all[i].data);
        }
        return status;
    case MEET:
        return gs_crew_meet(crew, &start, err);
    default:
        break;
    }
    /* A run in which nothing comes: it ends when somebody is lost. */
    gs_time_ns until = gs_live_clock() + patience_ns;
    while (gs_crew_broken(crew) == NULL && gs_live_clock() < until) {
        gs_carried came;
        gs_crew_poll(crew, &came);
        if (came.kind == GS_CARRIED_NOTHING) {
            gs_crew_wait(crew, until);
        }
    }
    return gs_crew_broken(crew) != NULL
               ? gs_fail(err, GS_EDEADLOCK, "%s", gs_crew_broken(crew)->text)
               : GS_OK;
}

static void kill_self(void)
{
    (void)raise(SIGKILL);
}

/* Whoever waits for process 2 at first names it; whoever hears of it later may hear of who left
 * because of it. */
static int lose_one(gs_crew *crew)
{
    gs_error err = {.text = ""};
    gs_time_ns began = gs_live_clock();
    gs_status status = GS_OK;
    for (int phase = 0; status == GS_OK && phase < 2 * PHASES; phase++) {
        if (gs_crew_self(crew) == 2 && phase == phase_of_loss) {
            leave();
            return 0;
        }
        status =
            phase == RUN && phase_of_loss != RUN ? GS_OK : do_phase(crew, phase % PHASES, &err);
    }
    if (status != GS_EDEADLOCK || gs_crew_broken(crew) == NULL) {
        return fail(crew, 1, err.text);
    }
    if (gs_crew_self(crew) == 0 && strncmp(err.text, "process 2 (host ", 16) != 0) {
        return fail(crew, 2, err.text);
    }
    if (gs_crew_self(crew) == 0 && gs_crew_lost(crew) != 2) {
        return fail(crew, 3, err.text);
    }
    /* Every phase is asked of a broken crew once more, and none waits. */
    for (int phase = 0; phase < PHASES; phase++) {
        if (do_phase(crew, phase, &err) != GS_EDEADLOCK) {
            return fail(crew, 4, err.text);
        }
    }
    return gs_live_clock() - began < 4 * patience_ns ? 0 : fail(crew, 5, "too long");
}

static void expect_loss(int code_of_lost)
{
    for (phase_of_loss = 0; phase_of_loss < PHASES; phase_of_loss++) {
        int codes[FORKED_MAX];
        forked_run(lose_one, 4, patience_ns, codes);
        for (uint32_t i = 0; i < 4; i++) {
            cr_expect_eq(codes[i], i == 2 ? code_of_lost : 0, "phase %d, process %u: %d",
                         phase_of_loss, i, codes[i]);
        }
    }
}

Test(crew, one_that_is_killed_in_any_phase_is_named_and_nobody_waits_for_it)
{
    leave = kill_self;
    expect_loss(FORKED_KILLED);
}

static void sleep_long(void)
{
    struct timespec time = {.tv_sec = 3};
    (void)nanosleep(&time, NULL);
    _exit(0);
}

/* In a run silence means nothing: there live/live_words.c watches. */
Test(crew, one_that_never_comes_is_named_at_the_deadline)
{
    leave = sleep_long;
    for (phase_of_loss = 0; phase_of_loss < RUN; phase_of_loss += GATHER) {
        int codes[FORKED_MAX];
        forked_run(lose_one, 3, patience_ns, codes);
        for (uint32_t i = 0; i < 3; i++) {
            cr_expect_eq(codes[i], 0, "phase %d, process %u: %d", phase_of_loss, i, codes[i]);
        }
    }
}

/* ---------------------------------------------------------------- frames of runs */

static bool send_number(gs_crew *crew, uint32_t to, uint32_t number)
{
    gs_frame frame = {.head = &number, .head_bytes = sizeof number};
    return gs_crew_send(crew, to, &frame, number);
}

/* The next frame of this run; UINT32_MAX: none came. */
static uint32_t next_number(gs_crew *crew)
{
    gs_time_ns until = gs_live_clock() + patience_ns;
    while (gs_live_clock() < until && gs_crew_broken(crew) == NULL) {
        gs_carried came;
        gs_crew_poll(crew, &came);
        if (came.kind == GS_CARRIED_FRAME) {
            uint32_t number = UINT32_MAX;
            memcpy(&number, came.frame.head, sizeof number);
            gs_crew_give_back(crew, &came);
            return number;
        }
        if (came.kind == GS_CARRIED_NOTHING) {
            gs_crew_wait(crew, until);
        }
    }
    return UINT32_MAX;
}

/* In run 1 process 0 takes the first of two frames that each of the others sends: the second comes
 * late, and is not one of run 2. While process 0 still looks at run 2 the others already gather. */
static int send_late_and_early(gs_crew *crew)
{
    enum { OTHERS = 2 };
    gs_error err = {.text = ""};
    gs_time_ns start;
    uint32_t self = gs_crew_self(crew);
    for (uint32_t run = 1; run <= 20; run++) {
        if (gs_crew_meet(crew, &start, &err) != GS_OK) {
            return fail(crew, 1, err.text);
        }
        if (self > 0 && (!send_number(crew, 0, run) || !send_number(crew, 0, 1000 + run))) {
            return fail(crew, 2, "not sent");
        }
        for (uint32_t i = 0; self == 0 && i < OTHERS; i++) {
            uint32_t number = next_number(crew);
            if (number != run && number != 1000 + run) {
                return fail(crew, 3, "a frame of another run");
            }
        }
        gs_crew_bytes all[FORKED_MAX] = {{0}};
        if (gs_crew_gather(crew, &run, sizeof run, all, &err) != GS_OK) {
            return fail(crew, 4, err.text);
        }
        for (uint32_t i = 0; self == 0 && i < gs_crew_size(crew); i++) {
            bool is_whole =
                all[i].count == sizeof run && memcmp(all[i].data, &run, sizeof run) == 0;
            free(all[i].data);
            if (!is_whole) {
                return fail(crew, 5, "what another one said");
            }
        }
    }
    return 0;
}

Test(crew, late_frames_are_dropped_and_early_ones_wait)
{
    expect_all(send_late_and_early, 3, 0);
}
