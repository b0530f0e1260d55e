/* A scenario before it means anything: files, what they extend and words of the command line, made
 * one JSON document that remembers who said what. Knows the form of a scenario, not its keys. */
#ifndef GS_TRACES_SCENARIO_SOURCE_H
#define GS_TRACES_SCENARIO_SOURCE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"
#include "traces/scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GS_LAYERS_MAX = 16, GS_SWEEPS_MAX = 32, GS_SCENARIO_DEPTH_MAX = GS_JSON_DEPTH_MAX };

typedef struct gs_scenario_layer {
    const char *file; /* as errors call it: a path, or a bundled name */
    const char *path; /* to open; "-": standard input */
    gs_json_at document;
} gs_scenario_layer;

typedef struct gs_scenario_sweep {
    char path[GS_JSON_PATH_BYTES];
    gs_json *object; /* {"sweep": [...]} as it was written */
} gs_scenario_sweep;

typedef struct gs_scenario_source {
    const gs_scenario_options *options;
    gs_arena *arena;
    const char *name;
    gs_scenario_layer layers[GS_LAYERS_MAX]; /* the file itself, what it extends, ... */
    uint32_t layer_count;
    gs_json_at merged; /* paths in it open from here; a sweep is replaced by its first value */
    gs_scenario_sweep sweeps[GS_SWEEPS_MAX];
    uint32_t sweep_count;
} gs_scenario_source;

/* Reads and merges. Errors: GS_EINVAL, GS_EPARSE, GS_ENOTFOUND, GS_EIO, GS_ENOMEM; the source is to
 * be freed after an error as well. */
GS_MUST_USE gs_status gs_scenario_source_read(const char *file, const gs_scenario_options *options,
                                              gs_arena *arena, gs_scenario_source *out,
                                              gs_error *err);
void gs_scenario_source_free(gs_scenario_source *source);

/* Is the value at path, or what it is part of, from a word of the command line? */
bool gs_scenario_source_is_override(const gs_scenario_source *source, const char *path);

/* Makes "FILE: PATH: text" name the layer or the command line that said PATH. Returns err's code.
 */
gs_status gs_scenario_source_blame(const gs_scenario_source *source, gs_error *err);

/* A word of letters, digits, "-" and "_" names something bundled; anything else is a file. */
bool gs_scenario_is_bundled_name(const char *text);

/* Path of a bundled file: FOLDER/NAME.json in the data directory; what: "scenario", for errors.
 * Errors: GS_ENOTFOUND with the nearest name. Owner of *out: the arena. */
GS_MUST_USE gs_status gs_scenario_bundled(const gs_scenario_options *options, const char *what,
                                          const char *folder, const char *name, gs_arena *arena,
                                          const char **out, gs_error *err);

/* --- paths: "cluster.nodes.0.count" or "cluster.nodes[0].count" ---------------------------------
 */

/* false: nothing is there. */
bool gs_scenario_path_find(const gs_json_at *root, const char *path, gs_json_at *out);

/* Puts value there and takes it; makes objects on the way. Errors: GS_EINVAL (an index out of
 * range, a key of what is no object, an empty part), GS_ENOMEM; text without file and key. */
GS_MUST_USE gs_status gs_scenario_path_set(const gs_json_at *root, const char *path, gs_json *value,
                                           gs_error *err);

/* --- steps of reading, in scenario_words.c ------------------------------------------------------
 */

GS_MUST_USE gs_status gs_scenario_apply_overrides(gs_scenario_source *source, gs_error *err);
GS_MUST_USE gs_status gs_scenario_take_sweeps(gs_scenario_source *source, gs_error *err);

#endif
