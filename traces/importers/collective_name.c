#include "traces/importers/collective_name.h"

#include <ctype.h>
#include <string.h>

typedef struct alias {
    const char *text; /* lower case without underscores and blanks */
    const char *name;
} alias;

/* Longer words stand before the ones they contain: "reducescatter" before "reduce" and "scatter".
 */
static const alias ALIASES[] = {
    {"allreduce", "all_reduce"}, {"reducescatter", "reduce_scatter"},
    {"allgather", "all_gather"}, {"alltoall", "all_to_all"},
    {"broadcast", "broadcast"},  {"hypercube", "hypercube"},
    {"sendrecv", "sendrecv"},    {"barrier", "barrier"},
    {"scatter", "scatter"},      {"gather", "gather"},
    {"reduce", "reduce"},        {"send", "sendrecv"},
    {"recv", "sendrecv"},
};

enum { FOLDED_BYTES = 512 };

const char *gs_collective_name(const char *text)
{
    char folded[FOLDED_BYTES];
    size_t length = 0;
    for (const char *at = text; *at != '\0' && length + 1 < sizeof folded; at++) {
        if (*at != '_' && *at != ' ' && *at != '-') {
            folded[length++] = (char)tolower((unsigned char)*at);
        }
    }
    folded[length] = '\0';
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++) {
        if (strstr(folded, ALIASES[i].text) != NULL) {
            return ALIASES[i].name;
        }
    }
    return NULL;
}

double gs_collective_bus_factor(const char *collective, int32_t ranks)
{
    double n = (double)ranks;
    if (strcmp(collective, "all_reduce") == 0) {
        return 2.0 * (n - 1.0) / n;
    }
    if (strcmp(collective, "all_gather") == 0 || strcmp(collective, "reduce_scatter") == 0 ||
        strcmp(collective, "all_to_all") == 0 || strcmp(collective, "gather") == 0 ||
        strcmp(collective, "scatter") == 0) {
        return (n - 1.0) / n;
    }
    return 1.0;
}
