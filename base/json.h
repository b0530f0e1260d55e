/* JSON documents with a memory of where they are: errors carry file and key path.
 *
 * The only file that includes cJSON. Whole documents only; traces that do not fit into memory are
 * streamed by traces/. A gs_json_at is a value with its place; it is passed by value and lives as
 * long as the document. */
#ifndef GS_BASE_JSON_H
#define GS_BASE_JSON_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_json gs_json; /* one value; owner: its document */

enum { GS_JSON_PATH_BYTES = 160, GS_JSON_BYTES_MAX = 64 * 1024 * 1024, GS_JSON_DEPTH_MAX = 64 };

typedef enum gs_json_kind {
    GS_JSON_NULL,
    GS_JSON_BOOL,
    GS_JSON_NUMBER,
    GS_JSON_TEXT,
    GS_JSON_LIST,
    GS_JSON_OBJECT
} gs_json_kind;

typedef struct gs_json_at {
    gs_json *value;
    const char *file; /* for errors: a file name, "<stdin>" or "the command line" */
    char
        path[GS_JSON_PATH_BYTES]; /* "cluster.links.nic.bandwidth", "" at the root, cut if longer */
} gs_json_at;

/* Parses length bytes of text. Errors: GS_EPARSE with file, line, column; a NUL byte, trailing
 * text, a duplicate key, a depth over GS_JSON_DEPTH_MAX and a size over GS_JSON_BYTES_MAX are
 * refused. Owner: caller, gs_json_free(at->value). `file` is borrowed. */
GS_MUST_USE gs_status gs_json_parse(const char *text, size_t length, const char *file,
                                    gs_json_at *out, gs_error *err);
/* Reads a file, or standard input for "-", and parses it. Errors: GS_EIO, GS_ENOTFOUND, GS_EPARSE.
 */
GS_MUST_USE gs_status gs_json_read(const char *file, gs_json_at *out, gs_error *err);
void gs_json_free(gs_json *value);
gs_json *gs_json_copy(const gs_json *value);

gs_json_kind gs_json_kind_of(const gs_json *value);
/* What a value is, for errors: "a list", "the number 3", "\"text\"" (cut); returns out. */
char *gs_json_describe(const gs_json *value, char *out, size_t out_bytes);

/* Members and elements. find: false where there is none. at/member by index: asserts the range. */
bool gs_json_find(const gs_json_at *object, const char *key, gs_json_at *out);
size_t gs_json_count(const gs_json *list_or_object);
gs_json_at gs_json_element(const gs_json_at *list, size_t index);
gs_json_at gs_json_member(const gs_json_at *object, size_t index, const char **out_key);
/* The index-th child into *item, which holds the one before it (index 0: anything); false at the
 * end. `for (size_t i = 0; gs_json_walk(&list, i, &item); i++)` is linear, while count, element and
 * member each cost their index: use this one for lists that can be long. */
bool gs_json_walk(const gs_json_at *parent, size_t index, gs_json_at *item);

/* Typed reads; errors name file, path, what was found and what is wanted. */
GS_MUST_USE gs_status gs_json_text(const gs_json_at *at, const char **out, gs_error *err);
GS_MUST_USE gs_status gs_json_bool(const gs_json_at *at, bool *out, gs_error *err);
GS_MUST_USE gs_status gs_json_real(const gs_json_at *at, double *out, gs_error *err);
/* Whole numbers of 64 bits, as a number or as a decimal text. Digits alone are exact; "1e3" and
 * "2.0" are whole up to 2^53. */
GS_MUST_USE gs_status gs_json_int(const gs_json_at *at, int64_t *out, gs_error *err);

/* gs_fail with "FILE: PATH: " in front. */
gs_status gs_json_fail(const gs_json_at *at, gs_status code, gs_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Building. A NULL value anywhere (no memory) makes the next call fail in peace: set and add free
 * the value then and return false. */
gs_json *gs_json_new_object(void);
gs_json *gs_json_new_list(void);
gs_json *gs_json_new_text(const char *text);
gs_json *gs_json_new_bool(bool value);
gs_json *gs_json_new_real(double value); /* shortest form that reads back; not finite: null */
gs_json *gs_json_new_int(int64_t value); /* beyond 2^53: a text, exact for every reader */
gs_json *gs_json_new_null(void);
bool gs_json_set(gs_json *object, const char *key,
                 gs_json *value);                /* takes value; replaces in place */
bool gs_json_add(gs_json *list, gs_json *value); /* takes value */
/* Puts value in the place of the index-th element and takes it; asserts the range. */
bool gs_json_put(gs_json *list, size_t index, gs_json *value);
/* Text of a value, indented by two spaces or on one line. Owner: caller, free(). NULL: no memory.
 */
char *gs_json_write(const gs_json *value, bool indented);

/* Version of the library underneath, for people. Static storage. */
const char *gs_json_library(void);

#endif
