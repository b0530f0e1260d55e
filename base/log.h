/* Messages for people on their way, never results. The sink is set by the tool; libraries never
 * print, and logging never changes behaviour. Text is lower case without a trailing stop. */
#ifndef GS_BASE_LOG_H
#define GS_BASE_LOG_H

typedef enum gs_log_level { GS_LOG_ERROR, GS_LOG_WARNING, GS_LOG_INFO, GS_LOG_DEBUG } gs_log_level;

typedef void gs_log_sink(void *context, gs_log_level level, const char *text);

/* Messages up to `level` go to sink; NULL: nowhere (the default). Set once, before threads start.
 */
void gs_log_to(gs_log_sink *sink, void *context, gs_log_level level);

void gs_log(gs_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
