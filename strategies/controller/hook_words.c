/* Rungs, scopes and reasons in words. */
#include "strategies/controller/gradsync_hook.h"

static const char *word(const char *const *words, int32_t count, int32_t index)
{
    return index >= 0 && index < count ? words[index] : "?";
}

const char *gradsync_hook_reason_text(int32_t reason)
{
    static const char *const words[GRADSYNC_HOOK_REASONS] = {
        [GRADSYNC_HOOK_WARMING_UP] = "costs are measured first",
        [GRADSYNC_HOOK_PAYS] = "more was lost than an average costs",
        [GRADSYNC_HOOK_NOT_YET] = "an average costs more than was lost",
        [GRADSYNC_HOOK_EVERY_STEP] = "every step is averaged",
        [GRADSYNC_HOOK_PERIOD_IS_MAX] = "the longest period is over",
        [GRADSYNC_HOOK_TOLD] = "the phase asks for it",
        [GRADSYNC_HOOK_NO_GRADIENT] = "gradients are next to zero",
        [GRADSYNC_HOOK_NOT_A_NUMBER] = "a signal is not a number",
        [GRADSYNC_HOOK_IMPOSSIBLE] = "signals cannot be true",
    };
    return word(words, GRADSYNC_HOOK_REASONS, reason);
}

const char *gradsync_hook_rung_text(int32_t rung)
{
    static const char *const words[GRADSYNC_HOOK_RUNGS] = {
        [GRADSYNC_HOOK_DENSE] = "dense",   [GRADSYNC_HOOK_COMPRESSED] = "compressed",
        [GRADSYNC_HOOK_LOCAL] = "local",   [GRADSYNC_HOOK_LOCAL_NODES] = "local by nodes",
        [GRADSYNC_HOOK_PAUSE] = "without", [GRADSYNC_HOOK_STALE] = "stale",
        [GRADSYNC_HOOK_ASYNC] = "async",
    };
    return word(words, GRADSYNC_HOOK_RUNGS, rung);
}

const char *gradsync_hook_scope_text(int32_t scope)
{
    static const char *const words[] = {
        [GRADSYNC_HOOK_NONE] = "none",
        [GRADSYNC_HOOK_NODE] = "node",
        [GRADSYNC_HOOK_SUBSET] = "subset",
        [GRADSYNC_HOOK_ALL] = "all",
    };
    return word(words, GRADSYNC_HOOK_ALL + 1, scope);
}
