/* Hooks of strategies that keep nothing from one step to the next: the weights are all of it. */
#ifndef GS_STRATEGIES_STATELESS_H
#define GS_STRATEGIES_STATELESS_H

#include "strategies/strategy.h"

/* The state starts as zeros. */
static inline void gs_stateless_init(gs_world *world, void *state)
{
    (void)world;
    (void)state;
}

static inline size_t gs_stateless_export(const void *state, void *out, size_t out_bytes)
{
    (void)state;
    (void)out;
    (void)out_bytes;
    return 0;
}

static inline void gs_stateless_import(gs_world *world, void *state, const void *in,
                                       size_t in_bytes)
{
    (void)world;
    (void)state;
    (void)in;
    (void)in_bytes;
}

#endif
