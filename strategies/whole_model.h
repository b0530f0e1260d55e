/* What strategies have alike that send models and not gradients: vectors are whole. */
#ifndef GS_STRATEGIES_WHOLE_MODEL_H
#define GS_STRATEGIES_WHOLE_MODEL_H

#include "strategies/world.h"

static inline gs_slice gs_whole(const gs_world *world, uint32_t vector)
{
    return (gs_slice){vector, 0, gs_world_job(world)->elements};
}

/* gs_vec on whole vectors. */
static inline void gs_whole_vec(gs_world *world, gs_vop vop, uint32_t dst, uint32_t a, double k)
{
    gs_vec(world, vop, gs_whole(world, dst), gs_whole(world, a), k);
}

/* A hook: a gradient that does not travel is used when it is complete. */
static inline void gs_whole_bucket_ready(gs_world *world, void *state, const gs_event *event)
{
    (void)world;
    (void)state;
    (void)event;
}

#endif
