/* Arrays that grow, for rows whose number nobody knows in advance. */
#ifndef GS_TRACES_GROW_H
#define GS_TRACES_GROW_H

#include <stddef.h>
#include <stdint.h>

/* The heap array with room for one more item, moved if need be; twice as much each time. NULL: no
 * memory, nothing has changed. Owner: as before, free(). */
void *gs_grow(void *items, int64_t count, int64_t *capacity, size_t item_bytes);

#endif
