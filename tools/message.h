/* What the program says on standard error, and how it ends when there is no memory.
 *
 * One message is one line: control characters in it become '?'. Results never go through here. */
#ifndef GS_TOOLS_MESSAGE_H
#define GS_TOOLS_MESSAGE_H

#include "base/log.h"
#include "base/status.h"

#include <stddef.h>

enum gs_exit {
    GS_EXIT_OK = 0,
    GS_EXIT_FAILED = 1,       /* a run or its input and output failed */
    GS_EXIT_USAGE = 2,        /* nothing was run: usage, unknown key, bad unit, unreadable input */
    GS_EXIT_GATE = 3,         /* surely worse than its limit */
    GS_EXIT_INCONCLUSIVE = 4, /* could not be told, and that was to fail */
    GS_EXIT_OUTSIDE = 5,      /* a prediction outside its tolerance; with --strict: outside the
                                 calibrated range */
    GS_EXIT_REFUSED = 6,      /* nothing to compare: other scenarios, a needed run is missing */
    GS_EXIT_INTERRUPTED = 128 /* plus the signal */
};

/* "gradsync: text" and a line feed. */
void gs_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for an error; returns GS_EXIT_FAILED for what the machine refused (memory), else
 * GS_EXIT_USAGE: errors of this kind come before anything has run. */
int gs_complain_error(const gs_error *err);

/* From now on what would be said is kept instead: of the processes of a live run one alone speaks.
 * Out of memory is said all the same. */
void gs_message_keep(void);
/* As before that. */
void gs_message_speak(void);
/* What was kept last; "": nothing. */
const char *gs_message_kept(void);

/* memory, or the end of the program with one line where it is NULL. */
void *gs_need(void *memory);

/* A printf into fresh memory; never NULL. Owner: caller, free(). */
char *gs_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where logs go; context is not used. */
void gs_message_log(void *context, gs_log_level level, const char *text);

#endif
