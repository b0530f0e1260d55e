/* For code under test that reads files: the input as a file of its own, one a process. */
#ifndef GS_TESTS_FUZZ_FILE_H
#define GS_TESTS_FUZZ_FILE_H

#include "base/assert.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_file_name[64];

static inline void fuzz_file_remove(void)
{
    remove(fuzz_file_name);
}

/* Writes the bytes and returns the file's name, which holds until the next call. The file goes when
 * the process ends. */
static inline const char *fuzz_file(const void *data, size_t size)
{
    if (fuzz_file_name[0] == '\0') {
        snprintf(fuzz_file_name, sizeof fuzz_file_name, "/tmp/gradsync-fuzz-XXXXXX");
        int handle = mkstemp(fuzz_file_name);
        GS_ASSERT(handle >= 0);
        close(handle);
        GS_ASSERT(atexit(fuzz_file_remove) == 0);
    }
    FILE *file = fopen(fuzz_file_name, "wb");
    GS_ASSERT(file != NULL);
    GS_ASSERT(fwrite(data, 1, size, file) == size);
    GS_ASSERT(fclose(file) == 0);
    return fuzz_file_name;
}

#endif
