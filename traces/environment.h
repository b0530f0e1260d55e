/* Where a run was made: facts that explain why two runs differ. Texts are for people and for the
 * `env` table of the store; nothing here may change a result. */
#ifndef GS_TRACES_ENVIRONMENT_H
#define GS_TRACES_ENVIRONMENT_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>

/* NULL: not known. */
typedef struct gs_environment {
    const char *tool_version; /* "0.1.0", never NULL */
    const char *commit;       /* of the program, "unknown" outside a repository; never NULL */
    bool dirty;               /* built from a changed tree: the commit does not say what ran */
    const char *compiler;     /* "gcc 12.2.0" */
    const char *cpu;          /* "AMD EPYC 9554 64-Core Processor" */
    const char *os;           /* "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64" */
    const char *blas;         /* library, version and the processor it chose kernels for */
    const char *runner;       /* name of the machine in CI, as the user gives it */
} gs_environment;

/* What the tool knows of itself; texts are copied. runner may be NULL. */
typedef struct gs_tool_facts {
    const char *version;
    const char *commit;
    bool dirty;
    const char *runner;
} gs_tool_facts;

/* Reads /proc/cpuinfo and /etc/os-release where they exist. Errors: GS_ENOMEM. Owner: the arena. */
GS_MUST_USE gs_status gs_environment_collect(const gs_tool_facts *tool, gs_arena *arena,
                                             gs_environment *out);

/* The value of `key` in a file of "key SEPARATOR value" lines, without quotes: "model name" and ':'
 * of /proc/cpuinfo, "PRETTY_NAME" and '=' of /etc/os-release. NULL: no such file or key, or no
 * memory. Owner: the arena. */
const char *gs_environment_read_key(const char *file, const char *key, char separator,
                                    gs_arena *arena);

enum { GS_UTC_BYTES = 24 };

/* "2026-11-29T19:30:31Z". Returns out. */
char *gs_utc_now(char out[GS_UTC_BYTES]);

#endif
