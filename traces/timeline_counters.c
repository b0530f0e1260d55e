#include "traces/timeline_counters.h"

#include <stdlib.h>

static void find_window(const gs_timeline *timeline, gs_timeline_counters *out)
{
    for (int64_t i = 0; i < timeline->step_count; i++) {
        const gs_step_row *row = &timeline->steps[i];
        gs_time_ns end = row->start_ns + row->duration_ns;
        out->from_ns = i == 0 || row->start_ns < out->from_ns ? row->start_ns : out->from_ns;
        out->to_ns = i == 0 || end > out->to_ns ? end : out->to_ns;
    }
    gs_time_ns length = out->to_ns - out->from_ns;
    out->bin_ns = length / GS_COUNTER_BINS + 1;
    out->bins = (uint32_t)((length + out->bin_ns - 1) / out->bin_ns);
}

/* A part of the window in which a message has this level; its ends count by their share of a bin.
 * The middle is a step up and one down, so that a long message costs no more than a short one. */
static void add_level(const gs_timeline_counters *counters, double *edges, double *steps,
                      const gs_time_ns between[2], double level)
{
    gs_time_ns from = between[0] > counters->from_ns ? between[0] : counters->from_ns;
    gs_time_ns to = between[1] < counters->to_ns ? between[1] : counters->to_ns;
    if (to <= from) {
        return;
    }
    gs_time_ns bin_ns = counters->bin_ns;
    gs_time_ns first = (from - counters->from_ns) / bin_ns;
    gs_time_ns last = (to - 1 - counters->from_ns) / bin_ns;
    if (first == last) {
        edges[first] += level * (double)(to - from) / (double)bin_ns;
        return;
    }
    gs_time_ns first_end = counters->from_ns + (first + 1) * bin_ns;
    gs_time_ns last_start = counters->from_ns + last * bin_ns;
    edges[first] += level * (double)(first_end - from) / (double)bin_ns;
    edges[last] += level * (double)(to - last_start) / (double)bin_ns;
    steps[first + 1] += level;
    steps[last] -= level;
}

static void add_up(const gs_timeline_counters *counters, double *values, const double *steps)
{
    for (uint32_t nic = 0; nic < counters->nics; nic++) {
        double level = 0.0;
        for (uint32_t bin = 0; bin < counters->bins; bin++) {
            size_t at = (size_t)nic * counters->bins + bin;
            level += steps[at];
            values[at] += level;
        }
    }
}

gs_status gs_timeline_count(const gs_timeline *timeline, gs_timeline_counters *out)
{
    *out = (gs_timeline_counters){.nics = timeline->world.nics};
    find_window(timeline, out);
    size_t places = (size_t)out->nics * out->bins + 1;
    out->sent_bps = calloc(places, sizeof *out->sent_bps);
    out->flight_bytes = calloc(places, sizeof *out->flight_bytes);
    double *steps = calloc(2 * places, sizeof *steps);
    if (out->sent_bps == NULL || out->flight_bytes == NULL || steps == NULL) {
        gs_timeline_counters_fini(out);
        free(steps);
        return GS_ENOMEM;
    }
    for (int64_t i = 0; i < timeline->message_count; i++) {
        const gs_timeline_message *message = &timeline->messages[i];
        if (!message->over_nic) {
            continue;
        }
        size_t row = (size_t)timeline->world.nic_of[message->from] * out->bins;
        /* Less than a ns on the wire counts as one. */
        gs_time_ns left =
            message->left_ns > message->began_ns ? message->left_ns : message->began_ns + 1;
        double rate = 8e9 * (double)message->bytes / (double)(left - message->began_ns);
        add_level(out, out->sent_bps + row, steps + row,
                  (const gs_time_ns[2]){message->began_ns, left}, rate);
        add_level(out, out->flight_bytes + row, steps + places + row,
                  (const gs_time_ns[2]){message->began_ns, message->arrive_ns},
                  (double)message->bytes);
    }
    add_up(out, out->sent_bps, steps);
    add_up(out, out->flight_bytes, steps + places);
    free(steps);
    return GS_OK;
}

void gs_timeline_counters_fini(gs_timeline_counters *counters)
{
    free(counters->sent_bps);
    free(counters->flight_bytes);
    *counters = (gs_timeline_counters){0};
}
