/* Everything that `calibrate` measures of a cluster, in one go: work of one thread, the model, its
 * passes beside a busy network, links and all-reduces; fitted, on process 0.
 *
 * With a crew every process calls it. What is a link between nodes and what one inside of them is
 * as the scenario says: of nodes that share a NIC only the first rank is measured with other
 * nodes. */
#ifndef GS_LIVE_MEASURE_CLUSTER_H
#define GS_LIVE_MEASURE_CLUSTER_H

#include "live/crew.h"
#include "live/measure_curve.h"
#include "live/measure_link.h"
#include "live/measure_work.h"
#include "traces/scenario/scenario.h"

enum { GS_MEASURED_NOTES_MAX = 32, GS_MEASURED_HOST_BYTES = 64 };

typedef struct gs_measured_rank { /* a process: a rank, or a server */
    char host[GS_MEASURED_HOST_BYTES];
    gs_estimate vector_bps;
    gs_codec_rates *codecs; /* [codec_count]; all 0 where one could not be measured */
    gs_model_times model;   /* unit_count 0: not measured */
    gs_estimate busy_ns;    /* value 0: not measured */
} gs_measured_rank;

typedef struct gs_measured_links {
    uint32_t pairs; /* 0: none measured */
    bool all_pairs;
    gs_link_fit fit;          /* of all whose two ends are as usual */
    gs_estimate window_bytes; /* likewise (traces/link_fit.h) */
    uint32_t window_count;    /* times it was measured; 0: not seen */
    double *scales;           /* [process_count], of the usual rate */
} gs_measured_links;

typedef struct gs_measured_codec {
    const char *name; /* "topk:ratio=1%" */
    const gs_coding *coding;
} gs_measured_codec;

typedef struct gs_measured_cluster {
    uint32_t process_count;
    gs_measured_rank *ranks; /* [process_count] */
    int64_t work_elements;   /* of what vector operations and codecs were measured with */
    gs_measured_codec *codecs;
    uint32_t codec_count;
    gs_measured_links nic, intra;
    gs_curve ring, native; /* point_count 0: not measured */
    char *notes[GS_MEASURED_NOTES_MAX];
    uint32_t note_count;
} gs_measured_cluster;

/* crew NULL: this process alone, no links. transport: for the names of curves. Errors: those of the
 * parts, GS_ENOMEM. Owner of what out holds: the arena. */
GS_MUST_USE gs_status gs_measure_cluster(gs_crew *crew, const char *transport,
                                         const gs_scenario *scenario, gs_arena *arena,
                                         gs_measured_cluster *out, gs_error *err);

#endif
