#include "tests/bench/hook_tape.h"

#include "base/assert.h"
#include "strategies/world.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOOKS_MAX = 4096, ANSWERS_MAX = 1 << 16 };

typedef enum hook { STEP_BEGIN, BUCKET_READY, BACKWARD_DONE, OP_DONE, MESSAGE } hook;

typedef struct call {
    gs_world *world;
    gs_event event;
    hook kind;
    uint16_t role;
} call;

typedef union answer {
    uint64_t number;
    uint32_t count;
    gs_peer peer;
    gs_slice slice;
    const void *address;
} answer;

typedef enum mode { DEAF, RECORDS, PLAYS } mode;

static struct {
    gs_strategy heard;
    const gs_strategy *of;
    mode mode;
    call calls[HOOKS_MAX];
    answer answers[ANSWERS_MAX];
    size_t call_count, answer_count;
    size_t next; /* answer, while it plays */
    size_t state_bytes[GS_ROLE_COUNT];
    void *kept[GS_ROLE_COUNT]; /* as it was at the role's first hook; NULL: none yet */
} tape;

/* --- hooks ------------------------------------------------------------------------------------ */

static void keep(hook kind, gs_world *world, const void *state, const gs_event *event)
{
    if (tape.mode != RECORDS) {
        return;
    }
    tape.mode = DEAF; /* this question is ours, not the strategy's */
    uint16_t role = gs_self(world).role;
    tape.mode = RECORDS;
    if (tape.call_count == HOOKS_MAX || tape.answer_count + 1024 > ANSWERS_MAX) {
        tape.mode = DEAF;
        return;
    }
    size_t bytes = tape.state_bytes[role];
    if (tape.kept[role] == NULL) {
        tape.kept[role] = malloc(bytes + 1);
        GS_ASSERT(tape.kept[role] != NULL);
        memcpy(tape.kept[role], state, bytes);
    }
    tape.calls[tape.call_count++] = (call){world, *event, kind, role};
}

static gs_plan heard_step_begin(gs_world *world, void *state, const gs_event *event)
{
    keep(STEP_BEGIN, world, state, event);
    return tape.of->step_begin(world, state, event);
}

static void heard_bucket_ready(gs_world *world, void *state, const gs_event *event)
{
    keep(BUCKET_READY, world, state, event);
    tape.of->bucket_ready(world, state, event);
}

static void heard_backward_done(gs_world *world, void *state, const gs_event *event)
{
    keep(BACKWARD_DONE, world, state, event);
    tape.of->backward_done(world, state, event);
}

static void heard_op_done(gs_world *world, void *state, const gs_event *event)
{
    keep(OP_DONE, world, state, event);
    tape.of->op_done(world, state, event);
}

static void heard_message(gs_world *world, void *state, const gs_event *event)
{
    keep(MESSAGE, world, state, event);
    tape.of->message(world, state, event);
}

const gs_strategy *gs_tape_listen(const gs_strategy *strategy)
{
    tape.of = strategy;
    tape.mode = DEAF;
    tape.heard = *strategy;
    tape.heard.step_begin = heard_step_begin;
    tape.heard.bucket_ready = strategy->bucket_ready == NULL ? NULL : heard_bucket_ready;
    tape.heard.backward_done = strategy->backward_done == NULL ? NULL : heard_backward_done;
    tape.heard.op_done = strategy->op_done == NULL ? NULL : heard_op_done;
    tape.heard.message = strategy->message == NULL ? NULL : heard_message;
    return &tape.heard;
}

void gs_tape_record(const gs_layout *layout)
{
    for (int role = 0; role < GS_ROLE_COUNT; role++) {
        free(tape.kept[role]);
        tape.kept[role] = NULL;
        tape.state_bytes[role] = layout->state_bytes[role];
    }
    tape.call_count = tape.answer_count = 0;
    tape.mode = RECORDS;
}

int64_t gs_tape_hooks(void)
{
    return (int64_t)tape.call_count;
}

static void play_once(void *const states[GS_ROLE_COUNT])
{
    const gs_strategy *of = tape.of;
    tape.next = 0;
    for (size_t i = 0; i < tape.call_count; i++) {
        const call *one = &tape.calls[i];
        void *state = states[one->role];
        switch (one->kind) {
        case STEP_BEGIN:
            (void)of->step_begin(one->world, state, &one->event);
            break;
        case BUCKET_READY:
            of->bucket_ready(one->world, state, &one->event);
            break;
        case BACKWARD_DONE:
            of->backward_done(one->world, state, &one->event);
            break;
        case OP_DONE:
            of->op_done(one->world, state, &one->event);
            break;
        case MESSAGE:
            of->message(one->world, state, &one->event);
            break;
        }
    }
    GS_ASSERT(tape.next == tape.answer_count && "the strategy asks what it asked before");
}

double gs_tape_play(int times)
{
    void *states[GS_ROLE_COUNT];
    for (int role = 0; role < GS_ROLE_COUNT; role++) {
        states[role] = malloc(tape.state_bytes[role] + 1);
        GS_ASSERT(states[role] != NULL);
    }
    tape.mode = PLAYS;
    clock_t before = clock();
    for (int i = 0; i < times; i++) {
        for (int role = 0; role < GS_ROLE_COUNT; role++) {
            if (tape.kept[role] != NULL) {
                memcpy(states[role], tape.kept[role], tape.state_bytes[role]);
            }
        }
        play_once(states);
    }
    double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    tape.mode = DEAF;
    for (int role = 0; role < GS_ROLE_COUNT; role++) {
        free(states[role]);
    }
    return cpu_s;
}

/* --- services --------------------------------------------------------------------------------- */

/* SERVICE(type, member of an answer, name, parameters, arguments): asks the driver and keeps its
 * answer, or gives the kept one. ORDER(name, parameters, arguments): asks it, or does nothing. */
#define SERVICE(type, member, name, parameters, arguments)                                         \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (tape.mode == PLAYS) {                                                                  \
            return tape.answers[tape.next++].member;                                               \
        }                                                                                          \
        type said = __real_##name arguments;                                                       \
        if (tape.mode == RECORDS) {                                                                \
            GS_ASSERT(tape.answer_count < ANSWERS_MAX);                                            \
            tape.answers[tape.answer_count++].member = said;                                       \
        }                                                                                          \
        return said;                                                                               \
    }
#define ORDER(name, parameters, arguments)                                                         \
    void __real_##name parameters;                                                                 \
    void __wrap_##name parameters;                                                                 \
    void __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (tape.mode != PLAYS) {                                                                  \
            __real_##name arguments;                                                               \
        }                                                                                          \
    }

#include "tests/bench/hook_services.def"
