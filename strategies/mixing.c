#include "strategies/mixing.h"

#include "base/assert.h"

#include <stddef.h>

const char *const gs_graph_names[] = {"ring", "torus", "exponential", "complete", "one_peer", NULL};

/* Distances 1, 2, 4, ... below the number of ranks. */
static uint32_t distances(uint32_t ranks)
{
    uint32_t count = 0;
    while ((uint64_t)1 << count < ranks) {
        count++;
    }
    return count;
}

/* The largest divisor up to the square root. */
static uint32_t torus_rows(uint32_t ranks)
{
    uint32_t rows = 1;
    for (uint32_t i = 2; (uint64_t)i * i <= ranks; i++) {
        rows = ranks % i == 0 ? i : rows;
    }
    return rows;
}

gs_status gs_mixing_check(const char *name, gs_graph graph, uint32_t ranks, gs_error *err)
{
    if (graph == GS_GRAPH_TORUS && ranks > 1 && torus_rows(ranks) == 1) {
        return gs_fail(err, GS_EINVAL,
                       "%s.graph: a torus has rows and columns, and %u ranks are a prime; use "
                       "graph=ring, or %u ranks",
                       name, ranks, ranks == 2 ? 4 : ranks + 1);
    }
    return GS_OK;
}

/* On a circle of so many: left and right, or the one other. */
static uint32_t beside(uint32_t length)
{
    return length > 2 ? 2 : length - 1;
}

gs_mixing gs_mixing_of(gs_graph graph, uint32_t ranks)
{
    GS_ASSERT(ranks > 0);
    gs_mixing mixing = {.graph = (uint32_t)graph, .ranks = ranks, .rows = 1, .columns = ranks};
    switch (graph) {
    case GS_GRAPH_TORUS:
        mixing.rows = torus_rows(ranks);
        mixing.columns = ranks / mixing.rows;
        mixing.degree = beside(mixing.columns) + beside(mixing.rows);
        break;
    case GS_GRAPH_RING:
        mixing.degree = beside(ranks);
        break;
    case GS_GRAPH_EXPONENTIAL:
        mixing.degree = distances(ranks);
        break;
    case GS_GRAPH_COMPLETE:
        mixing.degree = ranks - 1;
        break;
    case GS_GRAPH_ONE_PEER:
        mixing.degree = ranks > 1 ? 1 : 0;
        break;
    case GS_GRAPH_COUNT:
        GS_ASSERT(false && "a graph");
    }
    return mixing;
}

/* How far it is to neighbour `index`: columns to the right, rows down. */
static void way(const gs_mixing *mixing, int64_t round, uint32_t index, uint32_t *out_right,
                uint32_t *out_down)
{
    GS_ASSERT(index < mixing->degree);
    *out_right = *out_down = 0;
    switch ((gs_graph)mixing->graph) {
    case GS_GRAPH_RING:
    case GS_GRAPH_TORUS:
        if (index < beside(mixing->columns)) {
            *out_right = index == 0 ? 1 : mixing->columns - 1;
        } else {
            *out_down = index == beside(mixing->columns) ? 1 : mixing->rows - 1;
        }
        break;
    case GS_GRAPH_EXPONENTIAL:
        *out_right = UINT32_C(1) << index;
        break;
    case GS_GRAPH_COMPLETE:
        *out_right = index + 1;
        break;
    case GS_GRAPH_ONE_PEER:
        *out_right = UINT32_C(1) << (uint32_t)(round % distances(mixing->ranks));
        break;
    case GS_GRAPH_COUNT:
        GS_ASSERT(false && "a graph");
    }
}

static uint32_t at(const gs_mixing *mixing, uint32_t rank, uint32_t right, uint32_t down)
{
    uint32_t row = (rank / mixing->columns + down) % mixing->rows;
    return row * mixing->columns + (rank % mixing->columns + right) % mixing->columns;
}

uint32_t gs_mixing_to(const gs_mixing *mixing, uint32_t rank, int64_t round, uint32_t index)
{
    uint32_t right;
    uint32_t down;
    way(mixing, round, index, &right, &down);
    return at(mixing, rank, right, down);
}

uint32_t gs_mixing_from(const gs_mixing *mixing, uint32_t rank, int64_t round, uint32_t index)
{
    uint32_t right;
    uint32_t down;
    way(mixing, round, index, &right, &down);
    return at(mixing, rank, mixing->columns - right, mixing->rows - down);
}

double gs_mixing_weight(const gs_mixing *mixing)
{
    return 1.0 / (mixing->degree + 1.0);
}
