/* What the controller costs: a step with its decision, decided each step, all rungs offered. */
#include "strategies/controller/gradsync_hook.h"

#include <stdio.h>
#include <time.h>

enum { STEPS = 2000000, ROOM = 512 };

int main(void)
{
    static double memory[ROOM];
    const char *why = "";
    gradsync_hook_config config = gradsync_hook_defaults(0, 64);
    config.node_ranks = 8;
    config.offered = (1U << GRADSYNC_HOOK_RUNGS) - 1;
    config.look_steps = 1;
    gradsync_hook *hook = gradsync_hook_create(memory, sizeof memory, &config, &why);
    if (hook == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    gradsync_hook_signals signals = gradsync_hook_unknown();
    gradsync_hook_decision decision = {0};
    int64_t scopes = 0, decisions = 0;
    clock_t before = clock();
    for (int64_t step = 0; step < STEPS; step++) {
        gradsync_hook_values values;
        signals.loss = 1.0 / (double)(1 + step % 100);
        signals.gradient_sq = 1.0 + (double)(step % 7);
        signals.drift_sq = (double)(1 + step % 9);
        signals.step_s = 0.1;
        signals.sync_s = decision.scope == GRADSYNC_HOOK_NONE ? 0.0 : 0.3;
        if (gradsync_hook_step(hook, &signals, &values)) {
            for (int i = 0; i < GRADSYNC_HOOK_SUMS; i++) {
                values.sums[i] *= 64.0;
            }
            gradsync_hook_decide(hook, &values, &decision);
            decisions++;
        }
        scopes += decision.scope;
    }
    double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    printf("{\"bench\": \"hook\", \"steps\": %d, \"decisions\": %lld, \"scopes\": %lld, "
           "\"cpu_s\": %.3f, \"ns_per_step\": %.1f, \"state_bytes\": %zu}\n",
           STEPS, (long long)decisions, (long long)scopes, cpu_s, cpu_s / STEPS * 1e9,
           gradsync_hook_bytes());
    return cpu_s / STEPS < 2e-6 ? 0 : 1;
}
