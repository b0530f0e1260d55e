/* Words as a shell takes them, for commands that are printed to be typed again. */
#ifndef GS_TOOLS_SHELL_TEXT_H
#define GS_TOOLS_SHELL_TEXT_H

#include <stdio.h>

/* The word as it is where a POSIX shell would leave it alone, else in single quotes. */
void gs_shell_put(const char *word, FILE *out);

#endif
