/* The same job on other ranks: fewer, more, or without some of them. Copies in memory, as
 * explain_variant.h makes them. */
#ifndef GS_TOOLS_EXPLAIN_RANKS_H
#define GS_TOOLS_EXPLAIN_RANKS_H

#include "tools/explain_variant.h"

/* The job on the first `count` ranks; beyond its own the nodes come again in their order. The same
 * batch for each rank. One rank that straggles is left out where there are fewer than all. A
 * measured curve is of its own rank count and goes; the copy then has the link's nominal rate.
 * Owner: the arena. */
gs_scenario *gs_variant_ranks(const gs_scenario *base, uint32_t count, gs_arena *arena);

/* Ranks have places of their own, by hand or in a torus, region or graph: nobody says where more of
 * them would be, or what is left without some. gs_variant_ranks then has nodes on one switch. */
bool gs_variant_is_placed(const gs_scenario *base);

/* The job without the ranks that compute longest, all that are within 1 % of the slowest. NULL:
 * more than half are. *out_ranks [*out_count]: who they are. Owner of both: the arena. */
gs_scenario *gs_variant_without_slowest(const gs_scenario *base, const uint32_t **out_ranks,
                                        uint32_t *out_count, gs_arena *arena);

/* The rank that computes longest, what the others compute at least, and by which factor it is
 * slower; false: all are the same. Counts stragglers that are always there. */
bool gs_variant_slowest(const gs_scenario *base, uint32_t *out_rank, double *out_factor);

/* What a job is compared with to ask whether more pays: the first node where the network is between
 * nodes, else the first rank. Ranks. */
uint32_t gs_variant_unit(const gs_scenario *base);

/* Of all nodes; a part of a node costs its share of ranks. 0: not stated. */
double gs_variant_usd_per_hour(const gs_scenario *scenario);

/* A curve of just this many ranks times the operations. */
bool gs_variant_has_curve(const gs_scenario *scenario);

#endif
