#define _DEFAULT_SOURCE /* madvise */
#include "base/arena_bare.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks double, so that a large run lies in few places; from 2 MiB on they are made of huge pages
 * where there are any: events go through thousands of ranks in no order, and otherwise wait for
 * page tables as often as for memory. */
enum { ALIGNMENT = 64, BLOCK_BYTES_MIN = 64 * 1024, PAGE_BYTES_HUGE = 2 * 1024 * 1024 };

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

/* As large as what was taken so far, up to a huge page. */
static size_t next_block_bytes(const gs_arena *arena)
{
    size_t bytes = BLOCK_BYTES_MIN;
    while (bytes < PAGE_BYTES_HUGE && 2 * bytes <= arena->used_bytes) {
        bytes *= 2;
    }
    return bytes;
}

static gs_arena_block *add_block(gs_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t total = sizeof(gs_arena_block) + bytes;
    size_t least = next_block_bytes(arena);
    total = total > least ? total : least;
    size_t unit = total < PAGE_BYTES_HUGE ? ALIGNMENT : PAGE_BYTES_HUGE;
    total = (total + unit - 1) / unit * unit;
    gs_arena_block *block = aligned_alloc(unit, total);
    if (block == NULL) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (unit == PAGE_BYTES_HUGE) {
        (void)madvise(block, total, MADV_HUGEPAGE); /* else it is slower, and no different */
    }
#endif
    block->next = arena->blocks;
    block->capacity_bytes = total - sizeof(gs_arena_block);
    block->used_bytes = 0;
    arena->blocks = block;
    return block;
}

static size_t up_to(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void *take(gs_arena *arena, size_t count, size_t size_bytes, size_t alignment)
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
    size_t bytes = up_to(count * size_bytes, alignment);
    gs_arena_block *block = arena->blocks;
    size_t from = block != NULL ? up_to(block->used_bytes, alignment) : 0;
    if (block == NULL || from > block->capacity_bytes || block->capacity_bytes - from < bytes) {
        block = add_block(arena, bytes);
        if (block == NULL) {
            return NULL;
        }
        from = 0;
    }
    arena->used_bytes += from + bytes - block->used_bytes;
    block->used_bytes = from + bytes;
    return block->data + from;
}

static void *zeroed(void *taken, size_t count, size_t size_bytes)
{
    return taken == NULL ? NULL : memset(taken, 0, count * size_bytes);
}

void *gs_arena_take(gs_arena *arena, size_t count, size_t size_bytes)
{
    return zeroed(take(arena, count, size_bytes, ALIGNMENT), count, size_bytes);
}

void *gs_arena_bare(gs_arena *arena, size_t count, size_t size_bytes)
{
    return take(arena, count, size_bytes, ALIGNMENT);
}

void *gs_arena_pack(gs_arena *arena, size_t count, size_t size_bytes)
{
    return zeroed(take(arena, count, size_bytes, alignof(max_align_t)), count, size_bytes);
}

char *gs_arena_text(gs_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = gs_arena_take(arena, bytes, 1);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}
