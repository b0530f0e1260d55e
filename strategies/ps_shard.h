/* Parameters are cut into shards, one a server, and shards into pieces, which are pushed one by
 * one.
 */
#ifndef GS_STRATEGIES_PS_SHARD_H
#define GS_STRATEGIES_PS_SHARD_H

#include "strategies/ps.h"

uint32_t gs_ps_server_count(const gs_ps_config *config, const gs_job *job);
/* The slice of a shard, in a vector. */
gs_slice gs_ps_shard(const gs_job *job, uint32_t servers, uint32_t server, uint32_t vector);
/* Of a server: its own one. */
gs_slice gs_ps_own_shard(const gs_world *world, uint32_t vector);
/* Elements of a piece that is full, how many pieces a shard has, and one of them. */
int64_t gs_ps_piece_elements(const gs_ps_config *config, const gs_job *job);
uint32_t gs_ps_piece_count(const gs_ps_config *config, const gs_job *job, gs_slice shard);
gs_slice gs_ps_piece(const gs_ps_config *config, const gs_job *job, gs_slice shard, uint32_t piece);

#endif
