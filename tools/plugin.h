/* Strategies from shared objects (--plugin FILE). What is loaded stays to the end of the process,
 * and children that it forks have it too. A plug-in is code of its author: it can do all that the
 * user can. */
#ifndef GS_TOOLS_PLUGIN_H
#define GS_TOOLS_PLUGIN_H

#include "strategies/plugin.h"
#include "traces/stored_input.h"

#include <limits.h>

enum { GS_PLUGINS_MAX = 16 };

typedef struct gs_loaded_plugin {
    char path[PATH_MAX];          /* with a slash */
    const gs_plugin_table *table; /* of the object */
    gs_stored_input input; /* how runs name it: role "plugin", file name, hash of its bytes */
    char version[24];      /* "plugin-0123456789abcdef", of its strategies */
} gs_loaded_plugin;

/* Loads the object and adds its strategies to the registry; out is then in use and does not move.
 * Errors: GS_ENOTFOUND, GS_EIO; GS_EPARSE (no object, no plug-in); GS_EVERSION (made for other
 * headers); as of gs_strategy_add. */
GS_MUST_USE gs_status gs_plugin_load(const char *file, gs_loaded_plugin *out, gs_error *err);

/* The plug-in that a strategy is from, or NULL: the program's own. */
const gs_loaded_plugin *gs_plugin_of(const gs_loaded_plugin *plugins, size_t count,
                                     const gs_strategy *strategy);

#endif
