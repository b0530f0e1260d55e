/* Values, places and typed reads over a cJSON tree; the only file that includes cJSON. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/json_tree.h"
#include "base/units.h"

#define EXACT_MAX (INT64_C(1) << 53) /* doubles hold every whole number up to here */

static cJSON *node(const gs_json *value)
{
    return (cJSON *)(uintptr_t)value;
}

static gs_json *wrap(cJSON *item)
{
    return (gs_json *)item;
}

/* --- the tree ------------------------------------------------------------------------------- */

gs_json *gs_json_tree_first(const gs_json *value)
{
    return wrap(node(value)->child);
}

gs_json *gs_json_tree_next(const gs_json *value)
{
    return wrap(node(value)->next);
}

const char *gs_json_tree_key(const gs_json *member)
{
    return node(member)->string;
}

const char *gs_json_tree_text(const gs_json *text)
{
    return node(text)->valuestring;
}

bool gs_json_tree_bool(const gs_json *value)
{
    return cJSON_IsTrue(node(value));
}

const char *gs_json_tree_number(const gs_json *number, char *out, size_t out_bytes)
{
    if (node(number)->valuestring != NULL) {
        return node(number)->valuestring;
    }
    char text[GS_UNIT_TEXT_BYTES];
    snprintf(out, out_bytes, "%s", gs_exact_real(node(number)->valuedouble, text));
    return out;
}

gs_json *gs_json_tree_new_number(double value, const char *text)
{
    cJSON *number = cJSON_CreateNumber(value);
    /* cJSON frees and copies valuestring whatever the kind; numbers leave it free for us. */
    cJSON *holder = text == NULL ? NULL : cJSON_CreateString(text);
    if (number != NULL && holder != NULL) {
        number->valuestring = holder->valuestring;
        holder->valuestring = NULL;
    } else if (text != NULL) {
        cJSON_Delete(number);
        number = NULL;
    }
    cJSON_Delete(holder);
    return wrap(number);
}

bool gs_json_tree_append(gs_json *parent, const char *key, gs_json *value)
{
    bool is_done = false;
    if (parent != NULL && value != NULL) {
        is_done = key == NULL ? cJSON_AddItemToArray(node(parent), node(value))
                              : cJSON_AddItemToObject(node(parent), key, node(value));
    }
    if (!is_done) {
        cJSON_Delete(node(value));
    }
    return is_done;
}

void gs_json_free(gs_json *value)
{
    cJSON_Delete(node(value));
}

gs_json *gs_json_copy(const gs_json *value)
{
    cJSON *copy = cJSON_Duplicate(node(value), true);
    if (copy != NULL && copy->string != NULL) {
        /* The copy belongs to nobody yet: the key stays behind, or set would lose it. */
        cJSON_free(copy->string);
        copy->string = NULL;
    }
    return wrap(copy);
}

/* --- what a value is ------------------------------------------------------------------------ */

gs_json_kind gs_json_kind_of(const gs_json *value)
{
    switch (node(value)->type & 0xff) {
    case cJSON_True:
    case cJSON_False:
        return GS_JSON_BOOL;
    case cJSON_Number:
        return GS_JSON_NUMBER;
    case cJSON_String:
        return GS_JSON_TEXT;
    case cJSON_Array:
        return GS_JSON_LIST;
    case cJSON_Object:
        return GS_JSON_OBJECT;
    default:
        return GS_JSON_NULL;
    }
}

char *gs_json_describe(const gs_json *value, char *out, size_t out_bytes)
{
    char text[GS_UNIT_TEXT_BYTES];
    switch (gs_json_kind_of(value)) {
    case GS_JSON_NULL:
        snprintf(out, out_bytes, "null");
        break;
    case GS_JSON_BOOL:
        snprintf(out, out_bytes, "%s", gs_json_tree_bool(value) ? "true" : "false");
        break;
    case GS_JSON_NUMBER:
        snprintf(out, out_bytes, "the number %.40s", gs_json_tree_number(value, text, sizeof text));
        break;
    case GS_JSON_TEXT:
        snprintf(out, out_bytes, "\"%.40s\"", gs_json_tree_text(value));
        break;
    case GS_JSON_LIST:
        snprintf(out, out_bytes, "a list");
        break;
    case GS_JSON_OBJECT:
        snprintf(out, out_bytes, "an object");
        break;
    }
    return out;
}

/* --- places --------------------------------------------------------------------------------- */

static gs_json_at at_key(const gs_json_at *parent, cJSON *child)
{
    gs_json_at at = {.value = wrap(child), .file = parent->file};
    int used =
        snprintf(at.path, sizeof at.path, "%s%s", parent->path, parent->path[0] == '\0' ? "" : ".");
    if (used >= 0 && (size_t)used < sizeof at.path) {
        snprintf(at.path + used, sizeof at.path - (size_t)used, "%s", child->string);
    }
    return at;
}

static gs_json_at at_index(const gs_json_at *parent, cJSON *child, size_t index)
{
    gs_json_at at = {.value = wrap(child), .file = parent->file};
    size_t used = strlen(parent->path);
    memcpy(at.path, parent->path, used + 1);
    snprintf(at.path + used, sizeof at.path - used, "[%zu]", index);
    return at;
}

bool gs_json_find(const gs_json_at *object, const char *key, gs_json_at *out)
{
    cJSON *child = cJSON_GetObjectItemCaseSensitive(node(object->value), key);
    if (child == NULL) {
        return false;
    }
    *out = at_key(object, child);
    return true;
}

size_t gs_json_count(const gs_json *list_or_object)
{
    size_t count = 0;
    for (const cJSON *child = node(list_or_object)->child; child != NULL; child = child->next) {
        count++;
    }
    return count;
}

