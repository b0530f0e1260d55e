/* Any values as what ranks agreed on: every decision is one that can be carried out, and the
 * same on a rank that has seen other signals. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "base/assert.h"
#include "strategies/controller/gradsync_hook.h"

enum { ROOM = 512 };

static const uint8_t *take(const uint8_t *data, size_t *left, void *out, size_t bytes)
{
    size_t some = *left < bytes ? *left : bytes;
    memset(out, 0, bytes);
    if (some > 0) {
        memcpy(out, data, some);
    }
    *left -= some;
    return data + some;
}

static void check(const gradsync_hook_config *config, const gradsync_hook_decision *decision)
{
    GS_ASSERT(decision->rung >= 0 && decision->rung < GRADSYNC_HOOK_RUNGS);
    GS_ASSERT((config->offered >> decision->rung & 1U) == 1);
    GS_ASSERT(decision->scope >= GRADSYNC_HOOK_NONE && decision->scope <= GRADSYNC_HOOK_ALL);
    GS_ASSERT(decision->reason >= 0 && decision->reason < GRADSYNC_HOOK_REASONS);
    GS_ASSERT(decision->look_in >= 1);
    GS_ASSERT(decision->period >= 1 && decision->period <= config->period_max);
    GS_ASSERT(decision->paused_rank >= -1 && decision->paused_rank < (int64_t)config->ranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double memory[2][ROOM];
    uint8_t shape[4];
    const char *why;
    GS_ASSERT(gradsync_hook_bytes() <= sizeof memory[0]);
    const uint8_t *at = take(data, &size, shape, sizeof shape);
    gradsync_hook_config config = gradsync_hook_defaults(0, 1 + shape[0]);
    config.offered = shape[1];
    config.node_ranks = shape[2];
    config.period_max = shape[3];
    gradsync_hook *one = gradsync_hook_create(memory[0], sizeof memory[0], &config, &why);
    if (one == NULL) {
        GS_ASSERT(why != NULL);
        return 0;
    }
    gradsync_hook *two = gradsync_hook_create(memory[1], sizeof memory[1], &config, &why);
    while (size > 0) {
        gradsync_hook_signals signals;
        gradsync_hook_values values, own;
        gradsync_hook_decision decision, again;
        at = take(at, &size, &signals, sizeof signals);
        at = take(at, &size, &values, sizeof values);
        signals.struct_bytes = sizeof signals;
        bool due = gradsync_hook_step(one, &signals, &own);
        signals.loss = 0.0; /* another rank has seen another loss */
        GS_ASSERT(gradsync_hook_step(two, &signals, &own) == due);
        if (due) {
            gradsync_hook_decide(one, &values, &decision);
            gradsync_hook_decide(two, &values, &again);
            GS_ASSERT(memcmp(&decision, &again, sizeof decision) == 0);
            check(&config, &decision);
        }
    }
    return 0;
}
