/* Status codes and error texts: how every function of gradsync says that something went wrong.
 *
 * A function that can fail returns gs_status; where a user can be wrong its last argument is a
 * gs_error, written once by gs_fail() at the place that knows, and forwarded by GS_TRY. The text is
 * one line for the person who reads it: file, key, value, what is allowed, what to do. */
#ifndef GS_BASE_STATUS_H
#define GS_BASE_STATUS_H

#include <stdarg.h>

#define GS_MUST_USE __attribute__((warn_unused_result))

/* clang-format off */
#define GS_STATUS_LIST(X)                                                                          \
    X(OK,           0, "ok")                                                                       \
    X(EINVAL,      -1, "a value that is not allowed")                                              \
    X(EPARSE,      -2, "a file that cannot be read as what it should be")                          \
    X(ENOTFOUND,   -3, "no such name or file")                                                     \
    X(EUNSUPPORTED,-4, "not supported yet")                                                        \
    X(EIO,         -5, "input or output failed")                                                   \
    X(ENOMEM,      -6, "out of memory")                                                            \
    X(ELIMIT,      -7, "a stated limit was exceeded")                                              \
    X(EMISMATCH,   -8, "ranks disagree")                                                           \
    X(EDEADLOCK,   -9, "every rank waits and nothing is on its way")                               \
    X(ECONTRACT,  -10, "a strategy broke a rule of its contract")                                  \
    X(EDIVERGED,  -11, "the loss is not finite any more")                                          \
    X(EBUSY,      -12, "in use by someone else")                                                   \
    X(EVERSION,   -13, "made by another version")                                                  \
    X(EINTERRUPTED,-14, "interrupted")
/* clang-format on */

typedef enum gs_status {
#define GS_STATUS_ENUM(name, value, text) GS_##name = (value),
    GS_STATUS_LIST(GS_STATUS_ENUM)
#undef GS_STATUS_ENUM
} gs_status;

enum { GS_ERROR_TEXT_BYTES = 512 };

typedef struct gs_error {
    gs_status code;
    char text[GS_ERROR_TEXT_BYTES]; /* one line, no trailing newline, always terminated */
} gs_error;

/* Short text of a code, never NULL; static storage. */
const char *gs_status_text(gs_status code);

/* Writes code and text into err (which may be NULL) and returns code. Longer texts are cut. */
gs_status gs_fail(gs_error *err, gs_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

gs_status gs_fail_list(gs_error *err, gs_status code, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Puts "prefix: " before the text of err and returns its code; for callers that know the file. */
gs_status gs_fail_in(gs_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define GS_TRY(call)                                                                               \
    do {                                                                                           \
        gs_status gs_try_status = (call);                                                          \
        if (gs_try_status != GS_OK) {                                                              \
            return gs_try_status;                                                                  \
        }                                                                                          \
    } while (0)

#endif
