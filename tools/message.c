#include "tools/message.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 4096 };

static bool keeps;
static char kept[LINE_BYTES];

static void put_line(const char *prefix, const char *text)
{
    char line[LINE_BYTES];
    if (keeps) {
        snprintf(kept, sizeof kept, "%s%s", prefix, text);
        return;
    }
    snprintf(line, sizeof line, "gradsync: %s%s", prefix, text);
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = '?';
        }
    }
    fprintf(stderr, "%s\n", line);
}

void gs_complain(const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_line("", text);
}

int gs_complain_error(const gs_error *err)
{
    put_line("", err->text);
    return err->code == GS_ENOMEM ? GS_EXIT_FAILED : GS_EXIT_USAGE;
}

void gs_message_keep(void)
{
    keeps = true;
}

void gs_message_speak(void)
{
    keeps = false;
}

const char *gs_message_kept(void)
{
    return kept;
}

void *gs_need(void *memory)
{
    if (memory == NULL) {
        keeps = false;
        gs_complain("out of memory");
        exit(GS_EXIT_FAILED);
    }
    return memory;
}

char *gs_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t bytes = length < 0 ? 1 : (size_t)length + 1;
    char *text = gs_need(malloc(bytes));
    text[0] = '\0';
    vsnprintf(text, bytes, format, again);
    va_end(again);
    return text;
}

void gs_message_log(void *context, gs_log_level level, const char *text)
{
    static const char *const names[] = {
        [GS_LOG_ERROR] = "error: ",
        [GS_LOG_WARNING] = "warning: ",
        [GS_LOG_INFO] = "",
        [GS_LOG_DEBUG] = "debug: ",
    };
    (void)context;
    put_line(names[level], text);
}
