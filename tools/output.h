/* Primary output: gathered in memory and written once at the end, to standard output or to -o FILE.
 *
 * So a document is whole or not there, and a full disk or a closed pipe is noticed in one place. */
#ifndef GS_TOOLS_OUTPUT_H
#define GS_TOOLS_OUTPUT_H

#include <stdio.h>

typedef struct gs_output {
    FILE *text; /* write here */
    char *buffer;
    size_t bytes;
    const char *file; /* NULL: standard output */
} gs_output;

/* file "" and "-": standard output. Returns an exit code: 1 with a line on standard error where the
 * file could not be written later; it is not touched yet. */
int gs_output_open(gs_output *output, const char *file);

/* Writes what was gathered. 1 with one line where it cannot be written; without one where the
 * reader of a pipe has gone. */
int gs_output_close(gs_output *output);

/* Forgets what was gathered. */
void gs_output_drop(gs_output *output);

#endif
