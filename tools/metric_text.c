#include "tools/metric_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

gs_metric_scale gs_metric_scale_of(const char *unit, double value)
{
    static const gs_metric_scale times[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1.0, " ns"}};
    static const gs_metric_scale sizes[] = {{1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1.0, " B"}};
    if (strcmp(unit, "ratio") == 0) {
        return (gs_metric_scale){0.01, " %"};
    }
    bool is_time = strcmp(unit, "ns") == 0;
    if (!is_time && strcmp(unit, "bytes") != 0) {
        return (gs_metric_scale){1.0, ""};
    }
    const gs_metric_scale *scales = is_time ? times : sizes;
    int place = 0;
    while (place < 3 && fabs(value) < scales[place].by) {
        place++;
    }
    return scales[place];
}

char *gs_metric_value_text(const char *unit, double value, char out[GS_METRIC_TEXT_BYTES])
{
    if (!isfinite(value)) {
        snprintf(out, GS_METRIC_TEXT_BYTES, "-");
        return out;
    }
    gs_metric_scale scale = gs_metric_scale_of(unit, value);
    snprintf(out, GS_METRIC_TEXT_BYTES, "%.4g%s", value / scale.by, scale.unit);
    return out;
}
