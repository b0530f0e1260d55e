#include <criterion/criterion.h>

#include "base/log.h"

#include <stdio.h>
#include <string.h>

typedef struct seen_message {
    int count;
    gs_log_level level;
    char text[2048];
} seen_message;

static void remember(void *context, gs_log_level level, const char *text)
{
    seen_message *to = context;
    to->count++;
    to->level = level;
    snprintf(to->text, sizeof to->text, "%s", text);
}

Test(log, without_a_sink_nothing_happens)
{
    gs_log(GS_LOG_ERROR, "%d", 1);
}

Test(log, messages_up_to_the_level_reach_the_sink)
{
    seen_message seen = {0};
    gs_log_to(remember, &seen, GS_LOG_INFO);
    gs_log(GS_LOG_DEBUG, "too fine");
    cr_expect_eq(seen.count, 0);
    gs_log(GS_LOG_INFO, "rank %d is late by %s", 3, "41.8 ms");
    cr_expect_eq(seen.count, 1);
    cr_expect_eq(seen.level, GS_LOG_INFO);
    cr_expect_str_eq(seen.text, "rank 3 is late by 41.8 ms");
    gs_log_to(NULL, NULL, GS_LOG_DEBUG);
    gs_log(GS_LOG_ERROR, "nobody hears this");
    cr_expect_eq(seen.count, 1);
}

Test(log, a_long_message_is_cut)
{
    seen_message seen = {0};
    gs_log_to(remember, &seen, GS_LOG_DEBUG);
    char text[3000];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    gs_log(GS_LOG_DEBUG, "%s", text);
    cr_expect_eq(strlen(seen.text), 1023); /* a line of 1,024 bytes with its end */
}
