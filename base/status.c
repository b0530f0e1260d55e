#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *gs_status_text(gs_status code)
{
    switch (code) {
#define GS_STATUS_CASE(name, value, text)                                                          \
    case GS_##name:                                                                                \
        return text;
        GS_STATUS_LIST(GS_STATUS_CASE)
#undef GS_STATUS_CASE
    }
    return "unknown status";
}

gs_status gs_fail_list(gs_error *err, gs_status code, const char *format, va_list arguments)
{
    if (err != NULL) {
        err->code = code;
        vsnprintf(err->text, sizeof err->text, format, arguments);
    }
    return code;
}

gs_status gs_fail(gs_error *err, gs_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gs_fail_list(err, code, format, arguments);
    va_end(arguments);
    return code;
}

gs_status gs_fail_in(gs_error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof text) {
        size_t left = sizeof text - (size_t)used;
        snprintf(text + used, left, ": %.*s", (int)left, err->text);
    }
    memcpy(err->text, text, sizeof text);
    return err->code;
}
