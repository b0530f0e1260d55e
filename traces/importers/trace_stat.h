/* What `trace stat` shows of an imported file set, as a JSON object. */
#ifndef GS_TRACES_TRACE_STAT_H
#define GS_TRACES_TRACE_STAT_H

#include "base/json.h"
#include "traces/importers/importer.h"

/* Writes into the object `into`:
 *   format; notes;
 *   profile: source, world_size, element_bytes, elements (all units), units[{name, elements,
 * wire_ns}], blocking[{name, count, bytes, wire_ns}] (by name; sums of one step, median over
 * steps), ranks[{rank, steps, step_ns{p50, min, max}, compute_ns, input_ns, wait_ns, wire_ns,
 * hidden_ns}] (each part: median over steps); curves[{collective, ranks, hosts, device, source,
 * points, least_bytes, most_bytes, latency_ns, rate_bps}]: latency is the time of the least size,
 * rate as gs_curve_rate_bps says; ops[{type, count,
 * total_ns}]; node: source, gpus[{gpu, nic, distance, nic_rate_bps}] (the nearest nic; absent where
 * there is none), links[{from, to, kind, count, rate_bps}] (0: the file does not say). A median of
 * an even count is the mean of both middle ones. Errors: GS_ENOMEM; into is then only to be freed.
 */
GS_MUST_USE gs_status gs_trace_stat(const gs_imported *imported, gs_json *into);

#endif
