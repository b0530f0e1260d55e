#include "strategies/lag_rule.h"

#include "base/assert.h"

void gs_lag_step(gs_lag_rule *rule, uint32_t window, double square)
{
    GS_ASSERT(window >= 1 && window <= GS_LAG_WINDOW_MAX);
    rule->steps[rule->next] = square;
    rule->next = (rule->next + 1) % window;
    rule->count += rule->count < window ? 1 : 0;
}

bool gs_lag_is_news(const gs_lag_rule *rule, double xi, double change)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < rule->count; i++) {
        sum += rule->steps[i];
    }
    return !(change <= xi * sum);
}
