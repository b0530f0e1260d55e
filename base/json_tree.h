/* The bare tree under base/json.h, for its reader and its writer only; places and errors are
 * theirs. */
#ifndef GS_BASE_JSON_TREE_H
#define GS_BASE_JSON_TREE_H

#include "base/json.h"

/* First child of a list or object, next sibling; NULL at the end. */
gs_json *gs_json_tree_first(const gs_json *value);
gs_json *gs_json_tree_next(const gs_json *value);

const char *gs_json_tree_key(const gs_json *member); /* NULL for what is not a member */
const char *gs_json_tree_text(const gs_json *text);
bool gs_json_tree_bool(const gs_json *value);

/* Text of a number as it was written, or in the shortest form that reads back, in out; returns
 * either. */
const char *gs_json_tree_number(const gs_json *number, char *out, size_t out_bytes);

/* A number with its own text, so that whole numbers beyond 2^53 stay exact. NULL: no memory. */
gs_json *gs_json_tree_new_number(double value, const char *text);

/* Puts value at the end without looking for an equal key; key is NULL for a list. Takes value, also
 * on failure (no memory, or a NULL anywhere). */
bool gs_json_tree_append(gs_json *parent, const char *key, gs_json *value);

/* Bytes of the well-formed UTF-8 sequence at the start of text (RFC 3629), of which left >= 1 bytes
 * may be looked at; 0: there is none. */
size_t gs_json_tree_utf8_bytes(const char *text, size_t left);

#endif
