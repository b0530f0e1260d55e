/* A file that a run was made from, as results name it. */
#ifndef GS_TRACES_STORED_INPUT_H
#define GS_TRACES_STORED_INPUT_H

#include <stdint.h>

typedef struct gs_stored_input {
    const char *role; /* "profile", "curve", "trace", "data", "plugin" */
    const char *name;
    const char *format;
    int64_t bytes;
    uint64_t xxh3;
} gs_stored_input;

#endif
