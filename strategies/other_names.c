#include "strategies/other_names.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct other_name {
    const char *name, *here;
} other_name;

static const other_name others[] = {
#define GS_OTHER_NAME(name, here) {name, here},
#include "strategies/other_names.def"
#undef GS_OTHER_NAME
};

/* name is in lower case. */
static bool is_name(const char *text, const char *name)
{
    for (; *name != '\0'; text++, name++) {
        char lower = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        if (lower != *name) {
            return false;
        }
    }
    return *text == '\0';
}

const char *gs_other_name(const char *name)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (is_name(name, others[i].name)) {
            return others[i].here;
        }
    }
    return NULL;
}
