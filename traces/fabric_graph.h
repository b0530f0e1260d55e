/* A network of any shape, from a file: hosts, switches, links of one direction each with rate and
 * latency, and for every pair of hosts the shortest path.
 *
 * JSON, docs/formats.md: {"schema": "gradsync.graph/1", "hosts": [...], "switches": [...],
 * "links": [{"from", "to", "bandwidth", "latency", "both"}]}. Shortest: fewest links; of several
 * such the one whose first differing link stands first in the file. Hosts pass on what is not for
 * them, as in a torus. */
#ifndef GS_TRACES_FABRIC_GRAPH_H
#define GS_TRACES_FABRIC_GRAPH_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"

#include <stdint.h>

enum {
    GS_GRAPH_HOSTS_MAX = 1024,
    GS_GRAPH_VERTICES_MAX = 4096,
    GS_GRAPH_LINKS_MAX = 65535 /* of one direction */
};

typedef struct gs_graph_link {
    uint32_t from, to;
    int64_t bandwidth_bps;
    gs_time_ns latency_ns;
} gs_graph_link;

typedef struct gs_fabric_graph {
    const char *file;
    uint32_t hosts;    /* vertices 0 to hosts - 1, in file order */
    uint32_t vertices; /* switches follow */
    const gs_graph_link *links;
    uint32_t link_count;
    const uint16_t *next; /* [host][vertex]: the link to take there towards the host */
    uint32_t links_max;   /* of the longest path between hosts */
} gs_fabric_graph;

/* Errors: GS_EIO, GS_ENOTFOUND, GS_EPARSE and GS_EINVAL with file and key: unknown or doubled
 * names, a link without rate, hosts that are not joined; GS_ELIMIT; GS_ENOMEM. */
GS_MUST_USE gs_status gs_fabric_graph_read(const char *file, gs_arena *arena,
                                           const gs_fabric_graph **out, gs_error *err);

#endif
