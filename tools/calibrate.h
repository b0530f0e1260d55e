/* What `calibrate` makes of what was measured: values with their intervals, the scenario with these
 * in it, a profile of the model and curves, each as a document. */
#ifndef GS_TOOLS_CALIBRATE_H
#define GS_TOOLS_CALIBRATE_H

#include "live/measure_cluster.h"
#include "traces/scenario/scenario.h"

#include <stdbool.h>

typedef struct gs_calibrated {
    gs_calibration_value *values; /* by key of the scenario, in its order */
    uint32_t value_count, value_capacity;
    gs_json *scenario;
    gs_json *profile;       /* NULL: the model was not measured */
    gs_json *ring, *native; /* NULL: not measured */
} gs_calibrated;

/* Names that the scenario is to find the other files by, relative to where it lies. */
typedef struct gs_calibrated_names {
    char *profile, *ring, *native;
} gs_calibrated_names;

/* now: seconds since 1970. Ends the program without memory. */
void gs_calibrate(const gs_measured_cluster *measured, const gs_scenario *scenario,
                  const char *transport, const gs_calibrated_names *names, int64_t now,
                  gs_calibrated *out);
void gs_calibrated_free(gs_calibrated *calibrated);

/* A value that goes into the scenario under that key; texts as a user would write them. */
void gs_calibrated_rate(gs_calibrated *into, const char *key, gs_estimate bps, int64_t count);
void gs_calibrated_duration(gs_calibrated *into, const char *key, gs_estimate ns, int64_t count);
void gs_calibrated_bytes(gs_calibrated *into, const char *key, gs_estimate bytes, int64_t count);
void gs_calibrated_real(gs_calibrated *into, const char *key, gs_estimate value, int64_t count);

/* The text of the last one that was added. */
const char *gs_calibrated_last(const gs_calibrated *calibrated);

/* The nodes of the scenario with what was measured of them: nodes of one kind whose network cards
 * or memory differ become kinds of their own. Sets cluster.nodes. */
void gs_calibrate_nodes(const gs_measured_cluster *measured, const gs_scenario *scenario,
                        gs_json *cluster, gs_calibrated *into);

#endif
