/* The sink and the level: the only state of the process that base keeps. */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum { LINE_BYTES = 1024 };

static struct {
    gs_log_sink *sink;
    void *context;
    gs_log_level level;
} target;

void gs_log_to(gs_log_sink *sink, void *context, gs_log_level level)
{
    target.sink = sink;
    target.context = context;
    target.level = level;
}

void gs_log(gs_log_level level, const char *format, ...)
{
    if (target.sink == NULL || level > target.level) {
        return;
    }
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    target.sink(target.context, level, text);
}
