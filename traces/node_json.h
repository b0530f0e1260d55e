/* A node's inside as JSON ("gradsync.node/1"): what trace import writes of other formats, and what
 * people write by hand. */
#ifndef GS_TRACES_NODE_JSON_H
#define GS_TRACES_NODE_JSON_H

#include "base/arena.h"
#include "base/json.h"
#include "traces/node_graph.h"

#define GS_NODE_SCHEMA "gradsync.node/1"

/* Errors: GS_EPARSE and GS_EINVAL with file and key, those of gs_node_graph_finish, GS_ENOMEM. */
GS_MUST_USE gs_status gs_node_json_read(const gs_json_at *root, gs_arena *arena,
                                        const gs_node_graph **out, gs_error *err);

/* Adds schema, parts and links to the object. false: no memory. */
bool gs_node_json_write(const gs_node_graph *graph, gs_json *into);

#endif