static cJSON *child_at(const gs_json_at *parent, size_t index)
{
    cJSON *child = node(parent->value)->child;
    for (; child != NULL && index > 0; index--) {
        child = child->next;
    }
    GS_ASSERT(child != NULL);
    return child;
}

gs_json_at gs_json_element(const gs_json_at *list, size_t index)
{
    return at_index(list, child_at(list, index), index);
}

gs_json_at gs_json_member(const gs_json_at *object, size_t index, const char **out_key)
{
    cJSON *child = child_at(object, index);
    if (out_key != NULL) {
        *out_key = child->string;
    }
    return at_key(object, child);
}

bool gs_json_walk(const gs_json_at *parent, size_t index, gs_json_at *item)
{
    cJSON *child = index == 0 ? node(parent->value)->child : node(item->value)->next;
    if (child == NULL) {
        return false;
    }
    *item = child->string == NULL ? at_index(parent, child, index) : at_key(parent, child);
    return true;
}

/* --- typed reads ---------------------------------------------------------------------------- */

gs_status gs_json_fail(const gs_json_at *at, gs_status code, gs_error *err, const char *format, ...)
{
    char text[GS_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *separator = at->path[0] == '\0' ? "" : ": ";
    return gs_fail(err, code, "%s: %s%s%s", at->file, at->path, separator, text);
}

static gs_status fail_kind(const gs_json_at *at, const char *wanted, gs_error *err)
{
    char found[64];
    return gs_json_fail(at, GS_EINVAL, err, "%s is not %s",
                        gs_json_describe(at->value, found, sizeof found), wanted);
}

gs_status gs_json_text(const gs_json_at *at, const char **out, gs_error *err)
{
    if (gs_json_kind_of(at->value) != GS_JSON_TEXT) {
        return fail_kind(at, "a text", err);
    }
    *out = gs_json_tree_text(at->value);
    return GS_OK;
}

gs_status gs_json_bool(const gs_json_at *at, bool *out, gs_error *err)
{
    if (gs_json_kind_of(at->value) != GS_JSON_BOOL) {
        return fail_kind(at, "true or false", err);
    }
    *out = gs_json_tree_bool(at->value);
    return GS_OK;
}

gs_status gs_json_real(const gs_json_at *at, double *out, gs_error *err)
{
    if (gs_json_kind_of(at->value) != GS_JSON_NUMBER) {
        return fail_kind(at, "a number", err);
    }
    *out = node(at->value)->valuedouble;
    return GS_OK;
}

/* The whole number that is all of text; false where it is none or does not fit. */
static bool read_whole(const char *text, int64_t *out)
{
    size_t sign = text[0] == '-';
    if (text[sign] == '\0' || strspn(text + sign, "0123456789") != strlen(text + sign)) {
        return false;
    }
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE) {
        return false;
    }
    *out = value;
    return true;
}

gs_status gs_json_int(const gs_json_at *at, int64_t *out, gs_error *err)
{
    const cJSON *item = node(at->value);
    gs_json_kind kind = gs_json_kind_of(at->value);
    bool has_text = kind == GS_JSON_TEXT || (kind == GS_JSON_NUMBER && item->valuestring != NULL);
    if (has_text && read_whole(item->valuestring, out)) {
        return GS_OK;
    }
    if (kind == GS_JSON_NUMBER && trunc(item->valuedouble) == item->valuedouble &&
        fabs(item->valuedouble) <= (double)EXACT_MAX) {
        *out = (int64_t)item->valuedouble;
        return GS_OK;
    }
    return fail_kind(at, "a whole number of 64 bits", err);
}

/* --- building ------------------------------------------------------------------------------- */

gs_json *gs_json_new_object(void)
{
    return wrap(cJSON_CreateObject());
}

gs_json *gs_json_new_list(void)
{
    return wrap(cJSON_CreateArray());
}

gs_json *gs_json_new_text(const char *text)
{
    return wrap(cJSON_CreateString(text));
}

gs_json *gs_json_new_bool(bool value)
{
    return wrap(cJSON_CreateBool(value));
}

gs_json *gs_json_new_null(void)
{
    return wrap(cJSON_CreateNull());
}

gs_json *gs_json_new_real(double value)
{
    return isfinite(value) ? gs_json_tree_new_number(value, NULL) : gs_json_new_null();
}

gs_json *gs_json_new_int(int64_t value)
{
    if (value > EXACT_MAX || value < -EXACT_MAX) {
        char text[GS_UNIT_TEXT_BYTES];
        snprintf(text, sizeof text, "%lld", (long long)value);
        return gs_json_new_text(text);
    }
    return gs_json_tree_new_number((double)value, NULL);
}

bool gs_json_set(gs_json *object, const char *key, gs_json *value)
{
    cJSON *old = object == NULL || value == NULL
                     ? NULL
                     : cJSON_GetObjectItemCaseSensitive(node(object), key);
    if (old == NULL) {
        return gs_json_tree_append(object, key, value);
    }
    /* A key keeps its place when its value changes: the order of keys is part of what we write. Its
     * text moves over, since cJSON's own replacement by key loses it when memory is short. */
    node(value)->string = old->string;
    old->string = NULL;
    return cJSON_ReplaceItemViaPointer(node(object), old, node(value));
}

bool gs_json_add(gs_json *list, gs_json *value)
{
    return gs_json_tree_append(list, NULL, value);
}

bool gs_json_put(gs_json *list, size_t index, gs_json *value)
{
    if (list == NULL || value == NULL) {
        cJSON_Delete(node(value));
        return false;
    }
    GS_ASSERT(index < gs_json_count(list));
    return cJSON_ReplaceItemInArray(node(list), (int)index, node(value));
}

const char *gs_json_library(void)
{
    return cJSON_Version();
}
