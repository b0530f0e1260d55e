/* The side of a worker: it pulls, computes, pushes, and waits for every server's answer. Where its
 * rule restarts, it gives up a gradient that nobody takes any more. */
#ifndef GS_STRATEGIES_PS_WORKER_H
#define GS_STRATEGIES_PS_WORKER_H

#include "strategies/ps.h"

size_t gs_ps_worker_bytes(uint32_t servers);
gs_plan gs_ps_worker_step_begin(gs_world *world, void *state, const gs_event *event);
void gs_ps_worker_bucket_ready(gs_world *world, void *state, const gs_event *event);
void gs_ps_worker_backward_done(gs_world *world, void *state, const gs_event *event);
void gs_ps_worker_op_done(gs_world *world, void *state);
void gs_ps_worker_message(gs_world *world, void *state, const gs_event *event);
void gs_ps_worker_quiesce(gs_world *world, void *state);
size_t gs_ps_worker_export(const void *state, void *out, size_t out_bytes);
void gs_ps_worker_import(void *state, const void *in, size_t in_bytes);

#endif
