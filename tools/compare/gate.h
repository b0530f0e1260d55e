/* Limits of a comparison: how much worse a metric may get.
 *
 * "time_to_target<=+3%" allows a share of the base, "final_accuracy>=-0.002" or "step_p50<=+2ms" an
 * amount. The sign of the relation is that of the metric: what is better when lower has "<=". */
#ifndef GS_TOOLS_COMPARE_GATE_H
#define GS_TOOLS_COMPARE_GATE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"
#include "traces/stats/change.h"

enum { GS_GATES_MAX = 64, GS_LIMIT_TEXT_BYTES = 64 };

typedef struct gs_gate {
    uint32_t metric;
    gs_change_limit limit;
} gs_gate;

typedef struct gs_gates {
    gs_gate gates[GS_GATES_MAX];
    uint32_t count;
    const char *from; /* who set them: "--gate", "the scenario", "built in" */
} gs_gates;

/* Errors: GS_EINVAL naming the text, what is allowed, the nearest metric. */
GS_MUST_USE gs_status gs_gate_parse(const char *text, gs_gate *out, gs_error *err);

/* Adds a gate; of two of one metric the later stands. Errors: GS_ELIMIT. */
GS_MUST_USE gs_status gs_gates_add(gs_gates *gates, const gs_gate *gate, gs_error *err);

/* Those of a resolved scenario's "gates"; none: out->count is 0. Errors: GS_EPARSE, GS_ELIMIT. */
GS_MUST_USE gs_status gs_gates_of_scenario(const char *config_json, gs_gates *out, gs_error *err);

/* What fails a comparison where nobody has said it: times, bytes and what was learned. share: by
 * which what has no amount of its own may get worse. */
void gs_gates_built_in(double share, gs_gates *out);

/* NULL: the metric has none. */
const gs_gate *gs_gates_find(const gs_gates *gates, uint32_t metric);

/* "+3 %" or "-0.002", as an allowed change. Returns out. */
char *gs_gate_limit_text(const gs_gate *gate, char out[GS_LIMIT_TEXT_BYTES]);

/* A metric's name as people write it, without its unit: "step_p50". Returns out. */
char *gs_metric_short(uint32_t metric, char out[GS_LIMIT_TEXT_BYTES]);

#endif
