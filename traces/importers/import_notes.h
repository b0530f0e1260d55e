/* A growing list of one-line remarks that an importer hands out with what it read. */
#ifndef GS_TRACES_IMPORT_NOTES_H
#define GS_TRACES_IMPORT_NOTES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_import_notes {
    gs_arena *arena; /* owner of texts and list */
    const char **items;
    uint32_t count;
    uint32_t capacity;
    bool out_of_memory; /* set once, kept: a reader checks it at its end */
} gs_import_notes;

enum { GS_IMPORT_NOTES_MAX = 200 };

/* Adds a line of at most 511 characters; the same text is kept once. Beyond GS_IMPORT_NOTES_MAX
 * lines the last one says that there are more: a damaged file must not fill the memory with
 * remarks. */
void gs_import_notes_add(gs_import_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
