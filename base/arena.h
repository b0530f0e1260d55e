/* A bump allocator: what a run needs is taken at its start and given back at its end.
 *
 * Sim and strategies take memory only here and only in init; steady state takes none. For tests an
 * arena can be told to fail its n-th request. Not thread safe. */
#ifndef GS_BASE_ARENA_H
#define GS_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct gs_arena_block gs_arena_block;

typedef struct gs_arena {
    gs_arena_block *blocks; /* newest first */
    size_t used_bytes;      /* handed out, alignment included */
    int64_t fail_after;     /* < 0: never; else that many requests succeed and the next one fails */
} gs_arena;

/* An empty arena; takes no memory yet. */
void gs_arena_init(gs_arena *arena);

/* Gives everything back; the arena is as after init. */
void gs_arena_fini(gs_arena *arena);

/* Zeroed memory for count objects of size bytes, aligned for any type up to 64 bytes; NULL when
 * there is none left or the product overflows. Owner: the arena. A count of 0 gives a valid
 * pointer. */
void *gs_arena_take(gs_arena *arena, size_t count, size_t size_bytes);

/* The same, aligned for any standard type and no further: what is small and looked at together lies
 * together. */
void *gs_arena_pack(gs_arena *arena, size_t count, size_t size_bytes);

/* Terminated copy of text, or NULL. Owner: the arena. */
char *gs_arena_text(gs_arena *arena, const char *text);

#define GS_TAKE(arena, type, count) ((type *)gs_arena_take((arena), (count), sizeof(type)))
#define GS_PACK(arena, type, count) ((type *)gs_arena_pack((arena), (count), sizeof(type)))

#endif
