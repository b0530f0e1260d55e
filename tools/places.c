#include "tools/places.h"

#include "tools/message.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACE_BYTES = PATH_MAX };

/* variable/tail, else HOME/home_tail/tail, else "". */
static void user_place(const char *variable, const char *home_tail, const char *tail,
                       char out[PLACE_BYTES])
{
    const char *base = getenv(variable);
    const char *home = getenv("HOME");
    out[0] = '\0';
    if (base != NULL && base[0] == '/') {
        snprintf(out, PLACE_BYTES, "%s/gradsync/%s", base, tail);
    } else if (home != NULL && home[0] == '/') {
        snprintf(out, PLACE_BYTES, "%s/%s/gradsync/%s", home, home_tail, tail);
    }
}

const char *gs_places_data(void)
{
    static char place[PLACE_BYTES + 64];
    char program[PLACE_BYTES];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
        char *slash = strrchr(program, '/');
        if (slash != NULL) {
            *slash = '\0';
            snprintf(place, sizeof place, "%s/../share/gradsync/traces/scenarios", program);
            if (access(place, R_OK) == 0) {
                snprintf(place, sizeof place, "%s/../share/gradsync", program);
                return place;
            }
        }
    }
    snprintf(place, sizeof place, "%s", GS_SOURCE_DATA);
    return place;
}

const char *gs_places_config(void)
{
    static char place[PLACE_BYTES];
    const char *named = getenv("GRADSYNC_CONFIG");
    if (named != NULL && named[0] != '\0') {
        return named;
    }
    user_place("XDG_CONFIG_HOME", ".config", "config.json", place);
    return place;
}

const char *gs_places_scenarios(void)
{
    static char place[PLACE_BYTES];
    user_place("XDG_DATA_HOME", ".local/share", "scenarios", place);
    return place;
}

char *gs_places_program(const char *name)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char *file = gs_text("%.*s/%s", (int)length, path, name);
        if (access(file, X_OK) == 0) {
            return file;
        }
        free(file);
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return NULL;
}
