/* Field tables on the way out: JSON, the text of a value, and the words for what a field takes. */
#include "base/config.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { NUMBER_BYTES = 32 };

static int64_t whole_of(const gs_field *field, const void *in)
{
    int64_t value = 0;
    memcpy(&value, (const char *)in + field->offset, sizeof value);
    return value;
}

static double real_of(const gs_field *field, const void *in)
{
    double value = 0.0;
    memcpy(&value, (const char *)in + field->offset, sizeof value);
    return value;
}

static gs_json *list_json(const gs_int_list *list)
{
    gs_json *json = gs_json_new_list();
    bool is_done = json != NULL;
    for (int64_t i = 0; i < list->count && is_done; i++) {
        is_done = gs_json_add(json, gs_json_new_int(list->values[i]));
    }
    if (!is_done) {
        gs_json_free(json);
        json = NULL;
    }
    return json;
}

static gs_json *value_json(const gs_field *field, const void *in)
{
    char text[NUMBER_BYTES];
    const void *member = (const char *)in + field->offset;
    switch (field->kind) {
    case GS_FIELD_BOOL:
        return gs_json_new_bool(*(const bool *)member);
    case GS_FIELD_INT:
        return gs_json_new_int(whole_of(field, in));
    case GS_FIELD_REAL:
    case GS_FIELD_RATIO:
        return gs_json_new_real(real_of(field, in));
    case GS_FIELD_TEXT:
        return gs_json_new_text(member);
    case GS_FIELD_INT_LIST: {
        gs_int_list list;
        memcpy(&list, member, sizeof list);
        return list_json(&list);
    }
    case GS_FIELD_REAL_OR_CHOICE:
        if (real_of(field, in) >= 0.0) {
            return gs_json_new_real(real_of(field, in));
        }
        break;
    case GS_FIELD_DURATION:
    case GS_FIELD_BYTES:
    case GS_FIELD_RATE:
    case GS_FIELD_CHOICE:
    case GS_FIELD_BYTES_OR_CHOICE:
        break;
    }
    return gs_json_new_text(gs_config_value_text(field, in, text, sizeof text));
}

bool gs_config_write(const gs_field_table *table, const void *in, gs_json *object)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const gs_field *field = &table->fields[i];
        if (!gs_json_set(object, field->name, value_json(field, in))) {
            return false;
        }
    }
    return true;
}

static void list_text(const gs_int_list *list, char *out, size_t out_bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < list->count && used < out_bytes; i++) {
        int written = snprintf(out + used, out_bytes - used, "%s%lld", i == 0 ? "" : "/",
                               (long long)list->values[i]);
        used += written > 0 ? (size_t)written : 0;
    }
}

/* value, in the inner unit of the field, as a user would write it. */
static const char *quantity_text(gs_field_kind kind, int64_t value, char out[NUMBER_BYTES])
{
    switch (kind) {
    case GS_FIELD_DURATION:
        return gs_exact_duration(value, out);
    case GS_FIELD_BYTES:
    case GS_FIELD_BYTES_OR_CHOICE:
        return gs_exact_bytes(value, out);
    case GS_FIELD_RATE:
        return gs_exact_rate(value, out);
    case GS_FIELD_BOOL:
    case GS_FIELD_INT:
    case GS_FIELD_REAL:
    case GS_FIELD_RATIO:
    case GS_FIELD_TEXT:
    case GS_FIELD_INT_LIST:
    case GS_FIELD_CHOICE:
    case GS_FIELD_REAL_OR_CHOICE:
        break;
    }
    snprintf(out, NUMBER_BYTES, "%lld", (long long)value);
    return out;
}

