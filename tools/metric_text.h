/* Values of metrics as people read them: "41.8 ms", "175 MB", "97.5 %". */
#ifndef GS_TOOLS_METRIC_TEXT_H
#define GS_TOOLS_METRIC_TEXT_H

enum { GS_METRIC_TEXT_BYTES = 64 };

/* What a value of this size is divided by, and the unit then, with a space before it. */
typedef struct gs_metric_scale {
    double by;
    const char *unit;
} gs_metric_scale;

/* unit: as in traces/metrics.def; ratios become percentages. */
gs_metric_scale gs_metric_scale_of(const char *unit, double value);

/* Four digits; "-" for what is not finite. Returns out. */
char *gs_metric_value_text(const char *unit, double value, char out[GS_METRIC_TEXT_BYTES]);

#endif
