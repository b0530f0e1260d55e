/* Models that an entity of a live run has kept at its marks, in a file: memory does not grow with
 * marks, and what a process had kept when it was killed is there for process 0 of its host.
 *
 * Every record is a mark and a model; they lie one after the other. Not for several threads. */
#ifndef GS_LIVE_LIVE_SHELF_H
#define GS_LIVE_LIVE_SHELF_H

#include "base/status.h"
#include "traces/record.h"

#include <stddef.h>
#include <stdint.h>

/* Where a model was kept. */
typedef struct gs_live_mark {
    gs_curve_row row; /* still without loss and accuracy */
    double weight;    /* of the model in a mean over workers, then */
} gs_live_mark;

enum { GS_LIVE_SHELF_PATH_BYTES = 256 };

/* All 0: there is none. */
typedef struct gs_live_shelf {
    int file_after; /* its number + 1 */
    size_t elements;
    uint32_t count;                      /* of records */
    char path[GS_LIVE_SHELF_PATH_BYTES]; /* "": it has no name any more */
} gs_live_shelf;

/* An empty one in $TMPDIR or /tmp, for models of so many floats. pid: of this process, under whose
 * number another process of the host finds it (one at a time); 0: nobody looks for it. Errors:
 * GS_EIO (what cannot be written, and why). Owner: caller, close. */
GS_MUST_USE gs_status gs_live_shelf_create(gs_live_shelf *shelf, int64_t pid, size_t elements,
                                           gs_error *err);
/* That of another process of this host, which loses its name; no shelf where none is found. Owner:
 * caller, close. */
void gs_live_shelf_find(gs_live_shelf *shelf, int64_t pid, size_t elements);
/* How much a shelf that was found holds by now. */
void gs_live_shelf_look(gs_live_shelf *shelf);
void gs_live_shelf_close(gs_live_shelf *shelf);

/* Record `index` <= count: the next one, or in place of one that is there. model [elements].
 * Errors: GS_EIO (no room: where). */
GS_MUST_USE gs_status gs_live_shelf_put(gs_live_shelf *shelf, uint32_t index,
                                        const gs_live_mark *mark, const float *model,
                                        gs_error *err);
/* Bytes of a record. */
size_t gs_live_shelf_bytes(const gs_live_shelf *shelf);
/* Record `index` < count as it lies there: mark, then model; out [gs_live_shelf_bytes]. Errors:
 * GS_EIO. */
GS_MUST_USE gs_status gs_live_shelf_get(const gs_live_shelf *shelf, uint32_t index, void *out,
                                        gs_error *err);

#endif
