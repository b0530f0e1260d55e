#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_BYTES_MIN = 64 * 1024 };

struct gs_arena_block {
    gs_arena_block *next;
    size_t capacity_bytes;
    size_t used_bytes;
    alignas(ALIGNMENT) unsigned char data[];
};

void gs_arena_init(gs_arena *arena)
{
    *arena = (gs_arena){.fail_after = -1};
}

void gs_arena_fini(gs_arena *arena)
{
    while (arena->blocks != NULL) {
        gs_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    gs_arena_init(arena);
}

static gs_arena_block *add_block(gs_arena *arena, size_t bytes)
{
    size_t capacity = bytes > BLOCK_BYTES_MIN ? bytes : BLOCK_BYTES_MIN;
    if (capacity > SIZE_MAX - sizeof(gs_arena_block) - ALIGNMENT) {
        return NULL;
    }
    size_t total = sizeof(gs_arena_block) + capacity;
    total = (total + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    gs_arena_block *block = aligned_alloc(ALIGNMENT, total);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    block->capacity_bytes = capacity;
    block->used_bytes = 0;
    arena->blocks = block;
    return block;
}

void *gs_arena_take(gs_arena *arena, size_t count, size_t size_bytes)
{
    if (arena->fail_after == 0) {
        return NULL;
    }
    if (arena->fail_after > 0) {
        arena->fail_after--;
    }
    if (size_bytes != 0 && count > (SIZE_MAX - ALIGNMENT) / size_bytes) {
        return NULL;
    }
    size_t bytes = (count * size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    gs_arena_block *block = arena->blocks;
    if (block == NULL || block->capacity_bytes - block->used_bytes < bytes) {
        block = add_block(arena, bytes);
        if (block == NULL) {
            return NULL;
        }
    }
    void *memory = block->data + block->used_bytes;
    block->used_bytes += bytes;
    arena->used_bytes += bytes;
    return memset(memory, 0, bytes);
}

char *gs_arena_text(gs_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = gs_arena_take(arena, bytes, 1);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}
