/* The one place that ends the process on a programmer error. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void gs_assert_failed(const char *text, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, text);
    abort();
}
