/* The manual page gradsync(1), from the tables of verbs and flags. */
#ifndef GS_TOOLS_MAN_H
#define GS_TOOLS_MAN_H

#include <stdio.h>

/* In man(7) macros, which every man reads; lintable by mandoc. */
void gs_man_print(FILE *out);

#endif
