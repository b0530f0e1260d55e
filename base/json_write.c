/* JSON text of a tree, without recursion; short lists of plain values stay on one line. */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/json_tree.h"

enum { INDENT = 2, LINE_LIST_MAX = 16, CAPACITY_MIN = 256 };

typedef struct text_buffer {
    char *bytes;
    size_t length;
    size_t capacity;
    bool has_failed; /* no memory; what follows is dropped */
} text_buffer;

static void put(text_buffer *out, const char *bytes, size_t count)
{
    if (!out->has_failed && out->capacity - out->length <= count) {
        size_t capacity = (out->capacity + count + CAPACITY_MIN) * 2;
        char *grown = realloc(out->bytes, capacity);
        if (grown == NULL) {
            out->has_failed = true;
        } else {
            out->bytes = grown;
            out->capacity = capacity;
        }
    }
    if (!out->has_failed) {
        memcpy(out->bytes + out->length, bytes, count);
        out->length += count;
        out->bytes[out->length] = '\0';
    }
}

static void put_text(text_buffer *out, const char *text)
{
    put(out, text, strlen(text));
}

/* A quoted text; UTF-8 passes as it is, and each byte that is none, such as those of a file name,
 * becomes U+FFFD, since no reader takes the document with it. */
static void put_quoted(text_buffer *out, const char *text)
{
    const char *end = text + strlen(text);
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    put(out, "\"", 1);
    for (const char *c = text; c < end; c++) {
        size_t count = gs_json_tree_utf8_bytes(c, (size_t)(end - c));
        const char *found = strchr(named, *c);
        if (found != NULL) {
            char escape[2] = {'\\', letters[found - named]};
            put(out, escape, sizeof escape);
        } else if ((unsigned char)*c < 0x20) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*c);
            put_text(out, escape);
        } else if (count == 0) {
            put_text(out, "\xef\xbf\xbd");
        } else {
            put(out, c, count);
            c += count - 1;
        }
    }
    put(out, "\"", 1);
}

static void put_break(text_buffer *out, size_t depth)
{
    put(out, "\n", 1);
    for (size_t i = 0; i < depth * INDENT; i++) {
        put(out, " ", 1);
    }
}

static bool is_container(const gs_json *value)
{
    gs_json_kind kind = gs_json_kind_of(value);
    return kind == GS_JSON_LIST || kind == GS_JSON_OBJECT;
}

static void put_plain(text_buffer *out, const gs_json *value)
{
    char number[32];
    switch (gs_json_kind_of(value)) {
    case GS_JSON_BOOL:
        put_text(out, gs_json_tree_bool(value) ? "true" : "false");
        break;
    case GS_JSON_NUMBER:
        put_text(out, gs_json_tree_number(value, number, sizeof number));
        break;
    case GS_JSON_TEXT:
        put_quoted(out, gs_json_tree_text(value));
        break;
    case GS_JSON_LIST:
    case GS_JSON_OBJECT:
    case GS_JSON_NULL:
        put_text(out, "null");
        break;
    }
}

/* A list of a few plain values reads better on one line. */
static bool is_line_list(const gs_json *value)
{
    size_t count = 0;
    const gs_json *child = gs_json_tree_first(value);
    for (; child != NULL && count <= LINE_LIST_MAX; child = gs_json_tree_next(child)) {
        if (is_container(child)) {
            return false;
        }
        count++;
    }
    return gs_json_kind_of(value) == GS_JSON_LIST && count <= LINE_LIST_MAX;
}

typedef struct open_container {
    const gs_json *value;
    bool has_breaks; /* a line for each child */
} open_container;

static void put_open(text_buffer *out, const gs_json *value)
{
    put_text(out, gs_json_kind_of(value) == GS_JSON_LIST ? "[" : "{");
}

static void put_close(text_buffer *out, const open_container *open, size_t depth)
{
    if (open->has_breaks) {
        put_break(out, depth);
    }
    put_text(out, gs_json_kind_of(open->value) == GS_JSON_LIST ? "]" : "}");
}

char *gs_json_write(const gs_json *value, bool indented)
{
    text_buffer out = {0};
    open_container stack[GS_JSON_DEPTH_MAX + 1];
    size_t depth = 0;
    const gs_json *at = value;
    while (at != NULL) {
        const char *key = depth > 0 ? gs_json_tree_key(at) : NULL;
        if (depth > 0 && stack[depth - 1].has_breaks) {
            put_break(&out, depth);
        }
        if (key != NULL) {
            put_quoted(&out, key);
            put_text(&out, indented ? ": " : ":");
        }
        const gs_json *child = is_container(at) ? gs_json_tree_first(at) : NULL;
        if (child != NULL) {
            GS_ASSERT(depth <= GS_JSON_DEPTH_MAX);
            put_open(&out, at);
            stack[depth++] = (open_container){at, indented && !is_line_list(at)};
            at = child;
            continue;
        }
        if (is_container(at)) {
            put_open(&out, at);
            put_close(&out, &(open_container){at, false}, depth);
        } else {
            put_plain(&out, at);
        }
        while (depth > 0 && gs_json_tree_next(at) == NULL) {
            at = stack[--depth].value;
            put_close(&out, &stack[depth], depth);
        }
        at = depth > 0 ? gs_json_tree_next(at) : NULL;
        if (at != NULL) {
            put_text(&out, indented && !stack[depth - 1].has_breaks ? ", " : ",");
        }
    }
    if (out.has_failed) {
        free(out.bytes);
        return NULL;
    }
    return out.bytes;
}
