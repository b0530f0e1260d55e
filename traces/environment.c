#include "traces/environment.h"

#include "models/blas.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { LINE_BYTES = 512 };

#ifdef __clang__
#define COMPILER_NAME    "clang"
#define COMPILER_VERSION __clang_version__
#else
#define COMPILER_NAME    "gcc"
#define COMPILER_VERSION __VERSION__
#endif

static char *trim(char *text)
{
    while (isspace((unsigned char)*text) || *text == '"') {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && (isspace((unsigned char)text[length - 1]) || text[length - 1] == '"')) {
        length--;
    }
    text[length] = '\0';
    return text;
}

const char *gs_environment_read_key(const char *file, const char *key, char separator,
                                    gs_arena *arena)
{
    FILE *stream = fopen(file, "r");
    if (stream == NULL) {
        return NULL;
    }
    const char *found = NULL;
    char line[LINE_BYTES];
    while (found == NULL && fgets(line, sizeof line, stream) != NULL) {
        char *value = strchr(line, separator);
        if (value == NULL) {
            continue;
        }
        *value = '\0';
        if (strcmp(trim(line), key) == 0) {
            found = gs_arena_text(arena, trim(value + 1));
        }
    }
    (void)fclose(stream); /* only read */
    return found;
}

/* The compiler's name and the first word of its version: the rest names its packager. */
static const char *compiler_text(gs_arena *arena)
{
    char text[LINE_BYTES];
    (void)snprintf(text, sizeof text, COMPILER_NAME " %.*s", (int)strcspn(COMPILER_VERSION, " "),
                   COMPILER_VERSION);
    return gs_arena_text(arena, text);
}

static const char *os_text(gs_arena *arena)
{
    struct utsname name;
    if (uname(&name) != 0) {
        return NULL;
    }
    const char *distribution =
        gs_environment_read_key("/etc/os-release", "PRETTY_NAME", '=', arena);
    char text[LINE_BYTES];
    (void)snprintf(text, sizeof text, "%s%s%s %s %s", distribution == NULL ? "" : distribution,
                   distribution == NULL ? "" : ", ", name.sysname, name.release, name.machine);
    return gs_arena_text(arena, text);
}

gs_status gs_environment_collect(const gs_tool_facts *tool, gs_arena *arena, gs_environment *out)
{
    gs_environment environment = {
        .tool_version = gs_arena_text(arena, tool->version),
        .commit = gs_arena_text(arena, tool->commit),
        .dirty = tool->dirty,
        .compiler = compiler_text(arena),
        .cpu = gs_environment_read_key("/proc/cpuinfo", "model name", ':', arena),
        .os = os_text(arena),
        .blas = gs_arena_text(arena, gs_blas_kernel()),
        .runner = tool->runner == NULL ? NULL : gs_arena_text(arena, tool->runner),
    };
    if (environment.tool_version == NULL || environment.commit == NULL ||
        environment.compiler == NULL || environment.blas == NULL ||
        (tool->runner != NULL && environment.runner == NULL)) {
        return GS_ENOMEM;
    }
    *out = environment;
    return GS_OK;
}

char *gs_utc_now(char out[GS_UTC_BYTES])
{
    time_t now = time(NULL);
    struct tm parts = {0};
    (void)gmtime_r(&now, &parts); /* fails beyond the year 2^31 only */
    (void)strftime(out, GS_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return out;
}
