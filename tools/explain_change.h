/* What one could change next, each as a copy of the scenario with just that changed. */
#ifndef GS_TOOLS_EXPLAIN_CHANGE_H
#define GS_TOOLS_EXPLAIN_CHANGE_H

#include "tools/explain_ranks.h"

enum { GS_CHANGES_MAX = 16 };

typedef struct gs_change {
    const char *key;       /* for programs: "link_x2" */
    const char *name;      /* for people: "nic x2 (20 Gbit/s)"; owner: the arena */
    gs_scenario *scenario; /* owner: the arena */
    const char *learns;    /* "the same" where it changes only how fast, or what it changes */
} gs_change;

/* Every change that means something here: no loader without an input stage, no bucket for a
 * strategy that has none, nothing that is already so. out [GS_CHANGES_MAX]; returns how many. */
uint32_t gs_changes_make(const gs_scenario *base, gs_arena *arena, gs_change *out);

#endif
