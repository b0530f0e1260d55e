/* Memory of an arena that is not cleared: room of which little is ever written, as where a program
 * may name any of thousands of members and names two. Apart from arena.h: nearly everybody wants
 * zeros. */
#ifndef GS_BASE_ARENA_BARE_H
#define GS_BASE_ARENA_BARE_H

#include "base/arena.h"

/* Otherwise as gs_arena_take. */
void *gs_arena_bare(gs_arena *arena, size_t count, size_t size_bytes);

#endif
