/* Scenarios and profiles that can be named without a path: bundled ones, and scenarios of the user.
 */
#ifndef GS_TOOLS_SCENARIO_LIST_H
#define GS_TOOLS_SCENARIO_LIST_H

#include "base/arena.h"

#include <stddef.h>

typedef struct gs_named_scenario {
    const char *name;
    const char *summary; /* its $comment, or "" */
    const char *file;
} gs_named_scenario;

/* Sorted by name; a user's file hides a bundled one of its name. Out of memory ends the program.
 * Owner: the arena. */
size_t gs_scenario_list(gs_arena *arena, const gs_named_scenario **out);
/* The same for bundled profiles; summary is their source. */
size_t gs_profile_list(gs_arena *arena, const gs_named_scenario **out);

#endif
