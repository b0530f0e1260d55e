#include "traces/importers/import_notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_BYTES = 512, FIRST_CAPACITY = 8 };

static bool make_room(gs_import_notes *notes)
{
    if (notes->count < notes->capacity) {
        return true;
    }
    uint32_t capacity = notes->capacity == 0 ? FIRST_CAPACITY : notes->capacity * 2;
    const char **items = GS_TAKE(notes->arena, const char *, capacity);
    if (items == NULL) {
        notes->out_of_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < notes->count; i++) {
        items[i] = notes->items[i];
    }
    notes->items = items;
    notes->capacity = capacity;
    return true;
}

void gs_import_notes_add(gs_import_notes *notes, const char *format, ...)
{
    char text[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->items[i], text) == 0) {
            return;
        }
    }
    if (notes->count > GS_IMPORT_NOTES_MAX || !make_room(notes)) {
        return;
    }
    const char *copy = gs_arena_text(
        notes->arena, notes->count == GS_IMPORT_NOTES_MAX ? "more remarks were left out" : text);
    if (copy == NULL) {
        notes->out_of_memory = true;
        return;
    }
    notes->items[notes->count++] = copy;
}
