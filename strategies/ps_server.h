/* The side of a server: it takes gradients as its rule says, makes updates, and lets workers go on.
 */
#ifndef GS_STRATEGIES_PS_SERVER_H
#define GS_STRATEGIES_PS_SERVER_H

#include "strategies/ps.h"

size_t gs_ps_server_bytes(uint32_t ranks);
void gs_ps_server_init(gs_world *world, void *state);
void gs_ps_server_op_done(gs_world *world, void *state);
void gs_ps_server_message(gs_world *world, void *state, const gs_event *event);
void gs_ps_server_quiesce(gs_world *world, void *state);
size_t gs_ps_server_export(const void *state, void *out, size_t out_bytes);
void gs_ps_server_import(gs_world *world, void *state, const void *in, size_t in_bytes);

#endif
