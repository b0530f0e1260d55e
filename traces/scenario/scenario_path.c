/* Dotted paths into a JSON document, as overrides and errors write them. */
#include "traces/scenario/scenario_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 64 };

/* Takes the next part off *at: "nodes" of "nodes.0.count" or "0" of "[0].count". false: none, or
 * one that is empty or too long. */
static bool next_part(const char **at, char out[PART_BYTES])
{
    const char *start = *at;
    bool in_brackets = *start == '[';
    start += in_brackets;
    size_t length = strcspn(start, in_brackets ? "]" : ".[");
    if (length == 0 || length >= PART_BYTES || (in_brackets && start[length] != ']')) {
        return false;
    }
    memcpy(out, start, length);
    out[length] = '\0';
    const char *rest = start + length + in_brackets;
    if (*rest == '.') {
        rest++;
        if (*rest == '\0') {
            return false; /* a dot at the end */
        }
    } else if (*rest != '\0' && *rest != '[') {
        return false;
    }
    *at = rest;
    return true;
}

/* Index of a list of count elements; false: not one of its indices. */
static bool read_index(const char *part, size_t count, size_t *out)
{
    if (strspn(part, "0123456789") != strlen(part) || strlen(part) > 9) {
        return false;
    }
    *out = (size_t)strtoul(part, NULL, 10);
    return *out < count;
}

bool gs_scenario_path_find(const gs_json_at *root, const char *path, gs_json_at *out)
{
    gs_json_at at = *root;
    char part[PART_BYTES];
    while (*path != '\0') {
        if (!next_part(&path, part)) {
            return false;
        }
        size_t index = 0;
        gs_json_kind kind = gs_json_kind_of(at.value);
        if (kind == GS_JSON_LIST && read_index(part, gs_json_count(at.value), &index)) {
            at = gs_json_element(&at, index);
        } else if (kind != GS_JSON_OBJECT || !gs_json_find(&at, part, &at)) {
            return false;
        }
    }
    *out = at;
    return true;
}

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for a value of the scenario");
}

/* Goes from *at to its part, made as an empty object where an object lacks it. */
static gs_status step_into(gs_json_at *at, const char *part, gs_error *err)
{
    size_t index = 0;
    size_t count = gs_json_count(at->value);
    char found[64];
    switch (gs_json_kind_of(at->value)) {
    case GS_JSON_OBJECT:
        if (!gs_json_find(at, part, at)) {
            if (!gs_json_set(at->value, part, gs_json_new_object())) {
                return no_memory(err);
            }
            (void)gs_json_find(at, part, at);
        }
        return GS_OK;
    case GS_JSON_LIST:
        if (!read_index(part, count, &index)) {
            return gs_fail(err, GS_EINVAL, "\"%s\" is no index of %s, a list of %zu; count from 0",
                           part, at->path, count);
        }
        *at = gs_json_element(at, index);
        return GS_OK;
    case GS_JSON_NULL:
    case GS_JSON_BOOL:
    case GS_JSON_NUMBER:
    case GS_JSON_TEXT:
        break;
    }
    return gs_fail(err, GS_EINVAL, "%s is %s, which has no part \"%s\"", at->path,
                   gs_json_describe(at->value, found, sizeof found), part);
}

gs_status gs_scenario_path_set(const gs_json_at *root, const char *path, gs_json *value,
                               gs_error *err)
{
    gs_json_at at = *root;
    char part[PART_BYTES];
    gs_status status = GS_OK;
    do {
        if (!next_part(&path, part)) {
            status = gs_fail(err, GS_EINVAL,
                             "write the key as parts with dots between them, such as "
                             "cluster.nodes.0.count");
        } else if (*path != '\0' || gs_json_kind_of(at.value) != GS_JSON_OBJECT) {
            gs_json_at parent = at;
            status = step_into(&at, part, err);
            size_t index = 0;
            if (status == GS_OK && *path == '\0' && read_index(part, SIZE_MAX, &index)) {
                return gs_json_put(parent.value, index, value) ? GS_OK : no_memory(err);
            }
        }
    } while (status == GS_OK && *path != '\0');
    if (status != GS_OK) {
        gs_json_free(value);
        return status;
    }
    return gs_json_set(at.value, part, value) ? GS_OK : no_memory(err);
}
