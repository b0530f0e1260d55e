/* The manual pages gradsync(1), from the tables of verbs and flags, and gradsync-scenario(5), from
 * the field tables of a scenario. Why by the program itself: docs/adr/0041-manual-pages.md. */
#ifndef GS_TOOLS_MAN_H
#define GS_TOOLS_MAN_H

#include <stdio.h>

/* In man(7) macros, which every man reads; lintable by mandoc. */
void gs_man_print(FILE *out);
void gs_man_print_scenario(FILE *out);
/* The same keys for a terminal. */
void gs_help_print_scenario(FILE *out);

/* A text in which roff sees nothing of its own. */
void gs_man_text(const char *text, FILE *out);
/* Running text: short lines, and each sentence on lines of its own, as roff wants it. */
void gs_man_running(const char *text, FILE *out);

#endif