char *gs_config_value_text(const gs_field *field, const void *in, char *out, size_t out_bytes)
{
    char text[NUMBER_BYTES];
    const void *member = (const char *)in + field->offset;
    switch (field->kind) {
    case GS_FIELD_BOOL:
        snprintf(out, out_bytes, "%s", *(const bool *)member ? "true" : "false");
        break;
    case GS_FIELD_REAL:
    case GS_FIELD_RATIO:
        snprintf(out, out_bytes, "%s", gs_exact_real(real_of(field, in), text));
        break;
    case GS_FIELD_TEXT:
        snprintf(out, out_bytes, "%s", (const char *)member);
        break;
    case GS_FIELD_INT_LIST: {
        gs_int_list list;
        memcpy(&list, member, sizeof list);
        list_text(&list, out, out_bytes);
        break;
    }
    case GS_FIELD_CHOICE: {
        int choice = 0;
        memcpy(&choice, member, sizeof choice);
        snprintf(out, out_bytes, "%s", field->choices[choice]);
        break;
    }
    case GS_FIELD_BYTES_OR_CHOICE:
        if (whole_of(field, in) < 0) {
            snprintf(out, out_bytes, "%s", field->choices[-(whole_of(field, in) + 1)]);
            break;
        }
        snprintf(out, out_bytes, "%s", quantity_text(field->kind, whole_of(field, in), text));
        break;
    case GS_FIELD_REAL_OR_CHOICE: {
        double real = real_of(field, in);
        snprintf(out, out_bytes, "%s",
                 real < 0.0 ? field->choices[-((int)real + 1)] : gs_exact_real(real, text));
        break;
    }
    case GS_FIELD_INT:
    case GS_FIELD_DURATION:
    case GS_FIELD_BYTES:
    case GS_FIELD_RATE:
        snprintf(out, out_bytes, "%s", quantity_text(field->kind, whole_of(field, in), text));
        break;
    }
    return out;
}

/* "one of ring, naive" after prefix. */
static void choices_text(const gs_field *field, const char *prefix, char *out, size_t out_bytes)
{
    int written = snprintf(out, out_bytes, "%s", prefix);
    size_t used = written > 0 ? (size_t)written : 0;
    for (size_t i = 0; field->choices[i] != NULL && used < out_bytes; i++) {
        written =
            snprintf(out + used, out_bytes - used, "%s%s", i == 0 ? "" : ", ", field->choices[i]);
        used += written > 0 ? (size_t)written : 0;
    }
}

/* ", 1B..1TiB" or nothing. */
static const char *bounds_text(const gs_field *field, char *out, size_t out_bytes)
{
    char low[NUMBER_BYTES];
    char high[NUMBER_BYTES];
    out[0] = '\0';
    if (field->minimum >= 0.0 && field->maximum <= 0.0) {
        return out;
    }
    if (field->kind == GS_FIELD_REAL || field->kind == GS_FIELD_RATIO ||
        field->kind == GS_FIELD_REAL_OR_CHOICE) {
        snprintf(out, out_bytes, ", %s..%s", gs_exact_real(field->minimum, low),
                 gs_exact_real(field->maximum, high));
    } else {
        /* 2^63 as a bound means: as large as it gets. */
        int64_t top = field->maximum >= 0x1p63 ? INT64_MAX : (int64_t)field->maximum;
        snprintf(out, out_bytes, ", %s..%s",
                 quantity_text(field->kind, (int64_t)field->minimum, low),
                 quantity_text(field->kind, top, high));
    }
    return out;
}

char *gs_config_allowed_text(const gs_field *field, char *out, size_t out_bytes)
{
    static const char *const words[] = {
        [GS_FIELD_BOOL] = "true or false",
        [GS_FIELD_INT] = "a whole number",
        [GS_FIELD_REAL] = "a number",
        [GS_FIELD_RATIO] = "a ratio such as 0.05 or \"5 %\"",
        [GS_FIELD_DURATION] = "a duration such as 10us",
        [GS_FIELD_BYTES] = "a size such as 25MiB",
        [GS_FIELD_RATE] = "a rate such as 10Gbit/s",
        [GS_FIELD_INT_LIST] = "a list of whole numbers such as 64/32",
    };
    char bounds[2 * NUMBER_BYTES + 8];
    if (field->kind == GS_FIELD_TEXT) {
        snprintf(out, out_bytes, "a text of at most %zu bytes", field->size - 1);
        return out;
    }
    if (field->kind == GS_FIELD_CHOICE) {
        choices_text(field, "one of ", out, out_bytes);
        return out;
    }
    bounds_text(field, bounds, sizeof bounds);
    if (field->kind == GS_FIELD_BYTES_OR_CHOICE || field->kind == GS_FIELD_REAL_OR_CHOICE) {
        char prefix[128];
        snprintf(prefix, sizeof prefix, "%s%s or one of ",
                 field->kind == GS_FIELD_BYTES_OR_CHOICE ? "a size such as 25MiB" : "a number",
                 bounds);
        choices_text(field, prefix, out, out_bytes);
        return out;
    }
    snprintf(out, out_bytes, "%s%s", words[field->kind], bounds);
    return out;
}
