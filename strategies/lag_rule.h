/* When a worker of LAG sends: a change against what the last steps came to. Plain numbers, without
 * a world. */
#ifndef GS_STRATEGIES_LAG_RULE_H
#define GS_STRATEGIES_LAG_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum { GS_LAG_WINDOW_MAX = 64 };

/* Zeros: no step has been made. */
typedef struct gs_lag_rule {
    double steps[GS_LAG_WINDOW_MAX]; /* squares of the last ones, in a ring */
    uint32_t next, count;
} gs_lag_rule;

/* A step of that square has been made; the last `window` (1 to GS_LAG_WINDOW_MAX) count. */
void gs_lag_step(gs_lag_rule *rule, uint32_t window, double square);
/* change > xi times the sum of the squares; also where either is no number. */
bool gs_lag_is_news(const gs_lag_rule *rule, double xi, double change);

#endif
