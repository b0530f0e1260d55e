/* Field tables: reading one value and one object, defaults, and writing them back. */
#include "base/config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"

enum { ALLOWED_BYTES = 320, NAMES_MAX = 128 };

static const char comment_key[] = "$comment";

/* A parsed value on its way from text to the struct. */
typedef union field_value {
    bool flag;
    int64_t whole;
    double real;
    int choice;
    const char *text;
    gs_int_list list;
} field_value;

/* --- choices -------------------------------------------------------------------------------- */

static size_t choice_count(const gs_field *field)
{
    size_t count = 0;
    while (field->choices[count] != NULL) {
        count++;
    }
    return count;
}

/* Index of text among the choices, or -1. */
static int find_choice(const gs_field *field, const char *text)
{
    for (int i = 0; field->choices[i] != NULL; i++) {
        if (strcmp(field->choices[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

static gs_status fail_choice(const gs_field *field, const char *text, gs_error *err)
{
    char allowed[ALLOWED_BYTES];
    gs_config_allowed_text(field, allowed, sizeof allowed);
    const char *near = gs_nearest_name(text, field->choices, choice_count(field));
    return near == NULL ? gs_fail(err, GS_EINVAL, "\"%.60s\" is not %s", text, allowed)
                        : gs_fail(err, GS_EINVAL, "\"%.60s\" is not %s; did you mean %s?", text,
                                  allowed, near);
}

/* --- bounds --------------------------------------------------------------------------------- */

static bool has_bounds(const gs_field *field)
{
    return field->minimum < 0.0 || field->minimum > 0.0 || field->maximum < 0.0 ||
           field->maximum > 0.0;
}

static gs_status check_bounds(const gs_field *field, double value, const char *shown, gs_error *err)
{
    if (!has_bounds(field) || (value >= field->minimum && value <= field->maximum)) {
        return GS_OK;
    }
    char allowed[ALLOWED_BYTES];
    return gs_fail(err, GS_EINVAL, "%.60s is out of range; allowed is %s", shown,
                   gs_config_allowed_text(field, allowed, sizeof allowed));
}

/* --- one value from text -------------------------------------------------------------------- */

static gs_status fail_text(const gs_field *field, const char *text, gs_error *err)
{
    char allowed[ALLOWED_BYTES];
    return gs_fail(err, GS_EINVAL, "\"%.60s\" is not %s", text,
                   gs_config_allowed_text(field, allowed, sizeof allowed));
}

/* The whole number at text, which must end there or at the separator; NULL where there is none. */
static const char *read_whole(const char *text, char separator, int64_t *out)
{
    const char *digits = text + (text[0] == '-');
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || (digits[count] != '\0' && digits[count] != separator)) {
        return NULL;
    }
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE) {
        return NULL;
    }
    *out = value;
    return digits + count;
}

static gs_status parse_real(const gs_field *field, const char *text, double *out, gs_error *err)
{
    /* strtod alone would take spaces, hexadecimal, inf and nan. */
    char *end = NULL;
    double value = strtod(text, &end);
    if (strspn(text, "0123456789+-.eE") != strlen(text) || end == text || *end != '\0' ||
        !isfinite(value)) {
        return fail_text(field, text, err);
    }
    *out = value;
    return check_bounds(field, value, text, err);
}

/* "64/32", or nothing for the empty list. */
static gs_status parse_list(const gs_field *field, const char *text, gs_int_list *out,
                            gs_error *err)
{
    *out = (gs_int_list){0};
    const char *at = text;
    while (*at != '\0') {
        int64_t value = 0;
        const char *end = read_whole(at, '/', &value);
        if (end == NULL || (end[0] == '/' && end[1] == '\0')) {
            return fail_text(field, text, err);
        }
        if (out->count == GS_INT_LIST_MAX) {
            return gs_fail(err, GS_EINVAL, "\"%.60s\" has more than %d numbers", text,
                           GS_INT_LIST_MAX);
        }
        GS_TRY(check_bounds(field, (double)value, text, err));
        out->values[out->count++] = value;
        at = end + (*end == '/');
    }
    return GS_OK;
}

static gs_status parse_bytes_or_choice(const gs_field *field, const char *text, int64_t *out,
                                       gs_error *err)
{
    int choice = find_choice(field, text);
    if (choice >= 0) {
        *out = -(1 + (int64_t)choice);
        return GS_OK;
    }
    if (strspn(text, " 0123456789.-") == 0) {
        return fail_choice(field, text, err);
    }
    GS_TRY(gs_parse_bytes(text, out, err));
    return check_bounds(field, (double)*out, text, err);
}

static gs_status parse_real_or_choice(const gs_field *field, const char *text, double *out,
                                      gs_error *err)
{
    int choice = find_choice(field, text);
    if (choice >= 0) {
        *out = -(1.0 + choice);
        return GS_OK;
    }
    if (strspn(text, "0123456789+-.") == 0) {
        return fail_choice(field, text, err);
    }
    return parse_real(field, text, out, err);
}

static gs_status parse_quantity(const gs_field *field, const char *text, int64_t *out,
                                gs_error *err)
{
    if (field->kind == GS_FIELD_DURATION) {
        GS_TRY(gs_parse_duration(text, out, err));
    } else if (field->kind == GS_FIELD_RATE) {
        GS_TRY(gs_parse_rate(text, out, err));
    } else {
        GS_TRY(gs_parse_bytes(text, out, err));
    }
    return check_bounds(field, (double)*out, text, err);
}

static gs_status parse_value(const gs_field *field, const char *text, field_value *out,
                             gs_error *err)
{
    switch (field->kind) {
    case GS_FIELD_BOOL:
        out->flag = strcmp(text, "true") == 0;
        return out->flag || strcmp(text, "false") == 0 ? GS_OK : fail_text(field, text, err);
    case GS_FIELD_INT: {
        const char *end = read_whole(text, '\0', &out->whole);
        return end == NULL ? fail_text(field, text, err)
                           : check_bounds(field, (double)out->whole, text, err);
    }
    case GS_FIELD_REAL:
        return parse_real(field, text, &out->real, err);
    case GS_FIELD_RATIO:
        GS_TRY(gs_parse_ratio(text, &out->real, err));
        return check_bounds(field, out->real, text, err);
    case GS_FIELD_DURATION:
    case GS_FIELD_BYTES:
    case GS_FIELD_RATE:
        return parse_quantity(field, text, &out->whole, err);
    case GS_FIELD_TEXT:
        out->text = text;
        if (strlen(text) >= field->size) {
            return gs_fail(err, GS_EINVAL, "\"%.40s...\" is too long; at most %zu bytes", text,
                           field->size - 1);
        }
        return GS_OK;
    case GS_FIELD_INT_LIST:
        return parse_list(field, text, &out->list, err);
    case GS_FIELD_CHOICE:
        out->choice = find_choice(field, text);
        return out->choice >= 0 ? GS_OK : fail_choice(field, text, err);
    case GS_FIELD_BYTES_OR_CHOICE:
        return parse_bytes_or_choice(field, text, &out->whole, err);
    case GS_FIELD_REAL_OR_CHOICE:
        return parse_real_or_choice(field, text, &out->real, err);
    }
    return GS_EINVAL;
}

static void store(const gs_field *field, void *out, const field_value *value)
{
    void *member = (char *)out + field->offset;
    switch (field->kind) {
    case GS_FIELD_BOOL:
        memcpy(member, &value->flag, sizeof value->flag);
        break;
    case GS_FIELD_REAL:
    case GS_FIELD_RATIO:
    case GS_FIELD_REAL_OR_CHOICE:
        memcpy(member, &value->real, sizeof value->real);
        break;
    case GS_FIELD_INT:
    case GS_FIELD_DURATION:
    case GS_FIELD_BYTES:
    case GS_FIELD_RATE:
    case GS_FIELD_BYTES_OR_CHOICE:
        memcpy(member, &value->whole, sizeof value->whole);
        break;
    case GS_FIELD_TEXT: {
        size_t length = strlen(value->text);
        memset(member, 0, field->size); /* equal texts give equal bytes: configs are hashed */
        memcpy(member, value->text, length);
        break;
    }
    case GS_FIELD_INT_LIST:
        memcpy(member, &value->list, sizeof value->list);
        break;
    case GS_FIELD_CHOICE:
        memcpy(member, &value->choice, sizeof value->choice);
        break;
    }
}

/* "a, b, c"; returns out. */
static char *join_names(const char *const *names, size_t count, char out[ALLOWED_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < ALLOWED_BYTES; i++) {
        used += (size_t)snprintf(out + used, ALLOWED_BYTES - used, "%s%s", i == 0 ? "" : ", ",
                                 names[i]);
    }
    return out;
}

gs_status gs_config_set_text(const gs_field_table *table, void *out, const char *key,
                             const char *text, gs_error *err)
{
    size_t index = gs_config_find(table, key);
    if (index == table->field_count) {
        const char *names[NAMES_MAX];
        GS_ASSERT(table->field_count <= NAMES_MAX);
        for (size_t i = 0; i < table->field_count; i++) {
            names[i] = table->fields[i].name;
        }
        char list[ALLOWED_BYTES];
        const char *near = gs_nearest_name(key, names, table->field_count);
        return gs_fail(err, GS_EINVAL, "%s: there is no key \"%.60s\"; %s%s%sknown are %s",
                       table->name, key, near == NULL ? "" : "did you mean ",
                       near == NULL ? "" : near, near == NULL ? "" : "? ",
                       join_names(names, table->field_count, list));
    }
    field_value value;
    gs_status status = parse_value(&table->fields[index], text, &value, err);
    if (status != GS_OK) {
        return err == NULL ? status : gs_fail_in(err, "%s.%s", table->name, key);
    }
    store(&table->fields[index], out, &value);
    return GS_OK;
}

/* --- one value from JSON -------------------------------------------------------------------- */

static gs_status fail_json(const gs_field *field, const gs_json_at *value, gs_error *err)
{
    char found[64];
    char allowed[ALLOWED_BYTES];
    const char *text = NULL;
    double share = 0.0;
    if (field->kind == GS_FIELD_REAL && gs_json_text(value, &text, NULL) == GS_OK &&
        strchr(text, '%') != NULL && gs_parse_ratio(text, &share, NULL) == GS_OK) {
        return gs_json_fail(
            value, GS_EINVAL, err, "\"%.60s\" is not %s; write %g, or %g for that much more", text,
            gs_config_allowed_text(field, allowed, sizeof allowed), share, 1.0 + share);
    }
    return gs_json_fail(value, GS_EINVAL, err, "%s is not %s",
                        gs_json_describe(value->value, found, sizeof found),
                        gs_config_allowed_text(field, allowed, sizeof allowed));
}

static gs_status read_list(const gs_field *field, const gs_json_at *value, gs_int_list *out,
                           gs_error *err)
{
    *out = (gs_int_list){0};
    gs_json_at item;
    for (size_t i = 0; gs_json_walk(value, i, &item); i++) {
        if (i == GS_INT_LIST_MAX) {
            return gs_json_fail(value, GS_EINVAL, err, "more than %d numbers", GS_INT_LIST_MAX);
        }
        GS_TRY(gs_json_int(&item, &out->values[i], err));
        char shown[32];
        gs_error inner = {0};
        snprintf(shown, sizeof shown, "%lld", (long long)out->values[i]);
        if (check_bounds(field, (double)out->values[i], shown, &inner) != GS_OK) {
            return gs_json_fail(&item, GS_EINVAL, err, "%s", inner.text);
        }
        out->count++;
    }
    return GS_OK;
}

/* The text of a value that goes through the rules of the command line; NULL: of the wrong kind. */
static const char *text_of(const gs_field *field, const gs_json_at *value, char *out,
                           size_t out_bytes)
{
    gs_json_kind kind = gs_json_kind_of(value->value);
    bool is_number_kind = field->kind == GS_FIELD_INT || field->kind == GS_FIELD_REAL ||
                          field->kind == GS_FIELD_RATIO || field->kind == GS_FIELD_REAL_OR_CHOICE;
    bool has_unit = field->kind == GS_FIELD_DURATION || field->kind == GS_FIELD_BYTES ||
                    field->kind == GS_FIELD_RATE || field->kind == GS_FIELD_BYTES_OR_CHOICE;
    int64_t whole = 0;
    double real = 0.0;
    const char *text = NULL;
    if (kind == GS_JSON_BOOL && field->kind == GS_FIELD_BOOL) {
        return gs_json_describe(value->value, out, out_bytes);
    }
    if (kind == GS_JSON_TEXT && field->kind != GS_FIELD_BOOL && field->kind != GS_FIELD_REAL) {
        return gs_json_text(value, &text, NULL) == GS_OK ? text : NULL;
    }
    if (kind != GS_JSON_NUMBER || !(is_number_kind || has_unit)) {
        return NULL;
    }
    if (field->kind != GS_FIELD_REAL && gs_json_int(value, &whole, NULL) == GS_OK) {
        snprintf(out, out_bytes, "%lld", (long long)whole);
        return out;
    }
    if (field->kind == GS_FIELD_INT || gs_json_real(value, &real, NULL) != GS_OK) {
        return NULL;
    }
    return gs_exact_real(real, out);
}

gs_status gs_config_set_json(const gs_field *field, void *out, const gs_json_at *value,
                             gs_error *err)
{
    field_value parsed;
    if (field->kind == GS_FIELD_INT_LIST && gs_json_kind_of(value->value) == GS_JSON_LIST) {
        GS_TRY(read_list(field, value, &parsed.list, err));
        store(field, out, &parsed);
        return GS_OK;
    }
    char buffer[GS_UNIT_TEXT_BYTES];
    const char *text =
        field->kind == GS_FIELD_INT_LIST ? NULL : text_of(field, value, buffer, sizeof buffer);
    if (text == NULL) {
        return fail_json(field, value, err);
    }
    gs_error inner = {0};
    gs_status status = parse_value(field, text, &parsed, &inner);
    if (status != GS_OK) {
        return gs_json_fail(value, status, err, "%s", inner.text);
    }
    store(field, out, &parsed);
    return GS_OK;
}

/* --- objects -------------------------------------------------------------------------------- */

size_t gs_config_find(const gs_field_table *table, const char *name)
{
    size_t index = 0;
    while (index < table->field_count && strcmp(table->fields[index].name, name) != 0) {
        index++;
    }
    return index;
}

static bool is_listed(const char *const *names, const char *name)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static gs_status fail_key(const gs_field_table *table, const gs_json_at *object,
                          const char *const *others, const char *key, gs_error *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < table->field_count && count < NAMES_MAX; i++) {
        names[count++] = table->fields[i].name;
    }
    for (size_t i = 0; others != NULL && others[i] != NULL && count < NAMES_MAX; i++) {
        names[count++] = others[i];
    }
    const char *near = gs_nearest_name(key, names, count);
    if (near != NULL) {
        return gs_json_fail(object, GS_EINVAL, err, "unknown key \"%.60s\"; did you mean \"%s\"?",
                            key, near);
    }
    char list[ALLOWED_BYTES];
    return gs_json_fail(object, GS_EINVAL, err, "unknown key \"%.60s\"; known are %s", key,
                        join_names(names, count, list));
}

gs_status gs_config_read(const gs_field_table *table, void *out, const gs_json_at *object,
                         const char *const *others, gs_error *err)
{
    if (gs_json_kind_of(object->value) != GS_JSON_OBJECT) {
        char found[64];
        return gs_json_fail(object, GS_EINVAL, err, "%s is not an object ({...})",
                            gs_json_describe(object->value, found, sizeof found));
    }
    gs_json_at member;
    size_t count = gs_json_count(object->value);
    for (size_t i = 0; i < count; i++) {
        const char *key = NULL;
        member = gs_json_member(object, i, &key);
        if (strcmp(key, comment_key) != 0 && !is_listed(others, key) &&
            gs_config_find(table, key) == table->field_count) {
            return fail_key(table, object, others, key, err);
        }
    }
    for (size_t i = 0; i < table->field_count; i++) {
        const gs_field *field = &table->fields[i];
        if (gs_json_find(object, field->name, &member)) {
            GS_TRY(gs_config_set_json(field, out, &member, err));
        } else if (field->default_text == NULL) {
            char allowed[ALLOWED_BYTES];
            return gs_json_fail(object, GS_EINVAL, err, "the key \"%s\" is missing; it takes %s",
                                field->name,
                                gs_config_allowed_text(field, allowed, sizeof allowed));
        }
    }
    return GS_OK;
}

/* --- defaults ------------------------------------------------------------------------------- */

static size_t kind_bytes(const gs_field *field)
{
    switch (field->kind) {
    case GS_FIELD_BOOL:
        return sizeof(bool);
    case GS_FIELD_REAL:
    case GS_FIELD_RATIO:
    case GS_FIELD_REAL_OR_CHOICE:
        return sizeof(double);
    case GS_FIELD_INT:
    case GS_FIELD_DURATION:
    case GS_FIELD_BYTES:
    case GS_FIELD_RATE:
    case GS_FIELD_BYTES_OR_CHOICE:
        return sizeof(int64_t);
    case GS_FIELD_INT_LIST:
        return sizeof(gs_int_list);
    case GS_FIELD_CHOICE:
        return sizeof(int);
    case GS_FIELD_TEXT:
        break;
    }
    return field->size;
}

/* What is wrong with a field, or NULL. */
static const char *field_fault(const gs_field_table *table, const gs_field *field)
{
    if (field->name == NULL || field->name[0] == '\0') {
        return "has no name";
    }
    if (&table->fields[gs_config_find(table, field->name)] != field) {
        return "is there twice";
    }
    if (field->help == NULL) {
        return "has no help";
    }
    if ((uint32_t)field->kind > GS_FIELD_REAL_OR_CHOICE) {
        return "is of no kind";
    }
    if (field->size == 0 || field->size != kind_bytes(field)) {
        return "is not as large as its kind";
    }
    if (field->offset > table->struct_bytes || field->size > table->struct_bytes - field->offset) {
        return "lies outside its struct";
    }
    bool has_choices = field->kind == GS_FIELD_CHOICE || field->kind == GS_FIELD_BYTES_OR_CHOICE ||
                       field->kind == GS_FIELD_REAL_OR_CHOICE;
    if (has_choices != (field->choices != NULL)) {
        return has_choices ? "has no choices" : "has choices and takes none";
    }
    if (!(field->minimum <= field->maximum)) {
        return "has a minimum above its maximum";
    }
    field_value value;
    if (field->default_text != NULL &&
        parse_value(field, field->default_text, &value, NULL) != GS_OK) {
        return "has a default that it does not take";
    }
    return NULL;
}

gs_status gs_config_check(const gs_field_table *table, gs_error *err)
{
    if (table->name == NULL || (table->fields == NULL && table->field_count > 0) ||
        table->field_count > NAMES_MAX) {
        return gs_fail(err, GS_EINVAL, "%zu fields %s; at most %d, and a name for the table",
                       table->field_count, table->fields == NULL ? "at NULL" : "in a table",
                       NAMES_MAX);
    }
    for (size_t i = 0; i < table->field_count; i++) {
        const char *fault = field_fault(table, &table->fields[i]);
        if (fault != NULL) {
            const char *name = table->fields[i].name;
            return gs_fail(err, GS_EINVAL, "field %zu (\"%.40s\") %s", i, name == NULL ? "" : name,
                           fault);
        }
    }
    return GS_OK;
}

void gs_config_defaults(const gs_field_table *table, void *out)
{
    memset(out, 0, table->struct_bytes);
    for (size_t i = 0; i < table->field_count; i++) {
        const gs_field *field = &table->fields[i];
        GS_ASSERT(field_fault(table, field) == NULL);
        if (field->default_text != NULL) {
            field_value value;
            gs_status status = parse_value(field, field->default_text, &value, NULL);
            GS_ASSERT(status == GS_OK);
            store(field, out, &value);
        }
    }
}
