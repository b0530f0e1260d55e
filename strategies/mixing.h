/* Who gossips with whom, and how much a neighbour's word counts: pure functions of graph, number of
 * ranks and round.
 *
 * Every graph here looks the same from every rank, so one weight does for all: 1 / (degree + 1),
 * for each neighbour and for oneself. Then rows and columns of the weights sum to 1, also where
 * edges have a direction: averages keep the sum. Ring and torus are symmetric. */
#ifndef GS_STRATEGIES_MIXING_H
#define GS_STRATEGIES_MIXING_H

#include "base/status.h"

#include <stdint.h>

typedef enum gs_graph {
    GS_GRAPH_RING,        /* both neighbours, weights 1/3; of 2 ranks the other one, 1/2 */
    GS_GRAPH_TORUS,       /* the nearest to a square; a side of 2 has one neighbour, not two */
    GS_GRAPH_EXPONENTIAL, /* to the ranks 1, 2, 4, 8, ... further on */
    GS_GRAPH_COMPLETE,
    GS_GRAPH_ONE_PEER, /* the exponential graph, one distance a round: of 2^k ranks the average is
                          exact after k rounds */
    GS_GRAPH_COUNT
} gs_graph;

/* A graph of so many ranks. A rank is at (rank / columns, rank % columns); but for the torus there
 * is one row. */
typedef struct gs_mixing {
    uint32_t graph; /* gs_graph */
    uint32_t ranks;
    uint32_t rows, columns;
    uint32_t degree; /* messages that a rank sends in a round, and gets */
} gs_mixing;

/* Names of the graphs in their order, NULL at the end. */
extern const char *const gs_graph_names[];

/* 1 rank has no neighbours in any graph. Errors: GS_EINVAL where a torus has but one row; the text
 * begins with `name`. */
GS_MUST_USE gs_status gs_mixing_check(const char *name, gs_graph graph, uint32_t ranks,
                                      gs_error *err);
/* ranks >= 1, that gs_mixing_check has let pass. */
gs_mixing gs_mixing_of(gs_graph graph, uint32_t ranks);

/* Neighbour `index` < degree of a rank in a round >= 0: to whom it sends; and from whom comes what
 * that one sends to its neighbour `index`. */
uint32_t gs_mixing_to(const gs_mixing *mixing, uint32_t rank, int64_t round, uint32_t index);
uint32_t gs_mixing_from(const gs_mixing *mixing, uint32_t rank, int64_t round, uint32_t index);

double gs_mixing_weight(const gs_mixing *mixing);

#endif
