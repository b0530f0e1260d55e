/* Which of two strategies is simpler, where their results tie. */
#ifndef GS_TOOLS_SIMPLER_H
#define GS_TOOLS_SIMPLER_H

#include <stddef.h>

/* Parameters that the label sets, and its codec: what can be set wrong. */
static inline size_t gs_label_parts(const char *label)
{
    size_t count = 0;
    for (const char *at = label; *at != '\0'; at++) {
        count += *at == '=' || *at == '+' ? 1 : 0;
    }
    return count;
}

#endif
