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

/* As papers write them. */
static const other_name parameters[] = {
    {"h", "period"}, {"tau", "period"}, {"r", "rank"}, {"k", "ratio"}};

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

static const char *find(const other_name *names, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (is_name(text, names[i].name)) {
            return names[i].here;
        }
    }
    return NULL;
}

const char *gs_other_name(const char *name)
{
    return find(others, sizeof others / sizeof *others, name);
}

const char *gs_other_parameter(const char *name)
{
    return find(parameters, sizeof parameters / sizeof *parameters, name);
}
