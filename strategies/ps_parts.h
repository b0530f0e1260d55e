/* What the two sides of a parameter server share: ps.c (layout, worker, the choice by role) and
 * ps_server.c.
 *
 * Parameters are cut into shards, one a server, and shards into pieces: a worker pushes a piece as
 * soon as its gradient is ready, and a server takes up a gradient when its last piece is there. So
 * nobody waits for a gradient that is still being computed. */
#ifndef GS_STRATEGIES_PS_PARTS_H
#define GS_STRATEGIES_PS_PARTS_H

#include "strategies/ps.h"

/* Tags. Piece p of a shard travels on GS_PS_TAG_PIECE + p. Where a rule restarts, OUTDATED is a
 * note that the server has newer weights than it gave, and END an empty message behind the pieces
 * of a push: it says how many there were, for the worker may have stopped before the last one. */
enum { GS_PS_TAG_PARAM, GS_PS_TAG_STOP, GS_PS_TAG_OUTDATED, GS_PS_TAG_END, GS_PS_TAG_PIECE };

/* meta of a message with weights, and of a note OUTDATED the first of it; TOLD: such notes so far.
 */
enum { GS_PS_META_VERSION, GS_PS_META_LAST, GS_PS_META_TOLD };
/* meta of END. */
enum { GS_PS_META_PIECES };

/* First word of both states: hooks get nothing else to tell them apart. */
typedef struct gs_ps_role {
    uint32_t kind; /* gs_ps_kind */
    uint16_t role; /* gs_role */
} gs_ps_role;

/* The slice of a shard, in a vector. */
gs_slice gs_ps_shard(const gs_job *job, uint32_t servers, uint32_t server, uint32_t vector);
/* How many pieces a shard has, and one of them. */
uint32_t gs_ps_piece_count(const gs_ps_config *config, const gs_job *job, gs_slice shard);
gs_slice gs_ps_piece(const gs_ps_config *config, const gs_job *job, gs_slice shard, uint32_t piece);
uint32_t gs_ps_server_count(const gs_ps_config *config, const gs_job *job);

/* Own vectors of a server. */
uint32_t gs_ps_server_vectors(const gs_ps_config *config, const gs_ps_rule *rule, uint32_t ranks);
size_t gs_ps_server_bytes(uint32_t ranks);
void gs_ps_server_init(gs_world *world, void *state);
void gs_ps_server_op_done(gs_world *world, void *state);
void gs_ps_server_message(gs_world *world, void *state, const gs_event *event);
void gs_ps_server_quiesce(gs_world *world, void *state);
size_t gs_ps_server_export(const void *state, void *out, size_t out_bytes);
void gs_ps_server_import(gs_world *world, void *state, const void *in, size_t in_bytes);

#endif
